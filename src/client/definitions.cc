#include "client/definitions.h"

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

Status CreateOrUpdate(Client& client, const Resource& kind, const Json& object) {
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
  const auto updated = ReadModifyWrite(client, kind, ns, name, [&](Json& stored) -> Result<bool> {
    if (SaysAll(stored, object)) return false;
    base::ApplyMergePatch(stored, object);
    return true;
  });
  if (!updated) return base::Fail(updated.error().Wrap("update " + what));
  return {};
}

Status InstallDefinition(Client& client, const Json& definition) {
  return CreateOrUpdate(client, kube::resources::CustomResourceDefinitions(), definition);
}

}  // namespace evenkeel::client
