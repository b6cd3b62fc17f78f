#include "sim/world/fleet_samples.h"

namespace evenkeel::sim {

void FleetSamples::Add(FleetSample sample) {
  if (all_.size() == kMost) {
    // The first stays, and so do those that twice the interval would have taken.
    for (size_t kept = 1; 2 * kept < all_.size(); ++kept) all_[kept] = std::move(all_[2 * kept]);
    all_.resize((all_.size() + 1) / 2);
    interval_ *= 2;
  }
  due_ = (sample.at / interval_ + 1) * interval_;
  all_.push_back(std::move(sample));
}

uint32_t FleetSamples::NumberOf(std::string_view text) {
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  const auto made = numbers_.emplace(text, static_cast<uint32_t>(texts_.size())).first;
  texts_.push_back(&made->first);
  return made->second;
}

}  // namespace evenkeel::sim
