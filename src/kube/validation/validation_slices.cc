// Rules of ResourceSlices. Follows: kubernetes@1.36 pkg/apis/resource/validation/validation.go
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/validation/validation_devices.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr size_t kDevicesMax = 128, kElaborateDevicesMax = 64, kCounterSetsMax = 8, kCountersMax = 32;
constexpr size_t kAttributesMax = 32, kValueBytesMax = 64, kTaintsMax = 16, kConsumedSetsMax = 2, kValidValuesMax = 10;

bool IsList(const Json& value) { return value.is_array(); }

/// Devices about which much is to be said; of these a slice has fewer.
bool IsElaborate(const Json& device) {
  return !List(device, "taints").empty() || !List(device, "consumesCounters").empty() ||
         std::ranges::any_of(Fields(device, "attributes"), [](const auto& attribute) {
           return attribute.value().is_object() &&
                  std::ranges::any_of(attribute.value().get_object(), [](const auto& value) { return IsList(value.value()); });
         });
}

/// A version as semver.org has it: three numbers, "-" and what comes before the release, "+" and what it was built of.
bool IsVersion(std::string_view text) {
  const size_t plus = text.find('+');
  const std::string_view build = plus == text.npos ? "" : text.substr(plus + 1);
  std::string_view rest = text.substr(0, plus);
  const size_t dash = rest.find('-');
  const std::string_view before = dash == rest.npos ? "" : rest.substr(dash + 1);
  rest = rest.substr(0, dash);
  const auto part_of_name = [](char c) { return base::IsAlphanumeric(c) || c == '-'; };
  const auto all_parts = [](std::string_view list, const auto& good) {
    int parts = 1;
    while (true) {
      const size_t dot = list.find('.');
      if (!good(list.substr(0, dot))) return 0;
      if (dot == list.npos) return parts;
      list.remove_prefix(dot + 1);
      ++parts;
    }
  };
  const auto number = [&](std::string_view part) {
    return !part.empty() && std::ranges::all_of(part, base::IsDigit) && (part.size() == 1 || part[0] != '0');
  };
  const auto name = [&](std::string_view part) { return !part.empty() && std::ranges::all_of(part, part_of_name); };
  const auto before_name = [&](std::string_view part) {
    return name(part) && (!std::ranges::all_of(part, base::IsDigit) || number(part));
  };
  return all_parts(rest, number) == 3 && (dash == text.substr(0, plus).npos || all_parts(before, before_name) > 0) &&
         (plus == text.npos || all_parts(build, name) > 0);
}

void AttributeText(std::string_view kind, const Json& value, const FieldPath& path, Causes& causes) {
  if (!value.is_string()) return;
  if (kind.starts_with("version") && !IsVersion(TextIn(value))) {
    causes.push_back(InvalidValue(path, value, "must be a string compatible with semver.org spec 2.0.0"));
  }
  if (TextIn(value).size() > kValueBytesMax) causes.push_back(TooManyBytes(path, kValueBytesMax));
}

void Attribute(const Json& attribute, const FieldPath& path, Causes& causes) {
  size_t values = 0;
  for (const char* kind : {"bool", "int", "string", "version", "bools", "ints", "strings", "versions"}) {
    const Json* value = Member(attribute, kind);
    if (value == nullptr) continue;
    ++values;
    const FieldPath here = path.Field(kind);
    if (!value->is_array()) {
      AttributeText(kind, *value, here, causes);
      continue;
    }
    const JsonArray& list = value->get_array();
    if (list.empty()) causes.push_back(InvalidValue(here, *value, "must not be empty if specified"));
    for (size_t i = 0; i < list.size(); ++i) AttributeText(kind, list[i], here.Index(i), causes);
  }
  if (values == 0) causes.push_back(InvalidText(path, "", "exactly one value must be specified"));
  if (values > 1) causes.push_back(InvalidValue(path, attribute, "exactly one value must be specified"));
}

