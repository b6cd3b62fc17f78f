#include "sim/run/rollout_driver.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "client/definitions.h"
#include "controllers/rollout/zookeeper/hub/installation.h"
#include "controllers/rollout/zookeeper/member/member_objects.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "embedded/federation/policies/definitions.h"
#include "embedded/fleet/hub_objects.h"
#include "kube/karmada.h"
#include "sim/checkers/rollout_book.h"

namespace evenkeel::sim {
namespace {

namespace rollout = controllers::rollout::zookeeper;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using namespace std::chrono_literals;

/// Somebody sees to it that an image that does not start is put right.
constexpr double kPutRight = 0.5;
constexpr int64_t kProgressDeadlineSeconds = 60;

std::optional<Json> Parsed(const embedded::store::Value& value) {
  if (value == nullptr) return std::nullopt;
  auto object = base::ParseJson(*value, "object");
  return object ? std::optional(*std::move(object)) : std::nullopt;
}

/// Whether a member has done what its copy asks for, and that is the revision, for whichever turn of it: NAME or NAME.TURN.
bool IsAt(const Json& zookeeper, std::string_view revision) {
  const std::string_view asked = base::FindString(zookeeper, {"spec", "rolloutRevision"});
  return asked.substr(0, asked.find('.')) == revision && base::FindString(zookeeper, {"status", "observedRevision"}) == asked;
}

}  // namespace

RolloutDriver::RolloutDriver(Fleet& fleet, const Scenario& scenario, base::Random random, Record record)
    : fleet_(fleet),
      scenario_(scenario),
      settings_(*scenario.ensemble),
      random_(random),
      record_(std::move(record)),
      model_(fleet.executor(), random.Fork("servers"),
             [](const std::string& password, const std::string& digest) { return zookeeper::SuperDigest(password) == digest; }),
      strand_(fleet.executor().NewStrand("ensemble")) {
  for (int i = 1; i <= scenario.members; ++i) {
    const std::string member = fmt::format("member-{}", i);
    runtimes_[member] = std::make_unique<ZooKeeperRuntime>(model_, member, random.Fork(member));
  }
  Draw();
}

RolloutDriver::~RolloutDriver() { strand_->Close(); }

embedded::nodeagent::ContainerRuntime* RolloutDriver::RuntimeOf(const std::string& member) {
  const auto found = runtimes_.find(member);
  return found == runtimes_.end() ? nullptr : found->second.get();
}

void RolloutDriver::Draw() {
  const int64_t total = random_.Between(settings_.voters_min, settings_.voters_max);
  const int64_t most = std::min<int64_t>({settings_.clusters_max, total, scenario_.members});
  const int64_t clusters = random_.Between(std::min<int64_t>(settings_.clusters_min, most), most);
  while (static_cast<int64_t>(wanted_.shares.size()) < clusters) wanted_.shares[SomeMember()] = 1;
  while (Total() < total) ++wanted_.shares[SomeCluster()];
  wanted_.allow_degraded = random_.Chance(0.3);
  wanted_.rollback = random_.Chance(0.3);
}

int64_t RolloutDriver::Total() const {
  int64_t total = 0;
  for (const auto& [member, share] : wanted_.shares) total += share;
  return total;
}

std::string RolloutDriver::SomeMember() {
  return std::next(runtimes_.begin(), static_cast<ptrdiff_t>(random_.Below(runtimes_.size())))->first;
}

std::string RolloutDriver::SomeCluster() {
  return std::next(wanted_.shares.begin(), static_cast<ptrdiff_t>(random_.Below(wanted_.shares.size())))->first;
}

Json RolloutDriver::Spec() const {
  JsonArray clusters;
  for (const auto& [member, share] : wanted_.shares) clusters.push_back(JsonObject{{"name", member}, {"replicas", share}});
  const std::string tag = wanted_.broken ? std::string(ZooKeeperRuntime::kBrokenTag) : fmt::format("3.8.{}", wanted_.tag);
  return JsonObject{
      {"placement", JsonObject{{"clusters", std::move(clusters)}}},
      {"template",
       JsonObject{{"image", JsonObject{{"repository", "zookeeper"}, {"tag", tag}}},
                  {"config", JsonObject{{"initLimit", wanted_.limit}}},
                  {"storage", JsonObject{{"type", "persistent"}, {"size", "1Gi"}}},
                  {"podTemplate",
                   JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{"evenkeel.dev/runtime", "process"}}}}}}}}},
      {"rollout", JsonObject{{"paused", wanted_.paused},
                             {"allowDegraded", wanted_.allow_degraded},
                             {"onFailure", wanted_.rollback ? "Rollback" : "Pause"},
                             {"progressDeadlineSeconds", kProgressDeadlineSeconds}}}};
}

