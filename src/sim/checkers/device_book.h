// What the stores of the members hold of devices, for checkers: slices, claims, and what pods claim. Read from the changes as
// they take effect, by rules of its own and without the scheduler's code, so that a mistake of its is not made here, too.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "embedded/store/store.h"

namespace evenkeel::sim {

class DeviceBook {
 public:
  struct Pool {
    std::string driver, name;
    auto operator<=>(const Pool&) const = default;
  };
  struct Device {
    std::string model;
    bool tainted = false;  ///< NoSchedule or NoExecute
  };
  struct Slice {
    Pool pool;
    std::string node;
    int64_t generation = 0, of = 0;  ///< of: how many slices the pool has
    std::map<std::string, Device> devices;
  };
  /// An allocated device.
  struct Result {
    Pool pool;
    std::string device;
    bool admin = false, shared = false;
    std::string ToString() const { return pool.driver + "/" + pool.name + "/" + device; }
  };
  /// One way to satisfy a request.
  struct Wanted {
    std::string device_class;
    int64_t count = 1;
    bool one_model = false, admin = false;
  };
  struct Claim {
    std::string uid, owner;      ///< owner: uid of the pod that it was made for; "" of one that anybody may use
    std::vector<Wanted> wanted;  ///< one of these; empty where it is more than one request
    bool allocated = false, deleting = false;
    std::vector<Result> results;
    std::set<std::string> nodes;                  ///< that reach all of it; empty: all
    std::map<std::string, std::string> reserved;  ///< names of pods by uid
  };
  /// As far as it claims devices.
  struct Pod {
    std::string uid, ns, node;
    bool live = false, ended = false;
    bool gated = false;
    std::vector<std::string> claims;  ///< names; "" of one that is still to be made
    int64_t extended = 0;             ///< devices that it asks for as an extended resource
    std::string extended_claim;       ///< "": none
  };
  struct Member {
    std::map<std::string, Slice> slices;
    std::map<std::string, Claim> claims;  ///< by "NAMESPACE/NAME", as pods
    std::map<std::string, Pod> pods;      ///< those that claim any
    /// Of devices that could not be allocated before, or cannot any more: when that was so last.
    std::map<std::string, base::Instant> allocatable_until;

    /// Whether a scheduler may allocate it: a slice of the pool's greatest generation has it, without taints.
    bool Allocatable(const Pool& pool, const std::string& device) const;
  };

  /// Call it once for each change, in order.
  void See(const std::string& api, const embedded::store::Event& event, base::Instant now);
  /// Nothing is known of one before its first change.
  const Member& Of(const std::string& api) const;
  const std::map<std::string, Member>& all() const { return members_; }
  /// When the device could last be allocated: now, or before; nullopt: never.
  std::optional<base::Instant> LastAllocatable(const std::string& api, const Result& result, base::Instant now) const;

  static Claim DecodeClaim(const base::Json& object);

 private:
  std::map<std::string, Member> members_;
};

}  // namespace evenkeel::sim
