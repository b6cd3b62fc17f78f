#include "sim/report/trace_replay.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "controllers/autoscaler/facts/node_group_object.h"
#include "controllers/autoscaler/facts/utilization.h"
#include "controllers/autoscaler/loop/run_once.h"
#include "sim/world/fleet_samples.h"

namespace evenkeel::sim {
namespace {

namespace autoscaler = controllers::autoscaler;
using base::Duration;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using base::Time;
using namespace std::chrono_literals;

/// Any day will do; a fixed one, so that times can be compared.
constexpr Time kStart = std::chrono::sys_days(std::chrono::year(2030) / 1 / 1);
constexpr std::string_view kTraceNamespace = "trace";
/// As the live controller (member_autoscaler.cc): how soon "at once" is, and pods that are too young are looked at again.
constexpr Duration kDebounce = 100ms;
constexpr Duration kYoungPods = 2s;

std::string KeyOf(const TraceTask& task) { return fmt::format("{}/{}", kTraceNamespace, task.name); }

JsonObject SpecOf(const TraceTask& task) {
  JsonObject requests{{"cpu", fmt::format("{}m", task.milli_cores)}, {"memory", fmt::format("{}Mi", task.mebibytes)}};
  if (task.milli_gpus > 0) requests[autoscaler::kGpuResources.front()] = std::to_string(task.milli_gpus);
  JsonObject spec{{"containers", JsonArray{JsonObject{{"name", "task"}, {"resources", JsonObject{{"requests", requests}}}}}}};
  if (!task.models.empty()) {
    JsonArray models(task.models.begin(), task.models.end());
    JsonObject term{
        {"matchExpressions",
         JsonArray{JsonObject{{"key", autoscaler::kNodeGroupGpuLabel}, {"operator", "In"}, {"values", std::move(models)}}}}};
    base::Json affinity;
    base::Ensure(affinity, {"nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"}) =
        JsonArray{std::move(term)};
    spec["affinity"] = std::move(affinity);
  }
  return spec;
}

Json PodOf(const TraceTask& task, Time created, const std::string& node) {
  JsonObject owner{{"apiVersion", "apps/v1"},
                   {"kind", "ReplicaSet"},
                   {"name", task.name},
                   {"uid", "owner-" + task.name},
                   {"controller", true}};
  JsonObject spec = SpecOf(task);
  if (!node.empty()) spec["nodeName"] = node;
  JsonObject condition{{"type", "PodScheduled"}, {"status", node.empty() ? "False" : "True"}};
  if (node.empty()) condition["reason"] = "Unschedulable";
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", JsonObject{{"name", task.name},
                              {"namespace", kTraceNamespace},
                              {"uid", task.name},
                              {"creationTimestamp", base::FormatTime(created)},
                              {"ownerReferences", JsonArray{std::move(owner)}}}},
      {"spec", std::move(spec)},
      {"status", JsonObject{{"phase", node.empty() ? "Pending" : "Running"}, {"conditions", JsonArray{std::move(condition)}}}}};
}

class Replay {
 public:
  Replay(const Trace& trace, const ReplayOptions& options, autoscaler::ExpanderChain expanders)
      : trace_(trace),
        options_(options),
        expanders_(std::move(expanders)),
        random_(options.seed),
        cloud_(trace.shapes, options.cloud, random_.Fork("cloud")),
        objects_(options.autoscaler, mirror_),
        state_(options.autoscaler),
        tasks_(trace.tasks.size()) {
    if (options.record) recording_.emplace();
  }

  ReplayReport Run() {
    for (size_t task = 0; task < trace_.tasks.size(); ++task) leaves_.emplace(kStart + trace_.tasks[task].leaves, task);
    loop_due_ = now_;
    const Time end = leaves_.empty() ? kStart : std::prev(leaves_.end())->first;
    while (!leaves_.empty()) {
      const Time next = Next();
      Record(next);
      now_ = next;
      if (options_.on_progress) options_.on_progress(now_ - kStart, end - kStart);
      Leave();
      Arrive();
      Steps();
      FollowCloud();
      Schedule();
      if (loop_due_ && *loop_due_ <= now_) Loop();
    }
    return Report(end);
  }

 private:
  struct Task {
    Time arrived{}, waits_since{};
    bool placed = false;  ///< once, whatever came later
    std::string node;     ///< "" while it waits
  };
  struct Deletion {
    std::string group, id;
    bool drain = false;
  };

