// The report of a run or a plan: one HTML file with pictures that needs nothing else (docs/REPORTS.md).
#pragma once

#include <string>

#include "base/json.h"
#include "base/time.h"

namespace evenkeel::cli {

struct ReportOptions {
  std::string file{};     ///< "": none
  std::string command{};  ///< what was called, for people who want to repeat it
};

/// What was called, as a shell takes it: "evenkeel" and the arguments.
std::string CommandText(int argc, const char* const* argv);

/// Before long work: whether the file could be written. kBadRequest says why not.
base::Status CheckReport(const ReportOptions& report);
/// `data`: src/dashboard/page/src/report/data.ts, without the command and when it was made. The file is there as a whole or,
/// on an error, as it was before.
base::Status WriteReport(const ReportOptions& report, base::JsonObject data, base::Time now);

}  // namespace evenkeel::cli
