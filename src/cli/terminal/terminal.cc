#include "cli/terminal/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "base/input/file.h"

namespace evenkeel::cli {
namespace {

/// Another screen, no cursor, and no next line for what is too long: a character may take two columns.
constexpr std::string_view kEnterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// A terminal that takes no more has gone; the next key says so.
void Print(std::string_view text) { (void)base::WriteAll(STDOUT_FILENO, text, "writing to the terminal"); }

/// How many bytes the key at the beginning has; 0: it has not ended yet.
size_t KeyBytes(std::string_view typed) {
  if (typed.front() != '\x1b' || typed.size() == 1 || (typed[1] != '[' && typed[1] != 'O')) return 1;
  // ESC O and one character; ESC [, parameters, and a character that ends it.
  if (typed[1] == 'O') return typed.size() < 3 ? 0 : 3;
  size_t at = 2;
  while (at < typed.size() && typed[at] >= ' ' && typed[at] < '@') ++at;
  return at == typed.size() ? 0 : at + 1;
}

}  // namespace

std::vector<std::string> TakeKeys(std::string& typed) {
  std::vector<std::string> keys;
  size_t taken = 0;
  while (taken < typed.size()) {
    const size_t bytes = KeyBytes(std::string_view(typed).substr(taken));
    if (bytes == 0) break;
    keys.push_back(typed.substr(taken, bytes));
    taken += bytes;
  }
  typed.erase(0, taken);
  return keys;
}

bool IsTerminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

Terminal::Terminal() {
  tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  Print(kEnterScreen);
}

Terminal::~Terminal() {
  Print(kLeaveScreen);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

TerminalSize Terminal::size() const {
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return {};
  return {window.ws_col, window.ws_row};
}

void Terminal::Draw(const std::string& screen) {
  std::string out = "\x1b[H";
  for (size_t begin = 0; begin < screen.size();) {
    const size_t end = screen.find('\n', begin);
    // The last line must not scroll the screen.
    if (begin > 0) out += "\r\n";
    out += std::string_view(screen).substr(begin, end - begin);
    out += "\x1b[K";
    begin = end + 1;
  }
  Print(out + "\x1b[J");
}

std::string Terminal::Read(base::Duration limit) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  if (poll(&input, 1, static_cast<int>(milliseconds)) <= 0) return "";
  std::array<char, 64> buffer{};
  const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
  return count <= 0 ? "" : std::string(buffer.data(), static_cast<size_t>(count));
}

}  // namespace evenkeel::cli
