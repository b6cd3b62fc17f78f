#include "cli/terminal/progress.h"

#include <spdlog/fmt/fmt.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace evenkeel::cli {
namespace {

constexpr int kBarColumns = 24, kBarColumnsMin = 8;
constexpr int kColumnsDefault = 80;
constexpr std::string_view kTakeBack = "\r\033[K";

/// "7", "4.1", "12.3k", "3.4M".
std::string Short(double value) {
  const auto scaled = [](double number, const char* suffix) {
    return number < 100 && suffix[0] != '\0' ? fmt::format("{:.1f}{}", number, suffix)
                                             : fmt::format("{:.0f}{}", number, suffix);
  };
  if (value >= 1e9) return scaled(value / 1e9, "G");
  if (value >= 1e6) return scaled(value / 1e6, "M");
  if (value >= 1e4) return scaled(value / 1e3, "k");
  return value < 10 && value != std::floor(value) ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

std::string Span(double seconds) {
  return base::FormatDuration(std::chrono::seconds(static_cast<int64_t>(std::ceil(std::max(0.0, seconds)))));
}

std::string AmountText(const ProgressWork& work, double done, double rate) {
  switch (work.amount) {
    case ProgressWork::Amount::kCount:
      return fmt::format("{} of {} {}, {}/s", Short(done), Short(work.total), work.unit, Short(rate));
    case ProgressWork::Amount::kSimulated:
      return fmt::format("{} of {}, {} times as fast", Span(std::floor(done)), Span(work.total), Short(std::round(rate)));
    case ProgressWork::Amount::kTime:
      return fmt::format("{} of {}", Span(std::floor(done)), Span(work.total));
  }
  return "";
}

double RateOf(double done, base::Duration taken) {
  const double seconds = std::chrono::duration<double>(taken).count();
  return seconds > 0 ? done / seconds : 0;
}

}  // namespace

std::string RateText(double done, base::Duration taken, const std::string& unit) {
  return fmt::format("{} {}, {}/s", Short(done), unit, Short(std::round(RateOf(done, taken))));
}

std::string ProgressLine(const ProgressWork& work, double done, base::Duration taken, const std::string& note, int columns) {
  done = std::clamp(done, 0.0, work.total);
  const double share = work.total > 0 ? done / work.total : 1;
  const double rate = RateOf(done, taken);
  std::string text = fmt::format("{:3.0f} %  {}", std::floor(share * 100), AmountText(work, done, rate));
  if (rate > 0) text += fmt::format(", {} left", Span((work.total - done) / rate));
  if (!note.empty()) text += ", " + note;
  // The last column is left free: a terminal may go to its next line there.
  const int left = columns - 1 - static_cast<int>(work.what.size() + std::string_view(" [] ").size() + text.size());
  const int bar = std::clamp(left, kBarColumnsMin, kBarColumns), full = static_cast<int>(share * bar);
  std::string line = fmt::format("{} [{}{}] {}", work.what, std::string(static_cast<size_t>(full), '#'),
                                 std::string(static_cast<size_t>(bar - full), '-'), text);
  if (std::ssize(line) >= columns) line.resize(static_cast<size_t>(std::max(0, columns - 1)));
  return line;
}

std::ostream* ProgressTerminal() {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return isatty(STDERR_FILENO) == 1 && !dumb ? &std::cerr : nullptr;
}

int ProgressColumns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kColumnsDefault;
  return size.ws_col;
}

Progress::Progress(std::ostream* out, int columns, const base::Clock& clock, ProgressWork work)
    : out_(out), columns_(columns), clock_(clock), work_(std::move(work)), begun_(clock.Monotonic()), shown_(begun_) {}

Progress::~Progress() {
  if (visible_) *out_ << kTakeBack << std::flush;
}

void Progress::At(double done, const std::string& note) {
  if (out_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  const base::Instant now = clock_.Monotonic();
  if (now - shown_ < kEvery) return;
  shown_ = now;
  visible_ = true;
  *out_ << kTakeBack << ProgressLine(work_, done, now - begun_, note, columns_) << std::flush;
}

}  // namespace evenkeel::cli
