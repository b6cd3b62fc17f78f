#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "controllers/rollout/budget.h"
#include "controllers/rollout/zookeeper/spec/desired_servers.h"
#include "controllers/rollout/zookeeper/spec/server_names.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Field;
using base::Find;
using base::Json;
using base::JsonObject;

constexpr int64_t kSecondsMax = 7 * 24 * 3600;
constexpr int64_t kHistoryMax = 100;
constexpr size_t kClusterNameMax = 48;  // Karmada's
constexpr size_t kLabelMax = 63;
constexpr std::pair<std::string_view, NamingMode> kModes[] = {{"clusterset", NamingMode::kClusterset},
                                                              {"native", NamingMode::kNative},
                                                              {"perClusterService", NamingMode::kPerClusterService},
                                                              {"external", NamingMode::kExternal}};

class SpecReader {
 public:
  SpecReader(const kube::ManifestObject& object, EnsembleSpec& spec)
      : object_(object.object), fields_(kube::FieldsOf(object)), of_(fields_["spec"]), spec_(spec) {}

  base::Status Read() {
    EVENKEEL_TRY(of_.Required());
    EVENKEEL_TRY(of_.IsObject());
    EVENKEEL_TRY(ReadName());
    EVENKEEL_TRY(ReadNaming());
    EVENKEEL_TRY(ReadPlacement());
    EVENKEEL_TRY(ReadBody());
    EVENKEEL_TRY(ReadRollout());
    EVENKEEL_TRY(ReadRecovery());
    EVENKEEL_TRY(JudgePlacement());
    return CheckServerNames();
  }

 private:
  base::Status ReadName() {
    spec_.name = kube::NameOf(object_);
    spec_.ns = kube::NamespaceOf(object_);
    if (spec_.ns.empty()) spec_.ns = "default";
    spec_.uid = kube::UidOf(object_);
    // It begins the names of Services and pods, which are labels in DNS.
    std::string wrong = kube::CheckDnsLabel(spec_.name);
    if (wrong.empty() && spec_.name.front() >= '0' && spec_.name.front() <= '9') wrong = "has to begin with a letter";
    if (wrong.empty() && HeadlessService(spec_.name).size() > kLabelMax) {
      wrong = fmt::format("the Service {} would be longer than {} characters", HeadlessService(spec_.name), kLabelMax);
    }
    if (!wrong.empty()) return fields_["metadata"]["name"].Wrong(wrong);
    return {};
  }

  base::Status ReadNaming() {
    const Field naming = of_["naming"];
    EVENKEEL_TRY(naming["mode"].Word<NamingMode>(spec_.naming.mode, kModes));
    EVENKEEL_TRY(naming["stride"].Whole(spec_.naming.stride, 1, kIdMax));
    EVENKEEL_TRY(naming["clusterDomain"].Text(spec_.naming.cluster_domain));
    if (const std::string wrong = kube::CheckDnsSubdomain(spec_.naming.cluster_domain); !wrong.empty()) {
      return naming["clusterDomain"].Wrong(wrong);
    }
    EVENKEEL_TRY(naming["template"].Text(spec_.naming.pattern));
    const bool by_id = spec_.naming.pattern.find("<id>") != std::string::npos;
    if (spec_.naming.mode != NamingMode::kExternal || by_id) return {};
    for (const char* part : {"<c>", "<o>"}) {
      if (spec_.naming.pattern.find(part) == std::string::npos) {
        return naming["template"].Wrong(fmt::format("external names need a template with <c> and <o>; {} is missing", part));
      }
    }
    return {};
  }

  base::Status ReadPlacement() {
    const Field clusters = of_["placement"]["clusters"];
    EVENKEEL_TRY(clusters.Required("voters are placed by name and number, never by a scheduler's weights"));
    EVENKEEL_TRY(clusters.ForEach([this](const Field& cluster) { return ReadCluster(cluster); }, "clusters"));
    if (spec_.shares.empty()) return clusters.Wrong("not a list of clusters");
    const int64_t total = Total(spec_.shares);
    int64_t replicas = total;
    EVENKEEL_TRY(of_["replicas"].Whole(replicas, 1, kIdMax));
    if (replicas == total) return {};
    return of_["replicas"].Wrong(fmt::format("{}, but the clusters of spec.placement have {} together", replicas, total));
  }

