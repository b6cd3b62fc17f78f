#include "scheduling/devices/device_allocator.h"

#include <algorithm>

#include "scheduling/devices/allocator_search.h"
#include "scheduling/devices/device_capacity.h"

namespace evenkeel::scheduling {
namespace {

/// What one claim can hold.
constexpr int64_t kResultsMost = 32;
/// Claims of one pod; beyond that the search would go too deep.
constexpr size_t kClaimsMost = 256;

std::string Number(int64_t number) { return std::to_string(number); }

void AddMissing(std::vector<kube::NodeSelectorRequirement>& to, const std::vector<kube::NodeSelectorRequirement>& from) {
  for (const auto& requirement : from) {
    const bool there = std::ranges::any_of(to, [&](const auto& other) {
      return other.key == requirement.key && other.op == requirement.op && other.values == requirement.values;
    });
    if (!there) to.push_back(requirement);
  }
}

base::Json ConfigEntry(std::string_view source, const std::vector<std::string>& requests, const base::Json* opaque) {
  base::JsonObject entry{{"source", source}};
  if (!requests.empty()) entry["requests"] = base::JsonArray(requests.begin(), requests.end());
  if (opaque != nullptr && !opaque->is_null()) entry["opaque"] = *opaque;
  return entry;
}

}  // namespace

AllocatorSearch::AllocatorSearch(const AllocatorInput& input, const std::vector<ClaimToAllocate>& claims) : input_(input) {
  for (const ClaimToAllocate& claim : claims) {
    ClaimSearch& search = claims_.emplace_back();
    search.name = claim.name;
    search.spec = claim.spec;
  }
  const std::vector<NodePool>& pools = input.pools->pools;
  for (uint32_t i = 0; i < pools.size(); ++i) {
    if (pools[i].incomplete || pools[i].invalid) continue;
    for (const PooledDevice& device : pools[i].devices) candidates_.push_back({&device, &pools[i], i, {}, 0, {}});
  }
  available_.resize(pools.size());
  charged_.resize(pools.size());
}

bool AllocatorSearch::Fail(Allocated::Outcome outcome, std::string text) {
  result_.outcome = outcome;
  result_.text = std::move(text);
  return false;
}

bool AllocatorSearch::Prepare() {
  return std::ranges::all_of(claims_, [this](ClaimSearch& claim) { return PrepareClaim(claim); });
}

bool AllocatorSearch::PrepareClaim(ClaimSearch& claim) {
  using enum Allocated::Outcome;
  int64_t least = 0;
  for (const ClaimRequest& request : claim.spec->requests) {
    const std::string where = "claim " + claim.name + ", request " + request.name + ": ";
    if (!request.first_available.empty() && !input_.gates.prioritized_list) {
      return Fail(kFatal, where + "has subrequests, but the DRAPrioritizedList feature is disabled");
    }
    std::vector<RequestChoice>& choices = claim.requests.emplace_back();
    if (request.first_available.empty()) {
      choices.push_back({.request = &*request.exactly, .of = &request});
    } else {
      for (const DeviceRequest& choice : request.first_available) choices.push_back({.request = &choice, .of = &request});
    }
    for (const RequestChoice& choice : choices) {
      if (input_.gates.consumable_capacity || !choice.request->asks_capacity) continue;
      return Fail(kFatal, "claim " + claim.name + (choice.alternative() ? ", subrequest " : ", request ") +
                              choice.request->name +
                              ": has capacity requests, but the DRAConsumableCapacity feature is disabled");
    }
    int64_t fewest = std::numeric_limits<int64_t>::max();
    for (RequestChoice& choice : choices) {
      if (!PrepareChoice(claim, choice)) return false;
      fewest = std::min(fewest, choice.devices);
    }
    least += std::min(fewest, std::numeric_limits<int64_t>::max() / 64);
  }
  if (least > kResultsMost) {
    return Fail(kFatal, "claim " + claim.name + ": number of requested devices " + Number(least) +
                            " exceeds the claim limit of " + Number(kResultsMost));
  }
  for (size_t i = 0; i < claim.spec->constraints.size(); ++i) {
    const DeviceConstraint& constraint = claim.spec->constraints[i];
    if (constraint.kind == DeviceConstraint::Kind::kUnknown) {
      return Fail(kFatal, "claim " + claim.name + ", constraint #" + Number(static_cast<int64_t>(i)) +
                              ": empty constraint (unsupported constraint type?)");
    }
    claim.constraints.emplace_back(constraint);
  }
  claim.chosen.resize(claim.requests.size(), 0);
  return true;
}

bool AllocatorSearch::PrepareChoice(const ClaimSearch& claim, RequestChoice& choice) {
  using enum Allocated::Outcome;
  const DeviceRequest& request = *choice.request;
  const std::string where = "claim " + claim.name + ", request " + request.name;
  for (size_t i = 0; i < request.selectors.size(); ++i) {
    if (!request.selectors[i].empty()) continue;
    return Fail(kFatal, where + ", selector #" + Number(static_cast<int64_t>(i)) +
                            ": CEL expression empty (unsupported selector type?)");
  }
  if (request.admin && !input_.gates.admin_access) {
    return Fail(kFatal, where + ": admin access is requested, but the feature is disabled");
  }
  if (request.class_name.empty()) return Fail(kFatal, where + ": missing device class name (unsupported request type?)");
  choice.device_class = input_.find_class(request.class_name);
  if (choice.device_class == nullptr) {
    return Fail(kFatal, where + ": could not retrieve device class " + request.class_name + ": deviceclass.resource.k8s.io \"" +
                            request.class_name + "\" not found");
  }
  const auto compile = [&](const std::vector<std::string>& texts, auto& compiled) {
    for (const std::string& text : texts) compiled.push_back(input_.selectors->Compile(text));
  };
  compile(choice.device_class->selectors, choice.class_selectors);
  compile(request.selectors, choice.selectors);
  choice.selectable.resize(candidates_.size(), 0);
  if (request.mode == DeviceRequest::Mode::kUnknown) return Fail(kFatal, where + ": unsupported count mode");
  if (request.mode == DeviceRequest::Mode::kAll) return CollectAll(claim, choice);
  choice.devices = request.count;
  return true;
}

bool AllocatorSearch::CollectAll(const ClaimSearch& claim, RequestChoice& choice) {
  const std::string where = "claim " + claim.name + ", request " + choice.request->name;
  uint32_t candidate = 0;
  for (const NodePool& pool : input_.pools->pools) {
    if (pool.incomplete || pool.invalid) {
      return Fail(Allocated::Outcome::kFatal, where + ": asks for all devices, but resource pool " + pool.name.ToString() +
                                                  " is currently " + (pool.incomplete ? "being updated" : "invalid"));
    }
    for (size_t i = 0; i < pool.devices.size(); ++i, ++candidate) {
      ++result_.work;
      switch (Selectable(claim, choice, candidate)) {
        case Selected::kError:
          return false;
        case Selected::kNo:
          continue;
        case Selected::kYes:
          break;
      }
      DeviceAmounts consumed;
      if (CapacityFits(choice, candidates_[candidate], consumed)) choice.all.push_back(candidate);
    }
  }
  choice.devices = static_cast<int64_t>(choice.all.size());
  return true;
}

Allocated AllocatorSearch::Run() {
  if (claims_.size() > kClaimsMost) {
    Fail(Allocated::Outcome::kGivenUp, "gave up: more than 256 claims of one pod are to be allocated");
    return std::move(result_);
  }
  if (!Prepare()) return std::move(result_);
  const Step step = Claim(0);
  if (step == Step::kStop) return std::move(result_);
  if (step != Step::kDone) {
    const bool invalid = std::ranges::any_of(input_.pools->pools, &NodePool::invalid);
    invalid ? Fail(Allocated::Outcome::kNode, "invalid resource pools were encountered")
            : Fail(Allocated::Outcome::kUnsatisfied, "cannot allocate all claims");
    return std::move(result_);
  }
  result_.outcome = Allocated::Outcome::kAllocated;
  for (const ClaimSearch& claim : claims_) {
    result_.claims.push_back(Result(claim));
    for (size_t i = 0; i < claim.requests.size(); ++i) {
      if (claim.requests[i][claim.chosen[i]].alternative()) result_.score += 8 - static_cast<int64_t>(claim.chosen[i]);
    }
  }
  return std::move(result_);
}

std::shared_ptr<const ClaimAllocation> AllocatorSearch::Result(const ClaimSearch& claim) const {
  auto allocation = std::make_shared<ClaimAllocation>();
  for (const ClaimSearch::Taken& taken : claim.taken) {
    const Candidate& candidate = candidates_[taken.candidate];
    const Device& device = candidate.device();
    DeviceResult& result = allocation->results.emplace_back();
    result.request = taken.choice->FullName();
    result.device = {candidate.pool->name.driver, candidate.pool->name.pool, device.name};
    result.admin = taken.choice->request->admin;
    result.shared = Shared(device);
    if (result.shared) result.consumed = taken.consumed;
    result.tolerations = taken.choice->request->tolerations_json;
    if (input_.gates.binding_conditions) {
      result.binding_conditions = device.binding_conditions;
      result.binding_failure_conditions = device.binding_failure_conditions;
    }
  }
  allocation->config = ResultConfig(claim);
  allocation->nodes = ResultNodes(claim);
  return allocation;
}

base::JsonArray AllocatorSearch::ResultConfig(const ClaimSearch& claim) const {
  struct OfClass {
    const DeviceClass* device_class;
    std::vector<std::string> requests;
  };
  std::vector<OfClass> classes;
  for (size_t i = 0; i < claim.requests.size(); ++i) {
    const RequestChoice& choice = claim.requests[i][claim.chosen[i]];
    auto found = std::ranges::find(classes, choice.device_class, &OfClass::device_class);
    if (found == classes.end()) found = classes.insert(classes.end(), {choice.device_class, {}});
    found->requests.push_back(choice.FullName());
  }
  base::JsonArray config;
  for (const OfClass& entry : classes) {
    for (const base::Json& item : entry.device_class->config) {
      config.push_back(ConfigEntry("FromClass", entry.requests, base::Find(item, {"opaque"})));
    }
  }
  for (const ClaimConfig& entry : claim.spec->config) {
    const auto names = [&](const std::string& name) { return std::ranges::find(entry.requests, name) != entry.requests.end(); };
    // Like 1.36, once for each request that it names.
    int64_t times = entry.requests.empty() ? 1 : 0;
    for (size_t i = 0; i < claim.requests.size() && !entry.requests.empty(); ++i) {
      const RequestChoice& choice = claim.requests[i][claim.chosen[i]];
      times += names(choice.of->name) || (choice.alternative() && names(choice.FullName())) ? 1 : 0;
    }
    for (; times > 0; --times) config.push_back(ConfigEntry("FromClaim", entry.requests, &entry.opaque));
  }
  return config;
}

std::optional<std::vector<kube::NodeSelectorTerm>> AllocatorSearch::ResultNodes(const ClaimSearch& claim) const {
  kube::NodeSelectorTerm joined;
  for (const ClaimSearch::Taken& taken : claim.taken) {
    const PooledDevice& pooled = *candidates_[taken.candidate].pooled;
    const bool per_device = pooled.slice->nodes.kind == NodeChoice::Kind::kPerDevice;
    const NodeChoice& nodes = per_device ? pooled.device->nodes : pooled.slice->nodes;
    if (nodes.kind == NodeChoice::Kind::kName || pooled.device->binds_to_node) {
      return std::vector<kube::NodeSelectorTerm>{{{}, {{"metadata.name", "In", {std::string(input_.node.name)}}}}};
    }
    for (const kube::NodeSelectorTerm& term : nodes.terms) {
      AddMissing(joined.expressions, term.expressions);
      AddMissing(joined.fields, term.fields);
    }
  }
  if (joined.expressions.empty() && joined.fields.empty()) return std::nullopt;
  return std::vector<kube::NodeSelectorTerm>{joined};
}

Allocated AllocateDevices(const AllocatorInput& input, const std::vector<ClaimToAllocate>& claims) {
  return AllocatorSearch(input, claims).Run();
}

}  // namespace evenkeel::scheduling
