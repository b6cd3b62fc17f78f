#include "controllers/rollout/zookeeper/spec/quorum_tls.h"

#include <algorithm>
#include <array>

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::FindString;
using base::Json;

constexpr std::array<std::string_view, 4> kQuorumModes = {"", "Accept", "Prefer", "Require"};
constexpr int kOff = 0, kRequire = 3;

int ModeOf(const Json& body) {
  if (FindString(body, {"tls", "quorumSecret"}).empty()) return kOff;
  const auto* found = std::ranges::find(kQuorumModes, FindString(body, {"tls", "quorumMode"}, kQuorumModes[kRequire]));
  return found == kQuorumModes.end() ? kRequire : static_cast<int>(found - kQuorumModes.begin());
}

}  // namespace

Json StepQuorumTls(const Json& wanted, const std::vector<const Json*>& in_force) {
  int mode = ModeOf(wanted), lowest = kRequire, highest = kOff;
  std::string_view secret = FindString(wanted, {"tls", "quorumSecret"});
  for (const Json* body : in_force) {
    lowest = std::min(lowest, ModeOf(*body));
    highest = std::max(highest, ModeOf(*body));
    if (secret.empty()) secret = FindString(*body, {"tls", "quorumSecret"});
  }
  // Where they are further apart, which nothing here brings about, the middle is as good as can be.
  if (!in_force.empty()) mode = std::max(highest - 1, std::min(mode, lowest + 1));
  Json body(wanted, {});
  if (mode == kOff) {
    base::Erase(body, {"tls", "quorumSecret"});
    base::Erase(body, {"tls", "quorumMode"});
    return body;
  }
  base::Ensure(body, {"tls", "quorumSecret"}) = secret;
  base::Ensure(body, {"tls", "quorumMode"}) = kQuorumModes.at(static_cast<size_t>(mode));
  return body;
}

}  // namespace evenkeel::controllers::rollout::zookeeper
