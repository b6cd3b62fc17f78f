// `get ... --watch`: the table once, and then the rows that have changed, as kubectl does.
#pragma once

#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cli/terminal/output.h"

namespace evenkeel::cli {

/// What a command shows, in both of its forms.
struct Shown {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  size_t keys = 1;                 ///< so many of the first cells tell rows apart
  std::set<size_t> passing{};      ///< columns that change by themselves as time goes by: their change is none
  base::Json json;                 ///< for programs
  std::set<std::string> clocks{};  ///< keys of it, at any depth, that change by themselves as well
};

/// All of it, once.
void PrintShown(std::ostream& out, Format format, const Shown& shown);

class RowWatch {
 public:
  RowWatch(Format format, std::ostream& out) : format_(format), out_(out) {}
  /// Prints what differs from what was shown last; at first all. A row that has gone is printed with <gone> after its keys.
  /// JSON and YAML: the document, when it is another.
  void Show(const Shown& shown);

 private:
  const Format format_;
  std::ostream& out_;
  bool first_ = true;
  std::vector<size_t> widths_;
  std::map<std::vector<std::string>, std::vector<std::string>> rows_;  ///< by keys: cells without the passing ones
  base::Json document_;
};

}  // namespace evenkeel::cli
