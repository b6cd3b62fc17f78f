// Columns and cells of the built-in kinds.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "embedded/apiserver/tables/table.h"

namespace evenkeel::embedded::apiserver {

struct BuiltInTable {
  std::vector<TableColumn> columns;
  base::JsonArray (*cells)(const base::Json& object, base::Time now);
};

/// Null for kinds that have only Name and Created At. `group` may be events.k8s.io for the printer of core events.
const BuiltInTable* FindBuiltInTable(std::string_view group, std::string_view plural);

using TableMap = std::map<std::string, BuiltInTable, std::less<>>;
/// The parts of the map, by "group/plural".
void AddWorkloadTables(TableMap& tables);
void AddClusterTables(TableMap& tables);
void AddNetworkingTables(TableMap& tables);
void AddPlatformTables(TableMap& tables);
void AddStorageTables(TableMap& tables);

TableColumn NameColumn();
TableColumn AgeColumn();
/// A column of strings; priority 1 is shown with -o wide only.
TableColumn TextColumn(std::string_view name, int priority = 0);
TableColumn IntegerColumn(std::string_view name, int priority = 0);
TableColumn BooleanColumn(std::string_view name, int priority = 0);

/// What kubectl prints where there is nothing.
inline constexpr std::string_view kNone = "<none>";
inline std::string Or(std::string_view text, std::string_view fallback) { return std::string(text.empty() ? fallback : text); }

/// Appends to a list with commas, unless there is nothing to append.
void AppendPart(std::string& list, std::string_view part, std::string_view comma = ",");
/// The first ones, and how many more there are: "a,b,c + 2 more...".
std::string FirstOf(const std::vector<std::string>& all, size_t shown);

/// The cells that most kinds begin and end with.
base::Json NameCell(const base::Json& object);
base::Json AgeCell(const base::Json& object, base::Time now);
base::JsonArray NameAgeCells(const base::Json& object, base::Time now);
/// A label selector as kubectl prints it: "a=b,c in (x,y)", "<none>" when there is none.
std::string SelectorText(const base::Json* selector);
/// A map of labels as kubectl prints it: "a=b,c=d", "<none>" when there are none.
std::string LabelsText(const base::Json& object, std::initializer_list<std::string_view> path);
/// "a,b" of one string field of each container of a pod template.
std::string ContainersText(const base::Json& pod_spec, std::string_view field);

}  // namespace evenkeel::embedded::apiserver
