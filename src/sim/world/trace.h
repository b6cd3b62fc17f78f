// Traces of real clusters: which nodes they had and which tasks came and went. The data are read from where they are.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace evenkeel::sim {

/// Nodes that are all alike.
struct TraceShape {
  std::string name;   ///< "g2x8-96c-384g": good for a node group
  std::string model;  ///< of its GPUs; "" without
  int64_t milli_cores = 0, mebibytes = 0, gpus = 0;
  int64_t nodes = 0;  ///< that there were
};

struct TraceTask {
  std::string name;
  int64_t milli_cores = 0, mebibytes = 0;
  int64_t milli_gpus = 0;           ///< 460: a share of one GPU; 8000: eight
  std::vector<std::string> models;  ///< of GPUs that will do; empty: all
  base::Duration arrives{}, leaves{};
};

struct Trace {
  std::vector<TraceShape> shapes;  ///< by name
  std::vector<TraceTask> tasks;    ///< by arrival, then by name

  int64_t nodes() const;
};

/// Names of the kinds that ReadTrace knows:
///   "openb": Alibaba's GPU cluster of 2023 (openb_node_list_all_node.csv and openb_pod_list_default.csv).
const std::set<std::string>& TraceKinds();

/// kBadRequest in one line: what is missing or cannot be read, where, what to do.
base::Result<Trace> ReadTrace(const std::string& kind, const std::string& directory);

/// The trace "openb" from the texts of its two files, which errors name as in `directory`.
base::Result<Trace> ParseOpenbTrace(std::string_view nodes, std::string_view tasks, const std::string& directory);

}  // namespace evenkeel::sim
