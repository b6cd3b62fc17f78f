#include "kube/validation/validation.h"

#include "kube/object.h"
#include "kube/schema/schema.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube {
namespace {

using base::Json;
using validation::Causes;

std::string CheckNameFor(const Resource& resource, std::string_view name) {
  if (resource.group.empty() && resource.kind == "Namespace") return CheckDnsLabel(name);
  if (resource.group.empty() && resource.kind == "Service") return validation::CheckDns1035Label(name);
  if (resource.group == "rbac.authorization.k8s.io") return validation::CheckPathSegment(name);
  if (resource.group == "apiregistration.k8s.io") return validation::CheckPathSegment(name);
  if (resource.group == "networking.k8s.io" && resource.kind == "IPAddress") {
    return validation::IsIpAddress(name) ? "" : "must be a valid IP address";
  }
  return CheckDnsSubdomain(name);
}

void ValidateOwners(const Json& metadata, const FieldPath& path, Causes& causes) {
  std::string_view controller;
  const FieldPath owners = path.Field("ownerReferences");
  for (const Json& owner : validation::List(metadata, "ownerReferences")) {
    if (!validation::Flag(owner, "controller")) continue;
    const std::string_view name = validation::Text(owner, "name");
    if (controller.empty()) {
      controller = name;
      continue;
    }
    causes.push_back(InvalidValue(owners, *validation::Member(metadata, "ownerReferences"),
                                  "Only one reference can have Controller set to true. Found \"true\" in references for " +
                                      std::string(controller) + " and " + std::string(name)));
  }
}

/// A name without a domain that is none of Kubernetes' own.
bool IsBareFinalizer(std::string_view name) {
  return !name.contains('/') && name != "kubernetes" && name != "orphan" && name != "foregroundDeletion";
}

void ValidateMetadata(const Resource& resource, const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("metadata");
  const Json* present = validation::Member(object, "metadata");
  static const Json kNothing;
  const Json& metadata = present == nullptr ? kNothing : *present;
  const std::string_view name = validation::Text(metadata, "name");
  const std::string_view prefix = validation::Text(metadata, "generateName");
  if (name.empty() && prefix.empty()) {
    causes.push_back(RequiredValue(path.Field("name"), "name or generateName is required"));
  } else if (!name.empty()) {
    if (std::string problem = CheckNameFor(resource, name); !problem.empty()) {
      causes.push_back(InvalidText(path.Field("name"), name, problem));
    }
  }
  if (!prefix.empty()) {
    // A dash at the end is fine there: the server's letters follow.
    std::string without(prefix);
    if (without.ends_with('-')) without.back() = 'a';
    if (std::string problem = CheckNameFor(resource, without); !problem.empty()) {
      causes.push_back(InvalidText(path.Field("generateName"), prefix, problem));
    }
  }
  if (!resource.namespaced && !validation::Text(metadata, "namespace").empty()) {
    causes.push_back(ForbiddenValue(path.Field("namespace"), "not allowed on this type"));
  }
  validation::Labels(validation::Fields(metadata, "labels"), path.Field("labels"), causes);
  validation::Annotations(validation::Fields(metadata, "annotations"), path.Field("annotations"), causes);
  const bool checks_finalizers = resource.schema != nullptr && resource.schema->native &&
                                 resource.group != "apiextensions.k8s.io" && resource.group != "apiregistration.k8s.io";
  size_t index = 0;
  for (const Json& finalizer : validation::List(metadata, "finalizers")) {
    if (!finalizer.is_string()) continue;
    if (std::string problem = CheckQualifiedName(finalizer.get_string()); !problem.empty()) {
      causes.push_back(InvalidValue(path.Field("finalizers"), finalizer, problem));
    } else if (checks_finalizers && IsBareFinalizer(finalizer.get_string())) {
      causes.push_back(InvalidValue(path.Field("finalizers").Index(index), finalizer,
                                    "name is neither a standard finalizer name nor is it fully qualified"));
    }
    ++index;
  }
  ValidateOwners(metadata, path, causes);
}

/// A missing image is both a rule of the shape and of pods: one line is enough.
void RemoveRepeated(Causes& causes) {
  Causes kept;
  for (base::Cause& cause : causes) {
    const bool seen = std::any_of(kept.begin(), kept.end(), [&](const base::Cause& one) {
      return one.field == cause.field && one.reason == cause.reason && one.message == cause.message;
    });
    if (!seen) kept.push_back(std::move(cause));
  }
  causes = std::move(kept);
}

Causes Joined(Causes causes, Causes more) {
  std::move(more.begin(), more.end(), std::back_inserter(causes));
  return causes;
}

/// What expressions say, where the object has a shape that they can be asked about.
void AddExpressions(const ValueRules& rules, const Json& object, const Json* old, Causes& causes) {
  static constexpr std::array<std::string_view, 5> kBlocking = {
      "FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"};
  const auto blocks = [](const base::Cause& cause) { return std::ranges::find(kBlocking, cause.reason) != kBlocking.end(); };
  if (std::ranges::none_of(causes, blocks)) {
    causes = Joined(std::move(causes), rules.Check(object, old));
    return;
  }
  causes.push_back({"FieldValueInvalid",
                    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the "
                    "existing errors to complete validation",
                    "<nil>"});
}

/// All but the shape of a custom object.
Causes ValidateRules(const Resource& resource, const Json& object) {
  Causes causes;
  if (!resource.review) ValidateMetadata(resource, object, causes);
  if (resource.schema != nullptr && !resource.schema->native) return causes;
  if (resource.schema != nullptr) causes = Joined(std::move(causes), Validate(object, *resource.schema));
  validation::Workload(resource, object, causes);
  validation::CoreKind(resource, object, causes);
  validation::ServiceKind(resource, object, causes);
  validation::StorageKind(resource, object, causes);
  validation::OtherKind(resource, object, causes);
  validation::Networking(resource, object, causes);
  validation::BoundsKind(resource, object, causes);
  validation::AccessKind(resource, object, causes);
  validation::PlatformKind(resource, object, causes);
  validation::DeviceKind(resource, object, causes);
  return causes;
}

}  // namespace

void DropKnownCauses(std::vector<base::Cause>& causes, const std::vector<base::Cause>& before) {
  std::erase_if(causes, [&](const base::Cause& cause) {
    return std::any_of(before.begin(), before.end(), [&](const base::Cause& one) {
      return one.field == cause.field && one.reason == cause.reason && one.message == cause.message;
    });
  });
}

std::vector<base::Cause> ValidateObject(const Resource& resource, const Json& object, const Json* old) {
  if (!object.is_object()) return {InvalidValue(FieldPath(), object, "must be an object")};
  Causes causes = ValidateRules(resource, object);
  if (old == nullptr) {
    validation::NewObject(resource, object, causes);
    validation::NewDeviceKind(resource, object, causes);
  }
  if (old != nullptr && !causes.empty()) DropKnownCauses(causes, ValidateRules(resource, *old));
  if (resource.schema != nullptr && !resource.schema->native) {
    causes = Joined(std::move(causes), Validate(object, *resource.schema, "", old));
    if (resource.schema->rules != nullptr) AddExpressions(*resource.schema->rules, object, old, causes);
  }
  if (causes.size() > 1) RemoveRepeated(causes);
  return causes;
}

}  // namespace evenkeel::kube
