#include "cli/clusters/hub_members.h"

#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <latch>

#include "base/executor.h"
#include "base/log.h"
#include "cli/clusters/command_flags.h"
#include "cli/terminal/output.h"
#include "controllers/distribution/sharding/options.h"
#include "controllers/distribution/sharding/published_plan.h"
#include "controllers/distribution/sharding/shard_plan.h"
#include "kube/karmada.h"

namespace evenkeel::cli {
namespace {

namespace distribution = controllers::distribution;
using base::Code;
using base::Json;
using distribution::Cluster;

/// Members that are asked at the same time, and how long one is waited for.
constexpr size_t kAskedAtOnce = 64;
constexpr base::Duration kLookTimeout = std::chrono::seconds(5);
/// As many as a line bears.
constexpr size_t kNamesShown = 10;

/// All objects of a kind, with apiVersion and kind filled in; none where the API does not serve it.
base::Status Collect(client::Client& hub, const kube::Resource& resource, const std::string& ns, std::vector<Json>& objects) {
  auto page = client::ListAll(hub, resource, {.ns = ns});
  if (!page && page.error().code() == Code::kNotFound) return {};
  if (!page) return base::Fail(page.error().Wrap("list " + resource.QualifiedPlural()));
  for (Json& object : page->items) {
    object.as_object()["apiVersion"] = resource.ApiVersion();
    object.as_object()["kind"] = resource.kind;
    objects.push_back(std::move(object));
  }
  return {};
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kNamesShown; ++i) text += (text.empty() ? "" : ", ") + names[i];
  if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
  return text.empty() ? "none" : text;
}

std::vector<std::string> Labels(const Members& members) {
  std::vector<std::string> labels;
  for (const Cluster& member : members) labels.push_back(member.label());
  return labels;
}

/// Which API to ask instead.
std::string WhichHub(const HubOptions& options) {
  auto contexts = client::KubeconfigContexts(KubeconfigPath(options));
  if (!contexts) return "ask the hub, with its kubeconfig";
  std::erase(*contexts, options.context);
  // The embedded fleet's kubeconfig.
  if (std::ranges::find(*contexts, "hub") != contexts->end()) return "ask the hub: --context hub";
  if (contexts->empty()) return "ask the hub, with its kubeconfig";
  return "ask the hub, with its kubeconfig or another --context: " + Listed(*contexts);
}

/// Whether the API itself, which the hub's kubeconfig leads to, is the member.
bool IsHubItself(const Cluster& member, const std::string& server) {
  return member.server == distribution::kInClusterServer || member.server == distribution::TrimSlashes(server);
}

AskedMember Asked(const HubOptions& api, const Cluster& member, const std::string& server) {
  AskedMember asked{api, member.label(), false, member.autoscaler_args};
  // The local cluster's Secret names an address of within it.
  if (!IsHubItself(member, server)) asked.api.member = *member.connection;
  return asked;
}

base::Result<AskedMember> Asked(const MemberOptions& options, const Members& members, const std::string& name,
                                const std::string& server) {
  EVENKEEL_ASSIGN(const Cluster* const member, FindMember(members, name));
  if (!IsHubItself(*member, server) && !member->connection) {
    return base::Fail(member->connection.error().Wrap(member->source));
  }
  return Asked(options.api, *member, server);
}

}  // namespace

void AddMemberFlags(CLI::App& command, MemberOptions& options, const std::string& what) {
  AddKubeconfigFlags(command, options.api, what + ", or its hub with --cluster");
  command.add_option("--cluster", options.cluster,
                     "The member to ask, as the hub knows it (default: what the context leads to)");
  command.add_option("--hub-namespace", options.api.ns, "Namespace of the hub's cluster Secrets")->capture_default_str();
}

base::Result<Members> ReadMembers(client::Client& hub, const std::string& ns) {
  std::vector<Json> objects;
  EVENKEEL_TRY(Collect(hub, kube::resources::Secrets(), ns, objects));
  const base::Status karmada = Collect(hub, kube::karmada::Clusters(), "", objects);
  // Who may look at Secrets need not have been given these, and is told so also where they are not served.
  if (!karmada && karmada.error().code() != Code::kForbidden) return base::Fail(karmada.error());
  // What Karmada connects with is in namespaces of its own.
  for (size_t i = 0, count = objects.size(); i < count; ++i) {
    const std::string secret_ns(base::FindString(objects[i], {"spec", "secretRef", "namespace"}));
    const std::string secret_name(base::FindString(objects[i], {"spec", "secretRef", "name"}));
    if (base::FindString(objects[i], {"kind"}) != "Cluster" || secret_name.empty() || secret_ns == ns) continue;
    auto secret = hub.Get(kube::resources::Secrets(), secret_ns, secret_name);
    if (!secret) continue;
    secret->as_object()["apiVersion"] = "v1";
    secret->as_object()["kind"] = "Secret";
    objects.push_back(*std::move(secret));
  }
  std::vector<distribution::Finding> findings;
  Members members = distribution::ReadShardPlanInput(objects, false, false, findings, false).clusters;
  std::ranges::sort(members, {}, &Cluster::label);
  return members;
}

base::Status CheckIsHub(client::Client& api, const HubOptions& options) {
  const auto members = ReadMembers(api, options.ns);
  // Who may not look at Secrets cannot be told that there are none.
  if (!members || !members->empty()) return {};
  const auto plans = api.List(distribution::ShardPlans(), {.ns = options.ns, .limit = 1});
  if (plans || plans.error().code() != Code::kNotFound) return {};
  // Replicas in compatible mode need neither.
  const std::string controller =
      options.controller_name.empty() ? distribution::Options().controller_name : options.controller_name;
  const auto replicas = api.Get(kube::resources::Deployments(), options.ns, controller);
  if (replicas || replicas.error().code() != Code::kNotFound) return {};
  return base::Fail(Code::kNotFound,
                    fmt::format("{} is no hub: it has neither cluster Secrets in namespace {} nor ShardPlans; {}",
                                api.Describe(), options.ns, WhichHub(options)));
}

