// `get ... --watch`: the table once, and then the rows that have changed, as kubectl does.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "cli/terminal/get_output.h"

namespace evenkeel::cli {

class RowWatch {
 public:
  /// `names`: of the rows that are shown; empty: all.
  RowWatch(GetOutput output, std::vector<std::string> names, std::ostream& out)
      : output_(std::move(output)), names_(std::move(names)), out_(out) {}
  /// Prints what differs from what was shown last; at first all. A row that has gone is printed with <gone> after its keys.
  /// What is for programs: the document, when it is another. Errors: at first, that there is nothing of one of the names; and
  /// those of the form.
  base::Status Show(const Shown& shown);

 private:
  struct Row {
    std::vector<std::string> keys, lasting;  ///< the first cells; the cells without the passing ones
  };
  base::Status ShowDocument(const Shown& arranged, bool first);
  void ShowRows(const Shown& arranged, bool first);

  const GetOutput output_;
  const std::vector<std::string> names_;
  std::ostream& out_;
  bool first_ = true;
  std::vector<size_t> widths_;
  std::map<std::string, Row> rows_;  ///< by name
  base::Json document_;
};

}  // namespace evenkeel::cli
