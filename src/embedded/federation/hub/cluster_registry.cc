#include "embedded/federation/hub/cluster_registry.h"

#include "base/hash.h"
#include "client/definitions.h"
#include "client/http/http_client.h"
#include "embedded/federation/policies/bindings.h"
#include "kube/karmada.h"
#include "kube/types.h"

namespace evenkeel::embedded::federation {
namespace {

using base::FindString;
using base::Json;
using base::JsonObject;
namespace karmada = kube::karmada;

/// How long a question to a member may take: two fit into the period of its health checks.
constexpr base::Duration kMemberTimeout = std::chrono::seconds(5);
constexpr size_t kClusterNameMax = 48;
/// A Cluster that is deleted stays until its member has been emptied.
constexpr char kClusterFinalizer[] = "karmada.io/cluster-controller";
constexpr base::Duration kEmptyPoll = std::chrono::seconds(1);

bool IsUnready(const Json& cluster) { return kube::ConditionStatus(cluster, "Ready") == "False"; }

base::Result<std::unique_ptr<client::Client>> ConnectByHttp(const Json& cluster, const Json& secret) {
  client::ConnectionConfig config;
  config.server = FindString(cluster, {"spec", "apiEndpoint"});
  if (config.server.empty()) return base::Fail(base::Code::kBadRequest, "spec.apiEndpoint is missing");
  config.insecure_skip_tls_verify = base::FindBool(cluster, {"spec", "insecureSkipTLSVerification"});
  config.proxy_url = FindString(cluster, {"spec", "proxyURL"});
  auto data = kube::DataObject::Decode(secret).data;
  config.token = data["token"];
  config.ca_pem = data["caBundle"];
  client::HttpClientOptions options;
  options.request_timeout = options.write_timeout = options.connect_timeout = kMemberTimeout;
  options.user_agent = "evenkeel-federation";
  return client::NewHttpClient(std::move(config), std::move(options));
}

}  // namespace

MemberConnector NewHttpConnector() { return ConnectByHttp; }

Json ClusterOfSecret(const Json& secret) {
  auto data = kube::DataObject::Decode(secret).data;
  const std::string& name = data["name"];
  std::string ns(kube::NamespaceOf(secret)), secret_name(kube::NameOf(secret));
  const std::string_view own = FindString(secret, {"metadata", "annotations", kKarmadaSecret});
  if (!own.empty()) kube::SplitKey(own, ns, secret_name);
  if (data["server"].empty() || (own.empty() && data["token"].empty())) return nullptr;
  if (!kube::CheckDnsLabel(name).empty() || name.size() > kClusterNameMax) return nullptr;
  Json cluster = kube::NewObject(karmada::Clusters(), "", name);
  base::Ensure(cluster, {"metadata", "labels", kRegisteredBy}) = kube::NameOf(secret);
  const JsonObject reference{{"namespace", ns}, {"name", secret_name}};
  base::Ensure(cluster, {"spec"}) = JsonObject{{"syncMode", "Push"}, {"apiEndpoint", data["server"]}, {"secretRef", reference}};
  return cluster;
}

ClusterRegistry::ClusterRegistry(Hub& hub, base::Executor& executor, MemberConnector connect)
    : hub_(hub),
      executor_(executor),
      connect_(std::move(connect)),
      secrets_(hub.client, kube::resources::Secrets(),
               {.ns = "evenkeel", .label_selector = "argocd.argoproj.io/secret-type=cluster"}, hub.strand, hub.clock,
               hub.random.Fork("cluster secrets")),
      registrations_("federation-registrations", hub.strand, hub.clock,
                     [this](const std::string& key) { return ReconcileSecret(key); }),
      members_("federation-members", hub.strand, hub.clock,
               [this](const std::string& name) { return ReconcileCluster(name); }) {
  for (controllers::runtime::Controller* controller : {&registrations_, &members_})
    controller->WaitFor([this] { return hub_.synced() && secrets_.synced(); });
  secrets_.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    registrations_.Enqueue((after ? after : before)->meta.Key());
  });
  hub.clusters.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    const ObjectPointer& cluster = after ? after : before;
    members_.Enqueue(cluster->meta.name);
    const auto registered = cluster->meta.labels.find(kRegisteredBy);
    if (registered != cluster->meta.labels.end()) registrations_.Enqueue("evenkeel/" + registered->second);
  });
  hub.works.AddHandler([this](const ObjectPointer&, const ObjectPointer& after) {
    if (after == nullptr || !after->meta.deletion_time) return;
    const auto cluster = karmada::ClusterOfExecutionNamespace(after->meta.ns);
    if (cluster && hub_.clusters.Get(*cluster) == nullptr) members_.Enqueue(*cluster);
  });
}

void ClusterRegistry::Start() {
  secrets_.Start();
  registrations_.Start();
  members_.Start();
}

