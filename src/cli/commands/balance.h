// `evenkeel plan balance`, `get loads` and `explain service`: the balancer's decisions for a cluster that is given as files, or
// for a live member with its BalancingPolicy, in which they change nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "balancing/model/cluster.h"
#include "balancing/model/settings.h"
#include "balancing/plan/plan.h"
#include "base/result.h"
#include "cli/clusters/hub_members.h"
#include "cli/terminal/get_output.h"
#include "cli/terminal/report_file.h"

namespace CLI {
class App;
}

namespace evenkeel::cli {

struct BalanceOptions {
  std::string manifest;            ///< ClusterManifest.xml, ClusterConfig.json or Template.json; "": every setting's default
  std::vector<std::string> files;  ///< the state of the cluster; neither these nor a manifest: the live member
  MemberOptions member;            ///< how to reach that
  std::string policy;              ///< of the live member; "": the one in force
  std::string memory;              ///< what the last call remembered; read, and written by plan; "": the state's history
  std::optional<double> now;       ///< seconds of the clock that the history tells; absent: the system's, from 1970
  std::optional<uint64_t> seed;    ///< absent: InitialRandomSeed, else 1
  int64_t evaluations = 0;         ///< 0: by the size of the cluster
  std::string output = "table";    ///< of plan and explain
  ReportOptions report{};          ///< of plan
  GetOptions get{};                ///< of get
};

/// Registers --manifest, -f, --kubeconfig, --context, --cluster, --hub-namespace, --policy, --memory, --now, --seed
/// and --evaluations.
void AddBalanceFlags(CLI::App& command, BalanceOptions& options);

/// What a command plans for, wherever it comes from.
struct BalanceInput {
  balancing::Settings settings;
  balancing::Cluster cluster;  ///< in order of names
  balancing::PlannerMemory memory;
  balancing::PlanOptions options;
};

/// Of files. kBadRequest: one line that names file, line and element. Warnings go to standard error.
base::Result<BalanceInput> ReadBalanceInput(const BalanceOptions& options);

base::Status PlanBalance(const BalanceOptions& options, std::ostream& out);
base::Status GetLoads(const BalanceOptions& options, std::ostream& out);
base::Status ExplainService(const BalanceOptions& options, const std::string& service, std::ostream& out);

}  // namespace evenkeel::cli
