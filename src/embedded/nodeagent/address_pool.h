// The addresses of one node's pods.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace evenkeel::embedded::nodeagent {

/// IPv4 addresses of a CIDR, without its first (network), second (the node's) and last. Freed addresses come round last.
class AddressPool {
 public:
  /// "127.10.3.0/24"; prefixes from /8 to /30. kInvalid names the text.
  static base::Result<AddressPool> Parse(std::string_view cidr);

  /// nullopt when all are taken.
  std::optional<std::string> Allocate();
  /// Takes a given address; false when it is not of this pool or already taken.
  bool Reserve(std::string_view address);
  void Release(std::string_view address);

 private:
  uint32_t first_ = 0, last_ = 0, next_ = 0;
  std::set<uint32_t> taken_;
};

}  // namespace evenkeel::embedded::nodeagent
