#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <set>

#include "controllers/rollout/budget.h"
#include "controllers/rollout/zookeeper/spec/desired_servers.h"
#include "controllers/rollout/zookeeper/spec/server_names.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Find;
using base::FindString;
using base::Json;
using base::JsonObject;

constexpr int64_t kSecondsMax = 7 * 24 * 3600;
constexpr int64_t kHistoryMax = 100;
constexpr size_t kClusterNameMax = 48;  // Karmada's
constexpr size_t kLabelMax = 63;
constexpr std::array kModes = {std::pair{NamingMode::kClusterset, "clusterset"}, std::pair{NamingMode::kNative, "native"},
                               std::pair{NamingMode::kPerClusterService, "perClusterService"},
                               std::pair{NamingMode::kExternal, "external"}};

class SpecReader {
 public:
  SpecReader(const kube::ManifestObject& object, EnsembleSpec& spec) : object_(object), spec_(spec) {}

  base::Status Read() {
    const Json* spec = Find(object_.object, {"spec"});
    if (spec == nullptr || !spec->is_object()) return Wrong("spec", "missing");
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
  std::unexpected<base::Error> Wrong(const std::string& field, const std::string& what) const {
    return WrongField(object_, field, what);
  }

  /// Null when absent.
  const Json* At(std::initializer_list<std::string_view> path) const {
    const Json* value = Find(object_.object, path);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  static std::string Field(std::initializer_list<std::string_view> path) {
    std::string field;
    for (const std::string_view step : path) field += (field.empty() ? "" : ".") + std::string(step);
    return field;
  }

  base::Result<int64_t> Number(std::initializer_list<std::string_view> path, int64_t missing, int64_t least,
                               int64_t most) const {
    if (At(path) == nullptr) return missing;
    const int64_t number = base::FindInt(object_.object, path, least - 1);
    if (number < least || number > most)
      return Wrong(Field(path), fmt::format("not a whole number from {} to {}", least, most));
    return number;
  }

  base::Result<bool> Flag(std::initializer_list<std::string_view> path) const {
    const Json* value = At(path);
    if (value == nullptr) return false;
    if (!value->is_bool()) return Wrong(Field(path), "not true or false");
    return value->get_bool();
  }

  base::Result<std::string> Text(std::initializer_list<std::string_view> path, std::string_view missing) const {
    const Json* value = At(path);
    if (value == nullptr) return std::string(missing);
    if (!value->is_string()) return Wrong(Field(path), "not a text");
    return std::string(value->get_string());
  }

  base::Status ReadName() {
    spec_.name = kube::NameOf(object_.object);
    spec_.ns = kube::NamespaceOf(object_.object);
    if (spec_.ns.empty()) spec_.ns = "default";
    spec_.uid = kube::UidOf(object_.object);
    // It begins the names of Services and pods, which are labels in DNS.
    std::string wrong = kube::CheckDnsLabel(spec_.name);
    if (wrong.empty() && spec_.name.front() >= '0' && spec_.name.front() <= '9') wrong = "has to begin with a letter";
    if (wrong.empty() && HeadlessService(spec_.name).size() > kLabelMax) {
      wrong = fmt::format("the Service {} would be longer than {} characters", HeadlessService(spec_.name), kLabelMax);
    }
    if (!wrong.empty()) return Wrong("metadata.name", wrong);
    return {};
  }

  base::Status ReadNaming() {
    EVENKEEL_ASSIGN(const std::string mode, Text({"spec", "naming", "mode"}, "clusterset"));
    const auto parsed = ParseNamingMode(mode);
    if (!parsed) {
      return Wrong("spec.naming.mode", Quoted(mode) + " is not clusterset, native, perClusterService or external");
    }
    spec_.naming.mode = *parsed;
    EVENKEEL_ASSIGN(spec_.naming.stride, Number({"spec", "naming", "stride"}, 10, 1, kIdMax));
    EVENKEEL_ASSIGN(spec_.naming.cluster_domain, Text({"spec", "naming", "clusterDomain"}, "cluster.local"));
    if (const std::string wrong = kube::CheckDnsSubdomain(spec_.naming.cluster_domain); !wrong.empty()) {
      return Wrong("spec.naming.clusterDomain", wrong);
    }
    EVENKEEL_ASSIGN(spec_.naming.pattern, Text({"spec", "naming", "template"}, ""));
    const bool by_id = spec_.naming.pattern.find("<id>") != std::string::npos;
    if (spec_.naming.mode != NamingMode::kExternal || by_id) return {};
    for (const char* part : {"<c>", "<o>"}) {
      if (spec_.naming.pattern.find(part) == std::string::npos) {
        return Wrong("spec.naming.template",
                     fmt::format("external names need a template with <c> and <o>; {} is missing", part));
      }
    }
    return {};
  }

  base::Status ReadPlacement() {
    const Json* clusters = At({"spec", "placement", "clusters"});
    if (clusters == nullptr) {
      return Wrong("spec.placement.clusters", "missing: voters are placed by name and number, never by a scheduler's weights");
    }
    if (!clusters->is_array() || clusters->get_array().empty())
      return Wrong("spec.placement.clusters", "not a list of clusters");
    for (const Json& cluster : clusters->get_array()) EVENKEEL_TRY(ReadCluster(cluster));
    const int64_t total = Total(spec_.shares);
    EVENKEEL_ASSIGN(const int64_t replicas, Number({"spec", "replicas"}, total, 1, kIdMax));
    if (replicas != total) {
      return Wrong("spec.replicas", fmt::format("{}, but the clusters of spec.placement have {} together", replicas, total));
    }
    return {};
  }

  base::Status ReadCluster(const Json& cluster) {
    const std::string at = fmt::format("spec.placement.clusters[{}]", spec_.shares.size());
    const std::string name(FindString(cluster, {"name"}));
    if (name.empty()) return Wrong(at + ".name", "missing");
    if (const std::string wrong = kube::CheckDnsLabel(name); !wrong.empty()) return Wrong(at + ".name", wrong);
    if (name.size() > kClusterNameMax) {
      return Wrong(at + ".name", fmt::format("longer than the {} characters of a cluster's name", kClusterNameMax));
    }
    const int64_t share = base::FindInt(cluster, {"replicas"}, 0);
    if (share < 1 || share > kIdMax) return Wrong(at + ".replicas", fmt::format("not a whole number from 1 to {}", kIdMax));
    if (share > spec_.naming.stride) {
      return Wrong(at + ".replicas",
                   fmt::format("{} replicas, but spec.naming.stride gives a cluster {} ids", share, spec_.naming.stride));
    }
    if (!spec_.shares.emplace(name, share).second) return Wrong(at + ".name", Quoted(name) + " is listed twice");
    const Json* id = Find(cluster, {"clusterID"});
    if (id != nullptr && !id->is_null() && !id->is_string()) return Wrong(at + ".clusterID", "not a text");
    const std::string cluster_id(FindString(cluster, {"clusterID"}, name));
    if (const std::string wrong = kube::CheckDnsLabel(cluster_id); !wrong.empty()) return Wrong(at + ".clusterID", wrong);
    for (const auto& [other, other_id] : spec_.cluster_ids) {
      if (other_id == cluster_id) return Wrong(at + ".clusterID", Quoted(cluster_id) + " is the one of " + other + ", too");
    }
    spec_.cluster_ids.emplace(name, cluster_id);
    return {};
  }

  base::Status ReadBody() {
    const Json* body = At({"spec", "template"});
    if (body == nullptr) {
      spec_.body = JsonObject{};
      return {};
    }
    if (!body->is_object()) return Wrong("spec.template", "not an object");
    for (const char* own : {"replicas", "servers", "myidOffset", "leaving", "rolloutRevision", "ordinalsStart", "recovery",
                            "abandoned", "hold", "ensemble"}) {
      if (body->get_object().contains(own)) {
        return Wrong(std::string("spec.template.") + own,
                     "differs from cluster to cluster and is filled in for each: leave it out");
      }
    }
    if (Find(*body, {"tls", "quorumMode"}) != nullptr) {
      return Wrong("spec.template.tls.quorumMode", "is led from one to the next by itself: leave it out");
    }
    ServersSpec servers;
    if (const auto read = ReadServersSpec(*body, "spec.template", servers); !read) return Wrong("", read.error().message());
    spec_.body = Json(*body, {});
    return {};
  }

  base::Status ReadRollout() {
    EVENKEEL_TRY(ReadOrder());
    EVENKEEL_ASSIGN(const int64_t seconds, Number({"spec", "rollout", "progressDeadlineSeconds"}, 600, 1, kSecondsMax));
    spec_.policy.progress_deadline = std::chrono::seconds(seconds);
    EVENKEEL_ASSIGN(const std::string on_failure, Text({"spec", "rollout", "onFailure"}, "Pause"));
    if (on_failure != "Pause" && on_failure != "Rollback") {
      return Wrong("spec.rollout.onFailure", Quoted(on_failure) + " is not Pause or Rollback");
    }
    spec_.policy.on_failure = on_failure == "Pause" ? OnFailure::kPause : OnFailure::kRollback;
    EVENKEEL_ASSIGN(spec_.allow_degraded, Flag({"spec", "rollout", "allowDegraded"}));
    EVENKEEL_ASSIGN(spec_.policy.skip_unreachable, Flag({"spec", "rollout", "skipUnreachable"}));
    EVENKEEL_ASSIGN(spec_.policy.paused, Flag({"spec", "rollout", "paused"}));
    EVENKEEL_ASSIGN(const int64_t limit, Number({"spec", "revisionHistoryLimit"}, 10, 1, kHistoryMax));
    spec_.policy.history_limit = static_cast<size_t>(limit);
    return {};
  }

  base::Status ReadOrder() {
    const Json* order = At({"spec", "rollout", "order"});
    if (order == nullptr) return {};
    if (!order->is_array()) return Wrong("spec.rollout.order", "not a list of cluster names");
    std::set<std::string> seen;
    for (const Json& item : order->get_array()) {
      const std::string name = item.is_string() ? std::string(item.get_string()) : "";
      const std::string at = fmt::format("spec.rollout.order[{}]", spec_.order.size());
      if (!spec_.shares.contains(name)) return Wrong(at, Quoted(name) + " is not a cluster of spec.placement");
      if (!seen.insert(name).second) return Wrong(at, Quoted(name) + " is listed twice");
      spec_.order.push_back(name);
    }
    if (spec_.order.empty()) return {};
    for (const auto& [name, share] : spec_.shares) {
      if (!seen.contains(name)) return Wrong("spec.rollout.order", name + " is missing: it has to name every cluster once");
    }
    return {};
  }

  base::Status ReadRecovery() {
    if (At({"spec", "forceRecovery"}) == nullptr) return {};
    RecoveryRequest request;
    EVENKEEL_ASSIGN(request.name, Text({"spec", "forceRecovery", "request"}, ""));
    if (const std::string wrong = CheckRecoveryName(request.name); !wrong.empty()) {
      return Wrong("spec.forceRecovery.request", wrong);
    }
    EVENKEEL_ASSIGN(const bool acknowledged, Flag({"spec", "forceRecovery", "acknowledgeDataLoss"}));
    if (!acknowledged) {
      return Wrong("spec.forceRecovery.acknowledgeDataLoss", "has to be true: what only the lost servers knew is gone then");
    }
    EVENKEEL_TRY(ReadRecoveryClusters("survivors", request.survivors));
    EVENKEEL_TRY(ReadRecoveryClusters("lost", request.lost));
    for (const std::string& cluster : request.survivors) {
      if (!spec_.shares.contains(cluster)) {
        return Wrong("spec.forceRecovery.survivors", Quoted(cluster) + " is not a cluster of spec.placement");
      }
      if (request.lost.contains(cluster)) return Wrong("spec.forceRecovery.lost", Quoted(cluster) + " is a survivor, too");
    }
    for (const std::string& cluster : request.lost) {
      if (!spec_.shares.contains(cluster)) continue;
      return Wrong("spec.forceRecovery.lost", Quoted(cluster) +
                                                  " is still in spec.placement: take it out; placed again later, "
                                                  "it gets servers with other ids");
    }
    spec_.recovery = std::move(request);
    return {};
  }

  base::Status ReadRecoveryClusters(const char* field, std::set<std::string>& clusters) const {
    const std::string at = std::string("spec.forceRecovery.") + field;
    const Json* list = At({"spec", "forceRecovery", field});
    if (list == nullptr || !list->is_array() || list->get_array().empty()) return Wrong(at, "not a list of cluster names");
    for (const Json& name : list->get_array()) {
      if (!name.is_string() || !clusters.emplace(name.get_string()).second) return Wrong(at, "not names of different clusters");
    }
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
    EVENKEEL_ASSIGN(const bool required, Flag({"spec", "placement", "requireClusterFaultTolerance"}));
    if (required && !spec_.unsafe.empty())
      return Wrong("spec.placement", spec_.unsafe + ", and requireClusterFaultTolerance is set");
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
        return Wrong("spec.naming", fmt::format("the server name {} in {}: {}", Quoted(host), name, wrong));
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
        if (!hosts.insert(host).second) return Wrong("spec.naming.template", Quoted(host) + " would be two servers");
      }
    }
    return {};
  }

