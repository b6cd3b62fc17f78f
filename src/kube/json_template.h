// Templates of `kubectl get -o jsonpath=...`: text, and in braces paths (json_path.h), quoted text with escapes, and
// {range PATH}...{end}. Facts: kubernetes@1.36:staging/src/k8s.io/client-go/util/jsonpath/{parser,jsonpath}.go.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/json_path.h"

namespace evenkeel::kube {

class JsonTemplate {
 public:
  /// A text without braces is a path, with or without its first dot. kInvalid for what does not parse, and for what is too long
  /// or nested too deeply.
  static base::Result<JsonTemplate> Parse(std::string_view text);

  /// What a path finds is separated by spaces; texts as they are, everything else as JSON; what is absent prints nothing.
  /// Errors are JsonPath::Find's, and a text that becomes too long.
  base::Result<std::string> Print(const base::Json& object) const;

  struct Part;

 private:
  std::vector<std::shared_ptr<const Part>> parts_;
};

/// A path as people write it for a column: "{.a}", ".a" or "a".
base::Result<JsonPath> ParseColumnPath(std::string_view text);

/// Texts as they are, everything else as JSON, with `separator` between them.
std::string TextOfValues(const std::vector<const base::Json*>& values, std::string_view separator);

}  // namespace evenkeel::kube