base::Status RolloutDriver::Begin(Acknowledged acknowledged) {
  acknowledged_ = std::move(acknowledged);
  client::Client& hub = fleet_.hub().client();
  EVENKEEL_TRY(rollout::InstallDefinitions(hub));
  // Nobody listens there: the federation asks in this process.
  const rollout::WebhookTarget target{.url = "https://evenkeel.simulated", .ca_pem = "ca"};
  const auto configured =
      hub.Create(kube::karmada::ResourceInterpreterWebhookConfigurations(), rollout::InterpreterConfiguration(target));
  if (!configured) return base::Fail(configured.error());
  for (const base::Json& definition : embedded::federation::Definitions()) {
    if (base::FindString(definition, {"spec", "names", "kind"}) != "ServiceExport") continue;
    for (size_t i = 1; i < fleet_.servers().size(); ++i) {
      EVENKEEL_TRY(client::InstallDefinition(fleet_.servers()[i]->client(), definition));
    }
  }
  const auto& namespaces = kube::resources::Namespaces();
  Json ns = kube::NewObject(namespaces, "", kEnsembleNamespace);
  // As the documentation says: a namespace that Karmada has brought by itself goes with a Cluster, servers and all.
  base::Ensure(ns, {"metadata", "labels", kube::karmada::kSkipPropagation}) = "true";
  const auto made = hub.Create(namespaces, ns);
  if (!made) return base::Fail(made.error());
  // The API serves a kind a moment after it has been defined.
  fleet_.executor().RunFor(1s);
  EVENKEEL_TRY(Apply());
  Plan();
  KeepWriting();
  return {};
}

base::Status RolloutDriver::Apply() {
  client::Client& hub = fleet_.hub().client();
  const kube::Resource& resource = rollout::MultiClusterZooKeepers();
  if (ensemble_ == nullptr) {
    Json object = kube::NewObject(resource, kEnsembleNamespace, kEnsembleName);
    base::Ensure(object, {"spec"}) = Spec();
    const auto created = hub.Create(resource, object);
    if (!created) return base::Fail(created.error());
    return {};
  }
  const auto patched =
      hub.Patch(resource, kEnsembleNamespace, kEnsembleName, client::PatchType::kMerge, JsonObject{{"spec", Spec()}});
  if (!patched) return base::Fail(patched.error());
  return {};
}

void RolloutDriver::Plan() {
  if (settings_.period == base::Duration::zero()) {
    next_ = base::Instant::max();
    return;
  }
  const double seconds = -std::log(1 - random_.Unit()) * std::chrono::duration<double>(settings_.period).count();
  const auto delay = std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(std::clamp(seconds, 1.0, 1e6)));
  next_ = model_.Now() + delay;
}

void RolloutDriver::Step() {
  if (model_.Now() < next_) return;
  if (!unsaid_) {
    record_(fmt::format("{}/{}", kEnsembleNamespace, kEnsembleName), "wish", Change());
    unsaid_ = true;
  }
  if (!fleet_.hub().up() || !Apply()) {
    next_ = model_.Now() + 1s;
    return;
  }
  unsaid_ = false;
  stopped_ ? static_cast<void>(next_ = base::Instant::max()) : Plan();
}

std::string RolloutDriver::Change() {
  if (wanted_.paused) {
    wanted_.paused = false;
    return "go on";
  }
  if (wanted_.broken && random_.Chance(kPutRight)) {
    wanted_.broken = false;
    ++wanted_.tag;
    return "an image that starts";
  }
  switch (random_.Below(8)) {
    case 0:
    case 1:
      ++wanted_.tag;
      wanted_.broken = random_.Chance(settings_.broken);
      return wanted_.broken ? "an image that does not start" : "another image";
    case 2:
      ++wanted_.limit;
      return "another setting";
    case 3:
      wanted_.paused = true;
      return "a pause";
    default:
      return ChangeVoters();
  }
}

void RolloutDriver::Add(int64_t count) {
  for (; count > 0; --count) {
    const bool may_spread = static_cast<int>(wanted_.shares.size()) < settings_.clusters_max;
    ++wanted_.shares[may_spread && random_.Chance(0.5) ? SomeMember() : SomeCluster()];
  }
}

void RolloutDriver::RemoveOne() {
  const std::string cluster = SomeCluster();
  if (--wanted_.shares[cluster] == 0) wanted_.shares.erase(cluster);
}

