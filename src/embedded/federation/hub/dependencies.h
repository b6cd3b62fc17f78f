// Brings the objects that a template depends on into the clusters of the template. Each such object has a binding of its own.
// Its requiredBy names the templates that need it, and their clusters. The controller deletes a binding that no template
// requires and no policy selects.
#pragma once

#include <map>
#include <set>
#include <string>

#include "controllers/runtime/controller.h"
#include "embedded/federation/policies/hub.h"

namespace evenkeel::embedded::federation {

/// Whether the binding's dependencies are to follow it: as its policy says, and always for a ServiceImport, which is nothing
/// without them.
bool PropagatesDependencies(const base::Json& binding);
/// `binding` with this of `requirer` in requiredBy, and no other entry of it; no `clusters`: with none.
base::Json WithRequirement(const base::Json& binding, const base::Json& requirer, const base::JsonArray& clusters);
/// Whether it is there for others' sake only: no policy means its object.
bool IsAttached(const base::Json& binding);

class DependencyDistributor {
 public:
  explicit DependencyDistributor(Hub& hub);
  void Start() { controller_.Start(); }

 private:
  using Done = base::Result<controllers::runtime::ReconcileResult>;
  /// By the key of their binding.
  using Objects = std::map<std::string, ObjectPointer>;

  Done Reconcile(const std::string& key);
  /// kUnavailable: something is being listed.
  base::Result<Objects> DependenciesOf(const kube::Object& binding);
  base::Status Attach(const kube::Object& object, const std::string& key, const kube::Object& binding);
  /// Writes the binding without a requirement, or deletes it when nothing is left of it.
  base::Status Leave(const kube::Object& binding, const base::Json& without);

  Hub& hub_;
  controllers::runtime::Controller controller_;
  std::set<std::string> following_;  // bindings whose dependencies follow them
};

}  // namespace evenkeel::embedded::federation
