// The commands that register members: clusters add, list, remove and rotate.
#pragma once

#include "cli/clusters/command_flags.h"
#include "cli/commands/clusters.h"

namespace evenkeel::cli {

/// `options` and `action` outlive the tree.
void AddClusters(CLI::App& app, ClustersOptions& options, Action& action);

}  // namespace evenkeel::cli
