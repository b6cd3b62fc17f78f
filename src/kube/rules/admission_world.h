// What expressions about a write may name, and what the names are worth for one write.
// Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/compile.go
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>

#include "base/json.h"
#include "kube/cel/authorizer.h"
#include "kube/cel/cel.h"
#include "kube/cel/shape.h"

namespace evenkeel::kube::cel {

/// One write. Objects that are not there are null; all must outlive what is asked about them.
struct AdmissionInput {
  const base::Json* object = nullptr;
  const base::Json* old_object = nullptr;
  const base::Json* request = nullptr;  ///< admission.k8s.io/v1's, without objects
  const base::Json* namespace_object = nullptr;
  const base::Json* params = nullptr;
  const AccessRules* access = nullptr;
  AccessQuestion resource{};  ///< what `authorizer.requestResource` asks about
};

/// The names: object, oldObject, request, namespaceObject, and those of `Names`. Lives at least as long as what is compiled
/// with it.
class AdmissionWorld {
 public:
  struct Names {
    bool params = false;
    const Type* variables = nullptr;  ///< of `variables`; null: there are none
    /// `authorizer` comes last, so that values for a world with it serve one without.
    bool authorizer = true;
    const Type* object = &types::kDyn;  ///< of `object` and `oldObject`
    const Type* params_type = &types::kDyn;
  };
  explicit AdmissionWorld(const Names& names);

  const std::shared_ptr<Environment>& environment() const { return environment_; }
  /// The number of `variables`, which Activate leaves open.
  size_t variables() const { return variables_; }
  /// `authorizer` is left open without `input.access`.
  Activation Activate(const AdmissionInput& input, Arena& arena) const;

 private:
  const std::shared_ptr<Environment> environment_;
  Shapes shapes_;
  const Shape* request_shape_ = nullptr;
  const Shape* namespace_shape_ = nullptr;
  size_t object_, old_object_, request_, namespace_object_, params_ = 0, variables_ = 0, authorizer_ = 0, request_resource_ = 0;
  bool has_params_ = false, has_authorizer_ = false;
};

/// Compiles an expression whose result is exactly of one of these types. An error's message is upstream's: "compilation failed:
/// ERROR: ...", "must evaluate to bool but got int".
base::Result<std::shared_ptr<const Program>> CompileFor(const AdmissionWorld& world, std::string_view expression,
                                                        std::initializer_list<const Type*> results);

}  // namespace evenkeel::kube::cel
