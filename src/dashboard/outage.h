#pragma once

#include <string>

#include "base/time.h"

namespace evenkeel::dashboard {

/// Why a cluster cannot be read at the moment, and since when; without an error it can be read.
struct Outage {
  std::string error;
  base::Time since{};

  explicit operator bool() const { return !error.empty(); }
  bool operator==(const Outage&) const = default;
};

}  // namespace evenkeel::dashboard
