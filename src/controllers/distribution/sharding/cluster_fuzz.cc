#include <cstdlib>

#include "base/hash.h"
#include "controllers/distribution/sharding/cluster.h"
#include "controllers/distribution/sharding/shard_plan.h"

namespace distribution = evenkeel::controllers::distribution;
using evenkeel::base::Json;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<distribution::Finding> findings;
  // The config of a Secret is anybody's text.
  const Json secret = {{"kind", "Secret"},
                       {"metadata", {{"name", "a"}, {"labels", {{distribution::kClusterSecretLabel, "cluster"}}}}},
                       {"data",
                        {{"server", evenkeel::base::Base64Encode("https://h")},
                         {"shard", evenkeel::base::Base64Encode(text)},
                         {"config", evenkeel::base::Base64Encode(text)}}}};
  if (!distribution::ClusterFromSecret(secret, findings)) std::abort();
  // So is a whole object of a file.
  const auto object = evenkeel::base::ParseJson(text, "input");
  if (!object) return 0;
  static_cast<void>(distribution::IsClusterSecret(*object));
  static_cast<void>(distribution::ClusterFromSecret(*object, findings));
  static_cast<void>(distribution::ClusterFromKarmada(*object, &*object, findings));
  const std::vector<Json> objects = {*object, secret};
  const auto input = distribution::ReadShardPlanInput(objects, true, true, findings);
  static_cast<void>(
      distribution::PlanShards(input, {.method = distribution::Method::kRoundRobin, .replicas = 3}, *object, findings));
  return 0;
}
