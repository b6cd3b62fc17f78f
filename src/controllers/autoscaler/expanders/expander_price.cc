// The expander "price": the cheapest nodes for the pods, where odd node sizes and GPU nodes count as dearer than they are.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/expander/price/price.go
#include <cmath>

#include "controllers/autoscaler/expanders/expander.h"

namespace evenkeel::controllers::autoscaler {
namespace {

constexpr double kBytesPerGibibyte = 1024.0 * 1024 * 1024;
constexpr double kGpuUnfitness = 1000;
constexpr double kNotYetThere = 2;

/// Cores of the node size that suits a cluster of so many nodes.
double PreferredCores(size_t nodes) {
  constexpr std::array<std::pair<size_t, double>, 5> kSteps = {{{2, 1}, {6, 2}, {20, 4}, {60, 8}, {200, 16}}};
  for (const auto& [most, cores] : kSteps) {
    if (nodes <= most) return cores;
  }
  return 32;
}

double PodPrice(const UnitPrices& prices, double milli_cores, double bytes, double gpus) {
  return prices.core * milli_cores / 1000 + prices.gibibyte * bytes / kBytesPerGibibyte + prices.gpu * gpus;
}

class Price final : public ExpanderStrategy {
 public:
  std::vector<size_t> Best(std::span<const ExpanderOption> options, std::vector<size_t> candidates,
                           ExpanderContext& context) const override {
    const double stabilizer = PodPrice(context.prices, 500, 500.0 * 1024 * 1024, 0);
    std::vector<size_t> best;
    double lowest = 0;
    for (const size_t candidate : candidates) {
      const ExpanderOption& option = options[candidate];
      if (!option.group->price_per_hour || option.nodes == 0) continue;
      const double nodes = *option.group->price_per_hour * static_cast<double>(option.nodes);
      const double pods = PodPrice(context.prices, static_cast<double>(option.cpu), static_cast<double>(option.memory),
                                   static_cast<double>(option.gpus));
      double score = Unfitness(option, context) * (nodes + stabilizer) / (pods + stabilizer);
      if (!option.group->exists) score *= kNotYetThere;
      if (!best.empty() && score > lowest) continue;
      if (best.empty() || score < lowest) best.clear();
      lowest = score;
      best.push_back(candidate);
    }
    return best;
  }

 private:
  static double Unfitness(const ExpanderOption& option, const ExpanderContext& context) {
    if (GpusOf(option.node->node, context.gpu_label).count > 0) return kGpuUnfitness;
    const auto capacity = option.node->node.capacity.find("cpu");
    const double preferred = PreferredCores(context.cluster_nodes) * 1000;
    const double evaluated = capacity == option.node->node.capacity.end() ? 0 : static_cast<double>(capacity->second);
    if (evaluated == 0) return kGpuUnfitness;
    const double unfitness = std::max(preferred / evaluated, evaluated / preferred);
    // The more nodes are needed, the less it matters that they are of an odd size.
    return (unfitness - 1) * (1 - std::tanh(static_cast<double>(option.nodes - 1) / 15)) + 1;
  }
};

}  // namespace

std::unique_ptr<ExpanderStrategy> MakePrice() { return std::make_unique<Price>(); }

}  // namespace evenkeel::controllers::autoscaler
