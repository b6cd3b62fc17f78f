// A kind of Event described once: where it is written and where it is documented (`evenkeel docs events`) go by the same words.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace evenkeel::client {

struct EventKind {
  const char* reason;
  bool warning;       ///< else normal
  const char* about;  ///< kinds of the objects that it is about
  const char* when;
};

/// Null when it is not in the table.
inline const EventKind* FindEventKind(std::span<const EventKind> table, std::string_view reason) {
  const auto found = std::ranges::find(table, reason, &EventKind::reason);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace evenkeel::client
