#include "controllers/rollout/zookeeper/member/member_cache.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/parse_number.h"
#include "base/utf8.h"
#include "controllers/rollout/zookeeper/member/asked.h"
#include "controllers/rollout/zookeeper/member/member_objects.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

using base::FindInt;
using base::FindString;
using base::Json;

/// Of "NAME-ORDINAL"; -1: it is none of the set's.
int64_t OrdinalOf(const std::string& set, const std::string& pod) {
  if (!pod.starts_with(set + "-")) return -1;
  return base::ParseNumber<int64_t>(std::string_view(pod).substr(set.size() + 1)).value_or(-1);
}

/// Whether the server does; a container that a podTemplate puts beside it may run or not.
bool Runs(const Json& pod) {
  if (FindString(pod, {"status", "phase"}) != "Running") return false;
  return std::ranges::any_of(base::FindArray(pod, {"status", "containerStatuses"}), [](const Json& status) {
    return FindString(status, {"name"}) == kServerContainer && base::Find(status, {"state", "running"}) != nullptr;
  });
}

/// Why the pod's server does not run; "": nobody says.
std::string ProblemOf(const Json& pod) {
  std::string problem;
  const auto say = [&](std::string_view reason, std::string_view message) {
    problem = fmt::format("{}{}{}", reason, reason.empty() || message.empty() ? "" : ": ", message);
  };
  const Json* scheduled = kube::FindCondition(pod, "PodScheduled");
  if (scheduled != nullptr && FindString(*scheduled, {"status"}) == "False") {
    say(FindString(*scheduled, {"reason"}), FindString(*scheduled, {"message"}));
  }
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& status : base::FindArray(pod, {"status", list})) {
      if (!problem.empty()) break;
      say(FindString(status, {"state", "waiting", "reason"}), FindString(status, {"state", "waiting", "message"}));
    }
  }
  constexpr size_t kShownMax = 300;
  return base::OneLine(problem, kShownMax);
}

std::set<std::string> MadeAs(const Json& set) {
  std::set<std::string> revisions;
  std::string_view text = FindString(set, {"metadata", "annotations", kMadeAs});
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    if (end > 0) revisions.emplace(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return revisions;
}

}  // namespace

MemberCache::MemberCache(client::Client& client, const std::shared_ptr<base::Strand>& strand, base::Clock& clock,
                         const base::Random& random)
    : client_(client),
      strand_(strand),
      clock_(clock),
      random_(random),
      zookeepers_(client, ZooKeepers(), {}, strand, clock, random.Fork("zookeepers")) {
  namespace resources = kube::resources;
  for (const kube::Resource* resource :
       {&resources::Pods(), &resources::StatefulSets(), &resources::ConfigMaps(), &resources::Secrets(), &resources::Services(),
        &resources::ServiceAccounts(), &kube::resources::PersistentVolumeClaims(), &resources::PodDisruptionBudgets()}) {
    Owned& owned = owned_.emplace_back(*resource);
    if (resource == &resources::PodDisruptionBudgets()) owned.other_version = "v1beta1";
    Make(owned);
  }
}

void MemberCache::Make(Owned& owned) {
  owned.informer =
      std::make_unique<Informer>(client_, owned.resource, client::InformerOptions{.label_selector = kEnsembleLabel}, strand_,
                                 clock_, random_.Fork(owned.resource.plural + owned.resource.version));
}

std::string MemberCache::WhyNotSynced() {
  if (!zookeepers_.synced()) return "zookeepers";
  if (zookeepers_.items().empty()) return "";
  if (!started_) {
    started_ = true;
    for (const Owned& owned : owned_) owned.informer->Start();
  }
  for (Owned& owned : owned_) {
    const auto error = owned.informer->last_error();
    if (!owned.other_version.empty() && error && error->code() == base::Code::kNotFound) {
      std::swap(owned.resource.version, owned.other_version);
      Make(owned);
      owned.informer->Start();
    }
    if (!owned.informer->synced()) return owned.resource.plural;
  }
  return "";
}

const MemberCache::Owned& MemberCache::Of(std::string_view kind) const {
  const auto found = std::ranges::find(owned_, kind, [](const Owned& owned) { return std::string_view(owned.resource.kind); });
  EVENKEEL_CHECK(found != owned_.end());
  return *found;
}

