#include "cli/commands/clusters.h"

#include <algorithm>
#include <chrono>

#include "base/hash.h"
#include "cli/terminal/output.h"
#include "cli/terminal/signals.h"
#include "client/definitions.h"
#include "controllers/distribution/sharding/account_token.h"
#include "controllers/distribution/sharding/cluster.h"
#include "kube/object.h"
#include "kube/types.h"

namespace evenkeel::cli {
namespace {

namespace distribution = controllers::distribution;
using base::Code;
using base::Json;
using base::JsonObject;
using namespace std::chrono_literals;

// How long a Secret may take to be filled in.
constexpr int kTokenPolls = 100;
constexpr base::Duration kTokenPoll = 100ms;

client::KubeconfigSource MemberSource(const ClustersOptions& options) {
  HubOptions source = options.hub;
  if (!options.member_kubeconfig.empty()) source.kubeconfig = options.member_kubeconfig;
  return {KubeconfigPath(source), options.member_context};
}

base::Result<std::unique_ptr<client::Client>> ConnectToMember(const ClustersOptions& options) {
  EVENKEEL_ASSIGN(client::ConnectionConfig config, client::LoadKubeconfig(MemberSource(options)));
  return client::NewHttpClient(std::move(config), {});
}

struct Entry {
  Json secret;
  distribution::Cluster cluster;
};

/// Of the namespace, in the order of their names.
base::Result<std::vector<Entry>> ReadEntries(client::Client& hub, const std::string& ns) {
  client::ListOptions list;
  list.ns = ns;
  list.label_selector = std::string(distribution::kClusterSecretLabel) + "=cluster";
  auto page = client::ListAll(hub, kube::resources::Secrets(), list);
  if (!page) return base::Fail(page.error().Wrap("cluster Secrets of namespace " + ns));
  std::vector<Entry> entries;
  for (Json& secret : page->items) {
    base::Ensure(secret, {"kind"}) = kube::resources::Secrets().kind;
    base::Ensure(secret, {"apiVersion"}) = kube::resources::Secrets().ApiVersion();
    std::vector<distribution::Finding> ignored;
    if (auto cluster = distribution::ClusterFromSecret(secret, ignored)) {
      entries.push_back({std::move(secret), *std::move(cluster)});
    }
  }
  std::ranges::sort(entries, {}, [](const Entry& entry) { return std::pair(entry.cluster.name, entry.cluster.server); });
  return entries;
}

base::Result<Entry> FindEntry(client::Client& hub, const ClustersOptions& options) {
  EVENKEEL_ASSIGN(std::vector<Entry> entries, ReadEntries(hub, options.hub.ns));
  const auto meant = [&](const Entry& entry) {
    return entry.cluster.name == options.name || entry.cluster.NameWithServer() == options.name ||
           kube::NameOf(entry.secret) == options.name;
  };
  const auto found = std::ranges::find_if(entries, meant);
  if (found == entries.end()) {
    return base::Fail(Code::kNotFound, "no cluster \"" + options.name + "\" in namespace " + options.hub.ns +
                                           ": evenkeel clusters list names them");
  }
  if (std::find_if(found + 1, entries.end(), meant) != entries.end()) {
    return base::Fail(Code::kBadRequest, "several clusters are called \"" + options.name + "\": give the Secret's name");
  }
  return std::move(*found);
}

base::Result<MemberToken> NewMemberToken(client::Client& member, base::Duration lifetime) {
  SignalWaiter signals;
  return MakeMemberToken(member, lifetime, [&signals, polls = 0]() mutable -> base::Status {
    if (signals.WaitFor(kTokenPoll)) return base::Fail(Code::kCancelled, "interrupted");
    if (++polls == kTokenPolls) return base::Fail(Code::kTimeout, "the API server fills in no token for the account");
    return {};
  });
}

/// Whether the token leads to the member, and has rights there.
base::Status TryToken(client::ConnectionConfig connection, const std::string& token) {
  connection.token = token;
  EVENKEEL_ASSIGN(const auto member, client::NewHttpClient(std::move(connection), {}));
  const auto read = member->Get(kube::resources::Namespaces(), "", "kube-system");
  if (read) return {};
  return base::Fail(read.error().Wrap("the account's new token does not do"));
}

/// Without credentials of people.
client::ConnectionConfig WithoutUser(const client::ConnectionConfig& connection, const std::string& server) {
  client::ConnectionConfig bare;
  bare.server = server.empty() ? connection.server : server;
  bare.ca_pem = connection.ca_pem;
  bare.tls_server_name = connection.tls_server_name;
  bare.insecure_skip_tls_verify = connection.insecure_skip_tls_verify;
  bare.proxy_url = connection.proxy_url;
  return bare;
}

Json SecretFor(const ClustersOptions& options, const std::string& name, const client::ConnectionConfig& bare) {
  JsonObject tls{{"insecure", bare.insecure_skip_tls_verify}};
  if (!bare.ca_pem.empty()) tls["caData"] = base::Base64Encode(bare.ca_pem);
  if (!bare.tls_server_name.empty()) tls["serverName"] = bare.tls_server_name;
  JsonObject config{{"tlsClientConfig", std::move(tls)}};
  if (!bare.proxy_url.empty()) config["proxyUrl"] = bare.proxy_url;
  Json secret = kube::NewObject(kube::resources::Secrets(), options.hub.ns, name);
  base::Ensure(secret, {"metadata", "labels", distribution::kClusterSecretLabel}) = "cluster";
  base::Ensure(secret, {"type"}) = "Opaque";
  base::Ensure(secret, {"data"}) = JsonObject{{"name", base::Base64Encode(name)},
                                              {"server", base::Base64Encode(bare.server)},
                                              {"config", base::Base64Encode(base::ToText(Json(std::move(config))))}};
  return secret;
}

/// A token without an end is in the Secret without annotations: nobody renews it.
base::Status PutMemberToken(Json& secret, const MemberToken& token, base::Time now) {
  EVENKEEL_TRY(
      distribution::PutToken(secret, {token.token, token.expires.value_or(now)}, kMemberNamespace, kMemberAccount, now));
  if (token.expires) return {};
  for (const std::string_view annotation :
       {distribution::kTokenAccountAnnotation, distribution::kTokenIssuedAnnotation, distribution::kTokenExpiresAnnotation}) {
    secret.as_object()["metadata"].as_object()["annotations"].as_object().erase(annotation);
  }
  return {};
}

std::string LifeOf(const MemberToken& token, base::Time now) {
  if (!token.expires) return "its token has no end: the API gives no other; evenkeel clusters rotate makes another one";
  distribution::AccountToken life;
  life.issued = now;
  life.expires = *token.expires;
  return "its token ends " + base::FormatTime(*token.expires) + "; the replica that owns the member renews it from " +
         base::FormatTime(life.renewal()) + " on";
}

bool IsLoopback(std::string_view url) {
  for (const std::string_view host : {"://127.", "://localhost", "://[::1]"}) {
    if (url.contains(host)) return true;
  }
  return false;
}

}  // namespace

base::Status AddCluster(const ClustersOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const auto hub, ConnectToHub(options.hub));
  EVENKEEL_ASSIGN(const client::ConnectionConfig connection, client::LoadKubeconfig(MemberSource(options)));
  const client::ConnectionConfig bare = WithoutUser(connection, options.server);
  const std::string& name = options.name.empty() ? options.member_context : options.name;
  // Before anything is made anywhere.
  EVENKEEL_ASSIGN(const std::vector<Entry> entries, ReadEntries(*hub, options.hub.ns));
  for (const Entry& entry : entries) {
    const bool same_server = entry.cluster.server == distribution::TrimSlashes(bare.server);
    const bool same_name = kube::NameOf(entry.secret) == name;
    if (same_server == same_name) continue;
    return base::Fail(Code::kAlreadyExists,
                      fmt::format("Secret {}/{} is cluster {} at {}: remove it, or give another {}", options.hub.ns,
                                  kube::NameOf(entry.secret), entry.cluster.name, client::WithoutUserinfo(entry.cluster.server),
                                  same_name ? "--name" : "--server"));
  }
  EVENKEEL_ASSIGN(const auto member, client::NewHttpClient(connection, {}));
  EVENKEEL_TRY(InstallMemberAccount(*member, options.parts));
  EVENKEEL_ASSIGN(const MemberToken token, NewMemberToken(*member, options.token_lifetime));
  EVENKEEL_TRY(TryToken(bare, token.token));
  const base::Time now = base::SystemClock().Now();
  Json secret = SecretFor(options, name, bare);
  EVENKEEL_TRY(PutMemberToken(secret, token, now));
  EVENKEEL_TRY(client::CreateOrUpdate(*hub, kube::resources::Namespaces(),
                                      kube::NewObject(kube::resources::Namespaces(), "", options.hub.ns)));
  EVENKEEL_TRY(client::CreateOrUpdate(*hub, kube::resources::Secrets(), secret));
  out << "cluster " << name << " at " << client::WithoutUserinfo(bare.server) << " is Secret " << options.hub.ns << "/" << name
      << " on the hub\n"
      << "replicas are ServiceAccount " << kMemberNamespace << "/" << kMemberAccount << " there; " << LifeOf(token, now)
      << "\n";
  if (IsLoopback(bare.server)) {
    PrintWarning(client::WithoutUserinfo(bare.server) +
                 " leads only to this machine: for replicas elsewhere give the member's address by --server");
  }
  return {};
}

