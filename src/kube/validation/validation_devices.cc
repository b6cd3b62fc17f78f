// Rules that devices and claims for them share. Follows: kubernetes@1.36 pkg/apis/resource/validation/validation.go
#include "kube/validation/validation_devices.h"

#include <algorithm>

#include "base/text.h"
#include "kube/object.h"
#include "kube/rules/device_selector.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;

constexpr size_t kDriverBytesMax = 63, kPoolBytesMax = 253, kIdentifierBytesMax = 32;
constexpr size_t kSelectorsMax = 32, kTolerationsMax = 16, kBindingConditionsMax = 4, kParametersBytesMax = 10 * 1024;

void Told(std::string problem, std::string_view text, const FieldPath& path, Causes& causes) {
  if (!problem.empty()) causes.push_back(InvalidText(path, text, problem));
}

void Identifier(std::string_view name, const FieldPath& path, Causes& causes) {
  if (name.size() > kIdentifierBytesMax) causes.push_back(TooManyBytes(path, kIdentifierBytesMax));
  const auto letter = [](char c) { return base::IsLetter(c) || c == '_'; };
  const bool good =
      !name.empty() && letter(name.front()) && std::ranges::all_of(name, [&](char c) { return letter(c) || base::IsDigit(c); });
  if (good) return;
  causes.push_back(InvalidText(path, name,
                               "a valid C identifier must start with alphabetic character or '_', followed by a string of "
                               "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for "
                               "validation is '[A-Za-z_][A-Za-z0-9_]*')"));
}

void Selector(const Json& selector, const FieldPath& path, Causes& causes) {
  const FieldPath cel = path.Field("cel");
  const Json* given = Member(selector, "cel");
  if (given == nullptr) return causes.push_back(RequiredValue(cel));
  const FieldPath here = cel.Field("expression");
  const std::string_view expression = Text(*given, "expression");
  if (expression.empty()) return;  // the schema tells
  if (expression.size() > cel::kDeviceSelectorBytesMax) {
    return causes.push_back(TooManyBytes(here, cel::kDeviceSelectorBytesMax));
  }
  const auto program = cel::CompileDeviceSelector(expression);
  if (!program) return causes.push_back(InvalidText(here, expression, "compilation failed: " + program.error().message()));
  if (cel::EstimateDeviceSelectorCost(**program) > cel::kDeviceSelectorCostMax) {
    causes.push_back(ForbiddenValue(here, "too complex, exceeds cost limit"));
  }
}

}  // namespace

bool IsBounded(const JsonArray& list, size_t most, const FieldPath& path, Causes& causes) {
  if (list.size() <= most) return true;
  causes.push_back(TooMany(path, list.size(), most));
  return false;
}

void DifferentTexts(const JsonArray& list, const FieldPath& path, Causes& causes) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!seen.insert(TextIn(list[i])).second) causes.push_back(DuplicateText(path.Index(i), TextIn(list[i])));
  }
}

void DifferentMembers(const JsonArray& list, std::string_view member, const FieldPath& path, Causes& causes) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string_view text = Text(list[i], member);
    if (!seen.insert(text).second) causes.push_back(DuplicateText(path.Index(i), text));
  }
}

void DriverName(std::string_view name, const FieldPath& path, Causes& causes) {
  if (name.empty()) return causes.push_back(RequiredValue(path));
  if (name.size() > kDriverBytesMax) causes.push_back(TooManyBytes(path, kDriverBytesMax));
  Told(CheckDnsSubdomain(base::Lower(name)), name, path, causes);
}

void PoolName(std::string_view name, const FieldPath& path, Causes& causes) {
  if (name.empty()) return causes.push_back(RequiredValue(path));
  if (name.size() > kPoolBytesMax) causes.push_back(TooManyBytes(path, kPoolBytesMax));
  while (true) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    Told(CheckDnsSubdomain(part), part, path, causes);
    if (slash == name.npos) return;
    name.remove_prefix(slash + 1);
  }
}

void LabelName(std::string_view name, const FieldPath& path, Causes& causes) {
  if (name.empty()) return causes.push_back(RequiredValue(path));
  Told(CheckDnsLabel(name), name, path, causes);
}

void QualifiedDeviceName(std::string_view name, const FieldPath& path, Causes& causes) {
  const size_t slash = name.find('/');
  if (slash == name.npos) return Identifier(name, path, causes);
  if (name.find('/', slash + 1) != name.npos) {
    return causes.push_back(InvalidText(path, name, "must not contain more than one slash"));
  }
  if (slash == 0) {
    causes.push_back(InvalidText(path, "", "the domain must not be empty"));
  } else {
    DriverName(name.substr(0, slash), path, causes);
  }
  if (slash + 1 == name.size()) return causes.push_back(InvalidText(path, "", "the name must not be empty"));
  Identifier(name.substr(slash + 1), path, causes);
}

