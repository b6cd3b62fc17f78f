#include "controllers/balancer/execution.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/hash.h"
#include "controllers/balancer/event_kinds.h"
#include "controllers/balancer/what_if.h"

namespace evenkeel::controllers::balancer {
namespace {

using namespace std::chrono_literals;

/// Times in objects are rounded.
constexpr base::Duration kSecond = 1s;
/// Pods of one second that are told apart by name; where there are more, the successor is of a later second.
constexpr size_t kNewestMax = 32;
/// Until caches have seen what a controller does about a pod that has just gone.
constexpr base::Duration kSettle = 3s;

class Execution {
 public:
  Execution(const PlanObject& plan, const ExecutionView& view) : view_(view), now_(view.now) { step_.plan = plan; }

  ExecutionStep Run() {
    if (plan().state == PlanPhase::kPending && !Begin()) return std::move(step_);
    for (size_t i = 0; i < plan().moves.size(); ++i) {
      if (Status(i).state == MoveState::kEvicted) Await(i);
    }
    for (size_t i = 0; i < plan().moves.size(); ++i) {
      if (Status(i).state != MoveState::kEvicting) continue;
      GoOnEvicting(i);
      if (Status(i).state == MoveState::kEvicted) Await(i);
    }
    for (size_t i = 0; i < plan().moves.size(); ++i) {
      if (Status(i).state == MoveState::kWaiting && !Try(i)) break;
    }
    Finish();
    return std::move(step_);
  }

 private:
  PlanObject& plan() { return step_.plan; }
  MoveStatus& Status(size_t i) { return step_.plan.status[i]; }
  const PlannedMove& Move(size_t i) const { return step_.plan.moves[i]; }

  /// A plan that is only looked at stays as it is as long as it would be carried out.
  bool Begin() {
    std::string why = view_.policy == nullptr ? "the policy " + plan().policy + " is not in force" : "";
    for (size_t i = 0; i < plan().moves.size() && why.empty(); ++i) {
      why = WhyOutdated(Move(i), view_.objects);
      if (!why.empty()) why = "pod " + Move(i).pod + ": " + why;
    }
    if (why.empty() && InputVersion(plan().moves, view_.objects) != plan().input_version) {
      why = "its input has changed since it was made";
    }
    if (!why.empty()) {
      plan().state = PlanPhase::kRefused;
      plan().message = "not what was planned any more: " + why;
      plan().finished_at = now_;
      return false;
    }
    if (!plan().approved) return false;
    plan().message = WhyOutside(view_.policy->windows, now_);
    if (!plan().message.empty()) return false;
    plan().state = PlanPhase::kExecuting;
    plan().started_at = now_;
    return true;
  }

  void End(size_t i, MoveState state, const std::string& message) {
    Status(i).state = state;
    Status(i).message = message;
    Status(i).reserve_until.reset();
    const PlannedMove& move = Move(i);
    if (state == MoveState::kLanded) {
      step_.news.push_back(
          {i, false, events::kMoved.reason, fmt::format("moved from {} to {}: {}", move.from, move.to, move.reason)});
    } else {
      step_.news.push_back({i, true, state == MoveState::kFailed ? events::kMoveFailed.reason : events::kMovedElsewhere.reason,
                            fmt::format("move from {} to {}: {}", move.from, move.to, message)});
    }
  }

  bool Overdue(size_t i) const { return step_.plan.status[i].since && now_ - *step_.plan.status[i].since >= kMovePatience; }

  void GoOnEvicting(size_t i) {
    const SeenPod* pod = view_.objects.FindPod(Move(i).pod);
    if (pod == nullptr || pod->uid != Move(i).pod_uid || pod->terminating) {
      MarkEvicted(i);
    } else if (Overdue(i)) {
      End(i, MoveState::kFailed,
          fmt::format("not evicted within {}: {}", base::FormatDuration(kMovePatience), Status(i).message));
    } else if (view_.policy == nullptr) {
      End(i, MoveState::kFailed, "the policy is not in force any more");
    } else if (std::string why = WhyNotYet(i); !why.empty()) {
      // Others may have the room meanwhile. The state stays: whether an eviction got through is not known for certain.
      Status(i).message = std::move(why);
      if (Status(i).reserve_until > now_) Status(i).reserve_until = now_;
    } else {
      if (Status(i).reserve_until.value_or(now_) <= now_) Status(i).reserve_until = now_ + kMovePatience;
      step_.evict.push_back(i);
    }
  }

  /// Why the pod is not to be evicted just now, although its move has begun: after a refusal, or when a predecessor did not
  /// come to it, things can have changed.
  std::string WhyNotYet(size_t i) {
    std::string why = WhyOutdated(Move(i), view_.objects);
    if (why.empty()) why = WhyRoomIsShort();
    return why.empty() ? WhyNotOn(view_.objects, Move(i).pod, Move(i).to) : why;
  }

  std::string WhyRoomIsShort() const {
    return view_.objects.WhyRoomIsShort([this](const SeenPod& pod) { return IsAwaited(pod.uid); });
  }

