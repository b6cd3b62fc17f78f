// Which request cannot be had, in words.
#include <algorithm>

#include "scheduling/devices/allocator_search.h"
#include "scheduling/devices/device_allocator.h"

namespace evenkeel::scheduling {

/// Looks at the devices of a node as the search does, one request at a time.
class AllocatorExplanation {
 public:
  AllocatorExplanation(const AllocatorInput& input, const std::vector<ClaimToAllocate>& claims) : search_(input, claims) {}

  std::string Tell() {
    if (!search_.Prepare()) return search_.result_.text;
    for (ClaimSearch& claim : search_.claims_) {
      for (std::vector<RequestChoice>& choices : claim.requests) {
        std::string text;
        bool one = false;
        for (RequestChoice& choice : choices) {
          const std::string why = Lacks(claim, choice);
          one |= why.empty();
          if (text.empty()) text = why;
        }
        if (!one) return text;
      }
    }
    return "";
  }

 private:
  /// Devices that are refused for one reason, and the first of them.
  struct Refused {
    std::string reason;
    int64_t devices = 0;
    std::string first;
  };

  /// "": the request by itself could be had.
  std::string Lacks(const ClaimSearch& claim, RequestChoice& choice) {
    refused_.clear();
    int64_t left = 0;
    for (uint32_t i = 0; i < search_.candidates_.size(); ++i) {
      const std::string reason = Refusal(claim, choice, search_.candidates_[i]);
      if (reason.empty()) {
        ++left;
      } else {
        Note(reason, search_.candidates_[i].Name());
      }
    }
    const bool all = choice.request->mode == DeviceRequest::Mode::kAll;
    const int64_t wanted = all ? std::max<int64_t>(choice.devices, 1) : choice.devices;
    if (left >= wanted) return "";
    std::string text = "claim " + claim.name + ", request " + choice.FullName() + " of class " + choice.request->class_name +
                       " asks for " + (all ? "all devices" : std::to_string(wanted) + (wanted == 1 ? " device" : " devices"));
    const size_t devices = search_.candidates_.size();
    if (devices == 0) return text + ": the node has none";
    text += ": of " + std::to_string(devices) + " there " + (left == 1 ? "is " : "are ") + std::to_string(left) + " to be had";
    for (const Refused& entry : refused_) {
      text += "; " + std::to_string(entry.devices) + " " + entry.reason + " (" + (entry.devices > 1 ? "first " : "") +
              entry.first + ")";
    }
    return text;
  }

  std::string Refusal(const ClaimSearch& claim, const RequestChoice& choice, const AllocatorSearch::Candidate& candidate) {
    if (search_.InUse(candidate, choice, 0)) return "in use";
    const Device& device = candidate.device();
    for (const auto* selectors : {&choice.class_selectors, &choice.selectors}) {
      for (const auto& selector : *selectors) {
        const DeviceSelectors::Answer answer = search_.input_.selectors->Ask(*selector, *device.facts);
        if (answer.selected) continue;
        return (answer.error.empty() ? "not selected by " : "failing ") +
               std::string(selectors == &choice.class_selectors ? "the class's " : "the request's ") + selector->expression;
      }
    }
    std::string error;
    if (!search_.Selects(claim, choice, candidate, error)) return "not for this node";
    DeviceAmounts consumed;
    if (!search_.CapacityFits(choice, candidate, consumed)) return "without the capacity";
    if (!device.consumes.empty() && !search_.CountersFit(candidate)) return "without the counters";
    if (search_.Tainted(choice, device)) {
      const kube::Taint* taint = UntoleratedTaint(choice.request->tolerations, device.taints);
      return "with an untolerated taint {" + taint->key + ": " + taint->value + "}";
    }
    return "";
  }

  void Note(const std::string& reason, std::string device) {
    const auto found = std::ranges::find(refused_, reason, &Refused::reason);
    if (found == refused_.end()) {
      refused_.push_back({reason, 1, std::move(device)});
    } else {
      ++found->devices;
    }
  }

  AllocatorSearch search_;
  std::vector<Refused> refused_;
};

std::string ExplainUnsatisfied(const AllocatorInput& input, const std::vector<ClaimToAllocate>& claims) {
  return AllocatorExplanation(input, claims).Tell();
}

}  // namespace evenkeel::scheduling
