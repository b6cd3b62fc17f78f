#include "cli/clusters/names_of_fleet.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "cli/clusters/command_flags.h"
#include "cli/clusters/hub.h"
#include "client/http/http_client.h"
#include "controllers/distribution/distributor/fleet_view.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "embedded/cloud/node_group_definition.h"
#include "kube/object.h"
#include "kube/resource.h"

namespace evenkeel::cli {
namespace {

namespace distribution = controllers::distribution;
using ClientResult = base::Result<std::unique_ptr<client::Client>>;

client::HttpClientOptions Patience(base::Duration limit) {
  client::HttpClientOptions http;
  http.request_timeout = http.connect_timeout = limit;
  return http;
}

base::Result<std::vector<distribution::Cluster>> MembersOf(client::Client& hub, const NamesPlace& place) {
  distribution::Options settings;
  if (!place.ns.empty()) settings.ns = place.ns;
  EVENKEEL_ASSIGN(auto fleet, distribution::ReadFleet(hub, settings, std::nullopt, std::nullopt, base::SystemClock().Now()));
  return std::move(fleet.input.clusters);
}

/// The API that the kubeconfig leads to, or the member of it that is named.
ClientResult ConnectTo(const NamesPlace& place, base::Duration limit) {
  HubOptions hub;
  hub.kubeconfig = place.kubeconfig;
  hub.context = place.context;
  EVENKEEL_ASSIGN(std::unique_ptr<client::Client> here, ConnectToHub(hub, Patience(limit)));
  if (place.cluster.empty()) return here;
  EVENKEEL_ASSIGN(const auto members, MembersOf(*here, place));
  for (const distribution::Cluster& member : members) {
    if (member.name != place.cluster || !member.connection) continue;
    return client::NewHttpClient(*member.connection, Patience(limit));
  }
  return base::Fail(base::Code::kNotFound, place.cluster);
}

std::vector<std::string> KeysOf(client::Client& api, const kube::Resource& resource) {
  std::vector<std::string> names;
  const auto page = api.List(resource, {.limit = static_cast<int64_t>(kNamesMax)});
  if (!page) return names;
  for (const base::Json& object : page->items) names.push_back(kube::KeyOf(object));
  return names;
}

/// Shared with the thread that asks, which may outlive the one that waits.
struct Answer {
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false;
  std::vector<std::string> names;  ///< that are known by now

  /// False: they are enough.
  bool Add(const std::vector<std::string>& more, const std::string& prefix = "") {
    const std::lock_guard lock(mutex);
    for (const std::string& name : more) names.push_back(prefix + name);
    return names.size() < kNamesMax;
  }
};

/// Of every member, one after the other.
void AskMembers(client::Client& hub, const NamesPlace& place, base::Duration limit, const kube::Resource& resource,
                bool prefixed, Answer& answer) {
  const auto members = MembersOf(hub, place);
  for (const distribution::Cluster& member : members.value_or(std::vector<distribution::Cluster>())) {
    if (!member.connection) continue;
    const auto client = client::NewHttpClient(*member.connection, Patience(limit));
    if (client && !answer.Add(KeysOf(**client, resource), prefixed ? member.label() + "/" : "")) return;
  }
}

void Ask(const std::string& type, const NamesPlace& place, base::Duration limit, Answer& answer) {
  NamesPlace asked = place;
  // What these flags take is a name itself, which is asked of the hub.
  if (type == kClusterType) asked.cluster.clear();
  const auto api = ConnectTo(asked, limit);
  if (!api) return;
  if (type == kClusterType) {
    std::vector<std::string> names;
    const auto members = MembersOf(**api, place);
    for (const distribution::Cluster& member : members.value_or(std::vector<distribution::Cluster>()))
      names.push_back(member.label());
    answer.Add(names);
  } else if (type == kRolloutType) {
    answer.Add(KeysOf(**api, controllers::rollout::zookeeper::MultiClusterZooKeepers()));
  } else {
    const bool groups = type == kNodeGroupType;
    const kube::Resource& resource = groups              ? embedded::cloud::NodeGroups()
                                     : type == kNodeType ? kube::resources::Nodes()
                                                         : kube::resources::Pods();
    if (!answer.Add(KeysOf(**api, resource)) || !place.cluster.empty()) return;
    // Whoever asks the hub may mean any of its members.
    AskMembers(**api, place, limit, resource, groups, answer);
  }
}

}  // namespace

std::vector<std::string> LiveNames(const std::string& type, const NamesPlace& place, base::Duration limit) {
  // Who completes has no place for what is logged.
  if (!base::log::Configure(base::log::Level::kOff)) return {};
  const auto answer = std::make_shared<Answer>();
  // A name server or a credential plugin keeps to no limit of ours.
  std::thread([answer, type, place, limit] {
    Ask(type, place, limit, *answer);
    const std::lock_guard lock(answer->mutex);
    answer->has_ended = true;
    answer->ended.notify_all();
  }).detach();
  std::unique_lock lock(answer->mutex);
  answer->ended.wait_for(lock, limit, [&answer] { return answer->has_ended; });
  std::vector<std::string> names = std::move(answer->names);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  if (names.size() > kNamesMax) names.resize(kNamesMax);
  return names;
}

}  // namespace evenkeel::cli
