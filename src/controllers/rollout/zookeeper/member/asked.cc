#include "controllers/rollout/zookeeper/member/asked.h"

#include <algorithm>

#include "controllers/rollout/zookeeper/member/member_objects.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

using base::Find;
using base::Json;
using base::JsonObject;

/// Fields of a spec that start no server anew.
constexpr const char* kNotOfServers[] = {"replicas", "servers",    "leaving", "abandoned",      "hold",
                                         "ensemble", kFormatField, "paused",  "rolloutRevision"};
constexpr const char* kNotOfVolumes[] = {"size", "storageClass", "reclaimPolicy"};

/// An API fills defaults in, and which ones depends on who has defined the kind.
void DropDefaults(Json& value, const Json& schema) {
  if (!value.is_object()) return;
  std::vector<std::string> dropped;
  for (auto& [name, field] : value.get_object()) {
    const Json* property = Find(schema, {"properties", name});
    if (property == nullptr) continue;
    DropDefaults(field, *property);
    const Json* usual = Find(*property, {"default"});
    const bool empty = Find(*property, {"properties"}) != nullptr && field.is_object() && field.get_object().empty();
    if (field.is_null() || empty || (usual != nullptr && base::Equal(*usual, field))) dropped.emplace_back(name);
  }
  for (const std::string& name : dropped) value.get_object().erase(name);
}

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

Json AskedBody(const Json& object) {
  const Json* spec = Find(object, {"spec"});
  if (spec == nullptr || !spec->is_object()) return JsonObject{};
  Json body(*spec, {});
  for (const char* field : kNotOfServers) body.get_object().erase(field);
  for (const char* field : kNotOfVolumes) base::Erase(body, {"storage", field});
  base::Erase(body, {"recovery", "absent"});
  DropDefaults(body, SchemaOf(ZooKeepers(), "spec"));
  return body;
}

std::string AskedOf(const MemberSpec& spec, const std::string& super_digest) {
  return HashOf(JsonObject{{"spec", spec.asked}, {"ownAddress", HasOwnAddress(spec)}, {"super", super_digest}});
}

std::string FilesHash(std::string_view config, std::string_view script) {
  return HashOf(base::JsonArray{Json(config), Json(script)});
}

bool KnowsAsked(const std::string& text) {
  constexpr size_t kHashSize = 16;
  return text.empty() || (text.size() == kHashSize && std::ranges::all_of(text, IsHex));
}

Making MakingOf(const Picture& picture) {
  Making making{.asked = AskedOf(picture.spec, picture.super_digest),
                .revision = PodRevision(picture.spec, picture.super_digest)};
  const PodFiles& files = picture.files;
  const bool unsaid = picture.set_asked.empty();
  const bool same = unsaid ? picture.complete : picture.set_asked == making.asked;
  making.kept = !picture.set_revision.empty() && (picture.carried_out || same);
  if (making.kept) {
    making.revision = picture.set_revision;
    if (unsaid) {
      for (const ServerPod& pod : picture.pods) making.made_as.insert(pod.revision);
    } else {
      making.asked = picture.set_asked;
      making.made_as = picture.made_as;
    }
    const bool untouched = files.hash.empty() || files.hash == FilesHash(files.config, files.script);
    making.keeps_files = !files.config.empty() && !files.script.empty() && untouched &&
                         (files.asked.empty() ? unsaid : files.asked == making.asked);
  }
  making.made_as.erase("");
  making.made_as.insert(making.revision);
  return making;
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
