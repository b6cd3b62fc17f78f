// What a kube-apiserver refuses of devices and of claims for them, and with which field and words.
#include <gtest/gtest.h>

#include "kube/forms/defaulting.h"
#include "kube/rules/device_selector.h"
#include "kube/validation/validation.h"

namespace evenkeel::kube::validation_devices_test {
namespace {

using base::Json;

std::string Repeated(size_t count, const std::string& item) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    std::string one = item;
    for (size_t at = one.find('#'); at != one.npos; at = one.find('#')) one.replace(at, 1, std::to_string(i));
    text += (i == 0 ? "" : ",") + one;
  }
  return text;
}

Json Parse(const std::string& text) {
  auto object = base::ParseJson(text, "test");
  EXPECT_TRUE(object.has_value()) << text;
  return object ? *object : Json();
}

Json Object(const char* plural, const std::string& spec, const std::string& more = "") {
  const bool namespaced = std::string_view(plural).starts_with("resourceclaim");
  Json object = Parse(R"({"metadata":{"name":"o")" + std::string(namespaced ? R"(,"namespace":"d")" : "") + R"(},"spec":)" +
                      spec + more + "}");
  ApplyKindDefaults(*FindBuiltIn("resource.k8s.io", "v1", plural), object);
  return object;
}

std::string Told(const std::vector<base::Cause>& causes) {
  std::string told;
  for (const base::Cause& cause : causes) told += cause.field + ": " + cause.message + "\n";
  return told;
}

struct Refusal {
  const char* name;
  const char* plural;
  std::string spec;
  std::string told;  ///< empty: nothing is wrong
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.spec; }

class DeviceRefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(DeviceRefusalTest, IsUpstreams) {
  const Refusal& refusal = GetParam();
  const Json object = Object(refusal.plural, refusal.spec);
  const std::string told = Told(ValidateObject(*FindBuiltIn("resource.k8s.io", "v1", refusal.plural), object));
  EXPECT_EQ(told, refusal.told + (refusal.told.empty() ? "" : "\n"));
}

Refusal Slice(const char* name, const std::string& fields, const std::string& told) {
  std::string spec = fields;
  for (const auto& [field, value] : {std::pair("\"driver\"", R"("driver":"d.org")"),
                                     std::pair("\"pool\"", R"("pool":{"name":"n","generation":1,"resourceSliceCount":1})")}) {
    if (!spec.contains(field)) spec += "," + std::string(value);
  }
  return {name, "resourceslices", "{" + spec + "}", told};
}

Refusal Device(const char* name, const std::string& fields, const std::string& told) {
  return Slice(name, R"("nodeName":"n","devices":[{"name":"a",)" + fields + "}]", told);
}

Refusal Claim(const char* name, const std::string& fields, const std::string& told) {
  return {name, "resourceclaims", R"({"devices":{)" + fields + "}}", told};
}

Refusal Exactly(const char* name, const std::string& fields, const std::string& told) {
  return Claim(name, R"("requests":[{"name":"r","exactly":{"deviceClassName":"c",)" + fields + "}}]", told);
}

Refusal Class(const char* name, const std::string& fields, const std::string& told) {
  return {name, "deviceclasses", "{" + fields + "}", told};
}

std::string Selector(const std::string& expression) {
  return R"("selectors":[{"cel":{"expression":)" + base::ToText(Json(expression)) + "}}]";
}

/// `all` in `all` in `all`, over ten numbers each.
std::string Nested(int depth) {
  std::string expression = "true";
  for (int i = 0; i < depth; ++i) expression = "[1,2,3,4,5,6,7,8,9,10].all(x" + std::to_string(i) + ", " + expression + ")";
  return expression;
}

constexpr const char* kIdentifier =
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' "
    "(e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
constexpr const char* kReference =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

