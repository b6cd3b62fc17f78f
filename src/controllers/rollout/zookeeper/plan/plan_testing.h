// What tests of plans share: specs in few words, and what the overrides of a FakeFleet say.
#pragma once

#include <string>
#include <vector>

#include "controllers/rollout/zookeeper/hub/fake_fleet_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::testing {

inline constexpr const char* kFive = "m1:2 m2:2 m3:1";
inline constexpr const char* kThree = "m1:1 m2:1 m3:1";

/// "m1:2 m2:2" -> a spec with that placement, and with the other fields.
inline std::string SpecWith(const std::string& placement, const std::string& fields) {
  std::string clusters;
  for (size_t begin = 0; begin < placement.size();) {
    const size_t end = std::min(placement.find(' ', begin), placement.size()), colon = placement.find(':', begin);
    clusters += (clusters.empty() ? "" : ", ") + std::string(R"({"name": ")") + placement.substr(begin, colon - begin) +
                R"(", "replicas": )" + placement.substr(colon + 1, end - colon - 1) + "}";
    begin = end + 1;
  }
  return R"({"placement": {"clusters": [)" + clusters + "]}, " + fields + "}";
}
inline std::string Spec(const std::string& placement, const std::string& tag = "3.8.4", const std::string& more = "") {
  return SpecWith(placement, R"("template": {"image": {"tag": ")" + tag + "\"}}" + more);
}

inline std::vector<std::string> Texts(const base::Json& list) {
  std::vector<std::string> texts;
  for (const base::Json& text : list.as_array()) texts.emplace_back(text.as_string());
  return texts;
}

/// The value that an override sets at a path; null: none.
inline base::Json Overridden(const base::Json& policy, std::string_view path) {
  const base::Json* value = OverriddenBy(policy, path);
  return value == nullptr ? base::Json() : base::Json(*value, {});
}
inline base::Json Overridden(FakeFleet& fleet, const std::string& cluster, std::string_view path) {
  return Overridden(fleet.children().at("OverridePolicy/zk-" + cluster), path);
}
inline std::string Mark(FakeFleet& fleet, const std::string& cluster) {
  return std::string(Overridden(fleet, cluster, "/spec/rolloutRevision").as_string());
}

}  // namespace evenkeel::controllers::rollout::zookeeper::testing