std::optional<Quantity> Amount(const Json& parent, std::string_view key) {
  const Json* value = Member(parent, key);
  if (value == nullptr) return std::nullopt;
  const auto amount = Quantity::FromJson(*value);
  return amount ? std::optional(*amount) : std::nullopt;
}

void ValidValues(const JsonArray& values, const Quantity& usual, const Quantity& capacity, const FieldPath& path,
                 Causes& causes) {
  if (!IsBounded(values, kValidValuesMax, path, causes)) return;
  std::vector<Quantity> amounts;
  for (const Json& value : values) {
    const auto amount = Quantity::FromJson(value);
    if (!amount) return;  // the schema tells
    amounts.push_back(*amount);
  }
  for (size_t i = 0; i < amounts.size(); ++i) {
    if (i > 0 && amounts[i - 1] > amounts[i])
      causes.push_back(InvalidText(path.Index(i), amounts[i].ToString(), "values must be sorted in ascending order"));
    if (amounts[i] > capacity)
      causes.push_back(
          InvalidText(path.Index(i), amounts[i].ToString(), "option is larger than capacity value: " + capacity.ToString()));
    if (i > 0 && std::ranges::find(amounts.begin(), amounts.begin() + static_cast<std::ptrdiff_t>(i), amounts[i]) !=
                     amounts.begin() + static_cast<std::ptrdiff_t>(i)) {
      causes.push_back(DuplicateText(path.Index(i), amounts[i].ToString()));
    }
  }
  if (std::ranges::find(amounts, usual) == amounts.end())
    causes.push_back(InvalidText(path, usual.ToString(), "default value is not valid according to the requestPolicy"));
}

void Steps(const Quantity& usual, const Quantity& least, const std::optional<Quantity>& most, const Quantity& step,
           const Quantity& capacity, const FieldPath& path, Causes& causes) {
  if (step <= Quantity()) return causes.push_back(InvalidText(path, step.ToString(), "must be greater than zero"));
  const Quantity one = least + step;
  if (one > capacity) {
    causes.push_back(InvalidText(path, step.ToString(),
                                 "one step " + one.ToString() + " is larger than capacity value: " + capacity.ToString()));
  }
  const auto on_a_step = [&](const Quantity& value) {
    if ((value - least).Value() % std::max<int64_t>(step.Value(), 1) == 0) return;
    causes.push_back(
        InvalidText(path, value.ToString(),
                    "value is not a multiple of a given step (" + step.ToString() + ") from (" + least.ToString() + ")"));
  };
  on_a_step(usual);
  if (most) on_a_step(*most);
}

void ValidRange(const Json& range, const Quantity& usual, const Quantity& capacity, const FieldPath& path, Causes& causes) {
  const auto least = Amount(range, "min"), most = Amount(range, "max"), step = Amount(range, "step");
  if (!least) return causes.push_back(RequiredValue(path.Field("min"), "required when validRange is defined"));
  const auto wrong = [&](const char* field, const Quantity& value, const std::string& what, const Quantity& other) {
    causes.push_back(InvalidText(path.Field(field), value.ToString(), what + ": " + other.ToString()));
  };
  if (*least > capacity) wrong("min", *least, "min is larger than capacity value", capacity);
  if (usual < *least) wrong("default", usual, "default is less than min", *least);
  if (most && *least > *most) wrong("max", *least, "min is larger than max", *most);
  if (most && *most > capacity) wrong("max", *most, "max is larger than capacity value", capacity);
  if (most && usual > *most) wrong("default", usual, "default is more than max", *most);
  if (step) Steps(usual, *least, most, *step, capacity, path.Field("step"), causes);
}

