// Follows what lies under a prefix of the store, from now on and for good: where the watch ends (an etcd that was cut off),
// everything is listed again, and until then `current` says that something may be missing.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/executor.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

class StoreFollower {
 public:
  struct Sink {
    /// There now, or changed; may be told again of what it knows.
    std::function<void(const store::KeyValue&)> put;
    /// `key` without the prefix.
    std::function<void(const std::string& key, store::Revision revision)> remove;
    /// All changes up to that revision have been told. May be empty.
    std::function<void(store::Revision revision)> progress{};
  };
  /// `what`: for the log. Without an executor a watch that has ended stays so. The store must outlive it.
  StoreFollower(store::Store& store, std::string prefix, std::string what, Sink sink, base::Executor* executor);
  /// No call of the sink runs or comes after.
  ~StoreFollower();

  /// Tells of all that there is, then goes on. Once.
  base::Status Start();
  /// Whether the sink knows what the store does, as far as can be told: false between a watch's end and the next list.
  bool current() const { return current_; }

 private:
  base::Status Follow();
  void Hear(const std::vector<store::Event>& batch, const base::Error* error);
  void Retry();

  static constexpr base::Duration kRetryInterval = std::chrono::seconds(1);

  store::Store& store_;
  const std::string prefix_, what_;
  const Sink sink_;
  const std::shared_ptr<base::Strand> strand_;
  std::atomic<bool> current_ = false;
  std::mutex mutex_;
  std::set<std::string> keys_;           // of which the sink has been told; guarded by mutex_, which is held while it is told
  std::mutex follow_mutex_;              // one Follow at a time: a watch may end before the call that made it returns
  std::unique_ptr<store::Watch> watch_;  // guarded by follow_mutex_, which no handler takes
  base::Timer retry_;
};

}  // namespace evenkeel::embedded::apiserver
