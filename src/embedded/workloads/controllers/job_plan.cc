#include "embedded/workloads/controllers/job_plan.h"

#include <algorithm>
#include <charconv>

#include "base/parse_number.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::Find;
using base::FindArray;
using base::FindBool;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr const char* kIndexAnnotation = "batch.kubernetes.io/job-completion-index";

int64_t IndexOf(const kube::Pod& pod) {
  auto found = pod.meta.annotations.find(kIndexAnnotation);
  return found == pod.meta.annotations.end() ? -1 : base::ParseNumber<int64_t>(found->second).value_or(-1);
}

base::Time FinishedAt(const kube::Pod& pod) {
  base::Time latest{};
  for (const Json& status : FindArray(*pod.json, {"status", "containerStatuses"})) {
    if (auto time = TimeAt(status, {"state", "terminated", "finishedAt"})) latest = std::max(latest, *time);
  }
  if (latest == base::Time{}) latest = ReadyChanged(pod);
  return latest == base::Time{} ? pod.meta.creation_time : latest;
}

class JobPlanner {
 public:
  JobPlanner(const Json& job, const std::vector<PodPointer>& pods, base::Time now) : job_(job), pods_(pods), now_(now) {
    state_ = JsonObject{{"status", FindObject(job, {"status"})}};
    parallelism_ = FindInt(job, {"spec", "parallelism"}, 1);
    if (Find(job, {"spec", "completions"}) != nullptr) completions_ = FindInt(job, {"spec", "completions"});
    indexed_ = FindString(job, {"spec", "completionMode"}) == "Indexed";
    deleting_ = Find(job, {"metadata", "deletionTimestamp"}) != nullptr;
    succeeded_indexes_ = ParseIndexes(FindString(job, {"status", "completedIndexes"}));
  }

  JobPlan Run() {
    Count();
    if (!Finished()) {
      if (!deleting_) Begin();
      Decide();
    }
    Finish();
    plan_.status = *Find(state_, {"status"});
    return std::move(plan_);
  }

 private:
  Json& Field(const char* name) { return base::Ensure(state_, {"status", name}); }
  bool Finished() const { return IsTrue("Complete") || IsTrue("Failed"); }
  bool IsTrue(std::string_view type) const { return kube::ConditionStatus(state_, type) == "True"; }
  bool Suspended() const { return FindBool(job_, {"spec", "suspend"}); }

  /// Moves finished pods into the status; those already there lose their finalizer and become numbers.
  void Count() {
    std::set<std::string> uncounted_ok, uncounted_bad, with_finalizer;
    for (const Json& uid : FindArray(job_, {"status", "uncountedTerminatedPods", "succeeded"}))
      uncounted_ok.emplace(uid.as_string());
    for (const Json& uid : FindArray(job_, {"status", "uncountedTerminatedPods", "failed"}))
      uncounted_bad.emplace(uid.as_string());
    succeeded_ = FindInt(job_, {"status", "succeeded"});
    failed_ = FindInt(job_, {"status", "failed"});
    for (const PodPointer& pod : pods_) {
      if (pod->meta.HasFinalizer(kJobFinalizer)) with_finalizer.insert(pod->meta.uid);
    }
    for (auto* set : {&uncounted_ok, &uncounted_bad}) {
      for (auto at = set->begin(); at != set->end();) {
        if (with_finalizer.contains(*at)) {
          ++at;
          continue;
        }
        // Released in an earlier round: from here on it is only a number.
        ++(set == &uncounted_ok ? succeeded_ : failed_);
        at = set->erase(at);
      }
    }
    for (const PodPointer& pod : pods_) {
      const bool good = pod->phase == "Succeeded";
      const bool lost = !pod->terminal() && pod->meta.deletion_time.has_value();
      if (!pod->terminal() && !lost) {
        active_.push_back(pod);
        continue;
      }
      // Whatever ends after the job does, or is taken by it, is no failure of the pod's.
      if (!pod->meta.HasFinalizer(kJobFinalizer)) continue;
      if (lost && !Finished() && !Suspended() && !deleting_) terminating_.push_back(pod);
      const int64_t index = IndexOf(*pod);
      if (good && (!indexed_ || (index >= 0 && index < completions_.value_or(0) && !succeeded_indexes_.contains(index)))) {
        if (!indexed_)
          uncounted_ok.insert(pod->meta.uid);
        else
          succeeded_indexes_.insert(index);
      } else if (!good && !Finished() && !Suspended() && !deleting_) {
        uncounted_bad.insert(pod->meta.uid);
      }
      if (!good) last_failure_ = std::max(last_failure_, FinishedAt(*pod));
      plan_.release.push_back(pod);
    }
    total_succeeded_ =
        indexed_ ? static_cast<int64_t>(succeeded_indexes_.size()) : succeeded_ + static_cast<int64_t>(uncounted_ok.size());
    total_failed_ = failed_ + static_cast<int64_t>(uncounted_bad.size());
    if (indexed_) succeeded_ = total_succeeded_;
    JsonObject uncounted;
    for (const auto& [name, set] : {std::pair{"succeeded", &uncounted_ok}, std::pair{"failed", &uncounted_bad}}) {
      if (!set->empty()) uncounted[name] = base::ToJsonArray(*set);
    }
    still_counting_ = !uncounted.empty();
    Field("uncountedTerminatedPods") = std::move(uncounted);
    for (const PodPointer& pod : pods_) {
      if (pod->phase == "Failed") last_failure_ = std::max(last_failure_, FinishedAt(*pod));
    }
  }

