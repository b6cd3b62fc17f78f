#include "controllers/rollout/zookeeper/spec/server_names.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

void FillIn(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

std::string HeadlessService(std::string_view ensemble) { return std::string(ensemble) + "-headless"; }
std::string ClientService(std::string_view ensemble) { return std::string(ensemble) + "-client"; }

int64_t IdOffset(const Naming& naming, const ClusterIdentity& cluster) { return cluster.index * naming.stride; }

std::string HostName(const EnsembleSpec& spec, const std::string& cluster, const ClusterIdentity& identity, int64_t ordinal) {
  const std::string service = HeadlessService(spec.name);
  switch (spec.naming.mode) {
    case NamingMode::kClusterset:
      return fmt::format("{}-{}.{}.{}.{}.svc.clusterset.local", spec.name, ordinal, identity.id, service, spec.ns);
    case NamingMode::kNative:
      return fmt::format("{}-{}.{}.{}.svc.{}", spec.name, IdOffset(spec.naming, identity) + ordinal, service, spec.ns,
                         spec.naming.cluster_domain);
    case NamingMode::kPerClusterService:
      return fmt::format("{}-{}.{}-{}.{}.svc.{}", spec.name, ordinal, service, cluster, spec.ns, spec.naming.cluster_domain);
    case NamingMode::kExternal: {
      std::string host = spec.naming.pattern;
      FillIn(host, "<c>", cluster);
      FillIn(host, "<o>", std::to_string(ordinal));
      FillIn(host, "<id>", std::to_string(IdOffset(spec.naming, identity) + ordinal + 1));
      FillIn(host, "<zk>", spec.name);
      FillIn(host, "<ns>", spec.ns);
      return host;
    }
  }
  EVENKEEL_CHECK(false);
}

std::string CheckHostName(const std::string& host) {
  if (std::string wrong = kube::CheckDnsSubdomain(host); !wrong.empty()) return wrong;
  for (size_t begin = 0; begin <= host.size();) {
    const size_t end = std::min(host.find('.', begin), host.size());
    if (std::string wrong = kube::CheckDnsLabel(host.substr(begin, end - begin)); !wrong.empty()) return wrong;
    begin = end + 1;
  }
  return "";
}

std::vector<std::string> ServerList(const EnsembleSpec& spec, const Identities& identities, const Shares& shares) {
  const auto port = [&](std::string_view name, int64_t usual) { return base::FindInt(spec.body, {"ports", name}, usual); };
  const bool own_address = base::FindString(spec.body, {"ports", "clientAddress"}) == "Host";
  std::vector<std::pair<int64_t, std::string>> by_id;
  for (const auto& [cluster, share] : shares) {
    const ClusterIdentity& identity = identities.at(cluster);
    for (int64_t ordinal = 0; ordinal < share; ++ordinal) {
      const int64_t id = IdOffset(spec.naming, identity) + ordinal + 1;
      const std::string host = HostName(spec, cluster, identity, ordinal);
      by_id.emplace_back(id, fmt::format("server.{}={}:{}:{}:participant;{}{}", id, host, port("quorum", 2888),
                                         port("election", 3888), own_address ? host + ":" : "", port("client", 2181)));
    }
  }
  std::ranges::sort(by_id);
  std::vector<std::string> lines;
  for (auto& [id, line] : by_id) lines.push_back(std::move(line));
  return lines;
}

}  // namespace evenkeel::controllers::rollout::zookeeper