Json DescribeCluster(const Json& secret) {
  std::vector<distribution::Finding> ignored;
  const auto cluster = distribution::ClusterFromSecret(secret, ignored);
  if (!cluster) return base::JsonObject{{"cluster", kube::NameOf(secret)}, {"server", ""}, {"access", "no server"}};
  std::string access = "unreadable";
  if (cluster->connection) {
    const client::ConnectionConfig& connection = *cluster->connection;
    access = connection.exec != nullptr                   ? "plugin"
             : !connection.client_certificate_pem.empty() ? "certificate"
             : !connection.token.empty()                  ? "token"
             : !connection.username.empty()               ? "password"
                                                          : "none";
  }
  base::JsonObject described{
      {"cluster", cluster->name}, {"server", client::WithoutUserinfo(cluster->server)}, {"access", access}};
  if (const auto token = distribution::AccountTokenOf(secret)) {
    described["account"] = token->ns + "/" + token->account;
    described["expires"] = base::FormatTime(token->expires);
    described["renewal"] = base::FormatTime(token->renewal());
  }
  return described;
}

Shown ShowClusters(base::JsonArray clusters, base::Time now) {
  Shown shown;
  shown.kind = "cluster";
  shown.items = "clusters";
  shown.header = {"NAME", "SERVER", "ACCESS", "ENDS", "RENEWED"};
  for (const Json& cluster : clusters) {
    const auto text = [&cluster](const char* field) { return std::string(base::FindString(cluster, {field})); };
    const auto when = [&](const char* field, const char* passed) {
      const auto time = base::ParseTime(text(field));
      return !time ? std::string("-") : text(field) + (*time <= now ? passed : "");
    };
    const std::string account = text("account");
    shown.names.push_back(text("cluster"));
    shown.rows.push_back({text("cluster"), text("server"), text("access") + (account.empty() ? "" : " of " + account),
                          when("expires", " (over)"), when("renewal", " (due)")});
  }
  shown.json = base::JsonObject{{"clusters", std::move(clusters)}};
  return shown;
}

