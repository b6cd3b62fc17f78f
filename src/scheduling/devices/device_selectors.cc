#include "scheduling/devices/device_selectors.h"

namespace evenkeel::scheduling {
namespace {

/// Beyond so many texts all are forgotten: claims may bring any number of new ones.
constexpr size_t kSelectorTextsMax = 4096;

enum : uint8_t { kUnasked = 0, kSelects = 1, kSelectsNot = 2 };

std::string FactsKey(const DeviceFacts& facts) {
  return TextKey()
      .Add(facts.driver)
      .Add(base::CanonicalText(facts.attributes))
      .Add(base::CanonicalText(facts.capacity))
      .Add(facts.shared ? 1 : 0)
      .Take();
}

}  // namespace

std::shared_ptr<const DeviceFacts> DeviceSelectors::Intern(DeviceFacts facts) {
  if (facts_.size() >= collect_at_) {
    std::erase_if(facts_, [](const auto& entry) { return entry.second.expired(); });
    collect_at_ = std::max<size_t>(1024, facts_.size() * 2);
  }
  std::weak_ptr<const DeviceFacts>& known = facts_[FactsKey(facts)];
  if (auto held = known.lock()) return held;
  auto made = std::make_shared<const DeviceFacts>(std::move(facts));
  known = made;
  return made;
}

std::shared_ptr<const CompiledSelector> DeviceSelectors::Compile(std::string_view expression) {
  if (const auto found = selectors_.find(expression); found != selectors_.end()) return found->second;
  if (selectors_.size() >= kSelectorTextsMax) {
    selectors_.clear();
    ++epoch_;
  }
  auto made = std::make_shared<CompiledSelector>();
  made->expression = expression;
  made->number = static_cast<uint32_t>(selectors_.size());
  made->epoch = epoch_;
  if (expression.size() > kube::cel::kDeviceSelectorBytesMax) {
    made->error = "CEL compile error: the expression is longer than 10 KiB";
  } else if (auto program = kube::cel::CompileDeviceSelector(expression)) {
    made->program = *std::move(program);
  } else {
    made->error = "CEL compile error: " + program.error().message();
  }
  selectors_.emplace(expression, made);
  return made;
}

DeviceSelectors::Answer DeviceSelectors::Ask(const CompiledSelector& selector, const DeviceFacts& facts) {
  if (selector.program == nullptr) return {false, selector.error};
  if (facts.epoch != epoch_) {
    facts.verdicts.clear();
    facts.epoch = epoch_;
  }
  const bool kept = selector.epoch == epoch_;
  if (kept && selector.number >= facts.verdicts.size()) facts.verdicts.resize(selector.number + 1, kUnasked);
  const uint8_t known = kept ? facts.verdicts[selector.number] : uint8_t{kUnasked};
  if (known != kUnasked) return {known == kSelects, ""};
  kube::cel::Arena arena;
  const auto device =
      kube::cel::MakeDevice(facts.driver, facts.attributes.if_object(), facts.capacity.if_object(), facts.shared, arena);
  if (!device) return {false, "CEL runtime error: " + device.error().message()};
  const auto selected = kube::cel::SelectsDevice(*selector.program, *device, arena);
  // Errors are told with their words each time: they are rare, and end the attempt.
  if (!selected) return {false, "CEL runtime error: " + selected.error().message()};
  if (kept) facts.verdicts[selector.number] = *selected ? kSelects : kSelectsNot;
  return {*selected, ""};
}

}  // namespace evenkeel::scheduling
