// What a member's Lease `evenkeel-owner` says, and the four ways in which a replica rewrites it. Pure: who may do what when is
// owner_lease.h.
#pragma once

#include <string>

#include "client/lease.h"
#include "controllers/distribution/sharding/member_name.h"

namespace evenkeel::controllers::distribution {

/// One version of the Lease.
struct OwnerRecord {
  base::Json json;
  client::Lease lease;
  int64_t epoch = 0;         ///< of the tenure; 0 when absent or absurd
  std::string wanted_by;     ///< who has asked for a hand-over last; "" for nobody
  int64_t wanted_epoch = 0;  ///< the plan's epoch that the request appeals to
  MemberName member;         ///< under which the holder knows it, or the last one did; empty where it says none

  /// Never fails: what is missing or malformed keeps its zero value.
  static OwnerRecord Decode(const base::Json& object);
  bool free() const { return lease.holder.empty(); }
};

/// What a renewal changes and a hand-over request does not: as long as it is the same, the holder has been silent.
struct RenewalStamp {
  std::string uid;  ///< "" while there is no Lease
  std::string holder;
  base::Time renew_time{};
  int64_t transitions = 0;
  int64_t epoch = 0;
  bool operator==(const RenewalStamp&) const = default;
};
/// @param record  null: there is no Lease
RenewalStamp StampOf(const OwnerRecord* record);

/// How long the Lease has not been renewed while its API answered.
class SilenceClock {
 public:
  /// @param longest_gap  between two answers; after a longer one nobody can tell whether the API was there
  explicit SilenceClock(base::Duration longest_gap) : longest_gap_(longest_gap) {}

  void Seen(const RenewalStamp& stamp, base::Instant now);
  /// The API has answered.
  void Contact(base::Instant now);
  /// It has not: nobody could renew, the silence counts from the next answer.
  void Unanswered() { unanswered_ = true; }

  base::Instant since() const { return since_; }
  base::Instant last_contact() const { return last_contact_; }

 private:
  const base::Duration longest_gap_;
  RenewalStamp stamp_;
  base::Instant since_{};
  base::Instant last_contact_{};
  bool unanswered_ = true;
};

/// How long a renewal lasts as the holder says, or `fallback` when it says nothing or more than an hour.
base::Duration ValidityOf(const OwnerRecord& record, base::Duration fallback);

/// A new tenure: names the holder and its epoch, counts the transition and takes every hand-over request away, since whoever
/// still wants the Lease asks again.
/// @param present  null: a new Lease
base::Json Acquired(const OwnerRecord* present, const std::string& holder, base::Duration duration, int64_t epoch,
                    base::Time now, const MemberName& member = {});
/// A renewal; its time differs from the one before even when the wall clock stands still.
base::Json Renewed(const OwnerRecord& present, base::Duration duration, base::Time now);
/// Without a holder. Times, epoch and hand-over request stay.
base::Json Freed(const OwnerRecord& present);
/// With a request to hand over to `identity`.
base::Json HandOverRequested(const OwnerRecord& present, const std::string& identity, int64_t epoch);

}  // namespace evenkeel::controllers::distribution
