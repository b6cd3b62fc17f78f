#include "embedded/apiserver/admission/write_filter.h"

#include <algorithm>

#include "embedded/apiserver/objects/call.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

bool Names(const Json& rule, std::string_view field, std::string_view wanted) {
  return std::ranges::any_of(FindArray(rule, {field}), [&](const Json& item) {
    return item.is_string() && (item.get_string() == "*" || item.get_string() == wanted);
  });
}

/// "PLURAL", "PLURAL/SUB", "PLURAL/*", "*/SUB", "*" (no subresources) and "*/*".
bool NamesResource(const Json& rule, std::string_view plural, std::string_view subresource) {
  return std::ranges::any_of(FindArray(rule, {"resources"}), [&](const Json& item) {
    const std::string_view text = item.is_string() ? std::string_view(item.get_string()) : "";
    const size_t slash = text.find('/');
    const std::string_view name = text.substr(0, slash);
    const std::string_view sub = slash == text.npos ? "" : text.substr(slash + 1);
    const bool same_sub = sub == subresource || sub == "*";
    return (name == "*" || name == plural) && same_sub;
  });
}

bool NamesObject(const Json& rule, std::string_view name) {
  const JsonArray& names = FindArray(rule, {"resourceNames"});
  return names.empty() ||
         std::ranges::any_of(names, [&](const Json& one) { return one.is_string() && one.get_string() == name; });
}

bool Matches(const Json& rule, const kube::Resource& resource, const Call& call, std::string_view operation) {
  const std::string_view scope = FindString(rule, {"scope"}, "*");
  // A namespace is in none, though it has one for the rights to it.
  return Names(rule, "operations", operation) && Names(rule, "apiGroups", resource.group) &&
         Names(rule, "apiVersions", resource.version) && NamesResource(rule, resource.plural, call.subresource) &&
         (scope == "*" || (scope == "Namespaced") == resource.namespaced) && NamesObject(rule, call.name);
}

JsonObject KindOf(const kube::Resource& resource) {
  return {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}};
}

JsonObject ResourceOf(const kube::Resource& resource) {
  return {{"group", resource.group}, {"version", resource.version}, {"resource", resource.plural}};
}

Json OptionsOf(std::string_view operation, const Call& call) {
  const std::string_view kind = operation == "CREATE"   ? "CreateOptions"
                                : operation == "UPDATE" ? "UpdateOptions"
                                                        : "DeleteOptions";
  JsonObject options{{"kind", kind}, {"apiVersion", "meta.k8s.io/v1"}};
  if (call.dry_run) options["dryRun"] = JsonArray{"All"};
  if (operation != "DELETE" && !call.field_manager.empty()) options["fieldManager"] = call.field_manager;
  return options;
}

JsonObject KindIn(const Json& object) {
  const std::string_view version = FindString(object, {"apiVersion"});
  const size_t slash = version.find('/');
  return {{"group", slash == version.npos ? "" : version.substr(0, slash)},
          {"version", slash == version.npos ? version : version.substr(slash + 1)},
          {"kind", FindString(object, {"kind"})}};
}

kube::Labels LabelsOf(const Json& object) {
  kube::Labels labels;
  for (const auto& [key, value] : base::FindObject(object, {"metadata", "labels"})) {
    if (value.is_string()) labels[std::string(key)] = std::string(value.get_string());
  }
  return labels;
}

bool IsNamespaces(const kube::Resource& resource) { return resource.group.empty() && resource.plural == "namespaces"; }

}  // namespace

WriteFilter::WriteFilter(const Json& json, std::string_view rules) {
  for (const Json& rule : FindArray(json, {rules})) rules_.push_back(Json(rule, {}));
  for (const Json& rule : FindArray(json, {"excludeResourceRules"})) excluded_.push_back(Json(rule, {}));
  const auto select = [&json](std::string_view field, kube::LabelSelector& selector, bool& all) {
    const JsonObject& given = base::FindObject(json, {field});
    all = given.empty();
    if (auto parsed = kube::LabelSelector::FromJson(Json(given))) selector = *std::move(parsed);
  };
  select("namespaceSelector", namespaces_, all_namespaces_);
  select("objectSelector", objects_, all_objects_);
  equivalent_ = FindString(json, {"matchPolicy"}) != "Exact";
}

