// Rules in an openAPIV3Schema (x-kubernetes-validations): compiled once, then asked of objects.
// Follows: kubernetes@1.36 staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/
#pragma once

#include <memory>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "kube/field_path.h"
#include "kube/schema/value_rules.h"

namespace evenkeel::kube::cel {

/// Whether there is a rule at the schema or anywhere below it.
bool HasRules(const base::Json& open_api);

/// What is wrong with the rules themselves, in upstream's words: what does not compile, is no bool, or may cost too much.
/// `path` is the schema's.
std::vector<base::Cause> CheckRules(const base::Json& open_api, const FieldPath& path);

/// The rules of a schema that was checked when it was stored; they are compiled when they are first asked. Null where there are
/// none.
std::shared_ptr<const ValueRules> RulesOf(const base::Json& open_api);

}  // namespace evenkeel::kube::cel
