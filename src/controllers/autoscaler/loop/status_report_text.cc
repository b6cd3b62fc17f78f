#include "base/input/yaml.h"
#include "controllers/autoscaler/loop/status_report.h"

namespace evenkeel::controllers::autoscaler {
namespace {

/// On one line, quoted where YAML needs it.
std::string Scalar(std::string_view text) {
  if (text.find('\n') != std::string_view::npos) {
    std::string quoted;
    base::AppendQuoted(quoted, text);
    return quoted;
  }
  std::string scalar = base::ToYaml(base::Json(text));
  if (scalar.ends_with('\n')) scalar.pop_back();
  return scalar;
}

/// Fields in the order in which they are given, which ToYaml would sort.
class Writer {
 public:
  void Field(int depth, std::string_view name, std::string_view value) { Line(depth, name, " " + Scalar(value)); }
  void Field(int depth, std::string_view name, int64_t value) { Line(depth, name, " " + std::to_string(value)); }
  /// A text that needs no quotes, although it begins as a date does.
  void Plain(std::string_view name, std::string_view value) { Line(0, name, " " + std::string(value)); }
  void Open(int depth, std::string_view name) { Line(depth, name, ""); }
  /// The next line begins an item of a list.
  void Item() { item_ = true; }
  std::string Take() { return std::move(text_); }

 private:
  void Line(int depth, std::string_view name, std::string_view rest) {
    std::string indent(static_cast<size_t>(depth) * 2, ' ');
    if (item_) indent.replace(indent.size() - 2, 2, "- ");
    item_ = false;
    text_ += indent;
    text_ += name;
    text_ += ':';
    text_ += rest;
    text_ += '\n';
  }

