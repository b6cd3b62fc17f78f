#include <algorithm>
#include <tuple>

#include "base/input/yaml.h"
#include "controllers/autoscaler/member/state_store.h"
#include "dashboard/documents.h"
#include "dashboard/sources.h"
#include "embedded/cloud/node_group_definition.h"

namespace evenkeel::dashboard {
namespace {

/// More than this nobody reads, and the browser is spared: the oldest.
constexpr size_t kPendingShown = 500;
constexpr size_t kHistoryPoints = 360;

/// Follows nodes and pods.
class TallySource : public InformedSource {
 protected:
  explicit TallySource(SourceContext context) : InformedSource(std::move(context)) {
    Watch<NodeRow>(kube::resources::Nodes(), {}, [this](const auto& before, const auto& after) { tally_.Node(before, after); });
    pods_ = Watch<PodRow>(kube::resources::Pods(), {},
                          [this](const auto& before, const auto& after) { tally_.Pod(before, after); });
  }

  Found Find(const FindRequest& request) const override {
    Found found;
    if (request.groups) FindGroups(request, found);
    if (request.nodes) FindNodes(request, found);
    if (request.pods) FindPods(request, found);
    return found;
  }

  MemberTally tally_;

 private:
  void FindGroups(const FindRequest& request, Found& found) const {
    std::map<std::string_view, int64_t> groups;
    for (const auto& [name, node] : tally_.nodes()) {
      if (!node->group.empty() && request.Matches(node->group)) ++groups[node->group];
    }
    for (const auto& [name, nodes] : groups) found.Add(request.limit, "NodeGroup", name, JsonObject{{"nodes", nodes}});
  }

  void FindNodes(const FindRequest& request, Found& found) const {
    for (const auto& [name, node] : tally_.nodes()) {
      if (!request.state.empty() && node->state != request.state) continue;
      if (request.Matches(name)) found.Add(request.limit, "Node", name, FoundNode(*node));
    }
  }

  void FindPods(const FindRequest& request, Found& found) const {
    for (const auto& [key, pod] : pods_->items()) {
      if (!request.node.empty() && pod->node != request.node) continue;
      if (!request.state.empty() && StateOf(*pod) != request.state) continue;
      if (!request.words.empty() && !request.Matches(key + " " + pod->node)) continue;
      found.Add(request.limit, "Pod", key, FoundPod(*pod));
    }
  }

  std::shared_ptr<const client::Informer<PodRow>> pods_;
};

class SummarySource final : public TallySource {
 public:
  explicit SummarySource(SourceContext context) : TallySource(std::move(context)) {}

  Update Collect() override {
    tally_.Advance(context_.clock.Now());
    tally_.TakeChangedNodes();
    tally_.TakeChangedPods();
    Update update;
    update.Set("summary", MemberSummary(tally_));
    return update;
  }
};

class ClusterDetailSource final : public TallySource {
 public:
  ClusterDetailSource(SourceContext context, const controllers::autoscaler::Options& options)
      : TallySource(std::move(context)) {
    Watch<kube::Object>(embedded::cloud::NodeGroups(), {}, [this](const auto& before, const auto& after) {
      if (after) {
        node_groups_[after->meta.name] = *after->json;
      } else {
        node_groups_.erase(before->meta.name);
      }
    });
    WatchConfigMap(options.ns, options.status_config_map_name, [this](const Json* object) { ReadStatus(object); });
    WatchConfigMap(options.ns, controllers::autoscaler::kStateConfigMap, [this](const Json* object) { ReadMemory(object); });
  }

  Update Collect() override {
    tally_.Advance(context_.clock.Now());
    Update update;
    CollectNodes(update);
    CollectPending(update);
    update.Set("groups", GroupEntries(node_groups_, tally_, words_));
    update.Set("scaleDown", ScaleDownEntry(words_));
    const std::vector<std::string> metrics = NodeMetrics(tally_);
    update.Set("metrics", JsonArray(metrics.begin(), metrics.end()));
    update.Set("summary", MemberSummary(tally_));
    AddToHistory();
    update.Set("history", history_);
    return update;
  }

