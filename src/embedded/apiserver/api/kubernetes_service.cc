#include "embedded/apiserver/api/kubernetes_service.h"

#include "base/log.h"
#include "embedded/apiserver/api/api.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr const char* kServiceOfApi = "kubernetes";
constexpr int kServicePort = 443;

std::string ReachableAddress(const std::string& address) {
  const bool one = kube::validation::IsIpAddress(address) && address != "0.0.0.0" && address != "::";
  return one ? address : "127.0.0.1";
}

Json NewOfApi(const kube::Resource& kind, base::JsonObject labels) {
  Json object = kube::NewObject(kind, "default", kServiceOfApi);
  base::Ensure(object, {"metadata", "labels"}) = std::move(labels);
  return object;
}

Json WantedService(int port) {
  Json service = NewOfApi(kube::resources::Services(), {{"component", "apiserver"}, {"provider", "kubernetes"}});
  service.get_object()["spec"] =
      base::JsonObject{{"type", "ClusterIP"},
                       {"clusterIP", kApiServiceAddress},
                       {"sessionAffinity", "None"},
                       {"ports", base::JsonArray{base::JsonObject{
                                     {"name", "https"}, {"protocol", "TCP"}, {"port", kServicePort}, {"targetPort", port}}}}};
  return service;
}

base::JsonArray PortsOfApi(int port) { return {base::JsonObject{{"name", "https"}, {"port", port}, {"protocol", "TCP"}}}; }

Json WantedEndpoints(const std::vector<ServerAddress>& servers) {
  // Its slice is not made from it, but beside it.
  Json endpoints = NewOfApi(kube::resources::Endpoints(), {{"endpointslice.kubernetes.io/skip-mirror", "true"}});
  std::map<int, base::JsonArray> by_port;
  for (const ServerAddress& server : servers) by_port[server.port].push_back(base::JsonObject{{"ip", server.ip}});
  base::JsonArray subsets;
  for (auto& [port, addresses] : by_port) {
    subsets.push_back(base::JsonObject{{"addresses", std::move(addresses)}, {"ports", PortsOfApi(port)}});
  }
  endpoints.get_object()["subsets"] = std::move(subsets);
  return endpoints;
}

constexpr const char* kServiceLabel = "kubernetes.io/service-name";

// What its addresses have in common.
struct SliceOfApi {
  std::string family;
  int port;
  auto operator<=>(const SliceOfApi&) const = default;
};

Json WantedSlice(const kube::Resource& kind, const SliceOfApi& slice, base::JsonArray endpoints) {
  Json wanted = NewOfApi(kind, {{kServiceLabel, kServiceOfApi}});
  wanted.get_object()["addressType"] = slice.family;
  wanted.get_object()["endpoints"] = std::move(endpoints);
  wanted.get_object()["ports"] = PortsOfApi(slice.port);
  return wanted;
}

// By the slice's name. Servers with one port and family, as usual, have the one that is called as the Service is.
std::map<std::string, Json> WantedSlices(const kube::Resource& kind, const std::vector<ServerAddress>& servers) {
  std::map<SliceOfApi, base::JsonArray> sorted;
  for (const ServerAddress& server : servers) {
    sorted[{server.ip.contains(':') ? "IPv6" : "IPv4", server.port}].push_back(
        base::JsonObject{{"addresses", base::JsonArray{Json(server.ip)}}, {"conditions", base::JsonObject{{"ready", true}}}});
  }
  std::map<std::string, Json> slices;
  for (auto& [slice, endpoints] : sorted) {
    std::string name = kServiceOfApi;
    if (!slices.empty()) name += (slice.family == "IPv6" ? "-ipv6-" : "-ipv4-") + std::to_string(slice.port);
    Json wanted = WantedSlice(kind, slice, std::move(endpoints));
    base::Ensure(wanted, {"metadata", "name"}) = name;
    slices.emplace(name, std::move(wanted));
  }
  return slices;
}

}  // namespace

