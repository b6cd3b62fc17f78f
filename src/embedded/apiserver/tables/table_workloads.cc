// Rows of pods and of the kinds that make them.
#include "embedded/apiserver/tables/table_columns.h"
#include "kube/selector.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;
using base::JsonArray;

Json Number(const Json& object, std::initializer_list<std::string_view> path) { return base::FindInt(object, path); }

JsonArray PodCells(const Json& pod, base::Time now) {
  const PodSummary summary = SummaryOf(pod);
  std::string restart_text = std::to_string(summary.restarts);
  if (summary.restarts > 0 && summary.last_restart) {
    restart_text += " (" + base::HumanDuration(now - *summary.last_restart) + " ago)";
  }
  size_t gates = 0, gates_passed = 0;
  for (const Json& gate : base::FindArray(pod, {"spec", "readinessGates"})) {
    ++gates;
    for (const Json& condition : base::FindArray(pod, {"status", "conditions"})) {
      if (base::FindString(condition, {"type"}) == base::FindString(gate, {"conditionType"}) &&
          base::FindString(condition, {"status"}) == "True") {
        ++gates_passed;
      }
    }
  }
  return {NameCell(pod),
          Json(std::to_string(summary.ready) + "/" + std::to_string(summary.total)),
          Json(summary.status),
          Json(restart_text),
          AgeCell(pod, now),
          Json(Or(base::FindString(pod, {"status", "podIP"}), kNone)),
          Json(Or(base::FindString(pod, {"spec", "nodeName"}), kNone)),
          Json(Or(base::FindString(pod, {"status", "nominatedNodeName"}), kNone)),
          Json(gates == 0 ? std::string(kNone) : std::to_string(gates_passed) + "/" + std::to_string(gates))};
}

JsonArray DeploymentCells(const Json& object, base::Time now) {
  const Json& spec =
      base::Find(object, {"spec", "template", "spec"}) != nullptr ? *base::Find(object, {"spec", "template", "spec"}) : object;
  return {NameCell(object),
          Json(std::to_string(base::FindInt(object, {"status", "readyReplicas"})) + "/" +
               std::to_string(base::FindInt(object, {"spec", "replicas"}, 1))),
          Number(object, {"status", "updatedReplicas"}),
          Number(object, {"status", "availableReplicas"}),
          AgeCell(object, now),
          Json(ContainersText(spec, "name")),
          Json(ContainersText(spec, "image")),
          Json(SelectorText(base::Find(object, {"spec", "selector"})))};
}

JsonArray ReplicaSetCells(const Json& object, base::Time now) {
  const Json& spec =
      base::Find(object, {"spec", "template", "spec"}) != nullptr ? *base::Find(object, {"spec", "template", "spec"}) : object;
  return {NameCell(object),
          Number(object, {"spec", "replicas"}),
          Number(object, {"status", "replicas"}),
          Number(object, {"status", "readyReplicas"}),
          AgeCell(object, now),
          Json(ContainersText(spec, "name")),
          Json(ContainersText(spec, "image")),
          Json(SelectorText(base::Find(object, {"spec", "selector"})))};
}

JsonArray StatefulSetCells(const Json& object, base::Time now) {
  const Json& spec =
      base::Find(object, {"spec", "template", "spec"}) != nullptr ? *base::Find(object, {"spec", "template", "spec"}) : object;
  return {NameCell(object),
          Json(std::to_string(base::FindInt(object, {"status", "readyReplicas"})) + "/" +
               std::to_string(base::FindInt(object, {"spec", "replicas"}, 1))),
          AgeCell(object, now), Json(ContainersText(spec, "name")), Json(ContainersText(spec, "image"))};
}

JsonArray DaemonSetCells(const Json& object, base::Time now) {
  const Json& spec =
      base::Find(object, {"spec", "template", "spec"}) != nullptr ? *base::Find(object, {"spec", "template", "spec"}) : object;
  return {NameCell(object),
          Number(object, {"status", "desiredNumberScheduled"}),
          Number(object, {"status", "currentNumberScheduled"}),
          Number(object, {"status", "numberReady"}),
          Number(object, {"status", "updatedNumberScheduled"}),
          Number(object, {"status", "numberAvailable"}),
          Json(LabelsText(spec, {"nodeSelector"})),
          AgeCell(object, now),
          Json(ContainersText(spec, "name")),
          Json(ContainersText(spec, "image")),
          Json(SelectorText(base::Find(object, {"spec", "selector"})))};
}

std::string JobStatus(const Json& job) {
  const auto is_true = [&](std::string_view type) {
    for (const Json& condition : base::FindArray(job, {"status", "conditions"})) {
      if (base::FindString(condition, {"type"}) == type && base::FindString(condition, {"status"}) == "True") return true;
    }
    return false;
  };
  if (is_true("Complete")) return "Complete";
  if (is_true("Failed")) return "Failed";
  if (base::Find(job, {"metadata", "deletionTimestamp"}) != nullptr) return "Terminating";
  if (is_true("Suspended")) return "Suspended";
  if (is_true("FailureTarget")) return "FailureTarget";
  return "Running";
}

