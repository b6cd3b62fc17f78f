#include "embedded/workloads/pods/pods.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/hash.h"
#include "base/parse_number.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

int PhaseRank(const kube::Pod& pod) {
  if (pod.phase == "Running") return 2;
  return pod.phase == "Unknown" ? 1 : 0;
}

int64_t DeletionCost(const kube::Pod& pod) {
  auto found = pod.meta.annotations.find("controller.kubernetes.io/pod-deletion-cost");
  return found == pod.meta.annotations.end() ? 0 : base::ParseNumber<int64_t>(found->second).value_or(0);
}

/// Age in powers of two of seconds: pods of about the same age are equal, so that deletions spread over them.
int LogAge(base::Time since, base::Time now) {
  if (since == base::Time{}) return 0;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - since).count();
  return seconds <= 0 ? 0 : std::bit_width(static_cast<uint64_t>(seconds));
}

int64_t Restarts(const kube::Pod& pod) {
  int64_t most = 0;
  for (const auto& status : pod.statuses) most = std::max<int64_t>(most, status.restart_count);
  return most;
}

}  // namespace

bool IsActive(const kube::Pod& pod) { return !pod.terminal() && !pod.meta.deletion_time; }

bool IsRunningAndReady(const kube::Pod& pod) { return pod.phase == "Running" && pod.ready; }

base::Time ReadyChanged(const kube::Pod& pod) {
  if (pod.json == nullptr) return {};
  const Json* ready = kube::FindCondition(*pod.json, "Ready");
  if (ready == nullptr) return {};
  return base::ParseTime(FindString(*ready, {"lastTransitionTime"})).value_or(base::Time{});
}

bool IsAvailable(const kube::Pod& pod, int64_t min_ready_seconds, base::Time now) {
  if (!pod.ready) return false;
  return min_ready_seconds == 0 || ReadyChanged(pod) + std::chrono::seconds(min_ready_seconds) <= now;
}

std::optional<base::Duration> UntilAvailable(const kube::Pod& pod, int64_t min_ready_seconds, base::Time now) {
  if (!pod.ready || IsAvailable(pod, min_ready_seconds, now)) return std::nullopt;
  return ReadyChanged(pod) + std::chrono::seconds(min_ready_seconds) - now;
}

void SortForDeletion(std::vector<RankedPod>& pods, base::Time now) {
  struct Keyed {
    std::tuple<bool, int, bool, int64_t, int64_t, int, int64_t, int, std::string> key;
    RankedPod pod;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(pods.size());
  for (RankedPod& ranked : pods) {
    const kube::Pod& pod = *ranked.pod;
    const int ready_age = pod.ready ? LogAge(ReadyChanged(pod), now) : 0;
    keyed.push_back({{!pod.node_name.empty(), PhaseRank(pod), pod.ready, DeletionCost(pod), -ranked.rank, ready_age,
                      -Restarts(pod), LogAge(pod.meta.creation_time, now), pod.meta.uid},
                     std::move(ranked)});
  }
  std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
  for (size_t i = 0; i < pods.size(); ++i) pods[i] = std::move(keyed[i].pod);
}

Json LabelsJson(const kube::Labels& labels) {
  JsonObject object;
  for (const auto& [key, value] : labels) object[key] = value;
  return object;
}

Json PodFromTemplate(const Json& pod_template, const kube::Resource& owner_kind, const kube::ObjectMeta& owner) {
  JsonObject metadata;
  metadata["generateName"] = owner.name + "-";
  metadata["namespace"] = owner.ns;
  for (const char* field : {"labels", "annotations", "finalizers"}) {
    if (const Json* value = Find(pod_template, {"metadata", field})) metadata[field] = *value;
  }
  metadata["ownerReferences"] = JsonArray{kube::ControllerReference(owner_kind, owner.name, owner.uid)};
  return JsonObject{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", FindObject(pod_template, {"spec"})}};
}

std::optional<kube::LabelSelector> SelectorOf(const Json& object) {
  const Json* selector = Find(object, {"spec", "selector"});
  if (selector == nullptr || !selector->is_object() || selector->get_object().empty()) return std::nullopt;
  auto parsed = kube::LabelSelector::FromJson(*selector);
  if (!parsed) return std::nullopt;
  return *std::move(parsed);
}

std::string SafeName(uint64_t number) {
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string name = std::to_string(number);
  for (char& letter : name) letter = kLetters[static_cast<unsigned char>(letter) % kLetters.size()];
  return name;
}

std::string TemplateHash(const Json& pod_template, int64_t collisions) {
  std::string text = base::CanonicalText(pod_template);
  if (collisions > 0) text += "#" + std::to_string(collisions);
  return SafeName(base::Fnv1a32(text));
}

bool SameTemplate(const Json& a, const Json& b) {
  Json left = a, right = b;
  for (Json* value : {&left, &right}) {
    base::Erase(*value, {"metadata", "labels", "pod-template-hash"});
    base::Erase(*value, {"metadata", "creationTimestamp"});
  }
  return base::Equal(left, right);
}

void SetCount(JsonObject& status, std::string_view field, int64_t value, bool keep_zero) {
  if (value == 0 && !keep_zero) {
    status.erase(field);
  } else {
    status[field] = value;
  }
}

const Json* ConditionIn(const JsonArray& conditions, std::string_view type) {
  for (const Json& condition : conditions) {
    if (FindString(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}

std::optional<base::Time> TimeAt(const Json& object, std::initializer_list<std::string_view> path) {
  const std::string_view text = FindString(object, path);
  if (text.empty()) return std::nullopt;
  auto time = base::ParseTime(text);
  return time ? std::optional(*time) : std::nullopt;
}

}  // namespace evenkeel::embedded::workloads
