// `evenkeel top`: clusters, nodes or shards of the fleet, live.
#pragma once

#include <ostream>
#include <string>

#include "base/result.h"
#include "cli/clusters/hub.h"
#include "cli/terminal/get_output.h"

namespace evenkeel::cli {

struct TopOptions {
  HubOptions hub;
  std::string what = "clusters";  ///< or "nodes", "shards"
  std::string cluster;            ///< nodes of this one; "": of all
  std::string sort;               ///< a column; "": the first
  bool reverse = false;
  std::string filter;  ///< only rows that contain this; "": all
  bool colour = true;  ///< on a terminal; $NO_COLOR forbids it as well
  bool once = false;
};

/// On a terminal until q or a signal; otherwise, and with --once, once.
base::Status Top(const TopOptions& options, std::ostream& out);

struct NodeGroupsOptions {
  HubOptions hub;
  std::string cluster;  ///< "": of all
  GetOptions get{};
};
base::Status GetNodeGroups(const NodeGroupsOptions& options, std::ostream& out);

}  // namespace evenkeel::cli
