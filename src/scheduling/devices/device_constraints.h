// matchAttribute and distinctAttribute of a claim, while its devices are chosen.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "scheduling/devices/device_objects.h"

namespace evenkeel::scheduling {

/// Null: the device has no such attribute. A name of the driver's own domain may be written without it.
const DeviceAttribute* FindAttribute(const Device& device, std::string_view driver, std::string_view name);

/// One constraint and the devices that were added so far. Each Add that answered true is taken back by Remove with the same
/// arguments, the last one first.
class ConstraintState {
 public:
  explicit ConstraintState(const DeviceConstraint& constraint) : constraint_(&constraint) {}
  /// `choice`: the name of the alternative; "": the request has none. False: the device cannot be added, and was not.
  bool Add(std::string_view request, std::string_view choice, const Device& device, std::string_view driver);
  void Remove(std::string_view request, std::string_view choice);

 private:
  bool Concerns(std::string_view request, std::string_view choice) const;

  const DeviceConstraint* constraint_;
  int64_t devices_ = 0;
  const DeviceAttribute* common_ = nullptr;
  /// As upstream does, only the last value of each request is remembered: a request for three devices may repeat the first.
  std::map<std::string, const DeviceAttribute*, std::less<>> last_;
};

}  // namespace evenkeel::scheduling
