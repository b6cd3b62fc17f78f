// What the pods of a ZooKeeper need beside it: the Secrets, ConfigMaps and the ServiceAccount that its spec names. Karmada
// copies them to the members where the interpreter names them and the policy propagates dependencies.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// Kind and name of each; all are of v1, in the namespace of the ZooKeeper.
using Needs = std::set<std::pair<std::string, std::string>>;

/// Of a ZooKeeper's spec, or of a template.
Needs NeedsOf(const base::Json& spec);

/// Of the ZooKeeper on the hub: what any cluster needs, whichever revision it has. "ConfigMap/b Secret/a".
inline constexpr char kNeedsAnnotation[] = "evenkeel.dev/needs";
std::string ToText(const Needs& needs);
/// Words that are not of this form are left out.
Needs ParseNeeds(std::string_view text);

}  // namespace evenkeel::controllers::rollout::zookeeper