  void Begin() {
    if (Suspended()) {
      const Json* suspended = kube::FindCondition(state_, "Suspended");
      if (suspended == nullptr || FindString(*suspended, {"status"}) != "True") {
        kube::SetCondition(state_, "Suspended", "True", "JobSuspended", "Job suspended", now_);
        plan_.events.push_back({false, "Suspended", "Job suspended"});
      }
      base::Erase(state_, {"status", "startTime"});
      return;
    }
    if (IsTrue("Suspended")) {
      kube::SetCondition(state_, "Suspended", "False", "JobResumed", "Job resumed", now_);
      plan_.events.push_back({false, "Resumed", "Job resumed"});
    }
    if (Find(state_, {"status", "startTime"}) == nullptr) Field("startTime") = base::FormatTime(now_);
  }

  void Fail(const char* reason, const char* message) {
    if (!IsTrue("FailureTarget")) {
      kube::SetCondition(state_, "FailureTarget", "True", reason, message, now_);
      plan_.events.push_back({true, reason, message});
    }
    RemoveActive(active_.size());
  }

  int64_t Restarts() const {
    int64_t restarts = 0;
    for (const PodPointer& pod : active_) {
      if (pod->restart_policy != "OnFailure" || pod->phase != "Running") continue;
      for (const auto& status : pod->statuses) restarts += status.restart_count;
    }
    return restarts;
  }

