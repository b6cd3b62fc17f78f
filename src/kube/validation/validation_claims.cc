// Rules of claims for devices, their templates and classes, and of what is allocated to them.
// Follows: kubernetes@1.36 pkg/apis/resource/validation/validation.go
#include <algorithm>

#include "kube/amounts.h"
#include "kube/object.h"
#include "kube/validation/validation_devices.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;
using NamesOfRequests = std::set<std::string, std::less<>>;

constexpr std::string_view kDeviceGroup = "resource.k8s.io";
constexpr size_t kSubRequestsMax = 8, kConstraintsMax = 32, kConfigMax = 32, kResultsMax = 32, kConsumersMax = 256;
constexpr size_t kConditionsMax = 8, kStatusBytesMax = 10 * 1024, kAddressesMax = 16;

/// What a request and each of its alternatives say.
void Wanted(const Json& request, const FieldPath& path, Causes& causes) {
  const FieldPath class_path = path.Field("deviceClassName");
  const std::string_view name = Text(request, "deviceClassName");
  if (std::string problem = CheckDnsSubdomain(name); !name.empty() && !problem.empty())
    causes.push_back(InvalidText(class_path, name, problem));
  DeviceSelectors(request, path, causes);
  const int64_t count = Number(request, "count");
  const std::string_view mode = Text(request, "allocationMode");
  if (mode == "All" && count != 0) {
    causes.push_back(InvalidValue(path.Field("count"), Json(count), "must not be specified when allocationMode is 'All'"));
  }
  if (mode == "ExactCount" && count <= 0) {
    causes.push_back(InvalidValue(path.Field("count"), Json(count), "must be greater than zero"));
  }
  DeviceTolerations(request, path, causes);
}

void Request(const Json& request, const FieldPath& path, Causes& causes) {
  LabelName(Text(request, "name"), path.Field("name"), causes);
  const Json* exactly = Member(request, "exactly");
  const JsonArray& alternatives = List(request, "firstAvailable");
  constexpr std::string_view kOne = "exactly one of `exactly` or `firstAvailable` is required";
  if (exactly == nullptr && alternatives.empty()) return causes.push_back(RequiredValue(path, kOne));
  if (exactly != nullptr && !alternatives.empty()) {
    return causes.push_back(InvalidValue(path, Json(), std::string(kOne) + ", but multiple fields are set"));
  }
  if (exactly != nullptr) return Wanted(*exactly, path.Field("exactly"), causes);
  const FieldPath list = path.Field("firstAvailable");
  if (!IsBounded(alternatives, kSubRequestsMax, list, causes)) return;
  for (size_t i = 0; i < alternatives.size(); ++i) {
    const FieldPath here = list.Index(i);
    LabelName(Text(alternatives[i], "name"), here.Field("name"), causes);
    Wanted(alternatives[i], here, causes);
  }
  DifferentMembers(alternatives, "name", list, causes);
}

void FullName(std::string_view name, const FieldPath& path, Causes& causes) {
  QualifiedDeviceName(name, path, causes);
  if (!name.contains('/')) {
    causes.push_back(InvalidText(path, name, "a fully qualified name must be a domain and a name separated by a slash"));
  }
}

void Constraint(const Json& constraint, const NamesOfRequests& known, const FieldPath& path, Causes& causes) {
  const JsonArray& requests = List(constraint, "requests");
  const FieldPath requests_path = path.Field("requests");
  if (IsBounded(requests, kDeviceRequestsMax, requests_path, causes)) {
    for (size_t i = 0; i < requests.size(); ++i) RequestReference(TextIn(requests[i]), known, requests_path.Index(i), causes);
    DifferentTexts(requests, requests_path, causes);
  }
  if (Has(constraint, "matchAttribute")) {
    FullName(Text(constraint, "matchAttribute"), path.Field("matchAttribute"), causes);
  } else if (Has(constraint, "distinctAttribute")) {
    FullName(Text(constraint, "distinctAttribute"), path.Field("distinctAttribute"), causes);
  } else {
    causes.push_back(RequiredValue(
        path, R"(exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set)"));
  }
}

void Configurations(const Json& parent, const NamesOfRequests& known, size_t most, const FieldPath& path, Causes& causes) {
  const JsonArray& list = List(parent, "config");
  const FieldPath here = path.Field("config");
  if (!IsBounded(list, most, here, causes)) return;
  for (size_t i = 0; i < list.size(); ++i) DeviceConfiguration(list[i], known, here.Index(i), causes);
}

