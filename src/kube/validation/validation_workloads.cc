// Rules of the kinds that make pods, and of budgets for pods.
#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "kube/object.h"
#include "kube/validation/cron_schedule.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

const Json& EmptyJsonObject() {
  static const Json kEmpty = JsonObject();
  return kEmpty;
}

const Json& MemberOrEmpty(const Json& parent, std::string_view key) {
  const Json* value = Member(parent, key);
  return value == nullptr ? EmptyJsonObject() : *value;
}

bool IsEmptySelector(const Json& selector) {
  return Fields(selector, "matchLabels").empty() && List(selector, "matchExpressions").empty();
}

/// The template of a StatefulSet with the volumes that its pods get from claims.
Json WithClaims(const Json& pod_template, const base::JsonArray& claims) {
  Json complete = pod_template;
  Json& volumes = base::Ensure(complete, {"spec", "volumes"});
  if (!volumes.is_array()) volumes = base::JsonArray{};
  for (const Json& claim : claims) {
    const std::string_view name = Text(MemberOrEmpty(claim, "metadata"), "name");
    // It takes the place of a volume of the same name.
    const bool present =
        std::ranges::any_of(volumes.get_array(), [&](const Json& volume) { return Text(volume, "name") == name; });
    if (!present)
      volumes.get_array().push_back(JsonObject{{"name", name}, {"persistentVolumeClaim", JsonObject{{"claimName", name}}}});
  }
  return complete;
}

/// Pods that are made anew whenever they end.
void RunsAlways(const Json& pod, const std::string& kind, const FieldPath& path, Causes& causes) {
  const std::string_view restart = Text(pod, "restartPolicy");
  if (!restart.empty() && restart != "Always") {
    causes.push_back(UnsupportedText(path.Field("restartPolicy"), restart, {"Always"}));
  }
  if (Has(pod, "activeDeadlineSeconds")) {
    causes.push_back(
        ForbiddenValue(path.Field("activeDeadlineSeconds"), "activeDeadlineSeconds in " + kind + " is not Supported"));
  }
}

void SelectorAndTemplate(const Resource& resource, const Json& spec, const FieldPath& path, Causes& causes) {
  const FieldPath template_path = path.Field("template");
  const FieldPath metadata_path = template_path.Field("metadata");
  const FieldPath pod_path = template_path.Field("spec");
  const Json& pod_template = MemberOrEmpty(spec, "template");
  const Json* selector = Member(spec, "selector");
  if (selector == nullptr) {
    causes.push_back(RequiredValue(path.Field("selector")));
  } else if (IsEmptySelector(*selector)) {
    causes.push_back(
        InvalidValue(path.Field("selector"), *selector, "empty selector is invalid for " + base::Lower(resource.kind)));
  } else {
    LabelSelector(*selector, path.Field("selector"), causes);
    const JsonObject& labels = Fields(MemberOrEmpty(pod_template, "metadata"), "labels");
    if (!SelectorMatches(*selector, labels)) {
      causes.push_back(InvalidValue(metadata_path.Field("labels"), labels, "`selector` does not match template `labels`"));
    }
  }
  const base::JsonArray& claims = List(spec, "volumeClaimTemplates");
  const bool complete = claims.empty() || Member(pod_template, "spec") == nullptr;
  PodTemplate(complete ? pod_template : WithClaims(pod_template, claims), template_path, causes);
  RunsAlways(MemberOrEmpty(pod_template, "spec"), resource.kind == "Deployment" ? "ReplicaSet" : resource.kind, pod_path,
             causes);
}

/// The number in "25%" or 3; negative when it is neither.
int64_t CountOrPercent(const Json& value, bool& percent) {
  percent = false;
  if (value.is_int64()) return value.get_int64();
  if (!value.is_string()) return -1;
  std::string_view text = value.get_string();
  percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  if (!percent || text.empty() || text.size() > 9) return -1;
  int64_t number = 0;
  for (const char letter : text) {
    if (letter < '0' || letter > '9') return -1;
    number = number * 10 + (letter - '0');
  }
  return number;
}

int64_t CheckCountOrPercent(const Json& parent, std::string_view key, const FieldPath& path, bool bounded, Causes& causes) {
  const Json* value = Member(parent, key);
  if (value == nullptr) return 0;
  bool percent = false;
  const int64_t number = CountOrPercent(*value, percent);
  if (number < 0) {
    causes.push_back(InvalidValue(path.Field(key), *value,
                                  value->is_string()
                                      ? "a valid percent string must be a numeric string followed by an ending '%' (e.g. "
                                        "'1%',  or '93%', regex used for validation is '[0-9]+%')"
                                      : "must be greater than or equal to 0"));
  } else if (bounded && percent && number > 100) {
    causes.push_back(InvalidValue(path.Field(key), *value, "must not be greater than 100%"));
  }
  return number;
}