  Time Next() const {
    Time next = leaves_.begin()->first;
    if (arrived_ < trace_.tasks.size()) next = std::min(next, kStart + trace_.tasks[arrived_].arrives);
    if (!steps_.empty()) next = std::min(next, steps_.begin()->first);
    if (const auto due = cloud_.due()) next = std::min(next, *due);
    if (loop_due_) next = std::min(next, *loop_due_);
    return std::max(next, now_);
  }

  void Record(const std::string& party, const std::string& event, const std::string& detail = "") {
    if (options_.timeline) report_.timeline.push_back({now_ - kStart, party, event, detail});
  }

  /// What has been true from now on until `end`.
  void Record(Time end) {
    while (recording_ && kStart + recording_->samples.due() < end) {
      FleetSamples& samples = recording_->samples;
      samples.Add({.at = samples.due(), .clusters = {SampleOf(samples)}});
    }
  }

  ClusterSample SampleOf(FleetSamples& samples) const {
    ClusterSample cluster{.name = samples.NumberOf("trace")};
    for (const auto& [name, shape] : cloud_.Nodes()) {
      int64_t milli_cores = 0, mebibytes = 0, milli_gpus = 0;
      if (const auto tasks = on_node_.find(name); tasks != on_node_.end()) {
        cluster.running += std::ssize(tasks->second);
        for (const size_t task : tasks->second) {
          milli_cores += trace_.tasks[task].milli_cores;
          mebibytes += trace_.tasks[task].mebibytes;
          milli_gpus += trace_.tasks[task].milli_gpus;
        }
      }
      const auto share = [](int64_t used, int64_t of) {
        return of > 0 ? static_cast<float>(used) / static_cast<float>(of) : 0.0F;
      };
      const float load = std::max({share(milli_cores, shape->milli_cores), share(mebibytes, shape->mebibytes),
                                   share(milli_gpus, shape->gpus * kGpuUnits)});
      cluster.nodes.push_back({.name = samples.NumberOf(name),
                               .group = samples.NumberOf(shape->name),
                               .load = load,
                               .state = deletions_.contains(name) ? NodeState::kDeleting : NodeState::kReady});
    }
    cluster.wanted = cloud_.wanted();
    cluster.pending = std::ssize(waiting_);
    return cluster;
  }

  void LoopSoon(Time at) { loop_due_ = std::min(loop_due_.value_or(at), at); }
  /// Something has changed: the next loop, at its regular time, has to look.
  void LoopAtNextScan() {
    changed_ = now_;
    const Duration scan = options_.autoscaler.scan_interval, since = now_ - last_loop_;
    LoopSoon(last_loop_ + std::max((since + scan - Duration(1)) / scan, Duration::rep{1}) * scan);
  }

  void Leave() {
    while (!leaves_.empty() && leaves_.begin()->first <= now_) {
      const size_t task = leaves_.begin()->second;
      // One that lives for no time at all arrives first.
      if (task >= arrived_) break;
      leaves_.erase(leaves_.begin());
      mirror_.Remove("Pod", KeyOf(trace_.tasks[task]));
      if (tasks_[task].node.empty()) {
        waiting_.erase({tasks_[task].waits_since, task});
      } else {
        on_node_[tasks_[task].node].erase(task);
        room_ = true;
      }
      LoopAtNextScan();
    }
  }

  void Arrive() {
    for (; arrived_ < trace_.tasks.size() && kStart + trace_.tasks[arrived_].arrives <= now_; ++arrived_) {
      tasks_[arrived_].arrived = now_;
      Wait(arrived_);
    }
    report_.waiting_max = std::max(report_.waiting_max, static_cast<int64_t>(waiting_.size()));
  }

  void Wait(size_t task) {
    tasks_[task].waits_since = now_;
    tasks_[task].node.clear();
    waiting_.emplace(now_, task);
    mirror_.Upsert(PodOf(trace_.tasks[task], now_, ""));
    room_ = true;
    changed_ = now_;
    options_.autoscaler.frequent_loops_enabled ? LoopSoon(now_ + kDebounce) : LoopAtNextScan();
  }

  void Steps() {
    while (!steps_.empty() && steps_.begin()->first <= now_) {
      const std::function<void()> step = std::move(steps_.extract(steps_.begin()).mapped());
      step();
    }
  }

