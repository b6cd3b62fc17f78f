// Vectors of the allocator, which lie beside the tree where it is worked on, and a smaller set in the tree.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "scheduling/devices/device_allocator.h"
#include "scheduling/devices/pod_devices.h"
#include "scheduling/objects_testing.h"

namespace evenkeel::scheduling::device_vectors_test {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

JsonArray ReadVectors(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return base::ParseJson(text.str(), path)->as_array();
}

/// One vector's cluster.
class VectorCluster {
 public:
  explicit VectorCluster(const Json& vector) : vector_(vector), node_(kube::Node::Decode(vector.at("node"))) {
    for (const auto& [name, value] : base::FindObject(vector, {"features"})) {
      const bool on = value.as_bool();
      if (name == "DRAAdminAccess") gates_.admin_access = on;
      if (name == "DRAPrioritizedList") gates_.prioritized_list = on;
      if (name == "DRAPartitionableDevices") gates_.partitionable = on;
      if (name == "DRADeviceTaints") gates_.taints = on;
      if (name == "DRADeviceBindingConditions") gates_.binding_conditions = on;
      if (name == "DRAConsumableCapacity") gates_.consumable_capacity = on;
    }
    if (const auto label = node_.meta.labels.find(std::string(kHostnameLabel)); label != node_.meta.labels.end()) {
      hostname_ = label->second;
    }
    std::map<PoolName, Slices> pools;
    std::map<std::string, std::shared_ptr<const ResourceSlice>> by_name;
    for (const Json& item : base::FindArray(vector, {"slices"})) {
      auto slice = std::make_shared<const ResourceSlice>(DecodeResourceSlice(item, selectors_));
      by_name[slice->name] = slice;
    }
    for (const auto& [name, slice] : by_name) pools[slice->pool].push_back(slice);
    for (const Json& item : base::FindArray(vector, {"classes"})) {
      DeviceClass device_class = DecodeDeviceClass(item);
      classes_[device_class.name] = device_class;
    }
    for (const Json& item : base::FindArray(vector, {"claims"})) {
      const ResourceClaim claim = DecodeResourceClaim(item);
      if (claim.allocation != nullptr) use_.Take(*claim.allocation, 1);
    }
    for (const auto& [name, slices] : pools) {
      if (auto pool = SeePool(name, slices, Labels(), gates_, use_)) pools_.pools.push_back(*std::move(pool));
    }
    SortPools(pools_.pools);
  }

  Json Answer() {
    if (vector_.as_object().contains("pod")) return AnswerPod();
    std::vector<ResourceClaim> claims;
    const bool several = vector_.as_object().contains("requests");
    if (several) {
      for (const Json& item : vector_.at("requests").as_array()) claims.push_back(DecodeResourceClaim(item));
    } else {
      claims.push_back(DecodeResourceClaim(vector_.at("request")));
    }
    if (!several && claims[0].allocation != nullptr) return AnswerAllocated(claims[0]);
    std::vector<ClaimToAllocate> wanted;
    for (const ResourceClaim& claim : claims) wanted.push_back({claim.Key(), claim.spec.get()});
    const Allocated allocated = Allocate(wanted);
    if (!allocated.ok()) return JsonObject{{"error", Error(allocated)}};
    if (!several) return Tell(*allocated.claims[0]);
    JsonObject answers;
    for (size_t i = 0; i < claims.size(); ++i) answers[claims[i].name] = Tell(*allocated.claims[i]);
    return JsonObject{{"claims", answers}};
  }

 private:
  NodeLabels Labels() const { return {node_.meta.labels, hostname_ ? &*hostname_ : nullptr, node_.meta.name}; }

  Allocated Allocate(const std::vector<ClaimToAllocate>& claims) {
    const AllocatorInput input{.pools = &pools_,
                               .node = Labels(),
                               .find_class = [this](std::string_view name) -> const DeviceClass* {
                                 const auto found = classes_.find(name);
                                 return found == classes_.end() ? nullptr : &found->second;
                               },
                               .selectors = &selectors_,
                               .gates = gates_};
    return AllocateDevices(input, claims);
  }