base::Status ListClusters(const ClustersOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const GetOutput output, GetOutput::Parse(options.output));
  EVENKEEL_ASSIGN(const auto hub, ConnectToHub(options.hub));
  EVENKEEL_ASSIGN(const std::vector<Entry> entries, ReadEntries(*hub, options.hub.ns));
  if (entries.empty() && output.IsTable()) {
    out << "no clusters in namespace " << options.hub.ns << ": evenkeel clusters add CONTEXT registers one\n";
    return {};
  }
  base::JsonArray clusters;
  for (const Entry& entry : entries) clusters.push_back(DescribeCluster(entry.secret));
  EVENKEEL_ASSIGN(const Shown shown, output.Arrange(ShowClusters(std::move(clusters), base::SystemClock().Now()), {}, false));
  return output.Print(out, shown);
}

base::Status RemoveCluster(const ClustersOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const auto hub, ConnectToHub(options.hub));
  EVENKEEL_ASSIGN(const Entry entry, FindEntry(*hub, options));
  std::unique_ptr<client::Client> member;
  if (!options.member_context.empty()) {
    EVENKEEL_ASSIGN(member, ConnectToMember(options));
  }
  client::DeleteOptions same;
  same.uid = kube::UidOf(entry.secret);
  EVENKEEL_TRY(hub->Delete(kube::resources::Secrets(), options.hub.ns, kube::NameOf(entry.secret), same));
  out << "cluster " << entry.cluster.name << " is removed: its owner lets it go\n";
  if (member == nullptr) {
    if (distribution::AccountTokenOf(entry.secret)) {
      out << "the account stays in the member until its context is given: kubectl --context CONTEXT --namespace "
          << kMemberNamespace << " delete serviceaccount " << kMemberAccount << "\n";
    }
    return {};
  }
  EVENKEEL_TRY(RemoveMemberAccount(*member));
  out << "the account and its roles are removed from the member\n";
  return {};
}

base::Status RotateCluster(const ClustersOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const auto hub, ConnectToHub(options.hub));
  EVENKEEL_ASSIGN(Entry entry, FindEntry(*hub, options));
  const auto before = distribution::AccountTokenOf(entry.secret);
  if (!before && options.member_context.empty()) {
    return base::Fail(Code::kBadRequest, "cluster " + entry.cluster.name +
                                             " has no token that its account renews: give a context of the member "
                                             "(--member-context), or register it by evenkeel clusters add");
  }
  if (!entry.cluster.connection) return base::Fail(entry.cluster.connection.error());
  std::unique_ptr<client::Client> member;
  if (options.member_context.empty()) {
    EVENKEEL_ASSIGN(member, client::NewHttpClient(*entry.cluster.connection, {}));
  } else {
    EVENKEEL_ASSIGN(member, ConnectToMember(options));
    EVENKEEL_TRY(RevokeMemberTokens(*member));
  }
  EVENKEEL_ASSIGN(const MemberToken token, NewMemberToken(*member, options.token_lifetime));
  EVENKEEL_TRY(TryToken(WithoutUser(*entry.cluster.connection, ""), token.token));
  const base::Time now = base::SystemClock().Now();
  EVENKEEL_TRY(PutMemberToken(entry.secret, token, now));
  EVENKEEL_TRY(hub->Update(kube::resources::Secrets(), entry.secret));
  out << "cluster " << entry.cluster.name << " has a new token; " << LifeOf(token, now) << "\n"
      << (options.member_context.empty() ? "the one before holds until its own end; --member-context ends it at once\n"
                                         : "all older ones have ended\n");
  return {};
}

}  // namespace evenkeel::cli
