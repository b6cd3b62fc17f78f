// What a person asks the dashboard to do, as it comes: JSON of a stranger.
//
//   {"action", "cluster", "namespace", "name", "size", "seen", "dryRun"}
//
// With "dryRun": true nothing happens, and the answer says what would, and "seen": what it was worked out from. Without it
// "seen" is needed, and if things are others by then nothing happens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dashboard/access/identity.h"

namespace evenkeel::dashboard {

enum class ActionKind : uint8_t { kCordon, kUncordon, kDrain, kScale, kPause, kResume, kApprove, kReject };
std::string_view Name(ActionKind kind);  ///< "cordon", ...

struct ActionRequest {
  ActionKind kind = ActionKind::kCordon;
  std::string cluster;   ///< the member; "" where it is about the hub's: pause, resume
  std::string ns, name;  ///< of the node, group, plan or MultiClusterZooKeeper
  int64_t size = 0;      ///< scale: the target
  std::string seen;
  bool dry_run = false;

  bool on_hub() const { return kind == ActionKind::kPause || kind == ActionKind::kResume; }
  /// What the hub's RBAC is asked.
  Question Asks() const;
  /// kBadRequest in one sentence.
  static base::Result<ActionRequest> Parse(std::string_view body);
};

/// Whether it can be a name of an object, or of a member: what is put into paths and messages is nothing else.
bool IsPlainName(std::string_view text);

/// Of one request with an action.
inline constexpr size_t kActionBytesMax = 4096;

}  // namespace evenkeel::dashboard
