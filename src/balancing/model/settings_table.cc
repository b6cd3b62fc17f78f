#include "balancing/model/settings_table.h"

#include <charconv>
#include <cmath>

#include "balancing/model/messages.h"

namespace evenkeel::balancing {
namespace {

std::unexpected<base::Error> Wrong(std::string_view text, const std::string& what) {
  return base::Fail(base::Code::kBadRequest, "\"" + OneLine(text) + "\" " + what);
}

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

constexpr double kNumberMax = 1e18;

template <typename T>
std::string RangeText(T min, T max, T lowest, T highest) {
  if (min > lowest && max < highest) return fmt::format("{}..{}", min, max);
  if (min > lowest) return fmt::format("at least {}", min);
  return max < highest ? fmt::format("at most {}", max) : "";
}

std::string RangeText(int64_t min, int64_t max) { return RangeText(min, max, INT64_MIN, INT64_MAX); }
std::string RangeText(double min, double max) { return RangeText(min, max, -kNumberMax, kNumberMax); }

/// Of a whole number; beyond what 64 bits hold there is none.
int64_t WholeBound(double bound) {
  if (bound <= -kNumberMax) return INT64_MIN;
  return bound >= kNumberMax ? INT64_MAX : static_cast<int64_t>(bound);
}

}  // namespace

base::Result<bool> ParseBoolValue(std::string_view text) {
  const std::string_view value = Trimmed(text);
  if (EqualIgnoringCase(value, "true") || value == "1") return true;
  if (EqualIgnoringCase(value, "false") || value == "0") return false;
  return Wrong(text, "is neither true nor false");
}

base::Result<int64_t> ParseIntegerValue(std::string_view text, int64_t min, int64_t max) {
  const std::string_view value = Trimmed(text);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc::result_out_of_range) return Wrong(text, "is more than 64 bits hold");
  if (error != std::errc() || end != value.data() + value.size()) return Wrong(text, "is not a whole number");
  if (number < min) return Wrong(text, "must be at least " + std::to_string(min));
  if (number > max) return Wrong(text, "must be at most " + std::to_string(max));
  return number;
}

base::Result<double> ParseNumberValue(std::string_view text, double min, double max) {
  const std::string_view value = Trimmed(text);
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(number)) {
    return Wrong(text, "is not a number");
  }
  if (number < min) return Wrong(text, fmt::format("must be at least {}", min));
  if (number > max) return Wrong(text, fmt::format("must be at most {}", max));
  return number;
}

base::Result<double> ParseBalancingThreshold(std::string_view text) {
  EVENKEEL_ASSIGN(const double number, ParseNumberValue(text, -kNumberMax));
  if (number != 0 && number < 1) {
    return Wrong(text, "must be at least 1, as the ratio of the largest to the smallest load is, or 0: never triggers");
  }
  return number;
}

base::Result<Comparison> ParseComparison(std::string_view text) {
  const std::string_view value = Trimmed(text);
  if (EqualIgnoringCase(value, "PerMode")) return Comparison::kPerMode;
  if (EqualIgnoringCase(value, "Strict")) return Comparison::kStrict;
  if (EqualIgnoringCase(value, "Inclusive")) return Comparison::kInclusive;
  return Wrong(text, "is neither PerMode nor Strict nor Inclusive");
}

SettingsRow& SettingsTable::Add(std::string_view name, ParameterType type, std::string_view range,
                                std::string_view default_text, std::string_view help) {
  SettingsRow row;
  row.parameter.topic = topic_;
  row.parameter.section = section_;
  row.parameter.name = name;
  row.parameter.type = type;
  row.parameter.range = range;
  row.parameter.default_text = default_text;
  row.parameter.visibility = visibility_;
  row.parameter.help = help;
  rows_.push_back(std::move(row));
  return rows_.back();
}

void SettingsTable::Custom(std::string_view name, ParameterType type, std::string_view range, std::string_view default_text,
                           Setter set, std::string_view help) {
  Add(name, type, range, default_text, help).set = [set = std::move(set)](Settings& settings, const SettingsKey& key,
                                                                          std::string_view text) -> base::Result<std::string> {
    EVENKEEL_TRY(set(settings, key, text));
    return std::string();
  };
}

void SettingsTable::Bool(std::string_view name, const Field<bool>& field, std::string_view help) {
  const Setter set = [field](Settings& settings, const SettingsKey&, std::string_view text) -> base::Status {
    EVENKEEL_ASSIGN(field(settings), ParseBoolValue(text));
    return {};
  };
  Custom(name, ParameterType::kBool, "", field(defaults_) ? "true" : "false", set, help);
}

void SettingsTable::Integer(std::string_view name, const Field<int64_t>& field, std::string_view help, int64_t min,
                            int64_t max) {
  const Setter set = [field, min, max](Settings& settings, const SettingsKey&, std::string_view text) -> base::Status {
    EVENKEEL_ASSIGN(field(settings), ParseIntegerValue(text, min, max));
    return {};
  };
  Custom(name, ParameterType::kInteger, RangeText(min, max), std::to_string(field(defaults_)), set, help);
}