void Capacity(const Json& capacity, bool shared, const FieldPath& path, Causes& causes) {
  const Json* policy = Member(capacity, "requestPolicy");
  if (policy == nullptr) return;
  const FieldPath here = path.Field("requestPolicy");
  if (!shared) return causes.push_back(ForbiddenValue(here, "allowMultipleAllocations must be true"));
  const JsonArray& values = List(*policy, "validValues");
  const Json* range = Member(*policy, "validRange");
  if (!values.empty() && range != nullptr) {
    return causes.push_back(ForbiddenValue(
        here, R"(exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time)"));
  }
  if (values.empty() && range == nullptr) return;
  const std::string which = range == nullptr ? "validValues" : "validRange";
  const auto usual = Amount(*policy, "default");
  if (!usual) return causes.push_back(RequiredValue(here.Field("default"), "required when " + which + " is defined"));
  const auto value = Amount(capacity, "value");
  if (!value) return;  // the schema tells
  if (range == nullptr) return ValidValues(values, *usual, *value, here.Field("validValues"), causes);
  ValidRange(*range, *usual, *value, here.Field("validRange"), causes);
}

void Taints(const Json& device, const FieldPath& device_path, Causes& causes) {
  const JsonArray& list = List(device, "taints");
  const FieldPath path = device_path.Field("taints");
  if (!IsBounded(list, kTaintsMax, path, causes)) return;
  for (size_t i = 0; i < list.size(); ++i) {
    const FieldPath here = path.Index(i);
    const std::string_view key = Text(list[i], "key"), value = Text(list[i], "value");
    if (std::string problem = CheckQualifiedName(key); !key.empty() && !problem.empty())
      causes.push_back(InvalidText(here.Field("key"), key, problem));
    if (std::string problem = CheckLabelValue(value); !value.empty() && !problem.empty())
      causes.push_back(InvalidText(here.Field("value"), value, problem));
  }
}

void CountersOf(const Json& set, std::string_view name_field, const FieldPath& path, Causes& causes) {
  LabelName(Text(set, name_field), path.Field(name_field), causes);
  const JsonObject& counters = Fields(set, "counters");
  const FieldPath here = path.Field("counters");
  if (counters.empty()) return causes.push_back(RequiredValue(here));
  if (counters.size() > kCountersMax) return causes.push_back(TooMany(here, counters.size(), kCountersMax));
  for (const auto& [name, counter] : counters) LabelName(name, here, causes);
}

void CounterSets(const Json& parent, std::string_view field, std::string_view name_field, size_t most, const FieldPath& path,
                 Causes& causes) {
  const JsonArray& sets = List(parent, field);
  const FieldPath here = path.Field(field);
  if (!IsBounded(sets, most, here, causes)) return;
  for (size_t i = 0; i < sets.size(); ++i) CountersOf(sets[i], name_field, here.Index(i), causes);
  DifferentMembers(sets, name_field, here, causes);
}

/// Which nodes: how many of the ways to say so are used, in words.
std::vector<std::string> NodeChoices(const Json& parent, const FieldPath& path, bool slice, Causes& causes) {
  std::vector<std::string> set;
  if (const Json* name = Member(parent, "nodeName")) {
    const std::string_view text = TextIn(*name);
    if (text.empty()) {
      causes.push_back(InvalidText(path.Field("nodeName"), "",
                                   slice ? "must be either unset or set to a non-empty string" : "must not be empty"));
    } else {
      set.emplace_back("`nodeName`");
      if (std::string problem = CheckDnsSubdomain(text); !problem.empty())
        causes.push_back(InvalidText(path.Field("nodeName"), text, problem));
    }
  }
  if (const Json* selector = Member(parent, "nodeSelector")) {
    const FieldPath here = path.Field("nodeSelector");
    set.emplace_back("`nodeSelector`");
    NodeSelector(*selector, here, causes);
    const JsonArray& terms = List(*selector, "nodeSelectorTerms");
    if (slice && terms.size() != 1)
      causes.push_back(InvalidValue(here.Field("nodeSelectorTerms"), terms, "must have exactly one node selector term"));
  }
  for (const char* flag : {"allNodes", "perDeviceNodeSelection"}) {
    const Json* value = Member(parent, flag);
    if (value == nullptr || (!slice && flag == std::string_view("perDeviceNodeSelection"))) continue;
    if (Flag(parent, flag)) {
      set.push_back("`" + std::string(flag) + "`");
    } else {
      causes.push_back(InvalidValue(path.Field(flag), *value, "must be either unset or set to true"));
    }
  }
  return set;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return "{" + text + "}";
}