void ClaimSpec(const Json& spec, const FieldPath& spec_path, Causes& causes) {
  const Json& devices = MemberOrNothing(spec, "devices");
  const FieldPath path = spec_path.Field("devices");
  const FieldPath requests_path = path.Field("requests"), constraints_path = path.Field("constraints");
  const JsonArray& requests = List(devices, "requests");
  if (IsBounded(requests, kDeviceRequestsMax, requests_path, causes)) {
    for (size_t i = 0; i < requests.size(); ++i) Request(requests[i], requests_path.Index(i), causes);
    DifferentMembers(requests, "name", requests_path, causes);
  }
  const NamesOfRequests known = RequestNames(spec);
  const JsonArray& constraints = List(devices, "constraints");
  if (IsBounded(constraints, kConstraintsMax, constraints_path, causes)) {
    for (size_t i = 0; i < constraints.size(); ++i) Constraint(constraints[i], known, constraints_path.Index(i), causes);
  }
  Configurations(devices, known, kConfigMax, path, causes);
}

void TemplateSpec(const Json& spec, const FieldPath& path, Causes& causes) {
  const Json& metadata = MemberOrNothing(spec, "metadata");
  const FieldPath metadata_path = path.Field("metadata");
  Labels(Fields(metadata, "labels"), metadata_path.Field("labels"), causes);
  Annotations(Fields(metadata, "annotations"), metadata_path.Field("annotations"), causes);
  ClaimSpec(MemberOrNothing(spec, "spec"), path.Field("spec"), causes);
}

void ClassSpec(const Json& spec, const FieldPath& path, Causes& causes) {
  DeviceSelectors(spec, path, causes);
  Configurations(spec, {}, kConfigMax, path, causes);
  const Json* name = Member(spec, "extendedResourceName");
  if (name != nullptr && !IsExtendedResourceName(TextIn(*name))) {
    causes.push_back(InvalidValue(path.Field("extendedResourceName"), *name, "must be a valid extended resource name"));
  }
}

void Share(const Json& parent, const FieldPath& path, Causes& causes) {
  if (!Has(parent, "shareID")) return;
  const std::string_view id = Text(parent, "shareID");
  bool good = id.size() == 36;
  for (size_t i = 0; good && i < id.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    good = dash ? id[i] == '-' : (id[i] >= '0' && id[i] <= '9') || (id[i] >= 'a' && id[i] <= 'f');
  }
  if (good) return;
  causes.push_back(InvalidText(path.Field("shareID"), id,
                               "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase "
                               "hexadecimal characters"));
}

/// driver, pool, device.
void DeviceIdentity(const Json& parent, const FieldPath& path, Causes& causes) {
  DriverName(Text(parent, "driver"), path.Field("driver"), causes);
  PoolName(Text(parent, "pool"), path.Field("pool"), causes);
  LabelName(Text(parent, "device"), path.Field("device"), causes);
  Share(parent, path, causes);
}

void Allocation(const Json& allocation, const NamesOfRequests& known, const FieldPath& path, Causes& causes) {
  const Json& devices = MemberOrNothing(allocation, "devices");
  const FieldPath devices_path = path.Field("devices");
  const FieldPath results_path = devices_path.Field("results");
  const JsonArray& results = List(devices, "results");
  if (IsBounded(results, kResultsMax, results_path, causes)) {
    for (size_t i = 0; i < results.size(); ++i) {
      const FieldPath here = results_path.Index(i);
      RequestReference(Text(results[i], "request"), known, here.Field("request"), causes);
      DeviceIdentity(results[i], here, causes);
      BindingConditions(results[i], here, causes);
      DeviceTolerations(results[i], here, causes);
    }
  }
  Configurations(devices, known, 2 * kConfigMax, devices_path, causes);
  if (const Json* selector = Member(allocation, "nodeSelector")) NodeSelector(*selector, path.Field("nodeSelector"), causes);
}

std::string DeviceKey(const Json& device) {
  std::string key;
  for (const char* part : {"driver", "pool", "device", "shareID"}) key += std::string(Text(device, part)) + "\n";
  return key;
}

std::string DeviceName(const Json& device) {
  std::string name =
      std::string(Text(device, "driver")) + "/" + std::string(Text(device, "pool")) + "/" + std::string(Text(device, "device"));
  if (const std::string_view share = Text(device, "shareID"); !share.empty()) name += "/" + std::string(share);
  return name;
}

