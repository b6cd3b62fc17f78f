// What rollouts write Events of: their transitions, and what stands in the way.
#pragma once

#include "client/event_kind.h"
#include "controllers/rollout/reasons.h"

namespace evenkeel::controllers::rollout::zookeeper::events {

using client::EventKind;

inline constexpr EventKind kRecordAppended{reasons::kRecordAppended, false, "MultiClusterZooKeeper",
                                           "something else is wanted: a rollout to these clusters begins"};
inline constexpr EventKind kRecordSuperseded{reasons::kRecordSuperseded, false, "MultiClusterZooKeeper",
                                             "something else is wanted before the last rollout has ended"};
inline constexpr EventKind kRecordResumed{reasons::kRecordResumed, false, "MultiClusterZooKeeper",
                                          "a rollout that had stopped goes on"};
inline constexpr EventKind kRecordReady{reasons::kRecordReady, false, "MultiClusterZooKeeper",
                                        "every cluster has what is wanted"};
inline constexpr EventKind kHistoryTrimmed{reasons::kHistoryTrimmed, false, "MultiClusterZooKeeper",
                                           "records beyond spec.revisionHistoryLimit are gone"};
inline constexpr EventKind kStateAdopted{"StateAdopted", false, "MultiClusterZooKeeper",
                                         "what runs already is taken over, as the status was lost or comes from elsewhere"};
inline constexpr EventKind kClusterStarted{reasons::kClusterStarted, false, "MultiClusterZooKeeper",
                                           "a cluster gets the new revision"};
inline constexpr EventKind kClusterCompleted{reasons::kClusterCompleted, false, "MultiClusterZooKeeper",
                                             "a cluster has the new revision and is ready"};
inline constexpr EventKind kClusterPostponed{reasons::kClusterPostponed, false, "MultiClusterZooKeeper",
                                             "a cluster cannot be reached, so the others go before it"};
inline constexpr EventKind kClusterBroughtForward{
    reasons::kClusterBroughtForward, false, "MultiClusterZooKeeper",
    "a cluster where servers are down goes before others, which may not lose one as long as they are"};
inline constexpr EventKind kClusterHeld{
    reasons::kClusterHeld, false, "MultiClusterZooKeeper",
    "a cluster that was on its way to a revision that is no longer wanted stops nothing until its turn comes"};
inline constexpr EventKind kServerCalledBack{
    "ServerCalledBack", false, "MultiClusterZooKeeper",
    "a server that is wanted was let go by the others: its cluster is told to take it in again"};
inline constexpr EventKind kClusterReleased{"ClusterReleased", false, "MultiClusterZooKeeper",
                                            "a cluster that is not wanted any more is let go"};
inline constexpr EventKind kPausedByUser{"PausedByUser", false, "MultiClusterZooKeeper",
                                         "spec.rollout.paused has stopped the rollout"};
inline constexpr EventKind kProgressDeadlineExceeded{
    "ProgressDeadlineExceeded", true, "MultiClusterZooKeeper",
    "a cluster has made no progress within spec.rollout.progressDeadlineSeconds"};
inline constexpr EventKind kClusterUnreachable{"ClusterUnreachable", true, "MultiClusterZooKeeper",
                                               "the rollout has stopped, as the cluster that is deploying cannot be reached"};
inline constexpr EventKind kRollingBack{reasons::kRollingBack, true, "MultiClusterZooKeeper",
                                        "a cluster goes back to the revision before"};
inline constexpr EventKind kRolledBack{reasons::kRolledBack, true, "MultiClusterZooKeeper",
                                       "a cluster is back at the revision before"};
inline constexpr EventKind kRecoveryStarted{"RecoveryStarted", true, "MultiClusterZooKeeper",
                                            "a person has asked to go on with a minority, and it begins"};
inline constexpr EventKind kRecoveryRefused{"RecoveryRefused", true, "MultiClusterZooKeeper",
                                            "a person has asked to go on with a minority, which is not done, and why"};
inline constexpr EventKind kRecoveryCompleted{"RecoveryCompleted", false, "MultiClusterZooKeeper",
                                              "the ensemble goes on with the servers that are left"};
inline constexpr EventKind kDriftRepaired{"DriftRepaired", false, "MultiClusterZooKeeper",
                                          "objects that somebody has changed are as they were"};
inline constexpr EventKind kScheduleAskedAgain{"ScheduleAskedAgain", false, "MultiClusterZooKeeper",
                                               "Karmada has left out a cluster that is ready, and is asked for it again"};
inline constexpr EventKind kApplyFailed{"ApplyFailed", true, "MultiClusterZooKeeper", "objects could not be put back"};
inline constexpr EventKind kInvalidSpec{"InvalidSpec", true, "MultiClusterZooKeeper", "the spec cannot be used"};
inline constexpr EventKind kInvalidStatus{"InvalidStatus", true, "MultiClusterZooKeeper", "the status cannot be read"};
inline constexpr EventKind kWrittenByNewer{
    "WrittenByNewer", true, "MultiClusterZooKeeper",
    "a newer program has written something into the status that this one does not know: nothing is changed"};
inline constexpr EventKind kKindMissing{"KindMissing", true, "MultiClusterZooKeeper",
                                        "the hub does not serve a kind that is needed"};
inline constexpr EventKind kClustersUnknown{"ClustersUnknown", true, "MultiClusterZooKeeper",
                                            "the hub has not said for a while which Clusters there are"};
inline constexpr EventKind kTemplateRefused{"TemplateRefused", true, "MultiClusterZooKeeper",
                                            "the hub refuses the objects that would be made"};
inline constexpr EventKind kDeletingZooKeeper{"DeletingZooKeeper", false, "MultiClusterZooKeeper",
                                              "it is being deleted: its ZooKeeper goes first"};
inline constexpr EventKind kDeletingPolicies{"DeletingPolicies", false, "MultiClusterZooKeeper",
                                             "it is being deleted: its policies go"};
inline constexpr EventKind kDeletingOverrides{"DeletingOverrides", false, "MultiClusterZooKeeper",
                                              "it is being deleted: its overrides go"};
inline constexpr EventKind kDeleted{"Deleted", false, "MultiClusterZooKeeper", "nothing of it is left"};

inline constexpr EventKind kAll[] = {kRecordAppended,        kRecordSuperseded,   kRecordResumed,
                                     kRecordReady,           kHistoryTrimmed,     kStateAdopted,
                                     kClusterStarted,        kClusterCompleted,   kClusterPostponed,
                                     kClusterBroughtForward, kClusterHeld,        kServerCalledBack,
                                     kClusterReleased,       kPausedByUser,       kProgressDeadlineExceeded,
                                     kClusterUnreachable,    kRollingBack,        kRolledBack,
                                     kRecoveryStarted,       kRecoveryRefused,    kRecoveryCompleted,
                                     kDriftRepaired,         kScheduleAskedAgain, kApplyFailed,
                                     kInvalidSpec,           kInvalidStatus,      kKindMissing,
                                     kClustersUnknown,       kTemplateRefused,    kDeletingZooKeeper,
                                     kDeletingPolicies,      kDeletingOverrides,  kDeleted,
                                     kWrittenByNewer};

}  // namespace evenkeel::controllers::rollout::zookeeper::events
