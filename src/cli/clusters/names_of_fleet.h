// Names of what there is in a fleet, for the completion of a shell.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/time.h"

namespace evenkeel::cli {

/// Where a command line asks, as its flags say; "": they do not.
struct NamesPlace {
  std::string kubeconfig{}, context{}, ns{}, cluster{};
};

/// `type`: of a value of the command line (command_flags.h), such as kClusterType.
using NameSource = std::function<std::vector<std::string>(const std::string& type, const NamesPlace& place)>;

/// More is nothing that people choose from.
inline constexpr size_t kNamesMax = 500;
/// How long people wait for a completion.
inline constexpr base::Duration kNamesLimit = std::chrono::milliseconds(1500);

/// Asks the hub and, for what members have, all of them, or the member that `place` names. Never longer than `limit`, whatever
/// does not answer: then it is what is known by then; nothing when something is wrong. A question that is still open goes on
/// until the process ends.
std::vector<std::string> LiveNames(const std::string& type, const NamesPlace& place, base::Duration limit = kNamesLimit);

}  // namespace evenkeel::cli