KubernetesService::KubernetesService(Api& api, base::Executor& executor, const std::string& address, int port, Store store)
    : client_(NewInProcessClient(api, {.name = "system:apiserver", .groups = {access::kMasters}})),
      self_{ReachableAddress(address), port},
      records_(store == Store::kShared ? std::make_unique<ServerRecords>(api.store(), executor.clock(), self_) : nullptr),
      strand_(executor.NewStrand("kubernetes-service-" + api.options().name)) {
  strand_->Post([this] { Keep(); });
}

KubernetesService::~KubernetesService() {
  strand_->Close();
  if (records_ == nullptr) return;
  const auto others = records_->Leave();
  base::Status told = others ? base::Status() : base::Fail(others.error());
  // The last one's address stays.
  if (others && !others->empty()) told = Reconcile(*others);
  if (!told) base::log::Warn("the Service default/kubernetes may name this server for a while", {{"error", told.error()}});
}

void KubernetesService::Keep() {
  base::Result<std::vector<ServerAddress>> servers = std::vector<ServerAddress>{self_};
  if (records_ != nullptr) servers = records_->Renew();
  if (const base::Status kept = servers ? Reconcile(*servers) : base::Fail(servers.error()); !kept) {
    base::log::Warn("the Service default/kubernetes could not be kept, and is tried again", {{"error", kept.error()}});
  }
  timer_ = strand_->PostAfter(kInterval, [this] { Keep(); });
}

base::Status KubernetesService::Reconcile(const std::vector<ServerAddress>& servers) {
  const int port = std::ranges::min(servers, {}, &ServerAddress::port).port;
  EVENKEEL_TRY(KeepOne(kube::resources::Services(), WantedService(port), {"type", "ports"}));
  EVENKEEL_TRY(KeepOne(kube::resources::Endpoints(), WantedEndpoints(servers), {"subsets"}));
  return KeepSlices(servers);
}

base::Status KubernetesService::KeepSlices(const std::vector<ServerAddress>& servers) {
  const kube::Resource& kind = kube::resources::EndpointSlices();
  const std::map<std::string, Json> wanted = WantedSlices(kind, servers);
  for (const auto& [name, slice] : wanted) EVENKEEL_TRY(KeepOne(kind, slice, {"endpoints", "ports"}, "addressType"));
  EVENKEEL_ASSIGN(const client::ListPage present,
                  client_->List(kind, {.ns = "default", .label_selector = std::string(kServiceLabel) + "=" + kServiceOfApi}));
  for (const Json& slice : present.items) {
    const std::string name(kube::NameOf(slice));
    const bool ours = name.starts_with("kubernetes-ipv4-") || name.starts_with("kubernetes-ipv6-");
    if (!ours || wanted.contains(name)) continue;
    const auto deleted = client_->Delete(kind, "default", name, {});
    if (!deleted && deleted.error().code() != base::Code::kNotFound) return base::Fail(deleted.error());
  }
  return {};
}

base::Status KubernetesService::KeepOne(const kube::Resource& kind, const Json& wanted,
                                        std::initializer_list<std::string_view> fields, std::string_view fixed) {
  const std::string name(kube::NameOf(wanted));
  auto found = client_->Get(kind, "default", name, "");
  if (found && !fixed.empty() && base::FindString(*found, {fixed}) != base::FindString(wanted, {fixed})) {
    EVENKEEL_TRY(client_->Delete(kind, "default", name, {}));
    found = base::Fail(base::Code::kNotFound, "it is of another kind");
  }
  if (!found) {
    if (found.error().code() != base::Code::kNotFound) return base::Fail(found.error());
    EVENKEEL_TRY(client_->Create(kind, wanted, {}));
    return {};
  }
  const bool in_spec = base::Find(wanted, {"spec"}) != nullptr;
  Json changed = *found;
  for (const std::string_view field : fields) {
    const Json* value = in_spec ? base::Find(wanted, {"spec", field}) : base::Find(wanted, {field});
    (in_spec ? base::Ensure(changed, {"spec", field}) : base::Ensure(changed, {field})) = *value;
  }
  for (const auto& [label, value] : base::FindObject(wanted, {"metadata", "labels"})) {
    base::Ensure(changed, {"metadata", "labels", label}) = value;
  }
  if (base::Equal(changed, *found)) return {};
  EVENKEEL_TRY(client_->Update(kind, changed, {}));
  return {};
}

}  // namespace evenkeel::embedded::apiserver
