// What the controllers of a replica read of one member together: one list-watch for each kind and selection that one of them
// asks for, and one ClusterMirror behind them all. Autoscaler, balancer and scheduler listen to that mirror and ask its
// snapshot. What a single one reads (policies, the objects of ZooKeepers) it watches by itself.
//
//   member's API ─► list-watch per kind ─► ClusterMirror ─► snapshot: what fits where
//                                             └─► listeners, in the order in which they were made, on the member's strand
//
// Objects pass through: of each, the feed keeps its identity and version, the snapshot its row, a listener what its rules need.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "client/informer.h"
#include "controllers/runtime/defined_kind.h"
#include "scheduling/cluster_mirror.h"

namespace evenkeel::controllers::runtime {

/// A kind that is read, and which of its objects.
struct ReadKind {
  kube::Resource resource;
  std::string ns{}, field_selector{};
  std::optional<kube::Resource> older{};  ///< read instead where the API does not serve this version yet
};

/// What ClusterMirror's snapshot consists of.
std::vector<ReadKind> SnapshotReadKinds();

/// Belongs to its strand.
class MemberFeed {
 public:
  MemberFeed(client::Client& client, std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random);

  /// Before Start. What several ask for is watched once.
  void Read(std::span<const ReadKind> kinds);
  /// The same for BalancingPlans, which are kept as they came, too: see plans().
  void ReadPlans();
  void Start();

  scheduling::ClusterMirror& mirror() { return mirror_; }
  /// "": all of these kinds have been listed once. Else "Pod, Node (connection refused)": what has not been, and why. Kinds
  /// that the API does not serve have no objects, nor have those about devices that an older role does not name; begins with
  /// older versions of those that have one.
  std::string Missing(std::span<const ReadKind> kinds);
  /// The same for the plans; a member without the kind has none.
  std::string MissingPlans();
  /// Null: the member does not have the kind (yet).
  const client::Informer<kube::Object>* plans() const { return plans_ == nullptr ? nullptr : plans_->objects(); }

  /// "" when there is no such object.
  std::string_view UidOf(const ReadKind& kind, const std::string& key) const;
  size_t Count(const ReadKind& kind) const;
  /// The last failure to read one of these kinds since its last success.
  std::optional<base::Error> LastError(std::span<const ReadKind> kinds) const;
  /// Whether Missing would say "".
  bool Listed(std::span<const ReadKind> kinds) const;
  /// Whether all of them are served and have been listed, whatever has happened since.
  bool Synced(std::span<const ReadKind> kinds) const;

 private:
  using Informer = client::Informer<client::PassingObject>;
  struct Stream {
    ReadKind kind;
    std::unique_ptr<Informer> informer;
    std::unique_ptr<Informer> older;  ///< null: there is none, or it was not needed
  };
  static bool NotServed(const Informer& informer);
  static bool Listed(const Stream& stream);
  std::unique_ptr<Informer> Make(const ReadKind& kind, const kube::Resource& resource, const std::string& stream);
  Stream* Find(const ReadKind& kind) const;
  void BeginOlder(Stream& stream);

  client::Client& client_;
  const std::shared_ptr<base::Strand> strand_;
  base::Clock& clock_;
  const base::Random random_;
  scheduling::ClusterMirror mirror_;
  std::vector<std::unique_ptr<Stream>> streams_;  // in the order in which they were asked for
  std::unique_ptr<DefinedKind> plans_;            // null: nobody has asked for them
};

}  // namespace evenkeel::controllers::runtime
