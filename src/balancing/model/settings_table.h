// How the table of parameters is put together; settings.h is what it is for.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "balancing/model/settings.h"

namespace evenkeel::balancing {

/// Which entry is set, besides the parameter's own name.
struct SettingsKey {
  std::string_view node_type;  ///< of an override
  std::string_view name;       ///< in a group: the metric or the node type
};

/// One parameter and what it does to the settings.
struct SettingsRow {
  Parameter parameter;
  /// Answers a warning or "". Errors do not name the parameter.
  std::function<base::Result<std::string>(Settings&, const SettingsKey& key, std::string_view text)> set;
};

/// Adds parameters one by one. Default texts are read off Settings, so that they cannot differ from what holds. One that has a
/// field has an effect (tests/structure/unused.py).
class SettingsTable {
 public:
  /// Where a value lives; a member pointer is one.
  template <typename T>
  using Field = std::function<T&(Settings&)>;
  using Type = base::OptionType;
  using Setter = std::function<base::Status(Settings&, const SettingsKey& key, std::string_view text)>;

  // Of the parameters that follow.
  void Topic(std::string_view topic, std::string_view section) { topic_ = topic, section_ = section; }
  void Seen(Visibility visibility) { visibility_ = visibility; }

  void Bool(std::string_view name, const Field<bool>& field, std::string_view help) {
    Value<bool>(name, Type::kBool, field, help);
  }
  void Integer(std::string_view name, const Field<int64_t>& field, std::string_view help, int64_t min = 0,
               int64_t max = INT64_MAX) {
    Value<int64_t>(name, Type::kInteger, field, help, base::OptionRange<int64_t>{min, max});
  }
  void Number(std::string_view name, const Field<double>& field, std::string_view help, double min = 0, double max = 1e18,
              Type type = Type::kNumber) {
    Value<double>(name, type, field, help, base::OptionRange<double>{min, max});
  }
  void Seconds(std::string_view name, const Field<double>& field, std::string_view help) {
    Number(name, field, help, 0, 1e18, Type::kSeconds);
  }
  void Text(std::string_view name, const Field<std::string>& field, std::string_view help) {
    Value<std::string>(name, Type::kText, field, help);
  }
  void Custom(std::string_view name, Type type, std::string_view range, std::string_view default_text, Setter set,
              std::string_view help);

  // Groups: the section has the parameter's name.
  void BoolGroup(std::string_view name, const Field<Group<bool>>& field, std::string_view help) {
    ValueGroup<bool>(name, ParameterKey::kMetric, Type::kBool, field, "false", help);
  }
  void IntegerGroup(std::string_view name, ParameterKey key, const Field<Group<int64_t>>& field, std::string_view default_text,
                    std::string_view help, int64_t max = INT64_MAX) {
    ValueGroup<int64_t>(name, key, Type::kInteger, field, default_text, help, base::OptionRange<int64_t>{0, max});
  }
  /// Negative values are left out with a warning, as Service Fabric does without one.
  void NumberGroup(std::string_view name, const Field<Group<double>>& field, std::string_view default_text,
                   std::string_view help, double max = 1e18);
  void CustomGroup(std::string_view name, ParameterKey key, Type type, std::string_view range, std::string_view default_text,
                   Setter set, std::string_view help);

  /// Read and checked, and used by nothing here: whoever sets it is told `why`. Bounds are those of numbers.
  void Unused(std::string_view name, Type type, std::string_view default_text, std::string_view help, std::string_view why,
              double min = 0, double max = 1e18);
  /// The same of numbers of metrics.
  void UnusedGroup(std::string_view name, std::string_view default_text, std::string_view help, std::string_view why);

  /// What single node types override.
  void Override(std::string_view name, ParameterKey key, Type type, std::string_view range, std::string_view default_text,
                Setter set, std::string_view help);

  std::vector<SettingsRow> Take() { return std::move(rows_); }

 private:
  template <typename T, typename... Range>
  void Value(std::string_view name, Type type, const Field<T>& field, std::string_view help, Range... range) {
    const Setter set = [field, range...](Settings& settings, const SettingsKey&, std::string_view text) {
      return base::ReadOption(text, field(settings), range...);
    };
    Custom(name, type, (std::string() + ... + range.Text()), base::OptionText(field(defaults_)), set, help);
  }
  template <typename T, typename... Range>
  void ValueGroup(std::string_view name, ParameterKey key, Type type, const Field<Group<T>>& field,
                  std::string_view default_text, std::string_view help, Range... range) {
    const Setter set = [field, range...](Settings& settings, const SettingsKey& entry, std::string_view text) -> base::Status {
      T value{};
      EVENKEEL_TRY(base::ReadOption(text, value, range...));
      field(settings).insert_or_assign(std::string(entry.name), value);
      return {};
    };
    CustomGroup(name, key, type, (std::string() + ... + range.Text()), default_text, set, help);
  }
  SettingsRow& Add(std::string_view name, Type type, std::string_view range, std::string_view default_text,
                   std::string_view help);

  Settings defaults_;
  std::string topic_, section_;
  Visibility visibility_ = Visibility::kPublic;
  std::vector<SettingsRow> rows_;
};

/// 0, or at least 1.
base::Status ReadThreshold(std::string_view text, double& into);
base::Status ReadComparison(std::string_view text, Comparison& into);

/// The whole table, made once.
const std::vector<SettingsRow>& SettingsRows();
/// Its parts, in the order of the documentation.
void AddPhaseSettings(SettingsTable& table);
void AddTriggerSettings(SettingsTable& table);
void AddNodeTypeSettings(SettingsTable& table);
void AddDefragmentationSettings(SettingsTable& table);
void AddSearchSettings(SettingsTable& table);
void AddThrottleSettings(SettingsTable& table);
void AddConstraintSettings(SettingsTable& table);
void AddReportSettings(SettingsTable& table);

}  // namespace evenkeel::balancing
