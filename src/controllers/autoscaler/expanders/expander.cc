#include "controllers/autoscaler/expanders/expander.h"

#include <numeric>

namespace evenkeel::controllers::autoscaler {
namespace {

/// Keeps the candidates with the smallest score; those without one are left out.
template <typename Score>
std::vector<size_t> Smallest(const std::vector<size_t>& candidates, const Score& score) {
  std::vector<size_t> best;
  double smallest = 0;
  for (const size_t candidate : candidates) {
    const std::optional<double> own = score(candidate);
    if (!own || (!best.empty() && *own > smallest)) continue;
    if (best.empty() || *own < smallest) best.clear();
    smallest = *own;
    best.push_back(candidate);
  }
  return best;
}

class MostPods final : public ExpanderStrategy {
 public:
  std::vector<size_t> Best(std::span<const ExpanderOption> options, std::vector<size_t> candidates,
                           ExpanderContext&) const override {
    return Smallest(candidates, [&](size_t i) { return std::optional(-static_cast<double>(options[i].pods.size())); });
  }
};

class LeastNodes final : public ExpanderStrategy {
 public:
  std::vector<size_t> Best(std::span<const ExpanderOption> options, std::vector<size_t> candidates,
                           ExpanderContext&) const override {
    return Smallest(candidates, [&](size_t i) -> std::optional<double> {
      if (options[i].nodes == 0) return std::nullopt;
      return static_cast<double>(options[i].nodes);
    });
  }
};

class LeastWaste final : public ExpanderStrategy {
 public:
  std::vector<size_t> Best(std::span<const ExpanderOption> options, std::vector<size_t> candidates,
                           ExpanderContext&) const override {
    return Smallest(candidates, [&](size_t i) {
      const ExpanderOption& option = options[i];
      return std::optional(Wasted(option, "cpu", option.cpu) + Wasted(option, "memory", option.memory));
    });
  }

 private:
  static double Wasted(const ExpanderOption& option, const char* resource, int64_t requested) {
    const auto capacity = option.node->node.capacity.find(resource);
    if (capacity == option.node->node.capacity.end() || capacity->second == 0) return 0;
    const auto available = static_cast<double>(capacity->second * option.nodes);
    return (available - static_cast<double>(requested)) / available;
  }
};

std::unique_ptr<ExpanderStrategy> MakeStrategy(const std::string& name) {
  if (name == "most-pods") return MakeMostPods();
  if (name == "least-waste") return MakeLeastWaste();
  if (name == "least-nodes") return MakeLeastNodes();
  if (name == "price") return MakePrice();
  if (name == "priority") return MakePriority();
  return nullptr;
}

}  // namespace

std::unique_ptr<ExpanderStrategy> MakeMostPods() { return std::make_unique<MostPods>(); }
std::unique_ptr<ExpanderStrategy> MakeLeastWaste() { return std::make_unique<LeastWaste>(); }
std::unique_ptr<ExpanderStrategy> MakeLeastNodes() { return std::make_unique<LeastNodes>(); }

base::Result<ExpanderChain> ExpanderChain::Make(std::span<const std::string> names,
                                                std::shared_ptr<const ExpanderPlugin> plugin) {
  if (names.empty()) return base::Fail(base::Code::kInvalid, "--expander: name at least one expander");
  ExpanderChain chain;
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (!seen.insert(name).second) {
      return base::Fail(base::Code::kInvalid, "--expander: \"" + name + "\" is named twice; name each expander once");
    }
    if (name == "random") {
      if (i + 1 == names.size()) break;
      return base::Fail(base::Code::kInvalid, "--expander: \"random\" leaves one option, so it can only be the last");
    }
    if (name == "grpc") {
      if (plugin == nullptr) return base::Fail(base::Code::kInvalid, "--expander: \"grpc\" needs --grpc-expander-url");
      chain.strategies_.emplace_back(name, plugin);
      continue;
    }
    std::shared_ptr<const ExpanderStrategy> strategy = MakeStrategy(name);
    if (strategy == nullptr) {
      return base::Fail(base::Code::kInvalid, "--expander: \"" + name +
                                                  "\" is unknown; use random, most-pods, least-waste, least-nodes, price, " +
                                                  "priority or grpc");
    }
    chain.strategies_.emplace_back(name, std::move(strategy));
  }
  return chain;
}

std::optional<size_t> ExpanderChain::Best(std::span<const ExpanderOption> options, ExpanderContext& context,
                                          base::Random& random) const {
  std::vector<size_t> candidates(options.size());
  std::iota(candidates.begin(), candidates.end(), size_t{0});
  for (const auto& [name, strategy] : strategies_) {
    if (candidates.empty()) return std::nullopt;
    candidates = strategy->Best(options, std::move(candidates), context);
    if (candidates.size() == 1) return candidates.front();
    if (candidates.empty()) context.refused_by = name;
  }
  if (candidates.empty()) return std::nullopt;
  return candidates[candidates.size() == 1 ? 0 : random.Below(candidates.size())];
}

}  // namespace evenkeel::controllers::autoscaler
