// What can go wrong, by the names that scenario files use.
#pragma once

#include <span>
#include <string_view>

namespace evenkeel::sim {

struct FaultKind {
  enum class Rate {
    kPeriod,       ///< seconds between two strikes somewhere in the fleet
    kProbability,  ///< per call
    kAlways,       ///< on or off; `low`: in which share of seeds, where it is not as for the others
  };
  std::string_view name;
  Rate rate;
  double low, high;  ///< a seed draws its rate from here, evenly on a logarithmic scale
  std::string_view what;
};

/// In alphabetical order.
std::span<const FaultKind> FaultKinds();
/// Null when there is none of that name.
const FaultKind* FindFaultKind(std::string_view name);

}  // namespace evenkeel::sim
