// What Plan::ToJson answers: `plan rollout`.
#pragma once

#include "base/json_field.h"

namespace evenkeel::controllers::rollout::zookeeper {

inline constexpr base::JsonField kPlanRolloutJson[] = {
    {"status", "object", "of the MultiClusterZooKeeper, after the transition"},
    {"apply[]", "object", "objects that are applied"},
    {"delete[].apiVersion", "string", ""},
    {"delete[].kind", "string", ""},
    {"delete[].namespace", "string", ""},
    {"delete[].name", "string", ""},
    {"reason", "string", "of the transition, or what is waited for"},
    {"message", "string", ""},
    {"finished", "boolean", "the object may go", false}};

}  // namespace evenkeel::controllers::rollout::zookeeper