  const kube::ManifestObject& object_;
  EnsembleSpec& spec_;
};

}  // namespace

std::string CheckRecoveryName(std::string_view name) {
  constexpr std::string_view kOthers = "-_.:+";
  if (name.empty() || name.size() > kLabelMax) return fmt::format("not a name of 1 to {} characters", kLabelMax);
  const bool plain = std::ranges::all_of(name, [&](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(static_cast<char>(c)) != kOthers.npos;
  });
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
  const auto* found = std::ranges::find(kModes, mode, [](const auto& item) { return item.first; });
  EVENKEEL_CHECK(found != kModes.end());
  return found->second;
}

std::optional<NamingMode> ParseNamingMode(std::string_view name) {
  const auto* found = std::ranges::find_if(kModes, [&](const auto& item) { return item.second == name; });
  return found == kModes.end() ? std::nullopt : std::optional(found->first);
}

base::Result<EnsembleSpec> DecodeSpec(const kube::ManifestObject& object) {
  EnsembleSpec spec;
  EVENKEEL_TRY(SpecReader(object, spec).Read());
  return spec;
}

std::unexpected<base::Error> WrongField(const kube::ManifestObject& object, const std::string& field, const std::string& what) {
  std::string message = (object.where.empty() ? "" : object.where + ": ") + std::string(FindString(object.object, {"kind"})) +
                        " " + kube::KeyOf(object.object) + ": " + (field.empty() ? "" : field + ": ") + what;
  std::ranges::replace_if(message, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  base::ErrorDetails details;
  details.causes.push_back({"FieldValueInvalid", what, field});
  return base::Fail(base::Error(base::Code::kBadRequest, std::move(message), std::move(details)));
}

}  // namespace evenkeel::controllers::rollout::zookeeper
