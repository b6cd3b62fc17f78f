// What a node buffer leaves of a capacity.
#pragma once

#include <cmath>
#include <cstdint>

namespace evenkeel::balancing {

/// floor(capacity * (1 - share)), not spoilt by shares that binary fractions do not hold exactly.
inline int64_t LessBuffer(int64_t capacity, double share) {
  if (share <= 0) return capacity;
  if (share >= 1) return 0;
  const long double buffer = static_cast<long double>(capacity) * share;
  return capacity - static_cast<int64_t>(std::ceil(buffer - (1e-9L + buffer * 4e-16L)));
}

}  // namespace evenkeel::balancing
