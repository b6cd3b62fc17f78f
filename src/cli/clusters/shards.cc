#include "cli/clusters/shards.h"

#include "base/log.h"
#include "cli/clusters/hub_members.h"
#include "cli/clusters/plan_report.h"
#include "cli/clusters/watch.h"
#include "cli/terminal/input_file.h"
#include "cli/terminal/printable.h"
#include "client/http/http_client.h"
#include "controllers/autoscaler/options/flags.h"
#include "controllers/distribution/distributor/fleet_view.h"
#include "kube/manifest.h"

namespace evenkeel::cli {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;
namespace distribution = controllers::distribution;

/// How long a member is waited for that is only asked for a few lines.
constexpr base::Duration kExplainTimeout = std::chrono::seconds(5);

bool IsWeighted(const ShardsOptions& options) { return options.method == distribution::kWeightedMethod; }

/// Argo CD's method that is asked for; none: weighted, or whatever the fleet has.
base::Result<std::optional<distribution::Method>> MethodOf(const ShardsOptions& options) {
  if (!options.mode.empty()) {
    EVENKEEL_ASSIGN(const distribution::Mode mode, distribution::ParseMode(options.mode));
    EVENKEEL_TRY(distribution::CheckMethod(mode, options.method));
  }
  if (options.method.empty() || IsWeighted(options)) return std::nullopt;
  EVENKEEL_ASSIGN(const distribution::Method method, distribution::ParseMethod(options.method));
  return method;
}

base::Result<distribution::FleetView> ReadLiveFleet(client::Client& hub, const ShardsOptions& options) {
  EVENKEEL_ASSIGN(const auto method, MethodOf(options));
  distribution::Options settings;
  settings.ns = options.hub.ns;
  if (!options.hub.controller_name.empty()) settings.controller_name = options.hub.controller_name;
  settings.in_cluster = options.in_cluster;
  EVENKEEL_TRY(distribution::ApplyQuirks(options.quirks, settings.quirks));
  std::optional<distribution::Mode> mode;
  if (!options.mode.empty()) {
    EVENKEEL_ASSIGN(mode, distribution::ParseMode(options.mode));
  } else if (method) {
    mode = distribution::Mode::kCompatible;
  }
  auto fleet = distribution::ReadFleet(hub, std::move(settings), mode, method, base::SystemClock().Now());
  // What has neither plan nor replicas may be another API than the one that is meant.
  if (!fleet && fleet.error().code() == base::Code::kNotFound) EVENKEEL_TRY(CheckIsHub(hub, options.hub));
  return fleet;
}

base::Result<distribution::FleetView> ReadLiveFleet(const ShardsOptions& options) {
  EVENKEEL_ASSIGN(const auto hub, ConnectToHub(options.hub));
  return ReadLiveFleet(*hub, options);
}

/// Findings are for people: on standard error, so that the plan on standard output stays readable for programs.
void PrintFindings(const std::vector<distribution::Finding>& findings) {
  for (const distribution::Finding& finding : findings) {
    PrintWarning(finding.object + ": " + finding.reason + ": " + finding.message);
  }
}

void PrintPlan(std::ostream& out, const distribution::ShardPlan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& item : plan.assignments) rows.push_back({item.cluster, item.server, item.id, std::to_string(item.shard)});
  PrintTable(out, {"CLUSTER", "SERVER", "ID", "SHARD"}, rows);
  out << '\n';
  rows.clear();
  for (const auto& item : plan.shards)
    rows.push_back({std::to_string(item.shard), std::to_string(item.clusters), std::to_string(item.weight)});
  PrintTable(out, {"SHARD", "CLUSTERS", "WEIGHT"}, rows);
  if (plan.moves.empty()) return;
  out << '\n';
  rows.clear();
  for (const auto& item : plan.moves) rows.push_back({item.cluster, std::to_string(item.from), std::to_string(item.to)});
  PrintTable(out, {"MOVES", "FROM", "TO"}, rows);
}

std::string MethodText(const distribution::FleetView& fleet) {
  if (fleet.options.mode == distribution::Mode::kCoordinated) return std::string(distribution::kWeightedMethod);
  return std::string(distribution::MethodName(fleet.options.method));
}

std::string TextOr(const std::string& text, const char* otherwise) { return text.empty() ? otherwise : text; }

std::string AgeText(const std::optional<base::Duration>& age) { return age ? base::HumanDuration(*age) : "-"; }