INSTANTIATE_TEST_SUITE_P(
    Slices, DeviceRefusalTest,
    ::testing::Values(
        Slice(
            "Good",
            R"("nodeName":"n","devices":[{"name":"a","attributes":{"model":{"string":"x"},"o.org/v":{"version":"1.2.3-a.1+b"}},
            "capacity":{"memory":{"value":"1Gi"}}}])",
            ""),
        Slice("NoNodes", R"("devices":[])",
              "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is "
              "required"),
        Slice("TwoChoices", R"("nodeName":"n","allNodes":true)",
              "spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
              "`perDeviceNodeSelection` is required, but multiple fields are set"),
        Slice("NotAllNodes", R"("nodeName":"n","allNodes":false)",
              "spec.allNodes: Invalid value: false: must be either unset or set to true"),
        Slice(
            "TwoTerms",
            R"("nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]},
                                                      {"matchExpressions":[{"key":"a","operator":"Exists"}]}]})",
            R"(spec.nodeSelector.nodeSelectorTerms: Invalid value: [{"matchExpressions":[{"key":"a","operator":"Exists"}]},{"matchExpressions":[{"key":"a","operator":"Exists"}]}]: must have exactly one node selector term)"),
        Slice("NoCount", R"("nodeName":"n","pool":{"name":"n","generation":0})",
              "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero"),
        Slice("NegativeGeneration", R"("nodeName":"n","pool":{"name":"n","generation":-1,"resourceSliceCount":1})",
              "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero"),
        Slice(
            "PoolsAreSubdomains", R"("nodeName":"n","pool":{"name":"a//b","resourceSliceCount":1})",
            R"(spec.pool.name: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'))"),
        Slice("DriversAreShort", R"("nodeName":"n","driver":")" + std::string(64, 'a') + "\"",
              "spec.driver: Too long: must have at most 63 bytes"),
        Slice("DevicesAndCounters",
              R"("nodeName":"n","devices":[{"name":"a"}],"sharedCounters":[{"name":"s","counters":{"c":{"value":"1"}}}])",
              "spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed"),
        Slice("TooManyDevices", R"("nodeName":"n","devices":[)" + Repeated(129, R"({"name":"a#"})") + "]",
              "spec.devices: Too many: 129: must have at most 128 items"),
        Slice("AsManyDevicesAsThereMayBe", R"("nodeName":"n","devices":[)" + Repeated(128, R"({"name":"a#"})") + "]", ""),
        Slice("TooManyElaborateDevices",
              R"("nodeName":"n","devices":[{"name":"a","taints":[{"key":"k","effect":"None"}]},)" +
                  Repeated(64, R"({"name":"a#"})") + "]",
              "spec.devices: Too many: 65: must have at most 64 items"),
        Slice("DoubledDevice", R"("nodeName":"n","devices":[{"name":"a"},{"name":"a"}])",
              R"(spec.devices[1]: Duplicate value: "a")"),
        Slice("TooManySets",
              R"("nodeName":"n","sharedCounters":[)" + Repeated(9, R"({"name":"s#","counters":{"c":{"value":"1"}}})") + "]",
              "spec.sharedCounters: Too many: 9: must have at most 8 items"),
        Slice("EmptySet", R"("nodeName":"n","sharedCounters":[{"name":"s"}])",
              "spec.sharedCounters[0].counters: Required value"),
        Slice("DevicesChooseNodes", R"("perDeviceNodeSelection":true,"devices":[{"name":"a"}])",
              "spec.devices[0]: Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
              "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"),
        Device("DevicesChooseNoNodes", R"("nodeName":"n")",
               "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if "
               "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"),
        Device("AttributesAreIdentifiers", R"("attributes":{"a-b":{"int":1}})",
               std::string(R"(spec.devices[0].attributes: Invalid value: "a-b": )") + kIdentifier),
        Device("AttributesHaveOneValue", R"("attributes":{"a":{"int":1,"bool":true}})",
               R"(spec.devices[0].attributes[a]: Invalid value: {"int":1,"bool":true}: exactly one value must be specified)"),
        Device("AttributesHaveAValue", R"("attributes":{"a":{}})",
               R"(spec.devices[0].attributes[a]: Invalid value: "": exactly one value must be specified)"),
        Device(
            "VersionsAreSemantic", R"("attributes":{"a":{"version":"1.02.3"}})",
            R"(spec.devices[0].attributes[a].version: Invalid value: "1.02.3": must be a string compatible with semver.org spec 2.0.0)"),
        Device("TextsAreShort", R"("attributes":{"a":{"string":")" + std::string(65, 'x') + R"("}})",
               "spec.devices[0].attributes[a].string: Too long: must have at most 64 bytes"),
        Device("AttributesAndCapacity",
               R"("attributes":{)" + Repeated(30, R"("a#":{"int":1})") + R"(},"capacity":{)" +
                   Repeated(3, R"("c#":{"value":"1"})") + "}",
               "spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not exceed 32"),
        Device("OnlySharedDevicesHavePolicies", R"("capacity":{"m":{"value":"4","requestPolicy":{"default":"1"}}})",
               "spec.devices[0].capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true"),
        Device("PoliciesHaveADefault",
               R"("allowMultipleAllocations":true,"capacity":{"m":{"value":"4","requestPolicy":{"validValues":["1"]}}})",
               "spec.devices[0].capacity[m].requestPolicy.default: Required value: required when validValues is defined"),
        Device(
            "ValuesRise",
            R"("allowMultipleAllocations":true,"capacity":{"m":{"value":"4","requestPolicy":{"default":"1","validValues":["2","1"]}}})",
            R"(spec.devices[0].capacity[m].requestPolicy.validValues[1]: Invalid value: "1": values must be sorted in ascending order)"),
        Device(
            "RangesHaveAMinimum",
            R"("allowMultipleAllocations":true,"capacity":{"m":{"value":"4","requestPolicy":{"default":"1","validRange":{}}}})",
            "spec.devices[0].capacity[m].requestPolicy.validRange.min: Required value: required when validRange is defined"),
        Device(
            "DefaultsAreOnAStep",
            R"("allowMultipleAllocations":true,"capacity":{"m":{"value":"9","requestPolicy":{"default":"4","validRange":{"min":"1","step":"2"}}}})",
            R"(spec.devices[0].capacity[m].requestPolicy.validRange.step: Invalid value: "4": value is not a multiple of a given step (2) from (1))"),
        Device(
            "EffectsAreKnown", R"("taints":[{"key":"k","effect":"Foo"}])",
            R"(spec.devices[0].taints[0].effect: Unsupported value: "Foo": supported values: "NoExecute", "NoSchedule", "None")"),
        Device("TooManyTaints", R"("taints":[)" + Repeated(17, R"({"key":"k#","effect":"None"})") + "]",
               "spec.devices[0].taints: Too many: 17: must have at most 16 items"),
        Device("TwoSetsAtMost",
               R"("consumesCounters":[)" + Repeated(3, R"({"counterSet":"s#","counters":{"c":{"value":"1"}}})") + "]",
               "spec.devices[0].consumesCounters: Too many: 3: must have at most 2 items"),
        Device("ConditionsComeTogether", R"("bindingConditions":["a"])",
               "spec.devices[0].bindingFailureConditions: Invalid value: []: bindingFailureConditions are required to use "
               "bindingConditions"),
        Device(
            "ConditionsDiffer", R"("bindingConditions":["a"],"bindingFailureConditions":["a"])",
            R"(spec.devices[0].bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions)")),
    [](const auto& one) { return std::string(one.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Claims, DeviceRefusalTest,
    ::testing::Values(
        Exactly("Good", R"("count":2,)" + Selector(R"(device.driver == "d.org" && device.attributes["d.org"].model == "x")"),
                ""),
        Exactly("GoodAll", R"("allocationMode":"All")", ""),
        Claim("NothingAsked", R"("requests":[{"name":"r"}])",
              "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"),
        Claim(
            "BothAsked",
            R"("requests":[{"name":"r","exactly":{"deviceClassName":"c"},"firstAvailable":[{"name":"s","deviceClassName":"c"}]}])",
            "spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but "
            "multiple fields are set"),
        Claim("NoClass", R"("requests":[{"name":"r","exactly":{}}])",
              "spec.devices.requests[0].exactly.deviceClassName: Required value"),
        Claim("DoubledRequest",
              R"("requests":[{"name":"r","exactly":{"deviceClassName":"c"}},{"name":"r","exactly":{"deviceClassName":"c"}}])",
              R"(spec.devices.requests[1]: Duplicate value: "r")"),
        Claim("TooManyAlternatives",
              R"("requests":[{"name":"r","firstAvailable":[)" + Repeated(9, R"({"name":"s#","deviceClassName":"c"})") + "]}]",
              "spec.devices.requests[0].firstAvailable: Too many: 9: must have at most 8 items"),
        Claim("TooManyRequests", R"("requests":[)" + Repeated(33, R"({"name":"r#","exactly":{"deviceClassName":"c"}})") + "]",
              "spec.devices.requests: Too many: 33: must have at most 32 items"),
        Exactly("AllHasNoCount", R"("allocationMode":"All","count":1)",
                "spec.devices.requests[0].exactly.count: Invalid value: 1: must not be specified when allocationMode is 'All'"),
        Exactly("CountsArePositive", R"("count":-1)",
                "spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero"),
        Exactly(
            "ModesAreKnown", R"("allocationMode":"Some","count":1)",
            R"(spec.devices.requests[0].exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount")"),
        Exactly(
            "SelectorsAreBool", Selector("device.driver"),
            R"(spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: "device.driver": compilation failed: must evaluate to bool or the unknown type, not string)"),
        Exactly("SelectorsAreCheap", Selector(Nested(7)),
                "spec.devices.requests[0].exactly.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit"),
        Exactly("SelectorsMayCostSomething", Selector(Nested(4)), ""),
        Exactly("SelectorsAreShort", Selector("true || " + std::string(10240, ' ') + "true"),
                "spec.devices.requests[0].exactly.selectors[0].cel.expression: Too long: must have at most 10240 bytes"),
        Exactly("SelectorsSaySomething", R"("selectors":[{}])",
                "spec.devices.requests[0].exactly.selectors[0].cel: Required value"),
        Exactly(
            "ExistsHasNoValue", R"("tolerations":[{"key":"k","operator":"Exists","value":"v"}])",
            "spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: \"v\": must be empty for operator `Exists`"),
        Exactly("EqualIsTheOperator", R"("tolerations":[{"key":"k","value":"v","effect":"NoSchedule"}])", ""),
        Claim(
            "ConstraintsAreAboutRequests",
            R"("requests":[{"name":"r","exactly":{"deviceClassName":"c"}}],"constraints":[{"requests":["x"],"matchAttribute":"d.org/a"}])",
            std::string(R"(spec.devices.constraints[0].requests[0]: Invalid value: "x": )") + kReference),
        Claim(
            "AlternativesCanBeNamed",
            R"("requests":[{"name":"r","firstAvailable":[{"name":"s","deviceClassName":"c"}]}],"constraints":[{"requests":["r/s"],"distinctAttribute":"d.org/a"}])",
            ""),
        Claim(
            "ConstraintsHaveDomains",
            R"("requests":[{"name":"r","exactly":{"deviceClassName":"c"}}],"constraints":[{"matchAttribute":"a"}])",
            R"(spec.devices.constraints[0].matchAttribute: Invalid value: "a": a fully qualified name must be a domain and a name separated by a slash)"),
        Claim(
            "ConstraintsSayWhat", R"("requests":[{"name":"r","exactly":{"deviceClassName":"c"}}],"constraints":[{}])",
            R"(spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set)"),
        Claim(
            "ParametersAreObjects",
            R"("requests":[{"name":"r","exactly":{"deviceClassName":"c"}}],"config":[{"opaque":{"driver":"d.org","parameters":[1]}}])",
            R"(spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object)"),
        Claim(
            "ParametersAreShort",
            R"("requests":[{"name":"r","exactly":{"deviceClassName":"c"}}],"config":[{"opaque":{"driver":"d.org","parameters":{"a":")" +
                std::string(10240, 'x') + R"("}}}])",
            "spec.devices.config[0].opaque.parameters: Too long: must have at most 10240 bytes"),
        Claim("ConfigsSayWhat", R"("config":[{}])", "spec.devices.config[0].opaque: Required value"),
        Refusal{
            "TemplatesAreJudgedLikeClaims", "resourceclaimtemplates",
            R"({"metadata":{"labels":{"a":"x y"}},"spec":{"devices":{"requests":[{"name":"r"}]}}})",
            R"(spec.metadata.labels: Invalid value: "x y": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'))"
            "\nspec.spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"},
        Class("GoodClass", Selector("true") + R"(,"extendedResourceName":"e.org/gpu")", ""),
        Class("ExtendedNamesHaveDomains", R"("extendedResourceName":"cpu")",
              R"(spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name)"),
        Class("TooManySelectors", R"("selectors":[)" + Repeated(33, R"({"cel":{"expression":"true"}})") + "]",
              "spec.selectors: Too many: 33: must have at most 32 items")),
    [](const auto& one) { return std::string(one.param.name); });

struct Change {
  const char* name;
  std::string before, after;  ///< of the status
  std::string told;
  std::string metadata = "";
};

void PrintTo(const Change& change, std::ostream* out) { *out << change.after; }

class ClaimStatusTest : public ::testing::TestWithParam<Change> {};

TEST_P(ClaimStatusTest, IsUpstreams) {
  const Change& change = GetParam();
  const Resource& claims = *FindBuiltIn("resource.k8s.io", "v1", "resourceclaims");
  const std::string spec = R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}})";
  const auto with = [&](const std::string& status) {
    Json object = Object("resourceclaims", spec, R"(,"status":)" + status);
    if (!change.metadata.empty()) base::ApplyMergePatch(object, Parse(change.metadata));
    return object;
  };
  const Json before = with(change.before), after = with(change.after);
  std::vector<base::Cause> causes = ValidateObject(claims, after, &before);
  std::ranges::move(ValidateUpdate(claims, after, before), std::back_inserter(causes));
  EXPECT_EQ(Told(causes), change.told + (change.told.empty() ? "" : "\n"));
}

std::string Result(const std::string& more = "", const std::string& request = "r") {
  return R"({"request":")" + request + R"(","driver":"d.org","pool":"n","device":"a")" + more + "}";
}
std::string Allocated(const std::string& results, const std::string& more = "") {
  return R"({"allocation":{"devices":{"results":[)" + results + "]}}" + more + "}";
}
std::string Consumers(size_t count, const std::string& uid = "u#") {
  return R"(,"reservedFor":[)" + Repeated(count, R"({"resource":"pods","name":"p","uid":")" + uid + R"("})") + "]";
}

INSTANTIATE_TEST_SUITE_P(
    Changes, ClaimStatusTest,
    ::testing::Values(
        Change{"Allocates", "{}", Allocated(Result(), Consumers(1)), ""},  //
        Change{"Deallocates", Allocated(Result()), "{}", ""},
        Change{
            "AllocatesOnce", Allocated(Result()), Allocated(Result("", "q")),
            R"(status.allocation: Invalid value: {"devices":{"results":[{"request":"q","driver":"d.org","pool":"n","device":"a"}]}}: field is immutable)"},
        Change{"AllocatesWhatIsAsked", "{}", Allocated(Result("", "x")),
               std::string(R"(status.allocation.devices.results[0].request: Invalid value: "x": )") + kReference},
        Change{"AllocatesAtMostAsMany", "{}", Allocated(Repeated(33, Result())),
               "status.allocation.devices.results: Too many: 33: must have at most 32 items"},
        Change{
            "SharesAreUids", "{}", Allocated(Result(R"(,"shareID":"x")")),
            R"(status.allocation.devices.results[0].shareID: Invalid value: "x": uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters)"},
        Change{"ReservesWhatIsAllocated", "{}", R"({"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]})",
               "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"},
        Change{"ReservesForManyAtMost", Allocated(Result()), Allocated(Result(), Consumers(257)),
               "status.reservedFor: Too many: 257: must have at most 256 items"},
        Change{"ReservesForMany", Allocated(Result()), Allocated(Result(), Consumers(256)), ""},
        Change{"ReservesOnce", Allocated(Result()), Allocated(Result(), Consumers(2, "u")),
               R"(status.reservedFor[1]: Duplicate value: "u")"},
        Change{"ReservesNothingThatGoes", Allocated(Result(), Consumers(1)), Allocated(Result(), Consumers(2)),
               "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or "
               "`deletionTimestamp` are set",
               R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}})"},
        Change{"GivesBackWhatGoes", Allocated(Result(), Consumers(2)), Allocated(Result(), Consumers(1)), "",
               R"({"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}})"},
        Change{"TellsOfItsDevices", Allocated(Result()),
               Allocated(Result(), R"(,"devices":[{"driver":"d.org","pool":"n","device":"b"}])"),
               R"(status.devices[0]: Invalid value: "d.org/n/b": must be an allocated device in the claim)"},
        Change{
            "AddressesHaveNetworks", Allocated(Result()),
            Allocated(Result(),
                      R"(,"devices":[{"driver":"d.org","pool":"n","device":"a","networkData":{"ips":["10.0.0.1/24","x"]}}])"),
            R"(status.devices[0].networkData.ips[1]: Invalid value: "x": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64))"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(DeviceUpdateTest, SlicesKeepWhoseTheyAre) {
  const Resource& slices = *FindBuiltIn("resource.k8s.io", "v1", "resourceslices");
  const auto slice = [](const char* driver, const char* pool, const char* node) {
    return Object("resourceslices", R"({"driver":")" + std::string(driver) + R"(","pool":{"name":")" + pool +
                                        R"(","resourceSliceCount":1},"nodeName":")" + node + R"("})");
  };
  EXPECT_EQ(Told(ValidateUpdate(slices, slice("e", "q", "m"), slice("d", "p", "n"))),
            "spec.pool.name: Invalid value: \"q\": field is immutable\nspec.driver: Invalid value: \"e\": field is immutable\n"
            "spec.nodeName: Invalid value: \"m\": field is immutable\n");
}

