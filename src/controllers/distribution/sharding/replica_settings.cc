#include "controllers/distribution/sharding/replica_settings.h"

#include <spdlog/fmt/fmt.h>

#include "controllers/distribution/sharding/distribution_events.h"
#include "controllers/distribution/sharding/distribution_metrics.h"
#include "controllers/distribution/sharding/published_plan.h"

namespace evenkeel::controllers::distribution {
namespace {

/// As long as a rolling update takes to replace one replica after another.
constexpr base::Duration kTolerated = std::chrono::seconds(30);
/// Longer than four renewals of either mode.
constexpr base::Duration kSilence = std::chrono::seconds(45);

}  // namespace

SettingsByName SettingsOf(const Options& options) {
  const bool coordinated = options.mode == Mode::kCoordinated;
  SettingsByName settings = options.settings;
  settings["sharding-mode"] = ModeName(options.mode);
  settings["in-cluster"] = options.in_cluster ? "true" : "false";
  settings["lease-duration"] = base::FormatDuration(options.lease_duration);
  settings["lease-margin"] = base::FormatDuration(options.lease_margin);
  if (coordinated) {
    settings["replica-lease-duration"] = base::FormatDuration(options.replica_lease_duration);
    return settings;
  }
  settings["sharding-method"] = MethodName(options.method);
  settings["dynamic"] = options.dynamic ? "true" : "false";
  settings["heartbeat"] = base::FormatDuration(options.heartbeat);
  std::string quirks;
  for (const auto& [name, on] : ListQuirks(options.quirks)) quirks += on ? (quirks.empty() ? "" : ",") + name : "";
  settings["quirks"] = quirks;
  return settings;
}

SettingsByName SettingsIn(const base::Json& lease) {
  SettingsByName settings;
  const auto parsed = base::ParseJson(base::FindString(lease, {"metadata", "annotations", kSettingsAnnotation}), "settings");
  if (!parsed || !parsed->is_object()) return settings;
  for (const auto& [name, value] : parsed->get_object()) {
    if (value.is_string()) settings.emplace(name, value.get_string());
  }
  return settings;
}

std::vector<std::string> Disagreements(const std::vector<std::pair<std::string, SettingsByName>>& replicas) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> hosts;  // by name and value
  for (const auto& [host, settings] : replicas) {
    for (const auto& [name, value] : settings) hosts[name][value].push_back(host);
  }
  std::vector<std::string> disagreements;
  for (const auto& [name, by_value] : hosts) {
    if (by_value.size() < 2) continue;
    std::string text;
    for (const auto& [value, who] : by_value) {
      text += fmt::format("{}{} ({})", text.empty() ? name + ": " : ", ", value.empty() ? "none" : value, fmt::join(who, ", "));
    }
    disagreements.push_back(std::move(text));
  }
  return disagreements;
}

Finding DisagreementFinding(const Options& options, const std::vector<std::string>& disagreements) {
  const base::JsonObject about{{"apiVersion", "apps/v1"},
                               {"kind", "Deployment"},
                               {"metadata", base::JsonObject{{"namespace", options.ns}, {"name", options.controller_name}}}};
  return {
      about, "Deployment " + options.ns + "/" + options.controller_name, events::kReplicasDisagree.reason,
      fmt::format("replicas of this fleet were told different things: {}; tell all the same", fmt::join(disagreements, "; "))};
}

std::string ReplicaLeaseSelector() {
  return fmt::format("{} in ({},{})", kReplicaLabel, kReplicaLabelValue, kCompatibleLabelValue);
}

ReplicaSettings::ReplicaSettings(const Options& options, client::EventRecorder& events, base::MetricRegistry& metrics,
                                 base::Clock& clock)
    : options_(options),
      own_(SettingsOf(options)),
      own_text_([this] {
        base::JsonObject object;
        for (const auto& [name, value] : own_) object[name] = value;
        return base::ToText(object);
      }()),
      findings_(events),
      metrics_(metrics),
      clock_(clock) {}

void ReplicaSettings::WriteTo(base::Json& lease) const {
  base::Ensure(lease, {"metadata", "annotations", kSettingsAnnotation}) = own_text_;
}

void ReplicaSettings::See(const std::string& name, const base::Json* lease) {
  if (lease == nullptr) {
    seen_.erase(name);
    return;
  }
  const client::Lease decoded = client::Lease::Decode(*lease);
  const base::Instant now = clock_.Monotonic();
  const auto [entry, fresh] = seen_.try_emplace(name);
  Seen& seen = entry->second;
  SettingsByName settings = SettingsIn(*lease);
  if (fresh || settings != seen.settings) seen.since = now;
  seen.settings = std::move(settings);
  seen.host = base::FindString(*lease, {"metadata", "annotations", kHostAnnotation});
  seen.compatible = base::FindString(*lease, {"metadata", "labels", kReplicaLabel}) == kCompatibleLabelValue;
  if (!fresh && seen.renew_time == decoded.renew_time) return;
  seen.renewed = !fresh;
  seen.renew_time = decoded.renew_time;
  seen.renewed_at = now;
}

void ReplicaSettings::Report(bool tells) {
  const base::Instant now = clock_.Monotonic();
  std::vector<std::pair<std::string, SettingsByName>> replicas{{options_.host_name, own_}};
  int differing = 0;
  for (const auto& [name, seen] : seen_) {
    const bool lives = seen.renewed && now - seen.renewed_at < kSilence;
    if (!lives || seen.host == options_.host_name || now - seen.since < kTolerated) continue;
    differing += !Disagreements({{"", own_}, {"", seen.settings}}).empty();
    replicas.emplace_back(seen.host, seen.settings);
  }
  base::GaugeOf(metrics_, metrics::kDisagreeing).Set(differing);
  const std::vector<std::string> disagreements = Disagreements(replicas);
  std::vector<Finding> findings;
  if (!disagreements.empty()) findings.push_back(DisagreementFinding(options_, disagreements));
  findings_.Report(findings, tells);
}

std::vector<std::string> ReplicaSettings::GoneFor(base::Duration age) const {
  std::vector<std::string> names;
  for (const auto& [name, seen] : seen_) {
    const base::Duration silent = clock_.Monotonic() - seen.renewed_at;
    if (seen.compatible && silent > kSilence && std::max(silent, clock_.Now() - seen.renew_time) > kSilence + age) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace evenkeel::controllers::distribution
