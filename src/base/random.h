// Random numbers that are the same on every machine for the same seed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace evenkeel::base {

/// xoshiro256** seeded through SplitMix64. Not thread-safe: give each strand its own fork. Own code rather than <random>,
/// because std::*_distribution differs between standard libraries.
class Random {
 public:
  explicit Random(uint64_t seed);

  /// A generator that depends on this one's seed and the name only, not on how many numbers were drawn: a new user of
  /// randomness does not change what the others see.
  Random Fork(std::string_view name) const;

  uint64_t Next();
  /// Uniform in [0, bound); bound > 0.
  uint64_t Below(uint64_t bound);
  /// Uniform in [low, high].
  int64_t Between(int64_t low, int64_t high);
  /// Uniform in [0, 1).
  double Unit();
  bool Chance(double probability) { return Unit() < probability; }
  /// Uniform in [low, high].
  Duration Between(Duration low, Duration high);
  /// As Kubernetes makes name suffixes: letters and digits without vowels and easily confused ones.
  std::string NameSuffix(int length = 5);
  /// A version 4 UUID.
  std::string Uuid();

  /// The next numbers are the same.
  bool operator==(const Random&) const = default;

 private:
  uint64_t seed_;
  uint64_t state_[4];
};

/// A seed from the operating system, for production.
uint64_t EntropySeed();

}  // namespace evenkeel::base
