// Watches the BalancingPlans of a cluster, which may have no such kind: once its CustomResourceDefinition is there, and again
// when it has been made anew.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/random.h"
#include "client/informer.h"
#include "kube/object.h"

namespace evenkeel::controllers::balancer::scheduler {

/// Lives on the strand.
class PlanWatch {
 public:
  /// Told of every change of a plan; null: it has gone, also because its kind has.
  using Handler = std::function<void(const std::string& name, const base::Json* after)>;

  PlanWatch(client::Client& client, std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random,
            Handler handler);

  /// A CustomResourceDefinition as it is now, whichever it is about; null: that of this name has gone.
  void OnDefinition(const std::string& name, const base::Json* after);
  /// Whether the plans have been listed, or there is no such kind.
  bool synced() const { return plans_ == nullptr || plans_->synced(); }

 private:
  client::Client& client_;
  std::shared_ptr<base::Strand> strand_;
  base::Clock& clock_;
  const base::Random random_;
  Handler handler_;
  std::unique_ptr<client::Informer<kube::Object>> plans_;  // null: there is no such kind
};

}  // namespace evenkeel::controllers::balancer::scheduler