  static std::string Error(const Allocated& allocated) {
    switch (allocated.outcome) {
      case Allocated::Outcome::kUnsatisfied:
        return "unsatisfied";
      case Allocated::Outcome::kNode:
        return "node: " + allocated.text;
      case Allocated::Outcome::kGivenUp:
        return allocated.text;
      default:
        return "fatal: " + allocated.text;
    }
  }

  Json AnswerAllocated(const ResourceClaim& claim) const {
    if (claim.binding_failed || (claim.allocation->nodes && !MatchesAny(*claim.allocation->nodes, Labels()))) {
      return JsonObject{{"error", "resourceclaim not available on the node"}};
    }
    Json answer = Tell(*claim.allocation);
    answer.as_object()["reused"] = true;
    return answer;
  }

  Json AnswerPod() {
    const Json& pod = vector_.at("pod");
    const auto class_of = [&](std::string_view resource) -> std::string {
      const auto there = node_.allocatable.find(std::string(resource));
      if (there != node_.allocatable.end() && there->second > 0) return "";
      return DeviceClassResolver(classes_).Find(resource);
    };
    const auto claim = MakeExtendedClaim(DecodeContainerDevices(pod), class_of);
    if (!claim) return JsonObject{{"claimRequests", nullptr}};
    const Allocated allocated = Allocate({{"default/<extended-resources>", &claim->spec}});
    if (!allocated.ok()) return JsonObject{{"error", Error(allocated)}};
    Json answer = Tell(*allocated.claims[0]);
    JsonArray requests, mappings;
    for (const ClaimRequest& request : claim->spec.requests) requests.push_back(WriteExtendedRequest(request));
    for (const RequestMapping& mapping : claim->mappings) {
      mappings.push_back(JsonObject{
          {"containerName", mapping.container}, {"resourceName", mapping.resource}, {"requestName", mapping.request}});
    }
    answer.as_object()["claimRequests"] = requests;
    answer.as_object()["requestMappings"] = mappings;
    return answer;
  }

  /// As the vectors tell an allocation.
  static Json Tell(const ClaimAllocation& allocation) {
    JsonObject devices, consumed, conditions;
    std::set<std::string> admin;
    const Json json = allocation.ToJson([] { return std::string("id"); });
    for (const Json& result : json.at("devices").at("results").as_array()) {
      const std::string request(base::FindString(result, {"request"}));
      const std::string device = std::string(base::FindString(result, {"driver"})) + "/" +
                                 std::string(base::FindString(result, {"pool"})) + "/" +
                                 std::string(base::FindString(result, {"device"}));
      const auto append = [](JsonObject& to, const std::string& key, Json item) {
        Json& list = to[key];
        if (!list.is_array()) list = JsonArray{};
        list.as_array().push_back(std::move(item));
      };
      append(devices, request, Json(device));
      if (const Json* amounts = base::Find(result, {"consumedCapacity"})) append(consumed, request, *amounts);
      if (base::FindBool(result, {"adminAccess"})) admin.insert(request);
      if (const Json* list = base::Find(result, {"bindingConditions"})) conditions[device] = *list;
    }
    JsonObject answer{{"devices", devices}, {"nodeSelector", nullptr}};
    if (const Json* selector = base::Find(json, {"nodeSelector"})) answer["nodeSelector"] = *selector;
    if (!consumed.empty()) answer["consumedCapacity"] = consumed;
    if (!admin.empty()) answer["adminAccess"] = JsonArray(admin.begin(), admin.end());
    if (!conditions.empty()) answer["bindingConditions"] = conditions;
    if (const Json* config = base::Find(json, {"devices", "config"})) answer["config"] = *config;
    return answer;
  }