bool IsPending(const distribution::FleetView::Row& row) { return row.owner != row.planned && !row.skip_reconcile; }

std::string PendingText(const distribution::FleetView::Row& row) {
  if (!IsPending(row)) return "-";
  return (row.owner.empty() ? "<none>" : row.owner) + " -> " + (row.planned.empty() ? "<none>" : row.planned);
}

/// What is known of the member itself.
std::string StatusText(const distribution::FleetView::Row& row) {
  if (row.unknown_since) return "unknown since " + base::FormatTime(*row.unknown_since);
  return row.owner.empty() ? "-" : "ok";
}

Json RowToJson(const distribution::FleetView::Row& row, bool coordinated) {
  JsonObject object{{"cluster", row.cluster}, {"server", row.server}, {"id", row.id},
                    {"source", row.source},   {"shard", row.shard},   {"owner", row.owner}};
  if (row.heartbeat_age)
    object["heartbeatAgeSeconds"] = std::chrono::duration_cast<std::chrono::seconds>(*row.heartbeat_age).count();
  if (row.skip_reconcile) object["skipReconcile"] = true;
  if (!coordinated) return object;
  object["weight"] = row.weight;
  object["epoch"] = row.epoch;
  object["standby"] = row.standby;
  if (row.since) object["since"] = base::FormatTime(*row.since);
  if (IsPending(row)) object["pendingMove"] = JsonObject{{"from", row.owner}, {"to", row.planned}};
  if (!row.detail.empty()) object["detail"] = row.detail;
  if (row.unknown_since) object["unknownSince"] = base::FormatTime(*row.unknown_since);
  if (!row.api.empty()) object["api"] = row.api;
  return object;
}

Json ShardsToJson(const distribution::FleetView& fleet, bool coordinated) {
  JsonArray rows;
  for (const auto& row : fleet.rows) rows.push_back(RowToJson(row, coordinated));
  JsonObject object{{"mode", distribution::ModeName(fleet.options.mode)},
                    {"method", MethodText(fleet)},
                    {"replicas", fleet.plan.replicas},
                    {"clusters", std::move(rows)}};
  if (coordinated) {
    const distribution::PublishedPlan& plan = fleet.published;
    object["epoch"] = plan.epoch;
    object["leader"] = plan.leader;
    object["imbalance"] = plan.imbalance;
    object["hot"] = base::ToJsonArray(plan.hot);
    object["waitingMoves"] = plan.waiting;
  }
  return object;
}

Shown ShowShards(const distribution::FleetView& fleet) {
  const bool coordinated = fleet.options.mode == distribution::Mode::kCoordinated;
  const base::Time now = base::SystemClock().Now();
  Shown shown;
  shown.json = ShardsToJson(fleet, coordinated);
  shown.clocks = {"heartbeatAgeSeconds"};
  shown.kind = "cluster";
  shown.items = "clusters";
  if (coordinated) {
    shown.header = {"CLUSTER",      "OWNER",  "SINCE",   "WEIGHT", "SHARD",  "EPOCH", "HEARTBEAT",
                    "PENDING MOVE", "STATUS", "STANDBY", "DETAIL", "SERVER", "ID"};
    shown.passing = {2, 6};
    shown.wide = 4;
  } else {
    shown.header = {"CLUSTER", "SHARD", "OWNER", "HEARTBEAT", "SERVER", "ID", "SOURCE"};
    shown.passing = {3};
    shown.wide = 2;
  }
  for (const auto& row : fleet.rows) {
    shown.names.push_back(row.cluster);
    const std::string owner = row.owner.empty() ? "<none>" : row.owner;
    const std::string shard = std::to_string(row.shard);
    if (coordinated) {
      shown.rows.push_back({row.cluster, owner, row.since ? base::HumanDuration(now - *row.since) : "-",
                            std::to_string(row.weight), shard, std::to_string(row.epoch), AgeText(row.heartbeat_age),
                            PendingText(row), StatusText(row), TextOr(row.standby, "-"), TextOr(row.detail, "-"), row.server,
                            row.id});
    } else {
      shown.rows.push_back({row.cluster, shard, owner, AgeText(row.heartbeat_age), row.server, row.id, row.source});
    }
  }
  return shown;
}

/// What the hub says of a cluster's autoscaler, and what that says in the cluster.
struct AutoscalerWord {
  std::string args;
  std::vector<std::string> left_alone;
  std::string unreadable;  ///< why the cluster could not be asked
};

