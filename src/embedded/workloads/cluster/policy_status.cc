#include "embedded/workloads/cluster/policy_status.h"

#include <spdlog/fmt/fmt.h>

#include <map>
#include <set>
#include <tuple>

#include "embedded/workloads/cluster/inlined_schema.h"

namespace evenkeel::embedded::workloads {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using kube::cel::PolicyKind;

/// Group, version, kind.
using KindName = std::tuple<std::string, std::string, std::string>;

const kube::Resource& PolicyResource() {
  static const kube::Resource& resource =
      *kube::FindBuiltIn("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies");
  return resource;
}

/// Of a rule's groups or versions: one wildcard, and there are none. Of its resources those without wildcard and subresource.
std::set<std::string> WithoutWildcards(const Json& rule, std::string_view field) {
  const bool resources = field == "resources";
  std::set<std::string> names;
  for (const Json& item : FindArray(rule, {field})) {
    const std::string name = item.is_string() ? std::string(item.get_string()) : "*";
    if (name.find_first_of(resources ? "*/" : "*") == name.npos) {
      names.insert(name);
    } else if (!resources) {
      return {};
    }
  }
  return names;
}

/// The kind of a resource, with its schema; a kind without a name where there is none.
base::Result<std::pair<std::string, JsonObject>> FindResource(client::Client& client, const std::string& group,
                                                              const std::string& version, const std::string& plural) {
  if (const kube::Resource* const known = kube::FindBuiltIn(group, version, plural)) {
    return std::pair(known->kind, known->schema == nullptr ? JsonObject() : InlinedSchema(*known->schema));
  }
  if (group.empty()) return std::pair(std::string(), JsonObject());
  const auto definition = client.Get(kube::resources::CustomResourceDefinitions(), "", plural + "." + group);
  if (!definition && definition.error().code() != base::Code::kNotFound) return base::Fail(definition.error());
  if (!definition) return std::pair(std::string(), JsonObject());
  JsonObject schema = InlinedSchemaOfDefinition(*definition, version);
  return std::pair(schema.empty() ? std::string() : std::string(FindString(*definition, {"spec", "names", "kind"})),
                   std::move(schema));
}

}  // namespace

PolicyStatus::PolicyStatus(Context& context) : Reconciler(context, "validating-admission-policy-status") {
  informers().Of(PolicyResource()).AddHandler([this](const ObjectPointer&, const ObjectPointer& after) {
    if (after != nullptr) Enqueue(after->meta.name);
  });
}

base::Result<std::vector<PolicyKind>> PolicyStatus::KindsOf(const Json& spec) {
  std::map<KindName, JsonObject> found;
  const auto listed = [&] {
    std::vector<PolicyKind> kinds;
    for (auto& [name, schema] : found) {
      const auto& [group, version, kind] = name;
      kinds.push_back({fmt::format("{}/{}, Kind={}", group, version, kind), std::move(schema)});
    }
    return kinds;
  };
  for (const Json& rule : FindArray(spec, {"matchConstraints", "resourceRules"})) {
    size_t count = 0;
    const auto groups = WithoutWildcards(rule, "apiGroups"), versions = WithoutWildcards(rule, "apiVersions"),
               resources = WithoutWildcards(rule, "resources");
    for (const std::string& group : groups) {
      for (const std::string& version : versions) {
        for (const std::string& plural : resources) {
          EVENKEEL_ASSIGN(auto resource, FindResource(api(), group, version, plural));
          if (resource.first.empty()) continue;
          found.insert_or_assign(KindName(group, version, resource.first), std::move(resource.second));
          if (++count == kube::cel::kPolicyKindsMax) return listed();
        }
      }
    }
  }
  return listed();
}

base::Result<JsonObject> PolicyStatus::ParamsOf(const Json& spec) {
  const std::string_view api_version = FindString(spec, {"paramKind", "apiVersion"}),
                         kind = FindString(spec, {"paramKind", "kind"});
  if (kind.empty()) return JsonObject();
  if (const kube::Resource* const known = kube::FindBuiltInKind(api_version, kind)) {
    return known->schema == nullptr ? JsonObject() : InlinedSchema(*known->schema);
  }
  const size_t slash = api_version.find('/');
  if (slash == api_version.npos) return JsonObject();
  EVENKEEL_ASSIGN(const client::ListPage definitions, client::ListAll(api(), kube::resources::CustomResourceDefinitions()));
  for (const Json& definition : definitions.items) {
    const bool meant = FindString(definition, {"spec", "group"}) == api_version.substr(0, slash) &&
                       FindString(definition, {"spec", "names", "kind"}) == kind;
    if (meant) return InlinedSchemaOfDefinition(definition, api_version.substr(slash + 1));
  }
  return JsonObject();
}

base::Result<Again> PolicyStatus::Reconcile(const std::string& key) {
  const ObjectPointer policy = informers().Of(PolicyResource()).Get(key);
  if (policy == nullptr || policy->meta.deletion_time) return Again{};
  const Json& object = *policy->json;
  const int64_t generation = base::FindInt(object, {"metadata", "generation"});
  if (base::FindInt(object, {"status", "observedGeneration"}) >= generation) return Again{};
  const Json* const spec = base::Find(object, {"spec"});
  if (spec == nullptr) return Again{};
  EVENKEEL_ASSIGN(const auto kinds, KindsOf(*spec));
  EVENKEEL_ASSIGN(const JsonObject params, ParamsOf(*spec));
  JsonObject checked;
  if (JsonArray warnings = kube::cel::CheckPolicyTypes(*spec, kinds, params); !warnings.empty()) {
    checked["expressionWarnings"] = std::move(warnings);
  }
  Json status = base::FindObject(object, {"status"});
  status.get_object()["observedGeneration"] = generation;
  status.get_object()["typeChecking"] = std::move(checked);
  EVENKEEL_TRY(UnlessGone(WriteStatus(api(), PolicyResource(), object, std::move(status))));
  return Again{};
}

}  // namespace evenkeel::embedded::workloads
