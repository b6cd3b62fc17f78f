#include <cstdlib>

#include "controllers/distribution/sharding/shard_mapping.h"

namespace distribution = evenkeel::controllers::distribution;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const int64_t replicas = data[0] % 32;
  const int64_t asked = data[1] % 40 - 4;
  const auto claims = distribution::ParseShardMapping({reinterpret_cast<const char*>(data) + 2, size - 2});
  if (!claims) return 0;
  // What has been read is written in one way only.
  const std::string text = distribution::FormatShardMapping(*claims);
  const auto again = distribution::ParseShardMapping(text);
  if (!again || distribution::FormatShardMapping(*again) != text) std::abort();
  const auto repaired = distribution::RepairShardMapping(*claims, replicas);
  if (!distribution::CheckShardMapping(repaired).empty()) std::abort();
  if (repaired.size() != static_cast<size_t>(replicas)) std::abort();
  const distribution::ClaimRequest request{replicas, asked, "host", evenkeel::base::Time(std::chrono::seconds(1'734'225'184)),
                                           std::chrono::seconds(30)};
  for (const auto& start : {*claims, repaired}) {
    const auto next = distribution::NextClaim(start, request);
    if (next.claims.size() != static_cast<size_t>(replicas)) std::abort();
    static_cast<void>(distribution::Release(next.claims, "host"));
  }
  if (!distribution::CheckShardMapping(distribution::NextClaim(repaired, request).claims).empty()) std::abort();
  return 0;
}
