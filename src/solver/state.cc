#include "solver/state.h"

#include <algorithm>

namespace evenkeel::solver {
namespace {

/// Columns, filled up to whole vectors.
int Padded(int64_t columns) { return static_cast<int>((columns + kColumns - 1) / kColumns * kColumns); }

}  // namespace

State::State(const Problem& problem) : problem_(&problem), node_(problem.initial) {
  const int32_t objects = problem.objects(), nodes = problem.nodes(), metrics = problem.metrics();
  need_columns_ = Padded(metrics);
  cost_columns_ = Padded(static_cast<int64_t>(problem.hinges.size()));
  auto need = std::make_shared<std::vector<double>>(static_cast<size_t>(objects) * need_columns_);
  auto step = std::make_shared<std::vector<double>>(static_cast<size_t>(objects) * cost_columns_);
  for (ObjectId object = 0; object < objects; ++object) {
    for (MetricId metric = 0; metric < metrics; ++metric) {
      (*need)[static_cast<size_t>(object) * need_columns_ + metric] = static_cast<double>(problem.load(object, metric));
    }
    for (size_t k = 0; k < problem.hinges.size(); ++k) {
      int64_t sum = 0;
      for (const Hinge::Part& part : problem.hinges[k].parts) sum += part.coefficient * problem.load(object, part.metric);
      (*step)[static_cast<size_t>(object) * cost_columns_ + k] = static_cast<double>(problem.hinges[k].weight * sum);
    }
  }
  need_ = std::move(need);
  step_ = std::move(step);
  all_.assign(need_columns_, 1);
  lasting_ = all_;
  for (MetricId metric = 0; metric < metrics; ++metric) {
    if (problem.transient[metric]) lasting_[metric] = 0;
  }
  first_ = problem.initial;
  class_ = problem.node_class;
  classes_ = static_cast<size_t>(problem.node_move_cost.rows());
  for (size_t from = 0; from < classes_; ++from) {
    for (size_t to = 0; to < classes_; ++to) {
      node_move_.push_back(static_cast<double>(problem.node_move_weight * problem.node_move_cost(from, to)));
    }
  }
  for (const int64_t cost : problem.object_move_cost) {
    object_move_.push_back(static_cast<double>(problem.object_move_weight * cost));
  }
  move_cost_.assign(objects, 0);
  room_.assign(static_cast<size_t>(nodes) * need_columns_, 0);
  over_.assign(static_cast<size_t>(nodes) * cost_columns_, 0);
  node_cost_.assign(nodes, 0);
  on_node_.resize(nodes);
  place_on_node_.resize(objects);
  for (NodeId node = 0; node < nodes; ++node) {
    for (MetricId metric = 0; metric < metrics; ++metric) {
      Room(node)[metric] = static_cast<double>(problem.capacity(node, metric));
    }
    for (size_t k = 0; k < problem.hinges.size(); ++k) {
      const Hinge& hinge = problem.hinges[k];
      Over(node)[k] = -static_cast<double>(hinge.weight * hinge.bound[node]);
    }
  }
  for (ObjectId object = 0; object < objects; ++object) {
    const NodeId node = node_[object];
    for (int k = 0; k < need_columns_; ++k) Room(node)[k] -= Need(object)[k];
    for (int k = 0; k < cost_columns_; ++k) Over(node)[k] += Step(object)[k];
    place_on_node_[object] = static_cast<int32_t>(on_node_[node].size());
    on_node_[node].push_back(object);
  }
  node_overflow_.assign(nodes, 0);
  for (NodeId node = 0; node < nodes; ++node) {
    cost_ += node_cost_[node] = CostNow(node);
    overflow_ += node_overflow_[node] = OverflowNow(node);
  }

  const auto groups = static_cast<int32_t>(problem.groups.size());
  std::vector<std::vector<GroupId>> dependents(groups);
  for (GroupId group = 0; group < groups; ++group) {
    for (const GroupId needed : problem.groups[group].depends_on) dependents[needed].push_back(group);
  }
  int32_t most = 0, spread_rows = 0, dependency_rows = 0;
  spread_row_.assign(groups, -1);
  dependency_row_.assign(groups, -1);
  grouped_.assign(objects, 0);
  for (GroupId group = 0; group < groups; ++group) {
    const Group& rules = problem.groups[group];
    most = std::max(most, rules.size());
    if (rules.min_spread > 1) spread_row_[group] = spread_rows++;
    if (!rules.depends_on.empty() || !dependents[group].empty()) dependency_row_[group] = dependency_rows++;
    const bool any = (rules.exclusive && rules.size() > 1) || spread_row_[group] >= 0 || dependency_row_[group] >= 0;
    std::fill(grouped_.begin() + rules.first, grouped_.begin() + rules.last, any);
  }
  spread_count_.assign(static_cast<size_t>(spread_rows) * problem.locations, 0);
  spread_distinct_.assign(spread_rows, 0);
  spread_off_.assign(spread_rows, 0);
  dependency_count_.assign(static_cast<size_t>(dependency_rows) * problem.neighbourhoods, 0);
  for (ObjectId object = 0; object < objects; ++object) {
    const GroupId group = problem.group_of[object];
    if (const int32_t row = spread_row_[group]; row >= 0) {
      int32_t& count = spread_count_[static_cast<size_t>(row) * problem.locations + problem.location[node_[object]]];
      if (count++ == 0) ++spread_distinct_[row];
    }
    if (const int32_t row = dependency_row_[group]; row >= 0) {
      ++dependency_count_[static_cast<size_t>(row) * problem.neighbourhoods + problem.neighbourhood[node_[object]]];
    }
  }
  dependents_ = std::make_shared<const std::vector<std::vector<GroupId>>>(std::move(dependents));
  moved_of_group_.assign(groups, 0);
  groups_with_moved_.assign(most + 1, 0);
  groups_with_moved_[0] = groups;
}

/// What it changes when `change` more objects of one group and `other_change` more of another (or the same; -1: none) have
/// moved.
double State::GroupMoves(GroupId group, int32_t change, GroupId other, int32_t other_change) const {
  if (problem_->group_move_weight == 0 || (change == 0 && other_change == 0)) return 0;
  if (other == group) {
    change += other_change;
    other = -1;
  }
  const int32_t old_count = moved_of_group_[group], new_count = old_count + change;
  const int32_t old_other = other < 0 ? -1 : moved_of_group_[other], new_other = other < 0 ? -1 : old_other + other_change;
  int32_t most = std::max({most_moved_, new_count, new_other});
  while (most != new_count && most != new_other &&
         groups_with_moved_[most] == (old_count == most ? 1 : 0) + (old_other == most ? 1 : 0)) {
    --most;
  }
  return static_cast<double>(problem_->group_move_weight * (most - most_moved_));
}

void State::CountMove(ObjectId object, int32_t change) {
  if (change == 0) return;
  int32_t& moved = moved_of_group_[problem_->group_of[object]];
  --groups_with_moved_[moved];
  moved += change;
  ++groups_with_moved_[moved];
  most_moved_ = std::max(most_moved_, moved);
  while (groups_with_moved_[most_moved_] == 0) --most_moved_;
}

bool State::MeetsItsOwn(ObjectId object, NodeId to, ObjectId except) const {
  const Group& group = problem_->groups[problem_->group_of[object]];
  if (!group.exclusive) return false;
  for (ObjectId other = group.first; other < group.last; ++other) {
    if (node_[other] == to && other != except) return true;
  }
  return false;
}

bool State::SpreadAllows(ObjectId object, NodeId to) const {
  const GroupId group = problem_->group_of[object];
  const int32_t row = spread_row_[group];
  if (row < 0) return true;
  const int32_t from_location = problem_->location[node_[object]], to_location = problem_->location[to];
  if (from_location == to_location) return true;
  const int32_t* counts = &spread_count_[static_cast<size_t>(row) * problem_->locations];
  const int32_t change = (counts[to_location] == 0 ? 1 : 0) - (counts[from_location] == 1 ? 1 : 0);
  return change >= 0 || spread_distinct_[row] + change >= problem_->groups[group].min_spread;
}

/// Whether all that `group`, having gone from or come to the neighbourhood, has to do with holds there.
bool State::DependenciesHold(GroupId group, int32_t neighbourhood) const {
  if (DependencyCount(group, neighbourhood) > 0) {
    for (const GroupId needed : problem_->groups[group].depends_on) {
      if (DependencyCount(needed, neighbourhood) == 0) return false;
    }
    return true;
  }
  for (const GroupId dependent : (*dependents_)[group]) {
    if (DependencyCount(dependent, neighbourhood) > 0) return false;
  }
  return true;
}

void State::CountDependency(ObjectId object, NodeId node, int32_t change) {
  const int32_t row = dependency_row_[problem_->group_of[object]];
  if (row < 0) return;
  dependency_count_[static_cast<size_t>(row) * problem_->neighbourhoods + problem_->neighbourhood[node]] += change;
}

bool State::DependenciesAllow(ObjectId object, NodeId to) {
  const GroupId group = problem_->group_of[object];
  const NodeId from = node_[object];
  const int32_t there = problem_->neighbourhood[to], here = problem_->neighbourhood[from];
  if (dependency_row_[group] < 0 || here == there) return true;
  CountDependency(object, from, -1);
  CountDependency(object, to, 1);
  const bool hold = DependenciesHold(group, here) && DependenciesHold(group, there);
  CountDependency(object, to, -1);
  CountDependency(object, from, 1);
  return hold;
}

bool State::Fits(ObjectId object, NodeId to) const {
  const double *room = Room(to), *need = Need(object), *charged = ChargedAt(object, to);
  for (int k = 0; k < need_columns_; ++k) {
    if (room[k] - need[k] * charged[k] < 0) return false;
  }
  return true;
}

double State::CostNow(NodeId node) const {
  Columns cost = {};
  for (int k = 0; k < cost_columns_; k += kColumns) cost += Positive(Load(Over(node) + k));
  return Sum(cost);
}

double State::OverflowNow(NodeId node) const {
  Columns overflow = {};
  for (int k = 0; k < need_columns_; k += kColumns) overflow += Positive(-Load(Room(node) + k));
  return Sum(overflow);
}

bool State::RulesAllowSwap(ObjectId a, ObjectId b) {
  const GroupId of_a = problem_->group_of[a], of_b = problem_->group_of[b];
  if (of_a == of_b || (!grouped_[a] && !grouped_[b])) return true;
  const NodeId at_a = node_[a], at_b = node_[b];
  if (MeetsItsOwn(a, at_b, -1) || MeetsItsOwn(b, at_a, -1) || !SpreadAllows(a, at_b) || !SpreadAllows(b, at_a)) return false;
  const int32_t here = problem_->neighbourhood[at_a], there = problem_->neighbourhood[at_b];
  if (here == there || (dependency_row_[of_a] < 0 && dependency_row_[of_b] < 0)) return true;
  const auto exchange = [&](int32_t change) {
    CountDependency(a, at_a, -change);
    CountDependency(b, at_b, -change);
    CountDependency(a, at_b, change);
    CountDependency(b, at_a, change);
  };
  exchange(1);
  bool hold = true;
  for (const GroupId group : {of_a, of_b}) {
    hold = hold && (dependency_row_[group] < 0 || (DependenciesHold(group, here) && DependenciesHold(group, there)));
  }
  exchange(-1);
  return hold;
}

void State::Leave(ObjectId object) {
  const NodeId from = node_[object];
  const double *need = Need(object), *step = Step(object), *gives = ChargedAt(object, from);
  double *room = Room(from), *over = Over(from);
  for (int k = 0; k < need_columns_; ++k) room[k] += need[k] * gives[k];
  for (int k = 0; k < cost_columns_; ++k) over[k] -= step[k];
  if (const int32_t row = spread_row_[problem_->group_of[object]]; row >= 0) {
    int32_t& count = spread_count_[static_cast<size_t>(row) * problem_->locations + problem_->location[from]];
    if (--count == 0) --spread_distinct_[row];
    ++spread_off_[row];
  }
  CountDependency(object, from, -1);
  std::vector<ObjectId>& list = on_node_[from];
  const int32_t place = place_on_node_[object];
  list[place] = list.back();
  place_on_node_[list[place]] = place;
  list.pop_back();
}

void State::Enter(ObjectId object, NodeId to) {
  const double *need = Need(object), *step = Step(object), *takes = ChargedAt(object, to);
  double *room = Room(to), *over = Over(to);
  for (int k = 0; k < need_columns_; ++k) room[k] -= need[k] * takes[k];
  for (int k = 0; k < cost_columns_; ++k) over[k] += step[k];
  if (const int32_t row = spread_row_[problem_->group_of[object]]; row >= 0) {
    int32_t& count = spread_count_[static_cast<size_t>(row) * problem_->locations + problem_->location[to]];
    if (count++ == 0) ++spread_distinct_[row];
    --spread_off_[row];
  }
  CountDependency(object, to, 1);
  place_on_node_[object] = static_cast<int32_t>(on_node_[to].size());
  on_node_[to].push_back(object);
}

/// What the object pays for its moves, here or, for -1, nowhere.
void State::Pay(ObjectId object, NodeId to) {
  const NodeId from = node_[object], first = first_[object];
  const int32_t most = most_moved_;
  CountMove(object, (to >= 0 && to != first ? 1 : 0) - (from >= 0 && from != first ? 1 : 0));
  cost_ += static_cast<double>(problem_->group_move_weight * (most_moved_ - most));
  const double move_cost = to < 0 ? 0 : MoveCost(object, to);
  cost_ += move_cost - move_cost_[object];
  move_cost_[object] = move_cost;
  node_[object] = to;
}

void State::Refresh(NodeId node) {
  const double cost = CostNow(node), overflow = OverflowNow(node);
  cost_ += cost - node_cost_[node];
  node_cost_[node] = cost;
  overflow_ += overflow - node_overflow_[node];
  node_overflow_[node] = overflow;
}

void State::Shift(ObjectId object, NodeId to) {
  const NodeId from = node_[object];
  Leave(object);
  Enter(object, to);
  Pay(object, to);
  Refresh(from);
  Refresh(to);
}

void State::Swap(ObjectId a, ObjectId b) {
  const NodeId at_a = node_[a], at_b = node_[b];
  Leave(a);
  Enter(a, at_b);
  Pay(a, at_b);
  Leave(b);
  Enter(b, at_a);
  Pay(b, at_a);
  Refresh(at_a);
  Refresh(at_b);
}

void State::TakeOff(ObjectId object) {
  const NodeId from = node_[object];
  Leave(object);
  Pay(object, -1);
  Refresh(from);
}

void State::Put(ObjectId object, NodeId to) {
  Enter(object, to);
  Pay(object, to);
  Refresh(to);
}

bool State::RulesAllowPut(ObjectId object, NodeId to) const {
  if (!grouped_[object]) return true;
  if (MeetsItsOwn(object, to, -1)) return false;
  const GroupId group = problem_->group_of[object];
  if (const int32_t row = spread_row_[group]; row >= 0) {
    const bool is_first = spread_count_[static_cast<size_t>(row) * problem_->locations + problem_->location[to]] == 0;
    if (!is_first && spread_distinct_[row] + spread_off_[row] - 1 < problem_->groups[group].min_spread) return false;
  }
  if (dependency_row_[group] < 0) return true;
  return std::ranges::all_of(problem_->groups[group].depends_on, [&](GroupId needed) {
    return needed == group || DependencyCount(needed, problem_->neighbourhood[to]) > 0;
  });
}

bool State::Holds(ObjectId object, NodeId from) const {
  const GroupId group = problem_->group_of[object];
  return dependency_row_[group] < 0 || (DependenciesHold(group, problem_->neighbourhood[from]) &&
                                        DependenciesHold(group, problem_->neighbourhood[node_[object]]));
}

}  // namespace evenkeel::solver
