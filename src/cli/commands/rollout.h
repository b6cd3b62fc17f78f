// `evenkeel plan rollout`: the next transition of a MultiClusterZooKeeper that is given as files; changes nothing.
// `evenkeel get rollouts`: how far the rollouts are.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/clusters/hub.h"
#include "cli/terminal/get_output.h"
#include "cli/terminal/report_file.h"

namespace evenkeel::cli {

struct RolloutOptions {
  std::vector<std::string> files;
  std::string now;  ///< RFC 3339; "": the system's clock
  std::string output = "table";
  ReportOptions report{};
};

/// JSON: {"status", "apply", "delete", "reason", "message"}; docs/ROLLOUT.md. kBadRequest: one line with file, line, object,
/// field.
base::Status PlanRollout(const RolloutOptions& options, std::ostream& out);

struct GetRolloutsOptions {
  HubOptions hub;                  ///< of it `ns` only narrows; empty: all namespaces
  std::vector<std::string> files;  ///< empty: the live hub
  GetOptions get{};                ///< with watch a column has the clusters' tracks
};

/// Of each MultiClusterZooKeeper, from its status. JSON: {"rollouts": [{"ensemble", "phase", "voters", "ready", "majority",
/// "margin" (ready voters beyond a majority), "leader": {"cluster", "myid"} or null, "reason", "message", "records",
/// "record": the last one or null, "clusters": [{"cluster", "track": "deploying" | "completed" | "pending" | "-", "servers",
/// "revision"}]}]}.
base::Status GetRollouts(const GetRolloutsOptions& options, std::ostream& out);

}  // namespace evenkeel::cli