  std::string text_;
  bool item_ = false;
};

void WriteTimes(Writer& writer, int depth, const StatusReport::Condition& condition) {
  writer.Field(depth, "lastProbeTime", base::FormatTime(condition.probed));
  writer.Field(depth, "lastTransitionTime", base::FormatTime(condition.changed));
}

void WriteHealth(Writer& writer, int depth, const StatusReport::Health& health, bool group) {
  const StatusReport::Counts& counts = health.counts;
  writer.Open(depth, "health");
  writer.Field(depth + 1, "status", health.status);
  writer.Open(depth + 1, "nodeCounts");
  writer.Open(depth + 2, "registered");
  writer.Field(depth + 3, "total", counts.total);
  writer.Field(depth + 3, "ready", counts.ready);
  writer.Field(depth + 3, "notStarted", counts.not_started);
  writer.Field(depth + 3, "suspended", counts.suspended);
  if (counts.deleted != 0) writer.Field(depth + 3, "beingDeleted", counts.deleted);
  writer.Open(depth + 3, "unready");
  writer.Field(depth + 4, "total", counts.unready);
  writer.Field(depth + 4, "resourceUnready", counts.resource_unready);
  writer.Field(depth + 2, "longUnregistered", counts.long_unregistered);
  writer.Field(depth + 2, "unregistered", counts.unregistered);
  if (group) {
    writer.Field(depth + 1, "cloudProviderTarget", health.target);
    writer.Field(depth + 1, "minSize", health.min);
    writer.Field(depth + 1, "maxSize", health.max);
  }
  WriteTimes(writer, depth + 1, health);
}

void WriteScaleUp(Writer& writer, int depth, const StatusReport::ScaleUp& scale_up) {
  writer.Open(depth, "scaleUp");
  writer.Field(depth + 1, "status", scale_up.status);
  if (scale_up.status == "Backoff") {
    writer.Open(depth + 1, "backoffInfo");
    writer.Field(depth + 2, "errorCode", scale_up.error_code);
    writer.Field(depth + 2, "errorMessage", scale_up.error_message);
  }
  WriteTimes(writer, depth + 1, scale_up);
}

void WriteScaleDown(Writer& writer, int depth, const StatusReport::ScaleDown& scale_down) {
  writer.Open(depth, "scaleDown");
  writer.Field(depth + 1, "status", scale_down.status);
  if (scale_down.candidates != 0) writer.Field(depth + 1, "candidates", scale_down.candidates);
  WriteTimes(writer, depth + 1, scale_down);
}

std::string TextCondition(std::string_view label, const StatusReport::Condition& condition, const std::string& details) {
  std::string text = "  " + std::string(label);
  text.resize(15, ' ');
  const std::string indent(15, ' ');
  return text + condition.status + " (" + details + ")\n" + indent +
         "LastProbeTime:      " + FormatStatusTime(condition.probed) + "\n" + indent +
         "LastTransitionTime: " + FormatStatusTime(condition.changed) + "\n";
}

std::string TextCounts(const StatusReport::Counts& counts) {
  return fmt::format(
      "ready={} unready={} (resourceUnready={}) notStarted={} longNotStarted=0 registered={} longUnregistered={}", counts.ready,
      counts.unready, counts.resource_unready, counts.not_started, counts.total, counts.long_unregistered);
}

void WriteNotices(Writer& writer, const std::vector<StatusReport::Notice>& notices) {
  if (!notices.empty()) writer.Open(0, "leftAlone");
  for (const StatusReport::Notice& notice : notices) {
    writer.Item();
    writer.Field(1, "type", notice.type);
    if (!notice.name.empty()) writer.Field(1, "name", notice.name);
    writer.Field(1, "message", notice.message);
    writer.Field(1, "lastTransitionTime", base::FormatTime(notice.changed));
  }
}

}  // namespace

std::string StatusReport::ToYaml() const {
  Writer writer;
  writer.Plain("time", FormatStatusTime(time));
  writer.Field(0, "autoscalerStatus", autoscaler_status);
  if (!message.empty()) writer.Field(0, "message", message);
  if (!running) {
    WriteNotices(writer, notices);
    return writer.Take();
  }
  writer.Open(0, "clusterWide");
  WriteHealth(writer, 1, health, false);
  WriteScaleUp(writer, 1, scale_up);
  WriteScaleDown(writer, 1, scale_down);
  if (!groups.empty()) writer.Open(0, "nodeGroups");
  for (const Group& group : groups) {
    writer.Item();
    writer.Field(1, "name", group.name);
    WriteHealth(writer, 1, group.health, true);
    WriteScaleUp(writer, 1, group.scale_up);
    WriteScaleDown(writer, 1, group.scale_down);
  }
  WriteNotices(writer, notices);
  return writer.Take();
}

std::string StatusReport::Body(Compat compat, size_t bytes) const {
  std::string body = Body(compat);
  StatusReport shorter = *this;
  for (size_t kept = groups.size(); body.size() > bytes && kept > 0; body = shorter.Body(compat)) {
    kept = std::min(kept - 1, kept * bytes / body.size());
    const auto calm = [](const Group& group) {
      return group.health.status == "Healthy" && group.scale_up.status == "NoActivity" && group.scale_down.candidates == 0;
    };
    shorter.groups = groups;
    std::ranges::stable_partition(shorter.groups, std::not_fn(calm));
    shorter.groups.resize(kept);
    std::ranges::sort(shorter.groups, {}, &Group::name);
    shorter.message = fmt::format("{}{} of {} node groups are left out: they have no room here", message, groups.size() - kept,
                                  groups.size());
  }
  return body;
}

std::string StatusReport::ToText() const {
  std::string text = "Cluster-autoscaler status at " + FormatStatusTime(time) + ":\n";
  if (!running) return text + (message.empty() ? autoscaler_status : message) + "\n";
  if (!message.empty()) text += message + "\n";
  text += "Cluster-wide:\n";
  text += TextCondition("Health:", health, TextCounts(health.counts));
  text += TextCondition("ScaleUp:", scale_up, fmt::format("ready={} registered={}", health.counts.ready, health.counts.total));
  text += TextCondition("ScaleDown:", scale_down, fmt::format("candidates={}", scale_down.candidates));
  if (groups.empty()) return text;
  text += "\nNodeGroups:\n";
  for (const Group& group : groups) {
    text += "  Name:        " + group.name + "\n";
    text += TextCondition("Health:", group.health,
                          fmt::format("{} cloudProviderTarget={} (minSize={}, maxSize={})", TextCounts(group.health.counts),
                                      group.health.target, group.health.min, group.health.max));
    text += TextCondition("ScaleUp:", group.scale_up,
                          fmt::format("ready={} cloudProviderTarget={}", group.health.counts.ready, group.health.target));
    text += TextCondition("ScaleDown:", group.scale_down, fmt::format("candidates={}", group.scale_down.candidates));
    text += "\n";
  }
  return text;
}

}  // namespace evenkeel::controllers::autoscaler
