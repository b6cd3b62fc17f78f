// Addresses of services: cluster IPs out of 10.96.0.0/12 and node ports out of 30000-32767. The first choice is a hash of the
// name, so that a fleet that is made again has the same addresses.
#include "base/hash.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/requests/errors.h"
#include "embedded/apiserver/requests/raw_json.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr uint32_t kFirstAddress = (10u << 24) | (96u << 16);
constexpr uint32_t kAddresses = 1u << 20;
constexpr int64_t kFirstNodePort = 30'000;
constexpr int64_t kNodePorts = 2'768;

std::string AddressText(uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, (address >> 16) & 255, (address >> 8) & 255, address & 255);
}

bool WantsNodePorts(const Json& service) {
  const std::string_view type = base::FindString(service, {"spec", "type"});
  return type == "NodePort" ||
         (type == "LoadBalancer" && base::FindBool(service, {"spec", "allocateLoadBalancerNodePorts"}, true));
}

bool IsExternal(const Json& service) { return base::FindString(service, {"spec", "type"}) == "ExternalName"; }
bool IsBalanced(const Json& service) { return base::FindString(service, {"spec", "type"}) == "LoadBalancer"; }
bool IsReachable(const Json& service) {
  const std::string_view type = base::FindString(service, {"spec", "type"});
  return type == "NodePort" || type == "LoadBalancer" ||
         (type == "ClusterIP" && !base::FindArray(service, {"spec", "externalIPs"}).empty());
}
bool IsChecked(const Json& service) {
  return IsBalanced(service) && base::FindString(service, {"spec", "externalTrafficPolicy"}) == "Local";
}

// The addresses that a request leaves out are those that the service has.
void KeepAddresses(Json& service, const Json& old) {
  for (const std::string_view field : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"}) {
    if (field == "healthCheckNodePort" && !IsChecked(service)) continue;
    const Json* present = base::Find(old, {"spec", field});
    if (present != nullptr && base::Find(service, {"spec", field}) == nullptr)
      base::Ensure(service, {"spec", field}) = *present;
  }
  if (!WantsNodePorts(service)) return;
  Json* ports = base::Find(service, {"spec", "ports"});
  if (ports == nullptr || !ports->is_array()) return;
  for (Json& port : ports->get_array()) {
    if (base::FindInt(port, {"nodePort"}) != 0) continue;
    for (const Json& before : base::FindArray(old, {"spec", "ports"})) {
      const bool same = base::FindInt(before, {"port"}) == base::FindInt(port, {"port"}) &&
                        base::FindString(before, {"protocol"}, "TCP") == base::FindString(port, {"protocol"}, "TCP");
      if (same && base::FindInt(before, {"nodePort"}) != 0)
        base::Ensure(port, {"nodePort"}) = base::FindInt(before, {"nodePort"});
    }
  }
}

bool SameField(const Json& a, const Json& b, std::string_view field) {
  const Json* left = base::Find(a, {"spec", field});
  const Json* right = base::Find(b, {"spec", field});
  if (left == nullptr || right == nullptr) return left == right;
  return base::Equal(*left, *right);
}

std::set<int64_t> NodePortsOf(const Json& service) {
  std::set<int64_t> ports;
  for (const Json& port : base::FindArray(service, {"spec", "ports"})) {
    if (const int64_t number = base::FindInt(port, {"nodePort"}); number != 0) ports.insert(number);
  }
  return ports;
}

// Of the nodes, for whatever purpose.
std::set<int64_t> PortsHeldBy(const Json& service) {
  std::set<int64_t> ports = NodePortsOf(service);
  if (const int64_t number = base::FindInt(service, {"spec", "healthCheckNodePort"}); number != 0) ports.insert(number);
  return ports;
}

