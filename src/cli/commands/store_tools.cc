#include "cli/commands/store_tools.h"

#include "cli/terminal/output.h"
#include "embedded/store/sqlite_tools.h"

namespace evenkeel::cli {
namespace {

using base::JsonArray;
using base::JsonObject;
using embedded::store::SqliteDamage;
using embedded::store::SqliteSurvey;
using embedded::store::StoreCopy;

std::string PathOf(const std::string& store) {
  constexpr std::string_view kScheme = "sqlite:";
  return store.starts_with(kScheme) ? store.substr(kScheme.size()) : store;
}

JsonObject SurveyJson(const std::string& path, const SqliteSurvey& survey, int64_t revision) {
  JsonArray damage;
  for (const SqliteDamage& each : survey.damage) {
    damage.push_back(JsonObject{
        {"kind", embedded::store::NameOf(each.kind)}, {"revision", each.revision}, {"key", each.key}, {"message", each.what}});
  }
  return {{"store", path},           {"revision", revision},      {"rows", survey.rows},
          {"whole", survey.whole()}, {"damaged", survey.damaged}, {"damage", std::move(damage)}};
}

void PrintDamage(const SqliteSurvey& survey, std::ostream& out) {
  if (survey.whole()) return;
  std::vector<std::vector<std::string>> rows;
  for (const SqliteDamage& each : survey.damage) {
    rows.push_back({std::string(embedded::store::NameOf(each.kind)), each.revision == 0 ? "-" : std::to_string(each.revision),
                    each.key.empty() ? "-" : each.key, each.what});
  }
  PrintTable(out, {"DAMAGE", "REVISION", "KEY", "MESSAGE"}, rows);
  const auto left = survey.damaged - static_cast<int64_t>(survey.damage.size());
  if (left > 0) out << "and " << left << " more\n";
}

std::string RowCount(const SqliteSurvey& survey) { return std::to_string(survey.rows) + (survey.rows == 1 ? " row" : " rows"); }

/// Backup and restore: one line, or JSON.
base::Status PrintCopy(const StoreToolOptions& options, const StoreCopy& copy, const std::string& line, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  if (format == Format::kTable) {
    out << line << ": " << RowCount(copy.found) << ", goes on above revision " << copy.revision << "\n";
  } else {
    PrintValue(out, format, SurveyJson(PathOf(options.store), copy.found, copy.revision));
  }
  return {};
}

}  // namespace

base::Status VerifyStore(const StoreToolOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  const std::string path = PathOf(options.store);
  EVENKEEL_ASSIGN(const SqliteSurvey survey, embedded::store::VerifyStore(path));
  if (format != Format::kTable) {
    PrintValue(out, format, SurveyJson(path, survey, survey.state.revision));
  } else if (survey.whole()) {
    out << path << " is whole: " << RowCount(survey) << ", revision " << survey.state.revision << "\n";
  } else {
    PrintDamage(survey, out);
  }
  if (survey.whole()) return {};
  return base::Fail(base::Code::kInternal, survey.Summary(path));
}

base::Status RepairStore(const StoreToolOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  const std::string path = PathOf(options.store);
  EVENKEEL_ASSIGN(const StoreCopy copy, embedded::store::RepairStore(path));
  if (format != Format::kTable) {
    JsonObject answer = SurveyJson(path, copy.found, copy.revision);
    if (!copy.kept_as.empty()) answer["keptAs"] = copy.kept_as;
    JsonArray set_back;
    for (const auto& [key, revision] : copy.set_back) set_back.push_back(JsonObject{{"key", key}, {"revision", revision}});
    if (!set_back.empty()) answer["setBack"] = std::move(set_back);
    PrintValue(out, format, answer);
    return {};
  }
  if (copy.kept_as.empty()) {
    out << path << " is whole: " << RowCount(copy.found) << ", revision " << copy.revision << ": nothing was changed\n";
    return {};
  }
  PrintDamage(copy.found, out);
  for (const auto& [key, revision] : copy.set_back) {
    out << key << (revision == 0 ? " is gone" : " is as it was at revision " + std::to_string(revision)) << "\n";
  }
  out << path << " has what was whole: " << RowCount(copy.found) << ", goes on above revision " << copy.revision
      << "\nthe damaged store is " << copy.kept_as << "\n";
  return {};
}

base::Status BackUpStore(const StoreToolOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const StoreCopy copy, embedded::store::BackUpStore(PathOf(options.store), options.backup));
  return PrintCopy(options, copy, options.backup + " is a copy of " + PathOf(options.store), out);
}

base::Status RestoreStore(const StoreToolOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const StoreCopy copy,
                  embedded::store::RestoreStore(options.backup, PathOf(options.store), options.overwrite));
  return PrintCopy(options, copy, PathOf(options.store) + " is what " + options.backup + " was", out);
}

}  // namespace evenkeel::cli
