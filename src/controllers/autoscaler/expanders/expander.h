// Which of several possible scale-ups is best: strategies by the names of --expander, one after the other until one option is
// left; what is still equal then is drawn.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "controllers/autoscaler/facts/node_templates.h"
#include "providers/provider.h"

namespace evenkeel::controllers::autoscaler {

/// A scale-up that would help some pods.
struct ExpanderOption {
  const providers::NodeGroup* group = nullptr;
  const NodeTemplate* node = nullptr;
  int64_t nodes = 0;
  std::vector<scheduling::PodId> pods;
  int64_t cpu = 0, memory = 0, gpus = 0;  ///< what the pods request together: milli-cores, bytes, GPUs
  std::string debug;
};

struct ExpanderEvent {
  std::string reason, message;
};

/// Prices of what pods use, where the provider tells only those of nodes. Per hour.
struct UnitPrices {
  double core = 0.033174, gibibyte = 0.004446, gpu = 0.7;
};

struct ExpanderContext {
  size_t cluster_nodes = 0;
  /// Key "priorities" of the ConfigMap cluster-autoscaler-priority-expander; absent: there is no such ConfigMap.
  std::optional<std::string> priorities;
  std::string ns = "kube-system";  ///< where that ConfigMap is
  UnitPrices prices;
  std::string gpu_label;
  std::vector<ExpanderEvent> events;  ///< warnings that strategies want to be seen; they add to it
  std::string refused_by;             ///< the strategy to which no option was any good; written when the chain answers none
};

/// Answers indices of the best of `candidates`, which are indices of `options`; none: none of them is any good.
class ExpanderStrategy {
 public:
  virtual ~ExpanderStrategy() = default;
  virtual std::vector<size_t> Best(std::span<const ExpanderOption> options, std::vector<size_t> candidates,
                                   ExpanderContext& context) const = 0;
};

/// Who is asked by the strategy "grpc". May block; must answer all candidates when it cannot be reached.
using ExpanderPlugin = ExpanderStrategy;

std::unique_ptr<ExpanderStrategy> MakeMostPods();
std::unique_ptr<ExpanderStrategy> MakeLeastWaste();
std::unique_ptr<ExpanderStrategy> MakeLeastNodes();
std::unique_ptr<ExpanderStrategy> MakePrice();
std::unique_ptr<ExpanderStrategy> MakePriority();

class ExpanderChain {
 public:
  /// kInvalid: an unknown or repeated name, random before the last place, grpc without a plugin. Only random: an empty chain.
  static base::Result<ExpanderChain> Make(std::span<const std::string> names,
                                          std::shared_ptr<const ExpanderPlugin> plugin = {});

  /// nullopt: no option is any good.
  std::optional<size_t> Best(std::span<const ExpanderOption> options, ExpanderContext& context, base::Random& random) const;

 private:
  std::vector<std::pair<std::string, std::shared_ptr<const ExpanderStrategy>>> strategies_;  // by name
};

}  // namespace evenkeel::controllers::autoscaler
