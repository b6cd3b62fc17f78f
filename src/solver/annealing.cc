#include "solver/annealing.h"

#include <array>
#include <cmath>

namespace evenkeel::solver {
namespace {

/// -ln of evenly spaced chances: what a step may cost at temperature 1, drawn by index.
constexpr int kChances = 1 << 14;
const std::array<double, kChances>& Chances() {
  static const auto* table = [] {
    auto* made = new std::array<double, kChances>;
    for (int i = 0; i < kChances; ++i) (*made)[i] = -std::log((i + 0.5) / kChances);
    return made;
  }();
  return *table;
}

/// In [0, bound), from 32 random bits.
uint32_t Draw(uint64_t bits, uint32_t bound) { return static_cast<uint32_t>(((bits & 0xffffffff) * bound) >> 32); }

/// What RunSlice does, compiled for whichever processor its caller is for.
void Slice(Annealing& annealing) {
  State& state = annealing.state;
  const std::array<double, kChances>& chances = Chances();
  const auto objects = static_cast<uint32_t>(state.problem().objects());
  const auto nodes = static_cast<uint32_t>(state.problem().nodes());
  const double temperature = annealing.temperature, price = annealing.price;
  for (int64_t i = 0; i < kSlice; ++i) {
    const uint64_t bits = annealing.random.Next(), more = annealing.random.Next();
    const auto a = static_cast<ObjectId>(Draw(bits, objects));
    const double limit = temperature * chances[more & (kChances - 1)];
    const uint64_t kind = (more >> 14) & 63;
    if (kind < 32) {
      const auto b = static_cast<ObjectId>(Draw(bits >> 32, objects));
      if (state.NodeOf(a) == state.NodeOf(b)) continue;
      const double delta = state.TrySwap(a, b, price, limit);
      if (delta > limit || delta + state.GroupMoveSwapDelta(a, b) > limit || !state.RulesAllowSwap(a, b)) continue;
      annealing.Swapped(a, b);
    } else {
      const NodeId to = kind < 36 ? state.problem().initial[a] : static_cast<NodeId>(Draw(bits >> 32, nodes));
      if (state.NodeOf(a) == to) continue;
      const double delta = state.TryShift(a, to, price, limit);
      if (delta > limit || delta + state.GroupMoveDelta(a, to) > limit || !state.RulesAllow(a, to)) continue;
      annealing.Shifted(a, to);
    }
  }
  annealing.evaluations += kSlice;
}

#ifdef __x86_64__
[[gnu::target("avx2"), gnu::flatten]] void SliceWithWideVectors(Annealing& annealing) { Slice(annealing); }
#endif

}  // namespace

void RunSlice(Annealing& annealing) {
#ifdef __x86_64__
  // Amounts are exact, so the answer is the same.
  static const bool has_wide_vectors = __builtin_cpu_supports("avx2");
  if (has_wide_vectors) return SliceWithWideVectors(annealing);
#endif
  Slice(annealing);
}

}  // namespace evenkeel::solver