const kube::Resource& MemberCache::Served(std::string_view kind) const { return Of(kind).resource; }

std::shared_ptr<const Json> MemberCache::Get(const kube::Resource& resource, const std::string& key) const {
  const auto object = Of(resource.kind).informer->Get(key);
  return object == nullptr ? nullptr : object->json;
}

Picture MemberCache::PictureOf(MemberSpec spec, const Json& object, std::set<std::string>& deleted) const {
  Picture picture;
  picture.spec = std::move(spec);
  picture.formed = base::FindBool(object, {"status", "formed"});
  const bool observed =
      !picture.spec.revision.empty() && FindString(object, {"status", "observedRevision"}) == picture.spec.revision;
  picture.carried_out = observed && !picture.spec.hold;
  if (observed) {
    for (const Json& id : base::FindArray(object, {"status", "settledServers"})) {
      if (id.is_int64()) picture.settled.insert(id.get_int64());
    }
  }
  picture.complete = FindInt(object, {"status", "observedGeneration"}, -1) == picture.spec.generation &&
                     FindInt(object, {"status", "updatedReplicas"}, -1) == FindInt(object, {"status", "replicas"});
  const std::string prefix = picture.spec.ns + "/";
  if (const auto set = Get(kube::resources::StatefulSets(), prefix + picture.spec.name)) {
    picture.set_replicas = FindInt(*set, {"spec", "replicas"}, 1);
    picture.set_revision = FindString(*set, {"spec", "template", "metadata", "annotations", kPodRevision});
    picture.made_as = MadeAs(*set);
    if (picture.made_as.contains(picture.set_revision)) {
      picture.set_asked = FindString(*set, {"metadata", "annotations", kAsked});
    }
  }
  if (const auto config = Get(kube::resources::ConfigMaps(), prefix + ConfigName(picture.spec))) {
    const auto text = [&](const char* field, const char* name) { return std::string(FindString(*config, {field, name})); };
    picture.files = {text("data", kConfigFile), text("data", kScriptFile),
                     std::string(FindString(*config, {"metadata", "annotations", kAsked})),
                     std::string(FindString(*config, {"metadata", "annotations", kFiles}))};
  }
  std::set<std::string> present;
  for (const auto& [key, pod] : Of(kube::resources::Pods().kind).informer->items()) {
    if (pod->meta.ns != picture.spec.ns) continue;
    const int64_t ordinal = OrdinalOf(picture.spec.name, pod->meta.name);
    const auto label = pod->meta.labels.find(kEnsembleLabel);
    if (ordinal < picture.spec.ordinals_start || label->second != picture.spec.name) continue;
    present.insert(pod->meta.uid);
    const auto revision = pod->meta.annotations.find(kPodRevision), asked = pod->meta.annotations.find(kAsked);
    picture.pods.push_back({.name = pod->meta.name,
                            .uid = pod->meta.uid,
                            .version = pod->meta.resource_version,
                            .ordinal = ordinal,
                            .id = picture.spec.IdOf(ordinal),
                            .ip = std::string(FindString(*pod->json, {"status", "podIP"})),
                            .revision = revision == pod->meta.annotations.end() ? "" : revision->second,
                            .asked = asked == pod->meta.annotations.end() ? "" : asked->second,
                            .terminating = pod->meta.deletion_time.has_value() || deleted.contains(pod->meta.uid),
                            .running = Runs(*pod->json),
                            .ready = kube::ConditionStatus(*pod->json, "Ready") == "True",
                            .problem = ProblemOf(*pod->json)});
  }
  std::ranges::sort(picture.pods, {}, &ServerPod::id);
  for (const auto& [key, claim] : Of(kube::resources::PersistentVolumeClaims().kind).informer->items()) {
    const int64_t ordinal = OrdinalOf(VolumeName(picture.spec), claim->meta.name);
    const auto label = claim->meta.labels.find(kEnsembleLabel);
    if (claim->meta.ns != picture.spec.ns || ordinal < picture.spec.ordinals_start) continue;
    if (claim->meta.deletion_time || label->second != picture.spec.name) continue;
    picture.claims.push_back({claim->meta.name, claim->meta.uid, claim->meta.resource_version, ordinal});
  }
  std::erase_if(deleted, [&](const std::string& uid) { return !present.contains(uid); });
  return picture;
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
