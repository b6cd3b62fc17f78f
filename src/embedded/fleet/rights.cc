#include "embedded/fleet/rights.h"

#include <set>

#include "base/hash.h"
#include "client/definitions.h"
#include "embedded/apiserver/access/access_control.h"
#include "embedded/apiserver/access/account_tokens.h"
#include "embedded/fleet/hub_objects.h"
#include "kube/karmada.h"
#include "kube/manifest.h"

namespace evenkeel::embedded::fleet {

extern const std::string_view kHubRightsYaml, kMemberRightsYaml, kKarmadaRightsYaml;

namespace {

using base::Json;

/// The text is part of the program, so a mistake in it ends the process.
Rights ReadRights(std::string_view yaml, const char* name) {
  Rights rights;
  auto parsed = kube::ParseManifests(yaml, name);
  EVENKEEL_CHECK(parsed);
  for (kube::ManifestObject& item : *parsed) {
    if (base::FindString(item.object, {"type"}) == apiserver::kTokenSecret) rights.token_secret = kube::NameOf(item.object);
    rights.objects.push_back(std::move(item.object));
  }
  EVENKEEL_CHECK(!rights.token_secret.empty());
  return rights;
}

}  // namespace

const Rights& HubRights() {
  static const Rights* const kRights = new Rights(ReadRights(kHubRightsYaml, "hub_rights.yaml"));
  return *kRights;
}

const Rights& MemberRights() {
  static const Rights* const kRights = new Rights(ReadRights(kMemberRightsYaml, "member_rights.yaml"));
  return *kRights;
}

const Rights& KarmadaRights() {
  static const Rights* const kRights = new Rights(ReadRights(kKarmadaRightsYaml, "karmada_rights.yaml"));
  return *kRights;
}

base::Result<std::string> TokenOf(Cluster& cluster, const Rights& rights) {
  EVENKEEL_ASSIGN(const Json secret, cluster.client().Get(kube::resources::Secrets(), kNamespace, rights.token_secret));
  std::string token;
  const std::string_view encoded = base::FindString(secret, {"data", "token"});
  if (!base::Base64Decode(encoded, token)) return base::Fail(base::Code::kBadRequest, rights.token_secret + " has no token");
  return token;
}

base::Status Grant(Cluster& cluster, const Rights& rights) {
  client::Client& client = cluster.client();
  const apiserver::AccountTokens* tokens = cluster.api().access().tokens();
  EVENKEEL_CHECK(tokens != nullptr);
  if (const auto token = TokenOf(cluster, rights); token && !token->empty() && !tokens->FindOwner(*token)) {
    EVENKEEL_TRY(client.Delete(kube::resources::Secrets(), kNamespace, rights.token_secret, {}));
  }
  std::set<std::string_view> namespaces;
  for (const Json& object : rights.objects) {
    if (!kube::NamespaceOf(object).empty()) namespaces.insert(kube::NamespaceOf(object));
  }
  for (const std::string_view ns : namespaces) {
    const kube::Resource& kind = kube::resources::Namespaces();
    Json object = kube::NewObject(kind, "", ns);
    // What is installed there is not to come to members, or go from them, with a Cluster.
    if (ns == kNamespace) base::Ensure(object, {"metadata", "labels", kube::karmada::kSkipPropagation}) = "true";
    EVENKEEL_TRY(client::CreateOrUpdate(client, kind, object));
  }
  for (const Json& object : rights.objects) {
    const kube::Resource* kind =
        kube::FindBuiltInKind(base::FindString(object, {"apiVersion"}), base::FindString(object, {"kind"}));
    EVENKEEL_CHECK(kind != nullptr);
    EVENKEEL_TRY(client::CreateOrUpdate(client, *kind, object));
  }
  return {};
}

}  // namespace evenkeel::embedded::fleet
