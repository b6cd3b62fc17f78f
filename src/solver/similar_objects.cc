#include "solver/similar_objects.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace evenkeel::solver {
namespace {

/// Objects on each side, in the order of sums, that an object is compared with.
constexpr size_t kComparedWith = 300;

/// Object x metric.
class Needs {
 public:
  explicit Needs(const Problem& problem) : metrics_(static_cast<size_t>(problem.metrics())) {
    std::vector<double> unit(metrics_);
    for (size_t metric = 0; metric < metrics_; ++metric) {
      double all = 0, nodes = 0;
      for (NodeId node = 0; node < problem.nodes(); ++node) {
        const int64_t capacity = problem.capacity(node, static_cast<MetricId>(metric));
        if (capacity >= kUnlimited) continue;
        all += static_cast<double>(capacity);
        ++nodes;
      }
      unit[metric] = all > 0 ? nodes / all : 0;
    }
    for (ObjectId object = 0; object < problem.objects(); ++object) {
      for (size_t metric = 0; metric < metrics_; ++metric)
        needs_.push_back(unit[metric] * static_cast<double>(problem.load(object, static_cast<MetricId>(metric))));
    }
  }
  std::span<const double> Of(ObjectId object) const { return {&needs_[static_cast<size_t>(object) * metrics_], metrics_}; }
  double SumOf(ObjectId object) const {
    const std::span<const double> needs = Of(object);
    return std::accumulate(needs.begin(), needs.end(), 0.0);
  }
  double Distance(ObjectId a, ObjectId b) const {
    const std::span<const double> of_a = Of(a), of_b = Of(b);
    double sum = 0;
    for (size_t i = 0; i < metrics_; ++i) sum += (of_a[i] - of_b[i]) * (of_a[i] - of_b[i]);
    return sum;
  }

 private:
  size_t metrics_;
  std::vector<double> needs_;
};

}  // namespace

SimilarObjects::SimilarObjects(const Problem& problem) {
  const auto objects = static_cast<size_t>(problem.objects());
  similar_.resize(objects * kKept);
  if (problem.metrics() == 0) {
    for (size_t i = 0; i < similar_.size(); ++i) similar_[i] = static_cast<ObjectId>(i / kKept);
    return;
  }
  const Needs needs(problem);
  std::vector<std::pair<double, ObjectId>> order(objects);
  for (size_t i = 0; i < objects; ++i) order[i] = {needs.SumOf(static_cast<ObjectId>(i)), static_cast<ObjectId>(i)};
  std::ranges::sort(order);
  std::vector<std::pair<double, ObjectId>> found;
  for (size_t rank = 0; rank < objects; ++rank) {
    const ObjectId object = order[rank].second;
    found.clear();
    const size_t first = rank - std::min(rank, kComparedWith), last = std::min(objects, rank + kComparedWith + 1);
    for (size_t i = first; i < last; ++i) {
      const ObjectId other = order[i].second;
      if (problem.group_of[other] != problem.group_of[object]) found.emplace_back(needs.Distance(object, other), other);
    }
    const size_t kept = std::min<size_t>(kKept, found.size());
    std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(kept));
    for (size_t i = 0; i < kKept; ++i)
      similar_[static_cast<size_t>(object) * kKept + i] = kept == 0 ? object : found[i % kept].second;
  }
}

}  // namespace evenkeel::solver
