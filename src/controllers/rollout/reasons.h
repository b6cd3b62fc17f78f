// Reasons of a Step (machine.h), each in one word: what has happened, or why nothing does. Who writes Events of them describes
// them there.
#pragma once

namespace evenkeel::controllers::rollout::reasons {

// What has happened.
inline constexpr const char* kRecordAppended = "RecordAppended";
inline constexpr const char* kRecordSuperseded = "RecordSuperseded";
inline constexpr const char* kRecordResumed = "RecordResumed";
inline constexpr const char* kRecordReady = "RecordReady";
inline constexpr const char* kHistoryTrimmed = "HistoryTrimmed";
inline constexpr const char* kClusterStarted = "ClusterStarted";
inline constexpr const char* kClusterPostponed = "ClusterPostponed";
inline constexpr const char* kClusterBroughtForward = "ClusterBroughtForward";
inline constexpr const char* kClusterHeld = "ClusterHeld";
inline constexpr const char* kClusterProgressed = "ClusterProgressed";
inline constexpr const char* kClusterCompleted = "ClusterCompleted";
inline constexpr const char* kRollingBack = "RollingBack";
inline constexpr const char* kRolledBack = "RolledBack";

// Why nothing does.
inline constexpr const char* kUpToDate = "UpToDate";
inline constexpr const char* kFailed = "Failed";
inline constexpr const char* kWaitingForCluster = "WaitingForCluster";
inline constexpr const char* kWaitingForQuorum = "WaitingForQuorum";
inline constexpr const char* kWaitingForRollback = "WaitingForRollback";
inline constexpr const char* kQuorumBudgetExhausted = "QuorumBudgetExhausted";

}  // namespace evenkeel::controllers::rollout::reasons
