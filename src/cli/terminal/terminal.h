// A terminal that a command takes over: another screen, no echo, single keys; as it was when it is destroyed.
#pragma once

#include <termios.h>

#include <string>
#include <vector>

#include "base/time.h"

namespace evenkeel::cli {

struct TerminalSize {
  size_t columns = 80, lines = 24;
  bool operator==(const TerminalSize&) const = default;
};

/// Whether standard input and standard output are a terminal that understands how to be drawn on ($TERM).
bool IsTerminal();

/// Takes the whole keys from the beginning of what has been typed: characters, and escape sequences of keys that are none. What
/// has begun and not ended stays for the next time.
std::vector<std::string> TakeKeys(std::string& typed);

class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// As it is now.
  TerminalSize size() const;
  /// Puts the screen in the place of the last one. `screen`: lines that end with a newline and are not longer than the terminal
  /// is wide.
  void Draw(const std::string& screen);
  /// What has been typed, at most after `limit`; "": nothing. It may be many keys, and end in the middle of one.
  std::string Read(base::Duration limit);

 private:
  termios before_{};
};

}  // namespace evenkeel::cli