void NodesOfDevice(const Json& device, bool each_by_itself, const FieldPath& path, Causes& causes) {
  constexpr std::string_view kOne =
      "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in "
      "the "
      "ResourceSlice spec";
  if (!each_by_itself) {
    if (Has(device, "nodeName") || Has(device, "nodeSelector") || Has(device, "allNodes")) {
      causes.push_back(InvalidValue(path, Json(),
                                    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is "
                                    "set to true in the ResourceSlice spec"));
    }
    return;
  }
  const auto choices = NodeChoices(device, path, false, causes);
  if (choices.empty()) causes.push_back(RequiredValue(path, kOne));
  if (choices.size() > 1) causes.push_back(InvalidText(path, Joined(choices), kOne));
}

void Device(const Json& device, bool each_by_itself, const FieldPath& path, Causes& causes) {
  LabelName(Text(device, "name"), path.Field("name"), causes);
  const JsonObject& attributes = Fields(device, "attributes");
  const JsonObject& capacity = Fields(device, "capacity");
  if (const size_t count = attributes.size() + capacity.size(); count > kAttributesMax) {
    causes.push_back(InvalidValue(path, Json(count), "the total number of attributes and capacities must not exceed 32"));
  }
  const FieldPath attributes_path = path.Field("attributes"), capacity_path = path.Field("capacity");
  for (const auto& [name, attribute] : attributes) {
    QualifiedDeviceName(name, attributes_path, causes);
    Attribute(attribute, attributes_path.Key(name), causes);
  }
  for (const auto& [name, amount] : capacity) {
    QualifiedDeviceName(name, capacity_path, causes);
    Capacity(amount, Flag(device, "allowMultipleAllocations"), capacity_path.Key(name), causes);
  }
  Taints(device, path, causes);
  CounterSets(device, "consumesCounters", "counterSet", kConsumedSetsMax, path, causes);
  NodesOfDevice(device, each_by_itself, path, causes);
  BindingConditions(device, path, causes);
}

}  // namespace

void SliceSpec(const Json& spec, const FieldPath& path, Causes& causes) {
  constexpr std::string_view kOne =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  DriverName(Text(spec, "driver"), path.Field("driver"), causes);
  const Json& pool = MemberOrNothing(spec, "pool");
  const FieldPath pool_path = path.Field("pool");
  PoolName(Text(pool, "name"), pool_path.Field("name"), causes);
  for (const auto& [field, least, what] : {std::tuple("resourceSliceCount", 1, "must be greater than zero"),
                                           std::tuple("generation", 0, "must be greater than or equal to zero")}) {
    const int64_t number = Number(pool, field);
    if (number < least) causes.push_back(InvalidValue(pool_path.Field(field), Json(number), what));
  }
  const auto choices = NodeChoices(spec, path, true, causes);
  if (choices.empty()) causes.push_back(RequiredValue(path, kOne));
  if (choices.size() > 1) {
    causes.push_back(InvalidText(path, Joined(choices), std::string(kOne) + ", but multiple fields are set"));
  }
  const JsonArray& devices = List(spec, "devices");
  if (!devices.empty() && !List(spec, "sharedCounters").empty()) {
    causes.push_back(InvalidText(path, "", "only one of `sharedCounters` or `devices` is allowed"));
  }
  const FieldPath devices_path = path.Field("devices");
  const size_t most = std::ranges::any_of(devices, IsElaborate) ? kElaborateDevicesMax : kDevicesMax;
  if (IsBounded(devices, most, devices_path, causes)) {
    for (size_t i = 0; i < devices.size(); ++i) {
      Device(devices[i], Flag(spec, "perDeviceNodeSelection"), devices_path.Index(i), causes);
    }
    DifferentMembers(devices, "name", devices_path, causes);
  }
  CounterSets(spec, "sharedCounters", "name", kCounterSetsMax, path, causes);
}

}  // namespace evenkeel::kube::validation
