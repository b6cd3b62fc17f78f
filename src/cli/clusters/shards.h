// `evenkeel plan shards`, `get shards` and `explain cluster`.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/clusters/hub.h"
#include "cli/terminal/get_output.h"
#include "cli/terminal/report_file.h"

namespace evenkeel::cli {

struct ShardsOptions {
  HubOptions hub;
  std::string output = "table";  ///< of plan and explain
  std::string mode;              ///< of a live fleet; empty: coordinated where replicas follow a ShardPlan
  std::string method;            ///< empty: legacy for files, the fleet's own for a live fleet
  std::vector<std::string> quirks;
  bool in_cluster = false;
  GetOptions get{};
};

struct PlanShardsOptions {
  ShardsOptions common;
  std::vector<std::string> files;  ///< empty: the live fleet
  std::optional<int64_t> replicas;
  std::string current;  ///< an earlier plan, for the moves
  ReportOptions report{};
};

base::Status PlanShards(const PlanShardsOptions& options, std::ostream& out);
base::Status GetShards(const ShardsOptions& options, std::ostream& out);
base::Status ExplainCluster(const ShardsOptions& options, const std::string& name, std::ostream& out);

}  // namespace evenkeel::cli