void SettingsTable::Number(std::string_view name, const Field<double>& field, std::string_view help, double min, double max) {
  const Setter set = [field, min, max](Settings& settings, const SettingsKey&, std::string_view text) -> base::Status {
    EVENKEEL_ASSIGN(field(settings), ParseNumberValue(text, min, max));
    return {};
  };
  Custom(name, ParameterType::kNumber, RangeText(min, max), fmt::format("{}", field(defaults_)), set, help);
}

void SettingsTable::Seconds(std::string_view name, const Field<double>& field, std::string_view help) {
  Number(name, field, help, 0, kNumberMax);
  rows_.back().parameter.type = ParameterType::kSeconds;
}

void SettingsTable::Text(std::string_view name, const Field<std::string>& field, std::string_view help) {
  const Setter set = [field](Settings& settings, const SettingsKey&, std::string_view text) -> base::Status {
    field(settings) = Trimmed(text);
    return {};
  };
  Custom(name, ParameterType::kText, "", field(defaults_), set, help);
}

void SettingsTable::CustomGroup(std::string_view name, ParameterKey key, ParameterType type, std::string_view range,
                                std::string_view default_text, Setter set, std::string_view help) {
  const std::string outer = std::exchange(section_, std::string(name));
  Custom(name, type, range, default_text, std::move(set), help);
  rows_.back().parameter.key = key;
  section_ = outer;
}

void SettingsTable::BoolGroup(std::string_view name, const Field<Group<bool>>& field, std::string_view help) {
  const Setter set = [field](Settings& settings, const SettingsKey& key, std::string_view text) -> base::Status {
    EVENKEEL_ASSIGN(const bool value, ParseBoolValue(text));
    field(settings).insert_or_assign(std::string(key.name), value);
    return {};
  };
  CustomGroup(name, ParameterKey::kMetric, ParameterType::kBool, "", "false", set, help);
}

void SettingsTable::IntegerGroup(std::string_view name, ParameterKey key, const Field<Group<int64_t>>& field,
                                 std::string_view default_text, std::string_view help, int64_t max) {
  const Setter set = [field, max](Settings& settings, const SettingsKey& entry, std::string_view text) -> base::Status {
    EVENKEEL_ASSIGN(const int64_t value, ParseIntegerValue(text, 0, max));
    field(settings).insert_or_assign(std::string(entry.name), value);
    return {};
  };
  CustomGroup(name, key, ParameterType::kInteger, RangeText(int64_t{0}, max), default_text, set, help);
}

void SettingsTable::NumberGroup(std::string_view name, const Field<Group<double>>& field, std::string_view default_text,
                                std::string_view help, double max) {
  CustomGroup(name, ParameterKey::kMetric, ParameterType::kNumber, RangeText(0.0, max), default_text, {}, help);
  rows_.back().set = [field, max](Settings& settings, const SettingsKey& key,
                                  std::string_view text) -> base::Result<std::string> {
    EVENKEEL_ASSIGN(const double value, ParseNumberValue(text, -kNumberMax, max));
    if (value < 0) return fmt::format("{} is negative and is left out", value);
    field(settings).insert_or_assign(std::string(key.name), value);
    return std::string();
  };
}

void SettingsTable::Unused(std::string_view name, ParameterType type, std::string_view default_text, std::string_view help,
                           std::string_view why, double min, double max) {
  const bool number = type == ParameterType::kNumber || type == ParameterType::kSeconds;
  const bool integer = type == ParameterType::kInteger;
  Custom(name, type, number || integer ? RangeText(min, max) : "", default_text, {}, help);
  SettingsRow& row = rows_.back();
  row.parameter.no_effect = why;
  row.set = [type, min, max, number, integer, warning = "has no effect: " + std::string(why)](
                Settings&, const SettingsKey&, std::string_view text) -> base::Result<std::string> {
    if (type == ParameterType::kBool) EVENKEEL_TRY(ParseBoolValue(text));
    if (integer) EVENKEEL_TRY(ParseIntegerValue(text, WholeBound(min), WholeBound(max)));
    if (number) EVENKEEL_TRY(ParseNumberValue(text, min, max));
    return warning;
  };
}

void SettingsTable::UnusedGroup(std::string_view name, std::string_view default_text, std::string_view help,
                                std::string_view why) {
  const std::string outer = std::exchange(section_, std::string(name));
  Unused(name, ParameterType::kNumber, default_text, help, why, -kNumberMax);
  rows_.back().parameter.key = ParameterKey::kMetric;
  rows_.back().parameter.range = RangeText(0.0, kNumberMax);
  section_ = outer;
}

void SettingsTable::Override(std::string_view name, ParameterKey key, ParameterType type, std::string_view range,
                             std::string_view default_text, Setter set, std::string_view help) {
  Custom(name, type, range, default_text, std::move(set), help);
  rows_.back().parameter.key = key;
  rows_.back().parameter.per_node_type = true;
}

}  // namespace evenkeel::balancing