void DeviceTolerations(const Json& parent, const FieldPath& parent_path, Causes& causes) {
  const JsonArray& list = List(parent, "tolerations");
  const FieldPath path = parent_path.Field("tolerations");
  if (!IsBounded(list, kTolerationsMax, path, causes)) return;
  for (size_t i = 0; i < list.size(); ++i) {
    const FieldPath here = path.Index(i);
    const std::string_view key = Text(list[i], "key"), value = Text(list[i], "value"), effect = Text(list[i], "effect");
    if (!key.empty()) Told(CheckQualifiedName(key), key, here.Field("key"), causes);
    if (Text(list[i], "operator") == "Exists") {
      if (!value.empty()) causes.push_back(InvalidText(here.Field("value"), value, "must be empty for operator `Exists`"));
    } else {
      Told(CheckLabelValue(value), value, here.Field("value"), causes);
    }
    if (!effect.empty() && effect != "NoExecute" && effect != "NoSchedule" && effect != "None") {
      causes.push_back(UnsupportedText(here.Field("effect"), effect, {"NoExecute", "NoSchedule", "None"}));
    }
  }
}

void BindingConditions(const Json& parent, const FieldPath& path, Causes& causes) {
  const JsonArray& good = List(parent, "bindingConditions");
  const JsonArray& bad = List(parent, "bindingFailureConditions");
  const FieldPath good_path = path.Field("bindingConditions"), bad_path = path.Field("bindingFailureConditions");
  for (const auto& [list, here] : {std::pair(&good, &good_path), std::pair(&bad, &bad_path)}) {
    if (!IsBounded(*list, kBindingConditionsMax, *here, causes)) return;
    for (size_t i = 0; i < list->size(); ++i) {
      const std::string_view name = TextIn((*list)[i]);
      Told(CheckQualifiedName(name), name, here->Index(i), causes);
    }
    DifferentTexts(*list, *here, causes);
  }
  for (size_t i = 0; i < bad.size(); ++i) {
    if (std::ranges::find(good, bad[i]) == good.end()) continue;
    causes.push_back(
        InvalidValue(bad_path.Index(i), bad[i], "bindingFailureConditions must not overlap with bindingConditions"));
  }
  if (good.empty() && !bad.empty()) {
    causes.push_back(InvalidValue(good_path, good, "bindingConditions are required to use bindingFailureConditions"));
  }
  if (bad.empty() && !good.empty()) {
    causes.push_back(InvalidValue(bad_path, bad, "bindingFailureConditions are required to use bindingConditions"));
  }
}

void DriverData(const Json* data, size_t most, const FieldPath& path, Causes& causes) {
  if (data == nullptr) return causes.push_back(RequiredValue(path));
  if (!data->is_object()) {
    return causes.push_back(InvalidText(path, "<value omitted>", "must be a valid JSON object"));
  }
  if (base::ToText(*data).size() > most) causes.push_back(TooManyBytes(path, most));
}

void DeviceSelectors(const Json& parent, const FieldPath& parent_path, Causes& causes) {
  const JsonArray& list = List(parent, "selectors");
  const FieldPath path = parent_path.Field("selectors");
  if (!IsBounded(list, kSelectorsMax, path, causes)) return;
  for (size_t i = 0; i < list.size(); ++i) Selector(list[i], path.Index(i), causes);
}

std::set<std::string, std::less<>> RequestNames(const Json& claim_spec) {
  std::set<std::string, std::less<>> names;
  for (const Json& request : List(MemberOrNothing(claim_spec, "devices"), "requests")) {
    const std::string name(Text(request, "name"));
    for (const Json& sub : List(request, "firstAvailable")) names.insert(name + "/" + std::string(Text(sub, "name")));
    names.insert(name);
  }
  return names;
}

void RequestReference(std::string_view name, const std::set<std::string, std::less<>>& known, const FieldPath& path,
                      Causes& causes) {
  constexpr std::string_view kUnknown =
      "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const size_t slash = name.find('/');
  if (slash != name.npos && name.find('/', slash + 1) != name.npos) {
    return causes.push_back(InvalidText(path, name, kUnknown));
  }
  LabelName(name.substr(0, slash), path, causes);
  if (slash != name.npos) LabelName(name.substr(slash + 1), path, causes);
  if (!known.contains(name)) causes.push_back(InvalidText(path, name, kUnknown));
}

void DeviceConfiguration(const Json& config, const std::set<std::string, std::less<>>& known, const FieldPath& path,
                         Causes& causes) {
  const FieldPath requests_path = path.Field("requests"), opaque_path = path.Field("opaque");
  const JsonArray& requests = List(config, "requests");
  if (IsBounded(requests, kDeviceRequestsMax, requests_path, causes)) {
    for (size_t i = 0; i < requests.size(); ++i) RequestReference(TextIn(requests[i]), known, requests_path.Index(i), causes);
    DifferentTexts(requests, requests_path, causes);
  }
  const Json* opaque = Member(config, "opaque");
  if (opaque == nullptr) return causes.push_back(RequiredValue(opaque_path));
  DriverName(Text(*opaque, "driver"), opaque_path.Field("driver"), causes);
  DriverData(Member(*opaque, "parameters"), kParametersBytesMax, opaque_path.Field("parameters"), causes);
}

}  // namespace evenkeel::kube::validation
