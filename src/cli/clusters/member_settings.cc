#include "cli/clusters/member_settings.h"

#include <algorithm>

#include "base/log.h"

namespace evenkeel::cli {
namespace {

namespace autoscaler = controllers::autoscaler;
using controllers::distribution::Cluster;
using controllers::distribution::kAutoscalerArgsAnnotation;

}  // namespace

MemberSettings::Entry MemberSettings::Make(const Cluster& cluster) const {
  Entry entry{.name = cluster.label(),
              .server = cluster.server,
              .args = cluster.autoscaler_args,
              .source = cluster.source,
              .options = autoscaler::Options(),
              .identity = "",
              .discovery = {},
              .connection = std::nullopt};
  if (cluster.connection) entry.connection = *cluster.connection;
  auto applied = autoscaler::ApplyMemberFlags(flags_, cluster.autoscaler_args);
  if (!applied) {
    entry.options = base::Fail(applied.error().Wrap(cluster.source + ": annotation " + std::string(kAutoscalerArgsAnnotation)));
    return entry;
  }
  if (!cluster.autoscaler_args.empty()) {
    // What the fleet's flags have to say was said at the start.
    const auto fleet = autoscaler::ApplyFlags(flags_);
    for (const std::string& warning : applied->warnings) {
      if (fleet && std::ranges::find(fleet->warnings, warning) != fleet->warnings.end()) continue;
      base::log::Warn(warning, {{"cluster", cluster.name}});
    }
  }
  auto shared = IdentityOf(applied->options, cluster.server);
  entry.options = std::move(applied->options);
  if (!shared) {
    // The member's own autoscaler says so, too, once it is made.
    base::log::Warn("a member's provider is not known", {{"cluster", cluster.name}, {"why", shared.error()}});
    return entry;
  }
  entry.identity = std::move(shared->name);
  entry.discovery = std::move(shared->discovery);
  return entry;
}

void MemberSettings::SetClusters(const std::vector<Cluster>& clusters) {
  std::vector<Entry> before, entries;
  {
    const std::lock_guard lock(mutex_);
    before = entries_;
  }
  // One that is not looked after for now has its nodes and its groups all the same.
  for (const Cluster& cluster : clusters) {
    const auto known = std::ranges::find_if(before, [&](const Entry& entry) {
      return entry.name == cluster.label() && entry.server == cluster.server && entry.args == cluster.autoscaler_args;
    });
    if (known == before.end()) {
      entries.push_back(Make(cluster));
      continue;
    }
    entries.push_back(*known);
    entries.back().connection.reset();
    if (cluster.connection) entries.back().connection = *cluster.connection;
  }
  const std::lock_guard lock(mutex_);
  entries_ = std::move(entries);
}

base::Result<autoscaler::Options> MemberSettings::OptionsOf(const std::string& member) const {
  const std::lock_guard lock(mutex_);
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.name != member) continue;
    if (found != nullptr && found->args != entry.args) {
      return base::Fail(base::Code::kBadRequest, found->source + " and " + entry.source + ": two clusters are called " +
                                                     member + ", and their annotations " +
                                                     std::string(kAutoscalerArgsAnnotation) + " differ");
    }
    found = &entry;
  }
  if (found != nullptr) return found->options;
  EVENKEEL_ASSIGN(auto applied, autoscaler::ApplyMemberFlags(flags_, ""));
  return std::move(applied.options);
}

std::vector<Rival> MemberSettings::RivalsOf(const std::string& member) const {
  const std::lock_guard lock(mutex_);
  std::vector<Rival> rivals;
  const auto own = std::ranges::find(entries_, member, &Entry::name);
  if (own == entries_.end() || own->identity.empty()) return rivals;
  for (const Entry& entry : entries_) {
    if (&entry != &*own && entry.identity == own->identity) rivals.push_back({entry.name, entry.discovery});
  }
  return rivals;
}

base::Result<std::map<std::string, std::string>> MemberSettings::NodesElsewhere(const std::string& member) const {
  std::vector<Entry> entries;
  {
    const std::lock_guard lock(mutex_);
    entries = entries_;
  }
  std::map<std::string, std::string> member_of_node;
  const auto own = std::ranges::find(entries, member, &Entry::name);
  if (own != entries.end() && own->options && own->identity.empty()) return member_of_node;
  for (const Entry& entry : entries) {
    if (entry.name == member) continue;
    if (!entry.connection) return base::Fail(base::Code::kUnavailable, "member " + entry.name + ": no way to connect");
    EVENKEEL_ASSIGN(const auto client, client::NewHttpClient(*entry.connection, connection_));
    LastNodes last{.member = entry.name, .ids = {}};
    const auto read = client::VisitAll(*client, kube::resources::Nodes(), [&last](const base::Json& node) {
      const std::string_view id = base::FindString(node, {"spec", "providerID"});
      if (!id.empty()) last.ids.emplace_back(id);
    });
    if (!read) return base::Fail(read.error().Wrap("member " + entry.name));
    const std::lock_guard lock(mutex_);
    last_nodes_[entry.server] = std::move(last);
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [server, last] : last_nodes_) {
    // Its own are there since another member's autoscaler has asked for them.
    if (own != entries.end() && own->server == server) continue;
    for (const std::string& id : last.ids) member_of_node.emplace(id, last.member);
  }
  return member_of_node;
}

}  // namespace evenkeel::cli
