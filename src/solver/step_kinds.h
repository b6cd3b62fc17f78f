// Which kind of step a search draws next. Kinds share what a search may look at by what they gained lately: a kind whose steps
// lowered the value more for each one looked at is drawn more often, and none dies out, since what is worth nothing now may be
// worth much when the search has cooled down (adaptive selection of operators; Pisinger and Ropke 2007).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace evenkeel::solver {

/// What is kept of a gain after each slice: half of it after some 30.
inline constexpr double kRemembered = 0.977;

class StepKinds {
 public:
  static constexpr int kMost = 8;

  /// `first` has the share of each kind to begin with, 0 for those that are never drawn; O(1).
  explicit StepKinds(std::span<const double> first);

  /// Of six random bits.
  int Draw(uint64_t bits) const { return table_[bits & (kEntries - 1)]; }
  /// A step of this kind was looked at, and changed the value by so much, which is a gain below 0.
  void Note(int kind, double change) {
    looked_[kind] += 1;
    gained_[kind] += change < 0 ? -change : 0;
  }
  /// Between slices: draws from now on by what was noted.
  void Adapt();
  double Share(int kind) const { return share_[kind]; }
  /// What all kinds together gain for each step that is looked at, of late.
  double Rate() const;

 private:
  static constexpr int kEntries = 64;
  void MakeTable();

  int kinds_ = 0;
  std::array<double, kMost> first_{}, share_{}, looked_{}, gained_{};
  std::array<uint8_t, kEntries> table_{};
};

}  // namespace evenkeel::solver
