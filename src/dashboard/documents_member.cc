#include <algorithm>
#include <set>

#include "dashboard/documents.h"
#include "kube/types.h"

namespace evenkeel::dashboard {
namespace {

constexpr const char* kFleetMetrics[] = {"cpu", "memory", "pods"};

int64_t AmountOf(const kube::ResourceList& list, const std::string& resource) {
  const auto found = list.find(resource);
  return found == list.end() ? 0 : found->second;
}

/// Of the autoscaler's status; null when it does not say.
const Json* StatusOfGroup(const AutoscalerWords& words, std::string_view name) {
  for (const Json& group : FindArray(words.status, {"nodeGroups"})) {
    if (FindString(group, {"name"}) == name) return &group;
  }
  return nullptr;
}

JsonObject GroupEntry(std::string_view name, const Json* object, const Json* status, const AutoscalerWords& words) {
  JsonObject entry{{"target", 0}, {"min", 0}, {"max", 0}, {"ready", 0}, {"upcoming", 0}};
  // Of others the target is their provider's, and people change it there.
  entry["scalable"] = object != nullptr;
  entry["backoffUntil"] = entry["backoffReason"] = entry["pricePerHour"] = nullptr;
  if (status != nullptr) {
    entry["target"] = FindInt(*status, {"health", "cloudProviderTarget"});
    entry["min"] = FindInt(*status, {"health", "minSize"});
    entry["max"] = FindInt(*status, {"health", "maxSize"});
    entry["ready"] = FindInt(*status, {"health", "nodeCounts", "registered", "ready"});
  }
  if (object != nullptr) {
    entry["min"] = FindInt(*object, {"spec", "minSize"});
    entry["max"] = FindInt(*object, {"spec", "maxSize"});
    entry["target"] = FindInt(*object, {"spec", "targetSize"}, FindInt(*object, {"spec", "minSize"}));
    if (base::Find(*object, {"status", "readyNodes"}) != nullptr) entry["ready"] = FindInt(*object, {"status", "readyNodes"});
    if (const Json* price = base::Find(*object, {"spec", "pricePerHour"})) entry["pricePerHour"] = *price;
  }
  entry["upcoming"] = std::max<int64_t>(0, entry["target"].to_number<int64_t>() - entry["ready"].to_number<int64_t>());
  if (const Json* backoff = base::Find(words.memory, {"cluster", "backoff", name})) {
    entry["backoffUntil"] = OrNull(FindString(*backoff, {"until"}));
    const std::string_view text = FindString(*backoff, {"errorMessage"});
    entry["backoffReason"] = OrNull(text.empty() ? FindString(*backoff, {"errorCode"}) : text);
  }
  return entry;
}

/// "compute, general: Insufficient cpu; gpu: ..."; groups that have the same to say are named together.
std::string WhyInOneText(const Json* reasons) {
  if (reasons == nullptr || !reasons->is_object()) return "";
  std::vector<std::pair<std::string, std::string>> said;  // groups, reason; in the order of groups
  for (const auto& [group, reason] : reasons->get_object()) {
    const std::string text(reason.is_string() ? std::string_view(reason.get_string()) : "");
    if (text.empty()) continue;
    const auto same = std::ranges::find(said, text, &std::pair<std::string, std::string>::second);
    if (same == said.end()) {
      said.emplace_back(group, text);
    } else {
      same->first += ", " + std::string(group);
    }
  }
  std::string out;
  for (const auto& [groups, reason] : said) out += (out.empty() ? "" : "; ") + groups + ": " + reason;
  return out;
}

}  // namespace

Json OrNull(std::string_view text) { return text.empty() ? Json() : Json(text); }

Json TimeOrNull(const std::optional<base::Time>& time) {
  return time && *time != base::Time{} ? Json(base::FormatTime(*time)) : Json();
}

Json MemberSummary(const MemberTally& tally) {
  std::set<std::string_view> groups;
  for (const auto& [name, node] : tally.nodes()) {
    if (!node->group.empty()) groups.insert(node->group);
  }
  JsonObject load;
  for (const char* metric : kFleetMetrics) load[metric] = tally.Load(metric);
  const auto total = static_cast<int64_t>(tally.nodes().size());
  const int64_t upcoming = tally.Count("Upcoming");
  return JsonObject{{"nodes", JsonObject{{"ready", tally.Count("Ready") + tally.Count("Cordoned")},
                                         {"total", total},
                                         {"upcoming", upcoming},
                                         {"notReady", tally.Count("NotReady")}}},
                    {"pods", JsonObject{{"running", tally.running()},
                                        {"pending", static_cast<int64_t>(tally.waiting().size())},
                                        {"total", tally.pods()}}},
                    {"load", std::move(load)},
                    {"groups", static_cast<int64_t>(groups.size())}};
}

std::vector<std::string> NodeMetrics(const MemberTally& tally) {
  std::vector<std::string> metrics(std::begin(kFleetMetrics), std::end(kFleetMetrics));
  std::set<std::string> extended;
  for (const auto& [name, node] : tally.nodes()) {
    for (const auto& [resource, amount] : node->allocatable) {
      if (resource.contains('/') && amount > 0) extended.insert(resource);
    }
  }
  metrics.insert(metrics.end(), extended.begin(), extended.end());
  return metrics;
}

Json NodeEntry(const NodeRow& node, const MemberTally::OnNode& on, const Json* explained) {
  JsonObject load, requested, allocatable;
  for (const auto& [resource, amount] : node.allocatable) {
    const bool shown =
        resource == "cpu" || resource == "memory" || resource == "pods" || (resource.contains('/') && amount > 0);
    if (!shown) continue;
    load[resource] = Share(on.requested, node.allocatable, resource);
    requested[resource] = kube::AmountText(resource, AmountOf(on.requested, resource));
    allocatable[resource] = kube::AmountText(resource, amount);
  }
  JsonObject entry{{"group", OrNull(node.group)},
                   {"type", OrNull(node.type)},
                   {"zone", OrNull(node.zone)},
                   {"state", node.state},
                   {"since", TimeOrNull(node.since)},
                   {"load", std::move(load)},
                   {"requested", std::move(requested)},
                   {"allocatable", std::move(allocatable)},
                   {"pods", on.pods},
                   {"unneededSince", nullptr},
                   {"waits", nullptr}};
  if (explained != nullptr) {
    entry["unneededSince"] = OrNull(FindString(*explained, {"since"}));
    entry["waits"] = OrNull(FindString(*explained, {"waits"}));
    if (const auto group = FindString(*explained, {"group"}); node.group.empty() && !group.empty()) entry["group"] = group;
  }
  return entry;
}

Json PendingEntry(const PodRow& pod, const Json* reasons) {
  JsonObject entry{{"since", TimeOrNull(pod.created)}, {"cpu", kube::AmountText("cpu", AmountOf(pod.requests, "cpu"))}};
  entry["memory"] = kube::AmountText("memory", AmountOf(pod.requests, "memory"));
  const std::string ours = WhyInOneText(reasons);
  entry["why"] = !ours.empty() ? ours : pod.message;
  entry["reasons"] = reasons != nullptr && reasons->is_object() ? *reasons : Json(JsonObject{});
  entry["message"] = pod.message;
  return entry;
}

JsonObject GroupEntries(const std::map<std::string, Json>& node_groups, const MemberTally& tally,
                        const AutoscalerWords& words) {
  JsonObject entries;
  for (const auto& [name, object] : node_groups) {
    entries[name] = GroupEntry(name, &object, StatusOfGroup(words, name), words);
  }
  for (const Json& group : FindArray(words.status, {"nodeGroups"})) {
    const std::string_view name = FindString(group, {"name"});
    if (!name.empty() && base::Find(group, {"health"}) != nullptr && !entries.contains(name)) {
      entries[name] = GroupEntry(name, nullptr, &group, words);
    }
  }
  // Nodes of a group that is neither: its label is all that is known.
  std::map<std::string_view, int64_t> labelled;
  for (const auto& [name, node] : tally.nodes()) {
    if (!node->group.empty() && node->state == "Ready") ++labelled[node->group];
  }
  for (const auto& [name, ready] : labelled) {
    if (entries.contains(name)) continue;
    JsonObject entry = GroupEntry(name, nullptr, nullptr, words);
    entry["ready"] = entry["target"] = ready;
    entry["upcoming"] = 0;
    entries[name] = std::move(entry);
  }
  return entries;
}

Json ScaleDownEntry(const AutoscalerWords& words) {
  JsonObject entry{{"enabled", words.running}, {"message", ""}, {"cooldownUntil", nullptr}, {"candidates", 0}};
  entry["candidates"] = FindInt(words.status, {"clusterWide", "scaleDown", "candidates"});
  JsonArray in_progress;
  for (const Json& request : FindArray(words.memory, {"cluster", "scaleDowns"})) {
    in_progress.emplace_back(FindString(request, {"node"}));
  }
  entry["inProgress"] = std::move(in_progress);
  if (!words.running) {
    entry["message"] = "no autoscaler has written its status here";
    return entry;
  }
  if (const std::string_view message = FindString(words.status, {"message"}); !message.empty()) entry["message"] = message;
  if (const Json* scale_down = base::Find(words.explanation, {"scaleDown"})) {
    entry["enabled"] = base::FindBool(*scale_down, {"enabled"}, true);
    if (const auto text = FindString(*scale_down, {"message"}); !text.empty()) entry["message"] = text;
    entry["cooldownUntil"] = OrNull(FindString(*scale_down, {"cooldownUntil"}));
  }
  return entry;
}

}  // namespace evenkeel::dashboard
