#include "controllers/distribution/sharding/options.h"

#include <algorithm>
#include <limits>

#include "base/parse_number.h"
#include "base/text.h"

namespace evenkeel::controllers::distribution {
namespace {

struct QuirkName {
  std::string_view name;
  bool Quirks::* flag;
};

constexpr QuirkName kQuirkNames[] = {
    {"frozen-replicas", &Quirks::frozen_replicas},
    {"negative-shard-orphans", &Quirks::negative_shard_orphans},
    {"no-release", &Quirks::no_release},
    {"keeps-clusters-without-heartbeat", &Quirks::keeps_clusters_without_heartbeat},
    {"broken-mapping-fails", &Quirks::broken_mapping_fails},
    {"single-replica-skips-claim", &Quirks::single_replica_skips_claim},
    {"conflict-forgets-shard", &Quirks::conflict_forgets_shard},
    {"claims-four-times", &Quirks::claims_four_times},
    {"healthy-before-first-claim", &Quirks::healthy_before_first_claim},
    {"applications-by-bare-name", &Quirks::applications_by_bare_name},
    {"vnode-collisions", &Quirks::vnode_collisions},
};

struct IntegerVariable {
  const char* name;
  int64_t minimum, maximum, fallback;
};

std::optional<int64_t> ReadInteger(const std::function<const char*(const char*)>& get, const IntegerVariable& variable,
                                   std::vector<std::string>& warnings) {
  const char* text = get(variable.name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const auto number = base::ParseGoInteger(text);
  if (number && *number >= variable.minimum && *number <= variable.maximum) return number;
  warnings.push_back(fmt::format("{}=\"{}\" is {}: the default {} is used; give a whole number from {} to {}", variable.name,
                                 text, number ? "out of range" : "not a whole number", variable.fallback, variable.minimum,
                                 variable.maximum));
  return variable.fallback;
}

}  // namespace

base::Status ApplyQuirks(const std::vector<std::string>& names, Quirks& quirks) {
  for (std::string_view name : names) {
    if (name == "all" || name == "none") {
      for (const QuirkName& quirk : kQuirkNames) quirks.*quirk.flag = name == "all";
      continue;
    }
    std::string_view bare = name;
    auto find = [&] { return std::ranges::find(kQuirkNames, bare, &QuirkName::name); };
    auto found = find();
    bool on = true;
    if (found == std::end(kQuirkNames) && bare.starts_with("no-")) {
      bare.remove_prefix(3);
      on = false;
      found = find();
    }
    if (found == std::end(kQuirkNames)) {
      std::string choices;
      for (const QuirkName& quirk : kQuirkNames) choices += (choices.empty() ? "" : ", ") + std::string(quirk.name);
      return base::Fail(
          base::Code::kBadRequest,
          "quirk \"" + std::string(name) + "\" is not known: use all, none or (each also with no- before it) " + choices);
    }
    quirks.*found->flag = on;
  }
  return {};
}

std::vector<std::pair<std::string, bool>> ListQuirks(const Quirks& quirks) {
  std::vector<std::pair<std::string, bool>> list;
  for (const QuirkName& quirk : kQuirkNames) list.emplace_back(quirk.name, quirks.*quirk.flag);
  return list;
}

base::Result<Mode> ParseMode(std::string_view name) {
  for (const Mode mode : {Mode::kCoordinated, Mode::kCompatible}) {
    if (name == ModeName(mode)) return mode;
  }
  return base::Fail(base::Code::kBadRequest,
                    fmt::format("sharding mode \"{}\" is not known: use coordinated or compatible", name));
}

base::Status CheckMethod(Mode mode, std::string_view method) {
  if (method.empty() || (method == kWeightedMethod) == (mode == Mode::kCoordinated)) return {};
  return base::Fail(base::Code::kBadRequest, "--sharding-method " + std::string(method) + " does not go with --sharding-mode " +
                                                 std::string(ModeName(mode)) +
                                                 ": weighted is coordinated, the others are compatible");
}

std::string_view ModeName(Mode mode) { return mode == Mode::kCoordinated ? "coordinated" : "compatible"; }

namespace {

void ReadMode(const std::function<const char*(const char*)>& get, Options& options, std::vector<std::string>& warnings) {
  if (const char* text = get("EVENKEEL_SHARDING_MODE"); text != nullptr && *text != '\0') {
    if (auto mode = ParseMode(text)) {
      options.mode = *mode;
    } else {
      warnings.push_back("EVENKEEL_SHARDING_MODE: " + mode.error().message() + ": the default is used");
    }
    return;
  }
  for (const char* name : {"ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION", "ARGOCD_CONTROLLER_REPLICAS",
                           "ARGOCD_CONTROLLER_SHARD", "ARGOCD_CONTROLLER_SHARDING_ALGORITHM"}) {
    if (const char* text = get(name); text != nullptr && *text != '\0') options.mode = Mode::kCompatible;
  }
}

}  // namespace

std::vector<std::string> ReadEnvironment(const std::function<const char*(const char*)>& get, Options& options) {
  constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
  std::vector<std::string> warnings;
  ReadMode(get, options, warnings);
  if (const char* text = get("ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION"); text != nullptr && *text != '\0') {
    if (base::EqualIgnoringCase(text, "true"))
      options.dynamic = true;
    else if (base::EqualIgnoringCase(text, "false"))
      options.dynamic = false;
    else
      warnings.push_back(fmt::format(
          "ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION=\"{}\" is neither true nor false: the default is used", text));
  }
  if (auto seconds = ReadInteger(get, {"ARGOCD_CONTROLLER_HEARTBEAT_TIME", 10, 60, 10}, warnings)) {
    options.heartbeat = std::chrono::seconds(*seconds);
  }
  if (auto replicas = ReadInteger(get, {"ARGOCD_CONTROLLER_REPLICAS", 0, kInt32Max, 0}, warnings))
    options.static_replicas = replicas;
  if (auto shard = ReadInteger(get, {"ARGOCD_CONTROLLER_SHARD", -kInt32Max, kInt32Max, -1}, warnings)) options.shard = *shard;
  if (const char* text = get("ARGOCD_CONTROLLER_SHARDING_ALGORITHM"); text != nullptr && *text != '\0') {
    if (auto method = ParseMethod(text)) {
      options.method = *method;
    } else {
      options.method = Method::kLegacy;
      warnings.push_back(fmt::format(
          "ARGOCD_CONTROLLER_SHARDING_ALGORITHM: distribution type {} is not supported, defaulting to legacy", text));
    }
  }
  if (const char* text = get("ARGOCD_APPLICATION_CONTROLLER_NAME"); text != nullptr && *text != '\0')
    options.controller_name = text;
  return warnings;
}

int64_t StaticShard(int64_t replicas, int64_t asked, std::string_view host_name, std::vector<std::string>& warnings) {
  if (replicas <= 1) return 0;
  int64_t shard = asked;
  if (shard < 0) {
    const size_t dash = host_name.rfind('-');
    const auto ordinal = dash == std::string_view::npos ? std::nullopt : base::ParseGoInteger(host_name.substr(dash + 1));
    if (!ordinal) {
      warnings.push_back(
          fmt::format("host name \"{}\" does not end in -NUMBER: shard 0 is used; set ARGOCD_CONTROLLER_SHARD", host_name));
      return 0;
    }
    shard = *ordinal;
  }
  if (shard > replicas) {
    warnings.push_back(fmt::format("shard {} does not exist with {} replicas: shard 0 is used", shard, replicas));
    return 0;
  }
  if (shard == replicas) {
    warnings.push_back(
        fmt::format("shard {} is one beyond the last of {} replicas: this replica will own nothing", shard, replicas));
  }
  return shard;
}

}  // namespace evenkeel::controllers::distribution
