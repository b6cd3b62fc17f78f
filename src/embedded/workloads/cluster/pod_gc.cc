#include "embedded/workloads/cluster/pod_gc.h"

#include <algorithm>

namespace evenkeel::embedded::workloads {

using base::Json;
using base::JsonObject;

PodGarbageCollector::PodGarbageCollector(Context& context) : Reconciler(context, "pod-garbage-collector") {
  informers().pods().AddHandler([this](const PodPointer& before, const PodPointer& after) {
    const std::string key = (after ? after : before)->meta.Key();
    if (after == nullptr || !after->terminal()) {
      finished_.erase(key);
    } else if (finished_.insert(key).second && finished_.size() > kFinishedPods) {
      EnqueueSoon("finished");
    }
    if (after == nullptr) return;
    if (after->node_name.empty()) {
      if (after->meta.deletion_time) Enqueue("pod/" + key);
    } else if (informers().nodes().Get(after->node_name) == nullptr) {
      EnqueueAfter("node/" + after->node_name, kQuarantine);
    }
  });
  informers().nodes().AddHandler([this](const NodePointer& before, const NodePointer& after) {
    if (after == nullptr) EnqueueAfter("node/" + before->meta.name, kQuarantine);
  });
}

base::Status PodGarbageCollector::ForceDelete(const kube::Pod& pod) {
  client::DeleteOptions options;
  options.uid = pod.meta.uid;
  options.grace_period_seconds = 0;
  return UnlessGone(api().Delete(kube::resources::Pods(), pod.meta.ns, pod.meta.name, options));
}

base::Status PodGarbageCollector::CollectNode(const std::string& node) {
  if (informers().nodes().Get(node) != nullptr) return {};
  // The cache may be behind; pods are only given up when the API agrees.
  auto live = api().Get(kube::resources::Nodes(), "", node);
  if (live) return {};
  if (!IsGone(live.error())) return base::Fail(live.error());
  const auto pods = informers().PodsOn(node);
  for (const auto& [key, pod] : pods) {
    if (!pod->terminal()) {
      Json state = JsonObject{{"status", base::FindObject(*pod->json, {"status"})}};
      base::Ensure(state, {"status", "phase"}) = "Failed";
      kube::SetCondition(state, "DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists", Now());
      EVENKEEL_TRY(UnlessGone(WriteStatus(api(), kube::resources::Pods(), *pod->json, *base::Find(state, {"status"}))));
    }
    EVENKEEL_TRY(ForceDelete(*pod));
  }
  return {};
}

base::Status PodGarbageCollector::CollectFinished() {
  std::vector<PodPointer> pods;
  for (const std::string& key : finished_) {
    if (PodPointer pod = informers().pods().Get(key); pod != nullptr && !pod->meta.deletion_time)
      pods.push_back(std::move(pod));
  }
  if (pods.size() <= kFinishedPods) return {};
  std::sort(pods.begin(), pods.end(), [](const PodPointer& a, const PodPointer& b) {
    return std::tie(a->meta.creation_time, a->meta.name) < std::tie(b->meta.creation_time, b->meta.name);
  });
  for (size_t i = 0; i < pods.size() - kFinishedPods; ++i) EVENKEEL_TRY(ForceDelete(*pods[i]));
  return {};
}

base::Result<Again> PodGarbageCollector::Reconcile(const std::string& key) {
  base::Status done;
  if (key == "finished") {
    done = CollectFinished();
  } else if (key.starts_with("node/")) {
    done = CollectNode(key.substr(5));
  } else if (const PodPointer pod = informers().pods().Get(key.substr(4))) {
    if (pod->node_name.empty() && pod->meta.deletion_time) done = ForceDelete(*pod);
  }
  if (!done) return base::Fail(done.error());
  return Again{};
}

}  // namespace evenkeel::embedded::workloads
