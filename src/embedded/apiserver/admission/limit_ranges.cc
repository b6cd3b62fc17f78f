#include "embedded/apiserver/admission/limit_ranges.h"

#include <spdlog/fmt/fmt.h>

#include <mutex>

#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/requests/errors.h"
#include "kube/amounts.h"

namespace evenkeel::embedded::apiserver {
namespace {

using kube::Amounts;
using kube::FindAmount;
using kube::Quantity;

constexpr const char* kLimitAnnotation = "kubernetes.io/limit-ranger";

/// The names of what was missing and has been set: "cpu, memory".
std::string FillMissing(Json& container, const char* list, const base::JsonObject& defaults) {
  std::map<std::string_view, const Json*> missing;  // told in the order of names
  const base::JsonObject& present = base::FindObject(container, {"resources", list});
  for (const auto& [name, amount] : defaults) {
    if (!present.contains(name)) missing.emplace(name, &amount);
  }
  std::string names;
  for (const auto& [name, amount] : missing) {
    base::Ensure(container, {"resources", list, name}) = *amount;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

/// Both amounts that an object names of one resource; null where it names none.
struct Named {
  const Quantity* request;
  const Quantity* limit;
};

std::string BelowMinimum(std::string_view type, const std::string& name, const Quantity& least, const Named& named) {
  const std::string text = fmt::format("minimum {} usage per {} is {}", name, type, least.ToString());
  if (named.request == nullptr) return text + ".  No request is specified";
  if (*named.request < least) return text + ", but request is " + named.request->ToString();
  if (named.limit != nullptr && *named.limit < least) return text + ", but limit is " + named.limit->ToString();
  return "";
}

std::string AboveMaximum(std::string_view type, const std::string& name, const Quantity& most, const Named& named) {
  const std::string text = fmt::format("maximum {} usage per {} is {}", name, type, most.ToString());
  if (named.limit == nullptr) return text + ".  No limit is specified";
  if (*named.limit > most) return text + ", but limit is " + named.limit->ToString();
  if (named.request != nullptr && *named.request > most) return text + ", but request is " + named.request->ToString();
  return "";
}

std::string AboveMaximumRequest(std::string_view type, const std::string& name, const Quantity& most, const Named& named) {
  const std::string text = fmt::format("maximum {} usage per {} is {}", name, type, most.ToString());
  if (named.request == nullptr) return text + ".  No request is specified";
  return *named.request > most ? text + ", but request is " + named.request->ToString() : "";
}

std::string AboveRatio(std::string_view type, const std::string& name, const Quantity& most, const Named& named) {
  const std::string text = fmt::format("{} max limit to request ratio per {} is {}", name, type, most.ToString());
  const auto nothing = [](const Quantity* amount) { return amount == nullptr || amount->IsZero(); };
  if (nothing(named.request)) return text + ", but no request is specified or request is 0";
  if (nothing(named.limit)) return text + ", but no limit is specified or limit is 0";
  const double ratio = static_cast<double>(named.limit->MilliValue()) / static_cast<double>(named.request->MilliValue());
  if (ratio * 1000 <= static_cast<double>(most.MilliValue())) return "";
  return text + fmt::format(", but provided ratio is {:f}", ratio);
}

using BoundJudge = std::string (*)(std::string_view type, const std::string& name, const Quantity& bound, const Named& named);

void JudgeAll(const Json& item, const char* bounds, BoundJudge judge, const Amounts& requests, const Amounts& limits,
              std::vector<std::string>& problems) {
  for (const auto& [name, bound] : kube::AmountsOf(base::Find(item, {bounds}))) {
    const Named named{FindAmount(requests, name), FindAmount(limits, name)};
    std::string problem = judge(base::FindString(item, {"type"}), name, bound, named);
    if (!problem.empty()) problems.push_back(std::move(problem));
  }
}

void JudgePart(const Json& item, const Amounts& requests, const Amounts& limits, std::vector<std::string>& problems) {
  JudgeAll(item, "min", BelowMinimum, requests, limits, problems);
  JudgeAll(item, "max", AboveMaximum, requests, limits, problems);
  JudgeAll(item, "maxLimitRequestRatio", AboveRatio, requests, limits, problems);
}

void JudgePod(const Json& item, const Json& pod, std::vector<std::string>& problems) {
  const std::string_view type = base::FindString(item, {"type"});
  if (type == "Container") {
    for (const char* list : {"containers", "initContainers"}) {
      for (const Json& container : base::FindArray(pod, {"spec", list})) {
        JudgePart(item, kube::AmountsOf(base::Find(container, {"resources", "requests"})),
                  kube::AmountsOf(base::Find(container, {"resources", "limits"})), problems);
      }
    }
  } else if (type == "Pod") {
    JudgePart(item, kube::PodRequests(pod, kube::PodOverhead::kLeftOut), kube::PodLimits(pod, kube::PodOverhead::kLeftOut),
              problems);
  }
}

void JudgeClaim(const Json& item, const Json& claim, std::vector<std::string>& problems) {
  if (base::FindString(item, {"type"}) != "PersistentVolumeClaim") return;
  const Amounts requests = kube::AmountsOf(base::Find(claim, {"spec", "resources", "requests"}));
  JudgeAll(item, "min", BelowMinimum, requests, {}, problems);
  JudgeAll(item, "max", AboveMaximumRequest, requests, {}, problems);
}

/// As Go tells of several errors: each once, in brackets.
std::string JoinProblems(const std::vector<std::string>& problems) {
  std::string text;
  std::vector<std::string_view> told;
  for (const std::string& problem : problems) {
    if (std::ranges::find(told, problem) != told.end()) continue;
    told.emplace_back(problem);
    text += (text.empty() ? "" : ", ") + problem;
  }
  return told.size() > 1 ? "[" + text + "]" : text;
}

bool IsBounded(const Call& call) {
  const kube::Resource& resource = call.served->resource;
  return resource.group.empty() && (resource.plural == "pods" || resource.plural == "persistentvolumeclaims");
}

}  // namespace

void SetLimitDefaults(const Json& range, Json& pod) {
  base::JsonObject limits, requests;
  for (const Json& item : base::FindArray(range, {"spec", "limits"})) {
    if (base::FindString(item, {"type"}) != "Container") continue;
    for (const auto& [name, amount] : base::FindObject(item, {"default"})) limits[name] = amount;
    for (const auto& [name, amount] : base::FindObject(item, {"defaultRequest"})) requests[name] = amount;
  }
  std::string told;
  const auto tell = [&](const std::string& names, const char* what, const char* kind, const Json& container) {
    if (names.empty()) return;
    told +=
        fmt::format("{}{} {} for {} {}", told.empty() ? "" : "; ", names, what, kind, base::FindString(container, {"name"}));
  };
  for (const auto& [list, kind] : {std::pair("containers", "container"), std::pair("initContainers", "init container")}) {
    Json* containers = base::Find(pod, {"spec", list});
    if (containers == nullptr || !containers->is_array()) continue;
    for (Json& container : containers->get_array()) {
      const std::string limited = FillMissing(container, "limits", limits);
      tell(FillMissing(container, "requests", requests), "request", kind, container);
      tell(limited, "limit", kind, container);
    }
  }
  if (!told.empty()) base::Ensure(pod, {"metadata", "annotations", kLimitAnnotation}) = "LimitRanger plugin set: " + told;
}

std::string LimitViolation(const Json& range, std::string_view kind, const Json& object) {
  std::vector<std::string> problems;
  for (const Json& item : base::FindArray(range, {"spec", "limits"})) {
    if (kind == "Pod") JudgePod(item, object, problems);
    if (kind == "PersistentVolumeClaim") JudgeClaim(item, object, problems);
  }
  return JoinProblems(problems);
}

LimitRanges::LimitRanges(store::Store& store, ServedPointer served, base::Executor* executor)
    : served_(std::move(served)),
      follower_(store, served_->prefix, "LimitRanges",
                {.put = [this](const store::KeyValue& item) { Put(item); },
                 .remove = [this](const std::string& key, store::Revision) { Remove(key); }},
                executor) {}

Status LimitRanges::Start() { return follower_.Start(); }

void LimitRanges::Put(const store::KeyValue& item) {
  std::string ns, name;
  kube::SplitKey(std::string_view(item.key).substr(served_->prefix.size()), ns, name);
  auto range = DecodeObject(*served_, {item.value, item.mod_revision});
  // What is being deleted bounds nothing any more, and what cannot be read cannot.
  if (!range || base::Find(*range, {"metadata", "deletionTimestamp"}) != nullptr) return Remove(ns + "/" + name);
  std::lock_guard lock(mutex_);
  ranges_[ns][name] = std::make_shared<const Json>(*std::move(range));
  any_ = true;
}

void LimitRanges::Remove(const std::string& key) {
  std::string ns, name;
  kube::SplitKey(key, ns, name);
  std::lock_guard lock(mutex_);
  const auto found = ranges_.find(ns);
  if (found == ranges_.end()) return;
  found->second.erase(name);
  if (found->second.empty()) ranges_.erase(found);
  any_ = !ranges_.empty();
}

LimitRanges::Ranges LimitRanges::Concerning(const Call& call) const {
  if (!any_.load(std::memory_order_relaxed) || !IsBounded(call)) return {};
  std::shared_lock lock(mutex_);
  const auto found = ranges_.find(call.ns);
  return found == ranges_.end() ? Ranges() : found->second;
}

void LimitRanges::SetDefaults(const Call& call, Json& object) const {
  if (call.served->resource.plural != "pods") return;
  for (const auto& [name, range] : Concerning(call)) SetLimitDefaults(*range, object);
}

Status LimitRanges::Check(const Call& call, const Json& object, const Json* old) const {
  if (!call.subresource.empty()) return {};
  // What a pod takes is settled once it is there; what is on its way out may always be written.
  const bool pods = call.served->resource.plural == "pods";
  if (old != nullptr && (pods || base::Find(*old, {"metadata", "deletionTimestamp"}) != nullptr)) return {};
  for (const auto& [name, range] : Concerning(call)) {
    const std::string problem = LimitViolation(*range, call.served->resource.kind, object);
    if (!problem.empty()) return base::Fail(ForbiddenError(call.served->resource, call.name, problem));
  }
  return {};
}

}  // namespace evenkeel::embedded::apiserver