  base::Status ReadCluster(const Field& cluster) {
    const Field named = cluster["name"], placed = cluster["replicas"], identified = cluster["clusterID"];
    std::string name;
    EVENKEEL_TRY(named.Text(name));
    if (name.empty()) return named.Wrong("missing");
    if (const std::string wrong = kube::CheckDnsLabel(name); !wrong.empty()) return named.Wrong(wrong);
    if (name.size() > kClusterNameMax) {
      return named.Wrong(fmt::format("longer than the {} characters of a cluster's name", kClusterNameMax));
    }
    int64_t share = 0;
    EVENKEEL_TRY(placed.Required());
    EVENKEEL_TRY(placed.Whole(share, 1, kIdMax));
    if (share > spec_.naming.stride) {
      return placed.Wrong(
          fmt::format("{} replicas, but spec.naming.stride gives a cluster {} ids", share, spec_.naming.stride));
    }
    if (!spec_.shares.emplace(name, share).second) return named.Wrong(Quoted(name) + " is listed twice");
    std::string cluster_id = name;
    EVENKEEL_TRY(identified.Text(cluster_id));
    if (const std::string wrong = kube::CheckDnsLabel(cluster_id); !wrong.empty()) return identified.Wrong(wrong);
    for (const auto& [other, other_id] : spec_.cluster_ids) {
      if (other_id == cluster_id) return identified.Wrong(Quoted(cluster_id) + " is the one of " + other + ", too");
    }
    spec_.cluster_ids.emplace(name, cluster_id);
    return {};
  }

  base::Status ReadBody() {
    const Field body = of_["template"];
    spec_.body = JsonObject{};
    if (!body) return {};
    EVENKEEL_TRY(body.IsObject());
    for (const char* own : {"replicas", "servers", "myidOffset", "leaving", "rolloutRevision", "ordinalsStart", "recovery",
                            "abandoned", "hold", "ensemble"}) {
      if (!body.value().get_object().contains(own)) continue;
      return body[own].Wrong("differs from cluster to cluster and is filled in for each: leave it out");
    }
    if (Find(body.value(), {"tls", "quorumMode"}) != nullptr) {
      return body["tls"]["quorumMode"].Wrong("is led from one to the next by itself: leave it out");
    }
    ServersSpec servers;
    if (const auto read = ReadServersSpec(body.value(), body.path(), servers); !read) {
      return fields_[""].Wrong(read.error().message());
    }
    spec_.body = Json(body.value(), {});
    return {};
  }

  base::Status ReadRollout() {
    EVENKEEL_TRY(ReadOrder());
    const Field rollout = of_["rollout"];
    int64_t seconds = 600, limit = 10;
    EVENKEEL_TRY(rollout["progressDeadlineSeconds"].Whole(seconds, 1, kSecondsMax));
    spec_.policy.progress_deadline = std::chrono::seconds(seconds);
    EVENKEEL_TRY(rollout["onFailure"].Word<OnFailure>(spec_.policy.on_failure,
                                                      {{"Pause", OnFailure::kPause}, {"Rollback", OnFailure::kRollback}}));
    EVENKEEL_TRY(rollout["allowDegraded"].Flag(spec_.allow_degraded));
    EVENKEEL_TRY(rollout["skipUnreachable"].Flag(spec_.policy.skip_unreachable));
    EVENKEEL_TRY(rollout["paused"].Flag(spec_.policy.paused));
    EVENKEEL_TRY(of_["revisionHistoryLimit"].Whole(limit, 1, kHistoryMax));
    spec_.policy.history_limit = static_cast<size_t>(limit);
    return {};
  }

  base::Status ReadOrder() {
    const Field order = of_["rollout"]["order"];
    std::set<std::string> seen;
    EVENKEEL_TRY(order.ForEach(
        [&](const Field& item) -> base::Status {
          std::string& name = spec_.order.emplace_back();
          EVENKEEL_TRY(item.Text(name));
          if (!spec_.shares.contains(name)) return item.Wrong(Quoted(name) + " is not a cluster of spec.placement");
          if (!seen.insert(name).second) return item.Wrong(Quoted(name) + " is listed twice");
          return {};
        },
        "cluster names"));
    if (spec_.order.empty()) return {};
    for (const auto& [name, share] : spec_.shares) {
      if (!seen.contains(name)) return order.Wrong(name + " is missing: it has to name every cluster once");
    }
    return {};
  }

  base::Status ReadRecovery() {
    const Field recovery = of_["forceRecovery"], survivors = recovery["survivors"], lost = recovery["lost"];
    if (!recovery) return {};
    RecoveryRequest request;
    EVENKEEL_TRY(recovery["request"].Text(request.name));
    if (const std::string wrong = CheckRecoveryName(request.name); !wrong.empty()) return recovery["request"].Wrong(wrong);
    bool acknowledged = false;
    EVENKEEL_TRY(recovery["acknowledgeDataLoss"].Flag(acknowledged));
    if (!acknowledged) {
      return recovery["acknowledgeDataLoss"].Wrong("has to be true: what only the lost servers knew is gone then");
    }
    EVENKEEL_TRY(ReadRecoveryClusters(survivors, request.survivors));
    EVENKEEL_TRY(ReadRecoveryClusters(lost, request.lost));
    for (const std::string& cluster : request.survivors) {
      if (!spec_.shares.contains(cluster)) return survivors.Wrong(Quoted(cluster) + " is not a cluster of spec.placement");
      if (request.lost.contains(cluster)) return lost.Wrong(Quoted(cluster) + " is a survivor, too");
    }
    for (const std::string& cluster : request.lost) {
      if (!spec_.shares.contains(cluster)) continue;
      return lost.Wrong(Quoted(cluster) +
                        " is still in spec.placement: take it out; placed again later, it gets servers with other ids");
    }
    spec_.recovery = std::move(request);
    return {};
  }