  void FollowCloud() {
    const TraceCloud::Changes changes = cloud_.Advance(now_);
    for (const std::string& node : changes.gone) {
      mirror_.Remove("Node", node);
      deletions_.erase(node);
      on_node_.erase(node);
      Record(node, "gone");
    }
    for (const Json& node : changes.joined) {
      mirror_.Upsert(node);
      Record(std::string(base::FindString(node, {"metadata", "name"})), "joined");
      room_ = true;
    }
    if (!changes.gone.empty() || !changes.joined.empty()) LoopAtNextScan();
  }

  /// Those that have waited longest come first.
  void Schedule() {
    if (!std::exchange(room_, false)) return;
    scheduling::Snapshot& snapshot = objects_.snapshot();
    for (auto next = waiting_.begin(); next != waiting_.end();) {
      const size_t task = next->second;
      const scheduling::PodId pod = snapshot.FindPod(KeyOf(trace_.tasks[task]));
      const scheduling::NodeId node = snapshot.FindNode(snapshot.ClassOf(pod));
      if (node == scheduling::kNone) {
        ++next;
        continue;
      }
      next = waiting_.erase(next);
      Place(task, snapshot.NodeName(node));
    }
  }

  void Place(size_t task, const std::string& node) {
    Task& placed = tasks_[task];
    placed.node = node;
    on_node_[node].insert(task);
    mirror_.Upsert(PodOf(trace_.tasks[task], placed.waits_since, node));
    if (std::exchange(placed.placed, true)) return;
    ++report_.placed;
    report_.pending.push_back(now_ - placed.arrived);
  }

  /// In the loops that were passed over, what had been unremovable would have been tried again and again, in vain.
  void CatchUp() {
    const Duration scan = options_.autoscaler.scan_interval, rest = options_.autoscaler.unremovable_node_recheck_timeout;
    for (auto& [node, unremovable] : state_.scale_down.unremovable) {
      while (unremovable.until < now_) {
        const Duration since = unremovable.until - last_loop_;
        const Time tried = last_loop_ + std::max((since + scan - Duration(1)) / scan, Duration::rep{1}) * scan;
        if (tried >= now_) break;
        unremovable.until = tried + rest;
      }
    }
  }

  void Loop() {
    if (!options_.every_loop) CatchUp();
    last_loop_ = now_;
    autoscaler::LoopRequest request;
    request.now = now_;
    request.uptime = now_ - kStart + 1h;
    for (const auto& [node, deletion] : deletions_)
      (deletion.drain ? request.deleting_drain : request.deleting_empty).push_back(node);
    providers::NodeGroups groups = cloud_.Groups();
    const base::Instant began = options_.clock == nullptr ? base::Instant{} : options_.clock->Monotonic();
    autoscaler::LoopRun loop(objects_, std::move(groups), options_.autoscaler, expanders_, state_, random_, request);
    while (const autoscaler::GroupChange* change = loop.Next()) loop.Answer(Act(*change));
    const autoscaler::LoopPlan plan = loop.Take();
    if (options_.clock != nullptr) report_.loop_times.push_back(options_.clock->Monotonic() - began);
    ++report_.loops;
    NoteUnneeded(plan.scale_down);
    const bool deleting = Delete(plan);
    PlanNextLoop(plan, deleting);
  }

  /// Where a pod of one node could go depends on which others are unneeded.
  void NoteUnneeded(const autoscaler::ScaleDownPlan& plan) {
    std::vector<scheduling::NodeId> unneeded;
    for (const autoscaler::UnneededNode& node : plan.unneeded) unneeded.push_back(node.node);
    if (unneeded != unneeded_) changed_ = now_;
    unneeded_ = std::move(unneeded);
  }

  void PlanNextLoop(const autoscaler::LoopPlan& plan, bool deleting) {
    const autoscaler::Options& options = options_.autoscaler;
    const bool begun = deleting || !plan.scale_ups.empty();
    const bool steady = !begun && plan.changes.empty() && plan.pending.empty() && plan.upcoming.empty() && deletions_.empty() &&
                        plan.stopped_at.empty();
    loop_due_ = now_ + options.scan_interval;
    if (steady && !options_.every_loop) return PassOver(plan.scale_down);
    if (!options.frequent_loops_enabled) return;
    if (begun) loop_due_ = now_ + kDebounce;
    if (plan.decision == autoscaler::ScaleUpDecision::kInCooldown) LoopSoon(now_ + kYoungPods);
  }

