#include "cli/tree/command_tree.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

#include "base/log.h"
#include "base/utf8.h"
#include "cli/clusters/command_flags.h"
#include "cli/commands/apiserver.h"
#include "cli/commands/run.h"
#include "cli/commands/simulate.h"
#include "cli/commands/solve.h"
#include "cli/commands/store_tools.h"
#include "cli/commands/top.h"
#include "cli/commands/up.h"
#include "cli/terminal/definitions.h"
#include "cli/terminal/output.h"
#include "cli/terminal/printable.h"
#include "cli/tree/command_clusters.h"
#include "cli/tree/command_help.h"
#include "cli/tree/command_questions.h"
#include "cli/tree/completion.h"
#include "cli/tree/help.h"
#include "cli/tree/mistake.h"
#include "cli/tree/reference.h"
#include "cli/tree/typed_flags.h"

namespace evenkeel::cli {
namespace {

void AddUp(CLI::App& app, UpOptions& options, const std::string& version, Action& action) {
  CLI::App* up = app.add_subcommand("up", "Start the embedded fleet: hub, members, controllers");
  IsWhole(up->add_option("--members", options.members, "Number of member clusters"), 0, 100)->capture_default_str();
  IsWhole(up->add_option("--nodes", options.nodes, "Simulated nodes per member"), 0, 5000)->capture_default_str();
  IsWhole(up->add_option("--replicas", options.replicas, "Controller replicas of a new fleet"), 1, 100)->capture_default_str();
  up->add_flag("!--no-controllers", options.controllers,
               "Of a new fleet: only its API servers and nodes, for replicas of your own");
  OneOf(up->add_option("--sharding-mode", options.sharding_mode, "Of a new fleet: Evenkeel's own, or compatible with Argo CD"),
        {"coordinated", "compatible"});
  OneOf(up->add_option("--sharding-method", options.sharding_method,
                       "Of a new fleet: weighted (coordinated); the others are Argo CD's (compatible)"),
        {"weighted", "legacy", "round-robin", "consistent-hashing"});
  up->add_option("--address", options.address, "Where the API servers listen")->capture_default_str();
  IsWhole(up->add_option("--port", options.port, "Of the hub's API server (default: as last time, else any free one)"), 0,
          65535);
  up->add_option("--store", options.hub_store,
                 "Of the hub: sqlite:PATH, etcd://HOST:PORT,... or memory (default: SQLite in $EVENKEEL_HOME)");
  IsWhole(up->add_option("--node-group-max", options.node_group_max, "Nodes that the node group of a new member may have"), 0,
          5000)
      ->capture_default_str();
  up->add_flag(
      "--karmada-habits", options.karmada_habits,
      "The hub does what Karmada does: schedules a binding once, evicts by taints NoExecute and by outages, brings its "
      "namespaces to members, and empties a member whose Cluster is deleted");
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
  IsWhole(
      up->add_option("--dashboard-port", options.dashboard_port, "Of the dashboard (default: as last time, else any free one)"),
      0, 65535);
  options.version = version;
  up->callback([&] { action = [&] { return Up(options); }; });
}

void AddRolloutRunFlags(CLI::App& run, RolloutRunOptions& options) {
  run.add_flag("--rollout", options.enabled,
               "Carry out the rollouts of the hub's MultiClusterZooKeepers, one replica at a time");
  run.add_flag("--install", options.install,
               "With --rollout: write its definitions and webhook configurations to the hub, which then asks the leader");
  run.add_option("--webhook-address", options.address, "Where the webhooks of --rollout are served")->capture_default_str();
  IsWhole(run.add_option("--webhook-port", options.port, "Port of the webhooks of --rollout; 0: any free one"), 0, 65535)
      ->capture_default_str();
  run.add_option("--webhook-url", options.url,
                 "How the hub reaches the webhooks (default: https://, this replica's address or host, and the port)");
  IsFile(run.add_option("--tls-cert-file", options.certificate_file, "Certificate of the webhooks (default: one is made)"));
  IsFile(run.add_option("--tls-private-key-file", options.key_file, "Private key of the webhooks' certificate"));
  IsFile(run.add_option("--webhook-ca-file", options.ca_file, "Who signed the webhooks' certificate (default: itself)"));
}

void AddDashboardFlags(CLI::App& run, DashboardRunOptions& options) {
  run.add_flag("--dashboard", options.enabled, "Serve the dashboard (docs/DASHBOARD.md)");
  run.add_option("--dashboard-address", options.address, "Where the dashboard is served")->capture_default_str();
  IsWhole(run.add_option("--dashboard-port", options.port, "Port of the dashboard; 0: any free one"), 0, 65535)
      ->capture_default_str();
  IsFile(run.add_option("--dashboard-token-file", options.token_file,
                        "File with the token that lets people into the dashboard, made when it is not there (default: "
                        "$EVENKEEL_HOME/dashboard-token)"));
  IsFile(run.add_option("--dashboard-read-token-file", options.read_token_file,
                        "File with a token that lets people look and change nothing, made likewise (default: none)"));
  IsFile(run.add_option("--dashboard-tls-cert-file", options.certificate_file,
                        "Certificate of the dashboard, read anew when the file changes (default: none, and plain HTTP)"));
  IsFile(run.add_option("--dashboard-tls-key-file", options.key_file, "Private key of the dashboard's certificate"));
  IsFile(run.add_option(
      "--dashboard-history-file", options.history_file,
      "File in which the dashboard keeps events and loads of the last days, at most 32 MiB with FILE.1 (default: none, and "
      "what the APIs remember)"));
  run.add_option("--dashboard-host", options.host_names,
                 "A name under which the dashboard is reached, besides localhost and numeric addresses; repeatable");
}

void AddRun(CLI::App& app, RunOptions& options, const std::string& version, Action& action) {
  options.dashboard.version = version;
  CLI::App* run = app.add_subcommand("run", "Run the controllers of one replica against a hub");
  AddHubFlags(*run, options.hub);
  OneOf(run->add_option("--sharding-mode", options.sharding_mode,
                        "Evenkeel's own, or compatible with Argo CD (default: environment, coordinated unless Argo CD's "
                        "settings are given)"),
        {"coordinated", "compatible"});
  OneOf(run->add_option("--sharding-method", options.sharding_method,
                        "weighted (coordinated); the others are Argo CD's (compatible; default: environment, legacy)"),
        {"weighted", "legacy", "round-robin", "consistent-hashing"});
  run->add_flag("--dynamic-cluster-distribution-enabled", options.dynamic,
                "Compatible mode: shards are the replicas of the Deployment, claimed at run time");
  IsWhole(run->add_option("--max-moves-per-minute", options.moves_per_minute,
                          "Coordinated mode: moves for balance; others are at once"),
          0, 100000)
      ->capture_default_str();
  run->add_option("--metrics-address", options.metrics_address, "Where /healthz and /metrics are served")
      ->capture_default_str();
  IsWhole(run->add_option("--metrics-port", options.metrics_port, "Port of /healthz and /metrics; 0: any free one"), 0, 65535)
      ->capture_default_str();
  run->add_option("--quirks", options.quirks, "Behaviours of Argo CD to switch on, or off with no- (docs/COMPATIBILITY.md)")
      ->delimiter(',');
  run->add_flag("--in-cluster", options.in_cluster, "The hub itself takes part in the distribution, as in Argo CD");
  run->add_option("--exec-plugins", options.exec_plugins,
                  "Credential plugins that cluster Secrets may have run, names or paths; '': none (a kubeconfig may name any)")
      ->capture_default_str();
  run->add_flag("--balancer", options.balancer, "Move pods of the members that have a BalancingPolicy");
  run->add_flag("--zookeeper", options.zookeeper, "Run the servers of the members' ZooKeepers");
  AddRolloutRunFlags(*run, options.rollout);
  AddDashboardFlags(*run, options.dashboard);
  run->add_flag("--scheduler", options.scheduler, "Bind pods of the members that have schedulerName: evenkeel");
  OneOf(run->add_option("--print-definitions", options.print_definitions,
                        "Print the CustomResourceDefinitions of a hub or of a member, and end"),
        {"hub", "member"});
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

void AddStoreTools(CLI::App& server, StoreToolOptions& options, Action& action) {
  using Tool = base::Status (*)(const StoreToolOptions&, std::ostream&);
  const auto add = [&](const char* name, const char* help, Tool tool) {
    CLI::App* command = server.add_subcommand(name, help);
    AddOutputFlag(*command, options.output);
    command->callback([&options, &action, tool] { action = [&options, tool] { return tool(options, std::cout); }; });
    return command;
  };
  const auto add_store = [&](CLI::App& command) {
    IsFile(command.add_option("store", options.store, "Its SQLite store"))->required();
  };
  add_store(*add("verify", "Say whether a store is as it was written; also while it is served", VerifyStore));
  add_store(*add("repair", "Make a damaged store anew of what is whole in it, and keep the damaged one", RepairStore));
  CLI::App* backup = add("backup", "Copy a store, also while it is served", BackUpStore);
  add_store(*backup);
  IsFile(backup->add_option("backup", options.backup, "The copy, a file that does not exist"))->required();
  CLI::App* restore = add("restore", "Put a backup in a store's place; watchers list again", RestoreStore);
  IsFile(restore->add_option("backup", options.backup, "The backup"))->required();
  add_store(*restore);
  restore->add_flag("--overwrite", options.overwrite, "Remove the store that is there");
}

void AddApiServer(CLI::App& app, ApiServerOptions& options, StoreToolOptions& tools, Action& action) {
  CLI::App* server = app.add_subcommand("apiserver", "Serve the embedded Kubernetes API alone");
  server->add_option("--store", options.store, "Where its data is: sqlite:PATH, etcd://HOST:PORT,... or memory")
      ->capture_default_str();
  server->add_option("--address", options.address, "Where to listen")->capture_default_str();
  IsWhole(server->add_option("--port", options.port, "Port to listen on; 0: any free one"), 0, 65535)->capture_default_str();
  server
      ->add_option("--data-dir", options.data_dir, "Certificates, tokens and the kubeconfig (default $EVENKEEL_HOME/apiserver)")
      ->type_name(kDirectoryType);
  IsFile(server->add_option("--token-auth-file", options.token_file,
                            "More bearer tokens: token,user,uid,\"group1,group2\" per line"));
  IsFile(server->add_option(
      "--audit-log-path", options.audit_log,
      "Record every write here, one audit.k8s.io/v1 Event per line; - is standard output (default: nowhere)"));
  IsWhole(server->add_option("--audit-log-maxsize", options.audit_log_megabytes,
                             "Megabytes of the audit log before it is moved aside"),
          0, 1'000'000)
      ->capture_default_str();
  IsWhole(server->add_option("--audit-log-maxbackup", options.audit_log_backups, "Moved audit logs to keep; 0: all"), 0,
          1'000'000)
      ->capture_default_str();
  IsWhole(server->add_option("--threads", options.threads, "I/O threads"), 1, 256)->capture_default_str();
  AddStoreTools(*server, tools, action);
  // After that of a command below it, which has chosen then.
  server->callback([&, server] {
    if (server->get_subcommands().empty()) action = [&] { return RunApiServer(options); };
  });
}

void AddSimulate(CLI::App& app, SimulateOptions& options, Action& action) {
  CLI::App* simulate =
      app.add_subcommand("simulate", "Run a scenario of the simulator: faults from a seed, checkers that look on");
  IsFile(simulate->add_option("scenario", options.scenario, "A scenario (docs/SIMULATOR.md)"))->required();
  IsSeed(simulate->add_option("--seed", options.seed, "One seed (default 1)"));
  simulate->add_option("--seeds", options.seeds, "Many: A..B, or how many from 1 on; as many at once as there are cores");
  IsFile(simulate->add_option("--timeline", options.timeline, "Write what happened when to this CSV file; of one seed"));
  OneOf(simulate->add_option("--trace", options.trace, "Replay a trace with the autoscaler on"), {"openb"});
  simulate->add_option("--trace-dir", options.trace_dir, "The folder with the trace's files (default: as the scenario says)")
      ->type_name(kDirectoryType);
  AddReportFlag(*simulate, options.report, "the run");
  AddOutputFlag(*simulate, options.output);
  simulate->add_flag("--verbose", options.verbose, "The replicas' own log on standard error");
  simulate->callback([&] { action = [&] { return Simulate(options, std::cout); }; });
}

void AddSolve(CLI::App& app, SolveRoadefOptions& options, Action& action) {
  CLI::App* solve = app.add_subcommand("solve", "Run the placement solver by itself")->require_subcommand(1);
  CLI::App* roadef = solve->add_subcommand("roadef", "Instances of the ROADEF/EURO 2012 challenge (machine reassignment)");
  IsFile(roadef->add_option("-p,--model", options.model, "The model"))->required();
  IsFile(roadef->add_option("-i,--initial", options.initial, "Where the processes are at first"))->required();
  IsFile(roadef->add_option("-o,--output-file", options.output, "The file for the solution"));
  IsNumber(roadef->add_option("-t,--time", options.seconds, "Seconds, reading and writing included"), 0.1, 1e6)
      ->capture_default_str();
  IsSeed(roadef->add_option("-s,--seed", options.seed, "Seed of the search"))->capture_default_str();
  IsWhole(roadef->add_option("--evaluations", options.evaluations,
                             "Steps to look at, instead of a time: the same answer everywhere"),
          1, 1'000'000'000'000);
  IsWhole(roadef->add_option("--threads", options.threads, "Threads that search"), 1, 64)->capture_default_str();
  IsFile(roadef->add_option("--check", options.check, "Verify this solution instead"));
  roadef->callback([&] { action = [&] { return SolveRoadef(options, std::cout); }; });
}

void AddTop(CLI::App& app, TopOptions& options, Action& action) {
  CLI::App* top = app.add_subcommand("top", "Show clusters, nodes or shards of the fleet, live");
  OneOf(top->add_option("what", options.what, "What a row is"), {"clusters", "nodes", "shards"})->capture_default_str();
  AddHubFlags(*top, options.hub);
  top->add_option("--cluster", options.cluster, "Nodes of this member only (default: of all)")->type_name(kClusterType);
  top->add_option("--sort", options.sort, "The column to sort by (default: the first)");
  top->add_flag("--reverse", options.reverse, "The other way round");
  top->add_option("--filter", options.filter, "Only rows that contain this text, in any case");
  top->add_flag("!--no-color", options.colour, "No colours (also with $NO_COLOR)");
  top->add_flag("--once", options.once, "Print it once, as where there is no terminal");
  top->callback([&] { action = [&] { return Top(options, std::cout); }; });
}

void AddCompletion(CLI::App& app, std::string& shell, Action& action) {
  CLI::App* completion = app.add_subcommand("completion", "Print a script for a shell: source <(evenkeel completion bash)");
  OneOf(completion->add_option("shell", shell, "The shell"), {"bash", "zsh", "fish"})->required();
  completion->callback([&] {
    action = [&]() -> base::Status {
      EVENKEEL_ASSIGN(const std::string script, CompletionScript(shell));
      std::cout << script;
      return {};
    };
  });
}

void AddDocs(CLI::App& app, const std::string& version, std::string& page, Action& action) {
  CLI::App* docs = app.add_subcommand("docs", "Print the man page or a page of the reference, made from the program itself");
  OneOf(docs->add_option("page", page, "The page; man is roff, the others are Markdown"), ReferenceNames())->required();
  docs->callback([&app, version, &page, &action] {
    action = [&app, version, &page] { return PrintReference(page, Describe(app), version, std::cout); };
  });
}

}  // namespace

struct CommandTree::Parts {
  CLI::App app{"Evenkeel keeps a fleet of Kubernetes clusters on an even keel.", "evenkeel"};
  std::string log_level = "info";
  UpOptions up;
  RunOptions run;
  ApiServerOptions server;
  StoreToolOptions store_tools;
  ClustersOptions clusters;
  QuestionOptions questions;
  SimulateOptions simulate;
  SolveRoadefOptions solve;
  TopOptions top;
  std::string shell, page;
  HelpOptions help;
  Action action;
};

CommandTree::CommandTree(const std::string& version) : parts_(std::make_unique<Parts>()) {
  Parts& parts = *parts_;
  CLI::App& app = parts.app;
  app.set_version_flag("--version", "evenkeel " + version, "Print the version and end");
  app.set_help_flag("-h,--help", "Print help and end");
  app.set_help_all_flag("--help-all", "Print help with all flags and end");
  app.require_subcommand(1);
  OneOf(app.add_option("--log-level", parts.log_level, "How much to say on standard error"),
        {"trace", "debug", "info", "warn", "error", "off"})
      ->capture_default_str();
  app.fallthrough();
  AddUp(app, parts.up, version, parts.action);
  AddRun(app, parts.run, version, parts.action);
  AddApiServer(app, parts.server, parts.store_tools, parts.action);
  AddClusters(app, parts.clusters, parts.action);
  AddQuestions(app, parts.questions, parts.action);
  AddTop(app, parts.top, parts.action);
  AddSimulate(app, parts.simulate, parts.action);
  AddSolve(app, parts.solve, parts.action);
  AddCompletion(app, parts.shell, parts.action);
  AddDocs(app, version, parts.page, parts.action);
  AddHelp(app, version, parts.help, parts.action);
}

CommandTree::~CommandTree() = default;

const CLI::App& CommandTree::app() const { return parts_->app; }

int CommandTree::Run(int argc, const char* const* argv) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) words.emplace_back(argv[i]);
  // What is being completed is not yet a command line.
  if (!words.empty() && words.front() == "__complete") {
    PrintCompletion(
        Describe(app()), std::span(words).subspan(1),
        [](const auto& type, const auto& place) { return LiveNames(type, place); }, std::cout);
    std::cout.flush();
    // A question to a fleet may still be open; nobody waits for its answer.
    std::_Exit(0);
  }
  for (size_t i = 0; i < words.size(); ++i) {
    if (base::FindNotUtf8(words[i]) == std::string_view::npos) continue;
    std::cerr << "evenkeel: " << Printable(words[i]) << ": argument " << i + 1 << " is not UTF-8\n";
    return base::ExitStatus(base::Code::kBadRequest);
  }
  words = NameTypedFlags([this] { return Describe(app()); }, words);
  std::vector<const char*> named{argc > 0 ? argv[0] : "evenkeel"};
  for (const std::string& word : words) named.push_back(word.c_str());
  base::Status status = RunWords(static_cast<int>(named.size()), named.data(), words);
  if (status) status = FlushOutput(std::cout);
  if (status) return 0;
  // What a server says may be part of it, and that is neither one line for sure nor harmless.
  std::cerr << "evenkeel: " << Printable(status.error().message()) << '\n';
  return base::ExitStatus(status.error().code());
}

