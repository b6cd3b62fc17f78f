// Which voters of the simulated ensemble are missed, since when, and whether because somebody deleted their pods: what a fault
// of the scenario takes away and what Evenkeel takes away are told apart here, for checkers.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "embedded/store/store.h"
#include "sim/world/zookeeper_model.h"

namespace evenkeel::sim {

/// The namespace and name of the ensemble that simulations have.
inline constexpr char kEnsembleNamespace[] = "data";
inline constexpr char kEnsembleName[] = "zk";

class RolloutBook {
 public:
  struct Absence {
    base::Instant since{};
    bool deleted = false;  ///< its pod was; no fault does that
    std::string member{}, uid{};
  };
  /// A pod is deleted whose server serves and has a vote.
  struct Action {
    std::string member, pod;
    int64_t id = 0;
  };

  /// The model must outlive it.
  explicit RolloutBook(const ZooKeeperModel& model) : model_(model) {}

  /// Call it once for each change of a store, in order.
  void See(const std::string& api, const embedded::store::Event& event);
  /// At least once a second: who is back, and who is gone.
  void Look();
  /// What the last change was.
  const std::optional<Action>& action() const { return action_; }
  /// Voters that do not serve now, by id.
  const std::map<int64_t, Absence>& Absences() {
    Look();
    return absences_;
  }
  const ZooKeeperModel& model() const { return model_; }

 private:
  const ZooKeeperModel& model_;
  std::optional<Action> action_;
  std::map<int64_t, Absence> absences_;
};

}  // namespace evenkeel::sim