void DeviceStatus(const Json& device, const FieldPath& path, Causes& causes) {
  DeviceIdentity(device, path, causes);
  IsBounded(List(device, "conditions"), kConditionsMax, path.Field("conditions"), causes);
  if (const Json* data = Member(device, "data")) DriverData(data, kStatusBytesMax, path.Field("data"), causes);
  const Json* network = Member(device, "networkData");
  if (network == nullptr) return;
  const FieldPath network_path = path.Field("networkData");
  for (const auto& [field, most] : {std::pair("interfaceName", size_t{256}), std::pair("hardwareAddress", size_t{128})}) {
    if (Text(*network, field).size() > most) causes.push_back(TooManyBytes(network_path.Field(field), most));
  }
  const JsonArray& addresses = List(*network, "ips");
  const FieldPath ips = network_path.Field("ips");
  if (!IsBounded(addresses, kAddressesMax, ips, causes)) return;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const std::string_view address = TextIn(addresses[i]);
    if (address.contains('/') && IsIpAddress(address.substr(0, address.find('/')))) {
      AddressRange(address, ips.Index(i), causes);
    } else {
      causes.push_back(
          InvalidText(ips.Index(i), address, "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"));
    }
  }
  DifferentTexts(addresses, ips, causes);
}

void DeviceStatuses(const Json& status, const FieldPath& status_path, Causes& causes) {
  NamesOfRequests allocated;
  const Json& allocation = MemberOrNothing(status, "allocation");
  for (const Json& result : List(MemberOrNothing(allocation, "devices"), "results")) allocated.insert(DeviceKey(result));
  const FieldPath path = status_path.Field("devices");
  const JsonArray& devices = List(status, "devices");
  NamesOfRequests seen;
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string key = DeviceKey(devices[i]);
    DeviceStatus(devices[i], path.Index(i), causes);
    if (!allocated.contains(key))
      causes.push_back(InvalidText(path.Index(i), DeviceName(devices[i]), "must be an allocated device in the claim"));
    if (!seen.insert(key).second) causes.push_back(DuplicateText(path.Index(i), DeviceName(devices[i])));
  }
}

void Reservations(const Json& object, const Json& status, const Json& before, const FieldPath& status_path, Causes& causes) {
  const JsonArray& consumers = List(status, "reservedFor");
  const FieldPath path = status_path.Field("reservedFor");
  if (!IsBounded(consumers, kConsumersMax, path, causes) || consumers.empty()) return;
  DifferentMembers(consumers, "uid", path, causes);
  if (!Has(status, "allocation")) {
    return causes.push_back(ForbiddenValue(path, "may not be specified when `allocated` is not set"));
  }
  if (!Has(MemberOrNothing(object, "metadata"), "deletionTimestamp")) return;
  const JsonArray& known = List(before, "reservedFor");
  const bool added = std::ranges::any_of(consumers, [&](const Json& one) {
    return std::ranges::none_of(known, [&](const Json& other) { return base::Equal(one, other); });
  });
  if (!added) return;
  causes.push_back(
      ForbiddenValue(path, "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"));
}

}  // namespace

void ClaimStatusUpdate(const Json& object, const Json& old, Causes& causes) {
  if (SameMember(object, old, "status")) return;
  const FieldPath root;
  const FieldPath path = root.Field("status");
  const Json& status = MemberOrNothing(object, "status");
  const Json& before = MemberOrNothing(old, "status");
  Reservations(object, status, before, path, causes);
  DeviceStatuses(status, path, causes);
  const Json* allocation = Member(status, "allocation");
  if (allocation == nullptr) return;
  if (!Has(before, "allocation")) {
    return Allocation(*allocation, RequestNames(MemberOrNothing(object, "spec")), path.Field("allocation"), causes);
  }
  if (!SameMember(status, before, "allocation")) {
    causes.push_back(InvalidValue(path.Field("allocation"), *allocation, "field is immutable"));
  }
}

void DeviceKind(const Resource& resource, const Json& object, Causes& causes) {
  if (resource.group != kDeviceGroup) return;
  const FieldPath root;
  const Json& spec = MemberOrNothing(object, "spec");
  if (resource.kind == "ResourceSlice") {
    SliceSpec(spec, root.Field("spec"), causes);
  } else if (resource.kind == "DeviceClass") {
    ClassSpec(spec, root.Field("spec"), causes);
  }
}

void NewDeviceKind(const Resource& resource, const Json& object, Causes& causes) {
  if (resource.group != kDeviceGroup) return;
  const FieldPath root;
  const Json& spec = MemberOrNothing(object, "spec");
  // They cannot be changed, so that what they say is judged once.
  if (resource.kind == "ResourceClaim") {
    ClaimSpec(spec, root.Field("spec"), causes);
  } else if (resource.kind == "ResourceClaimTemplate") {
    TemplateSpec(spec, root.Field("spec"), causes);
  }
}

}  // namespace evenkeel::kube::validation
