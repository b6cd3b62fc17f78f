// Warnings about what a provider reads: each is logged when it begins, not at every loop again.
#pragma once

#include <algorithm>
#include <set>
#include <string>

#include "base/log.h"
#include "base/utf8.h"

namespace evenkeel::providers {

using base::OneLine;

/// The same error with its message on one line: what parsers say may quote what they have read.
inline base::Error OnOneLine(const base::Error& error) {
  std::string line = error.message();
  std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return {error.code(), std::move(line)};
}

/// Not thread-safe.
class Warnings {
 public:
  /// Once per Refresh, before the first Add: what is not said again is over.
  void Begin() {
    before_ = std::move(now_);
    now_.clear();
  }
  void Add(const std::string& what) {
    if (now_.insert(what).second && !before_.contains(what))
      base::log::Warn("what a provider reads is used only in part", {{"why", what}});
  }
  /// All that has been said since Begin, sorted.
  const std::set<std::string>& now() const { return now_; }

 private:
  std::set<std::string> before_, now_;
};

}  // namespace evenkeel::providers