void Deployment(const Json& spec, const FieldPath& path, Causes& causes) {
  const Json& strategy = MemberOrEmpty(spec, "strategy");
  const FieldPath strategy_path = path.Field("strategy");
  const FieldPath rolling_path = strategy_path.Field("rollingUpdate");
  const Json* rolling = Member(strategy, "rollingUpdate");
  if (Text(strategy, "type") == "Recreate" && rolling != nullptr) {
    causes.push_back(ForbiddenValue(rolling_path, "may not be specified when strategy `type` is 'Recreate'"));
  } else if (rolling != nullptr) {
    const int64_t unavailable = CheckCountOrPercent(*rolling, "maxUnavailable", rolling_path, true, causes);
    const int64_t surge = CheckCountOrPercent(*rolling, "maxSurge", rolling_path, false, causes);
    if (unavailable == 0 && surge == 0) {
      causes.push_back(InvalidValue(rolling_path.Field("maxUnavailable"), MemberOrEmpty(*rolling, "maxUnavailable"),
                                    "may not be 0 when `maxSurge` is 0"));
    }
  }
  const Json* deadline = Member(spec, "progressDeadlineSeconds");
  if (deadline != nullptr && Number(spec, "progressDeadlineSeconds") <= Number(spec, "minReadySeconds")) {
    causes.push_back(InvalidValue(path.Field("progressDeadlineSeconds"), *deadline, "must be greater than minReadySeconds"));
  }
}

void StatefulSet(const Json& spec, const FieldPath& path, Causes& causes) {
  const Json& strategy = MemberOrEmpty(spec, "updateStrategy");
  const Json* rolling = Member(strategy, "rollingUpdate");
  if (rolling == nullptr || Text(strategy, "type") != "OnDelete") return;
  const FieldPath strategy_path = path.Field("updateStrategy");
  causes.push_back(
      InvalidValue(strategy_path.Field("rollingUpdate"), *rolling, "only allowed for updateStrategy 'RollingUpdate'"));
}

void DaemonSet(const Json& spec, const FieldPath& path, Causes& causes) {
  const FieldPath strategy_path = path.Field("updateStrategy");
  const FieldPath rolling_path = strategy_path.Field("rollingUpdate");
  const Json* rolling = Member(MemberOrEmpty(spec, "updateStrategy"), "rollingUpdate");
  if (rolling == nullptr) return;
  const int64_t unavailable = CheckCountOrPercent(*rolling, "maxUnavailable", rolling_path, true, causes);
  const int64_t surge = CheckCountOrPercent(*rolling, "maxSurge", rolling_path, true, causes);
  if (unavailable == 0 && surge == 0) {
    causes.push_back(RequiredValue(rolling_path.Field("maxUnavailable"), "cannot be 0 when maxSurge is 0"));
  } else if (unavailable > 0 && surge > 0) {
    causes.push_back(InvalidValue(rolling_path.Field("maxSurge"), MemberOrEmpty(*rolling, "maxSurge"),
                                  "may not be set when maxUnavailable is non-zero"));
  }
}

void Job(const Json& spec, const FieldPath& path, bool generated_selector, Causes& causes) {
  const FieldPath template_path = path.Field("template");
  const FieldPath metadata_path = template_path.Field("metadata");
  const FieldPath pod_path = template_path.Field("spec");
  const Json& pod_template = MemberOrEmpty(spec, "template");
  PodTemplate(pod_template, template_path, causes);
  const std::string_view restart = Text(MemberOrEmpty(pod_template, "spec"), "restartPolicy");
  if (restart != "OnFailure" && restart != "Never") {
    causes.push_back(RequiredValue(pod_path.Field("restartPolicy"), "valid values: \"OnFailure\", \"Never\""));
  }
  if (const Json* selector = Member(spec, "selector"); selector != nullptr && generated_selector) {
    LabelSelector(*selector, path.Field("selector"), causes);
    const JsonObject& labels = Fields(MemberOrEmpty(pod_template, "metadata"), "labels");
    if (!SelectorMatches(*selector, labels)) {
      causes.push_back(InvalidValue(metadata_path.Field("labels"), labels, "`selector` does not match template `labels`"));
    }
  }
  if (Text(spec, "completionMode") == "Indexed" && !Has(spec, "completions")) {
    causes.push_back(RequiredValue(path.Field("completions"), "when completion mode is Indexed"));
  }
}

/// Unless its author chooses them, a job's pods are those that have its uid.
void GeneratedSelector(const Json& object, const Json& spec, const FieldPath& path, Causes& causes) {
  const Json* selector = Member(spec, "selector");
  const std::string_view uid = Text(MemberOrEmpty(object, "metadata"), "uid");
  if (selector == nullptr || Flag(spec, "manualSelector") || uid.empty()) return;
  for (const char* label : {"batch.kubernetes.io/controller-uid", "controller-uid"}) {
    if (base::Equal(*selector, JsonObject{{"matchLabels", JsonObject{{label, uid}}}})) return;
  }
  causes.push_back(InvalidValue(path.Field("selector"), *selector, "`selector` not auto-generated"));
}

