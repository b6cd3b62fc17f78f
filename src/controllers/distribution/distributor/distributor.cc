#include "controllers/distribution/distributor/distributor.h"

#include "controllers/distribution/distributor/compatible_distributor.h"
#include "controllers/distribution/distributor/coordinated_distributor.h"
#include "controllers/distribution/sharding/distribution_metrics.h"

namespace evenkeel::controllers::distribution {

std::unique_ptr<Distributor> NewDistributor(DistributorContext context) {
  using base::CountFromZero;
  CountFromZero(context.metrics, metrics::kMoves);
  if (context.options.mode == Mode::kCompatible) {
    CountFromZero(context.metrics, metrics::kHeartbeatFailures);
    CountFromZero(context.metrics, metrics::kClaimConflicts);
  } else {
    CountFromZero(context.metrics, metrics::kPlannedMoves);
  }
  if (context.options.mode == Mode::kCompatible) return std::make_unique<CompatibleDistributor>(std::move(context));
  return std::make_unique<CoordinatedDistributor>(std::move(context));
}

}  // namespace evenkeel::controllers::distribution
