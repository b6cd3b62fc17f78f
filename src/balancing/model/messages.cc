#include "balancing/model/messages.h"

#include <vector>

namespace evenkeel::balancing {

std::string JoinedWithOr(std::span<const std::string_view> names) {
  std::string joined;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) joined += i + 1 == names.size() ? " or " : ", ";
    joined += names[i];
  }
  return joined;
}

}  // namespace evenkeel::balancing
