#include "kube/own_kinds.h"

#include "kube/manifest.h"

namespace evenkeel::kube {

/// The files of definitions/, compiled in.
extern const std::string_view kOwnDefinitionsYaml;

namespace {

struct OwnKindParts {
  base::Json definition;
  Resource resource;
};

const OwnKindParts& PartsOf(std::string_view plural) {
  static const auto kinds = [] {
    std::map<std::string, OwnKindParts, std::less<>> made;
    auto parsed = ParseManifests(kOwnDefinitionsYaml, "src/kube/definitions");
    EVENKEEL_CHECK(parsed);
    for (ManifestObject& item : *parsed) {
      Resource resource = ResourceOf(item.object, base::FindArray(item.object, {"spec", "versions"})[0]);
      made.emplace(resource.plural, OwnKindParts{std::move(item.object), resource});
    }
    return made;
  }();
  const auto found = kinds.find(plural);
  EVENKEEL_CHECK(found != kinds.end());
  return found->second;
}

}  // namespace

const base::Json& OwnDefinition(std::string_view plural) { return PartsOf(plural).definition; }
const Resource& OwnKind(std::string_view plural) { return PartsOf(plural).resource; }

}  // namespace evenkeel::kube
