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

Status InstallDefinition(Client& client, const Json& definition) {
  const Resource& kind = kube::resources::CustomResourceDefinitions();
  const std::string name(kube::NameOf(definition));
  const auto present = client.Get(kind, "", name);
  if (!present && present.error().code() != base::Code::kNotFound) {
    return base::Fail(present.error().Wrap("look for the definition " + name));
  }
  if (!present) {
    const auto created = client.Create(kind, definition);
    if (created || created.error().code() == base::Code::kAlreadyExists) return {};
    return base::Fail(created.error().Wrap("define " + name));
  }
  if (SaysAll(*present, definition)) return {};
  const auto updated = ReadModifyWrite(client, kind, "", name, [&](Json& object) -> Result<bool> {
    if (SaysAll(object, definition)) return false;
    base::ApplyMergePatch(object, definition);
    return true;
  });
  if (!updated) return base::Fail(updated.error().Wrap("update the definition " + name));
  return {};
}

}  // namespace evenkeel::client
