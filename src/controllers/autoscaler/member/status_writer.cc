#include "controllers/autoscaler/member/status_writer.h"

#include "controllers/autoscaler/member/state_store.h"

namespace evenkeel::controllers::autoscaler {
namespace {

constexpr base::Duration kAtLeast = std::chrono::minutes(1);
/// A ConfigMap holds 1 MiB, and the explanation needs its share.
constexpr size_t kStatusMax = 768 * 1024;
constexpr base::Duration kExplainedGap = std::chrono::seconds(10);
constexpr const char* kExplanationKey = "explanation";

/// The report without when it was made.
StatusReport Timeless(StatusReport report) {
  report.time = {};
  for (StatusReport::Condition* condition :
       {static_cast<StatusReport::Condition*>(&report.health), static_cast<StatusReport::Condition*>(&report.scale_up),
        static_cast<StatusReport::Condition*>(&report.scale_down)}) {
    condition->probed = {};
  }
  for (StatusReport::Group& group : report.groups) group.health.probed = group.scale_up.probed = group.scale_down.probed = {};
  return report;
}

}  // namespace

base::Status StatusWriter::Write(const StatusReport& report, const base::Json& explanation) {
  std::string timeless = Timeless(report).Body(options_.compat);
  std::string explained = explanation.is_null() ? "" : base::CanonicalText(explanation);
  const base::Duration pause = explained == explained_ ? kAtLeast : kExplainedGap;
  if (timeless == written_ && at_ && report.time - *at_ < pause) return {};
  EVENKEEL_TRY(EditConfigMap(client_, options_.ns, options_.status_config_map_name, [&](base::Json& object) {
    base::Json& data = base::Ensure(object, {"data"});
    if (!data.is_object()) data = base::JsonObject{};
    data.as_object()["status"] = report.Body(options_.compat, kStatusMax);
    data.as_object().erase(kExplanationKey);
    if (!explained.empty()) data.as_object()[kExplanationKey] = explained;
    base::Json& annotations = base::Ensure(object, {"metadata", "annotations"});
    if (!annotations.is_object()) annotations = base::JsonObject{};
    annotations.as_object()[kLastUpdatedAnnotation] = FormatStatusTime(report.time);
    return true;
  }));
  written_ = std::move(timeless);
  explained_ = std::move(explained);
  at_ = report.time;
  return {};
}

base::Status StatusWriter::WriteExplanation(const base::Json& explanation, base::Time now) {
  std::string explained = base::CanonicalText(explanation);
  if (explained == explained_ || (at_ && now - *at_ < kExplainedGap)) return {};
  EVENKEEL_TRY(EditConfigMap(client_, options_.ns, options_.status_config_map_name, [&](base::Json& object) {
    base::Json& data = base::Ensure(object, {"data"});
    if (!data.is_object()) data = base::JsonObject{};
    data.as_object()[kExplanationKey] = explained;
    return true;
  }));
  written_.clear();
  explained_ = std::move(explained);
  at_ = now;
  return {};
}

}  // namespace evenkeel::controllers::autoscaler
