#include "controllers/distribution/distributor/distributor.h"

#include "controllers/distribution/distributor/compatible_distributor.h"
#include "controllers/distribution/distributor/coordinated_distributor.h"

namespace evenkeel::controllers::distribution {

std::unique_ptr<Distributor> NewDistributor(DistributorContext context) {
  if (context.options.mode == Mode::kCompatible) return std::make_unique<CompatibleDistributor>(std::move(context));
  return std::make_unique<CoordinatedDistributor>(std::move(context));
}

}  // namespace evenkeel::controllers::distribution
