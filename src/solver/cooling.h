// How fast an annealing cools. Problems freeze at very different temperatures, and some twice: what a full node costs may be a
// million times what a move costs. So a pilot, a quick annealing from very hot to very cold, goes first, and the annealing
// proper stays at a temperature the longer, the more the pilot gained there. Gains are taken of the logarithm of the value
// above its lower bound, so that costs in other units, or a cost that nobody can avoid, change nothing. Related: schedules of
// constant thermodynamic speed (Salamon et al. 1988; Lam and Delosme 1988).
#pragma once

#include <span>
#include <vector>

namespace evenkeel::solver {

class Cooling {
 public:
  struct Sample {
    double temperature = 0;
    double value = 0;  ///< the mean of what the pilot had there
  };

  /// The same time for every factor of temperature.
  Cooling(double hottest, double coldest);
  /// By a pilot of two samples at least, of which each is colder than the one before by the same factor. No value is below
  /// `bound`. The end is where nothing was gained any more.
  Cooling(std::span<const Sample> pilot, double bound);

  /// Falling in `progress`, which is from 0 to 1. O(log(samples)).
  double Temperature(double progress) const;

 private:
  // Between two points the logarithm of the temperature falls evenly.
  struct Point {
    double progress = 0, log_temperature = 0;
  };
  std::vector<Point> points_;
};

}  // namespace evenkeel::solver
