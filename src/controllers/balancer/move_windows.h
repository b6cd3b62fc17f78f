// When a policy lets moves begin: spans of the day on some days of the week, in a time zone.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/input/field.h"
#include "base/time.h"

namespace evenkeel::controllers::balancer {

struct MoveWindow {
  uint8_t days = 0x7f;                                       ///< on which it begins; a bit each, from Sunday
  std::chrono::minutes from{0}, to{std::chrono::hours(24)};  ///< of the day; `to` before `from` is on the next day
  std::string zone = "UTC";                                  ///< that the system knows
};

/// A list of {days, from, to, timeZone}, all optional. kInvalid in one line.
base::Status ReadMoveWindows(const base::Field& field, std::vector<MoveWindow>& windows);

/// Why no move may begin now, one clause with the time at which the next window begins; "": one may. Without windows one always
/// may. Where clocks are put forward or back a window is as long as the local clock says.
std::string WhyOutside(const std::vector<MoveWindow>& windows, base::Time now);

}  // namespace evenkeel::controllers::balancer
