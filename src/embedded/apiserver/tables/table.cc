#include "embedded/apiserver/tables/table.h"

#include "embedded/apiserver/requests/raw_json.h"
#include "embedded/apiserver/tables/table_columns.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

JsonArray CreatedCells(const Json& object, base::Time) {
  return {NameCell(object), Json(base::FindString(object, {"metadata", "creationTimestamp"}))};
}

// One value of a CRD's column as a cell: the first of those that are found.
Json CustomCell(const PrinterColumn& column, const Json& object, base::Time now) {
  const auto values = column.path == nullptr ? base::Result<std::vector<const Json*>>() : column.path->Find(object);
  if (!values || values->empty() || (*values)[0]->is_null()) return nullptr;
  const Json& value = *(*values)[0];
  if (column.type == "date") {
    if (!value.is_string()) return nullptr;
    const auto time = base::ParseTime(value.get_string());
    return time ? Json(base::HumanDuration(now - *time)) : Json("<invalid>");
  }
  if (column.type == "integer" && value.is_double()) return Json(base::FindInt(base::JsonObject{{"v", value}}, {"v"}));
  if (column.type == "integer" || column.type == "number") return value.is_number() ? value : Json(nullptr);
  if (column.type == "boolean") return value.is_bool() ? value : Json(nullptr);
  return value.is_string() ? value : Json(base::ToText(value));
}

class CustomPrinter : public TablePrinter {
 public:
  explicit CustomPrinter(const Served& served) : specs_(served.columns) {
    columns_.push_back(NameColumn());
    for (const PrinterColumn& column : specs_) {
      columns_.push_back({column.name, column.type, column.format, column.description, column.priority});
    }
  }
  const std::vector<TableColumn>& columns() const override { return columns_; }
  JsonArray Cells(const Json& object, base::Time now) const override {
    JsonArray cells{Json(base::FindString(object, {"metadata", "name"}))};
    for (const PrinterColumn& column : specs_) cells.push_back(CustomCell(column, object, now));
    return cells;
  }

 private:
  std::vector<PrinterColumn> specs_;
  std::vector<TableColumn> columns_;
};

class BuiltInPrinter : public TablePrinter {
 public:
  explicit BuiltInPrinter(const BuiltInTable& table) : table_(table) {}
  const std::vector<TableColumn>& columns() const override { return table_.columns; }
  JsonArray Cells(const Json& object, base::Time now) const override { return table_.cells(object, now); }

 private:
  const BuiltInTable& table_;
};

std::string TableHead(const std::vector<TableColumn>& columns, const JsonObject& list_metadata, const TableRequest& request) {
  JsonArray definitions;
  for (const TableColumn& column : columns) {
    definitions.push_back(JsonObject{{"name", column.name},
                                     {"type", column.type},
                                     {"format", column.format},
                                     {"description", column.description},
                                     {"priority", column.priority}});
  }
  return "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/" + request.version +
         "\",\"metadata\":" + base::ToText(list_metadata) + ",\"columnDefinitions\":" + base::ToText(definitions) +
         ",\"rows\":[";
}

}  // namespace

JsonArray NameAgeCells(const Json& object, base::Time now) { return {NameCell(object), AgeCell(object, now)}; }

TableColumn NameColumn() {
  return {
      "Name", "string", "name",
      "Name must be unique within a namespace. It is the primary key of the object and cannot be changed after it was created.",
      0};
}

TableColumn AgeColumn() { return {"Age", "string", "", "Time since the object was created.", 0}; }

std::string AgeText(const Json& object, std::initializer_list<std::string_view> path, base::Time now) {
  const auto time = base::ParseTime(base::FindString(object, path));
  return time ? base::HumanDuration(now - *time) : "<unknown>";
}

std::shared_ptr<const TablePrinter> PrinterFor(const Served& served) {
  if (served.custom && !served.columns.empty()) return std::make_shared<CustomPrinter>(served);
  static const BuiltInTable kNameAge{{NameColumn(), AgeColumn()}, NameAgeCells};
  static const BuiltInTable kCreated{{NameColumn(), {"Created At", "date", "", "When the object was created.", 0}},
                                     CreatedCells};
  if (served.custom) return std::make_shared<BuiltInPrinter>(kNameAge);
  const BuiltInTable* const table = FindBuiltInTable(served.resource.group, served.resource.plural);
  return std::make_shared<BuiltInPrinter>(table == nullptr ? kCreated : *table);
}

std::string TableText(const Served& served, const std::vector<Stored>& items, JsonObject list_metadata,
                      const TableRequest& request, base::Time now) {
  const auto printer = PrinterFor(served);
  std::string text = TableHead(printer->columns(), list_metadata, request);
  bool first = true;
  for (const Stored& stored : items) {
    auto decoded = DecodeObject(served, stored);
    if (!decoded) continue;
    Json& object = *decoded;
    // The printers know objects in the form in which they are stored: events by core/v1's names.
    if (served.to_stored != nullptr) served.to_stored(object);
    if (!first) text += ',';
    first = false;
    text += "{\"cells\":" + base::ToText(printer->Cells(object, now));
    if (request.include == IncludeObject::kMetadata) text += ",\"object\":" + PartialText(served, stored, request.version);
    if (request.include == IncludeObject::kObject) text += ",\"object\":" + ObjectText(served, stored);
    text += '}';
  }
  text += "]}";
  return text;
}

std::string ScaleTableText(const Json& scale, const TableRequest& request, base::Time now) {
  TableColumn name = NameColumn();
  name.format.clear();
  const std::vector<TableColumn> columns = {name, IntegerColumn("Desired"), IntegerColumn("Available"), AgeColumn()};
  const JsonArray cells = {NameCell(scale), Json(base::FindInt(scale, {"spec", "replicas"})),
                           Json(base::FindInt(scale, {"status", "replicas"})), AgeCell(scale, now)};
  std::string text =
      TableHead(columns, {{"resourceVersion", base::FindString(scale, {"metadata", "resourceVersion"})}}, request);
  text += "{\"cells\":" + base::ToText(cells);
  if (request.include == IncludeObject::kMetadata) {
    const JsonObject partial{{"kind", "PartialObjectMetadata"},
                             {"apiVersion", "meta.k8s.io/" + request.version},
                             {"metadata", base::FindObject(scale, {"metadata"})}};
    text += ",\"object\":" + base::ToText(partial);
  }
  if (request.include == IncludeObject::kObject) text += ",\"object\":" + base::ToText(scale);
  return text + "}]}";
}

std::string PartialText(const Served&, const Stored& stored, std::string_view version) {
  const std::string_view metadata = RawFind(*stored.bytes, {"metadata"});
  std::string text =
      "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/" + std::string(version) + "\",\"metadata\":{";
  if (stored.revision > 0)
    text += "\"resourceVersion\":\"" + std::to_string(stored.revision) + "\"" + (metadata.size() > 2 ? "," : "");
  text += metadata.substr(1);
  text += '}';
  return text;
}

}  // namespace evenkeel::embedded::apiserver
