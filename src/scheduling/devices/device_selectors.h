// CEL selectors of devices: each text is compiled once, each answer about equal devices worked out once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "kube/rules/device_selector.h"
#include "scheduling/ids.h"

namespace evenkeel::scheduling {

struct DeviceFacts {
  std::string driver;
  base::Json attributes, capacity;  ///< as in a ResourceSlice
  bool shared = false;
  /// By selector: what it said; see DeviceSelectors.
  mutable std::vector<uint8_t> verdicts;
  mutable uint64_t epoch = 0;
};

/// A selector, compiled. One of many users of it.
struct CompiledSelector {
  std::string expression;
  std::shared_ptr<const kube::cel::Program> program;  ///< null: see `error`
  std::string error;                                  ///< "CEL compile error: ..."
  uint32_t number = 0;
  uint64_t epoch = 0;
};

/// Belongs to one strand.
class DeviceSelectors {
 public:
  struct Answer {
    bool selected = false;
    std::string error;  ///< "CEL compile error: ..." or "CEL runtime error: ..."; "": none
  };

  /// The same object for equal facts, as long as anybody has it.
  std::shared_ptr<const DeviceFacts> Intern(DeviceFacts facts);
  std::shared_ptr<const CompiledSelector> Compile(std::string_view expression);
  /// Some 10 ns when it was asked before.
  Answer Ask(const CompiledSelector& selector, const DeviceFacts& facts);

 private:
  std::unordered_map<std::string, std::weak_ptr<const DeviceFacts>> facts_;
  size_t collect_at_ = 1024;
  std::unordered_map<std::string, std::shared_ptr<const CompiledSelector>, TextHash, std::equal_to<>> selectors_;
  uint64_t epoch_ = 1;  ///< answers of another one are of selectors that were forgotten
};

}  // namespace evenkeel::scheduling