TEST(DeviceDefaultsTest, OneDeviceIsAskedFor) {
  const Json claim = Object("resourceclaims", R"({"devices":{"requests":[
      {"name":"a","exactly":{"deviceClassName":"c","tolerations":[{"key":"k"}]}},{"name":"b","exactly":{"deviceClassName":"c","allocationMode":"All"}},
      {"name":"c","firstAvailable":[{"name":"s","deviceClassName":"c"}]}]}})");
  const base::JsonArray& requests = base::FindArray(claim, {"spec", "devices", "requests"});
  EXPECT_EQ(base::FindString(requests[0], {"exactly", "allocationMode"}), "ExactCount");
  EXPECT_EQ(base::FindInt(requests[0], {"exactly", "count"}), 1);
  EXPECT_EQ(base::FindString(base::FindArray(requests[0], {"exactly", "tolerations"})[0], {"operator"}), "Equal");
  EXPECT_EQ(base::Find(requests[1], {"exactly", "count"}), nullptr);
  EXPECT_EQ(base::FindInt(base::FindArray(requests[2], {"firstAvailable"})[0], {"count"}), 1);
}

/// Of a device there is a bound on how much it can say, so that ordinary selectors are within their cost.
TEST(DeviceSelectorCostTest, OrdinarySelectorsAreCheap) {
  for (
      const char* expression :
      {R"(device.attributes["d.org"].model.matches("^a[0-9]+$") && device.capacity["d.org"].memory.compareTo(quantity("8Gi")) >= 0)",
       R"(device.attributes.all(d, device.attributes[d].all(n, n != "x")))"}) {
    const auto program = cel::CompileDeviceSelector(expression);
    ASSERT_TRUE(program.has_value()) << program.error().message();
    EXPECT_LT(cel::EstimateDeviceSelectorCost(**program), 20'000u) << expression;
    EXPECT_GT(cel::EstimateDeviceSelectorCost(**program), 5u) << expression;
  }
}

}  // namespace
}  // namespace evenkeel::kube::validation_devices_test