  void Decide() {
    if (deleting_) return;
    if (Suspended()) return RemoveActive(active_.size());
    const int64_t backoff_limit = FindInt(job_, {"spec", "backoffLimit"}, 6);
    if (IsTrue("FailureTarget")) return RemoveActive(active_.size());
    if (const Json* deadline = Find(job_, {"spec", "activeDeadlineSeconds"}); deadline != nullptr) {
      const auto start = TimeAt(state_, {"status", "startTime"});
      const base::Time end = start.value_or(now_) + std::chrono::seconds(FindInt(job_, {"spec", "activeDeadlineSeconds"}));
      if (now_ >= end) return Fail("DeadlineExceeded", "Job was active longer than specified deadline");
      Soon(end - now_);
    }
    if (total_failed_ > backoff_limit || (Restarts() > 0 && Restarts() >= backoff_limit)) {
      return Fail("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    }
    if (Enough()) return RemoveActive(active_.size());
    ManagePods();
  }

  bool Enough() const {
    if (completions_) return total_succeeded_ >= *completions_;
    // Without a number the first success tells the others to come to an end.
    return total_succeeded_ > 0 && active_.empty();
  }

  void ManagePods() {
    const auto active = static_cast<int64_t>(active_.size());
    int64_t wanted = parallelism_;
    if (completions_) {
      wanted = std::min(parallelism_, *completions_ - total_succeeded_);
    } else if (total_succeeded_ > 0) {
      wanted = std::min(active, parallelism_);
    }
    if (indexed_) {
      // Two pods of one index, or of one that is done: one too many.
      std::set<int64_t> seen = succeeded_indexes_;
      for (const PodPointer& pod : active_) {
        if (!seen.insert(IndexOf(*pod)).second) plan_.remove.push_back(pod);
      }
    }
    if (active > wanted) return RemoveActive(static_cast<size_t>(active - wanted));
    if (active == wanted) return;
    if (const auto wait = Backoff()) return Soon(*wait);
    int64_t missing = std::min<int64_t>(wanted - active, 500);
    if (!indexed_) {
      plan_.create.assign(static_cast<size_t>(missing), -1);
      return;
    }
    std::set<int64_t> taken = succeeded_indexes_;
    for (const PodPointer& pod : active_) taken.insert(IndexOf(*pod));
    for (const PodPointer& pod : terminating_) taken.insert(IndexOf(*pod));
    for (int64_t index = 0; index < completions_.value_or(0) && missing > 0; ++index) {
      if (taken.contains(index)) continue;
      plan_.create.push_back(index);
      --missing;
    }
  }

  /// 10 s after a failure, doubled with each further one, at most 10 minutes.
  std::optional<base::Duration> Backoff() const {
    if (total_failed_ == 0 || last_failure_ == base::Time{}) return std::nullopt;
    const base::Duration pause = std::min<base::Duration>(
        std::chrono::seconds(10) * (int64_t{1} << std::min<int64_t>(total_failed_ - 1, 10)), std::chrono::minutes(10));
    const base::Time end = last_failure_ + pause;
    if (end <= now_) return std::nullopt;
    return end - now_;
  }

  void RemoveActive(size_t count) {
    std::vector<RankedPod> ranked;
    for (const PodPointer& pod : active_) ranked.push_back({pod, 0});
    SortForDeletion(ranked, now_);
    for (size_t i = 0; i < std::min(count, ranked.size()); ++i) plan_.remove.push_back(ranked[i].pod);
  }

  void Soon(base::Duration delay) {
    if (!plan_.again || delay < *plan_.again) plan_.again = delay;
  }

  void Finish() {
    JsonObject& status = state_.at("status").get_object();
    int64_t ready = 0;
    for (const PodPointer& pod : active_) ready += pod->ready ? 1 : 0;
    SetCount(status, "active", static_cast<int64_t>(active_.size()), false);
    SetCount(status, "succeeded", succeeded_, false);
    SetCount(status, "failed", failed_, false);
    status["ready"] = ready;
    if (indexed_ && !succeeded_indexes_.empty()) status["completedIndexes"] = FormatIndexes(succeeded_indexes_);
    if (!Finished() && active_.empty() && plan_.create.empty() && plan_.release.empty() && !still_counting_ && !deleting_ &&
        !Suspended()) {
      if (IsTrue("FailureTarget")) {
        const Json* target = kube::FindCondition(state_, "FailureTarget");
        const std::string reason(FindString(*target, {"reason"})), message(FindString(*target, {"message"}));
        kube::SetCondition(state_, "Failed", "True", reason, message, now_);
      } else if (Enough()) {
        kube::SetCondition(state_, "SuccessCriteriaMet", "True", "CompletionsReached",
                           "Reached expected number of succeeded pods", now_);
        kube::SetCondition(state_, "Complete", "True", "CompletionsReached", "Reached expected number of succeeded pods", now_);
        Field("completionTime") = base::FormatTime(now_);
        plan_.events.push_back({false, "Completed", "Job completed"});
      }
    }
    if (Finished() && Find(job_, {"spec", "ttlSecondsAfterFinished"}) != nullptr) {
      const Json* condition = kube::FindCondition(state_, IsTrue("Complete") ? "Complete" : "Failed");
      const auto since = TimeAt(*condition, {"lastTransitionTime"}).value_or(now_);
      const base::Time end = since + std::chrono::seconds(FindInt(job_, {"spec", "ttlSecondsAfterFinished"}));
      plan_.expired = end <= now_ && !deleting_;
      if (end > now_) Soon(end - now_);
    }
  }

  const Json& job_;
  const std::vector<PodPointer>& pods_;
  base::Time now_;
  Json state_;
  int64_t parallelism_ = 1;
  std::optional<int64_t> completions_;
  bool indexed_ = false, deleting_ = false, still_counting_ = false;
  std::set<int64_t> succeeded_indexes_;
  std::vector<PodPointer> active_, terminating_;
  int64_t succeeded_ = 0, failed_ = 0, total_succeeded_ = 0, total_failed_ = 0;
  base::Time last_failure_{};
  JobPlan plan_;
};

}  // namespace

JobPlan PlanJob(const Json& job, const std::vector<PodPointer>& pods, base::Time now) {
  return JobPlanner(job, pods, now).Run();
}

Json JobPodJson(const Json& job, int64_t index) {
  Json pod = PodFromTemplate(*Find(job, {"spec", "template"}), kube::resources::Jobs(), kube::DecodeMeta(job));
  kube::SetFinalizer(pod, kJobFinalizer, true);
  if (index < 0) return pod;
  const std::string number = std::to_string(index);
  const std::string name = std::string(kube::NameOf(job)) + "-" + number;
  base::Ensure(pod, {"metadata", "generateName"}) = name + "-";
  base::Ensure(pod, {"metadata", "annotations", kIndexAnnotation}) = number;
  base::Ensure(pod, {"metadata", "labels", kIndexAnnotation}) = number;
  base::Ensure(pod, {"spec", "hostname"}) = name;
  for (const char* field : {"containers", "initContainers"}) {
    Json* list = Find(pod, {"spec", field});
    if (list == nullptr || !list->is_array()) continue;
    for (Json& container : list->get_array()) {
      JsonArray variables = FindArray(container, {"env"});
      variables.push_back(JsonObject{{"name", "JOB_COMPLETION_INDEX"}, {"value", number}});
      base::Ensure(container, {"env"}) = std::move(variables);
    }
  }
  return pod;
}

std::set<int64_t> ParseIndexes(std::string_view text) {
  std::set<int64_t> indexes;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == text.npos ? "" : text.substr(comma + 1);
    int64_t first = 0, last = 0;
    auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), first);
    if (error != std::errc()) continue;
    last = first;
    if (stop < part.data() + part.size() && *stop == '-') std::from_chars(stop + 1, part.data() + part.size(), last);
    for (int64_t i = first; i <= last && indexes.size() < 100000; ++i) indexes.insert(i);
  }
  return indexes;
}

std::string FormatIndexes(const std::set<int64_t>& indexes) {
  std::string text;
  for (auto at = indexes.begin(); at != indexes.end();) {
    const int64_t first = *at;
    int64_t last = first;
    while (++at != indexes.end() && *at == last + 1) last = *at;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last == first + 1) text += "," + std::to_string(last);
    if (last > first + 1) text += "-" + std::to_string(last);
  }
  return text;
}

}  // namespace evenkeel::embedded::workloads
