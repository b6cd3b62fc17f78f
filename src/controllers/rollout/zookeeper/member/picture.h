// All that is known of one ZooKeeper in its cluster at one instant: the input of the planner.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/rollout/zookeeper/member/desired_member.h"
#include "controllers/rollout/zookeeper/member/probe.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

struct ServerPod {
  std::string name, uid;
  std::string version;  ///< resourceVersion that it was seen at
  int64_t ordinal = 0, id = 0;
  std::string ip;
  std::string revision;      ///< kPodRevision that it was made with
  std::string asked{};       ///< kAsked (asked.h) that it was made for; "": nobody says
  bool terminating = false;  ///< also when its deletion has been asked for and is not seen yet
  bool running = false;      ///< the container of its server runs
  bool ready = false;        ///< Kubernetes counts it as ready: its server has served within the last probes of the kubelet
  std::string problem{};     ///< why its server does not run, as Kubernetes says it
};

struct VolumeClaim {
  std::string name, uid;
  std::string version;  ///< resourceVersion that it was seen at
  int64_t ordinal = 0;
  bool doubted = false;  ///< its deletion was asked for, but not answered, and may still come
};

/// Of the ConfigMap, as it is.
struct PodFiles {
  std::string config, script;  ///< zoo.cfg and server.sh
  std::string asked, hash;     ///< kAsked, kFiles
};

struct Picture {
  MemberSpec spec;
  std::string super_digest;             ///< of the password that servers are started with
  std::string password;                 ///< itself
  std::optional<int64_t> set_replicas;  ///< of the StatefulSet; nullopt: there is none
  std::string set_revision;             ///< kPodRevision that its pods are made with
  std::string set_asked;                ///< kAsked that it was written for; "": nobody says
  std::set<std::string> made_as;        ///< kMadeAs
  PodFiles files;
  std::vector<ServerPod> pods;      ///< by id
  std::vector<VolumeClaim> claims;  ///< of servers' volumes, without those that are being deleted
  /// Answers of the servers here, by the uid of the pod that was asked: what the one before it said does not count.
  std::map<std::string, Answer> own;
  /// Answers of servers in other clusters, as far as they can be reached, by id.
  std::map<int64_t, Answer> others;
  /// Servers in other clusters that have not been known to serve for less long than a leader takes to notice: they were silent,
  /// answered that they do not serve, or have not been asked yet.
  std::set<int64_t> newly_silent;
  /// Uids of pods here whose servers may serve, for it is not long ago that they did, or that they were first asked.
  std::set<std::string> lately;
  bool formed = false;  ///< a quorum has been seen before
  /// All that spec.rolloutRevision asks for has been done once. Pods that a newer program would make differently wait for
  /// another one, since only the hub knows whose turn it is.
  bool carried_out = false;
  /// The status says of this very spec that all pods here are as it wants them.
  bool complete = false;
  /// The servers here that were members when spec.rolloutRevision had been carried out; none as long as it has not.
  std::set<int64_t> settled;
};

/// The members of a picture's ensemble as their answers show them.
class Ensemble {
 public:
  explicit Ensemble(const Picture& picture);

  /// 0: none, or several say so.
  int64_t leader() const { return leader_; }
  /// Agreed on by the ensemble; empty while no leader is known.
  const std::vector<ServerLine>& servers() const { return servers_; }
  const std::string& config_version() const { return config_version_; }
  /// The leader's; without one, the newest that any server which serves has heard of. A leader need not be in the list that is
  /// wanted: among these it is. Empty: nobody says.
  const std::vector<ServerLine>& heard() const { return heard_; }
  /// A quorum is there, or was.
  bool formed() const { return formed_; }
  /// nullptr: it has not answered.
  const Answer* Of(int64_t id) const;
  Mode ModeOf(int64_t id) const;
  bool Serves(int64_t id) const { return ModeOf(id) != Mode::kNotServing; }
  /// Of a server here: it serves, or it is only for a moment that it does not, or gives no answer. One that stands still for a
  /// second (it collects garbage, its disk is slow) or followed a leader that has just gone is one of a majority all the same;
  /// whoever is dead is no longer ready after a few seconds.
  bool MayServe(int64_t id) const { return Serves(id) || may_serve_.contains(id); }
  bool IsVoter(int64_t id) const { return voters_.contains(id); }
  bool IsMember(int64_t id) const { return FindServer(servers_, id) != nullptr; }
  /// Why the voters other than `except` are not known to be in sync with one leader; "" when they are. A server that
  /// does not answer here counts if the leader says so, and has had the time to notice.
  std::string WhyNotInSync(const std::set<int64_t>& except) const;
  /// A voter of another cluster leads or follows: the servers here are not an ensemble by themselves.
  bool HasVotersElsewhere() const;
  /// Why there is no healthy majority; "" when there is.
  std::string WhyNoQuorum() const;

 private:
  std::map<int64_t, const Answer*> answers_;
  std::set<int64_t> own_;        // servers of this cluster that should answer
  std::set<int64_t> may_serve_;  // of them
  std::set<int64_t> newly_silent_;
  int64_t leader_ = 0;
  bool formed_ = false;
  std::vector<ServerLine> servers_, heard_;
  std::set<int64_t> voters_;
  std::string config_version_;
  int64_t in_sync_ = -1;  // voters, the leader included
};

}  // namespace evenkeel::controllers::rollout::zookeeper::member
