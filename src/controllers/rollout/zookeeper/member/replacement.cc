#include "controllers/rollout/zookeeper/member/replacement.h"

#include <spdlog/fmt/fmt.h>

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

/// The smaller, the earlier.
int Rank(const ServerPod& pod, const Ensemble& ensemble) {
  switch (ensemble.ModeOf(pod.id)) {
    case Mode::kNotServing:
      return ensemble.MayServe(pod.id) ? 1 : 0;
    case Mode::kObserver:
    case Mode::kStandalone:
      return 2;
    case Mode::kFollower:
      return ensemble.IsVoter(pod.id) ? 3 : 2;
    case Mode::kLeader:
      return 4;
  }
  EVENKEEL_CHECK(false);
}

const char* Describe(int rank) {
  constexpr const char* kTexts[] = {"it does not serve", "it gives no answer, but may serve", "it has no vote", "it follows",
                                    "it leads, and all others are done"};
  return kTexts[rank];
}

/// Why something has to come back before anything else is stopped.
std::string WhyWait(const Picture& picture, const Ensemble& ensemble, const Making& making, const ServerPod& next) {
  for (const ServerPod& pod : picture.pods) {
    if (pod.terminating) return fmt::format("pod {} is being replaced", pod.name);
  }
  if (static_cast<int64_t>(picture.pods.size()) < picture.set_replicas.value_or(0)) return "a pod has to be made";
  for (const ServerPod& pod : picture.pods) {
    if (!making.Suits(pod)) continue;
    // One that looks for the others may need those that have not been replaced; one that does not run would be a second.
    const bool back = ensemble.Serves(pod.id) || (ensemble.leader() == 0 && ensemble.Of(pod.id) != nullptr);
    if (!back)
      return fmt::format("pod {} has been replaced and does not {} yet", pod.name, ensemble.leader() == 0 ? "answer" : "serve");
  }
  if (ensemble.MayServe(next.id)) {
    return picture.spec.hold ? "spec.hold is set: nothing that serves is stopped" : ensemble.WhyNotInSync({next.id});
  }
  if (ensemble.formed() && picture.spec.ephemeral && ensemble.leader() == 0) {
    return fmt::format("nobody leads, and what pod {} knows would go with it", next.name);
  }
  return "";
}

}  // namespace

Replacement NextReplacement(const Picture& picture, const Ensemble& ensemble, const Making& making) {
  const ServerPod* next = nullptr;
  for (const ServerPod& pod : picture.pods) {
    if (pod.terminating || making.Suits(pod)) continue;
    const auto order = [&](const ServerPod& one) { return std::pair(Rank(one, ensemble), -one.id); };
    if (next == nullptr || order(pod) < order(*next)) next = &pod;
  }
  if (next == nullptr) return {};
  if (std::string wait = WhyWait(picture, ensemble, making, *next); !wait.empty()) return {std::nullopt, std::move(wait)};
  return {*next, fmt::format("pod {} is replaced: {}", next->name, Describe(Rank(*next, ensemble)))};
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
