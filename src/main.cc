// The command line: flags in, one command run, errors as one line and an exit status (0 done, 1 failed, 2 bad usage or input,
// 3 infeasible).
#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>

#include "base/log.h"
#include "cli/apiserver.h"
#include "cli/balance.h"
#include "cli/definitions.h"
#include "cli/rollout.h"
#include "cli/run.h"
#include "cli/scale.h"
#include "cli/shards.h"
#include "cli/simulate.h"
#include "cli/solve.h"
#include "cli/up.h"

namespace evenkeel::cli {
namespace {

/// The command that the arguments chose; run after all of them have been read.
using Action = std::function<base::Status()>;

void AddHubFlags(CLI::App& command, HubOptions& hub) {
  command.add_option("--kubeconfig", hub.kubeconfig,
                     "How to reach the hub (default: $KUBECONFIG, $EVENKEEL_HOME/kubeconfig, ~/.kube/config)");
  command.add_option("--context", hub.context, "Context of the kubeconfig (default: its current one)");
  command.add_option("-n,--namespace", hub.ns, "Namespace of the cluster Secrets and the controllers")->capture_default_str();
  command.add_option("--controller-name", hub.controller_name,
                     "Deployment whose replicas are the shards (default evenkeel-controller)");
}

void AddShardsFlags(CLI::App& command, ShardsOptions& options) {
  AddHubFlags(command, options.hub);
  command.add_option("-o,--output", options.output, "table, json or yaml")->capture_default_str();
  command.add_option("--sharding-mode", options.mode, "Of a live fleet: coordinated or compatible (default: as it is)");
  command.add_option("--sharding-method", options.method, "weighted, legacy, round-robin or consistent-hashing");
  command.add_option("--quirks", options.quirks, "Behaviours of Argo CD to switch on, or off with no- (docs/COMPATIBILITY.md)")
      ->delimiter(',');
  command.add_flag("--in-cluster", options.in_cluster, "The hub itself takes part in the distribution, as in Argo CD");
}

void AddUp(CLI::App& app, UpOptions& options, Action& action) {
  CLI::App* up = app.add_subcommand("up", "Start the embedded fleet: hub, members, controllers");
  up->add_option("--members", options.members, "Number of member clusters")->check(CLI::Range(0, 100))->capture_default_str();
  up->add_option("--nodes", options.nodes, "Simulated nodes per member")->check(CLI::Range(0, 5000))->capture_default_str();
  up->add_option("--replicas", options.replicas, "Controller replicas of a new fleet")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  up->add_option("--sharding-mode", options.sharding_mode, "Of a new fleet: coordinated or compatible with Argo CD")
      ->check(CLI::IsMember({"coordinated", "compatible"}));
  up->add_option("--sharding-method", options.sharding_method,
                 "Of a new fleet: weighted (coordinated); legacy, round-robin or consistent-hashing (compatible)")
      ->check(CLI::IsMember({"weighted", "legacy", "round-robin", "consistent-hashing"}));
  up->add_option("--address", options.address, "Where the API servers listen")->capture_default_str();
  up->add_option("--port", options.port, "Of the hub's API server (default: as last time, else any free one)")
      ->check(CLI::Range(0, 65535));
  up->add_option("--store", options.hub_store,
                 "Of the hub: sqlite:PATH, etcd://HOST:PORT,... or memory (default: SQLite in $EVENKEEL_HOME)");
  up->add_option("--node-group-max", options.node_group_max, "Nodes that the node group of a new member may have")
      ->check(CLI::Range(0, 5000))
      ->capture_default_str();
  up->add_option("--autoscaler-args", options.autoscaler_args,
                 "Of a new fleet: flags for its autoscalers, e.g. \"--scan-interval 2s --scale-down-unneeded-time 30s\"");
  up->add_option_function<std::string>(
      "--for",
      [&options](const std::string& text) {
        auto duration = base::ParseDuration(text);
        if (!duration) throw CLI::ValidationError("--for", duration.error().message());
        options.duration = *duration;
      },
      "Stop by itself after this long, e.g. 60s");
  up->add_flag("!--no-dashboard", options.dashboard, "Serve no dashboard");
  up->add_option("--dashboard-port", options.dashboard_port, "Of the dashboard (default: as last time, else any free one)")
      ->check(CLI::Range(0, 65535));
  options.version = EVENKEEL_VERSION;
  up->callback([&] { action = [&] { return Up(options); }; });
}

void AddRolloutRunFlags(CLI::App& run, RolloutRunOptions& options) {
  run.add_flag("--rollout", options.enabled,
               "Carry out the rollouts of the hub's MultiClusterZooKeepers, one replica at a time");
  run.add_flag("--install", options.install,
               "With --rollout: write its definitions and webhook configurations to the hub, which then asks the leader");
  run.add_option("--webhook-address", options.address, "Where the webhooks of --rollout are served")->capture_default_str();
  run.add_option("--webhook-port", options.port, "Port of the same; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  run.add_option("--webhook-url", options.url,
                 "How the hub reaches them (default: https://, this replica's address or host, and the port)");
  run.add_option("--tls-cert-file", options.certificate_file, "Their certificate (default: one is made)");
  run.add_option("--tls-private-key-file", options.key_file, "Its key");
  run.add_option("--webhook-ca-file", options.ca_file, "Who signed it (default: itself)");
}

void AddDashboardFlags(CLI::App& run, DashboardRunOptions& options) {
  options.version = EVENKEEL_VERSION;
  run.add_flag("--dashboard", options.enabled, "Serve the dashboard (docs/DASHBOARD.md)");
  run.add_option("--dashboard-address", options.address, "Where it is served")->capture_default_str();
  run.add_option("--dashboard-port", options.port, "Port of the same; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  run.add_option("--dashboard-token-file", options.token_file,
                 "The token that lets people in, made when it is not there (default: $EVENKEEL_HOME/dashboard-token)");
  run.add_option("--dashboard-read-token-file", options.read_token_file, "Of a token that may look and not approve");
  run.add_option("--dashboard-host", options.host_names,
                 "A name under which it is reached, besides localhost and numeric addresses; repeatable");
}

void AddRun(CLI::App& app, RunOptions& options, Action& action) {
  CLI::App* run = app.add_subcommand("run", "Run the controllers of one replica against a hub");
  AddHubFlags(*run, options.hub);
  run->add_option(
      "--sharding-mode", options.sharding_mode,
      "coordinated, or compatible with Argo CD (default: environment, coordinated unless Argo CD's settings are given)");
  run->add_option(
      "--sharding-method", options.sharding_method,
      "weighted (coordinated); legacy, round-robin or consistent-hashing (compatible; default: environment, legacy)");
  run->add_flag("--dynamic-cluster-distribution-enabled", options.dynamic,
                "Compatible mode: shards are the replicas of the Deployment, claimed at run time");
  run->add_option("--max-moves-per-minute", options.moves_per_minute, "Coordinated mode: moves for balance; others are at once")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  run->add_option("--metrics-address", options.metrics_address, "Where /healthz and /metrics are served")
      ->capture_default_str();
  run->add_option("--metrics-port", options.metrics_port, "Port of the same; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  run->add_option("--quirks", options.quirks, "Behaviours of Argo CD to switch on, or off with no- (docs/COMPATIBILITY.md)")
      ->delimiter(',');
  run->add_flag("--in-cluster", options.in_cluster, "The hub itself takes part in the distribution, as in Argo CD");
  run->add_flag("--balancer", options.balancer, "Move pods of the members that have a BalancingPolicy");
  run->add_flag("--zookeeper", options.zookeeper, "Run the servers of the members' ZooKeepers");
  AddRolloutRunFlags(*run, options.rollout);
  AddDashboardFlags(*run, options.dashboard);
  run->add_flag("--scheduler", options.scheduler, "Bind pods of the members that have schedulerName: evenkeel");
  run->add_option("--print-definitions", options.print_definitions,
                  "Print the CustomResourceDefinitions of a hub or of a member, and end");
  const auto read_autoscaler = AddAutoscalerFlags(*run, options.autoscaler);
  run->callback([&, read_autoscaler] {
    if (!options.print_definitions.empty()) {
      action = [&] { return PrintDefinitions(options.print_definitions, std::cout); };
      return;
    }
    read_autoscaler();
    action = [&] { return Run(options); };
  });
}

void AddApiServer(CLI::App& app, ApiServerOptions& options, Action& action) {
  CLI::App* server = app.add_subcommand("apiserver", "Serve the embedded Kubernetes API alone");
  server->add_option("--store", options.store, "sqlite:PATH, etcd://HOST:PORT,... or memory")->capture_default_str();
  server->add_option("--address", options.address, "Where to listen")->capture_default_str();
  server->add_option("--port", options.port, "0: any free one")->check(CLI::Range(0, 65535))->capture_default_str();
  server->add_option("--data-dir", options.data_dir,
                     "Certificates, tokens and the kubeconfig (default $EVENKEEL_HOME/apiserver)");
  server->add_option("--token-auth-file", options.token_file, "More bearer tokens: token,user,uid,\"group1,group2\" per line");
  server->add_option("--audit-log-path", options.audit_log,
                     "Record every write here, one audit.k8s.io/v1 Event per line; - is standard output (default: nowhere)");
  server->add_option("--audit-log-maxsize", options.audit_log_megabytes, "Megabytes of the audit log before it is moved aside")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  server->add_option("--audit-log-maxbackup", options.audit_log_backups, "Moved audit logs to keep; 0: all")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  server->add_option("--threads", options.threads, "I/O threads")->check(CLI::Range(1, 256))->capture_default_str();
  server->callback([&] { action = [&] { return RunApiServer(options); }; });
}

/// Commands that several questions share.
struct Questions {
  CLI::App* plan;
  CLI::App* explain;
  CLI::App* get;
};

Questions AddQuestions(CLI::App& app) {
  return {app.add_subcommand("plan", "Say what would be done and why, and change nothing")->require_subcommand(1),
          app.add_subcommand("explain", "Say why something is as it is")->require_subcommand(1),
          app.add_subcommand("get", "Show the state of the fleet")->require_subcommand(1)};
}

void AddBalance(const Questions& questions, BalanceOptions& options, std::string& name, Action& action) {
  CLI::App* plan = questions.plan->add_subcommand("balance", "Which replicas would be placed, moved or dropped, and why");
  AddBalanceFlags(*plan, options);
  plan->callback([&] { action = [&] { return PlanBalance(options, std::cout); }; });
  CLI::App* loads = questions.get->add_subcommand("loads", "Metric by metric: balanced or not, loads, capacities, thresholds");
  AddBalanceFlags(*loads, options);
  loads->callback([&] { action = [&] { return GetLoads(options, std::cout); }; });
  CLI::App* service = questions.explain->add_subcommand("service", "Why it is balanced or not, and why its replicas stay");
  AddBalanceFlags(*service, options);
  service->add_option("name", name, "Name of the service")->required();
  service->callback([&] { action = [&] { return ExplainService(options, name, std::cout); }; });
}

void AddScale(const Questions& questions, ScaleOptions& options, std::string& name, Action& action) {
  CLI::App* plan =
      questions.plan->add_subcommand("scale", "How many nodes each node group would get, and which nodes would go");
  const auto read_plan = AddScaleFlags(*plan, options);
  plan->add_option("-o,--output", options.output, "table, json or yaml")->capture_default_str();
  plan->callback([&, read_plan] {
    read_plan();
    action = [&] { return PlanScale(options, std::cout); };
  });
  CLI::App* pod =
      questions.explain->add_subcommand("pod", "Why it is pending: each node group, each node, how much is missing");
  const auto read_pod = AddScaleFlags(*pod, options);
  pod->add_option("name", name, "NAMESPACE/NAME")->required();
  pod->callback([&, read_pod] {
    read_pod();
    action = [&] { return ExplainPod(options, name, std::cout); };
  });
  CLI::App* node = questions.explain->add_subcommand("node", "Why it stays, or when it goes");
  const auto read_node = AddScaleFlags(*node, options);
  node->add_option("name", name, "Name of the node")->required();
  node->callback([&, read_node] {
    read_node();
    action = [&] { return ExplainNode(options, name, std::cout); };
  });
}

void AddRollout(const Questions& questions, RolloutOptions& options, GetRolloutsOptions& get_options, Action& action) {
  CLI::App* get = questions.get->add_subcommand("rollouts", "Ensembles over several clusters, and how far their changes are");
  get->add_option("--kubeconfig", get_options.hub.kubeconfig, "How to reach the hub, as get shards does");
  get->add_option("--context", get_options.hub.context, "Context of the kubeconfig (default: its current one)");
  get->add_option("-n,--namespace", get_options.hub.ns, "Only of this namespace (default: all)");
  get->add_option("-f,--filename", get_options.files, "MultiClusterZooKeepers; - is standard input (default: the live hub)")
      ->allow_extra_args(false);
  get->add_option("-o,--output", get_options.output, "table, json or yaml")->capture_default_str();
  get->callback([&] { action = [&] { return GetRollouts(get_options, std::cout); }; });
  CLI::App* plan =
      questions.plan->add_subcommand("rollout", "What a MultiClusterZooKeeper's rollout does next, and what it waits for");
  plan->add_option("-f,--filename", options.files,
                   "The MultiClusterZooKeeper, its ZooKeeper, ResourceBinding and policies, Clusters; - is standard input")
      ->allow_extra_args(false);
  plan->add_option("--now", options.now, "The time of the plan, RFC 3339 (default: the system's clock)");
  plan->add_option("-o,--output", options.output, "table, json or yaml")->capture_default_str();
  plan->callback([&] { action = [&] { return PlanRollout(options, std::cout); }; });
}

void AddShards(const Questions& questions, PlanShardsOptions& plan_options, ShardsOptions& options, std::string& name,
               Action& action) {
  CLI::App* plan_shards = questions.plan->add_subcommand("shards", "Which shard each cluster belongs to");
  AddShardsFlags(*plan_shards, plan_options.common);
  plan_shards
      ->add_option("-f,--filename", plan_options.files,
                   "Cluster Secrets, Clusters, Applications; - is standard input (default: the live fleet)")
      ->allow_extra_args(false);
  plan_shards->add_option("--replicas", plan_options.replicas, "Number of shards (required with -f)");
  plan_shards->add_option("--current", plan_options.current, "An earlier plan as JSON: prints what moves");
  plan_shards->callback([&] { action = [&] { return PlanShards(plan_options, std::cout); }; });

  CLI::App* get_shards = questions.get->add_subcommand("shards", "Clusters, their shards and owners");
  AddShardsFlags(*get_shards, options);
  get_shards->callback([&] { action = [&] { return GetShards(options, std::cout); }; });

  CLI::App* explain_cluster = questions.explain->add_subcommand("cluster", "Why this owner, and what would move the cluster");
  AddShardsFlags(*explain_cluster, options);
  explain_cluster->add_option("name", name, "Name or server URL")->required();
  explain_cluster->callback([&] { action = [&] { return ExplainCluster(options, name, std::cout); }; });
}

void AddSimulate(CLI::App& app, SimulateOptions& options, Action& action) {
  CLI::App* simulate =
      app.add_subcommand("simulate", "Run a scenario of the simulator: faults from a seed, checkers that look on");
  simulate->add_option("scenario", options.scenario, "A scenario file (docs/SIMULATOR.md)")->required();
  simulate->add_option("--seed", options.seed, "One seed (default 1)");
  simulate->add_option("--seeds", options.seeds, "Many: A..B, or how many from 1 on; as many at once as there are cores");
  simulate->add_option("--timeline", options.timeline, "Write what happened when to this CSV file; of one seed");
  simulate->add_option("--trace", options.trace, "Replay a trace with the autoscaler on: openb");
  simulate->add_option("--trace-dir", options.trace_dir, "The folder with the trace's files (default: as the scenario says)");
  simulate->add_option("-o,--output", options.output, "table, json or yaml")->capture_default_str();
  simulate->add_flag("--verbose", options.verbose, "The replicas' own log on standard error");
  simulate->callback([&] { action = [&] { return Simulate(options, std::cout); }; });
}

void AddSolve(CLI::App& app, SolveRoadefOptions& options, Action& action) {
  CLI::App* solve = app.add_subcommand("solve", "Run the placement solver by itself")->require_subcommand(1);
  CLI::App* roadef = solve->add_subcommand("roadef", "Instances of the ROADEF/EURO 2012 challenge (machine reassignment)");
  roadef->add_option("-p,--model", options.model, "The model")->required();
  roadef->add_option("-i,--initial", options.initial, "Where the processes are at first")->required();
  roadef->add_option("-o,--output-file", options.output, "The file for the solution");
  roadef->add_option("-t,--time", options.seconds, "Seconds, reading and writing included")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  roadef->add_option("-s,--seed", options.seed, "Seed")->capture_default_str();
  roadef->add_option("--evaluations", options.evaluations, "Steps to look at, instead of a time: the same answer everywhere")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000'000}));
  roadef->add_option("--threads", options.threads, "Threads")->check(CLI::Range(1, 64))->capture_default_str();
  roadef->add_option("--check", options.check, "Verify this solution instead");
  roadef->callback([&] { action = [&] { return SolveRoadef(options, std::cout); }; });
}

int Main(int argc, char** argv) {
  CLI::App app("Evenkeel keeps a fleet of Kubernetes clusters on an even keel.", "evenkeel");
  app.set_version_flag("--version", "evenkeel " EVENKEEL_VERSION);
  app.require_subcommand(1);
  std::string log_level = "info";
  app.add_option("--log-level", log_level, "debug, info, warn, error or off")->capture_default_str();
  app.fallthrough();

  UpOptions up;
  RunOptions run;
  ApiServerOptions server;
  PlanShardsOptions plan_shards;
  ShardsOptions shards;
  std::string cluster;
  ScaleOptions scale;
  std::string pod_or_node;
  RolloutOptions rollout;
  GetRolloutsOptions rollouts;
  rollouts.hub.ns.clear();
  BalanceOptions balance;
  std::string service;
  SimulateOptions simulate;
  SolveRoadefOptions solve;
  Action action;
  AddUp(app, up, action);
  AddRun(app, run, action);
  AddApiServer(app, server, action);
  const Questions questions = AddQuestions(app);
  AddShards(questions, plan_shards, shards, cluster, action);
  AddScale(questions, scale, pod_or_node, action);
  AddRollout(questions, rollout, rollouts, action);
  AddBalance(questions, balance, service, action);
  AddSimulate(app, simulate, action);
  AddSolve(app, solve, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::cerr << "evenkeel: " << e.what() << ": see evenkeel --help\n";
    return base::ExitStatus(base::Code::kBadRequest);
  }
  auto level = base::log::ParseLevel(log_level);
  base::Status status = level ? base::log::Configure(*level) : base::Fail(level.error());
  if (status) status = action();
  if (status) return 0;
  std::cerr << "evenkeel: " << status.error().message() << '\n';
  return base::ExitStatus(status.error().code());
}

}  // namespace
}  // namespace evenkeel::cli

int main(int argc, char** argv) { return evenkeel::cli::Main(argc, argv); }