JsonArray JobCells(const Json& job, base::Time now) {
  const Json& spec =
      base::Find(job, {"spec", "template", "spec"}) != nullptr ? *base::Find(job, {"spec", "template", "spec"}) : job;
  const Json* wanted = base::Find(job, {"spec", "completions"});
  const std::string succeeded = std::to_string(base::FindInt(job, {"status", "succeeded"}));
  std::string completions;
  if (wanted != nullptr && wanted->is_number()) {
    completions = succeeded + "/" + base::ToText(*wanted);
  } else {
    const int64_t parallel = base::FindInt(job, {"spec", "parallelism"}, 1);
    completions = succeeded + "/1" + (parallel > 1 ? " of " + std::to_string(parallel) : "");
  }
  std::string duration;
  const auto started = base::ParseTime(base::FindString(job, {"status", "startTime"}));
  const auto finished = base::ParseTime(base::FindString(job, {"status", "completionTime"}));
  if (started) duration = base::HumanDuration((finished ? *finished : now) - *started);
  return {NameCell(job),
          Json(JobStatus(job)),
          Json(completions),
          Json(duration),
          AgeCell(job, now),
          Json(ContainersText(spec, "name")),
          Json(ContainersText(spec, "image")),
          Json(SelectorText(base::Find(job, {"spec", "selector"})))};
}

JsonArray CronJobCells(const Json& object, base::Time now) {
  const Json* template_spec = base::Find(object, {"spec", "jobTemplate", "spec", "template", "spec"});
  const Json& spec = template_spec != nullptr ? *template_spec : object;
  const bool ran = !base::FindString(object, {"status", "lastScheduleTime"}).empty();
  return {NameCell(object),
          Json(base::FindString(object, {"spec", "schedule"})),
          Json(Or(base::FindString(object, {"spec", "timeZone"}), kNone)),
          Json(base::FindBool(object, {"spec", "suspend"}) ? "True" : "False"),
          Json(static_cast<int64_t>(base::FindArray(object, {"status", "active"}).size())),
          Json(ran ? AgeText(object, {"status", "lastScheduleTime"}, now) : std::string(kNone)),
          AgeCell(object, now),
          Json(ContainersText(spec, "name")),
          Json(ContainersText(spec, "image")),
          Json(SelectorText(base::Find(object, {"spec", "jobTemplate", "spec", "selector"})))};
}

JsonArray PodTemplateCells(const Json& object, base::Time) {
  const Json* spec = base::Find(object, {"template", "spec"});
  return {NameCell(object), Json(ContainersText(spec == nullptr ? object : *spec, "name")),
          Json(ContainersText(spec == nullptr ? object : *spec, "image")),
          Json(LabelsText(object, {"template", "metadata", "labels"}))};
}

JsonArray ReplicationControllerCells(const Json& object, base::Time now) {
  JsonArray cells = ReplicaSetCells(object, now);
  cells.back() = LabelsText(object, {"spec", "selector"});
  return cells;
}

}  // namespace

std::string SelectorText(const Json* selector) {
  if (selector == nullptr) return std::string(kNone);
  const auto parsed = kube::LabelSelector::FromJson(*selector);
  const std::string text = parsed ? parsed->ToString() : "";
  return Or(text, kNone);
}

std::string ContainersText(const Json& pod_spec, std::string_view field) {
  std::string text;
  for (const Json& container : base::FindArray(pod_spec, {"containers"})) {
    text += (text.empty() ? "" : ",") + std::string(base::FindString(container, {field}));
  }
  return text;
}

void AddWorkloadTables(TableMap& tables) {
  const auto text = TextColumn;
  const auto number = IntegerColumn;
  tables["/pods"] = {{NameColumn(), text("Ready", 0), text("Status", 0), text("Restarts", 0), AgeColumn(), text("IP", 1),
                      text("Node", 1), text("Nominated Node", 1), text("Readiness Gates", 1)},
                     PodCells};
  tables["apps/deployments"] = {{NameColumn(), text("Ready", 0), text("Up-to-date", 0), text("Available", 0), AgeColumn(),
                                 text("Containers", 1), text("Images", 1), text("Selector", 1)},
                                DeploymentCells};
  tables["apps/replicasets"] = {{NameColumn(), number("Desired", 0), number("Current", 0), number("Ready", 0), AgeColumn(),
                                 text("Containers", 1), text("Images", 1), text("Selector", 1)},
                                ReplicaSetCells};
  tables["/replicationcontrollers"] = {tables["apps/replicasets"].columns, ReplicationControllerCells};
  tables["/podtemplates"] = {{NameColumn(), text("Containers", 0), text("Images", 0), text("Pod Labels", 0)}, PodTemplateCells};
  tables["apps/statefulsets"] = {{NameColumn(), text("Ready", 0), AgeColumn(), text("Containers", 1), text("Images", 1)},
                                 StatefulSetCells};
  tables["apps/daemonsets"] = {{NameColumn(), number("Desired", 0), number("Current", 0), number("Ready", 0),
                                number("Up-to-date", 0), number("Available", 0), text("Node Selector", 0), AgeColumn(),
                                text("Containers", 1), text("Images", 1), text("Selector", 1)},
                               DaemonSetCells};
  tables["batch/jobs"] = {{NameColumn(), text("Status", 0), text("Completions", 0), text("Duration", 0), AgeColumn(),
                           text("Containers", 1), text("Images", 1), text("Selector", 1)},
                          JobCells};
  tables["batch/cronjobs"] = {
      {NameColumn(), text("Schedule", 0), text("Timezone", 0), BooleanColumn("Suspend"), number("Active", 0),
       text("Last Schedule", 0), AgeColumn(), text("Containers", 1), text("Images", 1), text("Selector", 1)},
      CronJobCells};
}

}  // namespace evenkeel::embedded::apiserver