// What a service of another type had, and is not spoken of by who changes the type, goes with it.
void DropOfOtherType(Json& service, const Json& old) {
  const auto drop = [&](bool (*has)(const Json&), std::initializer_list<std::string_view> fields) {
    if (!has(old) || has(service)) return;
    for (const std::string_view field : fields) {
      if (SameField(service, old, field)) base::Erase(service, {"spec", field});
    }
  };
  constexpr auto kHasAddress = [](const Json& one) { return !IsExternal(one); };
  drop(kHasAddress, {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"});
  drop(IsExternal, {"externalName"});
  // Whether there is a check is decided by the policy, which may go.
  drop(IsChecked, {"healthCheckNodePort"});
  drop(IsReachable, {"externalTrafficPolicy"});
  drop(IsBalanced, {"allocateLoadBalancerNodePorts", "loadBalancerClass"});
  if (!WantsNodePorts(old) || WantsNodePorts(service) || NodePortsOf(old) != NodePortsOf(service)) return;
  Json* ports = base::Find(service, {"spec", "ports"});
  if (ports == nullptr || !ports->is_array()) return;
  for (Json& port : ports->get_array()) base::Erase(port, {"nodePort"});
}

base::Cause Taken(std::string_view field, const std::string& value) {
  return {.reason = "FieldValueInvalid",
          .message = "Invalid value: " + value + ": provided " + std::string(field == "spec.clusterIPs" ? "IP" : "port") +
                     " is already allocated",
          .field = std::string(field)};
}

}  // namespace

void Api::LoadServices() {
  if (std::exchange(services_loaded_, true)) return;
  const ServedPointer services = table_.Find("", "v1", "services");
  const auto list = options_.store->List({.prefix = services->prefix, .start_after = {}});
  if (!list) {
    services_loaded_ = false;
    return;
  }
  for (const store::KeyValue& item : list->items) {
    service_ips_.insert(RawText(RawFind(*item.value, {"spec", "clusterIP"})));
    const auto service = DecodeObject(*services, {item.value, item.mod_revision});
    if (!service) continue;
    node_ports_.merge(PortsHeldBy(*service));
  }
}

int64_t Api::FreeNodePort(const std::string& key) {
  int64_t offset = base::Fnv1a32(key) % kNodePorts;
  for (int64_t tried = 0; tried < kNodePorts && node_ports_.contains(kFirstNodePort + offset); ++tried) {
    offset = (offset + 1) % kNodePorts;
  }
  return kFirstNodePort + offset;
}

Status Api::AllocateService(Json& service, const Json* old) {
  if (old != nullptr) DropOfOtherType(service, *old);
  if (IsExternal(service)) return {};
  if (old != nullptr) KeepAddresses(service, *old);
  const std::string key = kube::KeyOf(service);
  std::lock_guard lock(services_mutex_);
  LoadServices();
  std::string address(base::FindString(service, {"spec", "clusterIP"}));
  const bool had = old != nullptr && base::FindString(*old, {"spec", "clusterIP"}) == address;
  if (address.empty()) {
    uint32_t offset = base::Fnv1a32(key) % kAddresses;
    for (uint32_t tried = 0; tried < kAddresses; ++tried, offset = (offset + 1) % kAddresses) {
      // The network's own address, its first (the API's) and the last are not given out.
      if (offset < 2 || offset == kAddresses - 1) continue;
      address = AddressText(kFirstAddress + offset);
      if (!service_ips_.contains(address)) break;
    }
  } else if (address != "None" && !had && service_ips_.contains(address)) {
    return base::Fail(InvalidError(table_.Find("", "v1", "services")->resource, kube::NameOf(service),
                                   {Taken("spec.clusterIPs", "[\"" + address + "\"]")}));
  }
  base::Ensure(service, {"spec", "clusterIP"}) = address;
  base::Ensure(service, {"spec", "clusterIPs"}) = base::JsonArray{Json(address)};
  if (base::Find(service, {"spec", "ipFamilies"}) == nullptr)
    base::Ensure(service, {"spec", "ipFamilies"}) = base::JsonArray{"IPv4"};
  if (base::Find(service, {"spec", "ipFamilyPolicy"}) == nullptr)
    base::Ensure(service, {"spec", "ipFamilyPolicy"}) = "SingleStack";
  if (address != "None") service_ips_.insert(address);
  Json* ports = base::Find(service, {"spec", "ports"});
  if (WantsNodePorts(service) && ports != nullptr && ports->is_array()) {
    for (Json& port : ports->get_array()) {
      if (base::FindInt(port, {"nodePort"}) == 0) {
        base::Ensure(port, {"nodePort"}) = FreeNodePort(key + ":" + std::to_string(base::FindInt(port, {"port"})));
      }
      node_ports_.insert(base::FindInt(port, {"nodePort"}));
    }
  }
  if (!IsChecked(service)) return {};
  if (base::FindInt(service, {"spec", "healthCheckNodePort"}) == 0) {
    base::Ensure(service, {"spec", "healthCheckNodePort"}) = FreeNodePort(key + ":health");
  }
  node_ports_.insert(base::FindInt(service, {"spec", "healthCheckNodePort"}));
  return {};
}

void Api::ReleaseService(const Stored& stored) {
  const ServedPointer services = table_.Find("", "v1", "services");
  const auto service = DecodeObject(*services, stored);
  if (!service) return;
  std::lock_guard lock(services_mutex_);
  service_ips_.erase(std::string(base::FindString(*service, {"spec", "clusterIP"})));
  for (const int64_t port : PortsHeldBy(*service)) node_ports_.erase(port);
}

}  // namespace evenkeel::embedded::apiserver
