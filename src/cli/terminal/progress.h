// A line on a terminal that says how far long work is, how fast it goes and how long it is still going to take. Nothing is
// written where nobody looks: in pipes, files and logs.
#pragma once

#include <cstdint>
#include <mutex>
#include <ostream>
#include <string>

#include "base/time.h"

namespace evenkeel::cli {

struct ProgressWork {
  std::string what;  ///< "simulate"
  /// How amounts are written: "122 of 200 seeds, 4.1/s"; seconds that are simulated, "32m0s of 1h0m0s, 410 times as fast";
  /// seconds of the clock, "12s of 30s".
  enum class Amount : uint8_t { kCount, kSimulated, kTime } amount = Amount::kCount;
  std::string unit{};  ///< of a count, e.g. "seeds"
  double total = 0;
};

/// "3.4M steps, 280k/s": what has been done of work whose end is not an amount. `taken`: by it.
std::string RateText(double done, base::Duration taken, const std::string& unit);

/// The line, at most so many columns long: the bar gives way to what is said. `taken`: by what is done. `note`: comes last; may
/// be "".
std::string ProgressLine(const ProgressWork& work, double done, base::Duration taken, const std::string& note, int columns);

/// Standard error if it is a terminal that can take a line back, otherwise null.
std::ostream* ProgressTerminal();
/// Of that terminal.
int ProgressColumns();

/// The line as long as it lives. From any thread.
class Progress {
 public:
  /// Nothing is shown before so long, and not more often.
  static constexpr base::Duration kEvery = std::chrono::milliseconds(100);

  /// @param out  null: nothing is written. It and the clock must outlive it.
  Progress(std::ostream* out, int columns, const base::Clock& clock, ProgressWork work);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Takes the line back.
  ~Progress();

  /// So much is done.
  void At(double done, const std::string& note = "");

 private:
  std::ostream* const out_;
  const int columns_;
  const base::Clock& clock_;
  const ProgressWork work_;
  const base::Instant begun_;
  std::mutex mutex_;
  base::Instant shown_;
  bool visible_ = false;
};

}  // namespace evenkeel::cli
