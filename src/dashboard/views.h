// The views that there are, each a document that is kept current from the updates of its sources.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dashboard/live_document.h"
#include "dashboard/source.h"

namespace evenkeel::dashboard {

/// What a source reads.
enum class Topic { kFleet, kSummary, kCluster, kBalance, kEnsembles, kServers, kEvents };

/// Events that are kept of the whole fleet: the latest.
inline constexpr size_t kEventsShown = 2000;

class View {
 public:
  virtual ~View() = default;
  /// What it shows of the hub; kFleet is always there.
  virtual std::vector<Topic> HubTopics() const { return {}; }
  /// What it shows of each member, or of the one that it is about.
  virtual std::vector<Topic> MemberTopics() const { return {}; }
  /// The only member that it is about; "": all.
  virtual std::string member() const { return ""; }

  /// `cluster`: "" is the hub.
  virtual void Apply(Topic topic, const std::string& cluster, const Update& update, const Outage& outage) = 0;
  /// The member is not in the fleet any more.
  virtual void Forget(const std::string& cluster) = 0;
  LiveDocument& document() { return document_; }
  bool Wants(Topic topic, const std::string& cluster) const;

 protected:
  /// Takes the change over as it is.
  void Put(const Change& change);

  LiveDocument document_;
};

/// kNotFound names the views that there are. `hub`: what the hub is called.
base::Result<std::unique_ptr<View>> NewView(const std::string& name, const std::string& hub);

}  // namespace evenkeel::dashboard