/// Of the ConfigMap that a member's autoscaler keeps; none without an autoscaler.
base::Result<std::vector<std::string>> ReadLeftAlone(const client::ConnectionConfig& connection,
                                                     const controllers::autoscaler::Options& options) {
  client::HttpClientOptions looking;
  looking.request_timeout = looking.connect_timeout = kExplainTimeout;
  EVENKEEL_ASSIGN(const auto member, client::NewHttpClient(connection, looking));
  const auto status = member->Get(kube::resources::ConfigMaps(), options.ns, options.status_config_map_name);
  std::vector<std::string> lines;
  if (!status && status.error().code() == base::Code::kNotFound) return lines;
  if (!status) return base::Fail(status.error());
  const std::string_view text = base::FindString(*status, {"data", "explanation"});
  if (text.empty()) return lines;
  EVENKEEL_ASSIGN(const Json told, base::ParseJson(text, "ConfigMap " + options.status_config_map_name));
  for (const Json& left : base::FindArray(told, {"leftAlone"})) {
    const std::string_view name = base::FindString(left, {"name"});
    lines.push_back((name.empty() ? "" : "node group " + std::string(name) + ": ") +
                    std::string(base::FindString(left, {"message"})));
  }
  return lines;
}

AutoscalerWord AskAutoscaler(const distribution::FleetView& fleet, const std::string& server) {
  AutoscalerWord word;
  const auto cluster = std::ranges::find(fleet.input.clusters, server, &distribution::Cluster::server);
  if (cluster == fleet.input.clusters.end()) return word;
  word.args = cluster->autoscaler_args;
  const auto applied = controllers::autoscaler::ApplyMemberFlags({}, word.args);
  base::Result<std::vector<std::string>> lines = base::Fail(base::Code::kUnavailable, "");
  if (!applied) {
    lines = base::Fail(applied.error().Wrap("annotation " + std::string(distribution::kAutoscalerArgsAnnotation)));
  } else if (!cluster->connection) {
    lines = base::Fail(cluster->connection.error());
  } else {
    lines = ReadLeftAlone(*cluster->connection, applied->options);
  }
  if (!lines) {
    word.unreadable = lines.error().message();
    return word;
  }
  word.left_alone = *std::move(lines);
  return word;
}

}  // namespace

base::Status PlanShards(const PlanShardsOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.common.output));
  EVENKEEL_TRY(CheckReport(options.report));
  EVENKEEL_ASSIGN(const auto method, MethodOf(options.common));
  distribution::Quirks quirks;
  EVENKEEL_TRY(distribution::ApplyQuirks(options.common.quirks, quirks));
  if (options.replicas && (*options.replicas < 1 || *options.replicas > distribution::kReplicasMax)) {
    return base::Fail(base::Code::kBadRequest, "--replicas " + std::to_string(*options.replicas) +
                                                   ": give a number from 1 to " + std::to_string(distribution::kReplicasMax));
  }
  // How the clusters are shared now, for the moves and for the report.
  Json current = JsonObject{}, now = JsonObject{};
  if (!options.current.empty()) {
    EVENKEEL_ASSIGN(const std::string text, ReadInputFile(options.current, "--current"));
    EVENKEEL_ASSIGN(current, base::ParseJson(text, options.current));
  }
  bool weighted = IsWeighted(options.common);
  std::vector<int64_t> shards;
  std::vector<distribution::Finding> findings;
  distribution::ShardPlanInput input;
  distribution::ShardingOptions sharding{.method = method.value_or(distribution::Method::kLegacy),
                                         .replicas = options.replicas.value_or(1),
                                         .negative_shard_orphans = quirks.negative_shard_orphans,
                                         .vnode_collisions = quirks.vnode_collisions};
  if (options.files.empty()) {
    EVENKEEL_ASSIGN(auto fleet, ReadLiveFleet(options.common));
    input = std::move(fleet.input);
    sharding.method = fleet.options.method;
    weighted = weighted || (!method && fleet.options.mode == distribution::Mode::kCoordinated);
    now = distribution::ToJson(fleet.plan);
    if (weighted && options.current.empty()) current = now;
    if (!options.replicas) {
      sharding.replicas = fleet.plan.replicas;
      for (const auto& shard : fleet.published.shards) shards.push_back(shard.shard);
    }
  } else {
    if (!options.replicas) return base::Fail(base::Code::kBadRequest, "plan shards: --replicas is required with -f");
    EVENKEEL_ASSIGN(auto manifests, ReadManifestFiles(options.files));
    std::vector<Json> objects;
    for (kube::ManifestObject& manifest : manifests) objects.push_back(std::move(manifest.object));
    input = distribution::ReadShardPlanInput(objects, options.common.in_cluster, quirks.applications_by_bare_name, findings);
  }
  if (shards.empty()) {
    for (int64_t shard = 0; shard < sharding.replicas; ++shard) shards.push_back(shard);
  }
  const distribution::ShardPlan plan = weighted ? distribution::PlanWeightedShards(input, shards, current, findings)
                                                : distribution::PlanShards(input, sharding, current, findings);
  PrintFindings(findings);
  if (!options.report.file.empty()) {
    const Json& before = options.current.empty() ? now : current;
    EVENKEEL_TRY(WriteReport(options.report, ShardsReport(distribution::ToJson(plan), before), base::SystemClock().Now()));
  }
  if (format == Format::kTable) {
    PrintPlan(out, plan);
  } else {
    PrintValue(out, format, distribution::ToJson(plan));
  }
  return {};
}

