#include "solver/priced_state.h"

#include <algorithm>
#include <cmath>

#include "solver/metropolis.h"

namespace evenkeel::solver {
namespace {

/// Random steps in one go, at one temperature.
constexpr int64_t kSlice = 4096;
/// Of shifts, shifts back to the first node, swaps of any two, swaps of similar ones, and chains.
constexpr std::array<double, PricedState::kKinds> kFirstShares = {0.4125, 0.0625, 0.275, 0.2, 0.05};

// Large-neighbourhood steps: how many objects they take off, and how many nodes without any of these they look at.
constexpr size_t kLeastOff = 10, kMostOff = 200;
constexpr size_t kMoreNodes = 8;
constexpr double kLeastShare = 0.002, kMostShare = 0.05;  // of what is looked at

#ifdef __x86_64__
[[gnu::target("avx2"), gnu::flatten]] void SliceWithWideVectors(PricedState& model, StepKinds& kinds, base::Random& random,
                                                                double temperature) {
  TakeRandomSteps(model, kinds, random, temperature, kSlice);
}
#endif

void RunSlice(PricedState& model, StepKinds& kinds, base::Random& random, double temperature) {
  model.evaluations += kSlice;
#ifdef __x86_64__
  // Amounts are exact, so the answer is the same.
  static const bool has_wide_vectors = __builtin_cpu_supports("avx2");
  if (has_wide_vectors) return SliceWithWideVectors(model, kinds, random, temperature);
#endif
  TakeRandomSteps(model, kinds, random, temperature, kSlice);
}

}  // namespace

const std::array<double, kChances>& Chances() {
  static const auto* table = [] {
    auto* made = new std::array<double, kChances>;
    for (int i = 0; i < kChances; ++i) (*made)[i] = -std::log((i + 0.5) / kChances);
    return made;
  }();
  return *table;
}

double PricedState::MakeChain(ObjectId a, ObjectId b, NodeId to, double limit) {
  const NodeId at_a = state.NodeOf(a), at_b = state.NodeOf(b);
  const double before = Value();
  if (!state.RulesAllow(b, to)) return 0;
  state.Shift(b, to);
  if (state.RulesAllow(a, at_b)) {
    state.Shift(a, at_b);
    if (const double change = Value() - before; change <= limit) {
      best.Stepped(b, at_b);
      best.Stepped(a, at_a);
      Stepped();
      return change;
    }
    state.Shift(a, at_a);
  }
  state.Shift(b, at_b);
  return 0;
}

PricedSteps::PricedSteps(uint64_t seed) : random_(seed), kinds_(kFirstShares), share_(kLeastShare) {}

// Some of the objects of a few nodes: they go back there, or to one of a few other nodes.
void PricedSteps::Draw(const State& state) {
  const auto nodes = static_cast<size_t>(state.problem().nodes());
  const auto objects = static_cast<double>(state.problem().objects());
  const double most = std::clamp(objects / 5, static_cast<double>(kLeastOff), static_cast<double>(kMostOff));
  // Sizes are drawn so that each of 10 to 20, 20 to 40, ... is as likely.
  const auto wanted = static_cast<size_t>(std::min(objects, kLeastOff * std::pow(most / kLeastOff, random_.Unit())));
  const double share = 0.2 + 0.8 * random_.Unit();
  objects_.clear();
  nodes_.clear();
  drawn_.assign(nodes, 0);
  const auto draw = [&] {
    const auto node = static_cast<NodeId>(random_.Below(nodes));
    if (drawn_[node] != 0) return NodeId{-1};
    drawn_[node] = 1;
    nodes_.push_back(node);
    return node;
  };
  while (objects_.size() < wanted && nodes_.size() < nodes) {
    const NodeId node = draw();
    if (node < 0) continue;
    for (const ObjectId object : state.ObjectsOn(node)) {
      if (objects_.size() < wanted && random_.Chance(share)) objects_.push_back(object);
    }
  }
  for (const size_t all = std::min(nodes, nodes_.size() + kMoreNodes); nodes_.size() < all;) draw();
}

void PricedSteps::Rebuild(PricedState& model, double temperature) {
  Draw(model.state);
  before_.clear();
  for (const ObjectId object : objects_) before_.push_back(model.state.NodeOf(object));
  const double limit = temperature * Chances()[random_.Next() & (kChances - 1)];
  const double change = step_.Take(model, objects_, nodes_, random_, temperature, limit);
  gained_ += std::max(0.0, -change - kThermal * temperature);
  const auto looked_at = static_cast<double>(step_.looked_at() + 1);
  looked_at_ += looked_at;
  owed_ -= looked_at;
  model.evaluations += step_.looked_at();
  bool any = false;
  for (size_t i = 0; i < objects_.size(); ++i) {
    if (model.state.NodeOf(objects_[i]) == before_[i]) continue;
    model.best.Stepped(objects_[i], before_[i]);
    any = true;
  }
  if (any) model.Stepped();
}

void PricedSteps::Run(PricedState& model, double temperature, bool rebuilds) {
  RunSlice(model, kinds_, random_, temperature);
  kinds_.Adapt();
  if (!rebuilds) return;
  owed_ += static_cast<double>(kSlice) * share_ / (1 - share_);
  while (owed_ > 0) Rebuild(model, temperature);
  const double rate = looked_at_ == 0 ? 0 : gained_ / looked_at_, all = rate + kinds_.Rate();
  if (all > 0) share_ = std::clamp(rate / all, kLeastShare, kMostShare);
  gained_ *= kRemembered;
  looked_at_ *= kRemembered;
}

}  // namespace evenkeel::solver