  void MarkEvicted(size_t i) {
    Status(i).state = MoveState::kEvicted;
    Status(i).evicted_at = now_;
    Status(i).reserve_until = now_ + kMovePatience;
    Status(i).message.clear();
  }

  bool IsSuccessorOfAnother(size_t i, const std::string& uid) {
    for (size_t other = 0; other < plan().moves.size(); ++other) {
      if (other != i && Status(other).replacement_uid == uid) return true;
    }
    return false;
  }

  bool IsAwaited(const std::string& uid) const {
    return std::ranges::any_of(
        step_.plan.status, [&](const MoveStatus& status) { return IsInFlight(status.state) && status.replacement_uid == uid; });
  }

  /// What is remembered of the controller's pods before one of them is evicted.
  void RememberNewest(size_t i) {
    MoveStatus& status = Status(i);
    for (const SeenPod* pod : view_.objects.PodsOf(Move(i).owner_uid)) {
      if (status.newest && pod->created < *status.newest) continue;
      if (!status.newest || pod->created > *status.newest) status.newest_uids.clear();
      status.newest = pod->created;
      status.newest_uids.push_back(pod->uid);
    }
    if (status.newest_uids.size() > kNewestMax) status.newest_uids.clear();
  }

  static bool WasThere(const MoveStatus& status, const SeenPod& pod) {
    if (!status.newest || pod.created > *status.newest) return false;
    if (pod.created < *status.newest || status.newest_uids.empty()) return true;
    return std::ranges::find(status.newest_uids, pod.uid) != status.newest_uids.end();
  }

  /// The pod that the controller has made instead; of several one on the target, else the oldest. Null: none yet.
  const SeenPod* FindSuccessor(size_t i) {
    const PlannedMove& move = Move(i);
    const SeenPod* best = nullptr;
    for (const SeenPod* pod : view_.objects.PodsOf(move.owner_uid)) {
      if (pod->uid == Status(i).replacement_uid) return pod;
      if (pod->uid == move.pod_uid || pod->terminating || WasThere(Status(i), *pod) || IsSuccessorOfAnother(i, pod->uid))
        continue;
      if (pod->owner_kind == "StatefulSet" && pod->key != move.pod) continue;
      const auto rank = [&](const SeenPod& p) { return std::tuple(p.node != move.to, p.created, std::string_view(p.key)); };
      if (best == nullptr || rank(*pod) < rank(*best)) best = pod;
    }
    return best;
  }

  void Await(size_t i) {
    const PlannedMove& move = Move(i);
    MoveStatus& status = Status(i);
    if (const SeenPod* successor = FindSuccessor(i); successor != nullptr) {
      status.replacement = successor->key;
      status.replacement_uid = successor->uid;
      status.node = successor->node;
      if (successor->node == move.to) return End(i, MoveState::kLanded, "");
      if (!successor->node.empty()) {
        return End(i, MoveState::kElsewhere, fmt::format("its successor {} came to {}", successor->key, successor->node));
      }
    } else if (now_ - status.evicted_at.value_or(now_) >= kSettle && NoneIsToCome(move)) {
      return End(i, MoveState::kElsewhere, "no successor is to come: its controller was deleted or scaled down");
    }
    if (status.reserve_until && now_ >= *status.reserve_until) {
      End(i, MoveState::kFailed, fmt::format("no successor came to a node within {}", base::FormatDuration(kMovePatience)));
    }
  }

  bool NoneIsToCome(const PlannedMove& move) {
    const SeenOwner* owner = view_.objects.FindOwner(move.owner_uid);
    if (owner == nullptr) return true;
    int64_t active = 0;
    for (const SeenPod* pod : view_.objects.PodsOf(move.owner_uid)) {
      if (pod->uid == move.pod_uid && !pod->terminating) return false;  // not seen yet that it goes
      active += pod->terminating ? 0 : 1;
    }
    return active >= owner->replicas;
  }

  int64_t InFlight() const {
    return std::ranges::count_if(step_.plan.status, [](const MoveStatus& status) { return IsInFlight(status.state); });
  }

  /// Why no move may begin now, whichever it is.
  std::string ClosedGate() {
    if (std::string why = WhyRoomIsShort(); !why.empty()) return why;
    const Policy& policy = *view_.policy;
    if (std::string why = WhyOutside(policy.windows, now_); !why.empty()) return why;
    if (MovementsLeft(policy, view_.past, now_) - UncountedMoves() > 0) return "";
    return fmt::format("{} movements were made in the last {}", policy.movements, base::FormatDuration(policy.throttle_window));
  }

  /// Begun, but not yet among the past ones.
  int64_t UncountedMoves() const {
    return std::ranges::count_if(step_.plan.status,
                                 [](const MoveStatus& status) { return status.state == MoveState::kEvicting; });
  }

