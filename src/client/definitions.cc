#include "client/definitions.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "base/parse_number.h"

namespace evenkeel::client {

bool SaysAll(const Json& present, const Json& wanted) {
  if (wanted.is_object()) {
    if (!present.is_object()) return false;
    for (const auto& [key, value] : wanted.get_object()) {
      const Json* found = base::Find(present.get_object(), key);
      if (found == nullptr || !SaysAll(*found, value)) return false;
    }
    return true;
  }
  if (!wanted.is_array()) return base::Equal(present, wanted);
  if (!present.is_array() || present.get_array().size() != wanted.get_array().size()) return false;
  for (size_t i = 0; i < wanted.get_array().size(); ++i) {
    if (!SaysAll(present.get_array()[i], wanted.get_array()[i])) return false;
  }
  return true;
}

namespace {

/// Null: nothing is left as it is. Otherwise why what is present is.
using Veto = std::string (*)(const Json& present, const Json& wanted);

Status Put(Client& client, const Resource& kind, const Json& object, Veto veto) {
  const std::string ns(kube::NamespaceOf(object)), name(kube::NameOf(object)), what = kind.kind + " " + kube::KeyOf(object);
  const auto present = client.Get(kind, ns, name);
  if (!present && present.error().code() != base::Code::kNotFound) {
    return base::Fail(present.error().Wrap("look for " + what));
  }
  if (!present) {
    const auto created = client.Create(kind, object);
    if (created || created.error().code() == base::Code::kAlreadyExists) return {};
    return base::Fail(created.error().Wrap("create " + what));
  }
  if (SaysAll(*present, object)) return {};
  if (const std::string why = veto == nullptr ? "" : veto(*present, object); !why.empty()) {
    base::log::Warn("a definition stays as it is: a newer program has installed it", {{"what", what}, {"why", why}});
    return {};
  }
  const auto updated = ReadModifyWrite(client, kind, ns, name, [&](Json& stored) -> Result<bool> {
    if (SaysAll(stored, object) || (veto != nullptr && !veto(stored, object).empty())) return false;
    base::ApplyMergePatch(stored, object);
    return true;
  });
  if (!updated) return base::Fail(updated.error().Wrap("update " + what));
  return {};
}

/// nullopt: it has none.
std::optional<int64_t> NumberOf(const Json& definition) {
  return base::ParseNumber<int64_t>(base::FindString(definition, {"metadata", "annotations", kDefinitionNumber}));
}

/// The first field that `present` describes and `wanted` does not; "": there is none.
std::string MissingField(const Json& present, const Json& wanted, const std::string& at) {
  const base::JsonObject& fields = base::FindObject(wanted, {"properties"});
  for (const auto& [name, schema] : base::FindObject(present, {"properties"})) {
    const std::string path = at + "." + std::string(name);
    const Json* field = base::Find(fields, name);
    if (field == nullptr) return path;
    if (std::string missing = MissingField(schema, *field, path); !missing.empty()) return missing;
  }
  for (const char* below : {"items", "additionalProperties"}) {
    const Json *theirs = base::Find(present, {below}), *ours = base::Find(wanted, {below});
    if (theirs == nullptr || ours == nullptr) continue;
    if (std::string missing = MissingField(*theirs, *ours, at + "[]"); !missing.empty()) return missing;
  }
  return "";
}

}  // namespace

Status CreateOrUpdate(Client& client, const Resource& kind, const Json& object) { return Put(client, kind, object, nullptr); }

std::string WhyOlder(const Json& present, const Json& wanted) {
  const std::optional<int64_t> theirs = NumberOf(present), ours = NumberOf(wanted);
  if (theirs && ours && *theirs > *ours) return fmt::format("it is of form {}, and this program has form {}", *theirs, *ours);
  if (theirs && ours && *theirs < *ours) return "";
  const base::JsonArray& versions = base::FindArray(wanted, {"spec", "versions"});
  for (const Json& version : base::FindArray(present, {"spec", "versions"})) {
    const std::string_view name = base::FindString(version, {"name"});
    const auto same =
        std::ranges::find_if(versions, [&](const Json& other) { return base::FindString(other, {"name"}) == name; });
    if (same == versions.end()) return fmt::format("it has the version {}, which this program does not know", name);
    const auto schema = [](const Json& of) { return base::Find(of, {"schema", "openAPIV3Schema"}); };
    if (schema(version) == nullptr || schema(*same) == nullptr) continue;
    if (const std::string field = MissingField(*schema(version), *schema(*same), ""); !field.empty()) {
      return fmt::format("it has the field {}, which this program does not know", field.substr(1));
    }
  }
  return "";
}

Status InstallDefinition(Client& client, const Json& definition) {
  return Put(client, kube::resources::CustomResourceDefinitions(), definition, WhyOlder);
}

}  // namespace evenkeel::client
