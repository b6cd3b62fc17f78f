// Small numbers for big things. A pod, node or class is a row; a row's number stays its own as long as the thing is there, so
// that callers can keep arrays of their own beside the snapshot's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace evenkeel::scheduling {

using NodeId = uint32_t;
using PodId = uint32_t;
using ClassId = uint32_t;     ///< pods that are all alike for scheduling
using ShapeId = uint32_t;     ///< nodes that are alike in labels (but for the host name) and taints
using SpecId = uint32_t;      ///< the part of a class that does not tell the pods of a StatefulSet apart
using TemplateId = uint32_t;  ///< a node that could be made
using NamespaceId = uint32_t;
using ResourceId = uint32_t;
using CounterId = uint32_t;

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

/// The resources that every row has; others follow in the order in which they are first met.
enum : ResourceId { kCpu = 0, kMemory = 1, kEphemeralStorage = 2, kPods = 3, kFirstExtended = 4 };

struct Amount {
  ResourceId resource;
  int64_t amount;
  bool operator==(const Amount&) const = default;
};

/// Amounts of one node can be added up without overflow, whatever an object claims: 4 PiB (or as many of anything) is the most.
constexpr int64_t kMostAmount = int64_t{1} << 52;
constexpr int64_t Bounded(int64_t amount) { return std::min(std::max(amount, int64_t{0}), kMostAmount); }

/// For look-ups by string_view in tables of strings.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

/// Builds texts that are equal exactly when what was added is equal.
class TextKey {
 public:
  TextKey& Add(std::string_view text) {
    Add(static_cast<int64_t>(text.size()));
    text_.append(text);
    return *this;
  }
  TextKey& Add(int64_t number) {
    text_.append(std::to_string(number)).push_back(':');
    return *this;
  }
  const std::string& text() const { return text_; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace evenkeel::scheduling
