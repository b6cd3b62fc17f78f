// Who leads, and who follows.
#include <algorithm>
#include <tuple>

#include "sim/world/zookeeper_model.h"

namespace evenkeel::sim {
namespace {

using namespace std::chrono_literals;

/// After the last vote that changed something, servers wait a little for more of them.
constexpr base::Duration kRoundMin = 200ms;
constexpr base::Duration kRoundMax = 900ms;
constexpr base::Duration kSyncMin = 50ms;
constexpr base::Duration kSyncMax = 600ms;

}  // namespace

void ZooKeeperModel::Changed() {
  if (electing_) return;
  if (std::ranges::none_of(servers_, [](const auto& item) { return item.second.state == State::kLooking; })) return;
  electing_ = true;
  After(random_.Between(kRoundMin, kRoundMax), [this] {
    electing_ = false;
    Elect();
  });
}

void ZooKeeperModel::Elect() {
  Learn();
  Join();
  Vote();
}

void ZooKeeperModel::Learn() {
  for (bool again = true; again;) {
    again = false;
    for (auto& [handle, server] : servers_) {
      if (server.state != State::kLooking) continue;
      for (const auto& [other, peer] : servers_) {
        if (peer.members.version <= server.members.version || !Linked(server, peer)) continue;
        TakeMembers(server, peer.members);
        again = true;
      }
    }
  }
}

void ZooKeeperModel::Join() {
  for (auto& [handle, server] : servers_) {
    if (server.state != State::kLooking) continue;
    for (const auto& [other, leader] : servers_) {
      const zookeeper::ServerLine* line = zookeeper::FindServer(server.members.servers, leader.start.id);
      if (!leader.leads() || line == nullptr || Resolve(server, *line) != &leader) continue;
      Handles heard = InLine(leader, false);
      std::erase_if(heard, [&](Handle peer) { return !Linked(server, *Get(peer)); });
      if (!HasQuorum(server, heard)) continue;
      server.state = State::kFollowing;
      server.leader = other;
      const uint64_t turn = ++server.turn;
      After(random_.Between(kSyncMin, kSyncMax), [this, follower = handle, turn, epoch = leader.epoch] {
        Server* joined = Get(follower);
        if (joined == nullptr || joined->turn != turn) return;
        const Server* to = Get(joined->leader);
        if (to == nullptr || !to->leads() || to->epoch != epoch || !Linked(*joined, *to)) return Look(*joined);
        BringInLine(*joined, *to);
        Replicate(to->handle, epoch);
      });
      break;
    }
  }
}

ZooKeeperModel::Handle ZooKeeperModel::ChoiceOf(const Server& voter) const {
  const std::set<int64_t> voters = voter.members.Voters();
  if (!voters.contains(voter.start.id)) return 0;
  const auto rank = [](const Server& server) {
    return std::tuple(server.disk().current_epoch, server.disk().last_zxid(), server.start.id);
  };
  const Server* best = &voter;
  for (const auto& [handle, server] : servers_) {
    if (server.state != State::kLooking || !voters.contains(server.start.id) || !Linked(voter, server)) continue;
    if (rank(server) > rank(*best)) best = &server;
  }
  return best->handle;
}

void ZooKeeperModel::Vote() {
  std::map<Handle, Handles> votes;
  for (const auto& [handle, server] : servers_) {
    if (server.state != State::kLooking) continue;
    if (const Handle choice = ChoiceOf(server); choice != 0) votes[choice].insert(handle);
  }
  for (auto& [elected, voters] : votes) {
    // Each of them has to hear a majority of its own list.
    const auto hears_too_few = [&, &all = voters](Handle voter) {
      Handles heard = all;
      std::erase_if(heard, [&](Handle other) { return !Linked(*Get(voter), *Get(other)); });
      return !HasQuorum(*Get(voter), heard);
    };
    while (std::erase_if(voters, hears_too_few) > 0) {
    }
    if (!voters.contains(elected)) continue;
    for (const Handle handle : voters) {
      Server& server = *Get(handle);
      server.state = handle == elected ? State::kLeading : State::kFollowing;
      server.leader = handle == elected ? 0 : elected;
      ++server.turn;
    }
    After(random_.Between(kSyncMin, kSyncMax),
          [this, handle = elected, turn = Get(elected)->turn] { Establish(handle, turn); });
  }
}

void ZooKeeperModel::Establish(Handle handle, uint64_t turn) {
  Server* leader = Get(handle);
  if (leader == nullptr || leader->turn != turn) return;
  Handles quorum{handle};
  int64_t epoch = leader->disk().accepted_epoch;
  for (const auto& [other, server] : servers_) {
    if (server.leader != handle || !Linked(server, *leader)) continue;
    quorum.insert(other);
    epoch = std::max(epoch, server.disk().accepted_epoch);
  }
  if (!HasQuorum(*leader, quorum)) return Look(*leader);
  leader->epoch = epoch + 1;
  leader->counter = 0;
  leader->synced = true;
  last_served_[leader->start.id] = leader->start.uid;
  leader->disk().accepted_epoch = leader->disk().current_epoch = leader->epoch;
  // The list of a file counts from now on as agreed on, and goes before any other that does not.
  if (leader->start.reconfigurable && leader->members.version == 0) {
    leader->disk().proposed = leader->members;
    leader->disk().proposed->version = leader->epoch << 32;
  }
  for (const Handle other : quorum) {
    if (other != handle) BringInLine(*Get(other), *leader);
  }
  const ZooKeeperServerView view = ViewOf(handle);
  for (ZooKeeperObserver* observer : observers_) observer->OnLeading(view, leader->epoch, leader->disk());
  Replicate(handle, leader->epoch);
  Changed();
}

void ZooKeeperModel::BringInLine(Server& follower, const Server& leader) {
  ZooKeeperDisk& disk = follower.disk();
  disk.accepted_epoch = disk.current_epoch = leader.epoch;
  disk.log = leader.disk().log;
  disk.proposed = leader.disk().proposed;
  follower.epoch = leader.epoch;
  follower.synced = true;
  last_served_[follower.start.id] = follower.start.uid;
  if (leader.members.version > 0) TakeMembers(follower, leader.members);
}

void ZooKeeperModel::Look(Server& server) {
  const bool led = server.state == State::kLeading;
  server.state = State::kLooking;
  server.leader = 0;
  server.synced = false;
  server.requests.clear();
  ++server.turn;
  if (led) {
    for (auto& [handle, other] : servers_) {
      if (other.leader == server.handle) Look(other);
    }
  }
  Changed();
}

void ZooKeeperModel::LoseFollowers(const Handles& lost, base::Duration notice_min, base::Duration notice_max) {
  for (const Handle handle : lost) {
    After(random_.Between(notice_min, notice_max), [this, handle, turn = Get(handle)->turn] {
      Server* follower = Get(handle);
      if (follower == nullptr || follower->turn != turn) return;
      Server* leader = Get(follower->leader);
      if (leader != nullptr && Linked(*follower, *leader)) return;
      Look(*follower);
      if (leader != nullptr) CheckQuorum(*leader);
    });
  }
}

void ZooKeeperModel::CheckQuorum(Server& leader) {
  if (leader.leads() && !HasQuorum(leader, InLine(leader, false))) Look(leader);
}

}  // namespace evenkeel::sim
