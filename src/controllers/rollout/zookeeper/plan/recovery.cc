#include "controllers/rollout/zookeeper/plan/recovery.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "controllers/rollout/budget.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

/// Lists that servers may count by now.
std::vector<const Revision*> Lists(const Passage& passage) {
  std::vector<const Revision*> lists{passage.revision};
  const bool under_way = passage.record.status != RecordStatus::kReady;
  if (passage.base != nullptr && under_way) lists.push_back(passage.base);
  return lists;
}

/// The clusters that have servers, with the most that any list gives them: one that is on its way out knows no less.
Shares Present(const Passage& passage) {
  Shares present;
  for (const Revision* list : Lists(passage)) {
    for (const auto& [cluster, share] : list->shares) present[cluster] = std::max(present[cluster], share);
  }
  return present;
}

std::string WhyNotAllNamed(const RecoveryRequest& request, const Shares& present) {
  for (const auto& [cluster, share] : present) {
    if (!request.survivors.contains(cluster) && !request.lost.contains(cluster)) {
      return fmt::format("{} has {} servers, and is named neither as a survivor nor as lost", cluster, share);
    }
  }
  for (const auto* names : {&request.survivors, &request.lost}) {
    for (const std::string& cluster : *names) {
      if (!present.contains(cluster)) return cluster + " has no servers of the ensemble";
    }
  }
  return "";
}

/// A list of which enough servers survive forms by itself.
bool FormsByItself(const RecoveryRequest& request, const Passage& passage) {
  return std::ranges::all_of(Lists(passage), [&](const Revision* list) {
    int64_t survivors = 0;
    for (const auto& [cluster, share] : list->shares) survivors += request.survivors.contains(cluster) ? share : 0;
    return survivors >= passage.Needed(*list);
  });
}

std::string WhyNotSurviving(const std::string& cluster, int64_t share, const Passage& passage) {
  const MemberReading& member = passage.fleet.Of(cluster);
  if (!member.reachable) return cluster + ", a survivor, cannot be reached";
  for (const MemberReading::Server& server : member.servers) {
    if (!server.mode.empty()) return fmt::format("server {} in {} serves, so there is a quorum", server.id, cluster);
  }
  for (const int64_t id : IdsOf(passage.spec.naming, passage.state.identities, cluster, share)) {
    if (std::ranges::find(member.servers, id, &MemberReading::Server::id) == member.servers.end()) {
      return fmt::format("server {} in {}, a survivor, does not run", id, cluster);
    }
  }
  return "";
}

std::string WhyNotLost(const std::string& cluster, const Passage& passage) {
  const MemberReading& member = passage.fleet.Of(cluster);
  if (!member.reachable) return "";
  if (!member.applied) return fmt::format("{} can be reached, but does not say that none of its servers runs", cluster);
  if (member.Running() == 0) return "";
  return fmt::format("{} can be reached, and {} of its servers run", cluster, member.Running());
}

}  // namespace

std::string WhyNotRecover(const RecoveryRequest& request, const RecoverySituation& situation) {
  const Passage& passage = situation.passage;
  if (passage.revision == nullptr) return "nothing has been deployed that could be recovered";
  if (!IsRecovery(*passage.revision) && passage.Bootstrapping()) {
    return "fewer servers than a majority have ever been started, so there is nothing to recover";
  }
  const Shares present = Present(passage);
  if (std::string wrong = WhyNotAllNamed(request, present); !wrong.empty()) return wrong;
  if (base::FindString(passage.revision->body, {"storage", "type"}) == "ephemeral") {
    return "the survivors' volumes would go with their pods (spec.template.storage.type is ephemeral)";
  }
  if (FormsByItself(request, passage)) return "the survivors are a majority: they find together by themselves";
  for (const std::string& cluster : request.lost) {
    if (std::string wrong = WhyNotLost(cluster, passage); !wrong.empty()) return wrong;
  }
  for (const std::string& cluster : request.survivors) {
    if (std::string wrong = WhyNotSurviving(cluster, present.at(cluster), passage); !wrong.empty()) return wrong;
  }
  if (!situation.missed_since || situation.now - *situation.missed_since < kQuorumMissed) {
    return fmt::format("the quorum has not been missed for {} yet", base::FormatDuration(kQuorumMissed));
  }
  return "";
}

Revision RecoveryRevision(const RecoveryRequest& request, const Passage& passage) {
  Shares shares, lost;
  for (const auto& [cluster, share] : Present(passage)) (request.survivors.contains(cluster) ? shares : lost)[cluster] = share;
  const std::vector<std::string> servers = ServerList(passage.spec, passage.state.identities, shares);
  // With as many more, less two, no majority does without a survivor.
  int64_t missing = std::max<int64_t>(Total(shares) - 2, 0);
  Shares stand_ins;
  JsonArray absent, lines;
  for (const auto& [cluster, share] : lost) {
    const int64_t taken = std::min(share, missing);
    if (taken == 0) continue;
    stand_ins[cluster] = taken;
    missing -= taken;
    for (const int64_t id : IdsOf(passage.spec.naming, passage.state.identities, cluster, taken)) absent.push_back(id);
  }
  Shares all = shares;
  all.insert(stand_ins.begin(), stand_ins.end());
  EnsembleSpec spec = passage.spec;
  for (const auto& [cluster, identity] : passage.state.identities) spec.cluster_ids.emplace(cluster, identity.id);
  for (const std::string& line : ServerList(spec, passage.state.identities, all)) lines.push_back(Json(line));
  Json body(passage.spec.body, {});
  body.as_object()[kRecoveryField] =
      JsonObject{{"request", request.name}, {"servers", std::move(lines)}, {"absent", std::move(absent)}};
  return MakeRevision(body, shares, servers);
}

}  // namespace evenkeel::controllers::rollout::zookeeper