std::string RolloutDriver::ChangeVoters() {
  const auto before = wanted_.shares;
  const int64_t total = Total();
  const int64_t step = random_.Between(int64_t{1}, int64_t{2});
  switch (random_.Below(3)) {
    case 0:
      Add(std::min(step, settings_.voters_max - total));
      break;
    case 1:
      for (int64_t i = 0; i < std::min(step, total - settings_.voters_min); ++i) RemoveOne();
      break;
    default:
      RemoveOne();
      Add(1);
      break;
  }
  if (static_cast<int>(wanted_.shares.size()) < settings_.clusters_min) wanted_.shares = before;
  std::string text = "voters";
  for (const auto& [member, share] : wanted_.shares) text += fmt::format(" {}:{}", member, share);
  return text;
}

void RolloutDriver::Upgrade() {
  ++wanted_.tag;
  wanted_.broken = false;
  record_(fmt::format("{}/{}", kEnsembleNamespace, kEnsembleName), "wish", "another image");
  unsaid_ = true;
  next_ = model_.Now();
}

void RolloutDriver::Stop() {
  stopped_ = true;
  model_.HealAll();
  wanted_.paused = false;
  // What has failed is not tried again until something else is wanted.
  ++wanted_.tag;
  wanted_.broken = false;
  // Said before it is sent: the store tells of the object, and of what failed last, while it is under way.
  unsaid_ = true;
  next_ = model_.Now();
  Step();
}

void RolloutDriver::KeepWriting() {
  writing_ = strand_->PostAfter(settings_.writes, [this] {
    const int64_t value = ++written_;
    model_.Write(value, [this, value] { acknowledged_(value); });
    KeepWriting();
  });
}

void RolloutDriver::See(const std::string& api, const embedded::store::Event& event) {
  const std::string& key = event.current.key;
  if (api == kHub) {
    if (key.ends_with(fmt::format("/multiclusterzookeepers/{}/{}", kEnsembleNamespace, kEnsembleName))) {
      ensemble_ = event.current.value;
      TellOfRecord();
    }
    return;
  }
  if (key.ends_with(fmt::format("/zookeepers/{}/{}", kEnsembleNamespace, kEnsembleName))) {
    zookeepers_[api] = event.current.value;
  }
  constexpr std::string_view kClaims = "/persistentvolumeclaims/";
  const size_t claim = key.find(kClaims);
  if (claim != std::string::npos && event.current.value == nullptr) {
    runtimes_.at(api)->LoseVolume(key.substr(claim + kClaims.size()));
  }
}

void RolloutDriver::TellOfRecord() {
  const auto ensemble = Parsed(ensemble_);
  const JsonArray empty;
  const JsonArray& records = ensemble ? base::FindArray(*ensemble, {"status", "records"}) : empty;
  if (records.empty()) return;
  const Json& last = records.back();
  if (stopped_ && base::FindString(last, {"status"}) == "Failed" && !unsaid_) {
    ++wanted_.tag;
    unsaid_ = true;
    next_ = model_.Now() + 1s;
  }
  std::string text = fmt::format("revision {} is {}", base::FindString(last, {"revision"}), base::FindString(last, {"status"}));
  for (const char* part : {"deploying", "completed", "pending"}) {
    const JsonArray& clusters = base::FindArray(last, {"currentState", part});
    if (clusters.empty()) continue;
    text += fmt::format("; {}:", part);
    for (const Json& cluster : clusters) text += " " + (cluster.is_string() ? std::string(cluster.get_string()) : "?");
  }
  if (text == told_) return;
  told_ = text;
  record_(fmt::format("{}/{}", kEnsembleNamespace, kEnsembleName), "record", text);
}

void RolloutDriver::BeforeCrash(const std::string& member, bool loses_servers) {
  const auto runtime = runtimes_.find(member);
  if (runtime == runtimes_.end()) return;
  if (loses_servers) runtime->second->CrashAll();
  runtime->second->LeaveAlone();
}

std::string RolloutDriver::CrashServer(base::Random& random) {
  const std::vector<ZooKeeperServerView> servers = model_.Servers();
  if (servers.empty()) return "";
  const ZooKeeperServerView& victim = servers[random.Below(servers.size())];
  runtimes_.at(victim.place)->Crash(victim.uid);
  return victim.place + "/" + victim.name;
}

std::string RolloutDriver::DeleteByHand(base::Random& random) {
  if (!fleet_.hub().up()) return "";
  namespace karmada = kube::karmada;
  const uint64_t what = random.Below(4);
  const kube::Resource& kind = what == 0   ? rollout::ZooKeepers()
                               : what == 1 ? karmada::ResourceBindings()
                                           : karmada::OverridePolicies();
  std::string name = kEnsembleName;
  if (what == 1) name = karmada::BindingName(rollout::ZooKeepers().kind, kEnsembleName);
  const auto cluster = std::next(wanted_.shares.begin(), static_cast<ptrdiff_t>(random.Below(wanted_.shares.size())));
  if (what > 1) name = fmt::format("{}-{}", kEnsembleName, cluster->first);
  const auto deleted = fleet_.hub().client().Delete(kind, kEnsembleNamespace, name);
  return deleted ? kind.kind + " " + name : "";
}

