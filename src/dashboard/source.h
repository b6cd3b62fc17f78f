// A source reads one cluster for a view, and turns what it reads into entries of the view's document. Each source has a strand
// of its own, so a cluster that does not answer delays no other source.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "client/informer.h"
#include "controllers/distribution/sharding/cluster.h"
#include "dashboard/find.h"
#include "dashboard/outage.h"

namespace evenkeel::dashboard {

/// An entry of a document, or with an empty key a whole field; without a value it goes.
struct Change {
  std::string field, key;
  std::optional<base::Json> value;
};

struct Update {
  std::vector<Change> changes;
  /// Only the hub's: the members there are now.
  std::optional<std::vector<controllers::distribution::Cluster>> members;

  void Set(std::string field, base::Json value) { changes.push_back({std::move(field), "", std::move(value)}); }
  void Set(std::string field, std::string key, base::Json value) {
    changes.push_back({std::move(field), std::move(key), std::move(value)});
  }
  void Erase(std::string field, std::string key) { changes.push_back({std::move(field), std::move(key), std::nullopt}); }
};

struct SourceContext {
  client::Client& client;
  std::shared_ptr<base::Strand> strand;
  base::Clock& clock;
  base::Random random;
  std::function<void()> changed;  ///< there is something to collect; on the strand
};

inline constexpr base::Duration kSourceGap = std::chrono::milliseconds(250);
inline constexpr base::Duration kSourceTick = std::chrono::seconds(5);

class Source {
 public:
  virtual ~Source() = default;
  /// Everything has been listed, or could not be.
  virtual bool settled() const = 0;
  /// Why the cluster cannot be read at the moment; "" when it can.
  virtual std::string error() const = 0;
  /// What has changed since the last call; called once settled, after `changed` (kSourceGap apart) and every tick().
  virtual Update Collect() = 0;
  /// What it has of what is looked for; nothing where that is not its matter.
  virtual Found Find([[maybe_unused]] const FindRequest& request) const { return {}; }
  virtual base::Duration tick() const { return kSourceTick; }
};

/// A source that is a number of informers. Kinds that the cluster does not serve have no objects.
class InformedSource : public Source {
 public:
  bool settled() const override;
  std::string error() const override;

 protected:
  explicit InformedSource(SourceContext context) : context_(std::move(context)) {}

  /// Starts one, which lives as long as the source; `handler` comes before `changed`.
  template <typename T>
  std::shared_ptr<const client::Informer<T>> Watch(const kube::Resource& resource, client::InformerOptions options,
                                                   typename client::Informer<T>::Handler handler) {
    auto informer = std::make_shared<client::Informer<T>>(context_.client, resource, std::move(options), context_.strand,
                                                          context_.clock, context_.random.Fork(resource.QualifiedPlural()));
    informer->AddHandler(std::move(handler));
    informer->AddHandler([this](const auto&, const auto&) { context_.changed(); });
    informer->Start();
    informers_.push_back({resource.QualifiedPlural(), informer, [at = informer.get()] { return at->health(); }});
    return informer;
  }

  SourceContext context_;

 private:
  struct Watched {
    std::string what;
    std::shared_ptr<void> informer;
    std::function<client::ReflectorHealth()> health;
  };
  std::vector<Watched> informers_;
};

using SourceFactory = std::function<std::unique_ptr<Source>(SourceContext context)>;

/// Runs one source: connects, makes it, collects. May be made and destroyed on any thread; destroying it never waits for the
/// cluster (see Retire).
class SourceRunner {
 public:
  using Connect = std::function<base::Result<std::shared_ptr<client::Client>>()>;
  /// On the source's strand.
  using Sink = std::function<void(Update update, const Outage& outage)>;

  SourceRunner(base::Executor& executor, const std::string& name, base::Random random, Connect connect, SourceFactory make,
               Sink sink);
  ~SourceRunner();
  SourceRunner(const SourceRunner&) = delete;
  SourceRunner& operator=(const SourceRunner&) = delete;

  /// Calls back on the source's strand, or not at all once that is closed: nullopt while there is nothing to look in.
  void Find(FindRequest request, std::function<void(std::optional<Found>)> done);
  /// The strand, on which the source ends by itself once the runner is gone. Before what the sink refers to goes, it is to be
  /// closed, which waits for the running call.
  const std::shared_ptr<base::Strand>& strand() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::dashboard
