// A queue of keys of objects that a controller has to reconcile. A key is in the queue at most once, however often it is added.
// Each task on the strand works on one key, so that other tasks get their turn. A key whose work fails waits longer each time.
// After client-go's workqueue.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"

namespace evenkeel::controllers::runtime {

struct WorkQueueOptions {
  /// client-go's first wait. Its last one is 1000 s; that is a quarter of an hour of doing nothing after an outage has ended,
  /// so the longest wait here is a minute, which is what an idle retry of a failing key may cost an API server.
  base::Duration backoff_base = base::Duration(std::chrono::milliseconds(5));
  base::Duration backoff_max = base::Duration(std::chrono::seconds(60));
};

/// Lives on one strand: all calls are made there. Holds no more than the keys it is given, each once as ready and once as
/// delayed.
class WorkQueue {
 public:
  /// `process` is called on the strand with one key at a time. It may add keys, also its own: that comes again later.
  WorkQueue(std::shared_ptr<base::Strand> strand, base::Clock& clock, std::function<void(const std::string& key)> process,
            WorkQueueOptions options = {});
  /// Must not run inside `process`.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  /// Keys are taken from here on; before, they are only collected.
  void Start();
  /// Forgets all keys and takes no more.
  void Stop();

  void Add(const std::string& key);
  /// Adds the key once `delay` has passed. Of several delays of one key the earliest counts.
  void AddAfter(const std::string& key, base::Duration delay);
  /// AddAfter with the key's backoff, which doubles with each call until Forget. Returns the wait.
  base::Duration AddRateLimited(const std::string& key);
  /// The key is fine: its next failure starts from the shortest wait.
  void Forget(const std::string& key);

  /// How often AddRateLimited was called since Forget.
  int Failures(const std::string& key) const;
  /// Keys ready to be processed.
  size_t size() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::controllers::runtime
