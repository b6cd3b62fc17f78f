#include "balancing/model/settings.h"

#include "balancing/model/messages.h"
#include "balancing/model/settings_table.h"
#include "base/text.h"

namespace evenkeel::balancing {
namespace {

template <typename T>
const T* FindIn(const Group<T>& group, std::string_view key) {
  const auto found = group.find(key);
  return found == group.end() ? nullptr : &found->second;
}

// Section and name together find a row; a group's name is that of its section.
using RowIndex = std::map<std::pair<std::string_view, std::string_view>, const SettingsRow*>;

const RowIndex& Rows() {
  static const RowIndex kRows = [] {
    RowIndex index;
    for (const SettingsRow& row : SettingsRows()) index[{row.parameter.section, row.parameter.name}] = &row;
    return index;
  }();
  return kRows;
}

const SettingsRow* FindRow(std::string_view section, std::string_view name) {
  const auto found = Rows().find({section, name});
  return found == Rows().end() ? nullptr : found->second;
}

/// `what` names the parameter, where something is wrong with it.
base::Result<std::string> Set(const SettingsRow& row, Settings& settings, const auto& what, const SettingsKey& key,
                              std::string_view value) {
  auto warning = row.set(settings, key, base::Trimmed(value));
  if (!warning) return base::Fail(warning.error().Wrap(what()));
  if (!warning->empty()) return what() + ": " + *warning;
  return std::string();
}

}  // namespace

bool PerNodeType(const Settings& settings) {
  return settings.separate_balancing_strategy_per_node_type && settings.subclustering_enabled;
}

PhaseIntervals IntervalsOf(const Settings& settings) {
  const Settings defaults;
  PhaseIntervals intervals;
  intervals.placement = settings.min_placement_interval;
  intervals.constraint_check = settings.min_constraint_check_interval;
  intervals.balancing = settings.min_load_balancing_interval.value_or(intervals.balancing);
  const bool old_way = settings.plb_refresh_interval != defaults.plb_refresh_interval &&
                       settings.min_placement_interval == defaults.min_placement_interval &&
                       intervals.balancing == PhaseIntervals().balancing;
  if (old_way) intervals.placement = intervals.balancing = settings.plb_refresh_interval;
  return intervals;
}

double BalancingThreshold(const Settings& settings, std::string_view metric) {
  const double* own = FindIn(settings.metric_balancing_thresholds, metric);
  return own != nullptr ? *own : 1;
}

int64_t ActivityThreshold(const Settings& settings, std::string_view metric) {
  const int64_t* own = FindIn(settings.metric_activity_thresholds, metric);
  return own != nullptr ? *own : 0;
}

double BalancingThreshold(const Settings& settings, std::string_view metric, std::string_view node_type) {
  const NodeTypeOverrides* overrides = FindIn(settings.node_types, node_type);
  const double* own = overrides != nullptr ? FindIn(overrides->balancing_thresholds, metric) : nullptr;
  return own != nullptr ? *own : BalancingThreshold(settings, metric);
}

int64_t ActivityThreshold(const Settings& settings, std::string_view metric, std::string_view node_type) {
  const NodeTypeOverrides* overrides = FindIn(settings.node_types, node_type);
  const int64_t* own = overrides != nullptr ? FindIn(overrides->activity_thresholds, metric) : nullptr;
  return own != nullptr ? *own : ActivityThreshold(settings, metric);
}

double MinLoadBalancingInterval(const Settings& settings, std::string_view node_type) {
  const NodeTypeOverrides* overrides = FindIn(settings.node_types, node_type);
  if (overrides != nullptr && overrides->min_load_balancing_interval) {
    return static_cast<double>(*overrides->min_load_balancing_interval);
  }
  return settings.min_load_balancing_interval.value_or(0);
}

double ComparedRatio(const Settings& settings, BalancingMode mode, int64_t max, int64_t min) {
  const bool whole = settings.comparison == Comparison::kDescribed && mode == BalancingMode::kNodeType;
  const int64_t times = max / min;
  return whole ? static_cast<double>(times) : static_cast<double>(max) / static_cast<double>(min);
}

bool ExceedsThreshold(const Settings& settings, BalancingMode mode, double ratio, double threshold) {
  const bool per_mode = settings.comparison == Comparison::kDescribed || settings.comparison == Comparison::kPerMode;
  const bool inclusive = settings.comparison == Comparison::kInclusive || (per_mode && mode == BalancingMode::kNodeType);
  return inclusive ? ratio >= threshold : ratio > threshold;
}

std::string_view Name(Visibility visibility) {
  switch (visibility) {
    case Visibility::kPublic:
      return "public";
    case Visibility::kInternal:
      return "internal";
    case Visibility::kTest:
      return "test";
    case Visibility::kDeprecated:
      return "deprecated";
    case Visibility::kOurs:
      return "Evenkeel's own";
  }
  return "public";
}

const std::vector<SettingsRow>& SettingsRows() {
  static const std::vector<SettingsRow> kRows = [] {
    SettingsTable table;
    AddPhaseSettings(table);
    AddTriggerSettings(table);
    AddNodeTypeSettings(table);
    AddDefragmentationSettings(table);
    AddSearchSettings(table);
    AddThrottleSettings(table);
    AddConstraintSettings(table);
    AddReportSettings(table);
    return table.Take();
  }();
  return kRows;
}

const std::vector<Parameter>& Parameters() {
  static const std::vector<Parameter> kParameters = [] {
    std::vector<Parameter> parameters;
    for (const SettingsRow& row : SettingsRows()) parameters.push_back(row.parameter);
    return parameters;
  }();
  return kParameters;
}

bool KnowsSection(std::string_view section) {
  const auto next = Rows().lower_bound({section, std::string_view()});
  return next != Rows().end() && next->first.first == section && section != kOverridesSection;
}

base::Result<std::string> SetParameter(Settings& settings, std::string_view section, std::string_view name,
                                       std::string_view value) {
  const auto what = [&] { return OneLine(section) + "/" + OneLine(name); };
  if (const SettingsRow* group = FindRow(section, section); group != nullptr && !group->parameter.per_node_type) {
    if (name.empty()) return base::Fail(base::Code::kBadRequest, what() + ": the name of a metric or node type is missing");
    return Set(*group, settings, what, {.node_type = {}, .name = name}, value);
  }
  const SettingsRow* row = FindRow(section, name);
  if (row != nullptr && row->parameter.key == ParameterKey::kNone) return Set(*row, settings, what, {}, value);
  std::vector<std::string_view> names;
  for (const SettingsRow& known : SettingsRows()) {
    const Parameter& parameter = known.parameter;
    if (parameter.per_node_type) continue;
    if (parameter.section == section && parameter.key == ParameterKey::kNone) names.push_back(parameter.name);
  }
  if (!names.empty()) return what() + ": there is no such parameter; it is left out" + NearestNameHint(name, names);
  for (const SettingsRow& known : SettingsRows()) {
    if (!known.parameter.per_node_type) names.push_back(known.parameter.section);
  }
  const std::string_view nearest = NearestName(section, names);
  // Other sections belong to other subsystems; only what nearly is one of ours is worth a word.
  if (nearest.empty() || EditDistance(section, nearest) > 3) return std::string();
  return what() + ": there is no such section; it is left out; did you mean " + std::string(nearest) + "?";
}

base::Result<std::string> SetNodeTypeParameter(Settings& settings, std::string_view node_type, std::string_view group,
                                               std::string_view metric, std::string_view value) {
  const auto what = [&] {
    return "node type " + OneLine(node_type) + ": " + OneLine(group) + (metric.empty() ? "" : "/" + OneLine(metric));
  };
  const SettingsRow* row = FindRow(kOverridesSection, group);
  if (row == nullptr) {
    std::vector<std::string_view> names;
    for (const SettingsRow& known : SettingsRows()) {
      if (known.parameter.per_node_type) names.push_back(known.parameter.name);
    }
    return what() + ": there is no such override; it is left out" + NearestNameHint(group, names);
  }
  if (metric.empty() != (row->parameter.key == ParameterKey::kNone)) {
    return base::Fail(base::Code::kBadRequest,
                      what() + (metric.empty() ? ": the name of the metric is missing" : ": is one number for all metrics"));
  }
  return Set(*row, settings, what, {.node_type = node_type, .name = metric}, value);
}

}  // namespace evenkeel::balancing
