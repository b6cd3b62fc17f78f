// YAML <-> JSON with the types that Kubernetes gives to YAML (sigs.k8s.io/yaml, that is YAML 1.1). Of the unquoted scalars
//   null, ~ and nothing          are null
//   true/false, yes/no, on/off   are booleans (also True, TRUE ...; the single letters y and n stay strings)
//   12, 0x1f, 0o17, 017, 0b11    are integers, as are numbers with underscores and floats without a fraction (1e3, 2.0)
//   1.5, .5, 6e-2                are floats; .inf and .nan are errors, because JSON cannot say them
// and everything else, dates among it, is a string, as is every quoted or block scalar. Keys that read as numbers or booleans
// become their text ("1", "true"). Merge keys (<<) work; tags other than !!str, !!int, !!float, !!bool, !!null are ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace evenkeel::base {

struct YamlDocument {
  Json value;
  int line = 1;  ///< where the document begins, from 1
  std::vector<std::string> warnings{};
};

/// What becomes of a key that a map has twice.
enum class YamlDuplicates {
  kRefused,
  kLastCounts,          ///< as kubectl does; each is a warning of its document
  kLastCountsAsServer,  ///< the same, the warning in an API server's words
};

/// Reads one or several YAML (or JSON) documents. Empty documents are left out. kBadRequest: "SOURCE:LINE:COLUMN: what".
/// Anchors that expand to more than 10 MB and nesting deeper than kJsonDepthMax are errors.
Result<std::vector<YamlDocument>> ParseYaml(std::string_view text, std::string_view source,
                                            YamlDuplicates duplicates = YamlDuplicates::kRefused);
/// Exactly one document.
Result<Json> ParseYamlDocument(std::string_view text, std::string_view source,
                               YamlDuplicates duplicates = YamlDuplicates::kRefused);
/// Block style, keys sorted, strings quoted only where they would read as something else.
std::string ToYaml(const Json& value);

}  // namespace evenkeel::base
