// The thin half of every controller here: a queue of keys on the cluster's strand, one key at a time, again with backoff on
// errors.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"
#include "client/event_recorder.h"
#include "controllers/runtime/controller.h"
#include "embedded/workloads/pods/expectations.h"
#include "embedded/workloads/pods/informers.h"

namespace evenkeel::embedded::workloads {

/// What all controllers of one cluster share. Everything in it belongs to the strand.
struct Context {
  client::Client& client;
  std::shared_ptr<base::Strand> strand;
  base::Clock& clock;
  base::Random random;
  SharedInformers& informers;
  std::function<bool(const base::Json& object)> is_template{};  ///< of WorkloadsOptions, like the next one
  std::string root_ca_pem{};
};

/// After a successful reconcile: when to look at the key again without being told, if at all.
using Again = std::optional<base::Duration>;
/// The sooner of two.
Again Sooner(Again a, Again b);

/// Level-triggered: a key in, never an event.
class Reconciler {
 public:
  Reconciler(Context& context, std::string name);
  virtual ~Reconciler() = default;
  Reconciler(const Reconciler&) = delete;
  Reconciler& operator=(const Reconciler&) = delete;

  const std::string& name() const { return controller_.name(); }
  /// From now on keys are worked on, once the caches have been filled.
  virtual void Start() { controller_.Start(); }
  virtual void Stop() { controller_.Stop(); }

 protected:
  /// Makes the world of `key` as it should be. kConflict: the cache was stale, soon again; other errors: again with backoff.
  virtual base::Result<Again> Reconcile(const std::string& key) = 0;

  void Enqueue(const std::string& key) { controller_.Enqueue(key); }
  /// Not before `delay` from now; an earlier appointment of the same key stands.
  void EnqueueAfter(const std::string& key, base::Duration delay) { controller_.EnqueueAfter(key, delay); }
  /// For changes that come in swarms (pods getting ready): soon, together with those that follow within a few milliseconds.
  void EnqueueSoon(const std::string& key) { controller_.EnqueueAfter(key, std::chrono::milliseconds(20)); }

  /// Queues the objects of `kind`, and those that control a pod that changed or whose selector finds a stray one. Keeps
  /// `expectations` (by the owner's key) up to date.
  void WatchPodsOf(const kube::Resource& kind, Expectations& expectations);

  /// Whether the object runs elsewhere, and nothing is to be made of it here.
  bool IsTemplate(const kube::Object& object) const { return context_.is_template && context_.is_template(*object.json); }

  base::Time Now() const { return context_.clock.Now(); }
  client::Client& api() { return context_.client; }
  SharedInformers& informers() { return context_.informers; }
  client::EventRecorder& events() { return events_; }

  Context& context_;

 private:
  client::EventRecorder events_;
  controllers::runtime::Controller controller_;
};

/// Update of an object as it is cached with another status; nothing is written when it is the same. The object as stored.
/// kConflict when the cache is behind.
base::Result<base::Json> WriteStatus(client::Client& client, const kube::Resource& resource, const base::Json& object,
                                     base::Json status);
/// Errors that only mean that somebody else was faster: the object is gone already.
bool IsGone(const base::Error& error);
/// Whatever else went wrong.
template <typename T>
base::Status UnlessGone(const base::Result<T>& result) {
  return result || IsGone(result.error()) ? base::Status() : base::Fail(result.error());
}

}  // namespace evenkeel::embedded::workloads
