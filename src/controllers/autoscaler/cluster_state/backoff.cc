#include "controllers/autoscaler/cluster_state/backoff.h"

#include "controllers/autoscaler/facts/state_fields.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Json;
using base::JsonObject;
using providers::Instance;

// A day is far beyond any back-off; what is longer would not fit a duration.
constexpr double kBackoffSecondsMax = 86'400;

base::Status ReadEntry(const base::Field& field, Backoff::Entry& entry) {
  double seconds = 0;
  EVENKEEL_TRY(field["seconds"].Required());
  EVENKEEL_TRY(field["seconds"].Number(seconds, 0, kBackoffSecondsMax));
  entry.duration = std::chrono::round<base::Duration>(std::chrono::duration<double>(seconds));
  EVENKEEL_TRY(ReadTime(field["until"], entry.until));
  EVENKEEL_TRY(ReadTime(field["lastFailure"], entry.last_failure));
  // What a later version tells apart is one of the others here.
  const bool out = base::FindString(field.value(), {"errorClass"}) == Name(Instance::ErrorClass::kOutOfResources);
  entry.error.error_class = out ? Instance::ErrorClass::kOutOfResources : Instance::ErrorClass::kOther;
  EVENKEEL_TRY(field["errorCode"].Text(entry.error.code));
  return field["errorMessage"].Text(entry.error.message);
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
  const base::Field groups(&json, "state", "cluster.backoff");
  EVENKEEL_TRY(groups.IsObject());
  EVENKEEL_TRY(groups.ForEachMember([&](std::string_view group, const base::Field& field) {
    return ReadEntry(field, backoff.entries_[std::string(group)]);
  }));
  return backoff;
}

}  // namespace evenkeel::controllers::autoscaler