  const Json& vector_;
  kube::Node node_;
  std::optional<std::string> hostname_;
  DeviceGates gates_;
  DeviceSelectors selectors_;
  DevicesInUse use_;
  std::map<std::string, DeviceClass, std::less<>> classes_;
  NodePools pools_;
};

/// Requirements and values in any order, quantities by value.
std::string Comparable(const Json& json, std::string_view key) {
  if (json.is_object()) {
    std::set<std::string> parts;
    for (const auto& [name, value] : json.get_object()) parts.insert(std::string(name) + "=" + Comparable(value, name));
    std::string text = "{";
    for (const std::string& part : parts) text += part + ";";
    return text + "}";
  }
  if (json.is_array()) {
    const bool free = key == "values" || key == "matchExpressions" || key == "matchFields";
    std::vector<std::string> parts;
    for (const Json& item : json.get_array()) parts.push_back(Comparable(item, key));
    if (free) std::ranges::sort(parts);
    std::string text = "[";
    for (const std::string& part : parts) text += part + ";";
    return text + "]";
  }
  if (json.is_string()) {
    const auto quantity = kube::Quantity::Parse(json.get_string());
    if (quantity && key != "values") return std::to_string(quantity->ApproximateValue());
  }
  return base::ToText(json);
}

void Check(const Json& vector) {
  const Json& expected = vector.at("expected");
  const std::string name(base::FindString(vector, {"name"}));
  Json answer;
  if (base::FindString(vector, {"form"}) == "ResourceClaimTemplate") {
    const Json& pod = vector.at("pod");
    const std::string claim(base::FindString(pod.at("spec").at("resourceClaims").at(0), {"name"}));
    answer = JsonObject{{"claim", ClaimFromTemplate(pod, claim, vector.at("template"))}};
  } else {
    answer = VectorCluster(vector).Answer();
  }
  if (const Json* wanted = base::Find(expected, {"error"})) {
    const std::string text(base::FindString(answer, {"error"}));
    EXPECT_TRUE(text.starts_with(std::string_view(wanted->get_string())))
        << name << ": " << answer << " instead of " << expected;
    return;
  }
  EXPECT_EQ(Comparable(answer, ""), Comparable(expected, "")) << name << ": " << answer << " instead of " << expected;
}

TEST(DeviceVectorsTest, ThoseBesideTheTree) {
  const std::string path = "../shared/data/dra/vectors.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const JsonArray vectors = ReadVectors(path);
  EXPECT_GE(vectors.size(), 153U);
  for (const Json& vector : vectors) Check(vector);
}

/// One node "n" of zone "a"; a class "c" for driver "d".
struct OwnCase {
  const char* name;
  const char* slices;   ///< of a pool "p" of driver "d": each the rest of a spec
  const char* used;     ///< devices of "p" that are in use
  const char* devices;  ///< spec.devices of the claim
  const char* answer;   ///< "REQUEST=DEVICE ..." of pool "p", or the error's beginning
};

constexpr const char* kTwo = R"([{"nodeName":"n","devices":[{"name":"x"},{"name":"y"}]}])";
constexpr const char* kOne = R"({"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]})";
constexpr const char* kAll = R"({"requests":[{"name":"r","exactly":{"deviceClassName":"c","allocationMode":"All"}}]})";