  /// Whether later moves may be looked at.
  bool Try(size_t i) {
    const PlannedMove& move = Move(i);
    MoveStatus& status = Status(i);
    if (view_.policy == nullptr || now_ - plan().started_at.value_or(now_) >= kPlanPatience) {
      End(i, MoveState::kFailed,
          view_.policy == nullptr ? "the policy is not in force any more"
                                  : fmt::format("not begun within {}", base::FormatDuration(kPlanPatience)));
      return true;
    }
    if (const std::string why = WhyOutdated(move, view_.objects); !why.empty()) {
      End(i, MoveState::kFailed, why);
      return true;
    }
    if (InFlight() >= view_.policy->in_flight || TargetIsAwaited(move.to)) return false;
    if (const std::string gate = ClosedGate(); !gate.empty()) {
      status.message = gate;
      status.since.reset();
      return false;
    }
    const auto begin = status.since.value_or(now_);
    status.since = begin;
    std::string why = view_.past.WhyNot(move.pod_uid, move.service, move.to, move.loads, now_);
    if (!why.empty()) {
      End(i, MoveState::kFailed, why);
      return true;
    }
    why = WhyNotOn(view_.objects, move.pod, move.to);
    if (why.empty()) {
      status.state = MoveState::kEvicting;
      status.since = now_;
      RememberNewest(i);
      status.reserve_until = now_ + kMovePatience;
      status.message.clear();
      step_.evict.push_back(i);
      return true;
    }
    status.message = why;
    if (!Overdue(i)) return false;
    End(i, MoveState::kFailed, why);
    return true;
  }

  bool TargetIsAwaited(const std::string& node) const {
    for (size_t i = 0; i < step_.plan.moves.size(); ++i) {
      if (IsInFlight(step_.plan.status[i].state) && step_.plan.moves[i].to == node) return true;
    }
    return false;
  }

  void Finish() {
    int64_t landed = 0, elsewhere = 0, failed = 0;
    for (const MoveStatus& status : plan().status) {
      if (!IsFinal(status.state)) return;
      landed += status.state == MoveState::kLanded ? 1 : 0;
      elsewhere += status.state == MoveState::kElsewhere ? 1 : 0;
      failed += status.state == MoveState::kFailed ? 1 : 0;
    }
    plan().state = landed + elsewhere == 0 && failed > 0 ? PlanPhase::kFailed : PlanPhase::kDone;
    plan().message = fmt::format("{} landed, {} elsewhere, {} failed", landed, elsewhere, failed);
    plan().finished_at = now_;
  }

  const ExecutionView& view_;
  const base::Time now_;
  ExecutionStep step_;
};

}  // namespace

std::string WhyOutdated(const PlannedMove& move, const MemberObjects& objects) {
  const SeenPod* pod = objects.FindPod(move.pod);
  if (pod == nullptr || pod->uid != move.pod_uid) return "it is gone";
  if (pod->terminating) return "it is being deleted";
  if (pod->node != move.from) return "it is on " + pod->node;
  if (pod->owner_uid != move.owner_uid) return "its controller is another one";
  if (!pod->fixed.empty()) return pod->fixed;
  for (const std::string& name : {move.from, move.to}) {
    const SeenNode* node = objects.FindNode(name);
    if (node == nullptr) return "node " + name + " is gone";
    if (!node->left_out.empty()) return "node " + name + ": " + node->left_out;
  }
  return "";
}

std::string InputVersion(const std::vector<PlannedMove>& moves, const MemberObjects& objects) {
  scheduling::TextKey key;
  const auto add = [&](const kube::ResourceList& amounts) {
    for (const auto& [resource, amount] : amounts) key.Add(resource).Add(amount);
  };
  for (const PlannedMove& move : moves) {
    key.Add(move.pod).Add(move.pod_uid).Add(move.owner_uid).Add(move.from).Add(move.to);
    if (const SeenPod* pod = objects.FindPod(move.pod); pod != nullptr) {
      key.Add(pod->uid).Add(pod->node).Add(pod->owner_uid);
      add(pod->requests);
    }
    if (const SeenNode* node = objects.FindNode(move.to); node != nullptr) {
      key.Add(node->uid).Add(node->left_out);
      add(node->allocatable);
    }
  }
  return fmt::format("{:016x}", base::Blake2b64(key.text()));
}

/// A second more than the planner's own window, in which its seconds may begin.
base::Duration ThrottleMemory(const Policy& policy) { return policy.throttle_window + kSecond; }

int64_t MovementsLeft(const Policy& policy, const PastMoves& past, base::Time now) {
  if (policy.movements == 0) return INT64_MAX;
  const auto recent = [&](const PastMove& move) { return now - move.at < ThrottleMemory(policy); };
  return std::max<int64_t>(0, policy.movements - std::ranges::count_if(past.moves(), recent));
}

base::Duration MemoryOfMoves(const Policy& policy) { return std::max(ThrottleMemory(policy), kNoWayBack); }

ExecutionStep Advance(const PlanObject& plan, const ExecutionView& view) { return Execution(plan, view).Run(); }

void NoteEviction(PlanObject& plan, size_t move, const base::Status& answer, base::Time now) {
  MoveStatus& status = plan.status[move];
  const bool gone = !answer && answer.error().code() == base::Code::kNotFound;
  if (!answer && !gone) {
    status.message = answer.error().message();
    return;
  }
  status.state = MoveState::kEvicted;
  status.evicted_at = now;
  status.reserve_until = now + kMovePatience;
  status.message.clear();
}

}  // namespace evenkeel::controllers::balancer
