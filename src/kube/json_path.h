// JSONPath as client-go's util/jsonpath reads it between its braces: fields with escaped dots (.a\.b), ['a\.b'], [1], slices
// ([-1:], [0:4:2]), unions ([0,2], ['a','b']), [*] and .* , .. , and filters ([?(@.a=="b")], < <= > >= != and [?(@.a)]).
// Printer columns are such paths. Facts: kubernetes@1.36:staging/src/k8s.io/client-go/util/jsonpath/{parser,jsonpath}.go.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace evenkeel::kube {

class JsonPath {
 public:
  /// kInvalid, in upstream's words, for what does not parse, and for paths that are too long or too deep in one another.
  static base::Result<JsonPath> Parse(std::string_view path);

  /// All values found, in order; fields that are absent find nothing. An error where upstream has one (an index out of bounds,
  /// a slice of something else than a list, a comparison of different types), and where more would be looked at than is
  /// reasonable. Values of literals live as long as the path.
  base::Result<std::vector<const base::Json*>> Find(const base::Json& object) const;

  struct Node;

 private:
  std::vector<std::shared_ptr<const Node>> nodes_;
};

}  // namespace evenkeel::kube
