// What `get rollouts` and `get nodegroups` answer.
#pragma once

#include "base/json_field.h"

namespace evenkeel::cli {

inline constexpr base::JsonField kRolloutsJson[] = {
    {"rollouts[].ensemble", "string", "namespace/name"},
    {"rollouts[].phase", "string", ""},
    {"rollouts[].voters", "integer", ""},
    {"rollouts[].ready", "integer", "voters"},
    {"rollouts[].majority", "integer", ""},
    {"rollouts[].margin", "integer", "ready voters beyond a majority"},
    {"rollouts[].leader", "object", "cluster and myid, or null"},
    {"rollouts[].reason", "string", ""},
    {"rollouts[].message", "string", ""},
    {"rollouts[].records", "integer", "how many"},
    {"rollouts[].record", "object", "the last one, or null"},
    {"rollouts[].clusters[].cluster", "string", ""},
    {"rollouts[].clusters[].track", "string", "deploying, completed, pending or -"},
    {"rollouts[].clusters[].servers", "integer", ""},
    {"rollouts[].clusters[].revision", "string", ""},
    {"rollouts[].clusters[].unknownSince", "string", "since when the cluster cannot be reached", false}};

inline constexpr base::JsonField kNodeGroupsJson[] = {{"nodeGroups[].cluster", "string", "the member"},
                                                      {"nodeGroups[].name", "string", ""},
                                                      {"nodeGroups[].target", "integer", "nodes wanted"},
                                                      {"nodeGroups[].ready", "integer", "nodes"},
                                                      {"nodeGroups[].upcoming", "integer", "nodes"},
                                                      {"nodeGroups[].min", "integer", "bound"},
                                                      {"nodeGroups[].max", "integer", "bound"},
                                                      {"nodeGroups[].pricePerHour", "number", "null: unknown"},
                                                      {"nodeGroups[].backoffUntil", "string", "null: it is not backed off"},
                                                      {"nodeGroups[].backoffReason", "string", "null as well"}};

}  // namespace evenkeel::cli
