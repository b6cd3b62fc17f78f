// `evenkeel plan rollout`: the next transition of a MultiClusterZooKeeper that is given as files; changes nothing.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"

namespace evenkeel::cli {

struct RolloutOptions {
  std::vector<std::string> files;
  std::string now;  ///< RFC 3339; "": the system's clock
  std::string output = "table";
};

/// JSON: {"status", "apply", "delete", "reason", "message"}; docs/ROLLOUT.md. kBadRequest: one line with file, line, object,
/// field.
base::Status PlanRollout(const RolloutOptions& options, std::ostream& out);

}  // namespace evenkeel::cli
