#include "controllers/rollout/zookeeper/plan/adoption.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/parse_number.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;

/// NAME or NAME.TURN.
struct Mark {
  std::string name;
  int64_t turn = 1;
};

Mark ParseMark(std::string_view text) {
  const size_t dot = text.find('.');
  Mark mark{std::string(text.substr(0, dot))};
  if (dot == std::string_view::npos) return mark;
  const int64_t turn = base::ParseNumber<int64_t>(text.substr(dot + 1)).value_or(0);
  if (turn >= 1 && turn <= kMaxTurn) mark.turn = turn;
  return mark;
}

/// Of "server.ID=..."; 0: it is none.
int64_t IdOfLine(std::string_view line) {
  constexpr std::string_view kStart = "server.";
  if (!line.starts_with(kStart)) return 0;
  line.remove_prefix(kStart.size());
  const size_t end = line.find('=');
  const int64_t id = end == line.npos ? 0 : base::ParseNumber<int64_t>(line.substr(0, end)).value_or(0);
  return id >= 1 && id <= kIdMax ? id : 0;
}

/// The one cluster that an override is about; "": none or several.
std::string ClusterOfOverride(const Json& policy) {
  std::string cluster;
  for (const Json& rule : FindArray(policy, {"spec", "overrideRules"})) {
    for (const Json& name : FindArray(rule, {"targetCluster", "clusterNames"})) {
      if (!name.is_string() || (!cluster.empty() && cluster != name.get_string())) return "";
      cluster = name.get_string();
    }
  }
  return cluster;
}

class Adopter {
 public:
  Adopter(const kube::ManifestObject& object, const EnsembleSpec& spec, const FleetObjects& objects, EnsembleState& state)
      : object_(object), spec_(spec), objects_(objects), state_(state), stride_(spec.naming.stride) {
    if (objects.binding == nullptr) return;
    for (const Json& item : FindArray(*objects.binding, {"status", "aggregatedStatus"})) {
      reports_[std::string(FindString(item, {"clusterName"}))] = base::Find(item, {"status"});
    }
  }

  base::Result<bool> Run(base::Time now) {
    for (const Json* child : objects_.children) {
      if (FindString(*child, {"kind"}) != "OverridePolicy" ||
          FindString(*child, {"metadata", "labels", kOwnerLabel}) != spec_.name)
        continue;
      const std::string cluster = ClusterOfOverride(*child);
      if (cluster.empty() || kube::NameOf(*child) != OverrideName(spec_, cluster)) continue;
      // One that was let go before anything began leaves its override until its copy is gone.
      const Json* offset = OverriddenBy(*child, "/spec/myidOffset");
      if (offset != nullptr && offset->is_int64() && state_.retired.contains(offset->get_int64() / stride_)) continue;
      overrides_[cluster] = child;
    }
    // What is remembered of clusters is worth more than what can be made out.
    if (state_.rollout.clusters.empty()) {
      EVENKEEL_TRY(Identify());
      for (const auto& [cluster, policy] : overrides_) EVENKEEL_TRY(Pin(cluster, *policy));
      for (const auto& [cluster, report] : reports_) EVENKEEL_TRY(PinByReport(cluster));
    }
    if (state_.rollout.clusters.empty()) return false;
    state_.rollout.records.push_back(MakeRecord(now));
    return true;
  }

 private:
  std::unexpected<base::Error> Unknown(const std::string& what) const {
    return WrongField(object_, "status", "it says nothing of servers that run, and " + what);
  }

  /// Ids of the servers that a member reports.
  Ids Running(const std::string& cluster) const {
    Ids ids;
    const auto report = reports_.find(cluster);
    if (report == reports_.end() || report->second == nullptr) return ids;
    for (const Json& server : FindArray(*report->second, {"members"})) ids.insert(FindInt(server, {"id"}));
    return ids;
  }

