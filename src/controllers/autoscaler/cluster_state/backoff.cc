#include "controllers/autoscaler/cluster_state/backoff.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonObject;
using providers::Instance;

base::Result<base::Time> BackoffTime(const Json& entry, std::string_view group, std::string_view field) {
  auto time = base::ParseTime(base::FindString(entry, {field}));
  if (!time) return base::Fail(time.error().Wrap("backoff: node group " + std::string(group) + ": " + std::string(field)));
  return *time;
}

}  // namespace

std::string_view Name(Instance::ErrorClass error_class) {
  return error_class == Instance::ErrorClass::kOutOfResources ? "OutOfResource" : "Other";
}

base::Time Backoff::Fail(std::string_view group, ErrorInfo error, base::Time now) {
  auto [found, added] = entries_.try_emplace(std::string(group));
  Entry& entry = found->second;
  if (added) {
    entry.duration = limits_.initial;
  } else if (entry.until < now) {
    entry.duration = std::min(entry.duration * 2, limits_.max);
  }
  entry.until = now + entry.duration;
  entry.last_failure = now;
  entry.error = std::move(error);
  return entry.until;
}

const Backoff::Entry* Backoff::Find(std::string_view group, const LoopTime& now) const {
  const auto found = entries_.find(group);
  return found != entries_.end() && found->second.until >= now ? &found->second : nullptr;
}

void Backoff::Remove(std::string_view group) {
  if (const auto found = entries_.find(group); found != entries_.end()) entries_.erase(found);
}

void Backoff::RemoveStale(const LoopTime& now) {
  std::erase_if(entries_, [&](const auto& item) { return item.second.last_failure + limits_.reset < now; });
}

Json Backoff::ToJson() const {
  JsonObject all;
  for (const auto& [group, entry] : entries_) {
    all[group] = JsonObject{{"seconds", std::chrono::duration<double>(entry.duration).count()},
                            {"until", base::FormatMicroTime(entry.until)},
                            {"lastFailure", base::FormatMicroTime(entry.last_failure)},
                            {"errorClass", Name(entry.error.error_class)},
                            {"errorCode", entry.error.code},
                            {"errorMessage", entry.error.message}};
  }
  return all;
}

base::Result<Backoff> Backoff::FromJson(const Json& json, BackoffLimits limits) {
  Backoff backoff(limits);
  if (!json.is_object()) return base::Fail(base::Code::kBadRequest, "backoff: not an object of entries by node group");
  for (const auto& [key, value] : json.get_object()) {
    const std::string group(key);
    Entry entry;
    const Json* seconds = base::Find(value, {"seconds"});
    // A day is far beyond any back-off; what is longer would not fit a duration.
    if (seconds == nullptr || !seconds->is_number() || !(seconds->to_number<double>() >= 0) ||
        seconds->to_number<double>() > 86'400) {
      return base::Fail(base::Code::kBadRequest, "backoff: node group " + group + ": seconds: not a number from 0 to 86400");
    }
    entry.duration = std::chrono::round<base::Duration>(std::chrono::duration<double>(seconds->to_number<double>()));
    EVENKEEL_ASSIGN(entry.until, BackoffTime(value, group, "until"));
    EVENKEEL_ASSIGN(entry.last_failure, BackoffTime(value, group, "lastFailure"));
    const bool out = base::FindString(value, {"errorClass"}) == Name(Instance::ErrorClass::kOutOfResources);
    entry.error = {out ? Instance::ErrorClass::kOutOfResources : Instance::ErrorClass::kOther,
                   std::string(base::FindString(value, {"errorCode"})), std::string(base::FindString(value, {"errorMessage"}))};
    backoff.entries_.emplace(group, std::move(entry));
  }
  return backoff;
}

}  // namespace evenkeel::controllers::autoscaler
