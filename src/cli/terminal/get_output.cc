#include "cli/terminal/get_output.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/input/nearest_name.h"
#include "base/input/yaml.h"

namespace evenkeel::cli {
namespace {

using base::Code;
using base::Json;

constexpr std::string_view kTemplateForm = "jsonpath=", kColumnsForm = "custom-columns=";
/// A name that is not there is answered with these, if they are no more.
constexpr size_t kNamesListed = 10;

bool IsNamed(const Shown& shown, const std::string& name, std::string_view wanted) {
  if (wanted.starts_with(shown.kind + "/")) wanted.remove_prefix(shown.kind.size() + 1);
  return name == wanted || (!wanted.contains('/') && name.ends_with("/" + std::string(wanted)));
}

base::Status NotThere(const Shown& shown, const std::string& wanted) {
  std::vector<std::string_view> names(shown.names.begin(), shown.names.end());
  std::string hint = base::NearestNameHint(wanted, names);
  if (hint.empty() && names.size() <= kNamesListed) {
    std::ranges::sort(names);
    for (const std::string_view name : names) hint += (hint.empty() ? ": there are " : ", ") + std::string(name);
    if (names.empty()) hint = ": there are none";
  }
  return base::Fail(Code::kNotFound, "there is no " + shown.kind + " " + wanted + hint);
}

/// The rows with these positions, in this order, in both forms.
void Choose(Shown& shown, const std::vector<size_t>& positions) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> names;
  base::JsonArray items;
  Json* list = shown.json.is_object() ? shown.json.get_object().if_contains(shown.items) : nullptr;
  for (const size_t at : positions) {
    rows.push_back(std::move(shown.rows[at]));
    names.push_back(std::move(shown.names[at]));
    if (list != nullptr) items.push_back(std::move(list->get_array().at(at)));
  }
  shown.rows = std::move(rows);
  shown.names = std::move(names);
  if (list != nullptr) *list = std::move(items);
}

}  // namespace

base::Result<GetOutput> GetOutput::Parse(const std::string& output) {
  static const std::map<std::string, Form> kForms{{"", Form::kTable},    {"table", Form::kTable}, {"wide", Form::kWide},
                                                  {"name", Form::kName}, {"json", Form::kJson},   {"yaml", Form::kYaml}};
  GetOutput parsed;
  if (output.starts_with(kTemplateForm)) {
    parsed.form_ = Form::kTemplate;
    auto of = kube::JsonTemplate::Parse(std::string_view(output).substr(kTemplateForm.size()));
    if (!of) return base::Fail(Code::kBadRequest, "-o " + output + ": " + of.error().message());
    parsed.template_ = *std::move(of);
    return parsed;
  }
  if (output.starts_with(kColumnsForm)) {
    parsed.form_ = Form::kColumns;
    const auto read = parsed.ParseColumns(std::string_view(output).substr(kColumnsForm.size()));
    if (!read) return base::Fail(Code::kBadRequest, "-o " + output + ": " + read.error().message());
    return parsed;
  }
  const auto found = kForms.find(output);
  if (found == kForms.end()) {
    return base::Fail(Code::kBadRequest, "output format \"" + output +
                                             "\" is not known: use table, wide, name, json, yaml, jsonpath=TEMPLATE or "
                                             "custom-columns=NAME:PATH,...");
  }
  parsed.form_ = found->second;
  return parsed;
}

base::Status GetOutput::ParseColumns(std::string_view text) {
  while (true) {
    const std::string_view each = text.substr(0, text.find(','));
    const size_t colon = each.find(':');
    if (colon == std::string_view::npos || colon == 0) {
      return base::Fail(Code::kInvalid, "\"" + std::string(each) + "\" is no NAME:PATH");
    }
    EVENKEEL_ASSIGN(kube::JsonPath path, kube::ParseColumnPath(each.substr(colon + 1)));
    columns_.push_back({std::string(each.substr(0, colon)), std::move(path)});
    if (each.size() == text.size()) return {};
    text.remove_prefix(each.size() + 1);
  }
}

base::Status GetOutput::SetColumns(Shown& shown) const {
  const base::JsonArray& items = base::FindArray(shown.json, {shown.items});
  shown.header.clear();
  for (const Column& column : columns_) shown.header.push_back(column.name);
  for (size_t i = 0; i < shown.rows.size(); ++i) {
    shown.rows[i].clear();
    for (const Column& column : columns_) {
      const auto found = column.path.Find(items.at(i));
      if (!found) return base::Fail(Code::kBadRequest, "column " + column.name + ": " + found.error().message());
      shown.rows[i].push_back(found->empty() ? "<none>" : kube::TextOfValues(*found, ","));
    }
  }
  shown.keys = 0;
  shown.passing.clear();
  return {};
}

base::Result<Shown> GetOutput::Arrange(Shown shown, const std::vector<std::string>& wanted, bool must_be_there) const {
  std::vector<size_t> positions(shown.rows.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::ranges::stable_sort(positions, {}, [&shown](size_t at) -> const std::string& { return shown.names[at]; });
  for (const std::string& name : wanted) {
    const bool is_there = std::ranges::any_of(shown.names, [&](const std::string& each) { return IsNamed(shown, each, name); });
    if (must_be_there && !is_there) EVENKEEL_TRY(NotThere(shown, name));
  }
  std::erase_if(positions, [&](size_t at) {
    return !wanted.empty() &&
           std::ranges::none_of(wanted, [&](const std::string& name) { return IsNamed(shown, shown.names[at], name); });
  });
  Choose(shown, positions);
  if (form_ == Form::kTable) {
    shown.header.resize(shown.header.size() - shown.wide);
    for (std::vector<std::string>& row : shown.rows) row.resize(shown.header.size());
    std::erase_if(shown.passing, [&shown](size_t column) { return column >= shown.header.size(); });
  } else if (form_ == Form::kName) {
    shown.header.clear();
    for (size_t i = 0; i < shown.rows.size(); ++i) shown.rows[i] = {shown.kind + "/" + shown.names[i]};
    shown.keys = 1;
    shown.passing.clear();
  } else if (form_ == Form::kColumns) {
    EVENKEEL_TRY(SetColumns(shown));
  }
  return shown;
}

base::Result<std::string> GetOutput::Document(const Json& json) const {
  if (form_ == Form::kYaml) return base::ToYaml(json);
  if (form_ != Form::kTemplate) return base::ToPrettyText(json) + "\n";
  EVENKEEL_ASSIGN(std::string text, template_.Print(json));
  // As kubectl it ends where its template ends; a shell's prompt would be in the same line.
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

base::Status GetOutput::Print(std::ostream& out, const Shown& arranged) const {
  if (IsTable() || form_ == Form::kColumns) {
    PrintTable(out, arranged.header, arranged.rows);
  } else if (form_ == Form::kName) {
    for (const std::vector<std::string>& row : arranged.rows) PrintRow(out, row, {});
  } else {
    EVENKEEL_ASSIGN(const std::string text, Document(arranged.json));
    out << text;
  }
  return {};
}

}  // namespace evenkeel::cli
