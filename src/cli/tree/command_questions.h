// The commands that ask: plan, explain and get.
#pragma once

#include <string>

#include "cli/clusters/command_flags.h"
#include "cli/clusters/shards.h"
#include "cli/commands/balance.h"
#include "cli/commands/rollout.h"
#include "cli/commands/scale.h"
#include "cli/commands/top.h"

namespace evenkeel::cli {

/// What their flags are read into.
struct QuestionOptions {
  PlanShardsOptions plan_shards;
  ShardsOptions shards;
  std::string cluster;
  ScaleOptions scale;
  std::string pod_or_node;
  RolloutOptions rollout;
  GetRolloutsOptions rollouts;
  BalanceOptions balance;
  std::string service;
  NodeGroupsOptions node_groups;
};

void AddHubFlags(CLI::App& command, HubOptions& hub);
/// `options` and `action` outlive the tree.
void AddQuestions(CLI::App& app, QuestionOptions& options, Action& action);

}  // namespace evenkeel::cli
