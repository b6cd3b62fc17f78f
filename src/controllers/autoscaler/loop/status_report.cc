#include "controllers/autoscaler/loop/status_report.h"

#include "base/hash.h"
#include "controllers/autoscaler/facts/state_fields.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonObject;

constexpr std::string_view kTruncated = "<truncated>";
constexpr size_t kErrorMessageMax = 500;

StatusReport::Counts CountsOf(const Readiness& readiness) {
  return {readiness.registered,
          readiness.ready,
          static_cast<int64_t>(readiness.not_started.size()),
          readiness.suspended,
          readiness.deleted,
          readiness.unready,
          readiness.resource_unready,
          readiness.long_unregistered,
          readiness.unregistered};
}

const char* Candidates(int64_t count) { return count > 0 ? "CandidatesPresent" : "NoCandidates"; }

}  // namespace

std::string FormatStatusTime(base::Time time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  std::string text = base::FormatTime(seconds);  // 2024-12-15T01:13:04Z
  text[10] = ' ';
  text.pop_back();
  if (const auto nanos = (time - seconds).count(); nanos != 0) {
    std::string fraction = std::to_string(nanos);
    fraction.insert(0, 9 - fraction.size(), '0');
    while (fraction.back() == '0') fraction.pop_back();
    text += "." + fraction;
  }
  return text + " +0000 UTC";
}

std::string Truncate(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  const std::string_view suffix = bytes >= kTruncated.size() ? kTruncated : std::string_view();
  size_t kept = bytes - suffix.size();
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xc0) == 0x80) --kept;
  return std::string(text.substr(0, kept)) + std::string(suffix);
}

StatusReport::Condition StatusReporter::Note(const std::string& key, std::string status, base::Time probed) {
  const auto before = transitions_.find(key);
  const bool same = before != transitions_.end() && before->second.status == status;
  const base::Time since = same ? before->second.since : probed;
  next_[key] = {status, since};
  return {std::move(status), probed, since};
}

StatusReport::Group StatusReporter::ReportGroup(const providers::NodeGroup& group, const ClusterState& state,
                                                const ScaleDownCandidates& candidates, const LoopTime& now) {
  StatusReport::Group report;
  report.name = group.id;
  const std::string key = "group/" + group.id + "/";
  const GroupState* known = state.Find(group.id);
  const bool healthy = state.IsGroupHealthy(group.id);
  static_cast<StatusReport::Condition&>(report.health) = Note(key + "health", healthy ? "Healthy" : "Unhealthy", now.Read());
  if (known != nullptr) {
    report.health.counts = CountsOf(known->readiness);
    report.health.target = known->range.target;
  }
  report.health.min = group.min_size;
  report.health.max = group.max_size;

  const Backoff::Entry* backoff = state.backoff().Find(group.id, now);
  const bool growing = state.IsScalingUp(group.id);
  const char* status = growing ? "InProgress" : !healthy ? "Unhealthy" : backoff != nullptr ? "Backoff" : "NoActivity";
  static_cast<StatusReport::Condition&>(report.scale_up) = Note(key + "scaleUp", status, now.Read());
  if (!growing && healthy && backoff != nullptr) {
    report.scale_up.error_code = backoff->error.code;
    report.scale_up.error_message = Truncate(backoff->error.message, kErrorMessageMax);
  }
  const auto found = candidates.by_group.find(group.id);
  report.scale_down.candidates = found == candidates.by_group.end() ? 0 : found->second;
  static_cast<StatusReport::Condition&>(report.scale_down) =
      Note(key + "scaleDown", Candidates(report.scale_down.candidates), candidates.at);
  return report;
}

StatusReport StatusReporter::Report(const ClusterView& view, const ClusterState& state, const ScaleDownCandidates& candidates,
                                    std::span<const LeftAlone> left_alone) {
  StatusReport report;
  report.time = view.now.Read();
  bool growing = false;
  int64_t total = 0;
  for (const providers::NodeGroup& group : view.groups.groups) {
    report.groups.push_back(ReportGroup(group, state, candidates, view.now));
    growing |= report.groups.back().scale_up.status == "InProgress";
  }
  for (const auto& [group, count] : candidates.by_group) total += count;
  static_cast<StatusReport::Condition&>(report.health) =
      Note("cluster/health", state.IsClusterHealthy() ? "Healthy" : "Unhealthy", view.now.Read());
  report.health.counts = CountsOf(state.total());
  static_cast<StatusReport::Condition&>(report.scale_up) =
      Note("cluster/scaleUp", growing ? "InProgress" : "NoActivity", view.now.Read());
  static_cast<StatusReport::Condition&>(report.scale_down) = Note("cluster/scaleDown", Candidates(total), candidates.at);
  report.scale_down.candidates = total;
  for (const LeftAlone& left : left_alone) {
    // Of one type and name there may be several, and messages are long.
    const std::string key = "leftAlone/" + std::to_string(base::Fnv1a64(left.type + "/" + left.name + "/" + left.message));
    const StatusReport::Condition noted = Note(key, "True", view.now.Read());
    report.notices.push_back({left, noted.changed});
  }
  transitions_ = std::move(next_);
  next_.clear();
  return report;
}

StatusReport StatusReporter::Initializing(std::string message, std::span<const LeftAlone> left_alone, base::Time now) const {
  StatusReport report;
  report.time = now;
  report.autoscaler_status = "Initializing";
  report.message = std::move(message);
  report.running = false;
  for (const LeftAlone& left : left_alone) report.notices.push_back({left, now});
  return report;
}

Json StatusReporter::ToJson() const {
  JsonObject all;
  for (const auto& [key, transition] : transitions_) {
    all[key] = JsonObject{{"status", transition.status}, {"since", base::FormatMicroTime(transition.since)}};
  }
  return all;
}

base::Result<StatusReporter> StatusReporter::FromJson(const Json& json) {
  StatusReporter reporter;
  const base::Field conditions(&json, "state", "status");
  EVENKEEL_TRY(conditions.IsObject());
  EVENKEEL_TRY(conditions.ForEachMember([&](std::string_view key, const base::Field& field) -> base::Status {
    Transition& transition = reporter.transitions_[std::string(key)];
    EVENKEEL_TRY(field["status"].Text(transition.status));
    return ReadTime(field["since"], transition.since);
  }));
  return reporter;
}

}  // namespace evenkeel::controllers::autoscaler
