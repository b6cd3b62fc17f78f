// Compares the settings of a fleet's replicas. Each replica writes its settings into an annotation of its Lease on the hub, in
// both modes. Replicas with different settings work against each other, and none of them can see that by itself.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "client/event_recorder.h"
#include "client/lease.h"
#include "controllers/distribution/sharding/findings.h"
#include "controllers/distribution/sharding/options.h"

namespace evenkeel::controllers::distribution {

/// Of the Leases of replicas in compatible mode; those of coordinated mode have kReplicaLabelValue.
inline constexpr char kCompatibleLabelValue[] = "compatible-replica";
inline constexpr char kSettingsAnnotation[] = "evenkeel.dev/settings";

/// What silent replicas leave behind is kept this long, for people who look for the cause.
inline constexpr base::Duration kTraceAge = std::chrono::minutes(2);

/// Values by the names of flags.
using SettingsByName = std::map<std::string, std::string>;

/// What all replicas must have been told alike.
SettingsByName SettingsOf(const Options& options);
/// As a Lease says them; what cannot be read is none.
SettingsByName SettingsIn(const base::Json& lease);
/// "sharding-method: legacy (a), round-robin (b, c)" for each setting in which hosts differ; one that a host does not name is
/// no difference.
std::vector<std::string> Disagreements(const std::vector<std::pair<std::string, SettingsByName>>& replicas);
/// About the Deployment.
Finding DisagreementFinding(const Options& options, const std::vector<std::string>& disagreements);
/// Selects the Leases of replicas in either mode.
std::string ReplicaLeaseSelector();

/// Compares the own settings with those of the others and tells. On one strand, but for WriteTo.
class ReplicaSettings {
 public:
  /// All must outlive it. `options` is read now.
  ReplicaSettings(const Options& options, client::EventRecorder& events, base::MetricRegistry& metrics, base::Clock& clock);

  /// Adds what this replica says to its own Lease. From any thread.
  void WriteTo(base::Json& lease) const;
  /// The Lease of a replica as it is now; null: it was deleted.
  void See(const std::string& name, const base::Json* lease);
  /// Told when it has lasted for half a minute, since a rolling update brings new settings replica by replica. `tells`: this
  /// replica writes the Events.
  void Report(bool tells);
  /// Leases of compatible replicas that have been silent for so long.
  std::vector<std::string> GoneFor(base::Duration age) const;

 private:
  struct Seen {
    std::string host;
    SettingsByName settings;
    bool compatible = false;
    base::Time renew_time{};
    base::Instant renewed_at{};  ///< or first seen
    base::Instant since{};       ///< when these settings were first seen
    bool renewed = false;        ///< before this observer's eyes: it lives, or did
  };

  const Options& options_;
  const SettingsByName own_;
  const std::string own_text_;
  FindingReporter findings_;
  base::MetricRegistry& metrics_;
  base::Clock& clock_;
  std::map<std::string, Seen> seen_;  ///< by the Lease's name
};

}  // namespace evenkeel::controllers::distribution
