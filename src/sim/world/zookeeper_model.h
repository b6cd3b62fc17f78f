// ZooKeeper servers in virtual time, as far as losing a majority, a leader or a write goes: elections by majority of the list
// that each server itself has, epochs, a log that followers are brought in line with, writes that a majority must have, and
// changes of the members as ZooKeeper agrees on them. Two lists whose majorities need not meet do form two ensembles here.
//
// Event-driven: nothing happens while nobody writes and nothing changes. What is simpler than in the real one: votes go to
// those who can be heard directly, a follower is brought in line at one instant, sessions, snapshots and reads are left out.
// Source: Zab (Junqueira et al., DSN 2011), dynamic reconfiguration (Shraer et al., ATC 2012), ZooKeeper's administrator's
// guide.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "controllers/rollout/zookeeper/member/probe.h"
#include "controllers/rollout/zookeeper/member/server_line.h"

namespace evenkeel::sim {

namespace zookeeper = controllers::rollout::zookeeper::member;

/// A list of servers; version 0 is one from a file, which nobody has agreed on yet.
struct ZooKeeperMembers {
  int64_t version = 0;
  std::vector<zookeeper::ServerLine> servers;  ///< by id

  std::set<int64_t> Voters() const { return zookeeper::VotersOf(servers); }
};

/// What a server keeps on its volume.
struct ZooKeeperDisk {
  struct Entry {
    int64_t zxid = 0;
    int64_t value = 0;  ///< of a client's write; 0: a change of the members
  };
  int64_t accepted_epoch = 0, current_epoch = 0;
  std::vector<Entry> log;
  ZooKeeperMembers agreed;                   ///< version 0: none yet
  std::optional<ZooKeeperMembers> proposed;  ///< is in the log, but was not known to be committed

  int64_t last_zxid() const { return log.empty() ? 0 : log.back().zxid; }
};

/// What a server is started with.
struct ZooKeeperStart {
  std::string place{};  ///< the cluster it runs in; the network is cut between places
  std::string name{};   ///< of its pod, for people
  std::string host{};   ///< under which name others find it
  std::string uid{};    ///< of its pod
  std::string address{};
  int64_t id = 0;
  std::vector<zookeeper::ServerLine> given{};  ///< the list in its file, by id
  bool reconfigurable = true;                  ///< false: the file always counts, and nothing is agreed on
  std::string super_digest{};
  std::shared_ptr<ZooKeeperDisk> disk{};
};

/// A server that runs, as an outsider with eyes everywhere sees it.
struct ZooKeeperServerView {
  uint64_t handle = 0;
  std::string place{}, name{}, uid{};
  int64_t id = 0;
  zookeeper::Mode mode = zookeeper::Mode::kNotServing;
  uint64_t leader = 0;  ///< handle; its own of one that leads, 0 of one that does not serve
};

class ZooKeeperObserver {
 public:
  virtual ~ZooKeeperObserver() = default;
  /// A leader has a majority in line with it. `disk` is its own.
  virtual void OnLeading(const ZooKeeperServerView& /*leader*/, int64_t /*epoch*/, const ZooKeeperDisk& /*disk*/) {}
  /// It has committed something.
  virtual void OnCommitted(const ZooKeeperServerView& /*leader*/, int64_t /*epoch*/) {}
  /// These are the members from now on.
  virtual void OnMembers(const ZooKeeperMembers& /*members*/) {}
};

class ZooKeeperModel {
 public:
  using Handle = uint64_t;
  static constexpr base::Duration kTick = std::chrono::seconds(2);
  /// A connection that carries nothing is given up after so long at most.
  static constexpr base::Duration kSilenceMax = std::chrono::seconds(10);

  /// Whether a password is the one of a server's super digest.
  using Authenticator = std::function<bool(const std::string& password, const std::string& super_digest)>;

  /// The executor must outlive it.
  ZooKeeperModel(base::Executor& executor, base::Random random, Authenticator authenticates);
  ~ZooKeeperModel();

  void Observe(ZooKeeperObserver* observer) { observers_.push_back(observer); }

  /// A process begins. kInvalid: it ends at once, since its own id is in no list.
  base::Result<Handle> Run(ZooKeeperStart start);
  /// It ends, in whatever way. What it has not written to its disk does not exist.
  void Stop(Handle server);

