// What the page of a report shows of a run (dashboard/page/src/report/data.ts): numbers over time, distributions, owners,
// movements, what happened, and the fleet as it was for playback. Pure. It stays below some megabytes however large the fleet
// and however long the run: nodes of large fleets stand together, and frames of long runs are further apart.
#pragma once

#include <functional>

#include "base/json.h"
#include "sim/report/report.h"
#include "sim/report/trace_replay.h"
#include "sim/world/fleet_samples.h"

namespace evenkeel::sim {

/// How many frames have been made of how many, which takes longest. It begins anew, with fewer, when they have become too
/// large.
using ReportProgress = std::function<void(size_t done, size_t total)>;

/// Both need their recording, and the first its timeline. When and by which command it was made is for the caller to add.
base::JsonObject ReportData(const SimulationReport& report, const ReportProgress& on_progress = {});
base::JsonObject ReportData(const ReplayReport& report, const ReportProgress& on_progress = {});

/// About how many cells the playback shows at one time, and about how many bytes its frames have. Clusters and groups share no
/// cell, so there are more cells by one at most for each group of each cluster.
inline constexpr size_t kCellsMax = 400, kFramesBytesMax = 3'000'000;

/// Frames of the playback: the first whole, each other one a merge patch against the one before.
base::JsonArray PlaybackFrames(const FleetSamples& samples, const ReportProgress& on_progress = {});

}  // namespace evenkeel::sim
