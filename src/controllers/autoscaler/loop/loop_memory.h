// A loop that looks at what the last one has looked at, with a memory that says the same and at a time that makes no
// difference, decides what the last one has decided: then its plan is handed out again, and none of the stages run. That costs
// O(groups), whatever the number of nodes and pods is.
//
// It is known, not guessed: ClusterObjects and the provider's answer have numbers that change with them, LoopTime says until
// when every comparison with the time of the loop comes out the same, and a loop counts only when its memory was the same
// before and afterwards. Plans that have to be carried out, that depend on chance, on what others were asked or on how long
// something took are always made anew.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "controllers/autoscaler/cluster_state/cluster_state.h"
#include "controllers/autoscaler/facts/cluster_objects.h"
#include "controllers/autoscaler/scale_down/scale_down.h"

namespace evenkeel::controllers::autoscaler {

struct AutoscalerState;
struct LoopPlan;
struct LoopRequest;

/// What a loop goes by, as far as it can be compared at once. Nothing that is left out changes without one of these.
struct LoopBasis {
  const ClusterObjects* objects = nullptr;
  const Options* options = nullptr;
  uint64_t objects_revision = 0, groups_revision = 0, cluster_revision = 0;
  bool comparable = false, count_unprocessed = false, cleaned_up = false;
  ListOrder list_order = ListOrder::kByName;
  uint32_t next_node = 0;
  CoolDown cool_down{};
  std::map<std::string, CoolDown, std::less<>> group_cool_down{};
  std::optional<base::Time> last_consolidation{};
  size_t unneeded = 0, unremovable = 0;

  bool operator==(const LoopBasis&) const = default;
  static LoopBasis Of(const ClusterObjects& objects, uint64_t groups_revision, const Options& options,
                      const AutoscalerState& state, const LoopRequest& request);
};

/// Belongs to one AutoscalerState; a copy of that begins without.
class LoopMemory {
 public:
  LoopMemory() = default;
  LoopMemory(const LoopMemory&) {}
  LoopMemory& operator=(const LoopMemory& other) {
    if (this != &other) last_.reset();
    return *this;
  }
  ~LoopMemory() = default;

  /// The caller has no more use for the plan of the last loop, which it has not changed.
  void Keep(LoopPlan plan);

  /// The plan of a loop at that time; none: it has to be run. State and templates are then as that loop would
  /// have left them.
  std::optional<LoopPlan> Recall(const LoopBasis& basis, const LoopRequest& request, ClusterObjects& objects,
                                 AutoscalerState& state);
  /// Whether the loop that begins could be one that changes nothing, so that the state is worth comparing.
  bool MaySettle(const LoopBasis& basis) const;
  /// A loop has ended. `settled`: its plan does not have to be carried out, and the state is as it was.
  void Note(LoopBasis basis, const LoopTime& now, bool settled);

 private:
  struct Last;
  std::shared_ptr<Last> last_;
};

}  // namespace evenkeel::controllers::autoscaler
