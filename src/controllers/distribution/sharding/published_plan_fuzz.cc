// ShardPlans and ShardReplicas are objects that anybody with rights on the hub can edit.
#include "controllers/distribution/sharding/published_plan.h"

namespace distribution = evenkeel::controllers::distribution;
namespace base = evenkeel::base;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto object = base::ParseJson({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!object || !object->is_object()) return 0;
  base::Json plan = base::JsonObject{};
  distribution::PublishedPlan::Decode(*object).WriteTo(plan);
  base::Json again = base::JsonObject{};
  distribution::PublishedPlan::Decode(plan).WriteTo(again);
  EVENKEEL_CHECK(base::Equal(plan, again));
  base::Json report = base::JsonObject{};
  distribution::ReplicaReport::Decode(*object).WriteTo(report);
  return 0;
}
