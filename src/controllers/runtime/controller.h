// Calls a reconcile function with keys: level-triggered, so it gets a name and reads the whole state itself; again after a
// failure, later and later; never before the caches it reads have been filled.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/executor.h"
#include "base/metrics.h"
#include "base/result.h"
#include "controllers/runtime/work_queue.h"

namespace evenkeel::controllers::runtime {

struct ReconcileResult {
  std::optional<base::Duration> requeue_after;  ///< look again, even if nothing changes
};

/// Brings what `key` names to where it should be. Idempotent. An error means "again later"; kConflict means that somebody else
/// wrote in between and is not worth a warning.
using Reconcile = std::function<base::Result<ReconcileResult>(const std::string& key)>;

struct ControllerOptions {
  WorkQueueOptions queue;
  /// If set: evenkeel_reconcile_total{controller,result}, evenkeel_reconcile_duration_seconds{controller} and
  /// evenkeel_workqueue_depth{controller}. Must outlive the controller.
  base::MetricRegistry* metrics = nullptr;
};

struct ControllerStats {
  int64_t reconciles = 0;
  int64_t errors = 0;  ///< without conflicts
  int64_t conflicts = 0;
  base::Duration total_duration{};
  std::string last_error;  ///< "KEY: message" of the last failure; stays when the key recovers
};

/// Lives on one strand, which it shares with the informers it reads: all calls are made there.
class Controller {
 public:
  Controller(std::string name, std::shared_ptr<base::Strand> strand, base::Clock& clock, Reconcile reconcile,
             ControllerOptions options = {});
  /// Must not run inside reconcile.
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  /// Before Start: keys are collected but nothing is reconciled until all these conditions have held (asked in the order given,
  /// 20 ms to 1 s apart). Typically `[&] { return pods.synced(); }`.
  void WaitFor(std::function<bool()> condition);
  void Start();
  /// Drops all keys; for good.
  void Stop();

  void Enqueue(const std::string& key);
  void EnqueueAfter(const std::string& key, base::Duration delay);

  /// Started, and what it waits for has happened.
  bool running() const;
  const std::string& name() const;
  const std::shared_ptr<base::Strand>& strand() const;
  const ControllerStats& stats() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::controllers::runtime