const OwnCase kOwnCases[] = {
    {"the first free one", kTwo, "x", kOne, "r=y"},
    {"none is free", kTwo, "x y", kOne, "unsatisfied"},
    {"all of them", kTwo, "", kAll, "r=x r=y"},
    {"all but one is not all", kTwo, "y", kAll, "unsatisfied"},
    {"another node's", R"([{"nodeName":"m","devices":[{"name":"x"}]}])", "", kOne, "unsatisfied"},
    {"the zone's",
     R"([{"nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}]},
        "devices":[{"name":"x"}]}])",
     "", kOne, "r=x"},
    {"a slice without a choice of nodes is ignored", R"([{"devices":[{"name":"x"}]}])", "", kOne, "unsatisfied"},
    {"a device of its own node",
     R"([{"perDeviceNodeSelection":true,"devices":[{"name":"x","nodeName":"m"},{"name":"y","nodeName":"n"}]}])", "", kOne,
     "r=y"},
    {"two slices are one pool", R"([{"nodeName":"n","devices":[{"name":"x"}]},{"nodeName":"n","devices":[{"name":"y"}]}])", "x",
     kOne, "r=y"},
    {"a name that comes twice", R"([{"nodeName":"n","devices":[{"name":"x"},{"name":"x"}]}])", "", kOne,
     "node: invalid resource pools were encountered"},
    {"an alternative", kTwo, "x",
     R"({"requests":[{"name":"r","firstAvailable":[{"name":"two","deviceClassName":"c","count":2},{"name":"one","deviceClassName":"c"}]}]})",
     "r/one=y"},
    {"a later request makes an earlier one step back",
     R"([{"nodeName":"n","devices":[{"name":"x","attributes":{"k":{"int":1}}},{"name":"y"}]}])", "",
     R"({"requests":[{"name":"r","exactly":{"deviceClassName":"c"}},{"name":"s","exactly":{"deviceClassName":"c","selectors":
        [{"cel":{"expression":"'k' in device.attributes['d']"}}]}}]})",
     "r=y s=x"},
    {"equal values",
     R"([{"nodeName":"n","devices":[{"name":"x","attributes":{"k":{"int":1}}},{"name":"y","attributes":{"k":{"int":2}}},
        {"name":"z","attributes":{"k":{"int":2}}}]}])",
     "", R"({"requests":[{"name":"r","exactly":{"deviceClassName":"c","count":2}}],"constraints":[{"matchAttribute":"d/k"}]})",
     "r=y r=z"},
    {"different values",
     R"([{"nodeName":"n","devices":[{"name":"x","attributes":{"k":{"int":1}}},{"name":"y","attributes":{"k":{"int":1}}},
        {"name":"z","attributes":{"k":{"int":2}}}]}])",
     "",
     R"({"requests":[{"name":"r","exactly":{"deviceClassName":"c","count":2}}],"constraints":[{"distinctAttribute":"d/k"}]})",
     "r=x r=z"},
    {"a list as a value, without the gate for it",
     R"([{"nodeName":"n","devices":[{"name":"x","attributes":{"k":{"ints":[1]}}}]}])", "", kOne,
     "fatal: class c: selector #0: CEL runtime error: attribute k: unsupported attribute value"},
    {"a taint", R"([{"nodeName":"n","devices":[{"name":"x","taints":[{"key":"t","effect":"NoExecute"}]},{"name":"y"}]}])", "",
     kOne, "r=y"},
    {"a taint that is for information", R"([{"nodeName":"n","devices":[{"name":"x","taints":[{"key":"t","effect":"None"}]}]}])",
     "", kOne, "r=x"},
    {"counters",
     R"([{"nodeName":"n","devices":[{"name":"whole","consumesCounters":[{"counterSet":"s","counters":{"m":{"value":"2"}}}]},
         {"name":"half","consumesCounters":[{"counterSet":"s","counters":{"m":{"value":"1"}}}]},
         {"name":"other","consumesCounters":[{"counterSet":"s","counters":{"m":{"value":"1"}}}]}]},
        {"nodeName":"n","sharedCounters":[{"name":"s","counters":{"m":{"value":"2"}}}]}])",
     "half", kOne, "r=other"},
    {"a set of counters that is not there",
     R"([{"nodeName":"n","devices":[{"name":"x","consumesCounters":[{"counterSet":"s","counters":{"m":{"value":"2"}}}]}]}])",
     "", kOne, "node: invalid resource pools were encountered"},
    {"a class that is not there", kTwo, "", R"({"requests":[{"name":"r","exactly":{"deviceClassName":"none"}}]})",
     "fatal: claim default/own, request r: could not retrieve device class none"},
    {"a selector that fails", kTwo, "",
     R"({"requests":[{"name":"r","exactly":{"deviceClassName":"c","selectors":[{"cel":{"expression":"device.attributes['d'].k == 1"}}]}}]})",
     "fatal: claim default/own: selector #0: CEL runtime error: no such key: k"},
    {"a request of a later version", kTwo, "", R"({"requests":[{"name":"r"}]})",
     "fatal: claim default/own, request r: missing device class name"},
    {"a constraint of a later version", kTwo, "",
     R"({"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}],"constraints":[{"requests":["r"]}]})",
     "fatal: claim default/own, constraint #0: empty constraint"},
    {"too many", kTwo, "", R"({"requests":[{"name":"r","exactly":{"deviceClassName":"c","count":33}}]})",
     "fatal: claim default/own: number of requested devices 33 exceeds the claim limit of 32"},
};