base::Status CommandTree::RunWords(int argc, const char* const* argv, const std::vector<std::string>& words) {
  CLI::App& app = parts_->app;
  const auto help = [&](bool all) {
    const CommandDescription root = Describe(app);
    std::cout << HelpText(root, CommandOf(root, words), all);
    return base::Status();
  };
  const auto wrong = [&](const CLI::ParseError& error, bool is_value) {
    const CommandDescription root = Describe(app);
    std::string mistake = FindMistake(root, words);
    if (mistake.empty() && !is_value) mistake = FindMissing(root, words);
    return base::Fail(base::Code::kBadRequest,
                      (mistake.empty() ? error.what() : mistake) + " (see " + CommandOf(root, words).path + " --help)");
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return help(false);
  } catch (const CLI::CallForAllHelp&) {
    return help(true);
  } catch (const CLI::CallForVersion& e) {
    std::cout << e.what() << '\n';
    return {};
  } catch (const CLI::ValidationError& e) {
    return wrong(e, true);
  } catch (const CLI::ParseError& e) {
    return wrong(e, false);
  }
  QuestionOptions& questions = parts_->questions;
  for (ReportOptions* report : {&parts_->simulate.report, &questions.plan_shards.report, &questions.scale.report,
                                &questions.balance.report, &questions.rollout.report}) {
    report->command = CommandText(argc, argv);
  }
  EVENKEEL_ASSIGN(const base::log::Level level, base::log::ParseLevel(parts_->log_level));
  EVENKEEL_TRY(base::log::Configure(level));
  return parts_->action();
}

}  // namespace evenkeel::cli
