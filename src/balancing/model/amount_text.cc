#include "balancing/model/amount_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/time.h"

namespace evenkeel::balancing {
namespace {

/// Without zeros at the end.
std::string Rounded(double value, int digits) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.find('.') != std::string::npos) text.resize(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string BytesText(double bytes) {
  constexpr std::array<std::string_view, 7> kSuffixes = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  size_t suffix = 0;
  while (std::abs(bytes) >= 1024 && suffix + 1 < kSuffixes.size()) {
    bytes /= 1024;
    ++suffix;
  }
  return Rounded(bytes, 2) + std::string(kSuffixes[suffix]);
}

}  // namespace

std::string AmountText(const Metric& metric, int64_t amount) {
  const double scaled = static_cast<double>(amount) * static_cast<double>(metric.scale);
  switch (metric.unit) {
    case Unit::kMilli:
      return Rounded(scaled / 1000, 3);
    case Unit::kByte:
      return BytesText(scaled);
    case Unit::kNone:
      break;
  }
  // The sum of loads that people gave may be beyond 64 bits.
  return metric.scale == 1 ? std::to_string(amount) : Rounded(scaled, 0);
}

std::string SecondsText(double seconds) {
  if (seconds < 10) return Rounded(seconds, 1) + "s";
  // Settings may ask for more than a Duration holds.
  constexpr double kSecondsMax = 9e9;
  return base::HumanDuration(
      std::chrono::round<std::chrono::seconds>(std::chrono::duration<double>(std::min(seconds, kSecondsMax))));
}

}  // namespace evenkeel::balancing
