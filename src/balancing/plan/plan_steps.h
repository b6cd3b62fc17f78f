// The difference between a cluster and an arrangement as steps that are made one after the other, and an order for them.
//
// Steps of one partition, and of partitions that affinity ties together, are made one right after the other. Which such bundle
// is next: the one that gains most where the steps before have led to, among those that can be made from there without
// exceeding a (total) capacity or violating a hard constraint anew; one that has to wait for room is tried again when something
// leaves the node. Only when no bundle can be made as a whole, single steps are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "balancing/measures/arrangement.h"
#include "balancing/measures/deviation.h"
#include "balancing/model/service_groups.h"
#include "balancing/plan/plan.h"
#include "balancing/rules/constraints.h"

namespace evenkeel::balancing {

struct PlanStep {
  ActionKind kind = ActionKind::kMoveInstance;
  ReplicaId replica = kNoId;  ///< of a swap: the primary
  ReplicaId other = kNoId;    ///< of a swap: the secondary; of a new primary: the one whose place it takes, when there is one
  NodeId from = kNoId, to = kNoId;
  Role role = Role::kInstance;  ///< of an added one
};
bool IsMove(ActionKind kind);
bool IsAdd(ActionKind kind);
bool IsDrop(ActionKind kind);

struct StepBundle {
  std::vector<PlanStep> steps;
  bool has_followers = false;  ///< of affinity: its steps may not fit by themselves
};

/// From the cluster to `planned`, by the ids of their (first) partitions; with affinity, children are in the bundles of their
/// parents. New replicas without a node make no step.
std::vector<StepBundle> StepsBetween(const Arrangement& planned, const ServiceGroup& group);

/// Makes a step, or takes it back.
void DoStep(Arrangement& arrangement, const PlanStep& step);
void UndoStep(Arrangement& arrangement, const PlanStep& step);

class StepOrder {
 public:
  /// Bundles of a lower `rank` come first whatever they gain. All outlive this.
  using Rank = std::function<int(const StepBundle&)>;
  StepOrder(Arrangement& arrangement, const ServiceGroup& group, Purpose purpose);

  /// `arrangement` is as the cluster is given; afterwards all is done that can be. Answers it in order; `stuck`: what cannot.
  std::vector<PlanStep> Make(std::span<const StepBundle> bundles, const Rank& rank, std::vector<PlanStep>& stuck);

 private:
  struct Waiting {
    NodeId node = kNoId;  // for room on it; kNoId: for anything
  };
  std::optional<Constraint> Obstacle(const PlanStep& step) const;
  bool IsPossible(const PlanStep& step, bool has_followers, bool forced) const;
  void Do(const PlanStep& step);
  void Undo(const PlanStep& step);
  void MakeOne(PlanStep step);
  std::optional<double> Foresee(const StepBundle& bundle) const;
  /// All or nothing; the steps in the order in which they were made are appended to made_. Answers the step that could not be.
  std::optional<PlanStep> Try(const StepBundle& bundle, bool forced);
  void Wake(size_t first_made);
  void MakeAll(std::span<const StepBundle> bundles, const Rank& rank);
  bool MakeWaiting(std::span<const StepBundle> bundles);
  bool MakeSingles(std::span<const StepBundle> bundles, bool forced);

  struct Entry {
    int rank;
    double gain;
    uint32_t bundle;
    bool operator<(const Entry& other) const {  // the first is the largest
      if (rank != other.rank) return rank > other.rank;
      if (gain != other.gain) return gain < other.gain;
      return bundle > other.bundle;
    }
  };

  Arrangement& arrangement_;
  GroupScore score_;
  Constraints constraints_;
  Purpose purpose_;
  std::vector<PlanStep> made_;
  std::vector<uint8_t> done_;                  // by bundle: wholly
  std::vector<std::vector<uint8_t>> made_of_;  // by bundle, its steps: of those that are made singly
  std::vector<std::vector<Entry>> waiting_;    // by node
  std::vector<Entry> queue_;                   // a heap
};

}  // namespace evenkeel::balancing
