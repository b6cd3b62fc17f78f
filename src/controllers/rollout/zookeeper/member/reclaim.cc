#include "controllers/rollout/zookeeper/member/reclaim.h"

#include <algorithm>

namespace evenkeel::controllers::rollout::zookeeper::member {

std::optional<VolumeClaim> NextReclaim(const Picture& picture, const Ensemble& ensemble) {
  const MemberSpec& spec = picture.spec;
  if (!spec.reclaim || spec.abandoned || !picture.set_replicas || ensemble.leader() == 0) return std::nullopt;
  const int64_t kept = spec.ordinals_start + std::max(spec.replicas, *picture.set_replicas);
  const auto may_go = [&](const VolumeClaim& claim) {
    return claim.ordinal >= kept && !ensemble.IsMember(spec.IdOf(claim.ordinal)) &&
           std::ranges::find(picture.pods, claim.ordinal, &ServerPod::ordinal) == picture.pods.end();
  };
  const auto found = std::ranges::find_if(picture.claims, may_go);
  return found == picture.claims.end() ? std::nullopt : std::optional(*found);
}

int64_t WithoutDoubted(const Picture& picture, int64_t wanted) {
  for (const VolumeClaim& claim : picture.claims) {
    const int64_t before = claim.ordinal - picture.spec.ordinals_start;
    if (claim.doubted && before >= picture.set_replicas.value_or(0)) wanted = std::min(wanted, before);
  }
  return wanted;
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