ServedPointer WriteFilter::Matched(const std::vector<Json>& rules, const Call& call, std::string_view operation,
                                   const std::vector<ServedPointer>& versions) const {
  const auto matches = [&](const Served& served) {
    return std::ranges::any_of(rules, [&](const Json& rule) { return Matches(rule, served.resource, call, operation); });
  };
  if (matches(*call.served)) return call.served;
  for (const ServedPointer& other : versions) {
    if (equivalent_ && other != call.served && matches(*other)) return other;
  }
  return nullptr;
}

ServedPointer WriteFilter::MatchedVersion(const Call& call, std::string_view operation,
                                          const std::vector<ServedPointer>& versions) const {
  return Excludes(call, operation, versions) ? nullptr : Matched(rules_, call, operation, versions);
}

bool WriteFilter::Excludes(const Call& call, std::string_view operation, const std::vector<ServedPointer>& versions) const {
  return !excluded_.empty() && Matched(excluded_, call, operation, versions) != nullptr;
}

bool WriteFilter::Selects(const AdmissionView& view, const Call& call, const Json& object, const Json* old) const {
  if (!all_objects_) {
    const bool now = object.is_object() && objects_.Matches(LabelsOf(object));
    const bool before = old != nullptr && old->is_object() && objects_.Matches(LabelsOf(*old));
    if (!now && !before) return false;
  }
  if (all_namespaces_) return true;
  if (IsNamespaces(call.served->resource)) {
    return namespaces_.Matches(LabelsOf(object.is_object() || old == nullptr ? object : *old));
  }
  // What is in no namespace is always meant.
  if (!call.served->resource.namespaced) return true;
  const auto labels = view.namespace_labels(call.ns);
  return labels && namespaces_.Matches(*labels);
}

Json ConvertedTo(const Served& to, const Served& from, const Json& object) {
  if (!object.is_object() || &to == &from || FindString(object, {"kind"}) != from.resource.kind) return object;
  Json converted = object;
  if (from.to_stored != nullptr) from.to_stored(converted);
  if (to.from_stored != nullptr) to.from_stored(converted);
  converted.get_object()["apiVersion"] = to.resource.ApiVersion();
  converted.get_object()["kind"] = to.resource.kind;
  return converted;
}

JsonObject RequestOf(const Call& call, const Served& as, const AdmissionQuestion& question, const Json& object) {
  const kube::Resource& resource = call.served->resource;
  // Scale, Binding and the like say of what kind they are.
  const std::string_view kind = FindString(object, {"kind"});
  const bool other = !call.subresource.empty() && !kind.empty() && kind != resource.kind;
  JsonObject request{{"kind", other ? KindIn(object) : KindOf(as.resource)},
                     {"resource", ResourceOf(as.resource)},
                     {"requestKind", other ? KindIn(object) : KindOf(resource)},
                     {"requestResource", ResourceOf(resource)},
                     {"name", call.name},
                     {"operation", question.operation},
                     {"userInfo", JsonObject{{"username", call.user.name}, {"groups", base::ToJsonArray(call.user.groups)}}},
                     {"dryRun", call.dry_run},
                     {"options", question.options == nullptr ? OptionsOf(question.operation, call) : *question.options}};
  if (!call.ns.empty()) request["namespace"] = call.ns;
  if (!call.subresource.empty()) request["subResource"] = request["requestSubResource"] = call.subresource;
  return request;
}

kube::cel::AccessQuestion AccessQuestionOf(const Call& call) {
  const kube::Resource& resource = call.served->resource;
  return {.group = resource.group,
          .resource = resource.plural,
          .subresource = call.subresource,
          .namespace_name = call.ns,
          .name = call.name};
}

RightsOfCaller::Answer RightsOfCaller::Ask(const kube::cel::AccessQuestion& question, std::string_view verb) const {
  access::UserInfo user = call_.user;
  if (!question.account_name.empty()) {
    user = {.name = access::ServiceAccountUser(question.account_namespace, question.account_name),
            .groups = access::ServiceAccountGroups(question.account_namespace)};
  }
  access::Attributes attributes{.verb = std::string(verb), .path = std::string(question.path)};
  if (question.path.empty()) {
    attributes.group = question.group;
    attributes.resource = question.resource;
    attributes.subresource = question.subresource;
    attributes.ns = question.namespace_name;
    attributes.name = question.name;
  }
  access::Decision decision = authorize_(user, attributes);
  return {decision.allowed, std::move(decision.reason)};
}

}  // namespace evenkeel::embedded::apiserver
