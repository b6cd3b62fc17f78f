// The fence of one member from the view of one replica: acquiring, keeping, handing over and watching the Lease
// `evenkeel-owner` in the member's own API. Whoever holds it may write to the member, nobody else (client/fenced_client.h).
//
// Rules:
//  - A replica that is to own the member creates the Lease, or takes it when it is free (empty holder), or when it has itself
//    seen no renewal for the Lease's duration plus the margin. Its monotonic clock decides, never the holder's wall clock, and
//    the time counts only while the API answers (a watch event, or a read every other renewal period): after an outage
//    everybody has a full duration to renew.
//  - When another holds it, it requests a hand-over: it writes its identity and epoch into annotations of the Lease, once per
//    tenure of the other. A holder that is no longer to own the member, or that sees a request with a greater plan epoch than
//    its own, lets go at once. Whoever has seen such a request leaves the free Lease to its author, for the Lease's duration
//    plus the margin. A new tenure takes all requests away.
//  - A standby takes the Lease only when it has run out, without being told: so a member gets a new owner even while the hub is
//    down. A tenure that it has taken itself goes on until an owner asks for it, whatever wait_for_successor says.
//  - One API may be named twice: by two Secrets, or by two fleets. Its Lease says as which member of which fleet it is held.
//    Who knows it under another name neither asks for it nor stands in the way: it leaves a free Lease, and one that has run
//    out, for twice as long to those of that name, and says so (OwnerLeaseState::other).
//  - Every tenure has an epoch: the plan's, but greater than the one before in any case. It is the fencing token.
//  - The holder's fence is open until `duration` after the last successful renewal was begun. Everybody else waits for `margin`
//    more, in which a request that the holder began at the last moment (its time-out is shorter than the margin) ends.
//  - Letting go: the fence closes first, `lost` is called, and when the owner's work has ended (Released) the holder field is
//    emptied; not before the margin has passed since a write ended without an answer. No new tenure begins before Released.
//  - A Lease that is deleted by hand ends the tenure. Who has seen another hold it waits as for one that has run out before it
//    makes a new one; who has not cannot know, and makes one at once: do not delete the Lease of a member that has an owner.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"
#include "client/fence.h"
#include "controllers/distribution/sharding/member_name.h"

namespace evenkeel::controllers::distribution {

/// Annotations of the Lease with the last hand-over request: who wants it, and the plan's epoch that says so.
inline constexpr char kWantedByAnnotation[] = "evenkeel.dev/wanted-by";
inline constexpr char kWantedEpochAnnotation[] = "evenkeel.dev/wanted-epoch";
/// The server's URL and the name under which the holder knows the member, and its fleet: see MemberName.
inline constexpr char kMemberAnnotation[] = "evenkeel.dev/member";
inline constexpr char kMemberNameAnnotation[] = "evenkeel.dev/member-name";
inline constexpr char kFleetAnnotation[] = "evenkeel.dev/fleet";

struct OwnerLeaseOptions {
  std::string identity;  ///< of this process, unique: two processes on one host differ
  MemberName member{};   ///< as this process knows it: held by it under another name is held by another
  base::Duration duration = std::chrono::seconds(15);
  base::Duration renew_period = std::chrono::seconds(3);
  /// More than any request time-out to the member plus what clocks differ in `duration`.
  base::Duration margin = std::chrono::seconds(3);
  /// First retry after a failed call; doubles up to renew_period.
  base::Duration retry_min = std::chrono::milliseconds(200);
};

/// What this replica is to be for the member.
enum class MemberRole {
  kNone,  ///< lets go (when asked to hand over, or at once: see DesiredRole); makes no calls when there is nothing to let go
  kObserver,  ///< lets go, too, and watches the Lease, so that it knows how long it has been silent should it become the owner
  kOwner,
  kStandby,
};

struct DesiredRole {
  MemberRole role = MemberRole::kNone;
  /// The plan's epoch that says so; 0 without plans (compatible mode: never asks for a hand-over, never yields to one who
  /// does).
  int64_t epoch = 0;
  /// kNone and kStandby while holding: go on until the successor asks for it, so that the member is never without an owner.
  /// false: let go at once.
  bool wait_for_successor = false;
  bool operator==(const DesiredRole&) const = default;
};

/// For people and reports.
struct OwnerLeaseState {
  bool holding = false;
  int64_t epoch = 0;   ///< of the Lease as last seen (ours while holding)
  std::string holder;  ///< as last seen; "" when free or never seen
  base::Time since{};  ///< acquireTime of the Lease as last seen
  MemberName other;    ///< under which the Lease is held, or was last, where it is not ours: another names the same API
  std::string error;   ///< of the last call to the member, if it failed: empty as soon as one succeeds
  /// Why it is wanted but not held: "held by X, asked to hand over", "X silent for 12s of 18s", the last error. "" while
  /// holding and for a standby whose member has an owner.
  std::string waiting_for;
  bool operator==(const OwnerLeaseState&) const = default;
};

class OwnerLease {
 public:
  /// All are called on the strand, never from within a call of this class.
  struct Callbacks {
    /// The tenure begins: the fence is open. Whoever acts for the member starts now.
    std::function<void(std::shared_ptr<client::Fence> fence)> won;
    /// The tenure is over and the fence closed. The receiver ends its work for the member and then calls Released.
    std::function<void(const std::string& why)> lost;
    /// state() has changed.
    std::function<void()> changed;
  };

  /// Does nothing until SetDesired. Calls are made with `client`, on `strand`, which must be for this member alone: a member
  /// that hangs holds it up.
  OwnerLease(client::Client& client, OwnerLeaseOptions options, std::shared_ptr<base::Strand> strand, base::Clock& clock,
             base::Random random, Callbacks callbacks);
  /// Stops without a call and closes the fence; the Lease runs out. On the strand or after it is closed.
  ~OwnerLease();

  /// What to strive for from now on. On the strand.
  void SetDesired(const DesiredRole& desired);
  /// After `lost`: the work for the member has ended, nothing of it is under way here. Gives the Lease up when it is still
  /// ours, as soon as no write may still take effect; with kOwner desired, and nobody asking with a newer plan, begins a new
  /// tenure instead. On the strand.
  void Released();
  /// On the strand.
  const OwnerLeaseState& state() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::controllers::distribution
