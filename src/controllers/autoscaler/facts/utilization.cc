#include "controllers/autoscaler/facts/utilization.h"

#include <algorithm>

#include "controllers/autoscaler/facts/drainability.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using scheduling::kCpu;
using scheduling::kMemory;
using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodId;

double Share(int64_t used, int64_t of) {
  if (of > 0) return static_cast<double>(used) / static_cast<double>(of);
  return used > 0 ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace

std::string_view Name(Utilization::Resource resource) {
  switch (resource) {
    case Utilization::Resource::kCpu:
      return "cpu";
    case Utilization::Resource::kMemory:
      return "memory";
    case Utilization::Resource::kGpu:
      return "gpu";
  }
  return "";
}

UtilizationCalculator::UtilizationCalculator(const ClusterView& view) : view_(view) {
  std::ranges::transform(kGpuResources, gpus_.begin(),
                         [&](std::string_view name) { return view.snapshot->FindResource(name); });
  // Being told to end changes a pod's class, so the pods in question are found without looking at the others.
  const scheduling::ClassTable& classes = view.snapshot->classes();
  for (scheduling::ClassId id = 0; id < classes.slots(); ++id) {
    const scheduling::PodClass* pod_class = classes.Find(id);
    if (pod_class == nullptr || !pod_class->terminating) continue;
    for (const PodId pod : pod_class->pods) {
      const NodeId node = view.snapshot->NodeOf(pod);
      if (node == kNone || pod >= view.pods->size()) continue;
      if (LongTerminating((*view.pods)[pod], view.now)) Add(ended_[node], pod);
    }
  }
}

void UtilizationCalculator::Add(Sums& sums, PodId pod) const {
  for (const scheduling::Amount& amount : view_.snapshot->Requests(view_.snapshot->ClassOf(pod))) {
    if (amount.resource == kCpu) sums.cpu += amount.amount;
    if (amount.resource == kMemory) sums.memory += amount.amount;
    for (size_t i = 0; i < gpus_.size(); ++i) {
      if (amount.resource == gpus_[i]) sums.gpus[i] += amount.amount;
    }
  }
}

UtilizationCalculator::Sums UtilizationCalculator::Skipped(NodeId node, bool daemons, bool mirrors) const {
  Sums sums;
  for (const PodId pod : view_.snapshot->PodsOn(node)) {
    if (pod >= view_.pods->size()) continue;
    const PodFacts& facts = (*view_.pods)[pod];
    const bool skipped = (daemons && facts.daemon) || (mirrors && facts.mirror);
    if (skipped && !LongTerminating(facts, view_.now)) Add(sums, pod);
  }
  return sums;
}

std::optional<double> UtilizationCalculator::GpuShare(NodeId node, const Sums& gone) const {
  const scheduling::Snapshot& snapshot = *view_.snapshot;
  std::optional<double> share;
  if (!(*view_.nodes)[node].gpu.empty()) share = 0;
  for (size_t i = 0; i < gpus_.size(); ++i) {
    const int64_t allocatable = gpus_[i] == kNone ? 0 : snapshot.Allocatable(node, gpus_[i]);
    if (allocatable == 0) continue;
    share = std::max(share.value_or(0), Share(allocatable - snapshot.Free(node, gpus_[i]) - gone.gpus[i], allocatable));
  }
  return share;
}

std::optional<Utilization> UtilizationCalculator::Of(NodeId node, bool ignore_daemons, bool ignore_mirrors) {
  const scheduling::Snapshot& snapshot = *view_.snapshot;
  Sums used;
  const auto sum = [&](scheduling::ResourceId resource) {
    return snapshot.Allocatable(node, resource) - snapshot.Free(node, resource);
  };
  const auto ended = ended_.find(node);
  const Sums gone = ended == ended_.end() ? Sums{} : ended->second;
  Utilization result;
  if (const auto share = GpuShare(node, gone)) {
    result.resource = Utilization::Resource::kGpu;
    result.gpu = result.value = *share;
    return result;
  }
  int64_t cpu = snapshot.Allocatable(node, kCpu), memory = snapshot.Allocatable(node, kMemory);
  if (cpu == 0 || memory == 0) return std::nullopt;
  used.cpu = sum(kCpu) - gone.cpu;
  used.memory = sum(kMemory) - gone.memory;
  if (ignore_daemons || ignore_mirrors) {
    const Sums skipped = Skipped(node, ignore_daemons, ignore_mirrors);
    used.cpu -= skipped.cpu;
    used.memory -= skipped.memory;
    cpu -= skipped.cpu;
    memory -= skipped.memory;
  }
  result.cpu = Share(used.cpu, cpu);
  result.memory = Share(used.memory, memory);
  result.resource = result.cpu > result.memory ? Utilization::Resource::kCpu : Utilization::Resource::kMemory;
  result.value = std::max(result.cpu, result.memory);
  return result;
}

}  // namespace evenkeel::controllers::autoscaler
