#include "balancing/model/settings_table.h"

#include "balancing/model/messages.h"
#include "base/text.h"

namespace evenkeel::balancing {
namespace {

using base::OptionRange;

}  // namespace

base::Status ReadThreshold(std::string_view text, double& into) {
  double number = 0;
  EVENKEEL_TRY(base::ReadOption(text, number));
  if (number != 0 && number < 1) {
    return base::WrongOption(text,
                             "must be at least 1, as the ratio of the largest to the smallest load is, or 0: never triggers");
  }
  into = number;
  return {};
}

base::Status ReadComparison(std::string_view text, Comparison& into) {
  constexpr std::pair<std::string_view, Comparison> kNames[] = {{"Described", Comparison::kDescribed},
                                                                {"PerMode", Comparison::kPerMode},
                                                                {"Strict", Comparison::kStrict},
                                                                {"Inclusive", Comparison::kInclusive}};
  const auto* named = std::ranges::find_if(kNames, [&](const auto& name) { return base::EqualIgnoringCase(text, name.first); });
  if (named == std::end(kNames)) return base::WrongOption(text, "neither Described nor PerMode nor Strict nor Inclusive");
  into = named->second;
  return {};
}

SettingsRow& SettingsTable::Add(std::string_view name, Type type, std::string_view range, std::string_view default_text,
                                std::string_view help) {
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

void SettingsTable::Custom(std::string_view name, Type type, std::string_view range, std::string_view default_text, Setter set,
                           std::string_view help) {
  Add(name, type, range, default_text, help).set = [set = std::move(set)](Settings& settings, const SettingsKey& key,
                                                                          std::string_view text) -> base::Result<std::string> {
    EVENKEEL_TRY(set(settings, key, text));
    return std::string();
  };
}

void SettingsTable::CustomGroup(std::string_view name, ParameterKey key, Type type, std::string_view range,
                                std::string_view default_text, Setter set, std::string_view help) {
  const std::string outer = std::exchange(section_, std::string(name));
  Custom(name, type, range, default_text, std::move(set), help);
  rows_.back().parameter.key = key;
  section_ = outer;
}

void SettingsTable::NumberGroup(std::string_view name, const Field<Group<double>>& field, std::string_view default_text,
                                std::string_view help, double max) {
  CustomGroup(name, ParameterKey::kMetric, Type::kNumber, OptionRange<double>{0, max}.Text(), default_text, {}, help);
  rows_.back().set = [field, max](Settings& settings, const SettingsKey& key,
                                  std::string_view text) -> base::Result<std::string> {
    double value = 0;
    EVENKEEL_TRY(base::ReadOption(text, value, {.max = max}));
    if (value < 0) return fmt::format("{} is negative and is left out", value);
    field(settings).insert_or_assign(std::string(key.name), value);
    return std::string();
  };
}

void SettingsTable::Unused(std::string_view name, Type type, std::string_view default_text, std::string_view help,
                           std::string_view why, double min, double max) {
  const OptionRange<double> range{min, max};
  const bool ranged = type == Type::kNumber || type == Type::kSeconds || type == Type::kInteger;
  Custom(name, type, ranged ? range.Text() : "", default_text, {}, help);
  SettingsRow& row = rows_.back();
  row.parameter.no_effect = why;
  row.set = [type, range, warning = "has no effect: " + std::string(why)](Settings&, const SettingsKey&,
                                                                          std::string_view text) -> base::Result<std::string> {
    EVENKEEL_TRY(base::CheckOption(text, type, range));
    return warning;
  };
}

void SettingsTable::UnusedGroup(std::string_view name, std::string_view default_text, std::string_view help,
                                std::string_view why) {
  const std::string outer = std::exchange(section_, std::string(name));
  Unused(name, Type::kNumber, default_text, help, why, OptionRange<double>::kLowest);
  rows_.back().parameter.key = ParameterKey::kMetric;
  rows_.back().parameter.range = OptionRange<double>{.min = 0}.Text();
  section_ = outer;
}

void SettingsTable::Override(std::string_view name, ParameterKey key, Type type, std::string_view range,
                             std::string_view default_text, Setter set, std::string_view help) {
  Custom(name, type, range, default_text, std::move(set), help);
  rows_.back().parameter.key = key;
  rows_.back().parameter.per_node_type = true;
}

}  // namespace evenkeel::balancing
