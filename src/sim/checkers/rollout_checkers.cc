#include "sim/checkers/rollout_checkers.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <map>

#include "controllers/rollout/budget.h"
#include "sim/network/network.h"

namespace evenkeel::sim {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;

constexpr char kPodRevision[] = "evenkeel.dev/pod-revision";

bool IsEnsemble(const std::string& api, const embedded::store::Event& event) {
  return api == kHub && event.current.value != nullptr &&
         event.current.key.ends_with(fmt::format("/multiclusterzookeepers/{}/{}", kEnsembleNamespace, kEnsembleName));
}

/// status.records as the store has them now.
JsonArray RecordsIn(const embedded::store::Event& event) {
  const auto object = base::ParseJson(*event.current.value, "MultiClusterZooKeeper");
  return object ? JsonArray(FindArray(*object, {"status", "records"})) : JsonArray();
}

std::vector<std::string> Names(const Json& record, std::initializer_list<std::string_view> path) {
  std::vector<std::string> names;
  for (const Json& name : FindArray(record, path)) names.emplace_back(name.is_string() ? std::string(name.get_string()) : "");
  return names;
}

bool IsUnderWay(const Json& record) {
  const std::string_view status = FindString(record, {"status"});
  return status == "Deploying" || status == "Paused" || status == "RollingBack";
}

/// "" or what is wrong with it by itself.
std::string WrongIn(const Json& record) {
  const std::vector<std::string> order = Names(record, {"order"});
  std::map<std::string, int> places;
  for (const std::string& cluster : order) {
    if (!places.emplace(cluster, 0).second) return cluster + " is twice in its order";
  }
  for (const char* set : {"completed", "deploying", "pending"}) {
    for (const std::string& cluster : Names(record, {"currentState", set})) {
      const auto place = places.find(cluster);
      if (place == places.end()) return fmt::format("{} is {}, but not in its order", cluster, set);
      ++place->second;
    }
  }
  for (const auto& [cluster, count] : places) {
    if (count != 1) return fmt::format("{} is in {} of completed, deploying and pending", cluster, count);
  }
  const std::vector<std::string> pending = Names(record, {"currentState", "pending"});
  const auto position = [&](const std::string& cluster) { return std::ranges::find(order, cluster); };
  if (!std::ranges::is_sorted(pending, {}, position)) return "pending is not in its order";
  static const std::set<std::string_view> kStatuses{"Deploying", "Ready", "Paused", "Failed", "RollingBack", "Superseded"};
  const std::string_view status = FindString(record, {"status"});
  if (!kStatuses.contains(status)) return fmt::format("\"{}\" is no status", status);
  if (status == "Ready" && Names(record, {"currentState", "completed"}).size() != order.size()) {
    return "it is Ready, and not all clusters are completed";
  }
  if (FindString(record, {"lastTransitionTime"}).empty()) return "it has no lastTransitionTime";
  return "";
}

/// One cluster that is pending may go before or after others.
bool KeepsOrder(const Json& was, const Json& now) {
  std::vector<std::string> before = Names(was, {"order"}), after = Names(now, {"order"});
  if (before == after) return true;
  const std::vector<std::string> pending = Names(was, {"currentState", "pending"});
  return std::ranges::any_of(pending, [&](const std::string& cluster) {
    const auto without = [&](std::vector<std::string> order) {
      std::erase(order, cluster);
      return order;
    };
    return std::ranges::count(after, cluster) == 1 && without(before) == without(after);
  });
}

/// Whether the records before, less the `gone` oldest ones, are the first of those now.
bool GoesOn(const JsonArray& before, const JsonArray& now, size_t gone) {
  const size_t kept = before.size() - gone;
  if (now.size() < kept || now.size() > kept + 1) return false;
  for (size_t i = 0; i < kept; ++i) {
    const Json& was = before[gone + i];
    // One that has failed is superseded, too, when something else is wanted.
    const bool superseded = FindString(was, {"status"}) == "Failed" && FindString(now[i], {"status"}) == "Superseded";
    if (!IsUnderWay(was) && !superseded) {
      if (!base::Equal(was, now[i])) return false;
    } else if (!KeepsOrder(was, now[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

void QuorumChecker::OnStored(const std::string& /*api*/, const embedded::store::Event& /*event*/) {
  const auto& action = book_.action();
  if (!action) return;
  Check(book_.model().agreed().Voters(), action->id, fmt::format("pod {} of {} is deleted", action->pod, action->member));
}

void QuorumChecker::OnMembers(const ZooKeeperMembers& members) {
  const std::set<int64_t> voters = members.Voters();
  Check(voters, 0, fmt::format("the voters are {} from now on", fmt::join(voters, ", ")));
}

void QuorumChecker::Check(const std::set<int64_t>& voters, int64_t more, const std::string& what) {
  std::set<int64_t> missed, by_faults;
  if (more != 0) missed.insert(more);
  for (const auto& [id, absence] : book_.Absences()) {
    if (!voters.contains(id)) continue;
    if (absence.deleted) {
      missed.insert(id);
    } else if (view().now() - absence.since >= known_after_) {
      missed.insert(id);
      by_faults.insert(id);
    }
  }
  const auto all = static_cast<int64_t>(voters.size());
  const int64_t majority = controllers::rollout::Majority(all);
  const auto left = all - static_cast<int64_t>(missed.size());
  if (left >= majority || all - static_cast<int64_t>(by_faults.size()) < majority) return;
  Violated(fmt::format("{}, which leaves {} of {} voters: {} are missed, {} of them by faults", what, left, all,
                       fmt::join(missed, ", "), by_faults.size()));
}

void OneDeployingChecker::OnStored(const std::string& api, const embedded::store::Event& event) {
  if (IsEnsemble(api, event)) {
    std::vector<std::string> deploying;
    for (const Json& record : RecordsIn(event)) {
      if (!IsUnderWay(record)) continue;
      for (const std::string& cluster : Names(record, {"currentState", "deploying"})) deploying.push_back(cluster);
    }
    if (deploying.size() > 1) Violated(fmt::format("{} are deploying", fmt::join(deploying, " and ")));
  }
  const auto& action = book_.action();
  if (!action) return;
  for (const auto& [id, absence] : book_.Absences()) {
    if (!absence.deleted || absence.member == action->member) continue;
    Violated(fmt::format("server {} of {} is stopped, while server {} of {}, which was, is not back", action->id,
                         action->member, id, absence.member));
  }
}

std::set<std::string> AskedChecker::InForce(const History& history, base::Instant until, base::Duration within) {
  std::set<std::string> found;
  for (auto entry = history.rbegin(); entry != history.rend(); ++entry) {
    if (entry->first > until) continue;
    found.insert(entry->second);
    if (until - entry->first > within) break;
  }
  return found;
}

void AskedChecker::OnStored(const std::string& api, const embedded::store::Event& event) {
  if (event.current.key.ends_with("/customresourcedefinitions/zookeepers.evenkeel.dev")) SeeDefinition(api, event);
  if (event.current.value != nullptr) {
    if (IsEnsemble(api, event)) SeeEnsemble(event);
    if (api != kHub) SeeMember(api, event);
  }
  if (book_.action()) CheckStop(event);
}

void AskedChecker::SeeEnsemble(const embedded::store::Event& event) {
  const auto object = base::ParseJson(*event.current.value, "MultiClusterZooKeeper");
  if (!object) return;
  for (const Json& record : FindArray(*object, {"status", "records"})) {
    if (!IsUnderWay(record)) continue;
    const std::vector<std::string> deploying = Names(record, {"currentState", "deploying"});
    for (const Json& cluster : FindArray(*object, {"status", "clusters"})) {
      const std::string name(FindString(cluster, {"name"})), revision(FindString(cluster, {"revision"}));
      if (std::ranges::find(deploying, name) == deploying.end()) continue;
      const int64_t turn = base::FindInt(cluster, {"turn"}, 1);
      given_.emplace(name, turn == 1 ? revision : fmt::format("{}.{}", revision, turn));
    }
  }
}

void AskedChecker::SeeMember(const std::string& member, const embedded::store::Event& event) {
  const auto is = [&](const char* plural) {
    return event.current.key.ends_with(fmt::format("/{}/{}/{}", plural, kEnsembleNamespace, kEnsembleName));
  };
  const bool set = is("statefulsets");
  if (!set && !is("zookeepers")) return;
  const auto object = base::ParseJson(*event.current.value, "object");
  if (!object) return;
  if (set) {
    const std::string_view revision = FindString(*object, {"spec", "template", "metadata", "annotations", kPodRevision});
    written_down_.try_emplace({member, std::string(revision)}, view().now());
    return;
  }
  History& orders = orders_[member];
  const std::string order(FindString(*object, {"spec", "rolloutRevision"}));
  if (orders.empty() || orders.back().second != order) orders.emplace_back(view().now(), order);
  History& holds = holds_[member];
  const std::string hold = base::FindBool(*object, {"spec", "hold"}) ? "held" : "";
  if (holds.empty() || holds.back().second != hold) holds.emplace_back(view().now(), hold);
  // All that the user of a simulation changes of a server.
  std::string asked;
  for (const char* part : {"image", "config", "podTemplate"}) {
    const Json* value = base::Find(*object, {"spec", part});
    asked += value == nullptr ? "-" : base::CanonicalText(*value);
  }
  History& history = asked_[member];
  if (history.empty() || history.back().second != asked) history.emplace_back(view().now(), asked);
}

void AskedChecker::SeeDefinition(const std::string& api, const embedded::store::Event& event) {
  const auto number = [](const embedded::store::Value& value) {
    if (value == nullptr) return std::string();
    const auto object = base::ParseJson(*value, "definition");
    return object ? std::string(FindString(*object, {"metadata", "annotations", "evenkeel.dev/definition"})) : std::string();
  };
  const std::string before = number(event.previous), now = number(event.current.value);
  if (event.current.value != nullptr && now < before) {
    Violated(fmt::format("{}: the definition of ZooKeepers was of form {}, and is of form \"{}\"", api, before, now));
  }
}

void AskedChecker::CheckStop(const embedded::store::Event& event) {
  const RolloutBook::Action& action = *book_.action();
  const std::set<std::string> orders = InForce(orders_[action.member], view().now(), known_after_);
  const auto in_turn = [&](const std::string& order) { return given_.contains({action.member, order}); };
  if (std::ranges::none_of(orders, in_turn)) {
    Violated(fmt::format("server {} of {} is stopped, whose turn it is not", action.id, action.member));
  }
  // It may mend what does not serve.
  if (InForce(holds_[action.member], view().now(), known_after_) == std::set<std::string>{"held"}) {
    Violated(fmt::format("server {} of {} is stopped, which is to be held", action.id, action.member));
  }
  const auto pod = base::ParseJson(*event.previous, "pod");
  const std::string revision(pod ? FindString(*pod, {"metadata", "annotations", kPodRevision}) : "");
  const auto written = written_down_.find({action.member, revision});
  if (written == written_down_.end()) return;
  const History& history = asked_[action.member];
  const std::set<std::string> made_from = InForce(history, written->second, known_after_),
                              asked = InForce(history, view().now(), known_after_);
  if (made_from.size() != 1 || made_from != asked) return;
  Violated(fmt::format("server {} of {} is stopped, although it was made from what is asked: {}", action.id, action.member,
                       *asked.begin()));
}

void RecordsChecker::OnStored(const std::string& api, const embedded::store::Event& event) {
  if (IsEnsemble(api, event)) Check(RecordsIn(event));
}

void RecordsChecker::Check(const JsonArray& records) {
  for (size_t i = 0; i < records.size(); ++i) {
    std::string wrong = WrongIn(records[i]);
    if (wrong.empty() && i + 1 < records.size() && IsUnderWay(records[i])) wrong = "it is under way, and not the last";
    if (!wrong.empty()) return Violated(fmt::format("records[{}]: {}: {}", i, wrong, base::ToText(records[i])));
  }
  bool goes_on = before_.empty() && records.size() <= 1;
  // Nothing is forgotten but the oldest, and never all of it.
  for (size_t gone = 0; gone < before_.size() && !goes_on; ++gone) goes_on = GoesOn(before_, records, gone);
  if (!goes_on) {
    Violated(fmt::format("the history is another one: {} was {}", base::ToText(records), base::ToText(before_)));
  }
  before_ = records;
}

void AcknowledgedChecker::OnLeading(const ZooKeeperServerView& leader, int64_t epoch, const ZooKeeperDisk& disk) {
  std::set<int64_t> has;
  for (const ZooKeeperDisk::Entry& entry : disk.log) has.insert(entry.value);
  std::vector<int64_t> lost;
  std::ranges::set_difference(values_, has, std::back_inserter(lost));
  if (lost.empty()) return;
  Violated(fmt::format("server {} leads epoch {} without {} writes that were acknowledged, the first of them {}", leader.id,
                       epoch, lost.size(), lost.front()));
}

void OneLeaderChecker::OnCommitted(const ZooKeeperServerView& leader, int64_t epoch) {
  if (epoch < epoch_ || (epoch == epoch_ && leader.handle != leader_)) {
    Violated(fmt::format("server {} commits in epoch {}, after {} has in epoch {}", leader.id, epoch, name_, epoch_));
  }
  if (epoch < epoch_) return;
  epoch_ = epoch;
  leader_ = leader.handle;
  name_ = fmt::format("server {} of {}", leader.id, leader.place);
}

const std::vector<std::string>& RolloutCheckerNames() {
  static const std::vector<std::string> names{"quorum", "one-deploying", "asked", "records", "acknowledged", "one-leader"};
  return names;
}

}  // namespace evenkeel::sim
