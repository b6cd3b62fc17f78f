// Rules of the core kinds that are not about pods, and of the small groups.
#include <set>

#include "base/hash.h"
#include "kube/object.h"
#include "kube/schema/schema.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonObject;

constexpr size_t kMaxDataBytes = 1024 * 1024;

size_t DataKeys(const JsonObject& data, const FieldPath& path, Causes& causes) {
  size_t bytes = 0;
  for (const auto& [key, value] : data) {
    if (std::string problem = CheckConfigKey(key); !problem.empty()) causes.push_back(InvalidText(path.Key(key), key, problem));
    if (value.is_string()) bytes += value.get_string().size();
  }
  return bytes;
}

void ConfigMap(const Json& object, Causes& causes) {
  const FieldPath root;
  const JsonObject& data = Fields(object, "data");
  const JsonObject& binary = Fields(object, "binaryData");
  const FieldPath data_path = root.Field("data");
  size_t bytes = DataKeys(data, data_path, causes);
  bytes += DataKeys(binary, root.Field("binaryData"), causes) / 4 * 3;
  for (const auto& [key, value] : data) {
    if (binary.contains(key)) causes.push_back(InvalidText(data_path.Key(key), key, "duplicate of key present in binaryData"));
  }
  if (bytes > kMaxDataBytes) causes.push_back(TooManyBytes(root, kMaxDataBytes));
}

/// The value is a document that is never shown.
void DockerConfig(const JsonObject& data, std::string_view key, const FieldPath& path, Causes& causes) {
  const Json* value = data.if_contains(key);
  if (value == nullptr) return causes.push_back(RequiredValue(path.Key(key)));
  std::string text;
  if (!value->is_string() || !base::Base64Decode(value->get_string(), text)) return;  // the schema tells
  const auto document = base::ParseJson(text, "");
  if (document && document->is_object()) return;
  causes.push_back(InvalidText(path.Key(key), "<secret contents redacted>", "must be a JSON object"));
}

void Secret(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("data");
  const JsonObject& data = Fields(object, "data");
  if (DataKeys(data, path, causes) / 4 * 3 > kMaxDataBytes) causes.push_back(TooManyBytes(path, kMaxDataBytes));
  const std::string_view type = Text(object, "type");
  const auto require = [&](std::string_view key) {
    if (!data.contains(key)) causes.push_back(RequiredValue(path.Key(key)));
  };
  if (type == "kubernetes.io/tls") {
    require("tls.crt");
    require("tls.key");
  } else if (type == "kubernetes.io/dockerconfigjson") {
    DockerConfig(data, ".dockerconfigjson", path, causes);
  } else if (type == "kubernetes.io/dockercfg") {
    DockerConfig(data, ".dockercfg", path, causes);
  } else if (type == "kubernetes.io/ssh-auth") {
    if (Text(MemberOrNothing(object, "data"), "ssh-privatekey").empty()) {
      causes.push_back(RequiredValue(path.Key("ssh-privatekey")));
    }
  } else if (type == "kubernetes.io/basic-auth") {
    if (data.contains("username") || data.contains("password")) return;
    require("username");
    require("password");
  } else if (type == "kubernetes.io/service-account-token") {
    constexpr std::string_view kAccount = "kubernetes.io/service-account.name";
    const Json& annotations = MemberOrNothing(MemberOrNothing(object, "metadata"), "annotations");
    const FieldPath metadata = root.Field("metadata");
    if (Text(annotations, kAccount).empty()) causes.push_back(RequiredValue(metadata.Field("annotations").Key(kAccount)));
  }
}

void Node(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath spec_path = root.Field("spec");
  const FieldPath taints = spec_path.Field("taints");
  std::set<std::pair<std::string_view, std::string_view>> seen;
  size_t index = 0;
  for (const Json& taint : List(MemberOrNothing(object, "spec"), "taints")) {
    const FieldPath here = taints.Index(index++);
    const std::string_view key = Text(taint, "key");
    if (std::string problem = CheckQualifiedName(key); !problem.empty() && !key.empty()) {
      causes.push_back(InvalidText(here.Field("key"), key, problem));
    }
    if (std::string problem = CheckLabelValue(Text(taint, "value")); !problem.empty()) {
      causes.push_back(InvalidText(here.Field("value"), Text(taint, "value"), problem));
    }
    if (!seen.emplace(key, Text(taint, "effect")).second) causes.push_back(DuplicateValue(here, taint));
  }
  const FieldPath status_path = root.Field("status");
  const Json& status = MemberOrNothing(object, "status");
  NonNegativeAmounts(Fields(status, "capacity"), status_path.Field("capacity"), causes);
  NonNegativeAmounts(Fields(status, "allocatable"), status_path.Field("allocatable"), causes);
}

void Event(const Json& object, Causes& causes) {
  const std::string_view ns = NamespaceOf(object);
  const std::string_view involved = Text(MemberOrNothing(object, "involvedObject"), "namespace");
  if (involved.empty() || involved == ns) return;
  const FieldPath root;
  const FieldPath path = root.Field("involvedObject");
  causes.push_back(InvalidText(path.Field("namespace"), involved, "does not match event.namespace"));
}

void Lease(const Json& object, Causes& causes) {
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json& spec = MemberOrNothing(object, "spec");
  if (const Json* seconds = Member(spec, "leaseDurationSeconds");
      seconds != nullptr && Number(spec, "leaseDurationSeconds") <= 0) {
    causes.push_back(InvalidValue(path.Field("leaseDurationSeconds"), *seconds, "must be greater than 0"));
  }
  if (const Json* count = Member(spec, "leaseTransitions"); count != nullptr && Number(spec, "leaseTransitions") < 0) {
    causes.push_back(InvalidValue(path.Field("leaseTransitions"), *count, "must be greater than or equal to 0"));
  }
}

}  // namespace

void CoreKind(const Resource& resource, const Json& object, Causes& causes) {
  if (!resource.group.empty()) return;
  const std::string_view kind = resource.kind;
  if (kind == "Pod") {
    const FieldPath root;
    if (const Json* spec = Member(object, "spec")) {
      PodSpec(*spec, PodForm::kPod, root.Field("spec"), causes);
    } else {
      const FieldPath path = root.Field("spec");
      causes.push_back(RequiredValue(path.Field("containers")));
    }
  } else if (kind == "ConfigMap") {
    ConfigMap(object, causes);
  } else if (kind == "Secret") {
    Secret(object, causes);
  } else if (kind == "Node") {
    Node(object, causes);
  } else if (kind == "Event") {
    Event(object, causes);
  }
}

void OtherKind(const Resource& resource, const Json& object, Causes& causes) {
  if (resource.group == "coordination.k8s.io") {
    Lease(object, causes);
  }
}

}  // namespace evenkeel::kube::validation
