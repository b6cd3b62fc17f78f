#include "solver/cooling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace evenkeel::solver {
namespace {

/// The time at a temperature grows with this power of what was gained there: a pilot is too fast to gain at low temperatures
/// what a longer annealing does.
constexpr double kPower = 0.7;
/// Of the mean time: what the least of all temperatures gets.
constexpr double kLeast = 0.1;
/// Less than that, of the logarithm of the value, is no gain any more.
constexpr double kNoGain = 5e-4;

/// By sample: ln of how far the value is above the bound.
std::vector<double> Heights(std::span<const Cooling::Sample> pilot, double bound) {
  std::vector<double> heights;
  for (const Cooling::Sample& sample : pilot) heights.push_back(std::log(std::max(1.0, sample.value - bound + 1)));
  return heights;
}

}  // namespace

Cooling::Cooling(double hottest, double coldest) : points_{{0, std::log(hottest)}, {1, std::log(coldest)}} {}

Cooling::Cooling(std::span<const Sample> pilot, double bound) {
  const std::vector<double> heights = Heights(pilot, bound);
  const double lowest = *std::ranges::min_element(heights);
  size_t count = 1;  // of samples up to the one at which nothing more was gained
  while (heights[count - 1] - lowest > kNoGain) ++count;
  std::vector<double> gains(heights.size());
  for (size_t i = 1; i < heights.size(); ++i) gains[i] = std::pow(std::max(0.0, heights[i - 1] - heights[i]), kPower);
  gains[0] = gains[1];
  // Each with its neighbours, since a pilot is rough.
  std::vector<double> time(count);
  double all = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t first = i == 0 ? 0 : i - 1, last = std::min(gains.size() - 1, i + 1);
    for (size_t j = first; j <= last; ++j) time[i] += gains[j] / static_cast<double>(last - first + 1);
    all += time[i];
  }
  const double least = all > 0 ? kLeast * all / static_cast<double>(count) : 1;
  all = 0;
  for (double& each : time) all += each = std::max(each, least);
  const double step = std::log(pilot[0].temperature / pilot[1].temperature);
  double progress = 0;
  points_.push_back({0, std::log(pilot[0].temperature) + step / 2});
  for (const double each : time) {
    progress += each / all;
    points_.push_back({progress, points_.back().log_temperature - step});
  }
}

double Cooling::Temperature(double progress) const {
  const auto end = std::ranges::upper_bound(points_, progress, {}, &Point::progress);
  if (end == points_.begin()) return std::exp(points_.front().log_temperature);
  if (end == points_.end()) return std::exp(points_.back().log_temperature);
  const Point &from = *std::prev(end), &to = *end;
  const double share = (progress - from.progress) / (to.progress - from.progress);
  return std::exp(from.log_temperature + share * (to.log_temperature - from.log_temperature));
}

}  // namespace evenkeel::solver
