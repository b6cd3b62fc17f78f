#include "sim/world/zookeeper_model.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "controllers/rollout/budget.h"

namespace evenkeel::sim {
namespace {

using base::Code;
using base::Fail;
using base::Status;
using zookeeper::ServerLine;
using namespace std::chrono_literals;

/// A record is on a majority's disks after so long.
constexpr base::Duration kCommitMin = 2ms;
constexpr base::Duration kCommitMax = 12ms;
/// The end of a process closes its connections.
constexpr base::Duration kResetMin = 10ms;
constexpr base::Duration kResetMax = 200ms;

std::pair<std::string, std::string> PairOf(const std::string& one, const std::string& other) {
  return {std::min(one, other), std::max(one, other)};
}

std::optional<ZooKeeperMembers> MembersAfter(const ZooKeeperMembers& present, const zookeeper::Reconfiguration& change) {
  ZooKeeperMembers next = present;
  std::erase_if(next.servers,
                [&](const ServerLine& line) { return std::ranges::find(change.leaving, line.id) != change.leaving.end(); });
  for (const std::string& text : change.joining) {
    const auto line = zookeeper::ParseServerLine(text);
    if (!line) return std::nullopt;
    std::erase_if(next.servers, [&](const ServerLine& other) { return other.id == line->id; });
    // Two servers at one place are refused.
    for (const ServerLine& other : next.servers) {
      if (other.host == line->host && other.quorum_port == line->quorum_port) return std::nullopt;
    }
    next.servers.push_back(*line);
  }
  std::ranges::sort(next.servers, {}, &ServerLine::id);
  if (next.Voters().empty()) return std::nullopt;
  return next;
}

}  // namespace

ZooKeeperModel::ZooKeeperModel(base::Executor& executor, base::Random random, Authenticator authenticates)
    : clock_(executor.clock()),
      random_(random),
      authenticates_(std::move(authenticates)),
      strand_(executor.NewStrand("zookeeper")) {}

ZooKeeperModel::~ZooKeeperModel() { strand_->Close(); }

ZooKeeperModel::Server* ZooKeeperModel::Get(Handle handle) {
  const auto found = servers_.find(handle);
  return found == servers_.end() ? nullptr : &found->second;
}

const ZooKeeperModel::Server* ZooKeeperModel::Get(Handle handle) const {
  const auto found = servers_.find(handle);
  return found == servers_.end() ? nullptr : &found->second;
}

void ZooKeeperModel::After(base::Duration delay, base::Task task) {
  const uint64_t id = next_timer_++;
  timers_[id] = strand_->PostAfter(delay, [this, id, task = std::move(task)]() mutable {
    const auto done = timers_.extract(id);
    task();
  });
}

base::Result<ZooKeeperModel::Handle> ZooKeeperModel::Run(ZooKeeperStart start) {
  Server server;
  const ZooKeeperMembers& kept = start.disk->agreed;
  const bool keeps = start.reconfigurable && kept.version > 0 && zookeeper::FindServer(kept.servers, start.id) != nullptr;
  server.members = keeps ? kept : ZooKeeperMembers{0, start.given};
  const ServerLine* own = zookeeper::FindServer(server.members.servers, start.id);
  if (own == nullptr) return Fail(Code::kInvalid, fmt::format("My id {} not in the peer list", start.id));
  server.own = *own;
  server.handle = next_handle_++;
  server.start = std::move(start);
  const Handle handle = server.handle;
  servers_.emplace(handle, std::move(server));
  Changed();
  return handle;
}

void ZooKeeperModel::Stop(Handle handle) {
  const auto stopped = servers_.extract(handle);
  if (stopped.empty()) return;
  Handles lost;
  for (const auto& [other, server] : servers_) {
    if (server.leader == handle) lost.insert(other);
  }
  LoseFollowers(lost, kResetMin, kResetMax);
  // A leader counts its followers once per tick.
  const Handle leader = stopped.mapped().leader;
  After(random_.Between(kTick / 4, kTick), [this, leader] {
    if (Server* server = Get(leader)) CheckQuorum(*server);
  });
  Changed();
}

void ZooKeeperModel::Cut(const std::string& one, const std::string& other) {
  if (!cuts_.insert(PairOf(one, other)).second) return;
  Handles lost;
  for (const auto& [handle, server] : servers_) {
    const Server* leader = Get(server.leader);
    if (leader != nullptr && leader != &server && !Linked(server, *leader)) lost.insert(handle);
  }
  LoseFollowers(lost, kSilenceMax * 2 / 5, kSilenceMax);
}

void ZooKeeperModel::Heal(const std::string& one, const std::string& other) {
  if (cuts_.erase(PairOf(one, other)) == 0) return;
  std::vector<std::pair<Handle, int64_t>> leaders;
  for (const auto& [handle, server] : servers_) {
    if (server.leads()) leaders.emplace_back(handle, server.epoch);
  }
  for (const auto& [handle, epoch] : leaders) Replicate(handle, epoch);
  Changed();
}

void ZooKeeperModel::HealAll() {
  const auto cuts = cuts_;
  for (const auto& [one, other] : cuts) Heal(one, other);
}

const ZooKeeperModel::Server* ZooKeeperModel::Resolve(const Server& from, const ServerLine& line) const {
  for (const auto& [handle, server] : servers_) {
    if (server.start.id != line.id || server.start.host != line.host) continue;
    if (server.own.quorum_port != line.quorum_port || server.own.election_port != line.election_port) continue;
    if (&server == &from || !cuts_.contains(PairOf(from.start.place, server.start.place))) return &server;
  }
  return nullptr;
}

bool ZooKeeperModel::Linked(const Server& one, const Server& other) const {
  if (&one == &other) return true;
  const auto knows = [this](const Server& from, const Server& to) {
    const ZooKeeperMembers* proposed = from.disk().proposed ? &*from.disk().proposed : nullptr;
    for (const ZooKeeperMembers* list : {&from.members, proposed}) {
      const ServerLine* line = list == nullptr ? nullptr : zookeeper::FindServer(list->servers, to.start.id);
      if (line != nullptr && Resolve(from, *line) == &to) return true;
    }
    return false;
  };
  // Who is called by a stranger calls back.
  return knows(one, other) || knows(other, one);
}

bool ZooKeeperModel::HasQuorum(const Server& server, const Handles& among) const {
  const auto majority = [&](const ZooKeeperMembers& list) {
    int64_t voters = 0, present = 0;
    for (const ServerLine& line : list.servers) {
      if (line.observer) continue;
      ++voters;
      present += std::ranges::any_of(among, [&](Handle handle) {
        const Server* other = Get(handle);
        return other != nullptr && other->start.id == line.id && other->start.host == line.host;
      });
    }
    return voters > 0 && present >= controllers::rollout::Majority(voters);
  };
  if (!majority(server.members)) return false;
  const auto& proposed = server.disk().proposed;
  return !proposed || proposed->version <= server.members.version || majority(*proposed);
}

ZooKeeperModel::Handles ZooKeeperModel::InLine(const Server& leader, bool linked_only) const {
  Handles handles{leader.handle};
  for (const auto& [handle, server] : servers_) {
    if (server.leader != leader.handle || !server.synced) continue;
    if (!linked_only || Linked(server, leader)) handles.insert(handle);
  }
  return handles;
}

void ZooKeeperModel::TakeMembers(Server& server, const ZooKeeperMembers& members) {
  if (!server.start.reconfigurable) return;
  server.members = server.disk().agreed = members;
  auto& proposed = server.disk().proposed;
  if (proposed && proposed->version <= members.version) proposed.reset();
}

void ZooKeeperModel::Append(Server& leader, int64_t value) {
  leader.disk().log.push_back({(leader.epoch << 32) + ++leader.counter, value});
}

void ZooKeeperModel::Replicate(Handle handle, int64_t epoch) {
  Server* leader = Get(handle);
  if (leader == nullptr || !leader->leads() || leader->epoch != epoch) return;
  const Handles acks = InLine(*leader, true);
  const std::vector<ZooKeeperDisk::Entry>& log = leader->disk().log;
  for (const Handle other : acks) {
    if (other == handle) continue;
    ZooKeeperDisk& disk = Get(other)->disk();
    disk.log.insert(disk.log.end(), log.begin() + static_cast<ptrdiff_t>(disk.log.size()), log.end());
    disk.proposed = leader->disk().proposed;
  }
  if (!HasQuorum(*leader, acks)) return;
  const auto& proposed = leader->disk().proposed;
  const bool has_news = !leader->requests.empty() || proposed.has_value();
  std::vector<Request> done = std::exchange(leader->requests, {});
  if (has_news) {
    const ZooKeeperServerView view = ViewOf(handle);
    for (ZooKeeperObserver* observer : observers_) observer->OnCommitted(view, epoch);
  }
  if (proposed) CommitMembers(*leader);
  for (const Request& request : done) request.done();
}

void ZooKeeperModel::CommitMembers(Server& leader) {
  const ZooKeeperMembers next = *leader.disk().proposed;
  for (const Handle other : InLine(leader, true)) TakeMembers(*Get(other), next);
  if (next.version > agreed_.version) {
    agreed_ = next;
    for (ZooKeeperObserver* observer : observers_) observer->OnMembers(agreed_);
  }
  // Who has no vote any more does not lead any more.
  if (!next.Voters().contains(leader.start.id)) Look(leader);
}

ZooKeeperModel::Handle ZooKeeperModel::Find(const std::string& host, int port) const {
  for (const auto& [handle, server] : servers_) {
    if ((server.start.host == host || server.start.address == host) && server.own.client_port == port) return handle;
  }
  return 0;
}

zookeeper::Answer ZooKeeperModel::AnswerOf(Handle handle) const {
  const Server& server = *Get(handle);
  zookeeper::Answer answer;
  if (!server.serves()) return answer;
  const ServerLine* own = zookeeper::FindServer(server.members.servers, server.start.id);
  answer.mode = server.state == State::kLeading   ? zookeeper::Mode::kLeader
                : own != nullptr && own->observer ? zookeeper::Mode::kObserver
                                                  : zookeeper::Mode::kFollower;
  answer.zxid = fmt::format("{:#x}", server.disk().last_zxid());
  answer.servers = server.members.servers;
  answer.config_version = fmt::format("{:x}", server.members.version);
  if (!server.leads()) return answer;
  answer.synced_voters = 0;
  const std::set<int64_t> voters = server.members.Voters();
  for (const Handle other : InLine(server, false)) {
    answer.synced_voters += other != handle && voters.contains(Get(other)->start.id);
  }
  return answer;
}

void ZooKeeperModel::Reconfigure(Handle via, const zookeeper::Reconfiguration& change, std::function<void(Status)> done) {
  const Server* server = Get(via);
  if (server == nullptr || !server->serves()) return done(Fail(Code::kUnavailable, "connection loss"));
  Server* leader = Get(server->state == State::kLeading ? via : server->leader);
  if (leader == nullptr || !leader->leads() || !Linked(*server, *leader)) return;
  if (!authenticates_(change.password, server->start.super_digest)) return done(Fail(Code::kForbidden, "not authenticated"));
  if (!leader->start.reconfigurable) return done(Fail(Code::kForbidden, "reconfiguration is disabled"));
  if (change.from_version != fmt::format("{:x}", leader->members.version)) return done(Fail(Code::kConflict, "bad version"));
  if (leader->disk().proposed) return done(Fail(Code::kConflict, "another reconfiguration is in progress"));
  auto next = MembersAfter(leader->members, change);
  if (!next) return done(Fail(Code::kBadRequest, "bad arguments"));
  next->version = (leader->epoch << 32) + leader->counter + 1;
  Server trial = *leader;
  trial.members = *next;
  if (!HasQuorum(trial, InLine(*leader, false))) {
    return done(Fail(Code::kUnavailable, "no quorum of the new configuration is connected and up to date"));
  }
  Append(*leader, 0);
  leader->disk().proposed = *std::move(next);
  leader->requests.push_back({leader->disk().last_zxid(), [done = std::move(done)] { done({}); }});
  After(random_.Between(kCommitMin, kCommitMax),
        [this, handle = leader->handle, epoch = leader->epoch] { Replicate(handle, epoch); });
}

void ZooKeeperModel::Write(int64_t value, std::function<void()> done) {
  std::vector<Server*> leaders;
  for (auto& [handle, server] : servers_) {
    Server* leader = Get(server.state == State::kLeading ? handle : server.leader);
    if (server.serves() && leader != nullptr && leader->leads() && Linked(server, *leader)) leaders.push_back(leader);
  }
  if (leaders.empty()) return;
  Server& leader = *leaders[random_.Below(leaders.size())];
  Append(leader, value);
  leader.requests.push_back({leader.disk().last_zxid(), std::move(done)});
  After(random_.Between(kCommitMin, kCommitMax),
        [this, handle = leader.handle, epoch = leader.epoch] { Replicate(handle, epoch); });
}

ZooKeeperServerView ZooKeeperModel::ViewOf(Handle handle) const {
  const Server& server = *Get(handle);
  return {.handle = handle,
          .place = server.start.place,
          .name = server.start.name,
          .uid = server.start.uid,
          .id = server.start.id,
          .mode = AnswerOf(handle).mode,
          .leader = !server.serves()                  ? 0
                    : server.state == State::kLeading ? handle
                                                      : server.leader};
}

std::vector<ZooKeeperServerView> ZooKeeperModel::Servers() const {
  std::vector<ZooKeeperServerView> views;
  for (const auto& [handle, server] : servers_) views.push_back(ViewOf(handle));
  return views;
}

std::set<int64_t> ZooKeeperModel::HealthyVoters() const {
  const Server* leader = nullptr;
  for (const auto& [handle, server] : servers_) {
    if (server.leads() && (leader == nullptr || server.epoch > leader->epoch)) leader = &server;
  }
  std::set<int64_t> healthy;
  if (leader == nullptr) return healthy;
  const std::set<int64_t> voters = agreed_.Voters();
  for (const Handle handle : InLine(*leader, true)) {
    const int64_t id = Get(handle)->start.id;
    if (voters.contains(id)) healthy.insert(id);
  }
  return healthy;
}

}  // namespace evenkeel::sim
