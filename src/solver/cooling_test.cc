#include "solver/cooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace evenkeel::solver::cooling_test {
namespace {

using Sample = Cooling::Sample;

TEST(CoolingTest, FallsEvenlyWithoutAPilot) {
  const Cooling cooling(100, 0.01);
  EXPECT_DOUBLE_EQ(cooling.Temperature(0), 100);
  EXPECT_NEAR(cooling.Temperature(0.5), 1, 1e-9);
  EXPECT_NEAR(cooling.Temperature(1), 0.01, 1e-12);
}

/// From 1e4 down by factors of 10.
std::vector<Sample> PilotOf(const std::vector<double>& values) {
  std::vector<Sample> pilot;
  double temperature = 1e4;
  for (const double value : values) {
    pilot.push_back({temperature, value});
    temperature /= 10;
  }
  return pilot;
}

/// The share of the time between two temperatures.
double TimeBetween(const Cooling& cooling, double hot, double cold) {
  constexpr int kParts = 10'000;
  int inside = 0;
  for (int i = 0; i < kParts; ++i) {
    const double temperature = cooling.Temperature((i + 0.5) / kParts);
    inside += temperature <= hot && temperature > cold;
  }
  return static_cast<double>(inside) / kParts;
}

TEST(CoolingTest, StaysWhereThePilotGained) {
  // Most is gained about 1e4 to 1e2 and again about 1e-3, hardly anything between.
  const Cooling cooling(PilotOf({1e9, 1e7, 1e5, 1e5, 1e5, 1e5, 1e5, 1e3, 1e2, 1e2, 1e2}), 0);
  const double above = TimeBetween(cooling, 1e5, 30), between = TimeBetween(cooling, 30, 0.03);
  const double below = TimeBetween(cooling, 0.03, 1e-9);
  EXPECT_GT(above, 3 * between);
  EXPECT_GT(below, 3 * between);
  EXPECT_GT(between, 0.02) << "no temperature is left out";
}

TEST(CoolingTest, EndsWhereNothingMoreIsGained) {
  const Cooling cooling(PilotOf({1e9, 1e7, 1e5, 1e4, 1e4, 1e4, 1e4}), 0);
  EXPECT_GT(cooling.Temperature(1), 1) << "the fourth sample was at 10";
}

TEST(CoolingTest, UnitsOfCostAndWhatNobodyCanAvoidChangeNothing) {
  const std::vector<double> values = {9e8, 4e8, 2e8, 1e8, 9e7, 8.9e7, 8.9e7};
  std::vector<double> dearer;
  for (const double value : values) dearer.push_back(1000 * value + 7e13);
  const Cooling cooling(PilotOf(values), 0), same(PilotOf(dearer), 7e13);
  for (double progress = 0; progress <= 1; progress += 0.05)
    EXPECT_NEAR(std::log(cooling.Temperature(progress)), std::log(same.Temperature(progress)), 1e-3);
}

TEST(CoolingTest, NeverRises) {
  for (const std::vector<double>& values : {std::vector<double>{5, 5}, {5, 9, 2, 7, 1, 1}, {0, 0, 0}, {1e15, 1, 1e15}}) {
    const Cooling cooling(PilotOf(values), 0);
    for (double progress = 0, last = cooling.Temperature(0); progress <= 1; progress += 0.01) {
      const double now = cooling.Temperature(progress);
      EXPECT_TRUE(std::isfinite(now));
      EXPECT_GT(now, 0);
      EXPECT_LE(now, last * (1 + 1e-12));
      last = now;
    }
  }
}

}  // namespace
}  // namespace evenkeel::solver::cooling_test
