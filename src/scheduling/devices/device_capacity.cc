#include "scheduling/devices/device_capacity.h"

#include <algorithm>

namespace evenkeel::scheduling {
namespace {

using kube::Quantity;

/// Up to min + n * step.
Quantity RoundToStep(const Quantity& amount, const Quantity& min, const Quantity& step) {
  const __int128 width = step.Value();
  if (width <= 0) return amount;
  const __int128 above = static_cast<__int128>(amount.Value()) - min.Value();
  const __int128 steps = (above + width - 1) / width;
  const __int128 rounded = min.Value() + steps * width;
  const __int128 most = std::numeric_limits<int64_t>::max();
  return Quantity::FromInt(static_cast<int64_t>(std::min(rounded, most)), Quantity::Format::kBinarySi);
}

/// nullopt: more than may be asked for.
std::optional<Quantity> Rounded(const Quantity& amount, const CapacityPolicy& policy) {
  if (!policy.values.empty()) {
    const auto next = std::ranges::find_if(policy.values, [&](const Quantity& value) { return value >= amount; });
    return next == policy.values.end() ? std::nullopt : std::optional(*next);
  }
  if (!policy.min) return amount;
  Quantity rounded = std::max(amount, *policy.min);
  if (policy.step && rounded > *policy.min) rounded = RoundToStep(rounded, *policy.min, *policy.step);
  if (policy.max && rounded > *policy.max) return std::nullopt;
  return rounded;
}

}  // namespace

std::optional<DeviceAmounts> ConsumedBy(const DeviceRequest& request, const Device& device) {
  const bool known =
      std::ranges::all_of(request.capacity, [&](const auto& asked) { return device.capacity.contains(asked.first); });
  if (!known) return std::nullopt;
  DeviceAmounts consumed;
  for (const auto& [name, capacity] : device.capacity) {
    const auto asked = request.capacity.find(name);
    if (asked == request.capacity.end()) {
      consumed.emplace(name, capacity.policy && capacity.policy->otherwise ? *capacity.policy->otherwise : capacity.value);
      continue;
    }
    const auto rounded = capacity.policy ? Rounded(asked->second, *capacity.policy) : std::optional(asked->second);
    if (!rounded) return std::nullopt;
    consumed.emplace(name, *rounded);
  }
  return consumed;
}

bool CapacityLeft(const DeviceRequest& request, const Device& device, const DeviceAmounts& consumed, const DeviceAmounts& used,
                  const DeviceAmounts* also_used) {
  const auto amount = [](const DeviceAmounts& amounts, const std::string& name) {
    const auto found = amounts.find(name);
    return found == amounts.end() ? Quantity() : found->second;
  };
  return std::ranges::all_of(consumed, [&](const auto& entry) {
    const Quantity& value = device.capacity.find(entry.first)->second.value;
    if (!device.shared) return !request.capacity.contains(entry.first) || entry.second <= value;
    Quantity sum = amount(used, entry.first) + entry.second;
    if (also_used != nullptr) sum += amount(*also_used, entry.first);
    return sum <= value;
  });
}

}  // namespace evenkeel::scheduling