  /// Until something happens, only the times can run out that unneeded nodes are given and that unremovable ones are left in
  /// peace.
  void PassOver(const autoscaler::ScaleDownPlan& plan) {
    constexpr Time kNoEnd = Time::max();
    Time due = kNoEnd;
    for (const autoscaler::UnneededNode& node : plan.unneeded) due = std::min(due, node.since + node.wait);
    // What has been tried since the last change comes out the same.
    const Duration rest = options_.autoscaler.unremovable_node_recheck_timeout;
    for (const auto& [node, unremovable] : state_.scale_down.unremovable) {
      if (unremovable.until - rest <= changed_) due = std::min(due, unremovable.until);
    }
    loop_due_.reset();
    if (due == kNoEnd) return;
    // Such a time ends after its last instant, or with it.
    const Duration scan = options_.autoscaler.scan_interval;
    loop_due_ = now_ + std::max((due - now_) / scan, Duration::rep{1}) * scan;
  }

  base::Status Act(const autoscaler::GroupChange& change) {
    Record(change.group, "resize", fmt::format("{:+}: {}", change.delta, change.why));
    base::Status done;
    if (change.kind == autoscaler::GroupChange::Kind::kDeleteNodes) {
      std::vector<std::string> ids;
      for (const providers::NodeReference& node : change.nodes) ids.push_back(node.provider_id);
      done = cloud_.Delete(change.group, ids);
    } else {
      done = cloud_.Resize(change.group, change.delta);
    }
    if (done) steps_.emplace(now_, [] {});  // the cloud looks at once
    return done;
  }

  /// Whether any deletion has begun.
  bool Delete(const autoscaler::LoopPlan& plan) {
    bool any = false;
    for (const bool drain : {false, true}) {
      for (const size_t index : drain ? plan.scale_down.delete_drain : plan.scale_down.delete_empty) {
        const autoscaler::UnneededNode& node = plan.scale_down.unneeded[index];
        const autoscaler::NodeFacts& facts = (*plan.view.nodes)[node.node];
        Begin(facts.name, {node.group->id, facts.provider_id, drain});
        any = true;
      }
    }
    return any;
  }

  void Begin(const std::string& name, const Deletion& deletion) {
    const Json* known = objects_.FindNode(name);
    if (known == nullptr || !deletions_.emplace(name, deletion).second) return;
    Json node(*known, {});
    const auto since = std::chrono::floor<std::chrono::seconds>(now_).time_since_epoch().count();
    base::Ensure(node, {"spec", "taints"}) = JsonArray{
        JsonObject{{"key", autoscaler::kToBeDeletedTaint}, {"value", std::to_string(since)}, {"effect", "NoSchedule"}}};
    mirror_.Upsert(node);
    state_.scale_down.Deleted(deletion.group, now_);
    Record(name, "delete", deletion.drain ? "drain" : "empty");
    steps_.emplace(now_ + options_.autoscaler.node_delete_delay_after_taint, [this, name] { Finish(name); });
  }

  void Finish(const std::string& name) {
    const Deletion& deletion = deletions_.at(name);
    const std::set<size_t> evicted = std::exchange(on_node_[name], {});
    for (const size_t task : evicted) {
      ++report_.evictions;
      mirror_.Remove("Pod", KeyOf(trace_.tasks[task]));
      Wait(task);
    }
    if (cloud_.Delete(deletion.group, {deletion.id})) state_.cluster.RegisterScaleDown(deletion.group, name, now_);
  }

  ReplayReport Report(Time end) {
    report_.scenario = options_.scenario;
    report_.kind = options_.kind;
    report_.seed = options_.seed;
    report_.virtual_time = end - kStart;
    report_.tasks = static_cast<int64_t>(trace_.tasks.size());
    report_.nodes_made = cloud_.nodes_made();
    report_.nodes_max = cloud_.nodes_max();
    report_.nodes_static = trace_.nodes();
    report_.hours = cloud_.Hours(end);
    const double length = std::chrono::duration<double, std::ratio<3600>>(end - kStart).count();
    for (const TraceShape& shape : trace_.shapes) {
      const double hours = length * static_cast<double>(shape.nodes);
      report_.hours_static.nodes += hours;
      report_.hours_static.cores += hours * static_cast<double>(shape.milli_cores) / 1000;
      report_.hours_static.gpus += hours * static_cast<double>(shape.gpus);
      report_.hours_static.by_shape[shape.name] += hours;
    }
    std::ranges::sort(report_.pending);
    std::ranges::sort(report_.loop_times);
    if (recording_) {
      recording_->samples.Add({.at = end - kStart, .clusters = {SampleOf(recording_->samples)}});
      recording_->waited = report_.pending;
      report_.recording = std::make_shared<const Recording>(*std::move(recording_));
    }
    return std::move(report_);
  }

