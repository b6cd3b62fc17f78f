// `evenkeel run`: the controllers of one replica, against a real or the embedded hub.
#pragma once

#include <string>
#include <vector>

#include "cli/clusters/hub.h"
#include "cli/commands/dashboard_service.h"
#include "cli/commands/rollout_service.h"
#include "controllers/autoscaler/options/flags.h"

namespace evenkeel::cli {

struct RunOptions {
  HubOptions hub;
  std::string sharding_mode;    ///< empty: from the environment, compatible where one of its own settings is given
  std::string sharding_method;  ///< empty: from the environment
  bool dynamic = false;
  int64_t moves_per_minute = 10;
  std::string metrics_address = "0.0.0.0";
  int metrics_port = 8082;
  std::vector<std::string> quirks;
  bool in_cluster = false;
  std::string exec_plugins = "aws,aws-iam-authenticator,gke-gcloud-auth-plugin,kubelogin,argocd-k8s-auth";
  std::vector<controllers::autoscaler::FlagValue> autoscaler;  ///< without --cloud-provider: none runs
  bool scheduler = false;                                      ///< binds pods of the members that name it
  bool balancer = false;                                       ///< moves pods of the members as their BalancingPolicy says
  bool zookeeper = false;                                      ///< runs the ZooKeepers of the members
  std::string print_definitions;                               ///< "hub" or "member": nothing else is done
  RolloutRunOptions rollout;                                   ///< carries out the hub's MultiClusterZooKeepers
  DashboardRunOptions dashboard;
};

/// Runs until SIGTERM or SIGINT, then hands its clusters over and returns. Serves /healthz, /readyz, /livez and /metrics.
base::Status Run(const RunOptions& options);

}  // namespace evenkeel::cli
