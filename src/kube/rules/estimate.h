// What a rule may cost at most, said before it is ever evaluated.
// Follows: cel-go@v0.26.0 checker/cost.go, kubernetes@1.36 staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/
// validation/cel_validation.go
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/cel/cel.h"
#include "kube/cel/shape.h"
#include "kube/field_path.h"

namespace evenkeel::kube::cel {

/// No more than fits.
uint64_t SaturatedProduct(uint64_t a, uint64_t b);

/// The most that one evaluation may cost, where the first variables (self, oldSelf) are of that shape.
uint64_t EstimateCost(const Program& program, const Shape* self);

/// All rules of one schema.
class RuleBudget {
 public:
  static constexpr uint64_t kRuleMax = 10'000'000;
  static constexpr uint64_t kSchemaMax = 100'000'000;

  /// `causes` may be null: then nothing is counted.
  explicit RuleBudget(std::vector<base::Cause>* causes) : causes_(causes) {}
  /// `cardinality`: how many values there may be at its place.
  void Add(const Program& program, const Shape* self, uint64_t cardinality, const FieldPath& path);
  /// Tells of the sum; `schema` is where all of it is.
  void Close(const FieldPath& schema);

 private:
  std::vector<base::Cause>* causes_;
  uint64_t total_ = 0;
  std::vector<std::pair<uint64_t, std::string>> rules_;
};

}  // namespace evenkeel::kube::cel
