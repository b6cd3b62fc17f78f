// `evenkeel simulate`: a scenario of the simulator (sim/run/scenario.h) under one seed or many, each on a thread of its own; or
// the replay of a trace (sim/report/trace_replay.h), under one seed.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "base/result.h"
#include "cli/terminal/report_file.h"

namespace evenkeel::cli {

struct SimulateOptions {
  std::string scenario{};          ///< a file
  std::optional<uint64_t> seed{};  ///< default 1
  std::string seeds{};             ///< "A..B", or a number: 1 to that
  std::string timeline{};          ///< a CSV file to write; one seed only
  std::string output{};
  std::string trace{};      ///< kind of the trace to replay; "": as the scenario says
  std::string trace_dir{};  ///< where its files are; "": as the scenario says
  ReportOptions report{};   ///< one seed only
  bool verbose = false;     ///< the replicas' own log, which is off otherwise
};

struct SeedRange {
  uint64_t first = 1, last = 1;
};
/// kBadRequest: not "A..B" or a count, or empty.
base::Result<SeedRange> ParseSeeds(const std::string& text);

/// Prints a summary. kBadRequest: the scenario, a flag or a trace's file cannot be read. kInternal when a checker failed:
/// which, in what seed, and the command that repeats it.
base::Status Simulate(const SimulateOptions& options, std::ostream& out);

}  // namespace evenkeel::cli
