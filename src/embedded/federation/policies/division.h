// How many replicas each cluster gets. Karmada's rules since 1.16: seats go to parties by Webster's method (Sainte-Lague), ties
// to the party with fewer seats, then by name. Pure; cost: one pass over the clusters per replica that is divided by votes,
// except that static weights skip what is certain.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace evenkeel::embedded::federation {

/// A cluster and its replicas.
struct Share {
  std::string name;
  int64_t replicas = 0;
  bool operator==(const Share&) const = default;
};

enum class TieBreak { kNameAscending, kNameDescending };
/// Descending for uids whose FNV-1a hash is odd, so that not all objects prefer the same cluster. None: ascending.
TieBreak TieBreakOf(std::string_view uid);

using Votes = std::map<std::string, int64_t>;
/// Gives `seats` more seats to the parties of `votes` that have `initial` ones. All parties of both, by name.
std::vector<Share> Webster(int64_t seats, const Votes& votes, const Votes& initial = {},
                           TieBreak tie_break = TieBreak::kNameAscending);

enum class Division { kDuplicated, kStaticWeights, kDynamicWeights, kAggregated };

struct DivisionCandidate {
  std::string name;
  int64_t weight = 0;     ///< kStaticWeights: the largest of the rules that match; 0: none does
  int64_t available = 0;  ///< replicas there is room for
};

struct DivisionProblem {
  Division division = Division::kDuplicated;
  int64_t replicas = 0;
  bool workload = true;  ///< has replicas at all
  std::vector<DivisionCandidate> candidates;
  Votes previous;      ///< replicas that clusters have now
  bool fresh = false;  ///< forget `previous`
  TieBreak tie_break = TieBreak::kNameAscending;
};

/// By name, without clusters that get nothing; those of an object without replicas, or with 0, all have 0. kInfeasible when
/// there is no candidate or no room.
base::Result<std::vector<Share>> Divide(const DivisionProblem& problem);

}  // namespace evenkeel::embedded::federation
