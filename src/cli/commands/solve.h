// `evenkeel solve roadef`: the placement solver on the instances of the ROADEF/EURO 2012 challenge, with the challenge's flags.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "base/result.h"

namespace evenkeel::cli {

struct SolveRoadefOptions {
  std::string model{}, initial{};        ///< files
  std::string output{};                  ///< the file to write; "": none
  std::string check{};                   ///< a solution to verify instead of solving
  double seconds = 300;                  ///< of the clock, reading and writing included
  std::optional<int64_t> evaluations{};  ///< instead of seconds: the same answer on every machine
  uint64_t seed = 1;
  int threads = 2;
};

/// Prints {"valid", "cost", "lowerBound", "initialCost", "terms", "violations"} and, having solved, what it took. kBadRequest:
/// a file or flag is wrong; kInfeasible: the solution to check breaks a rule.
base::Status SolveRoadef(const SolveRoadefOptions& options, std::ostream& out);

}  // namespace evenkeel::cli
