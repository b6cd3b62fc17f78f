#include "cli/tree/command_questions.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "controllers/distribution/sharding/shard_mapping.h"

namespace evenkeel::cli {
namespace {

struct Questions {
  CLI::App* plan;
  CLI::App* explain;
  CLI::App* get;
};

void AddShardsFlags(CLI::App& command, ShardsOptions& options) {
  AddHubFlags(command, options.hub);
  OneOf(command.add_option("--sharding-mode", options.mode, "Of a live fleet (default: as it is)"),
        {"coordinated", "compatible"});
  OneOf(command.add_option("--sharding-method", options.method,
                           "weighted (coordinated); the others are Argo CD's (default: as the fleet is; of files legacy)"),
        {"weighted", "legacy", "round-robin", "consistent-hashing"});
  command.add_option("--quirks", options.quirks, "Behaviours of Argo CD to switch on, or off with no- (docs/COMPATIBILITY.md)")
      ->delimiter(',');
  command.add_flag("--in-cluster", options.in_cluster, "The hub itself takes part in the distribution, as in Argo CD");
}

void AddShards(const Questions& questions, QuestionOptions& options, Action& action) {
  CLI::App* plan = questions.plan->add_subcommand("shards", "Which shard each cluster belongs to");
  AddShardsFlags(*plan, options.plan_shards.common);
  AddOutputFlag(*plan, options.plan_shards.common.output);
  AddFilenameFlag(*plan, options.plan_shards.files,
                  "Cluster Secrets, Clusters, Applications; - is standard input (default: the live fleet)");
  IsWhole(plan->add_option("--replicas", options.plan_shards.replicas, "Number of shards (required with -f)"), 1,
          controllers::distribution::kReplicasMax);
  IsFile(plan->add_option("--current", options.plan_shards.current, "An earlier plan as JSON: prints what moves"));
  AddReportFlag(*plan, options.plan_shards.report, "the plan");
  plan->callback([&] { action = [&] { return PlanShards(options.plan_shards, std::cout); }; });

  CLI::App* get = questions.get->add_subcommand("shards", "Clusters, their shards and owners");
  AddShardsFlags(*get, options.shards);
  AddGetFlags(*get, options.shards.get, kClusterType);
  get->callback([&] { action = [&] { return GetShards(options.shards, std::cout); }; });

  CLI::App* explain = questions.explain->add_subcommand("cluster", "Why this owner, and what would move the cluster");
  AddShardsFlags(*explain, options.shards);
  AddOutputFlag(*explain, options.shards.output);
  explain->add_option("name", options.cluster, "Name or server URL")->required()->type_name(kClusterType);
  explain->callback([&] { action = [&] { return ExplainCluster(options.shards, options.cluster, std::cout); }; });
}

void AddScale(const Questions& questions, ScaleOptions& options, std::string& name, Action& action) {
  CLI::App* plan =
      questions.plan->add_subcommand("scale", "How many nodes each node group would get, and which nodes would go");
  const auto read_plan = AddScaleFlags(*plan, options);
  AddReportFlag(*plan, options.report, "the plan");
  AddOutputFlag(*plan, options.output);
  plan->callback([&, read_plan] {
    read_plan();
    action = [&] { return PlanScale(options, std::cout); };
  });
  CLI::App* pod =
      questions.explain->add_subcommand("pod", "Why it is pending: each node group, each node, how much is missing");
  const auto read_pod = AddScaleFlags(*pod, options);
  AddOutputFlag(*pod, options.output);
  pod->add_option("name", name, "NAMESPACE/NAME")->required()->type_name(kPodType);
  pod->callback([&, read_pod] {
    read_pod();
    action = [&] { return ExplainPod(options, name, std::cout); };
  });
  CLI::App* node = questions.explain->add_subcommand("node", "Why it stays, or when it goes");
  const auto read_node = AddScaleFlags(*node, options);
  AddOutputFlag(*node, options.output);
  node->add_option("name", name, "Name of the node")->required()->type_name(kNodeType);
  node->callback([&, read_node] {
    read_node();
    action = [&] { return ExplainNode(options, name, std::cout); };
  });
}

void AddRollout(const Questions& questions, RolloutOptions& options, GetRolloutsOptions& get_options, Action& action) {
  get_options.hub.ns.clear();
  CLI::App* get = questions.get->add_subcommand("rollouts", "Ensembles over several clusters, and how far their changes are");
  AddKubeconfigFlags(*get, get_options.hub, "the hub");
  get->add_option("-n,--namespace", get_options.hub.ns, "Only of this namespace (default: all)");
  AddFilenameFlag(*get, get_options.files, "MultiClusterZooKeepers; - is standard input (default: the live hub)");
  AddGetFlags(*get, get_options.get, kRolloutType);
  get->callback([&] { action = [&] { return GetRollouts(get_options, std::cout); }; });
  CLI::App* plan =
      questions.plan->add_subcommand("rollout", "What a MultiClusterZooKeeper's rollout does next, and what it waits for");
  AddFilenameFlag(*plan, options.files,
                  "The MultiClusterZooKeeper, its ZooKeeper, ResourceBinding and policies, Clusters; - is standard input");
  plan->add_option("--now", options.now, "The time of the plan, RFC 3339 (default: the system's clock)");
  AddReportFlag(*plan, options.report, "the plan");
  AddOutputFlag(*plan, options.output);
  plan->callback([&] { action = [&] { return PlanRollout(options, std::cout); }; });
}

void AddBalance(const Questions& questions, BalanceOptions& options, std::string& name, Action& action) {
  CLI::App* plan = questions.plan->add_subcommand("balance", "Which replicas would be placed, moved or dropped, and why");
  AddBalanceFlags(*plan, options);
  AddOutputFlag(*plan, options.output);
  AddReportFlag(*plan, options.report, "the plan");
  plan->callback([&] { action = [&] { return PlanBalance(options, std::cout); }; });
  CLI::App* loads = questions.get->add_subcommand("loads", "Metric by metric: balanced or not, loads, capacities, thresholds");
  AddBalanceFlags(*loads, options);
  AddGetFlags(*loads, options.get, "METRIC");
  loads->callback([&] { action = [&] { return GetLoads(options, std::cout); }; });
  CLI::App* service = questions.explain->add_subcommand("service", "Why it is balanced or not, and why its replicas stay");
  AddBalanceFlags(*service, options);
  AddOutputFlag(*service, options.output);
  service->add_option("name", name, "Name of the service")->required();
  service->callback([&] { action = [&] { return ExplainService(options, name, std::cout); }; });
}

void AddNodeGroups(const Questions& questions, NodeGroupsOptions& options, Action& action) {
  CLI::App* get = questions.get->add_subcommand("nodegroups", "Node groups of the members: how many nodes they have and want");
  AddHubFlags(*get, options.hub);
  get->add_option("--cluster", options.cluster, "Only of this member (default: of all)")->type_name(kClusterType);
  AddGetFlags(*get, options.get, kNodeGroupType);
  get->callback([&] { action = [&] { return GetNodeGroups(options, std::cout); }; });
}

}  // namespace

void AddHubFlags(CLI::App& command, HubOptions& hub) {
  AddKubeconfigFlags(command, hub, "the hub");
  command.add_option("-n,--namespace", hub.ns, "Namespace of the cluster Secrets and the controllers")->capture_default_str();
  command.add_option("--controller-name", hub.controller_name,
                     "Deployment whose replicas are the shards (default evenkeel-controller)");
}

void AddQuestions(CLI::App& app, QuestionOptions& options, Action& action) {
  const Questions questions{
      app.add_subcommand("plan", "Say what would be done and why, and change nothing")->require_subcommand(1),
      app.add_subcommand("explain", "Say why something is as it is")->require_subcommand(1),
      app.add_subcommand("get", "Show the state of the fleet")->require_subcommand(1)};
  AddShards(questions, options, action);
  AddScale(questions, options.scale, options.pod_or_node, action);
  AddRollout(questions, options.rollout, options.rollouts, action);
  AddNodeGroups(questions, options.node_groups, action);
  AddBalance(questions, options.balance, options.service, action);
}

}  // namespace evenkeel::cli