 private:
  void WatchConfigMap(const std::string& ns, const std::string& name, std::function<void(const Json*)> read) {
    client::InformerOptions options;
    options.ns = ns;
    options.field_selector = "metadata.name=" + name;
    Watch<kube::Object>(kube::resources::ConfigMaps(), options,
                        [name, read = std::move(read)](const auto& before, const auto& after) {
                          if ((after ? after : before)->meta.name == name) read(after ? after->json.get() : nullptr);
                        });
  }

  void ReadStatus(const Json* object) {
    words_.running = object != nullptr;
    words_.status = words_.explanation = nullptr;
    explained_anew_ = true;
    if (object == nullptr) return;
    // With 1.26's rules it is a text that says nothing to a program.
    auto status = base::ParseYamlDocument(base::FindString(*object, {"data", "status"}), "status");
    if (status && status->is_object()) words_.status = *std::move(status);
    auto explanation = base::ParseJson(base::FindString(*object, {"data", "explanation"}, "null"), "explanation");
    if (explanation) words_.explanation = *std::move(explanation);
  }

  void ReadMemory(const Json* object) {
    words_.memory = nullptr;
    if (object == nullptr) return;
    auto memory = base::ParseJson(base::FindString(*object, {"data", "state"}, "null"), "state");
    if (memory) words_.memory = *std::move(memory);
  }

  void CollectNodes(Update& update) {
    std::set<std::string, std::less<>> changed = tally_.TakeChangedNodes();
    if (explained_anew_) {
      for (const auto& [name, node] : tally_.nodes()) changed.insert(name);
    }
    for (const std::string& name : changed) {
      const auto node = tally_.nodes().find(name);
      if (node == tally_.nodes().end()) {
        update.Erase("nodes", name);
      } else {
        update.Set("nodes", name, NodeEntry(*node->second, tally_.On(name), base::Find(words_.explanation, {"nodes", name})));
      }
    }
  }

  void CollectPending(Update& update) {
    const std::set<std::string, std::less<>> changed = tally_.TakeChangedPods();
    if (changed.empty() && !explained_anew_) return;
    explained_anew_ = false;
    std::vector<const PodRow*> pods;
    for (const auto& [key, pod] : tally_.waiting()) pods.push_back(pod.get());
    if (pods.size() > kPendingShown) {
      std::ranges::sort(pods, {}, [](const PodRow* pod) { return std::tie(pod->created, pod->key); });
      pods.resize(kPendingShown);
    }
    std::set<std::string, std::less<>> shown;
    for (const PodRow* pod : pods) {
      update.Set("pending", pod->key, PendingEntry(*pod, base::Find(words_.explanation, {"pending", pod->key})));
      shown.insert(pod->key);
    }
    for (const std::string& key : shown_) {
      if (!shown.contains(key)) update.Erase("pending", key);
    }
    shown_ = std::move(shown);
    update.Set("pendingTotal", static_cast<int64_t>(tally_.waiting().size()));
  }

  void AddToHistory() {
    const base::Instant now = context_.clock.Monotonic();
    if (!history_.empty() && now - noted_ < kSourceTick) return;
    noted_ = now;
    if (history_.size() >= kHistoryPoints) history_.erase(history_.begin());
    history_.push_back(
        JsonArray{base::FormatTime(context_.clock.Now()), JsonObject{{"nodes", static_cast<int64_t>(tally_.nodes().size())},
                                                                     {"pending", static_cast<int64_t>(tally_.waiting().size())},
                                                                     {"cpu", tally_.Load("cpu")},
                                                                     {"memory", tally_.Load("memory")}}});
  }

  std::map<std::string, Json> node_groups_;
  AutoscalerWords words_;
  bool explained_anew_ = true;
  std::set<std::string, std::less<>> shown_;
  JsonArray history_;
  base::Instant noted_{};
};

}  // namespace

std::unique_ptr<Source> NewSummarySource(SourceContext context) { return std::make_unique<SummarySource>(std::move(context)); }

std::unique_ptr<Source> NewClusterSource(SourceContext context, const controllers::autoscaler::Options& options) {
  return std::make_unique<ClusterDetailSource>(std::move(context), options);
}

}  // namespace evenkeel::dashboard
