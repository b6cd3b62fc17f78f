#include "embedded/apiserver/api/epoch_gate.h"

#include "base/parse_number.h"
#include "client/fenced_client.h"
#include "embedded/apiserver/requests/errors.h"
#include "embedded/apiserver/requests/raw_json.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;

// The Lease is renewed every few seconds: this often between reading it and the commit means that something else is wrong.
constexpr int kAttempts = 10;

std::string LeaseName() { return std::string(client::kOwnerLeaseNamespace) + "/" + client::kOwnerLease; }

}  // namespace

Result<int64_t> ParseEpoch(std::string_view text) {
  const auto epoch = base::ParseNumber<int64_t>(text);
  if (!epoch || *epoch <= 0) {
    return Fail(Code::kBadRequest,
                std::string(client::kEpochHeader) + ": \"" + std::string(text) + "\" is not a whole number above 0");
  }
  return *epoch;
}

struct EpochGate::Attempt {
  Call call;
  store::Write write;
  std::function<void(Result<store::Revision>)> done;
  int left = kAttempts;
};

EpochGate::EpochGate(store::Store& store, std::string lease_key, std::function<void(base::Task)> run)
    : store_(store), lease_key_(std::move(lease_key)), run_(std::move(run)) {}

Result<std::shared_ptr<const EpochGate::Known>> EpochGate::Read() {
  const auto found = store_.Get(lease_key_);
  if (!found && found.error().code() != Code::kNotFound) return Fail(found.error());
  auto known = std::make_shared<Known>();
  known->guard = std::make_shared<const store::Guard>(store::Guard{lease_key_, found ? found->mod_revision : 0});
  if (found) {
    const std::string epoch = RawText(RawFind(*found->value, {"metadata", "annotations", client::kEpochAnnotation}));
    known->epoch = ParseEpoch(epoch).value_or(0);
    known->holder = RawText(RawFind(*found->value, {"spec", "holderIdentity"}));
  }
  std::lock_guard lock(mutex_);
  known_ = known;
  return known;
}

Result<std::shared_ptr<const store::Guard>> EpochGate::Admit(const Call& call, bool read) {
  std::shared_ptr<const Known> known;
  if (!read) {
    std::lock_guard lock(mutex_);
    known = known_;
  }
  // A Lease that is free has no tenure, so the last one is over, too.
  const auto over = [&] { return call.epoch < known->epoch || (call.epoch == known->epoch && known->holder.empty()); };
  if (known == nullptr || over()) {
    EVENKEEL_ASSIGN(known, Read());
  }
  if (!over()) return known->guard;
  const std::string held = known->holder.empty()
                               ? " and free: the tenure is over"
                               : ", held by " + known->holder + ": another replica has taken over this cluster";
  return Fail(ForbiddenError(call.served->resource, call.name,
                             call.user.name + " writes with epoch " + std::to_string(call.epoch) + ", but the Lease " +
                                 LeaseName() + " is at epoch " + std::to_string(known->epoch) + held));
}

Status EpochGate::Check(const Call& call) {
  if (call.epoch == 0) return {};
  EVENKEEL_TRY(Admit(call, true));
  return {};
}

void EpochGate::Commit(const Call& call, store::Write write, std::function<void(Result<store::Revision>)> done) {
  if (call.epoch == 0) return store_.Commit(std::move(write), std::move(done));
  Try(std::make_shared<Attempt>(Attempt{call, std::move(write), std::move(done)}), false);
}

void EpochGate::Try(std::shared_ptr<Attempt> attempt, bool read) {
  auto guard = Admit(attempt->call, read);
  if (!guard) return attempt->done(Fail(guard.error()));
  store::Write write = attempt->write;
  write.guard = *std::move(guard);
  store_.Commit(std::move(write), [this, attempt](Result<store::Revision> revision) {
    if (revision || revision.error().code() != Code::kCancelled) return attempt->done(std::move(revision));
    if (--attempt->left == 0) {
      return attempt->done(Fail(Code::kTooManyRequests, "the Lease " + LeaseName() + " changes all the time: try again later"));
    }
    run_([this, attempt] { Try(attempt, true); });
  });
}

}  // namespace evenkeel::embedded::apiserver
