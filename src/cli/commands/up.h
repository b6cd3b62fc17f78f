// `evenkeel up`: the embedded fleet.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace evenkeel::cli {

struct UpOptions {
  int members = 3;
  int nodes = 3;                ///< simulated ones, per member
  int replicas = 3;             ///< of the controllers, when the fleet is new
  bool controllers = true;      ///< when the fleet is new; false: no replicas
  std::string sharding_mode;    ///< empty: as the method says
  std::string sharding_method;  ///< empty: weighted (coordinated), round-robin (compatible)
  std::string address = "127.0.0.1";
  int port = 0;                 ///< of the hub; 0: as last time, else any free one
  std::string hub_store;        ///< empty: SQLite in the home directory
  int node_group_max = 10;      ///< of the node group that a new member begins with
  std::string autoscaler_args;  ///< flags for the controllers of a new fleet, separated by spaces
  base::Duration duration{};    ///< zero: until SIGINT or SIGTERM
  bool karmada_habits = false;  ///< the hub's federation does what Karmada does and it does not by itself (Habits)
  bool dashboard = true;
  int dashboard_port = 0;  ///< 0: as last time, else any free one
  std::string version;     ///< of the program
};

/// Brings the fleet up, says what to try, and takes it down again. Data, certificates and the kubeconfig are in $EVENKEEL_HOME.
base::Status Up(const UpOptions& options);

}  // namespace evenkeel::cli