/// A name of the database of time zones looks like this; which names exist differs between machines.
bool LooksLikeTimeZone(std::string_view zone) {
  for (const char c : zone) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && std::string_view("/_+-").find(c) == std::string_view::npos)
      return false;
  }
  return !zone.starts_with('/') && !zone.ends_with('/') && zone.find("//") == std::string_view::npos;
}

void TimeZone(const Json& spec, const FieldPath& path, Causes& causes) {
  if (!Has(spec, "timeZone")) return;
  const std::string zone(Text(spec, "timeZone"));
  const auto refuse = [&](const std::string& why) { causes.push_back(InvalidText(path.Field("timeZone"), zone, why)); };
  if (zone.empty()) return refuse("timeZone must be nil or non-empty string");
  if (base::EqualIgnoringCase(zone, "local"))
    return refuse("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
  if (!LooksLikeTimeZone(zone)) refuse("unknown time zone " + zone);
}

void CronJob(const Json& spec, const FieldPath& path, Causes& causes) {
  const std::string schedule(Text(spec, "schedule"));
  const FieldPath here = path.Field("schedule");
  if (schedule.find("TZ") != std::string::npos) {
    causes.push_back(InvalidText(here, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
  } else if (const std::string wrong = CheckCronSchedule(schedule); !schedule.empty() && !wrong.empty()) {
    causes.push_back(InvalidText(here, schedule, wrong));
  }
  TimeZone(spec, path, causes);
  const FieldPath template_path = path.Field("jobTemplate");
  const Json& job = MemberOrEmpty(MemberOrEmpty(spec, "jobTemplate"), "spec");
  Job(job, template_path.Field("spec"), false, causes);
}

void Budget(const Json& spec, const FieldPath& path, Causes& causes) {
  if (Has(spec, "minAvailable") && Has(spec, "maxUnavailable")) {
    causes.push_back(InvalidValue(path, spec, "minAvailable and maxUnavailable cannot be both set"));
  }
  CheckCountOrPercent(spec, "minAvailable", path, true, causes);
  CheckCountOrPercent(spec, "maxUnavailable", path, true, causes);
  if (const Json* selector = Member(spec, "selector")) LabelSelector(*selector, path.Field("selector"), causes);
}

void ReplicationController(const Json& spec, const FieldPath& path, Causes& causes) {
  const Json& pod_template = MemberOrEmpty(spec, "template");
  const JsonObject& labels = Fields(MemberOrEmpty(pod_template, "metadata"), "labels");
  const FieldPath template_path = path.Field("template");
  const FieldPath metadata_path = template_path.Field("metadata");
  if (Fields(spec, "selector").empty()) causes.push_back(RequiredValue(path.Field("selector")));
  for (const auto& [key, value] : Fields(spec, "selector")) {
    const Json* label = labels.if_contains(key);
    if (label != nullptr && *label == value) continue;
    causes.push_back(InvalidValue(metadata_path.Field("labels"), labels, "`selector` does not match template `labels`"));
    break;
  }
  PodTemplate(pod_template, template_path, causes);
  RunsAlways(MemberOrEmpty(pod_template, "spec"), "ReplicationController", template_path.Field("spec"), causes);
}

}  // namespace

void Workload(const Resource& resource, const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json& spec = MemberOrEmpty(object, "spec");
  const std::string_view kind = resource.kind;
  if (resource.group == "apps" &&
      (kind == "Deployment" || kind == "ReplicaSet" || kind == "StatefulSet" || kind == "DaemonSet")) {
    SelectorAndTemplate(resource, spec, path, causes);
    if (kind == "Deployment") Deployment(spec, path, causes);
    if (kind == "DaemonSet") DaemonSet(spec, path, causes);
    if (kind == "StatefulSet") StatefulSet(spec, path, causes);
  } else if (resource.group == "batch" && kind == "Job") {
    Job(spec, path, true, causes);
    GeneratedSelector(object, spec, path, causes);
  } else if (resource.group == "batch" && kind == "CronJob") {
    CronJob(spec, path, causes);
    if (NameOf(object).size() > 52) {
      const FieldPath metadata_path = root.Field("metadata");
      causes.push_back(InvalidText(metadata_path.Field("name"), NameOf(object), "must be no more than 52 characters"));
    }
  } else if (resource.group == "policy" && kind == "PodDisruptionBudget") {
    Budget(spec, path, causes);
  } else if (resource.group.empty() && kind == "ReplicationController") {
    ReplicationController(spec, path, causes);
  } else if (resource.group.empty() && kind == "PodTemplate") {
    PodTemplate(MemberOrEmpty(object, "template"), root.Field("template"), causes);
  }
}

}  // namespace evenkeel::kube::validation
