#include "controllers/rollout/zookeeper/member/members_change.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

class Changer {
 public:
  Changer(const Picture& picture, const Ensemble& ensemble)
      : picture_(picture), spec_(picture.spec), ensemble_(ensemble), present_(picture.set_replicas.value_or(0)) {}

  MembersChange Run() {
    result_.set_replicas = present_;
    // Those that voters elsewhere count on again are let go in order; the others have nobody who could be asked.
    if (spec_.abandoned && !ensemble_.HasVotersElsewhere()) {
      result_.set_replicas = spec_.replicas;
      if (present_ != spec_.replicas) result_.waits_for = "pods have to go";
      return std::move(result_);
    }
    // Before anything was ever agreed on, all servers know each other from the same list.
    if (!ensemble_.formed()) {
      result_.set_replicas = spec_.replicas;
      if (present_ != spec_.replicas) result_.waits_for = "pods have to be made";
      return std::move(result_);
    }
    if (ensemble_.leader() == 0 || ensemble_.servers().empty()) {
      // Who belongs to an ensemble that is silent is not known; who has been told to be there may come back.
      if (present_ < spec_.replicas && picture_.pods.empty()) result_.set_replicas = spec_.replicas;
      if (present_ != spec_.replicas) result_.waits_for = "no single leader is known, so the members cannot change";
      return std::move(result_);
    }
    if (present_ > spec_.replicas) {
      Shrink();
    } else {
      Grow();
    }
    if (!result_.change && result_.waits_for.empty()) ReleaseElsewhere();
    return std::move(result_);
  }

 private:
  int64_t IdAt(int64_t index) const { return spec_.IdOf(spec_.ordinals_start + index); }

  /// Those that are members may all come back at once; one that is not comes alone, so that newcomers are never a majority of
  /// the list that they are started from.
  void Grow() {
    int64_t known = 0;
    while (known < spec_.replicas && ensemble_.IsMember(IdAt(known))) ++known;
    const int64_t wanted = std::min(spec_.replicas, known + 1);
    result_.set_replicas = std::max(present_, wanted);
    if (known == spec_.replicas) {
      if (present_ < spec_.replicas) result_.waits_for = "pods have to be made";
      return;
    }
    const int64_t id = IdAt(known);
    if (picture_.settled.contains(id)) {
      result_.waits_for = fmt::format(
          "server {} was a member, and has been let go by others since: it is taken in again only with another rolloutRevision",
          id);
      return;
    }
    const ServerPod* pod = FindPod(id);
    result_.waits_for = fmt::format("server {} does not serve yet, so it is no member", id);
    if (pod == nullptr || pod->terminating || !ensemble_.Serves(id)) return;
    result_.waits_for = fmt::format("server {} is taken in", id);
    Ask({FindServer(spec_.servers, id)->text}, {}, *pod);
  }

  void Shrink() {
    // Whoever takes all servers away wants no ensemble any more.
    const bool all = std::ranges::all_of(ensemble_.servers(), [&](const ServerLine& server) {
      return server.id > IdAt(spec_.replicas - 1) && server.id <= IdAt(present_ - 1);
    });
    while (result_.set_replicas > spec_.replicas && (all || !ensemble_.IsMember(IdAt(result_.set_replicas - 1)))) {
      --result_.set_replicas;
    }
    if (result_.set_replicas == spec_.replicas) {
      result_.waits_for = "pods have to go";
      return;
    }
    const int64_t id = IdAt(result_.set_replicas - 1);
    result_.waits_for = fmt::format("server {} is let go", id);
    // Through another one, where there is one here: the leader answers before it steps down, but not always.
    const ServerPod* via = nullptr;
    for (const ServerPod& pod : picture_.pods) {
      if (pod.terminating || !ensemble_.Serves(pod.id)) continue;
      if (via == nullptr || via->id == id) via = &pod;
    }
    if (via == nullptr) {
      result_.waits_for = fmt::format("server {} has to be let go, but no server here serves", id);
      return;
    }
    Ask({}, {id}, *via);
  }

  /// A server that does not serve and has nobody beside it can be let go only from another cluster.
  void ReleaseElsewhere() {
    std::set<int64_t> leaving = spec_.leaving;
    leaving.insert(spec_.recovery.absent.begin(), spec_.recovery.absent.end());
    for (const int64_t id : leaving) {
      if (!ensemble_.IsMember(id) || ensemble_.Serves(id) || picture_.newly_silent.contains(id)) continue;
      const auto via = std::ranges::find_if(
          picture_.pods, [&](const ServerPod& pod) { return pod.id != id && !pod.terminating && ensemble_.Serves(pod.id); });
      // One at a time, and only where nobody else is missed.
      std::set<int64_t> missing = spec_.recovery.absent;
      missing.insert(id);
      if (via == picture_.pods.end() || !ensemble_.WhyNotInSync(missing).empty()) return;
      result_.released = fmt::format("server {}, which does not serve in its cluster, is let go", id);
      Ask({}, {id}, *via);
      return;
    }
  }

  void Ask(std::vector<std::string> joining, std::vector<int64_t> leaving, const ServerPod& via) {
    result_.change = Reconfiguration{std::move(joining), std::move(leaving), ensemble_.config_version(), picture_.password};
    result_.via = via;
  }

  const ServerPod* FindPod(int64_t id) const {
    const auto found = std::ranges::find(picture_.pods, id, &ServerPod::id);
    return found == picture_.pods.end() ? nullptr : &*found;
  }

  const Picture& picture_;
  const MemberSpec& spec_;
  const Ensemble& ensemble_;
  const int64_t present_;
  MembersChange result_;
};

}  // namespace

MembersChange NextMembersChange(const Picture& picture, const Ensemble& ensemble) { return Changer(picture, ensemble).Run(); }

}  // namespace evenkeel::controllers::rollout::zookeeper::member