ClusterRegistry::Done ClusterRegistry::ReconcileSecret(const std::string& key) {
  std::string ns, name;
  kube::SplitKey(key, ns, name);
  const ObjectPointer secret = secrets_.Get(key);
  const Json wanted = secret != nullptr ? ClusterOfSecret(*secret->json) : Json(nullptr);
  for (const auto& [cluster_name, cluster] : hub_.clusters.items()) {
    const auto label = cluster->meta.labels.find(kRegisteredBy);
    if (label == cluster->meta.labels.end() || label->second != name) continue;
    if (!wanted.is_null() && kube::NameOf(wanted) == cluster_name) continue;
    const auto deleted = hub_.client.Delete(karmada::Clusters(), "", cluster_name);
    if (!deleted && deleted.error().code() != base::Code::kNotFound) return base::Fail(deleted.error());
  }
  if (wanted.is_null()) return {};
  members_.Enqueue(std::string(kube::NameOf(wanted)));  // it may be reached in another way now
  const ObjectPointer present = hub_.clusters.Get(std::string(kube::NameOf(wanted)));
  if (present == nullptr) {
    const auto created = hub_.client.Create(karmada::Clusters(), wanted);
    if (!created && created.error().code() != base::Code::kAlreadyExists) return base::Fail(created.error());
    return {};
  }
  // Somebody's own Cluster of that name goes before ours; what else people write into ours stays.
  if (!present->meta.labels.contains(kRegisteredBy) || client::SaysAll(*present->json, wanted)) return {};
  EVENKEEL_TRY(hub_.client.Patch(karmada::Clusters(), "", present->meta.name, client::PatchType::kMerge, wanted));
  return {};
}

ClusterRegistry::Done ClusterRegistry::ReconcileCluster(const std::string& name) {
  const ObjectPointer cluster = hub_.clusters.Get(name);
  const bool leaves = cluster != nullptr && cluster->meta.deletion_time;
  if (cluster == nullptr || (leaves && !hub_.habits.empties_members)) {
    connected_.erase(name);
    EVENKEEL_TRY(ReleaseWorks(name));
    return {};
  }
  if (leaves) {
    // A hub that has been restarted meanwhile does not know the member yet.
    const auto present = connected_.find(name);
    const base::Status reached = present != connected_.end() && present->second.sync ? base::Status() : Connect(*cluster);
    if (!reached && base::IsRetryable(reached.error().code())) return base::Fail(reached.error());
    // Who cannot be reached is not waited for.
    if (!reached || IsUnready(*cluster->json)) EVENKEEL_TRY(ReleaseWorks(name));
    return EmptyMember(*cluster);
  }
  if (hub_.habits.empties_members)
    EVENKEEL_TRY(KeepFinalizer(hub_.client, karmada::Clusters(), *cluster, kClusterFinalizer, true));
  EVENKEEL_TRY(EnsureNamespace(karmada::ExecutionNamespace(name)));
  EVENKEEL_TRY(Connect(*cluster));
  return {};
}

base::Status ClusterRegistry::Connect(const kube::Object& cluster) {
  const std::string& name = cluster.meta.name;
  const Json* spec = base::Find(*cluster.json, {"spec"});
  if (FindString(*cluster.json, {"spec", "syncMode"}) == "Pull") return {};  // its own agent looks after it
  const std::string secret_name(FindString(*cluster.json, {"spec", "secretRef", "name"}));
  Json secret;
  if (!secret_name.empty()) {
    EVENKEEL_ASSIGN(secret, hub_.client.Get(kube::resources::Secrets(),
                                            FindString(*cluster.json, {"spec", "secretRef", "namespace"}), secret_name));
  }
  std::string all = cluster.meta.uid + (spec != nullptr ? base::CanonicalText(*spec) : "");
  for (const auto& [key, value] : base::FindObject(secret, {"data"})) all += std::string(key) + base::ToText(value);
  const uint64_t hash = base::Blake2b64(all);
  Connected& entry = connected_[name];
  if (entry.sync != nullptr && entry.hash == hash) return {};
  entry.sync.reset();
  EVENKEEL_ASSIGN(std::unique_ptr<client::Client> member, connect_(*cluster.json, secret));
  entry.hash = hash;
  entry.sync = std::make_unique<MemberSync>(name, hub_.client, std::move(member), hub_.interpreter,
                                            executor_.NewStrand("federation/" + name), hub_.clock, hub_.random.Fork(name));
  entry.sync->Start();
  return {};
}

ClusterRegistry::Done ClusterRegistry::EmptyMember(const kube::Object& cluster) {
  bool empty = true;
  for (const auto& [key, work] : hub_.works.items()) {
    if (work->meta.ns != karmada::ExecutionNamespace(cluster.meta.name)) continue;
    empty = false;
    if (work->meta.deletion_time) continue;
    const auto deleted = hub_.client.Delete(karmada::Works(), work->meta.ns, work->meta.name);
    if (!deleted && deleted.error().code() != base::Code::kNotFound) return base::Fail(deleted.error());
  }
  // The member's own strand removes them there.
  if (!empty) return controllers::runtime::ReconcileResult{kEmptyPoll};
  EVENKEEL_TRY(KeepFinalizer(hub_.client, karmada::Clusters(), cluster, kClusterFinalizer, false));
  return {};
}

base::Status ClusterRegistry::EnsureNamespace(const std::string& name) {
  const auto& namespaces = kube::resources::Namespaces();
  const auto created = hub_.client.Create(namespaces, kube::NewObject(namespaces, "", name));
  if (created || created.error().code() == base::Code::kAlreadyExists) return {};
  return base::Fail(created.error());
}

base::Status ClusterRegistry::ReleaseWorks(const std::string& cluster) {
  const std::string ns = karmada::ExecutionNamespace(cluster);
  for (const auto& [key, work] : hub_.works.items()) {
    if (work->meta.ns != ns || !work->meta.deletion_time) continue;
    EVENKEEL_TRY(KeepFinalizer(hub_.client, karmada::Works(), *work, kExecutionFinalizer, false));
  }
  return {};
}

}  // namespace evenkeel::embedded::federation
