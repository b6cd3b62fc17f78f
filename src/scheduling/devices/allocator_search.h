// The search of device_allocator.h, step by step.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduling/devices/device_allocator.h"
#include "scheduling/devices/device_constraints.h"

namespace evenkeel::scheduling {

/// One way to satisfy a request: `exactly`, or one of `firstAvailable`.
struct RequestChoice {
  const DeviceRequest* request = nullptr;
  const ClaimRequest* of = nullptr;
  const DeviceClass* device_class = nullptr;
  std::vector<std::shared_ptr<const CompiledSelector>> class_selectors{}, selectors{};
  int64_t devices = 0;                ///< how many are needed
  std::vector<uint32_t> all{};        ///< for kAll: which
  std::vector<uint8_t> selectable{};  ///< by candidate: 0 not asked, 1 yes, 2 no

  bool alternative() const { return request != nullptr && !of->first_available.empty(); }
  std::string_view sub() const { return alternative() ? std::string_view(request->name) : std::string_view(); }
  std::string FullName() const { return alternative() ? of->name + "/" + request->name : of->name; }
};

struct ClaimSearch {
  std::string name;
  const ClaimSpec* spec = nullptr;
  std::vector<std::vector<RequestChoice>> requests;
  std::vector<size_t> chosen;  ///< by request
  std::vector<ConstraintState> constraints;

  struct Taken {
    uint32_t candidate;
    const RequestChoice* choice;
    DeviceAmounts consumed;
    bool charged;  ///< its counters
  };
  std::vector<Taken> taken;
};

class AllocatorSearch {
 public:
  AllocatorSearch(const AllocatorInput& input, const std::vector<ClaimToAllocate>& claims);
  Allocated Run();

 private:
  friend class AllocatorExplanation;
  enum class Step : uint8_t { kDone, kNo, kTooMany, kStop };
  struct Candidate {
    const PooledDevice* pooled;
    const NodePool* pool;
    uint32_t pool_number;
    std::vector<uint32_t> takers;  ///< claims of this call
    int64_t shares = 0;            ///< in this call
    DeviceAmounts consumed;        ///< by those

    const Device& device() const { return *pooled->device; }
    std::string Name() const { return pool->name.ToString() + "/" + pooled->device->name; }
  };
  using Sets = std::map<std::string, DeviceAmounts, std::less<>>;

  // What is asked for, before the search. False: result_ says why not.
  bool Prepare();
  bool PrepareClaim(ClaimSearch& claim);
  bool PrepareChoice(const ClaimSearch& claim, RequestChoice& choice);
  bool CollectAll(const ClaimSearch& claim, RequestChoice& choice);

  // The search.
  Step Claim(size_t claim);
  Step Request(size_t claim, size_t request);
  Step Choice(size_t claim, size_t request, RequestChoice& choice, int64_t device, uint32_t from);
  Step One(size_t claim, size_t request, RequestChoice& choice, int64_t device, uint32_t candidate, bool must);

  // One device.
  bool InUse(const Candidate& candidate, const RequestChoice& choice, uint32_t claim) const;
  enum class Selected : uint8_t { kYes, kNo, kError };
  Selected Selectable(const ClaimSearch& claim, RequestChoice& choice, uint32_t candidate);
  bool Selects(const ClaimSearch& claim, const RequestChoice& choice, const Candidate& candidate, std::string& error) const;
  bool CapacityFits(const RequestChoice& choice, const Candidate& candidate, DeviceAmounts& consumed) const;
  bool CountersFit(const Candidate& candidate);
  void Charge(const Candidate& candidate, bool back);
  bool Tainted(const RequestChoice& choice, const Device& device) const;
  bool Shared(const Device& device) const { return input_.gates.consumable_capacity && device.shared; }
  /// False: it cannot be had; with `must` and a constraint in the way result_ says so.
  bool Take(size_t claim, const RequestChoice& choice, uint32_t candidate, bool must);
  void GiveBack(size_t claim);

  bool Fail(Allocated::Outcome outcome, std::string text);
  std::shared_ptr<const ClaimAllocation> Result(const ClaimSearch& claim) const;
  base::JsonArray ResultConfig(const ClaimSearch& claim) const;
  std::optional<std::vector<kube::NodeSelectorTerm>> ResultNodes(const ClaimSearch& claim) const;

  const AllocatorInput& input_;
  std::vector<ClaimSearch> claims_;
  std::vector<Candidate> candidates_;
  std::vector<std::optional<Sets>> available_;  ///< by pool: counters that no claim has
  std::vector<Sets> charged_;                   ///< by pool: in this call
  Allocated result_;
};

}  // namespace evenkeel::scheduling