  /// No server of one place hears any of another from now on.
  void Cut(const std::string& one, const std::string& other);
  void Heal(const std::string& one, const std::string& other);
  void HealAll();

  /// By host or address; 0: nothing answers there.
  Handle Find(const std::string& host, int port) const;
  /// What it says of itself. Of a server that runs.
  zookeeper::Answer AnswerOf(Handle server) const;
  /// `done` is called once, when the change is committed or refused; never if no answer comes. Codes: member::Probe.
  void Reconfigure(Handle via, const zookeeper::Reconfiguration& change, std::function<void(base::Status)> done);
  /// A client writes through any server that serves. `done` is called when the write is acknowledged; perhaps never.
  void Write(int64_t value, std::function<void()> done);

  /// By handle.
  std::vector<ZooKeeperServerView> Servers() const;
  ZooKeeperServerView ViewOf(Handle server) const;
  /// The newest that was agreed on; version 0 before the first.
  const ZooKeeperMembers& agreed() const { return agreed_; }
  /// Members that vote and serve under the newest leader who has them.
  std::set<int64_t> HealthyVoters() const;
  /// The uid of whoever was the last to serve, be it for a moment, under this id; "": nobody has.
  std::string LastServed(int64_t id) const {
    const auto found = last_served_.find(id);
    return found == last_served_.end() ? "" : found->second;
  }
  base::Instant Now() const { return clock_.Monotonic(); }

 private:
  enum class State { kLooking, kFollowing, kLeading };
  struct Request {
    int64_t zxid = 0;
    std::function<void()> done;
  };
  struct Server {
    Handle handle = 0;
    ZooKeeperStart start;
    zookeeper::ServerLine own;  ///< where it listens
    ZooKeeperMembers members;   ///< that it knows to be agreed on, or from its file
    State state = State::kLooking;
    Handle leader = 0;
    uint64_t turn = 0;    ///< grows with each change of state: what was arranged before it is void then
    bool synced = false;  ///< with its leader; of a leader: a majority is
    int64_t epoch = 0, counter = 0;
    std::vector<Request> requests;  ///< of a leader, in the order of the log

    ZooKeeperDisk& disk() const { return *start.disk; }
    bool leads() const { return state == State::kLeading && synced; }
    bool serves() const { return state != State::kLooking && synced; }
  };
  using Handles = std::set<Handle>;

  // zookeeper_model.cc
  Server* Get(Handle handle);
  const Server* Get(Handle handle) const;
  void After(base::Duration delay, base::Task task);
  bool Linked(const Server& one, const Server& other) const;
  /// The server that a line of somebody's list leads to; null when there is none.
  const Server* Resolve(const Server& from, const zookeeper::ServerLine& line) const;
  /// Whether these are a majority of the voters in the lists that the server has.
  bool HasQuorum(const Server& server, const Handles& among) const;
  Handles InLine(const Server& leader, bool linked_only) const;
  void Append(Server& leader, int64_t value);
  void Replicate(Handle handle, int64_t epoch);
  void CommitMembers(Server& leader);
  void TakeMembers(Server& server, const ZooKeeperMembers& members);

  // zookeeper_elections.cc
  void Changed();
  void Elect();
  void Learn();
  void Join();
  void Vote();
  Handle ChoiceOf(const Server& voter) const;
  void Establish(Handle handle, uint64_t turn);
  void BringInLine(Server& follower, const Server& leader);
  void Look(Server& server);
  void LoseFollowers(const Handles& lost, base::Duration notice_min, base::Duration notice_max);
  void CheckQuorum(Server& leader);

  base::Clock& clock_;
  base::Random random_;
  const Authenticator authenticates_;
  const std::shared_ptr<base::Strand> strand_;
  std::vector<ZooKeeperObserver*> observers_;
  std::map<Handle, Server> servers_;
  std::set<std::pair<std::string, std::string>> cuts_;
  ZooKeeperMembers agreed_;
  std::map<int64_t, std::string> last_served_;  ///< uids by id
  Handle next_handle_ = 1;
  bool electing_ = false;
  uint64_t next_timer_ = 0;
  std::map<uint64_t, base::Timer> timers_;
};

}  // namespace evenkeel::sim