  const Trace& trace_;
  const ReplayOptions& options_;
  const autoscaler::ExpanderChain expanders_;
  base::Random random_;
  TraceCloud cloud_;
  scheduling::ClusterMirror mirror_;
  autoscaler::ClusterObjects objects_;
  autoscaler::AutoscalerState state_;
  ReplayReport report_;
  std::optional<Recording> recording_;
  Time now_ = kStart;
  Time last_loop_ = kStart;
  std::optional<Time> loop_due_;
  Time changed_ = kStart;  ///< what loops look at, last
  std::vector<scheduling::NodeId> unneeded_;
  std::vector<Task> tasks_;                          ///< as in the trace
  size_t arrived_ = 0;                               ///< so many of them
  std::set<std::pair<Time, size_t>> leaves_;         ///< when, who
  std::set<std::pair<Time, size_t>> waiting_;        ///< since when, who
  bool room_ = false;                                ///< something has changed that may help who waits
  std::map<std::string, std::set<size_t>> on_node_;  ///< tasks
  std::map<std::string, Deletion> deletions_;        ///< by node
  std::multimap<Time, std::function<void()>> steps_;
};

double Rounded(double value) { return std::round(value * 1000) / 1000; }
double RoundedSeconds(Duration duration) { return Rounded(std::chrono::duration<double>(duration).count()); }
double Milliseconds(Duration duration) { return Rounded(std::chrono::duration<double, std::milli>(duration).count()); }

JsonObject ToJson(const NodeHours& hours) {
  JsonObject shapes;
  for (const auto& [shape, sum] : hours.by_shape) shapes[shape] = Rounded(sum);
  return JsonObject{{"node", Rounded(hours.nodes)},
                    {"core", Rounded(hours.cores)},
                    {"gpu", Rounded(hours.gpus)},
                    {"nodeByShape", std::move(shapes)}};
}

}  // namespace

base::Result<ReplayReport> ReplayTrace(const Trace& trace, const ReplayOptions& options) {
  auto expanders = autoscaler::ExpanderChain::Make(options.autoscaler.expander);
  if (!expanders) return base::Fail(base::Code::kBadRequest, expanders.error().message());
  return Replay(trace, options, *std::move(expanders)).Run();
}

base::Json ToJson(const ReplayReport& report) {
  const auto seconds = [&](double share) { return Seconds(Percentile(report.pending, share)); };
  const auto loop = [&](double share) { return Milliseconds(Percentile(report.loop_times, share)); };
  const double share = report.hours_static.nodes == 0 ? 0 : report.hours.nodes / report.hours_static.nodes;
  return JsonObject{
      {"scenario", report.scenario},
      {"trace", report.kind},
      {"seed", report.seed},
      {"virtualSeconds", RoundedSeconds(report.virtual_time)},
      {"tasks", report.tasks},
      {"placed", report.placed},
      {"leftWaiting", report.tasks - report.placed},
      {"waitingMax", report.waiting_max},
      {"pending", JsonObject{{"p50Seconds", seconds(0.5)},
                             {"p90Seconds", seconds(0.9)},
                             {"p99Seconds", seconds(0.99)},
                             {"maxSeconds", seconds(1)}}},
      {"evictions", report.evictions},
      {"nodes", JsonObject{{"made", report.nodes_made}, {"max", report.nodes_max}, {"static", report.nodes_static}}},
      {"hours", ToJson(report.hours)},
      {"hoursStatic", ToJson(report.hours_static)},
      {"nodeHoursShare", share},
      {"loops", JsonObject{{"count", report.loops},
                           {"p50Milliseconds", loop(0.5)},
                           {"p99Milliseconds", loop(0.99)},
                           {"maxMilliseconds", loop(1)}}},
      {"wallMilliseconds", std::chrono::duration_cast<std::chrono::milliseconds>(report.wall).count()},
  };
}

}  // namespace evenkeel::sim
