#include "embedded/federation/policies/division.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

#include "base/hash.h"

namespace evenkeel::embedded::federation {
namespace {

struct DividedParty {
  std::string name;
  int64_t votes = 0;
  int64_t seats = 0;
};

__extension__ using Wide = __int128;

bool GoesFirst(const DividedParty& a, const DividedParty& b, TieBreak tie_break) {
  // votes / (2 * seats + 1), without fractions.
  const Wide left = Wide{a.votes} * (2 * Wide{b.seats} + 1);
  const Wide right = Wide{b.votes} * (2 * Wide{a.seats} + 1);
  if (left != right) return left > right;
  if (a.seats != b.seats) return a.seats < b.seats;
  return tie_break == TieBreak::kNameAscending ? a.name < b.name : a.name > b.name;
}

/// What each party gets whatever the order is: with k parties and n seats, the divisor that gives n seats is at most
/// total / (n - k / 2), so a party has at least votes * (n - k / 2) / total - 1/2.
int64_t GiveWhatIsCertain(std::vector<DividedParty>& parties, int64_t seats) {
  Wide total = 0;
  for (const DividedParty& party : parties) {
    if (party.seats != 0) return seats;
    total += party.votes;
  }
  const Wide twice = 2 * Wide{seats} - static_cast<Wide>(parties.size());
  if (total == 0 || twice <= 0) return seats;
  for (DividedParty& party : parties) {
    party.seats = static_cast<int64_t>(std::max<Wide>(0, Wide{party.votes} * twice / (2 * total) - 1));
    seats -= party.seats;
  }
  return seats;
}

int64_t SumOf(const Votes& votes) {
  return std::accumulate(votes.begin(), votes.end(), int64_t{0},
                         [](int64_t sum, const auto& item) { return sum + item.second; });
}

base::Result<std::vector<Share>> NoRoom(int64_t wanted, int64_t room) {
  return base::Fail(
      base::Code::kInfeasible,
      fmt::format("clusters resources are not enough to schedule, max {} replicas are support, {} are wanted", room, wanted));
}

/// `available` in the order of preference. Aggregated: the shortest prefix that has room.
base::Result<std::vector<Share>> DivideByRoom(const DivisionProblem& problem, int64_t replicas, std::vector<Share> available) {
  int64_t room = 0;
  for (const Share& share : available) room += share.replicas;
  if (room < replicas) return NoRoom(replicas, room);
  Votes votes;
  int64_t taken = 0;
  for (const Share& share : available) {
    if (problem.division == Division::kAggregated && taken >= replicas) break;
    votes[share.name] = share.replicas;
    taken += share.replicas;
  }
  return Webster(replicas, votes, {}, problem.tie_break);
}

void MostFirst(std::vector<Share>& shares) {
  std::ranges::stable_sort(shares, [](const Share& a, const Share& b) {
    return a.replicas != b.replicas ? a.replicas > b.replicas : a.name < b.name;
  });
}

base::Result<std::vector<Share>> DivideDynamically(const DivisionProblem& problem) {
  Votes previous;
  for (const DivisionCandidate& candidate : problem.candidates) {
    const auto found = problem.previous.find(candidate.name);
    if (!problem.fresh && found != problem.previous.end() && found->second > 0) previous.insert(*found);
  }
  const int64_t scheduled = SumOf(previous);
  std::vector<Share> shares;
  if (scheduled >= problem.replicas) {
    for (const auto& [name, replicas] : previous) shares.push_back({name, replicas});
    if (scheduled == problem.replicas) return shares;
    MostFirst(shares);
    return DivideByRoom(problem, problem.replicas, std::move(shares));
  }
  for (const DivisionCandidate& candidate : problem.candidates) shares.push_back({candidate.name, candidate.available});
  MostFirst(shares);
  if (problem.division == Division::kAggregated)
    std::ranges::stable_partition(shares, [&](const Share& share) { return previous.contains(share.name); });
  EVENKEEL_ASSIGN(const std::vector<Share> more, DivideByRoom(problem, problem.replicas - scheduled, std::move(shares)));
  for (const Share& share : more) previous[share.name] += share.replicas;
  shares.clear();
  for (const auto& [name, replicas] : previous) shares.push_back({name, replicas});
  return shares;
}

std::vector<Share> DivideByWeights(const DivisionProblem& problem) {
  Votes votes;
  for (const DivisionCandidate& candidate : problem.candidates) {
    if (candidate.weight > 0) votes[candidate.name] = candidate.weight;
  }
  if (votes.empty()) {
    for (const DivisionCandidate& candidate : problem.candidates) votes[candidate.name] = 1;
  }
  return Webster(problem.replicas, votes, {}, problem.tie_break);
}

}  // namespace

TieBreak TieBreakOf(std::string_view uid) {
  return !uid.empty() && base::Fnv1a32(uid) % 2 == 1 ? TieBreak::kNameDescending : TieBreak::kNameAscending;
}

std::vector<Share> Webster(int64_t seats, const Votes& votes, const Votes& initial, TieBreak tie_break) {
  std::map<std::string, DividedParty> all;
  for (const auto& [name, count] : votes) all[name] = {name, count, 0};
  for (const auto& [name, count] : initial) {
    all[name].name = name;
    all[name].seats = count;
  }
  std::vector<DividedParty> parties;
  for (auto& [name, party] : all) parties.push_back(std::move(party));
  if (votes.empty()) seats = 0;
  for (seats = GiveWhatIsCertain(parties, seats); seats > 0; --seats) {
    auto next = std::ranges::min_element(
        parties, [&](const DividedParty& a, const DividedParty& b) { return GoesFirst(a, b, tie_break); });
    ++next->seats;
  }
  std::vector<Share> shares;
  for (DividedParty& party : parties) shares.push_back({std::move(party.name), party.seats});
  return shares;
}

base::Result<std::vector<Share>> Divide(const DivisionProblem& problem) {
  if (problem.candidates.empty()) return base::Fail(base::Code::kInfeasible, "no clusters available to schedule");
  std::vector<Share> shares;
  if (!problem.workload || problem.replicas == 0 || problem.division == Division::kDuplicated) {
    for (const DivisionCandidate& candidate : problem.candidates)
      shares.push_back({candidate.name, problem.workload ? problem.replicas : 0});
    std::ranges::sort(shares, {}, &Share::name);
    return shares;
  }
  if (problem.division == Division::kStaticWeights) {
    shares = DivideByWeights(problem);
  } else {
    EVENKEEL_ASSIGN(shares, DivideDynamically(problem));
  }
  std::erase_if(shares, [](const Share& share) { return share.replicas == 0; });
  return shares;
}

}  // namespace evenkeel::embedded::federation
