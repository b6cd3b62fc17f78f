#include "controllers/rollout/zookeeper/member/picture.h"

#include <spdlog/fmt/fmt.h>

#include "controllers/rollout/budget.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

/// Versions are hexadecimal numbers, without zeros before them.
bool IsOlder(const std::string& version, const std::string& other) {
  return std::pair(version.size(), version) < std::pair(other.size(), other);
}

const std::vector<ServerLine>& NewestServers(const std::map<int64_t, const Answer*>& answers) {
  static const Answer kNone;
  const Answer* newest = &kNone;
  for (const auto& [id, answer] : answers) {
    if (answer->mode == Mode::kNotServing || answer->servers.empty()) continue;
    if (newest->servers.empty() || IsOlder(newest->config_version, answer->config_version)) newest = answer;
  }
  return newest->servers;
}

}  // namespace

Ensemble::Ensemble(const Picture& picture) : newly_silent_(picture.newly_silent), formed_(picture.formed) {
  for (const auto& [id, answer] : picture.others) answers_[id] = &answer;
  for (const ServerPod& pod : picture.pods) {
    own_.insert(pod.id);
    const auto answer = picture.own.find(pod.uid);
    const bool unheard = answer == picture.own.end();
    if (!pod.terminating && pod.running && (picture.lately.contains(pod.uid) || (pod.ready && unheard))) {
      may_serve_.insert(pod.id);
    }
    if (!pod.terminating && !unheard) answers_[pod.id] = &answer->second;
  }
  int leaders = 0;
  for (const auto& [id, answer] : answers_) {
    if (answer->mode != Mode::kLeader) continue;
    ++leaders;
    leader_ = id;
  }
  if (leaders != 1) leader_ = 0;
  if (leader_ == 0) {
    heard_ = NewestServers(answers_);
    return;
  }
  const Answer& leader = *answers_.at(leader_);
  formed_ = true;
  servers_ = heard_ = leader.servers;
  voters_ = VotersOf(servers_);
  config_version_ = leader.config_version;
  if (leader.synced_voters >= 0) in_sync_ = leader.synced_voters + (IsVoter(leader_) ? 1 : 0);
}

const Answer* Ensemble::Of(int64_t id) const {
  const auto found = answers_.find(id);
  return found == answers_.end() ? nullptr : found->second;
}

Mode Ensemble::ModeOf(int64_t id) const {
  const Answer* answer = Of(id);
  return answer == nullptr ? Mode::kNotServing : answer->mode;
}

std::string Ensemble::WhyNotInSync(const std::set<int64_t>& except) const {
  if (leader_ == 0) return "no single leader is known";
  if (voters_.empty() || in_sync_ < 0) return fmt::format("server {} leads, but does not say who follows", leader_);
  for (const int64_t id : voters_) {
    if (except.contains(id) || Serves(id)) continue;
    // In other clusters not everything can be reached from here; that something answers and does not serve counts.
    if (own_.contains(id) || Of(id) != nullptr) return fmt::format("server {} does not serve", id);
    if (newly_silent_.contains(id)) return fmt::format("server {} does not answer, and its leader may not know yet", id);
  }
  const auto voters = static_cast<int64_t>(voters_.size());
  const int64_t missing = voters - in_sync_;
  // One that may serve is counted by the leader as long as it does: then it is somebody else who is missing.
  const int64_t allowed = std::ranges::count_if(except, [this](int64_t id) { return IsVoter(id) && !MayServe(id); });
  if (missing > allowed) return fmt::format("{} of {} voters are in sync with server {}", in_sync_, voters, leader_);
  return "";
}

bool Ensemble::HasVotersElsewhere() const {
  if (leader_ == 0) return false;
  const auto here = std::ranges::count_if(own_, [this](int64_t id) { return IsVoter(id) && Serves(id); });
  return !own_.contains(leader_) || in_sync_ > here;
}

std::string Ensemble::WhyNoQuorum() const {
  if (leader_ == 0) return "no single leader is known";
  const auto voters = static_cast<int64_t>(voters_.size());
  if (in_sync_ < Majority(voters)) {
    return fmt::format("{} of {} voters are in sync with server {}", std::max<int64_t>(in_sync_, 0), voters, leader_);
  }
  return "";
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
