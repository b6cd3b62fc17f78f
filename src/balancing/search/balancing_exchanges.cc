#include "balancing/search/balancing_exchanges.h"

#include <algorithm>
#include <cmath>

namespace evenkeel::balancing {
namespace {

constexpr size_t kAllPairsUpTo = 512;    // eligible replicas
constexpr size_t kBestPairs = 6;         // of a node, which are tried
constexpr uint32_t kPartnersInCell = 6;  // looked at in the best cell
constexpr uint32_t kPartnersBeside = 2;  // and in each of its neighbours
constexpr size_t kExchangeAll = 100;     // so many exchange until nothing is left to gain
constexpr double kLeastGain = 1e-3;      // of the deviation, in one pass over more nodes
constexpr int kExchangesPerNode = 4;     // before the next node's turn
constexpr int64_t kNodesPerRefresh = 8;  // a share of them exchanges between two refreshes of slopes

}  // namespace

BalancingExchanges::BalancingExchanges(BalancingState& state, DeviationSlopes& slopes, SearchBudget& budget)
    : state_(state), slopes_(slopes), budget_(budget) {
  slopes_.Refresh();
  ChooseTerms();
  MakeRows();
  if (state.eligible().size() > kAllPairsUpTo) MakeGrid();
}

void BalancingExchanges::ChooseTerms() {
  for (size_t term = 0; term < slopes_.terms(); ++term) {
    if (slopes_.Weight(term) != 0) terms_.push_back(term);
  }
  std::ranges::stable_sort(terms_, std::greater(), [&](size_t term) { return slopes_.Share(term); });
  terms_.resize(std::min(terms_.size(), kMaxTerms));
}

void BalancingExchanges::MakeRows() {
  std::vector<size_t> column(slopes_.terms(), terms_.size());
  for (size_t i = 0; i < terms_.size(); ++i) column[terms_[i]] = i;
  const Arrangement& arrangement = state_.arrangement();
  place_.assign(arrangement.replica_count(), kNoId);
  rows_.assign(state_.eligible().size() * terms_.size(), 0);
  uint32_t place = 0;
  for (const ReplicaId replica : state_.eligible()) {
    const std::vector<ServiceMetric>& metrics = state_.cluster().services[arrangement.ServiceOf(replica)].metrics;
    const std::span<const int64_t> loads = arrangement.LoadsOf(replica);
    for (size_t i = 0; i < loads.size(); ++i) {
      const size_t at = column[slopes_.TermOf(metrics[i].metric)];
      if (at < terms_.size()) rows_[place * terms_.size() + at] = static_cast<double>(loads[i]);
    }
    place_[replica] = place++;
  }
}

size_t BalancingExchanges::CellOf(const Axis& axis, double value) const {
  return static_cast<size_t>(std::ranges::upper_bound(axis.bounds, value) - axis.bounds.begin());
}

// Cells hold about equally many replicas along each axis, so a few huge loads do not leave all others in one cell.
void BalancingExchanges::MakeGrid() {
  const size_t replicas = state_.eligible().size();
  std::vector<std::vector<double>> values;
  for (size_t column = 0; column < terms_.size() && axes_.size() < kMaxAxes; ++column) {
    std::vector<double> sorted(replicas);
    for (size_t i = 0; i < replicas; ++i) sorted[i] = rows_[i * terms_.size() + column];
    std::ranges::sort(sorted);
    if (sorted.front() == sorted.back()) continue;
    axes_.push_back({column, {}});
    values.push_back(std::move(sorted));
  }
  if (axes_.empty()) return;
  const double root = std::pow(static_cast<double>(replicas), 1.0 / static_cast<double>(axes_.size()));
  const size_t cells = std::max<size_t>(2, std::min<size_t>(4096, static_cast<size_t>(root)));
  size_t all = 1;
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    for (size_t i = 1; i < cells; ++i) axes_[axis].bounds.push_back(values[axis][i * replicas / cells]);
    std::vector<double>& bounds = axes_[axis].bounds;
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    all *= axes_[axis].cells();
  }
  std::vector<uint32_t> cell_of(replicas);
  first_in_cell_.assign(all + 1, 0);
  for (size_t i = 0; i < replicas; ++i) {
    size_t cell = 0;
    for (const Axis& axis : axes_) cell = cell * axis.cells() + CellOf(axis, rows_[i * terms_.size() + axis.column]);
    cell_of[i] = static_cast<uint32_t>(cell);
    ++first_in_cell_[cell + 1];
  }
  for (size_t cell = 0; cell < all; ++cell) first_in_cell_[cell + 1] += first_in_cell_[cell];
  in_cells_.resize(replicas);
  std::vector<uint32_t> next(first_in_cell_.begin(), first_in_cell_.end() - 1);
  for (size_t i = 0; i < replicas; ++i) in_cells_[next[cell_of[i]]++] = state_.eligible()[i];
}