base::Status GetShards(const ShardsOptions& options, std::ostream& out) {
  if (options.get.watch) {
    const auto question = [&options](client::Client& hub) -> base::Result<Shown> {
      EVENKEEL_ASSIGN(const auto fleet, ReadLiveFleet(hub, options));
      return ShowShards(fleet);
    };
    return WatchLive(options.hub, options.get, question, out);
  }
  EVENKEEL_ASSIGN(const GetOutput output, GetOutput::Parse(options.get.output));
  EVENKEEL_ASSIGN(const auto fleet, ReadLiveFleet(options));
  PrintFindings(fleet.findings);
  if (!fleet.claims_error.empty()) PrintWarning("claims: " + fleet.claims_error);
  EVENKEEL_ASSIGN(const Shown shown, output.Arrange(ShowShards(fleet), options.get.names, true));
  return output.Print(out, shown);
}

base::Status ExplainCluster(const ShardsOptions& options, const std::string& name, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  EVENKEEL_ASSIGN(const auto fleet, ReadLiveFleet(options));
  EVENKEEL_ASSIGN(const auto explanation, distribution::ExplainCluster(fleet, name));
  const auto& row = explanation.row;
  const AutoscalerWord autoscaler = AskAutoscaler(fleet, row.server);
  if (format != Format::kTable) {
    JsonObject object = RowToJson(row, fleet.options.mode == distribution::Mode::kCoordinated).as_object();
    if (!autoscaler.args.empty()) object["autoscalerArgs"] = autoscaler.args;
    if (!autoscaler.left_alone.empty()) object["leftAlone"] = base::ToJsonArray(autoscaler.left_alone);
    if (!autoscaler.unreadable.empty()) object["unreadable"] = autoscaler.unreadable;
    object["why"] = base::ToJsonArray(explanation.why);
    object["wouldMove"] = base::ToJsonArray(explanation.would_move);
    PrintValue(out, format, object);
    return {};
  }
  out << "Cluster:    " << Printable(row.cluster + " (" + row.server + ")") << "\n"
      << "Source:     " << Printable(row.source) << "\n"
      << "Shard:      " << row.shard << " of " << fleet.plan.replicas << " (" << MethodText(fleet) << ")\n"
      << "Owner:      " << (row.owner.empty() ? "<none>" : Printable(row.owner)) << ", heartbeat " << AgeText(row.heartbeat_age)
      << " ago\n"
      << "Why:\n";
  for (const std::string& line : explanation.why) out << "  - " << Printable(line) << '\n';
  out << "It would move when:\n";
  for (const std::string& line : explanation.would_move) out << "  - " << Printable(line) << '\n';
  if (!autoscaler.args.empty()) out << "Autoscaler: " << Printable(autoscaler.args) << '\n';
  if (!autoscaler.left_alone.empty()) out << "Its autoscaler leaves alone:\n";
  for (const std::string& line : autoscaler.left_alone) out << "  - " << Printable(line) << '\n';
  if (!autoscaler.unreadable.empty()) {
    out << "What its autoscaler leaves alone cannot be read: " << Printable(autoscaler.unreadable) << '\n';
  }
  return {};
}

}  // namespace evenkeel::cli
