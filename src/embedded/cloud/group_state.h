// What a node group's instances do next: a pure function of what the NodeGroup object asks for, of what its status says there
// is, and of the time. Everything that must survive a crash is in the status.
//
//   spec.cloud: {provisionDelay: 30s, deleteDelay: 10s, quota: 5, failCreations: true or 0.2, neverRegister: 0.1,
//               failForGood: 0.2, showFailures: true, silent: true, unreadable: true}
//   status: {created: 7,
//            instances: [{id, node, state, dueTime, doomed, failed, neverRegisters, errorClass, errorCode, errorMessage}]}
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/random.h"
#include "base/time.h"
#include "providers/provider.h"

namespace evenkeel::embedded::cloud {

/// How the cloud behaves to a group.
struct CloudSettings {
  base::Duration provision_delay = std::chrono::seconds(30);  ///< until an instance runs, up to a fifth more or less
  base::Duration delete_delay = std::chrono::seconds(10);
  std::optional<int64_t> quota;  ///< instances that the cloud has room for; 0: out of stock
  double fail_creations = 0;     ///< share of creations that fail
  double never_register = 0;     ///< share of instances that run and never become nodes
  double fail_for_good = 0;      ///< share of instances that fail before they run, and stay as they are
  bool show_failures = false;    ///< instances that run are told with an error
  bool silent = false;           ///< increases are carried out and never answered
  bool unreadable = false;       ///< what the group is like cannot be read
};

/// Reads spec.cloud. kBadRequest names the field.
base::Result<CloudSettings> DecodeCloudSettings(const base::Json& group);

struct InstanceRecord {
  using State = providers::Instance::State;
  std::string id;      ///< "embedded://GROUP/NODE"
  std::string node;    ///< its name, whether or not it registers
  int64_t number = 0;  ///< of the group's instances ever made; part of the name, never used again
  State state = State::kCreating;
  base::Time due{};  ///< when it will run (Creating) or be gone (Deleting)
  bool doomed = false;
  bool failed = false;  ///< for good
  bool never_registers = false;
  std::optional<providers::Instance::Error> error;
};

struct GroupState {
  int64_t created = 0;  ///< instances ever made
  std::vector<InstanceRecord> instances;
};

/// Reads status; records that make no sense are left out.
GroupState DecodeState(const base::Json& group);
/// Puts it into status; what else is there stays.
void EncodeState(const GroupState& state, base::Json& group);

/// As many fit into one object's status.
inline constexpr int64_t kInstancesMax = 5000;

/// What a NodeGroup asks for.
struct GroupSpec {
  std::string group;
  int64_t target = 0, max = 0;
  std::set<std::string> deleting;  ///< ids of instances to remove
  bool removed = false;            ///< the group goes, and everything in it
  CloudSettings settings;
};

/// spec.targetSize; the minimum when it is not given.
int64_t TargetOf(const base::Json& group);
/// kBadRequest for settings that make no sense.
base::Result<GroupSpec> DecodeSpec(const base::Json& group);

struct Progress {
  std::vector<InstanceRecord> gone;   ///< to be removed from the world, then from the state
  std::optional<base::Time> due;      ///< when something is next to happen by itself
  std::vector<std::string> failures;  ///< errors that are new, for Events
};

/// Brings the state to where it should be at `now`:
///   - what is to be deleted begins to go, and goes when its time has come;
///   - above the target, instances go: first those that do not exist yet, then the newest;
///   - below it (and below the maximum and kInstancesMax), new ones are made, which run after the delay, as far as the quota
///     goes.
Progress Advance(const GroupSpec& spec, GroupState& state, base::Time now, base::Random& random);

std::string InstanceId(const std::string& group, const std::string& node);
/// The group of an instance's id; "" when it is not one of this cloud.
std::string GroupOfId(std::string_view id);

}  // namespace evenkeel::embedded::cloud
