// What ToJson(ShardPlan) answers: `plan shards`.
#pragma once

#include "base/json_field.h"

namespace evenkeel::controllers::distribution {

inline constexpr base::JsonField kShardPlanJson[] = {
    {"method", "string", "how clusters are given to shards"},
    {"replicas", "integer", "number of shards"},
    {"assignments[].cluster", "string", "in the order of the id"},
    {"assignments[].server", "string", "its API server"},
    {"assignments[].id", "string", "uid of the object that names it"},
    {"assignments[].shard", "integer", "that it belongs to"},
    {"shards[].shard", "integer", "its number"},
    {"shards[].clusters", "integer", "how many belong to it"},
    {"shards[].weight", "integer", "of these together"},
    {"moves[].cluster", "string", "that changes its shard, compared with --current"},
    {"moves[].from", "integer", "shard before"},
    {"moves[].to", "integer", "shard after"}};

}  // namespace evenkeel::controllers::distribution
