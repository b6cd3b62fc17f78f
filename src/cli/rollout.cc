#include "cli/rollout.h"

#include <iostream>

#include "cli/output.h"
#include "controllers/rollout/zookeeper/rollout_objects.h"
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

void PrintRollout(std::ostream& out, const Json& plan) {
  const Json& status = plan.at("status");
  out << FindString(plan, {"reason"}) << ": " << FindString(plan, {"message"}) << '\n';
  std::vector<std::vector<std::string>> rows;
  for (const Json& cluster : base::FindArray(status, {"clusters"})) {
    const std::string name(FindString(cluster, {"name"}));
    rows.push_back({name, PlaceOf(status, name), std::to_string(base::FindInt(cluster, {"replicas"})),
                    std::string(FindString(cluster, {"revision"}, "-"))});
  }
  if (!rows.empty()) {
    out << '\n';
    PrintTable(out, {"CLUSTER", "STATE", "SERVERS", "REVISION"}, rows);
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

}  // namespace

base::Status PlanRollout(const RolloutOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  if (options.files.empty()) {
    return base::Fail(base::Code::kBadRequest, "plan rollout: name the files with the objects by -f; - is standard input");
  }
  base::Time now = base::SystemClock().Now();
  if (!options.now.empty()) {
    const auto given = base::ParseTime(options.now);
    if (!given) return base::Fail(given.error().Wrap("--now"));
    now = *given;
  }
  EVENKEEL_ASSIGN(const std::vector<kube::ManifestObject> objects, kube::ReadManifests(options.files));
  EVENKEEL_ASSIGN(const zookeeper::PlanInput input, zookeeper::PickObjects(objects, now));
  EVENKEEL_ASSIGN(const zookeeper::Plan plan, zookeeper::PlanRollout(input));
  for (const std::string& warning : plan.warnings) std::cerr << "evenkeel: warning: " << warning << '\n';
  format == Format::kTable ? PrintRollout(out, plan.ToJson()) : PrintValue(out, format, plan.ToJson());
  return {};
}

}  // namespace evenkeel::cli
