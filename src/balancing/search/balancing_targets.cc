#include "balancing/search/balancing_targets.h"

#include <algorithm>

namespace evenkeel::balancing {
namespace {

// Up to so many nodes are all looked at, more when replicas times nodes are not too many for a look at each.
constexpr size_t kLookAtAll = 96;
constexpr size_t kLooksAtAll = 16'000'000;
constexpr size_t kListLength = 64;     // nodes that lack most, of each metric
constexpr size_t kMetricLists = 5;     // metrics with such a list: those with the largest deviations
constexpr size_t kSamplesPerList = 3;  // of which a sample has
constexpr int64_t kListAge = 48;       // steps for which a list is used

}  // namespace

BalancingTargets::BalancingTargets(const BalancingState& state, const DeviationSlopes& slopes, base::Random& random)
    : state_(state), slopes_(slopes), random_(random), types_(state.per_node_type() ? state.cluster().node_types.size() : 1) {
  pool_of_service_.assign(state.cluster().services.size() * types_, kNoId);
}

BalancingTargets::Pool& BalancingTargets::PoolOf(ServiceId service, NodeId from) {
  // A node is large: where its type does not matter it is not touched.
  const NodeTypeId type = types_ == 1 ? 0 : state_.cluster().nodes[from].type;
  uint32_t& known = pool_of_service_[service * types_ + type];
  if (known != kNoId) return pools_[known];
  const NodeSet& valid = state_.arrangement().sets().ValidForService(service);
  const auto [found, is_new] = pool_of_set_.emplace(std::pair(&valid, types_ == 1 ? kNoId : type), pools_.size());
  known = static_cast<uint32_t>(found->second);
  if (!is_new) return pools_[known];
  Pool& pool = pools_.emplace_back();
  for (const NodeId node : state_.arrangement().sets().all()) {
    const bool suits = types_ == 1 || state_.cluster().nodes[node].type == type;
    if (suits && valid.test(node)) pool.nodes.push_back(node);
  }
  return pool;
}

void BalancingTargets::MakeList(const Pool& pool, std::vector<NodeId>& list, const std::vector<double>& keys) {
  std::vector<std::pair<double, uint32_t>> order;
  order.reserve(keys.size());
  for (uint32_t i = 0; i < keys.size(); ++i) order.emplace_back(keys[i], i);
  const size_t length = std::min(kListLength, order.size());
  std::nth_element(order.begin(), order.begin() + static_cast<ptrdiff_t>(length) - 1, order.end());
  list.clear();
  for (size_t i = 0; i < length; ++i) list.push_back(pool.nodes[order[i].second]);
}

// What comes to the first nodes of a list lowers the deviation most, or raises it least.
void BalancingTargets::MakeLists(Pool& pool) {
  std::vector<size_t> terms;
  for (size_t term = 0; term < slopes_.terms(); ++term) {
    if (slopes_.Weight(term) != 0) terms.push_back(term);
  }
  std::ranges::stable_sort(terms, std::greater(), [&](size_t term) { return slopes_.Share(term); });
  terms.resize(std::min(terms.size(), kMetricLists));
  pool.lists.resize(terms.size() + 1);
  std::vector<double> keys(pool.nodes.size()), together(pool.nodes.size());
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t at = 0; at < pool.nodes.size(); ++at) {
      keys[at] = slopes_.Weight(terms[i]) * slopes_.Excess(terms[i], pool.nodes[at]);
      together[at] += keys[at] * slopes_.AverageLoad(terms[i]);
    }
    MakeList(pool, pool.lists[i], keys);
  }
  MakeList(pool, pool.lists.back(), together);
  pool.made_at = steps_;
}

bool BalancingTargets::LooksAtAll(const Pool& pool) const {
  return pool.nodes.size() <= kLookAtAll || pool.nodes.size() * state_.eligible().size() <= kLooksAtAll;
}

bool BalancingTargets::IsSampled(ServiceId service, NodeId from) { return !LooksAtAll(PoolOf(service, from)); }

std::span<const NodeId> BalancingTargets::For(ServiceId service, NodeId from) {
  Pool& pool = PoolOf(service, from);
  if (LooksAtAll(pool)) return pool.nodes;
  if (pool.sampled_at == sample_) return pool.sample;
  if (pool.made_at < 0 || steps_ - pool.made_at >= kListAge) MakeLists(pool);
  pool.sampled_at = sample_;
  pool.sample.clear();
  for (const std::vector<NodeId>& list : pool.lists) {
    for (size_t i = 0; i < kSamplesPerList; ++i) pool.sample.push_back(list[random_.Below(list.size())]);
  }
  return pool.sample;
}

}  // namespace evenkeel::balancing