Json VectorOf(const OwnCase& own) {
  JsonArray slices;
  const Json specs = testing::Parse(own.slices);
  for (const Json& spec : specs.as_array()) {
    JsonObject made = spec.as_object();
    made["driver"] = "d";
    made["pool"] =
        JsonObject{{"name", "p"}, {"generation", 1}, {"resourceSliceCount", static_cast<int64_t>(specs.as_array().size())}};
    slices.push_back(JsonObject{{"metadata", JsonObject{{"name", "s" + std::to_string(slices.size())}}}, {"spec", made}});
  }
  JsonArray results;
  std::stringstream used(own.used);
  for (std::string device; used >> device;) {
    results.push_back(JsonObject{{"request", "r"}, {"driver", "d"}, {"pool", "p"}, {"device", device}});
  }
  const auto claim = [](std::string_view name) { return JsonObject{{"name", name}, {"namespace", "default"}}; };
  return JsonObject{
      {"node", testing::Parse(R"({"metadata":{"name":"n","labels":{"zone":"a"}}})")},
      {"classes",
       testing::Parse(R"([{"metadata":{"name":"c"},"spec":{"selectors":[{"cel":{"expression":"device.driver == 'd'"}}]}}])")},
      {"slices", slices},
      {"claims", JsonArray{JsonObject{
                     {"metadata", claim("used")},
                     {"status", JsonObject{{"allocation", JsonObject{{"devices", JsonObject{{"results", results}}}}}}}}}},
      {"request", JsonObject{{"metadata", claim("own")}, {"spec", JsonObject{{"devices", testing::Parse(own.devices)}}}}}};
}

TEST(DeviceVectorsTest, OurOwn) {
  for (const OwnCase& own : kOwnCases) {
    const Json vector = VectorOf(own);
    const Json answer = VectorCluster(vector).Answer();
    std::string text(base::FindString(answer, {"error"}));
    for (const auto& [request, devices] : base::FindObject(answer, {"devices"})) {
      for (const Json& device : devices.as_array()) {
        const std::string_view name = device.get_string();
        text += (text.empty() ? "" : " ") + std::string(request) + "=" + std::string(name.substr(name.rfind('/') + 1));
      }
    }
    EXPECT_TRUE(text == own.answer || (text.find(": ") != std::string::npos && text.starts_with(own.answer)))
        << own.name << ": " << text << " instead of " << own.answer;
  }
}

/// Pairs of equal devices that a constraint refuses late: every combination has to be tried.
TEST(DeviceVectorsTest, ASearchThatIsTooLongIsGivenUp) {
  JsonArray devices;
  for (int i = 0; i < 64; ++i) {
    devices.push_back(
        JsonObject{{"name", "x" + std::to_string(i)}, {"attributes", JsonObject{{"k", JsonObject{{"int", i / 2}}}}}});
  }
  const std::string slices = base::ToText(JsonArray{JsonObject{{"nodeName", "n"}, {"devices", devices}}});
  const OwnCase own{"", slices.c_str(), "",
                    R"({"requests":[{"name":"r","exactly":{"deviceClassName":"c","count":16}},
                                    {"name":"s","exactly":{"deviceClassName":"c","count":3}}],
                        "constraints":[{"requests":["s"],"matchAttribute":"d/k"}]})",
                    ""};
  const Json vector = VectorOf(own);
  EXPECT_EQ(base::FindString(VectorCluster(vector).Answer(), {"error"}),
            "gave up after 100000 steps of the search for devices");
}

}  // namespace
}  // namespace evenkeel::scheduling::device_vectors_test
