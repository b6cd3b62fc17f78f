#include "controllers/autoscaler/scale_down/scale_down_limits.h"

#include <algorithm>

#include "controllers/autoscaler/facts/eligibility.h"

namespace evenkeel::controllers::autoscaler {
namespace {

constexpr int64_t kGibibytes = int64_t{1} << 30;

struct GroupBucket {
  std::string_view group;
  std::vector<size_t> nodes;
};

std::vector<GroupBucket> ByGroup(std::span<const DeletionCandidate> candidates) {
  std::vector<GroupBucket> buckets;
  std::map<std::string_view, size_t> known;
  for (const DeletionCandidate& candidate : candidates) {
    const auto [found, added] = known.try_emplace(candidate.group, buckets.size());
    if (added) buckets.push_back({candidate.group, {}});
    buckets[found->second].nodes.push_back(candidate.index);
  }
  return buckets;
}

const GroupBucket* Find(const std::vector<GroupBucket>& buckets, std::string_view group) {
  const auto found =
      std::find_if(buckets.begin(), buckets.end(), [&](const GroupBucket& bucket) { return bucket.group == group; });
  return found == buckets.end() ? nullptr : &*found;
}

int64_t SizeOf(const GroupBucket* bucket) { return bucket == nullptr ? 0 : static_cast<int64_t>(bucket->nodes.size()); }

/// A type is the value of the provider's label, or the name of a GPU resource.
int64_t GpusOfType(const NodeFacts& node, const std::string& type) {
  if (const auto resource = node.gpus.find(type); resource != node.gpus.end()) return resource->second;
  int64_t count = 0;
  for (const auto& [name, amount] : node.gpus) count += node.gpu == type ? amount : 0;
  return count;
}

class Cropper {
 public:
  Cropper(const std::function<GroupForBudget(std::string_view)>& group_of, const DeletionBudgets& budgets)
      : group_of_(group_of),
        parallelism_(budgets.parallelism - budgets.empty_in_progress - budgets.drain_in_progress),
        drain_(budgets.drain_parallelism - budgets.drain_in_progress) {}

  Deletions Crop(const std::vector<GroupBucket>& empty, const std::vector<GroupBucket>& drain) {
    TakeAtomicWithEmpty(empty, drain);
    TakeAtomicDrain(empty, drain);
    parallelism_ -= TakeSingle(empty, parallelism_, chosen_.empty);
    TakeSingle(drain, std::min(parallelism_, drain_), chosen_.drain);
    return std::move(chosen_);
  }

 private:
  bool Whole(std::string_view group, int64_t nodes) const {
    const GroupForBudget facts = group_of_(group);
    return nodes == facts.target || nodes == facts.registered;
  }

  void TakeAtomicWithEmpty(const std::vector<GroupBucket>& empty, const std::vector<GroupBucket>& drain) {
    for (const GroupBucket& bucket : empty) {
      if (!group_of_(bucket.group).atomic) continue;
      const GroupBucket* drained = Find(drain, bucket.group);
      const int64_t to_drain = SizeOf(drained), all = SizeOf(&bucket) + to_drain;
      if (!Whole(bucket.group, all)) continue;
      if (parallelism_ < all || drain_ < to_drain) {
        if (parallelism_ == 0 || (to_drain > 0 && drain_ == 0) || !may_overflow_) break;
      }
      may_overflow_ = false;
      Append(bucket, chosen_.empty);
      if (drained != nullptr) Append(*drained, chosen_.drain);
      parallelism_ -= all;
      drain_ -= to_drain;
    }
  }

  void TakeAtomicDrain(const std::vector<GroupBucket>& empty, const std::vector<GroupBucket>& drain) {
    drain_ = std::min(parallelism_, drain_);
    for (const GroupBucket& bucket : drain) {
      if (!group_of_(bucket.group).atomic || Find(empty, bucket.group) != nullptr) continue;
      const int64_t nodes = SizeOf(&bucket);
      if (!Whole(bucket.group, nodes)) continue;
      if (drain_ < nodes) {
        if (drain_ == 0 || !may_overflow_) break;
      }
      may_overflow_ = false;
      Append(bucket, chosen_.drain);
      parallelism_ -= nodes;
      drain_ -= nodes;
    }
  }

  int64_t TakeSingle(const std::vector<GroupBucket>& buckets, int64_t budget, std::vector<size_t>& chosen) const {
    int64_t taken = 0;
    for (const GroupBucket& bucket : buckets) {
      if (group_of_(bucket.group).atomic) continue;
      for (const size_t node : bucket.nodes) {
        if (taken >= budget) return taken;
        chosen.push_back(node);
        ++taken;
      }
    }
    return taken;
  }

  static void Append(const GroupBucket& bucket, std::vector<size_t>& chosen) {
    chosen.insert(chosen.end(), bucket.nodes.begin(), bucket.nodes.end());
  }

  const std::function<GroupForBudget(std::string_view)>& group_of_;
  int64_t parallelism_, drain_;
  bool may_overflow_ = true;  // only the first atomic group that is taken
  Deletions chosen_;
};

}  // namespace

int64_t UnneededLimit(int64_t unneeded, int64_t parallelism, base::Duration unneeded_time, base::Duration interval) {
  interval = std::max(interval, base::Duration(1));
  const base::Duration time = std::max(unneeded_time, interval);
  return std::min(unneeded + 2 * parallelism, parallelism * (time / interval) + parallelism);
}

ResourcesLeft::ResourcesLeft(const ClusterView& view, const Options& options) : view_(view) {
  if (options.cores_total.min > 0) cores_ = -options.cores_total.min;
  if (options.memory_total.min > 0) memory_ = -options.memory_total.min * kGibibytes;
  for (const auto& [type, range] : options.gpu_total) {
    if (range.min > 0) gpus_[type] = -range.min;
  }
  if (!cores_ && !memory_ && gpus_.empty()) return;
  for (scheduling::NodeId node = 0; node < view.nodes->size(); ++node) {
    const NodeFacts& facts = (*view.nodes)[node];
    if (!facts.present || facts.virtual_kubelet || !view.snapshot->Present(node) || BeingDeleted(facts, view.now)) continue;
    if (cores_) *cores_ += facts.cores;
    if (memory_) *memory_ += facts.memory;
    for (auto& [type, left] : gpus_) left += GpusOfType(facts, type);
  }
}

bool ResourcesLeft::TryTake(scheduling::NodeId node, std::string* what) {
  const auto no = [&](std::string_view name) {
    if (what != nullptr) *what = name;
    return false;
  };
  if (!cores_ && !memory_ && gpus_.empty()) return true;
  const NodeFacts& facts = (*view_.nodes)[node];
  if (cores_ && *cores_ < facts.cores) return no("cpu");
  if (memory_ && *memory_ < facts.memory) return no("memory");
  for (const auto& [type, left] : gpus_) {
    if (left < GpusOfType(facts, type)) return no(type);
  }
  if (cores_) *cores_ -= facts.cores;
  if (memory_) *memory_ -= facts.memory;
  for (auto& [type, left] : gpus_) left -= GpusOfType(facts, type);
  return true;
}

Deletions CropToBudgets(std::span<const DeletionCandidate> empty, std::span<const DeletionCandidate> drain,
                        const std::function<GroupForBudget(std::string_view)>& group_of, const DeletionBudgets& budgets) {
  return Cropper(group_of, budgets).Crop(ByGroup(empty), ByGroup(drain));
}

}  // namespace evenkeel::controllers::autoscaler
