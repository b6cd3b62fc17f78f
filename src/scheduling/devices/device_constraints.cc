#include "scheduling/devices/device_constraints.h"

#include <algorithm>

namespace evenkeel::scheduling {

const DeviceAttribute* FindAttribute(const Device& device, std::string_view driver, std::string_view name) {
  if (const auto found = device.attributes.find(name); found != device.attributes.end()) return &found->second;
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.substr(0, slash) != driver) return nullptr;
  const auto found = device.attributes.find(name.substr(slash + 1));
  return found == device.attributes.end() ? nullptr : &found->second;
}

bool ConstraintState::Concerns(std::string_view request, std::string_view choice) const {
  const std::vector<std::string>& requests = constraint_->requests;
  if (requests.empty()) return true;
  return std::ranges::any_of(requests, [&](const std::string& name) {
    if (name == request) return true;
    return !choice.empty() && name.size() == request.size() + 1 + choice.size() && name.starts_with(request) &&
           name[request.size()] == '/' && name.ends_with(choice);
  });
}

bool ConstraintState::Add(std::string_view request, std::string_view choice, const Device& device, std::string_view driver) {
  if (!Concerns(request, choice)) return true;
  const DeviceAttribute* attribute = FindAttribute(device, driver, constraint_->attribute);
  if (attribute == nullptr) return false;
  if (constraint_->kind == DeviceConstraint::Kind::kMatch) {
    if (devices_ == 0) {
      common_ = attribute;
    } else if (!attribute->Equals(*common_)) {
      return false;
    }
    ++devices_;
    return true;
  }
  if (devices_ > 0) {
    if (attribute->type == DeviceAttribute::Type::kUnknown) return false;
    if (std::ranges::any_of(last_, [&](const auto& entry) { return attribute->Equals(*entry.second); })) return false;
  }
  ++devices_;
  last_[std::string(request)] = attribute;
  return true;
}

void ConstraintState::Remove(std::string_view request, std::string_view choice) {
  if (!Concerns(request, choice)) return;
  --devices_;
  if (const auto found = last_.find(request); found != last_.end()) last_.erase(found);
}

}  // namespace evenkeel::scheduling
