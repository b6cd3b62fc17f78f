// What the distribution writes Events of, about the objects that name members.
#pragma once

#include "client/event_kind.h"

namespace evenkeel::controllers::distribution::events {

using client::EventKind;

inline constexpr EventKind kOwnerChanged{"OwnerChanged", false, "Secret, Cluster",
                                         "a replica has won the member and looks after it from now on"};
inline constexpr EventKind kOwnerReleased{"OwnerReleased", false, "Secret, Cluster",
                                          "a replica no longer looks after the member"};
inline constexpr EventKind kClusterReachable{"ClusterReachable", false, "Secret, Cluster", "the member can be reached again"};
inline constexpr EventKind kClusterUnreachable{"ClusterUnreachable", true, "Secret, Cluster",
                                               "the member cannot be reached by the replica that is to look after it"};
inline constexpr EventKind kSameCluster{
    "SameCluster", true, "Secret, Cluster",
    "the server is the API of a member that has an owner under another name, or in another fleet; it keeps that owner"};
inline constexpr EventKind kHotCluster{"HotCluster", true, "Secret, Cluster",
                                       "the member alone is more than a replica's share of the load"};
inline constexpr EventKind kShardOutOfRange{"ShardOutOfRange", true, "Secret, Cluster",
                                            "the member is pinned to a shard that no replica has"};
inline constexpr EventKind kInvalidWeight{"InvalidWeight", true, "Secret, Cluster",
                                          "the annotation with its weight is not a number that a weight may be"};
inline constexpr EventKind kInvalidClusterSecret{"InvalidClusterSecret", true, "Secret",
                                                 "a field of the Secret is missing or cannot be used"};
inline constexpr EventKind kLocalClusterLeftAlone{
    "LocalClusterLeftAlone", false, "Secret", "the Secret names the local cluster, and the replicas run without --in-cluster"};
inline constexpr EventKind kNoUid{"NoUid", true, "Secret", "the Secret, which was given as a file, has no metadata.uid"};
inline constexpr EventKind kDuplicateServer{"DuplicateServer", true, "Secret, Cluster",
                                            "the server is already named by another object, with other data"};
inline constexpr EventKind kNoEndpoint{"NoEndpoint", true, "Cluster", "the Cluster has no spec.apiEndpoint"};
inline constexpr EventKind kSecretNotFound{"SecretNotFound", true, "Cluster",
                                           "the Secret with the member's token does not exist"};
inline constexpr EventKind kSecretUnreadable{"SecretUnreadable", true, "Cluster",
                                             "the Secret with the member's token may not be read"};
inline constexpr EventKind kReplicasDisagree{"ReplicasDisagree", true, "Deployment",
                                             "replicas of one fleet have been told different things for half a minute"};
inline constexpr EventKind kShardMappingRepaired{
    "ShardMappingRepaired", true, "ConfigMap",
    "compatible mode: the ConfigMap with the claims could not be read and was mended"};

inline constexpr EventKind kAll[] = {kOwnerChanged,
                                     kOwnerReleased,
                                     kClusterReachable,
                                     kClusterUnreachable,
                                     kSameCluster,
                                     kHotCluster,
                                     kShardOutOfRange,
                                     kInvalidWeight,
                                     kInvalidClusterSecret,
                                     kLocalClusterLeftAlone,
                                     kNoUid,
                                     kDuplicateServer,
                                     kNoEndpoint,
                                     kSecretNotFound,
                                     kSecretUnreadable,
                                     kReplicasDisagree,
                                     kShardMappingRepaired};

}  // namespace evenkeel::controllers::distribution::events
