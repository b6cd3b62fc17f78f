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
  using Setter = std::function<base::Status(Settings&, const SettingsKey& key, std::string_view text)>;

  // Of the parameters that follow.
  void Topic(std::string_view topic, std::string_view section) { topic_ = topic, section_ = section; }
  void Seen(Visibility visibility) { visibility_ = visibility; }

  void Bool(std::string_view name, const Field<bool>& field, std::string_view help);
  void Integer(std::string_view name, const Field<int64_t>& field, std::string_view help, int64_t min = 0,
               int64_t max = INT64_MAX);
  void Number(std::string_view name, const Field<double>& field, std::string_view help, double min = 0, double max = 1e18);
  void Seconds(std::string_view name, const Field<double>& field, std::string_view help);
  void Text(std::string_view name, const Field<std::string>& field, std::string_view help);
  void Custom(std::string_view name, ParameterType type, std::string_view range, std::string_view default_text, Setter set,
              std::string_view help);

  // Groups: the section has the parameter's name.
  void BoolGroup(std::string_view name, const Field<Group<bool>>& field, std::string_view help);
  void IntegerGroup(std::string_view name, ParameterKey key, const Field<Group<int64_t>>& field, std::string_view default_text,
                    std::string_view help, int64_t max = INT64_MAX);
  /// Negative values are left out with a warning, as Service Fabric does without one.
  void NumberGroup(std::string_view name, const Field<Group<double>>& field, std::string_view default_text,
                   std::string_view help, double max = 1e18);
  void CustomGroup(std::string_view name, ParameterKey key, ParameterType type, std::string_view range,
                   std::string_view default_text, Setter set, std::string_view help);

  /// Read and checked, and used by nothing here: whoever sets it is told `why`. Bounds are those of numbers.
  void Unused(std::string_view name, ParameterType type, std::string_view default_text, std::string_view help,
              std::string_view why, double min = 0, double max = 1e18);
  /// The same of numbers of metrics.
  void UnusedGroup(std::string_view name, std::string_view default_text, std::string_view help, std::string_view why);

  /// What single node types override.
  void Override(std::string_view name, ParameterKey key, ParameterType type, std::string_view range,
                std::string_view default_text, Setter set, std::string_view help);

  std::vector<SettingsRow> Take() { return std::move(rows_); }

 private:
  SettingsRow& Add(std::string_view name, ParameterType type, std::string_view range, std::string_view default_text,
                   std::string_view help);

  Settings defaults_;
  std::string topic_, section_;
  Visibility visibility_ = Visibility::kPublic;
  std::vector<SettingsRow> rows_;
};

/// Values as texts; spaces around them do not count. kBadRequest says what the text is not.
base::Result<bool> ParseBoolValue(std::string_view text);
base::Result<int64_t> ParseIntegerValue(std::string_view text, int64_t min, int64_t max = INT64_MAX);
base::Result<double> ParseNumberValue(std::string_view text, double min, double max = 1e18);
/// 0, or at least 1.
base::Result<double> ParseBalancingThreshold(std::string_view text);

base::Result<Comparison> ParseComparison(std::string_view text);

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