  base::Status Keep(const std::string& cluster, int64_t offset) {
    if (offset < 0 || offset >= kIdMax || offset % stride_ != 0) {
      return Unknown(fmt::format("the ids in {} begin after {}, which spec.naming.stride does not lead to", cluster, offset));
    }
    const int64_t index = offset / stride_;
    for (const auto& [other, identity] : state_.identities) {
      if (other != cluster && identity.index == index)
        return Unknown(fmt::format("{} and {} have the same ids", other, cluster));
    }
    state_.identities[cluster] = {index, cluster};
    return {};
  }

  base::Status Identify() {
    for (const auto& [cluster, policy] : overrides_) {
      const Json* offset = OverriddenBy(*policy, "/spec/myidOffset");
      if (offset == nullptr || !offset->is_int64()) return Unknown(fmt::format("the override of {} has no ids", cluster));
      EVENKEEL_TRY(Keep(cluster, offset->get_int64()));
    }
    for (const auto& [cluster, report] : reports_) {
      const Ids ids = Running(cluster);
      if (overrides_.contains(cluster) || ids.empty() || *ids.begin() < 1) continue;
      EVENKEEL_TRY(Keep(cluster, (*ids.begin() - 1) / stride_ * stride_));
    }
    return {};
  }

  base::Result<Shares> SharesOf(const std::vector<std::string>& servers) const {
    Shares shares;
    for (const std::string& line : servers) {
      const int64_t id = IdOfLine(line);
      const auto found = std::ranges::find_if(
          state_.identities, [&](const auto& item) { return id > 0 && item.second.index == (id - 1) / stride_; });
      if (found == state_.identities.end()) return Unknown(Quoted(line) + " is in no known cluster");
      ++shares[found->first];
    }
    return shares;
  }

  /// The names in DNS of clusters that are on their way out, which the spec does not tell any more:
  /// "server.11=zk-0.ID.zk-headless...".
  void NoteNames(const std::vector<std::string>& servers) {
    if (spec_.naming.mode != NamingMode::kClusterset) return;
    for (const std::string& line : servers) {
      const int64_t index = (IdOfLine(line) - 1) / stride_;
      const size_t begin = line.find('.', line.find('=')), end = line.find('.', begin + 1);
      if (begin == std::string::npos || end == std::string::npos) continue;
      for (auto& [cluster, identity] : state_.identities) {
        if (identity.index == index) identity.id = line.substr(begin + 1, end - begin - 1);
      }
    }
  }

  bool HasConfirmed(const std::string& cluster, const ClusterRevision& given) const {
    const auto report = reports_.find(cluster);
    return report != reports_.end() && report->second != nullptr &&
           FindString(*report->second, {"observedRevision"}) == MarkOf(given);
  }

  void Give(const std::string& cluster, const std::string& revision, int64_t turn, bool held = false) {
    ClusterRevision given{revision, "", turn, false, held};
    given.confirmed = !held && HasConfirmed(cluster, given);
    state_.rollout.clusters.emplace(cluster, std::move(given));
  }

  base::Status Pin(const std::string& cluster, const Json& policy) {
    const Json *mark = OverriddenBy(policy, "/spec/rolloutRevision"), *body = OverriddenBy(policy, "/spec"),
               *list = OverriddenBy(policy, "/spec/servers");
    if (mark == nullptr || !mark->is_string() || mark->get_string() == kNoRevision) return {};
    if (body == nullptr || !body->is_object() || list == nullptr || !list->is_array()) {
      return Unknown(fmt::format("the override of {} does not say all that they are started with", cluster));
    }
    std::vector<std::string> servers;
    for (const Json& line : list->get_array())
      servers.emplace_back(line.is_string() ? std::string_view(line.get_string()) : "");
    EVENKEEL_ASSIGN(const Shares shares, SharesOf(servers));
    NoteNames(servers);
    Revision revision = MakeRevision(*body, shares, std::move(servers));
    const std::string name = revision.name;
    state_.revisions.emplace(name, std::move(revision));
    Give(cluster, name, ParseMark(mark->get_string()).turn, OverriddenBy(policy, "/spec/hold") != nullptr);
    return {};
  }