double BalancingExchanges::Unevenness(NodeId node) const {
  double all = 0;
  for (const size_t term : terms_) {
    const double excess = slopes_.Excess(term, node);
    all += std::abs(slopes_.Weight(term)) * excess * excess;
  }
  return all;
}

void BalancingExchanges::LookAtPair(NodeId node, ReplicaId replica, ReplicaId partner) {
  const Arrangement& arrangement = state_.arrangement();
  const NodeId there = arrangement.NodeOf(partner);
  if (there == node) return;
  ++looked_;
  const std::span<const double> mine = RowOf(replica), its = RowOf(partner);
  double slope = 0;
  for (size_t i = 0; i < terms_.size(); ++i) {
    const double more = its[i] - mine[i];
    if (more != 0) slope += slopes_.Change(terms_[i], node, more) + slopes_.Change(terms_[i], there, -more);
  }
  if (best_.size() == kBestPairs && slope >= best_.back().slope) return;
  if (arrangement.PartitionOf(replica) == arrangement.PartitionOf(partner) || !state_.TypesAllow(node, there)) return;
  const Pair pair{slope, replica, partner};
  slope += LocalSlope(pair, node, there);
  if (best_.size() == kBestPairs) {
    if (slope >= best_.back().slope) return;
    best_.pop_back();
  }
  best_.insert(std::ranges::upper_bound(best_, slope, {}, &Pair::slope), {slope, replica, partner});
}

double BalancingExchanges::LocalSlopeOf(ReplicaId replica, NodeId from, NodeId to) const {
  const ServiceId service = state_.arrangement().ServiceOf(replica);
  const uint32_t local = slopes_.LocalOf(service);
  if (local == kNoId) return 0;
  const ServiceLoads& own = *state_.arrangement().loads().Local(service);
  const std::span<const int64_t> loads = state_.arrangement().LoadsOf(replica);
  const int64_t* row_from = own.RowAt(from);
  const int64_t* row_to = own.RowAt(to);
  double slope = 0;
  for (uint32_t i = 0; i < loads.size(); ++i) {
    if (loads[i] == 0) continue;
    const double load = static_cast<double>(loads[i]);
    slope += slopes_.LocalChange(local + i, row_from == nullptr ? 0 : static_cast<double>(row_from[i]), -load) +
             slopes_.LocalChange(local + i, row_to == nullptr ? 0 : static_cast<double>(row_to[i]), load);
  }
  return slope;
}

// Of two replicas of one service this counts each as if the other stayed, which is too much: the energy decides.
double BalancingExchanges::LocalSlope(const Pair& pair, NodeId here, NodeId there) const {
  if (state_.arrangement().ServiceOf(pair.here) == state_.arrangement().ServiceOf(pair.there)) return 0;
  return LocalSlopeOf(pair.here, here, there) + LocalSlopeOf(pair.there, there, here);
}

void BalancingExchanges::LookAtCell(NodeId node, ReplicaId replica, size_t cell, uint32_t partners) {
  const uint32_t first = first_in_cell_[cell], size = first_in_cell_[cell + 1] - first;
  const uint32_t looks = std::min(size, partners);
  // Of a full cell every replica sees others.
  const uint32_t begin = size > looks ? (replica * 7919u) % size : 0;
  for (uint32_t i = 0; i < looks; ++i) {
    const uint32_t at = begin + i < size ? begin + i : begin + i - size;
    LookAtPair(node, replica, in_cells_[first + at]);
  }
}

