// How `get` answers: which rows, in which order, in which form.
#pragma once

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cli/terminal/output.h"
#include "kube/json_template.h"

namespace evenkeel::cli {

/// What the flags and arguments of every `get` are read into.
struct GetOptions {
  std::string output = "table";    ///< a form, see GetOutput
  std::vector<std::string> names;  ///< only these; empty: all
  bool watch = false;              ///< until a signal comes, what changes
};

/// What a command shows, in both of its forms.
struct Shown {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  size_t keys = 1;                   ///< so many of the first cells tell rows apart
  std::set<size_t> passing{};        ///< columns that change by themselves as time goes by: their change is none
  size_t wide = 0;                   ///< so many of the last columns are for -o wide alone
  std::string kind{};                ///< what a row is: "cluster"
  std::vector<std::string> names{};  ///< of the rows; parts of a name are separated by slashes
  base::Json json;                   ///< for programs
  std::string items{};               ///< the key of the list in it whose items are the rows
  std::set<std::string> clocks{};    ///< keys of it, at any depth, that change by themselves as well
};

class GetOutput {
 public:
  enum class Form { kTable, kWide, kName, kJson, kYaml, kTemplate, kColumns };

  /// Of "table", "wide", "name", "json", "yaml", "jsonpath=TEMPLATE" and "custom-columns=NAME:PATH,...". kBadRequest names
  /// them, or says what is wrong with the template.
  static base::Result<GetOutput> Parse(const std::string& output);

  Form form() const { return form_; }
  /// Whether it is for people, who may be told more than the rows.
  bool IsTable() const { return form_ == Form::kTable || form_ == Form::kWide; }

  /// The same in order of names, with those rows alone that `wanted` names (nothing: all), and the columns of this form. A name
  /// is given as it is, behind its kind and a slash, or by its last part. kNotFound: there is none, if `must_be_there`.
  base::Result<Shown> Arrange(Shown shown, const std::vector<std::string>& wanted, bool must_be_there) const;
  /// What is for programs, of what has been arranged: a document, or the text of the template.
  base::Result<std::string> Document(const base::Json& json) const;
  /// All of it.
  base::Status Print(std::ostream& out, const Shown& arranged) const;

 private:
  struct Column {
    std::string name;
    kube::JsonPath path;
  };
  base::Status ParseColumns(std::string_view text);
  base::Status SetColumns(Shown& shown) const;

  Form form_ = Form::kTable;
  kube::JsonTemplate template_;
  std::vector<Column> columns_;
};

}  // namespace evenkeel::cli
