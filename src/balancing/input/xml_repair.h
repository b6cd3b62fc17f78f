// Closes the start tags that Service Fabric's documentation leaves open, and finds what pugixml overlooks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "balancing/input/manifest_builder.h"
#include "base/result.h"

namespace evenkeel::balancing {

struct RepairedXml {
  std::string text;
  std::vector<size_t> inserted{};  ///< offsets in `text` of the characters that the original lacks, ascending

  /// The same place in the original.
  size_t Original(size_t offset) const;
};

/// Each <BalancingThreshold ...> and <ActivityThreshold ...> that is neither closed in itself nor directly followed by its end
/// tag becomes <... />, with a warning. Text outside of all elements, < in an attribute and & that begins no reference are
/// errors; the rest is left to the parser.
base::Result<RepairedXml> RepairXml(std::string_view text, ManifestBuilder& builder);

}  // namespace evenkeel::balancing
