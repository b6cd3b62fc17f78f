// Regular expressions in the syntax and with the meaning of Go's, which are those of RE2: of code points, in time linear in the
// text, without look-around and back references. The one way in which this program matches patterns from outside.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace evenkeel::base {

/// Immutable, thread-safe. Equal texts share one. Of all patterns of the process the most recently used ones stay compiled, as
/// far as what they may grow to is at most kCompiledBytesMax together.
class Pattern {
 public:
  static constexpr size_t kTextBytesMax = 1 << 20;
  static constexpr size_t kCompiledBytesMax = size_t{512} << 20;

  /// kInvalid in Go's words, e.g. "error parsing regexp: missing closing ]: `[a`".
  static Result<std::shared_ptr<const Pattern>> Parse(std::string_view text);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  const std::string& text() const { return text_; }
  /// Whether it occurs in the text, which is UTF-8.
  bool Matches(std::string_view text) const;
  /// The matches from left to right, at most so many, as Go's FindAll has them: an empty one does not touch the one before.
  std::vector<std::string_view> FindAll(std::string_view text, size_t most) const;

 private:
  explicit Pattern(std::string_view text) : text_(text) {}
  std::string text_;
};

}  // namespace evenkeel::base