  /// A cluster whose override is gone, too, while servers still run there.
  base::Status PinByReport(const std::string& cluster) {
    if (overrides_.contains(cluster) || Running(cluster).empty()) return {};
    const Mark mark = ParseMark(FindString(*reports_.at(cluster), {"observedRevision"}));
    if (state_.Find(mark.name) == nullptr) {
      const bool known =
          std::ranges::all_of(spec_.shares, [&](const auto& item) { return state_.identities.contains(item.first); });
      if (!known) return Unknown(fmt::format("{} has no override", cluster));
      Identities identities = state_.identities;
      for (const auto& [name, id] : spec_.cluster_ids) identities.at(name).id = id;
      Revision wanted = MakeRevision(spec_.body, spec_.shares, ServerList(spec_, identities, spec_.shares));
      if (wanted.name != mark.name)
        return Unknown(fmt::format("{} has no override and runs another revision than spec", cluster));
      state_.revisions.emplace(mark.name, std::move(wanted));
    }
    Give(cluster, mark.name, mark.turn);
    return {};
  }

  /// The revision that was given last, as far as turns tell.
  std::string Latest() const {
    const std::pair<const std::string, ClusterRevision>* latest = nullptr;
    for (const auto& item : state_.rollout.clusters) {
      const auto rank = [](const auto& one) { return std::pair(one.second.turn, one.second.revision); };
      if (latest == nullptr || rank(item) > rank(*latest)) latest = &item;
    }
    return latest->second.revision;
  }

  /// What the others have; another list of servers before another template. "": a first deployment is under way.
  std::string Base(const std::string& current) const {
    const Shares& shares = state_.Find(current)->shares;
    for (const auto& [cluster, share] : shares) {
      if (!state_.rollout.clusters.contains(cluster)) return "";
    }
    std::string base = current;
    for (const auto& [cluster, given] : state_.rollout.clusters) {
      if (given.revision == current) continue;
      if (base == current || state_.Find(given.revision)->shares != shares) base = given.revision;
    }
    return base;
  }

  Record MakeRecord(base::Time now) const {
    Record record;
    record.revision = Latest();
    record.base_revision = Base(record.revision);
    const Revision& current = *state_.Find(record.revision);
    std::set<std::string> clusters;
    for (const auto& [cluster, given] : state_.rollout.clusters) clusters.insert(cluster);
    for (const auto& [cluster, share] : current.shares) clusters.insert(cluster);
    record.order.assign(clusters.begin(), clusters.end());
    for (const std::string& cluster : record.order) {
      const auto given = state_.rollout.clusters.find(cluster);
      const bool has = given != state_.rollout.clusters.end() && given->second.revision == record.revision;
      const bool under_way = has && !given->second.confirmed && record.deploying.empty();
      (!has ? record.pending : under_way ? record.deploying : record.completed).push_back(cluster);
    }
    record.status = record.completed.size() == record.order.size() ? RecordStatus::kReady : RecordStatus::kDeploying;
    record.spec_hash = HashOf(current.body);
    record.schedule_hash = HashOf(ToJson(current.shares));
    record.last_transition = now;
    record.started = now;
    if (objects_.zookeeper != nullptr) record.uid = kube::UidOf(*objects_.zookeeper);
    return record;
  }

  const kube::ManifestObject& object_;
  const EnsembleSpec& spec_;
  const FleetObjects& objects_;
  EnsembleState& state_;
  const int64_t stride_;
  std::map<std::string, const Json*> overrides_, reports_;  // by cluster
};

}  // namespace

base::Result<bool> AdoptRunning(const kube::ManifestObject& object, const EnsembleSpec& spec, const FleetObjects& objects,
                                base::Time now, EnsembleState& state) {
  if (!state.rollout.records.empty()) return false;
  return Adopter(object, spec, objects, state).Run(now);
}

}  // namespace evenkeel::controllers::rollout::zookeeper
