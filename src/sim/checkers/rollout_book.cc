#include "sim/checkers/rollout_book.h"

#include <spdlog/fmt/fmt.h>

#include "base/json.h"
#include "kube/object.h"
#include "sim/network/network.h"

namespace evenkeel::sim {

void RolloutBook::Look() {
  const std::set<int64_t> voters = model_.agreed().Voters();
  const std::set<int64_t> healthy = model_.HealthyVoters();
  std::erase_if(absences_, [&](const auto& item) {
    if (!voters.contains(item.first)) return true;
    // Until the pod that was deleted has stopped, its server serves on. The next one is back also where a fault has taken it
    // away again before anybody looked.
    if (item.second.deleted) return model_.LastServed(item.first) != item.second.uid;
    return healthy.contains(item.first);
  });
  for (const int64_t id : voters) {
    if (!healthy.contains(id)) absences_.emplace(id, Absence{.since = model_.Now()});
  }
}

void RolloutBook::See(const std::string& api, const embedded::store::Event& event) {
  action_.reset();
  if (api == kHub || event.previous == nullptr) return;
  if (event.current.key.find(fmt::format("/pods/{}/{}-", kEnsembleNamespace, kEnsembleName)) == std::string::npos) return;
  const auto deleted = [](const embedded::store::Value& value) {
    const auto object = base::ParseJson(*value, "pod");
    return !object || base::Find(*object, {"metadata", "deletionTimestamp"}) != nullptr;
  };
  if (deleted(event.previous) || (event.current.value != nullptr && !deleted(event.current.value))) return;
  const auto pod = base::ParseJson(*event.previous, "pod");
  Look();
  const std::set<int64_t> healthy = model_.HealthyVoters();
  for (const ZooKeeperServerView& server : model_.Servers()) {
    if (server.uid != kube::UidOf(*pod) || !healthy.contains(server.id)) continue;
    action_ = {.member = api, .pod = server.name, .id = server.id};
    absences_[server.id] = {.since = model_.Now(), .deleted = true, .member = api, .uid = server.uid};
  }
}

}  // namespace evenkeel::sim