bool RolloutDriver::Taint(const std::string& member, bool on) {
  if (!fleet_.hub().up()) return false;
  JsonArray taints;
  if (on) taints.push_back(JsonObject{{"key", "maintenance"}, {"effect", "NoExecute"}});
  const auto patched = fleet_.hub().client().Patch(kube::karmada::Clusters(), "", member, client::PatchType::kMerge,
                                                   JsonObject{{"spec", JsonObject{{"taints", std::move(taints)}}}});
  return patched.has_value();
}

bool RolloutDriver::SetJoined(const std::string& member, bool joined) {
  if (!fleet_.hub().up()) return false;
  // The Cluster follows what of the cluster Secret is Karmada's, and no replica of ours reads.
  const auto patched = fleet_.hub().client().Patch(
      kube::resources::Secrets(), embedded::fleet::kNamespace, member, client::PatchType::kMerge,
      JsonObject{{"data", JsonObject{{"token", joined ? Json(base::Base64Encode("token")) : Json(nullptr)}}}});
  return patched.has_value();
}

std::string RolloutDriver::Reports() const {
  std::string text;
  for (const ZooKeeperServerView& server : model_.Servers()) {
    text += fmt::format("server {} of {} is {}; ", server.id, server.place,
                        server.leader == 0               ? "looking"
                        : server.leader == server.handle ? "leading"
                                                         : "following");
  }
  for (const auto& [member, value] : zookeepers_) {
    const auto zookeeper = Parsed(value);
    if (!zookeeper) continue;
    text += fmt::format("{}: generation {} of {} observed", member, base::FindInt(*zookeeper, {"status", "observedGeneration"}),
                        base::FindInt(*zookeeper, {"metadata", "generation"}));
    for (const Json& condition : base::FindArray(*zookeeper, {"status", "conditions"})) {
      text += fmt::format(", {} {}: {}", base::FindString(condition, {"type"}), base::FindString(condition, {"status"}),
                          base::FindString(condition, {"message"}));
    }
    text += "; ";
  }
  return text;
}

std::string RolloutDriver::WhyNotConverged() const {
  if (unsaid_) return "the hub does not know yet what is wanted";
  const auto ensemble = Parsed(ensemble_);
  if (!ensemble) return "the ensemble is not there";
  const JsonArray& records = base::FindArray(*ensemble, {"status", "records"});
  if (records.empty()) return "there is no record";
  if (base::FindString(records.back(), {"status"}) != "Ready")
    return fmt::format("the last record is {}; {}", base::ToText(records.back()), Reports());
  if (base::FindInt(*ensemble, {"status", "observedGeneration"}) != base::FindInt(*ensemble, {"metadata", "generation"})) {
    return "the last change has not been seen";
  }
  const std::string_view revision = base::FindString(records.back(), {"revision"});
  std::map<std::string, int64_t> voters;
  const std::set<int64_t> healthy = model_.HealthyVoters();
  const std::vector<ZooKeeperServerView> servers = model_.Servers();
  for (const ZooKeeperServerView& server : servers) {
    if (!healthy.contains(server.id))
      return fmt::format("server {} of {} has no vote, or does not serve", server.id, server.place);
    ++voters[server.place];
  }
  if (voters != wanted_.shares || healthy != model_.agreed().Voters()) {
    return fmt::format("the voters are others than wanted: {} serve; {}", servers.size(), Reports());
  }
  for (const auto& [member, value] : zookeepers_) {
    const auto zookeeper = Parsed(value);
    const bool wanted = wanted_.shares.contains(member);
    // One that a request has made which arrived after it was taken away: Karmada has forgotten it, and it runs nothing.
    const bool late = scenario_.faults.contains("delayed-request");
    if (late && !wanted && zookeeper && base::FindInt(*zookeeper, {"spec", "replicas"}) == 0) continue;
    if (zookeeper.has_value() != wanted) return member + (wanted ? " has no ZooKeeper" : " has a ZooKeeper still");
    if (wanted && !IsAt(*zookeeper, revision)) {
      return fmt::format("{} is at another revision than {}: {}", member, revision, base::ToText(*zookeeper));
    }
  }
  return "";
}

}  // namespace evenkeel::sim