  static base::Status ReadRecoveryClusters(const Field& list, std::set<std::string>& clusters) {
    EVENKEEL_TRY(list.ForEach(
        [&](const Field& name) -> base::Status {
          std::string text;
          EVENKEEL_TRY(name.Text(text));
          if (!name || !clusters.insert(text).second) return list.Wrong("not names of different clusters");
          return {};
        },
        "cluster names"));
    if (clusters.empty()) return list.Wrong("not a list of cluster names");
    return {};
  }

  base::Status JudgePlacement() {
    const int64_t total = Total(spec_.shares);
    for (const auto& [name, share] : spec_.shares) {
      if (total - share < Majority(total)) {
        spec_.unsafe = fmt::format("without {} {} of {} voters are left, but a majority is {}", name, total - share, total,
                                   Majority(total));
        break;
      }
    }
    bool required = false;
    EVENKEEL_TRY(of_["placement"]["requireClusterFaultTolerance"].Flag(required));
    if (required && !spec_.unsafe.empty())
      return of_["placement"].Wrong(spec_.unsafe + ", and requireClusterFaultTolerance is set");
    if (total % 2 == 0) {
      spec_.even = fmt::format("{} voters survive the loss of no more than {} do", total, total - 1);
    }
    return {};
  }

  base::Status CheckServerNames() {
    EVENKEEL_TRY(CheckPattern());
    for (const auto& [name, share] : spec_.shares) {
      // The longest: with the largest ordinal that the naming may give.
      const ClusterIdentity identity{kIdMax / spec_.naming.stride, spec_.cluster_ids.at(name)};
      const std::string host = HostName(spec_, name, identity, share - 1);
      if (const std::string wrong = CheckHostName(host); !wrong.empty()) {
        return of_["naming"].Wrong(fmt::format("the server name {} in {}: {}", Quoted(host), name, wrong));
      }
    }
    return {};
  }

  /// A template may run a cluster's name and a number together: "m1" with 0 and "m" with 10.
  base::Status CheckPattern() const {
    if (spec_.naming.mode != NamingMode::kExternal || spec_.naming.pattern.find("<id>") != std::string::npos) return {};
    std::set<std::string> hosts;
    for (const auto& [name, share] : spec_.shares) {
      for (int64_t ordinal = 0; ordinal < share; ++ordinal) {
        const std::string host = HostName(spec_, name, {0, spec_.cluster_ids.at(name)}, ordinal);
        if (!hosts.insert(host).second) return of_["naming"]["template"].Wrong(Quoted(host) + " would be two servers");
      }
    }
    return {};
  }

  const Json& object_;
  const Field fields_, of_;
  EnsembleSpec& spec_;
};

}  // namespace

std::string CheckRecoveryName(std::string_view name) {
  constexpr std::string_view kOthers = "-_.:+";
  if (name.empty() || name.size() > kLabelMax) return fmt::format("not a name of 1 to {} characters", kLabelMax);
  const bool plain =
      std::ranges::all_of(name, [&](char c) { return base::IsAlphanumeric(c) || kOthers.find(c) != kOthers.npos; });
  return plain ? "" : fmt::format("letters, digits and {} only", kOthers);
}

int64_t Total(const Shares& shares) {
  int64_t total = 0;
  for (const auto& [cluster, share] : shares) total += share;
  return total;
}

int64_t ShareOf(const Shares& shares, const std::string& cluster) {
  const auto found = shares.find(cluster);
  return found == shares.end() ? 0 : found->second;
}

std::string_view Name(NamingMode mode) {
  const auto* found = std::ranges::find(kModes, mode, &std::pair<std::string_view, NamingMode>::second);
  EVENKEEL_CHECK(found != std::end(kModes));
  return found->first;
}

std::optional<NamingMode> ParseNamingMode(std::string_view name) {
  const auto* found = std::ranges::find(kModes, name, &std::pair<std::string_view, NamingMode>::first);
  return found == std::end(kModes) ? std::nullopt : std::optional(found->second);
}

base::Result<EnsembleSpec> DecodeSpec(const kube::ManifestObject& object) {
  EnsembleSpec spec;
  EVENKEEL_TRY(SpecReader(object, spec).Read());
  return spec;
}

std::unexpected<base::Error> WrongField(const kube::ManifestObject& object, const std::string& field, const std::string& what) {
  return kube::FieldsOf(object)[field].Wrong(what);
}

}  // namespace evenkeel::controllers::rollout::zookeeper
