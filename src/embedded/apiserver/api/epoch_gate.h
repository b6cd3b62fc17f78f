// Keeps out the writes of replicas that no longer own this cluster: those that state an epoch (client/fenced_client.h) older
// than the one on the Lease kube-system/evenkeel-owner. A Lease that is absent, or has no number there, keeps nobody out.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "embedded/apiserver/api/api.h"

namespace evenkeel::embedded::apiserver {

/// An epoch as the header has it: a whole number above 0, else kBadRequest.
Result<int64_t> ParseEpoch(std::string_view text);

/// Thread-safe.
class EpochGate {
 public:
  /// @param lease_key  of the Lease in the store
  /// @param run  runs what may read the store where that is fine
  EpochGate(store::Store& store, std::string lease_key, std::function<void(base::Task)> run);

  /// For what is answered without a commit. kForbidden when the call states an older epoch than the Lease has now, or that of a
  /// Lease that is free. Reads the Lease from the store, unless no epoch is stated.
  Status Check(const Call& call);
  /// Store::Commit, if the call states no older epoch than the Lease has at that very moment, else kForbidden: a write of an
  /// older epoch never gets a revision above that of the Lease's write of a newer one. Without an epoch just Store::Commit;
  /// with one, the store compares one more revision, and a Lease that was changed since the last write costs another try.
  void Commit(const Call& call, store::Write write, std::function<void(Result<store::Revision>)> done);

 private:
  // The Lease as it was at one revision.
  struct Known {
    std::shared_ptr<const store::Guard> guard;  // that it still is
    int64_t epoch = 0;
    std::string holder;
  };
  struct Attempt;

  Result<std::shared_ptr<const Known>> Read();
  // What must hold so that the call may write; kForbidden. An old idea of the Lease may let a call in (the guard tells), but
  // keeps none out.
  Result<std::shared_ptr<const store::Guard>> Admit(const Call& call, bool read);
  void Try(std::shared_ptr<Attempt> attempt, bool read);

  store::Store& store_;
  const std::string lease_key_;
  const std::function<void(base::Task)> run_;
  std::mutex mutex_;
  std::shared_ptr<const Known> known_;  // the latest that was read
};

}  // namespace evenkeel::embedded::apiserver
