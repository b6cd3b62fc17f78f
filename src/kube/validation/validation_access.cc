// Roles, bindings and reviews. Facts: kubernetes@1.36:pkg/apis/rbac/validation, pkg/apis/authorization/validation.
#include "kube/object.h"
#include "kube/validation/validation.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

const Json& PartOf(const Json& parent, std::string_view key) {
  static const Json kNothing;
  const Json* part = Member(parent, key);
  return part == nullptr ? kNothing : *part;
}

void RoleRule(const Json& rule, const FieldPath& here, bool namespaced, Causes& causes) {
  if (List(rule, "verbs").empty()) {
    causes.push_back(RequiredValue(here.Field("verbs"), "verbs must contain at least one value"));
  }
  if (!List(rule, "nonResourceURLs").empty()) {
    const FieldPath paths = here.Field("nonResourceURLs");
    const Json& value = PartOf(rule, "nonResourceURLs");
    if (namespaced) {
      causes.push_back(InvalidValue(paths, value, "namespaced rules cannot apply to non-resource URLs"));
    }
    if (!List(rule, "apiGroups").empty() || !List(rule, "resources").empty() || !List(rule, "resourceNames").empty()) {
      causes.push_back(InvalidValue(paths, value, "rules cannot apply to both regular resources and non-resource URLs"));
    }
    return;
  }
  if (List(rule, "apiGroups").empty()) {
    causes.push_back(RequiredValue(here.Field("apiGroups"), "resource rules must supply at least one api group"));
  }
  if (List(rule, "resources").empty()) {
    causes.push_back(RequiredValue(here.Field("resources"), "resource rules must supply at least one resource"));
  }
}

void Role(const Json& object, bool namespaced, Causes& causes) {
  const FieldPath root;
  const FieldPath rules = root.Field("rules");
  size_t index = 0;
  for (const Json& rule : List(object, "rules")) RoleRule(rule, rules.Index(index++), namespaced, causes);
  const FieldPath aggregation = root.Field("aggregationRule");
  const FieldPath selectors = aggregation.Field("clusterRoleSelectors");
  const Json& given = PartOf(object, "aggregationRule");
  if (given.is_null()) return;
  if (List(given, "clusterRoleSelectors").empty()) {
    causes.push_back(RequiredValue(selectors, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
  }
  index = 0;
  for (const Json& selector : List(given, "clusterRoleSelectors")) LabelSelector(selector, selectors.Index(index++), causes);
}

void BindingSubject(const Json& subject, const FieldPath& path, bool namespaced, Causes& causes) {
  const std::string_view kind = Text(subject, "kind"), name = Text(subject, "name"), group = Text(subject, "apiGroup");
  if (kind == "ServiceAccount") {
    if (const std::string problem = name.empty() ? "" : CheckDnsSubdomain(name); !problem.empty()) {
      causes.push_back(InvalidText(path.Field("name"), name, problem));
    }
    if (!group.empty()) causes.push_back(UnsupportedText(path.Field("apiGroup"), group, {""}));
    if (!namespaced && Text(subject, "namespace").empty()) causes.push_back(RequiredValue(path.Field("namespace")));
  } else if ((kind == "User" || kind == "Group") && group != kRbac) {
    causes.push_back(UnsupportedText(path.Field("apiGroup"), group, {std::string(kRbac)}));
  }
}

void Binding(const Json& object, bool namespaced, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("roleRef");
  const Json& role = PartOf(object, "roleRef");
  if (const std::string_view group = Text(role, "apiGroup"); group != kRbac) {
    causes.push_back(UnsupportedText(path.Field("apiGroup"), group, {std::string(kRbac)}));
  }
  if (!namespaced && Text(role, "kind") == "Role") {
    causes.push_back(UnsupportedText(path.Field("kind"), "Role", {"ClusterRole"}));
  }
  if (const std::string problem = CheckPathSegment(Text(role, "name")); !problem.empty() && !Text(role, "name").empty()) {
    causes.push_back(InvalidText(path.Field("name"), Text(role, "name"), problem));
  }
  const FieldPath subjects = root.Field("subjects");
  size_t index = 0;
  for (const Json& subject : List(object, "subjects")) BindingSubject(subject, subjects.Index(index++), namespaced, causes);
}

void AccessReview(const Resource& resource, const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json& spec = PartOf(object, "spec");
  const bool on_resource = Has(spec, "resourceAttributes"), on_path = Has(spec, "nonResourceAttributes");
  if (on_resource && on_path) {
    causes.push_back(InvalidValue(path.Field("nonResourceAttributes"), PartOf(spec, "nonResourceAttributes"),
                                  "cannot be specified in combination with resourceAttributes"));
  } else if (!on_resource && !on_path) {
    causes.push_back(RequiredValue(path.Field("resourceAttributes"),
                                   "exactly one of nonResourceAttributes or resourceAttributes must be specified"));
  }
  if (resource.kind == "SelfSubjectAccessReview") return;
  if (Text(spec, "user").empty() && List(spec, "groups").empty()) {
    causes.push_back(RequiredValue(path.Field("user"), "at least one of user or group must be specified"));
  }
  if (resource.kind != "LocalSubjectAccessReview") return;
  const FieldPath attributes = path.Field("resourceAttributes");
  const std::string_view ns = Text(PartOf(spec, "resourceAttributes"), "namespace");
  if (on_resource && ns != NamespaceOf(object)) {
    causes.push_back(InvalidText(attributes.Field("namespace"), ns, "must match metadata.namespace"));
  }
  if (on_path) {
    causes.push_back(InvalidValue(path.Field("nonResourceAttributes"), PartOf(spec, "nonResourceAttributes"),
                                  "disallowed on this kind of request"));
  }
}

void EmptyMetadata(const Json& object, Causes& causes) {
  base::JsonObject metadata = Fields(object, "metadata");
  for (const char* field : {"managedFields", "namespace", "creationTimestamp"}) metadata.erase(field);
  const FieldPath root;
  if (!metadata.empty()) causes.push_back(InvalidValue(root.Field("metadata"), Json(metadata), "must be empty"));
}

}  // namespace

void AccessKind(const Resource& resource, const Json& object, Causes& causes) {
  if (resource.group == kRbac) {
    if (resource.kind.ends_with("Role")) {
      Role(object, resource.namespaced, causes);
    } else {
      Binding(object, resource.namespaced, causes);
    }
  } else if (resource.review && resource.kind.ends_with("AccessReview")) {
    EmptyMetadata(object, causes);
    AccessReview(resource, object, causes);
  }
}

}  // namespace evenkeel::kube::validation
