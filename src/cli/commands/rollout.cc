#include "cli/commands/rollout.h"

#include "cli/clusters/hub_members.h"
#include "cli/clusters/plan_report.h"
#include "cli/clusters/watch.h"
#include "cli/terminal/input_file.h"
#include "cli/terminal/output.h"
#include "cli/terminal/printable.h"
#include "controllers/rollout/budget.h"
#include "controllers/rollout/zookeeper/hub/rollout_objects.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "kube/manifest.h"
#include "kube/object.h"

namespace evenkeel::cli {
namespace {

using base::FindString;
using base::Json;
namespace zookeeper = controllers::rollout::zookeeper;

/// "deploying", "completed" or "pending": where the last record has the cluster.
std::string PlaceOf(const Json& status, std::string_view cluster) {
  const base::JsonArray& records = base::FindArray(status, {"records"});
  if (records.empty()) return "-";
  for (const char* place : {"deploying", "completed", "pending"}) {
    for (const Json& name : base::FindArray(records.back(), {"currentState", place})) {
      if (name.is_string() && name.get_string() == cluster) return place;
    }
  }
  return "-";
}

/// What is known of the cluster itself.
std::string StatusOf(const Json& cluster) {
  const std::string_view since = FindString(cluster, {"unknownSince"});
  return since.empty() ? "ok" : "unknown since " + std::string(since);
}

void PrintRollout(std::ostream& out, const Json& plan) {
  const Json& status = plan.at("status");
  out << Printable(std::string(FindString(plan, {"reason"})) + ": " + std::string(FindString(plan, {"message"}))) << '\n';
  std::vector<std::vector<std::string>> rows;
  for (const Json& cluster : base::FindArray(status, {"clusters"})) {
    const std::string name(FindString(cluster, {"name"}));
    rows.push_back({name, PlaceOf(status, name), std::to_string(base::FindInt(cluster, {"replicas"})),
                    std::string(FindString(cluster, {"revision"}, "-")), StatusOf(cluster)});
  }
  if (!rows.empty()) {
    out << '\n';
    PrintTable(out, {"CLUSTER", "STATE", "SERVERS", "REVISION", "STATUS"}, rows);
  }
  rows.clear();
  for (const Json& object : base::FindArray(plan, {"apply"})) {
    rows.push_back({"apply", std::string(FindString(object, {"kind"})), std::string(kube::NameOf(object))});
  }
  for (const Json& object : base::FindArray(plan, {"delete"})) {
    rows.push_back({"delete", std::string(FindString(object, {"kind"})), std::string(FindString(object, {"name"}))});
  }
  if (rows.empty()) return;
  out << '\n';
  PrintTable(out, {"THEN", "KIND", "NAME"}, rows);
}

base::Result<std::vector<Json>> ReadLiveEnsembles(client::Client& hub, const GetRolloutsOptions& options) {
  auto page = client::ListAll(hub, zookeeper::MultiClusterZooKeepers(), {.ns = options.hub.ns});
  if (!page && page.error().code() == base::Code::kNotFound) {
    HubOptions asked = options.hub;
    asked.ns = HubOptions().ns;
    EVENKEEL_TRY(CheckIsHub(hub, asked));
    return base::Fail(
        page.error().Wrap(hub.Describe() + " knows no MultiClusterZooKeepers: run evenkeel run --rollout --install"));
  }
  if (!page) return base::Fail(page.error().Wrap("list MultiClusterZooKeepers of " + hub.Describe()));
  return std::move(page->items);
}

base::Result<std::vector<Json>> ReadEnsembles(const GetRolloutsOptions& options) {
  std::vector<Json> ensembles;
  if (options.files.empty()) {
    EVENKEEL_ASSIGN(const auto hub, ConnectToHub(options.hub));
    return ReadLiveEnsembles(*hub, options);
  }
  EVENKEEL_ASSIGN(const std::vector<kube::ManifestObject> objects, ReadManifestFiles(options.files));
  for (const kube::ManifestObject& object : objects) {
    const bool wanted = FindString(object.object, {"kind"}) == zookeeper::MultiClusterZooKeepers().kind;
    const bool here = options.hub.ns.empty() || kube::NamespaceOf(object.object) == options.hub.ns;
    if (wanted && here) ensembles.push_back(Json(object.object, {}));
  }
  return ensembles;
}

Json RolloutOf(const Json& ensemble) {
  static const Json kNone = base::JsonObject{};
  const Json* given = base::Find(ensemble, {"status"});
  const Json& status = given == nullptr ? kNone : *given;
  const base::JsonArray& records = base::FindArray(status, {"records"});
  base::JsonArray clusters;
  for (const Json& cluster : base::FindArray(status, {"clusters"})) {
    const std::string name(FindString(cluster, {"name"}));
    base::JsonObject entry{{"cluster", name},
                           {"track", PlaceOf(status, name)},
                           {"servers", base::FindInt(cluster, {"replicas"})},
                           {"revision", FindString(cluster, {"revision"}, "-")}};
    if (const Json* since = base::Find(cluster, {"unknownSince"})) entry["unknownSince"] = *since;
    clusters.push_back(std::move(entry));
  }
  // What stops it, if anything does; otherwise what it waits for.
  const Json* degraded = kube::FindCondition(ensemble, "Degraded");
  const bool stopped = degraded != nullptr && FindString(*degraded, {"status"}) == "True";
  const Json* condition = stopped ? degraded : kube::FindCondition(ensemble, "Progressing");
  const int64_t voters = base::FindInt(status, {"replicas"}), ready = base::FindInt(status, {"readyReplicas"});
  const int64_t majority = controllers::rollout::Majority(voters);
  const Json* leader = base::Find(status, {"leader"});
  return base::JsonObject{{"ensemble", kube::KeyOf(ensemble)},
                          {"phase", FindString(status, {"phase"}, "Pending")},
                          {"voters", voters},
                          {"ready", ready},
                          {"majority", majority},
                          {"margin", ready - majority},
                          {"leader", leader == nullptr ? Json() : *leader},
                          {"reason", condition == nullptr ? "" : FindString(*condition, {"reason"})},
                          {"message", condition == nullptr ? "" : FindString(*condition, {"message"})},
                          {"records", static_cast<int64_t>(records.size())},
                          {"record", records.empty() ? Json() : records.back()},
                          {"clusters", std::move(clusters)}};
}

base::JsonArray RolloutsOf(const std::vector<Json>& ensembles) {
  base::JsonArray rollouts;
  for (const Json& ensemble : ensembles) rollouts.push_back(RolloutOf(ensemble));
  return rollouts;
}

/// "east=completed,west=unknown"
std::string TracksOf(const Json& rollout) {
  std::string tracks;
  for (const Json& cluster : base::FindArray(rollout, {"clusters"})) {
    tracks += (tracks.empty() ? "" : ",") + std::string(FindString(cluster, {"cluster"})) + "=" +
              (base::Find(cluster, {"unknownSince"}) == nullptr ? std::string(FindString(cluster, {"track"})) : "unknown");
  }
  return tracks.empty() ? "-" : tracks;
}

/// A row per ensemble. Clusters have a table of their own, but not for who watches.
Shown ShowRollouts(base::JsonArray rollouts, bool watch) {
  Shown shown;
  shown.kind = "rollout";
  shown.items = "rollouts";
  shown.header = {"ENSEMBLE", "PHASE", "RECORDS", "VOTERS", "READY", "MARGIN", "LEADER", "REASON", "CLUSTERS", "MESSAGE"};
  shown.wide = watch ? 1 : 2;
  for (const Json& rollout : rollouts) {
    const auto number = [&](const char* field) { return std::to_string(base::FindInt(rollout, {field})); };
    shown.names.emplace_back(FindString(rollout, {"ensemble"}));
    shown.rows.push_back({shown.names.back(), std::string(FindString(rollout, {"phase"})), number("records"), number("voters"),
                          number("ready"), number("margin"), std::string(FindString(rollout, {"leader", "cluster"}, "-")),
                          std::string(FindString(rollout, {"reason"})), TracksOf(rollout),
                          std::string(FindString(rollout, {"message"}))});
  }
  shown.json = base::JsonObject{{"rollouts", std::move(rollouts)}};
  return shown;
}

void PrintTracks(std::ostream& out, const Json& shown) {
  std::vector<std::vector<std::string>> clusters;
  for (const Json& rollout : base::FindArray(shown, {"rollouts"})) {
    const std::string ensemble(FindString(rollout, {"ensemble"}));
    for (const Json& cluster : base::FindArray(rollout, {"clusters"})) {
      clusters.push_back({ensemble, std::string(FindString(cluster, {"cluster"})), std::string(FindString(cluster, {"track"})),
                          std::to_string(base::FindInt(cluster, {"servers"})), std::string(FindString(cluster, {"revision"})),
                          StatusOf(cluster)});
    }
  }
  if (clusters.empty()) return;
  out << '\n';
  PrintTable(out, {"ENSEMBLE", "CLUSTER", "TRACK", "SERVERS", "REVISION", "STATUS"}, clusters);
}

}  // namespace

base::Status GetRollouts(const GetRolloutsOptions& options, std::ostream& out) {
  if (options.get.watch) {
    if (!options.files.empty()) return base::Fail(base::Code::kBadRequest, "--watch goes with a live hub, not with -f");
    const auto question = [&options](client::Client& hub) -> base::Result<Shown> {
      EVENKEEL_ASSIGN(const std::vector<Json> ensembles, ReadLiveEnsembles(hub, options));
      return ShowRollouts(RolloutsOf(ensembles), true);
    };
    return WatchLive(options.hub, options.get, question, out);
  }
  EVENKEEL_ASSIGN(const GetOutput output, GetOutput::Parse(options.get.output));
  EVENKEEL_ASSIGN(const std::vector<Json> ensembles, ReadEnsembles(options));
  EVENKEEL_ASSIGN(const Shown shown, output.Arrange(ShowRollouts(RolloutsOf(ensembles), false), options.get.names, true));
  EVENKEEL_TRY(output.Print(out, shown));
  if (output.IsTable()) PrintTracks(out, shown.json);
  return {};
}

base::Status PlanRollout(const RolloutOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  EVENKEEL_TRY(CheckReport(options.report));
  if (options.files.empty()) {
    return base::Fail(base::Code::kBadRequest, "plan rollout: name the files with the objects by -f; - is standard input");
  }
  base::Time now = base::SystemClock().Now();
  if (!options.now.empty()) {
    const auto given = base::ParseTime(options.now);
    if (!given) return base::Fail(given.error().Wrap("--now"));
    now = *given;
  }
  EVENKEEL_ASSIGN(const std::vector<kube::ManifestObject> objects, ReadManifestFiles(options.files));
  EVENKEEL_ASSIGN(const zookeeper::PlanInput input, zookeeper::PickObjects(objects, now));
  EVENKEEL_ASSIGN(const zookeeper::Plan plan, zookeeper::PlanRollout(input));
  for (const std::string& warning : plan.warnings) PrintWarning(warning);
  if (!options.report.file.empty()) {
    EVENKEEL_TRY(WriteReport(options.report, RolloutReport(plan.ToJson()), base::SystemClock().Now()));
  }
  format == Format::kTable ? PrintRollout(out, plan.ToJson()) : PrintValue(out, format, plan.ToJson());
  return {};
}

}  // namespace evenkeel::cli