void BalancingExchanges::LookAt(NodeId node, ReplicaId replica, std::span<const double> wanted) {
  if (axes_.empty()) {
    if (state_.eligible().size() > kAllPairsUpTo) return;
    for (const ReplicaId partner : state_.eligible()) LookAtPair(node, replica, partner);
    return;
  }
  // The cell of the wanted loads and its neighbours.
  std::array<size_t, kMaxAxes> low{}, middle{}, high{}, at{};
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    const size_t cell = CellOf(axes_[axis], wanted[axes_[axis].column]);
    middle[axis] = cell;
    low[axis] = at[axis] = cell == 0 ? 0 : cell - 1;
    high[axis] = std::min(cell + 1, axes_[axis].cells() - 1);
  }
  for (;;) {
    size_t cell = 0;
    for (size_t axis = 0; axis < axes_.size(); ++axis) cell = cell * axes_[axis].cells() + at[axis];
    LookAtCell(node, replica, cell, at == middle ? kPartnersInCell : kPartnersBeside);
    size_t axis = 0;
    while (axis < axes_.size() && at[axis] == high[axis]) {
      at[axis] = low[axis];
      ++axis;
    }
    if (axis == axes_.size()) return;
    ++at[axis];
  }
}

bool BalancingExchanges::MakePair(const Pair& pair) {
  const Arrangement& arrangement = state_.arrangement();
  const NodeId here = arrangement.NodeOf(pair.here), there = arrangement.NodeOf(pair.there);
  const double before = state_.energy();
  const size_t mark = state_.Mark();
  ++budget_.spent;
  if (state_.MakeBoth({pair.here, there, kNoId}, {pair.there, here, kNoId}) && IsLower(state_.energy(), before)) return true;
  state_.RollBack(mark);
  return false;
}

bool BalancingExchanges::Improve(NodeId node) {
  best_.clear();
  looked_ = 0;
  std::array<double, kMaxTerms> wanted{};
  for (const ReplicaId replica : state_.arrangement().On(node)) {
    if (place_[replica] == kNoId) continue;
    const std::span<const double> row = RowOf(replica);
    for (size_t i = 0; i < terms_.size(); ++i) {
      const double scale = slopes_.Scale(terms_[i], node);
      wanted[i] = row[i] - (scale == 0 ? 0 : slopes_.Excess(terms_[i], node) / scale);
    }
    LookAt(node, replica, {wanted.data(), terms_.size()});
  }
  budget_.spent += looked_ / kSlopesPerStep;
  const double price = state_.PriceOfMovement();
  const std::vector<Pair> pairs = best_;
  for (const Pair& pair : pairs) {
    const NodeId there = state_.arrangement().NodeOf(pair.there);
    const double cost = state_.CostOf({pair.here, there, kNoId}) + state_.CostOf({pair.there, node, kNoId});
    if (slopes_.complete() && !axes_.empty() && pair.slope + cost * price >= 0) continue;
    if (MakePair(pair)) return true;
  }
  return false;
}

int64_t BalancingExchanges::Pass() {
  std::vector<std::pair<double, NodeId>> order;
  for (const NodeId node : state_.arrangement().sets().all()) {
    const double unevenness = Unevenness(node);
    if (unevenness > 0) order.emplace_back(-unevenness, node);
  }
  std::ranges::sort(order);
  int64_t made = 0;
  const int64_t per_refresh = std::max<int64_t>(1, static_cast<int64_t>(order.size()) / kNodesPerRefresh);
  const double price = state_.PriceOfMovement();
  for (const auto& [unevenness, node] : order) {
    // The most that it can gain is to be even, together with a node that is no more uneven: two movements have to pay.
    if (!axes_.empty() && slopes_.complete() && -unevenness < price) break;
    for (int i = 0; i < kExchangesPerNode && !budget_.over() && Improve(node); ++i) {
      if (++made % per_refresh == 0) slopes_.Refresh();
    }
  }
  return made;
}

int64_t BalancingExchanges::Run() {
  if (terms_.empty() || state_.swaps_only() || state_.slots() < 2) return 0;
  int64_t all = 0;
  while (!budget_.over()) {
    slopes_.Refresh();
    const double before = state_.deviation();
    const int64_t made = Pass();
    all += made;
    const bool few = state_.cluster().nodes.size() <= kExchangeAll;
    if (made == 0 || (!few && before - state_.deviation() < kLeastGain * std::abs(before))) break;
  }
  return all;
}

}  // namespace evenkeel::balancing
