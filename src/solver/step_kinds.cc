#include "solver/step_kinds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace evenkeel::solver {
namespace {

/// What a kind keeps of its first share, whatever it gains.
constexpr double kKept = 0.75;

}  // namespace

StepKinds::StepKinds(std::span<const double> first) : kinds_(static_cast<int>(std::min<size_t>(first.size(), kMost))) {
  const double all = std::accumulate(first.begin(), first.begin() + kinds_, 0.0);
  for (int kind = 0; kind < kinds_; ++kind) share_[kind] = first_[kind] = first[kind] / all;
  MakeTable();
}

void StepKinds::Adapt() {
  std::array<double, kMost> rate{};
  double all = 0;
  for (int kind = 0; kind < kinds_; ++kind) {
    rate[kind] = looked_[kind] == 0 ? 0 : gained_[kind] / looked_[kind];
    all += first_[kind] == 0 ? 0 : rate[kind];
  }
  for (int kind = 0; kind < kinds_; ++kind) {
    looked_[kind] *= kRemembered;
    gained_[kind] *= kRemembered;
    if (all > 0) share_[kind] = first_[kind] == 0 ? 0 : kKept * first_[kind] + (1 - kKept) * rate[kind] / all;
  }
  MakeTable();
}

double StepKinds::Rate() const {
  const double looked_at = std::accumulate(looked_.begin(), looked_.end(), 0.0);
  return looked_at == 0 ? 0 : std::accumulate(gained_.begin(), gained_.end(), 0.0) / looked_at;
}

// Every kind that is drawn at all has an entry.
void StepKinds::MakeTable() {
  double upto = 0;
  int entry = 0;
  for (int kind = 0, left = kinds_; kind < kinds_; ++kind, --left) {
    if (share_[kind] <= 0) continue;
    upto += share_[kind];
    const int last = std::clamp(static_cast<int>(std::lround(upto * kEntries)), entry + 1, kEntries - (left - 1));
    while (entry < last) table_[entry++] = static_cast<uint8_t>(kind);
  }
}

}  // namespace evenkeel::solver
