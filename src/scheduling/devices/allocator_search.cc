#include "scheduling/devices/allocator_search.h"

#include <algorithm>

#include "scheduling/devices/device_capacity.h"

namespace evenkeel::scheduling {
namespace {

/// What one claim can hold.
constexpr size_t kTakenMax = 32;

}  // namespace

AllocatorSearch::Step AllocatorSearch::Claim(size_t claim) {
  if (claim == claims_.size()) return Step::kDone;
  return Request(claim, 0);
}

AllocatorSearch::Step AllocatorSearch::Request(size_t claim, size_t request) {
  std::vector<std::vector<RequestChoice>>& requests = claims_[claim].requests;
  if (request == requests.size()) {
    const Step step = Claim(claim + 1);
    // Another choice in this claim may leave devices with which the next one needs fewer.
    return step == Step::kTooMany ? Step::kNo : step;
  }
  if (!requests[request].front().alternative()) return Choice(claim, request, requests[request].front(), 0, 0);
  bool too_many = true;
  for (size_t i = 0; i < requests[request].size(); ++i) {
    claims_[claim].chosen[request] = i;
    const Step step = Choice(claim, request, requests[request][i], 0, 0);
    if (step == Step::kDone || step == Step::kStop) return step;
    too_many &= step == Step::kTooMany;
  }
  return too_many ? Step::kTooMany : Step::kNo;
}

AllocatorSearch::Step AllocatorSearch::Choice(size_t claim, size_t request, RequestChoice& choice, int64_t device,
                                              uint32_t from) {
  if (++result_.work > input_.work_max) {
    Fail(Allocated::Outcome::kGivenUp, "gave up after " + std::to_string(input_.work_max) + " steps of the search for devices");
    return Step::kStop;
  }
  const bool all = choice.request->mode == DeviceRequest::Mode::kAll;
  if (all && choice.all.empty()) return Step::kNo;
  if (device >= choice.devices) return Request(claim, request + 1);
  if (static_cast<int64_t>(claims_[claim].taken.size()) + choice.devices - device > static_cast<int64_t>(kTakenMax)) {
    return Step::kTooMany;
  }
  if (all) return One(claim, request, choice, device, choice.all[static_cast<size_t>(device)], true);
  for (uint32_t candidate = from; candidate < candidates_.size(); ++candidate) {
    if (InUse(candidates_[candidate], choice, static_cast<uint32_t>(claim))) continue;
    // Devices in use cost next to nothing; each other one is a step.
    ++result_.work;
    const Selected selected = Selectable(claims_[claim], choice, candidate);
    if (selected == Selected::kError) return Step::kStop;
    if (selected == Selected::kNo) continue;
    const Step step = One(claim, request, choice, device, candidate, false);
    if (step != Step::kNo) return step;
  }
  return Step::kNo;
}

AllocatorSearch::Step AllocatorSearch::One(size_t claim, size_t request, RequestChoice& choice, int64_t device,
                                           uint32_t candidate, bool must) {
  if (!Take(claim, choice, candidate, must)) return result_.outcome == Allocated::Outcome::kFatal ? Step::kStop : Step::kNo;
  const Step step = Choice(claim, request, choice, device + 1, candidate + 1);
  if (step != Step::kDone) GiveBack(claim);
  return step;
}

bool AllocatorSearch::InUse(const Candidate& candidate, const RequestChoice& choice, uint32_t claim) const {
  if (choice.request->admin) {
    return std::ranges::find(candidate.takers, claim) != candidate.takers.end();
  }
  return candidate.pooled->use->claims > 0 || !candidate.takers.empty();
}

AllocatorSearch::Selected AllocatorSearch::Selectable(const ClaimSearch& claim, RequestChoice& choice, uint32_t candidate) {
  uint8_t& known = choice.selectable[candidate];
  if (known != 0) return known == 1 ? Selected::kYes : Selected::kNo;
  std::string error;
  const bool selected = Selects(claim, choice, candidates_[candidate], error);
  if (!error.empty()) {
    Fail(Allocated::Outcome::kFatal, std::move(error));
    return Selected::kError;
  }
  known = selected ? 1 : 2;
  return selected ? Selected::kYes : Selected::kNo;
}

bool AllocatorSearch::Selects(const ClaimSearch& claim, const RequestChoice& choice, const Candidate& candidate,
                              std::string& error) const {
  const Device& device = candidate.device();
  if (!input_.gates.binding_conditions && !device.binding_conditions.empty()) return false;
  const auto ask = [&](const auto& selectors, const std::string& who) {
    for (size_t i = 0; i < selectors.size(); ++i) {
      const DeviceSelectors::Answer answer = input_.selectors->Ask(*selectors[i], *device.facts);
      if (!answer.error.empty()) error = who + ": selector #" + std::to_string(i) + ": " + answer.error;
      if (!answer.selected) return false;
    }
    return true;
  };
  if (!ask(choice.class_selectors, "class " + choice.device_class->name)) return false;
  if (!ask(choice.selectors, "claim " + claim.name)) return false;
  const bool per_device = candidate.pooled->slice->nodes.kind == NodeChoice::Kind::kPerDevice;
  return !per_device || Reaches(device.nodes, input_.node);
}

bool AllocatorSearch::CapacityFits(const RequestChoice& choice, const Candidate& candidate, DeviceAmounts& consumed) const {
  if (!input_.gates.consumable_capacity) return true;
  const Device& device = candidate.device();
  if (!device.shared && choice.request->capacity.empty()) return true;
  auto amounts = ConsumedBy(*choice.request, device);
  if (!amounts) return false;
  consumed = *std::move(amounts);
  return CapacityLeft(*choice.request, device, consumed, candidate.pooled->use->consumed, &candidate.consumed);
}

bool AllocatorSearch::CountersFit(const Candidate& candidate) {
  std::optional<Sets>& available = available_[candidate.pool_number];
  if (!available) {
    available.emplace();
    for (const CounterSet* set : candidate.pool->counters) available->emplace(set->name, set->counters);
    const auto subtract = [&](const PooledDevice& other) {
      if (other.use->claims == 0 && other.use->shares == 0) return;
      for (const CounterSet& set : other.device->consumes) {
        for (const auto& [name, amount] : set.counters) (*available)[set.name][name] -= amount;
      }
    };
    std::ranges::for_each(candidate.pool->devices, subtract);
    std::ranges::for_each(candidate.pool->elsewhere, subtract);
  }
  Sets& charged = charged_[candidate.pool_number];
  return std::ranges::all_of(candidate.device().consumes, [&](const CounterSet& set) {
    return std::ranges::all_of(set.counters, [&](const auto& counter) {
      return charged[set.name][counter.first] + counter.second <= (*available)[set.name][counter.first];
    });
  });
}

void AllocatorSearch::Charge(const Candidate& candidate, bool back) {
  for (const CounterSet& set : candidate.device().consumes) {
    DeviceAmounts& charged = charged_[candidate.pool_number][set.name];
    for (const auto& [name, amount] : set.counters) back ? charged[name] -= amount : charged[name] += amount;
  }
}

bool AllocatorSearch::Tainted(const RequestChoice& choice, const Device& device) const {
  if (!input_.gates.taints) return false;
  return UntoleratedTaint(choice.request->tolerations, device.taints) != nullptr;
}

bool AllocatorSearch::Take(size_t claim, const RequestChoice& choice, uint32_t candidate, bool must) {
  Candidate& wanted = candidates_[candidate];
  const Device& device = wanted.device();
  if (InUse(wanted, choice, static_cast<uint32_t>(claim))) return false;
  if (!input_.gates.partitionable && !device.consumes.empty()) return false;
  DeviceAmounts consumed;
  if (!CapacityFits(choice, wanted, consumed)) return false;
  const bool shared = Shared(device);
  const bool charge = !device.consumes.empty() && !(shared && (wanted.shares > 0 || wanted.pooled->use->shares > 0));
  if (charge && !CountersFit(wanted)) return false;
  if (Tainted(choice, device)) return false;
  std::vector<ConstraintState>& constraints = claims_[claim].constraints;
  for (size_t i = 0; i < constraints.size(); ++i) {
    if (constraints[i].Add(choice.of->name, choice.sub(), device, wanted.pool->name.driver)) continue;
    while (i-- > 0) constraints[i].Remove(choice.of->name, choice.sub());
    if (must) {
      Fail(Allocated::Outcome::kFatal, "claim " + claims_[claim].name + ", request " + choice.request->name +
                                           ": cannot add device " + wanted.Name() +
                                           " because a claim constraint would not be satisfied");
    }
    return false;
  }
  if (charge) Charge(wanted, false);
  if (shared) {
    ++wanted.shares;
    for (const auto& [name, amount] : consumed) wanted.consumed[name] += amount;
  } else {
    wanted.takers.push_back(static_cast<uint32_t>(claim));
  }
  claims_[claim].taken.push_back({candidate, &choice, std::move(consumed), charge});
  return true;
}

void AllocatorSearch::GiveBack(size_t claim) {
  const ClaimSearch::Taken taken = std::move(claims_[claim].taken.back());
  claims_[claim].taken.pop_back();
  Candidate& given = candidates_[taken.candidate];
  for (ConstraintState& constraint : claims_[claim].constraints) constraint.Remove(taken.choice->of->name, taken.choice->sub());
  if (taken.charged) Charge(given, true);
  if (!Shared(given.device())) {
    std::erase(given.takers, static_cast<uint32_t>(claim));
    return;
  }
  --given.shares;
  for (const auto& [name, amount] : taken.consumed) given.consumed[name] -= amount;
}

}  // namespace evenkeel::scheduling
