// What `get shards`, `explain cluster` and `version` answer.
#pragma once

#include "base/json_field.h"

namespace evenkeel::cli {

inline constexpr base::JsonField kShardsJson[] = {
    {"mode", "string", "coordinated or compatible"},
    {"method", "string", "how clusters are given to shards"},
    {"replicas", "integer", "number of shards"},
    {"clusters[].cluster", "string", "its name"},
    {"clusters[].server", "string", "its API server"},
    {"clusters[].id", "string", "uid of the object that names it"},
    {"clusters[].source", "string", "the object that names it"},
    {"clusters[].shard", "integer", "that it belongs to"},
    {"clusters[].owner", "string", "the replica that looks after it; \"\": none"},
    {"clusters[].heartbeatAgeSeconds", "integer", "since the owner's last heartbeat", false},
    {"clusters[].skipReconcile", "boolean", "nobody is to look after it", false},
    {"clusters[].weight", "integer", "coordinated mode: its load", false},
    {"clusters[].epoch", "integer", "coordinated mode: of the plan that gave it to its replica", false},
    {"clusters[].standby", "string", "coordinated mode: who takes over", false},
    {"clusters[].since", "string", "coordinated mode: since when it has its owner", false},
    {"clusters[].pendingMove.from", "string", "coordinated mode: the owner", false},
    {"clusters[].pendingMove.to", "string", "coordinated mode: the replica that the plan names", false},
    {"clusters[].detail", "string", "coordinated mode: why the planned replica does not own it yet", false},
    {"clusters[].unknownSince", "string", "coordinated mode: since when the replica that is to own it cannot reach it", false},
    {"clusters[].api", "string", "coordinated mode: the uid of the namespace kube-system there", false},
    {"epoch", "integer", "coordinated mode: of the plan", false},
    {"leader", "string", "coordinated mode: the replica that writes the plans", false},
    {"imbalance", "number", "coordinated mode: greatest load relative to the mean", false},
    {"hot[]", "string", "coordinated mode: clusters above a replica's share", false},
    {"waitingMoves", "integer", "coordinated mode: moves for balance that wait for their turn", false}};

inline constexpr base::JsonField kExplainClusterJson[] = {
    {"cluster", "string", "its name"},
    {"server", "string", "its API server"},
    {"id", "string", "uid of the object that names it"},
    {"source", "string", "the object that names it"},
    {"shard", "integer", "that it belongs to"},
    {"owner", "string", "the replica that looks after it; \"\": none"},
    {"heartbeatAgeSeconds", "integer", "since the owner's last heartbeat", false},
    {"skipReconcile", "boolean", "nobody is to look after it", false},
    {"weight", "integer", "coordinated mode: its load", false},
    {"epoch", "integer", "coordinated mode: of the plan that gave it to its replica", false},
    {"standby", "string", "coordinated mode: who takes over", false},
    {"since", "string", "coordinated mode: since when it has its owner", false},
    {"pendingMove.from", "string", "coordinated mode: the owner", false},
    {"pendingMove.to", "string", "coordinated mode: the replica that the plan names", false},
    {"detail", "string", "coordinated mode: why the planned replica does not own it yet", false},
    {"unknownSince", "string", "coordinated mode: since when the replica that is to own it cannot reach it", false},
    {"api", "string", "coordinated mode: the uid of the namespace kube-system there", false},
    {"autoscalerArgs", "string", "flags of its autoscaler alone, from the hub", false},
    {"leftAlone[]", "string", "what its autoscaler leaves alone, and why", false},
    {"unreadable", "string", "why what its autoscaler leaves alone cannot be read", false},
    {"why[]", "string", "how the shard and the owner follow"},
    {"wouldMove[]", "string", "what would give it another owner"}};

/// Of `version`.
inline constexpr base::JsonField kVersionJson[] = {{"version", "string", "of the program"},
                                                   {"kubernetes", "string", "of the API that it serves"}};

}  // namespace evenkeel::cli