base::Status CheckIsHub(const HubOptions& options) {
  client::HttpClientOptions glance;
  glance.request_timeout = glance.connect_timeout = kLookTimeout;
  const auto api = ConnectToHub(options, glance);
  return api ? CheckIsHub(**api, options) : base::Status();
}

base::Result<const Cluster*> FindMember(const Members& members, const std::string& name) {
  const auto labelled = std::ranges::find_if(members, [&name](const Cluster& member) { return member.label() == name; });
  if (labelled != members.end()) return &*labelled;
  std::vector<const Cluster*> found;
  std::vector<std::string> labels;
  for (const Cluster& member : members) {
    if (member.name != name && member.server != distribution::TrimSlashes(name)) continue;
    found.push_back(&member);
    labels.push_back(member.label());
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return base::Fail(Code::kNotFound, "there is no cluster " + name + ": there are " + Listed(Labels(members)));
  }
  return base::Fail(Code::kBadRequest, "several clusters are called " + name + ": choose one of " + Listed(labels));
}

Sighting LookInMembers(const Members& members, const MemberConnector& connect, const Wanted& wanted) {
  std::vector<base::Status> answers(members.size());
  std::latch done(static_cast<ptrdiff_t>(members.size()));
  {
    const auto executor = base::NewThreadPool(static_cast<int>(std::min(kAskedAtOnce, std::max<size_t>(1, members.size()))));
    std::vector<std::shared_ptr<base::Strand>> strands;
    for (size_t i = 0; i < members.size(); ++i) {
      strands.push_back(executor->NewStrand("look"));
      strands.back()->Post([&, i] {
        const auto member = connect(members[i]);
        const auto object = member ? (*member)->Get(wanted.resource, wanted.ns, wanted.name) : base::Fail(member.error());
        if (!object) answers[i] = base::Fail(object.error());
        done.count_down();
      });
    }
    done.wait();
  }
  Sighting sighting;
  for (size_t i = 0; i < members.size(); ++i) {
    if (answers[i]) {
      sighting.in.push_back(members[i].label());
    } else if (answers[i].error().code() != Code::kNotFound) {
      sighting.silent[members[i].label()] = answers[i].error().message();
    }
  }
  return sighting;
}

base::Result<std::string> ChooseSighting(const Sighting& sighting, const Wanted& wanted, size_t members) {
  if (sighting.in.size() == 1) return sighting.in.front();
  if (sighting.in.size() > 1) {
    return base::Fail(Code::kBadRequest,
                      fmt::format("{} is in {}: choose one with --cluster", wanted.text, Listed(sighting.in)));
  }
  if (sighting.silent.empty()) return "";
  std::vector<std::string> silent;
  for (const auto& [member, why] : sighting.silent) silent.push_back(member + " (" + why + ")");
  return base::Fail(Code::kNotFound, fmt::format("{} is in none of the {} members that have answered; no answer from {}",
                                                 wanted.text, members - silent.size(), Listed(silent)));
}

base::Result<AskedMember> AskMember(const MemberOptions& options, const Wanted* wanted) {
  const AskedMember itself{options.api, "", false, ""};
  EVENKEEL_ASSIGN(const client::ConnectionConfig config,
                  client::LoadKubeconfig({KubeconfigPath(options.api), options.api.context}));
  EVENKEEL_ASSIGN(const std::unique_ptr<client::Client> api, ConnectToHub(options.api));
  const auto members = ReadMembers(*api, options.api.ns);
  if (!options.cluster.empty()) {
    if (!members) return base::Fail(members.error());
    if (members->empty()) EVENKEEL_TRY(CheckIsHub(*api, options.api));
    return Asked(options, *members, options.cluster, config.server);
  }
  // An account that may not see the hub's Secrets, or an API that does not answer: the question itself says that better.
  if (!members || members->empty()) return itself;
  const auto is_itself = [&config](const Cluster& member) { return IsHubItself(member, config.server); };
  if (wanted == nullptr) {
    if (std::ranges::any_of(*members, is_itself)) return itself;
    return base::Fail(Code::kBadRequest, fmt::format("{} is a hub: name the member that is meant with --cluster: {}",
                                                     api->Describe(), Listed(Labels(*members))));
  }
  client::HttpClientOptions looking;
  looking.request_timeout = looking.connect_timeout = kLookTimeout;
  const auto connect = [&](const Cluster& member) -> base::Result<std::unique_ptr<client::Client>> {
    if (is_itself(member)) return client::NewHttpClient(config, looking);
    if (!member.connection) return base::Fail(member.connection.error());
    return client::NewHttpClient(*member.connection, looking);
  };
  const Sighting sighting = LookInMembers(*members, connect, *wanted);
  EVENKEEL_ASSIGN(const std::string name, ChooseSighting(sighting, *wanted, members->size()));
  if (name.empty()) {
    return base::Fail(Code::kNotFound, fmt::format("{}: none of the members of {} has it: {}", wanted->text, api->Describe(),
                                                   Listed(Labels(*members))));
  }
  for (const auto& [member, why] : sighting.silent) {
    PrintWarning(fmt::format("{} cannot be asked whether it has {}, too: {}", member, wanted->text, why));
  }
  EVENKEEL_ASSIGN(AskedMember asked, Asked(options, *members, name, config.server));
  asked.found = true;
  return asked;
}

}  // namespace evenkeel::cli
