#include "cli/commands/member_account.h"

#include <algorithm>
#include <ranges>

#include "base/hash.h"
#include "client/definitions.h"
#include "controllers/distribution/sharding/account_token.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "kube/manifest.h"
#include "kube/own_kinds.h"

namespace evenkeel::cli {

extern const std::string_view kMemberAccountYaml, kMemberRolesYaml, kMemberClusterApiYaml, kMemberKwokYaml,
    kMemberZooKeeperYaml;

namespace {

using base::Code;
using base::Json;
using base::JsonObject;

constexpr const char* kTokenSecret = "evenkeel-member-token";

/// The text is part of the program, so a mistake in it ends the process.
void Append(std::vector<Json>& objects, std::string_view yaml) {
  auto parsed = kube::ParseManifests(yaml, "the rights of a member");
  EVENKEEL_CHECK(parsed);
  for (kube::ManifestObject& item : *parsed) objects.push_back(std::move(item.object));
}

const kube::Resource& KindOf(const Json& object) {
  const auto* kind = kube::FindBuiltInKind(base::FindString(object, {"apiVersion"}), base::FindString(object, {"kind"}));
  EVENKEEL_CHECK(kind != nullptr);
  return *kind;
}

base::Status Put(client::Client& member, const Json& object) {
  const auto put = client::CreateOrUpdate(member, KindOf(object), object);
  if (put) return {};
  return base::Fail(put.error().Wrap(std::string(base::FindString(object, {"kind"})) + " " + kube::KeyOf(object)));
}

base::Status DeleteIfThere(client::Client& member, const kube::Resource& kind, std::string_view ns, std::string_view name) {
  const auto gone = member.Delete(kind, ns, name, {});
  if (gone || gone.error().code() == Code::kNotFound) return {};
  return base::Fail(gone.error().Wrap("delete " + kind.kind + " " + std::string(name)));
}

base::Result<MemberToken> TokenOfSecret(client::Client& member, const std::function<base::Status()>& wait) {
  Json secret = kube::NewObject(kube::resources::Secrets(), kMemberNamespace, kTokenSecret);
  base::Ensure(secret, {"type"}) = "kubernetes.io/service-account-token";
  base::Ensure(secret, {"metadata", "annotations"}) = JsonObject{{"kubernetes.io/service-account.name", kMemberAccount}};
  EVENKEEL_TRY(Put(member, secret));
  for (;;) {
    EVENKEEL_ASSIGN(const Json filled, member.Get(kube::resources::Secrets(), kMemberNamespace, kTokenSecret));
    MemberToken made;
    if (base::Base64Decode(base::FindString(filled, {"data", "token"}), made.token) && !made.token.empty()) return made;
    EVENKEEL_TRY(wait());
  }
}

}  // namespace

std::vector<Json> MemberAccountObjects(const MemberParts& parts) {
  std::vector<Json> objects;
  Append(objects, kMemberAccountYaml);
  Append(objects, kMemberRolesYaml);
  if (parts.cloud_provider == "clusterapi") Append(objects, kMemberClusterApiYaml);
  if (parts.cloud_provider == "kwok") Append(objects, kMemberKwokYaml);
  if (parts.zookeeper) Append(objects, kMemberZooKeeperYaml);
  return objects;
}

base::Status InstallMemberAccount(client::Client& member, const MemberParts& parts) {
  EVENKEEL_TRY(Put(member, kube::NewObject(kube::resources::Namespaces(), "", kMemberNamespace)));
  for (const char* kind : {"balancingpolicies", "balancingplans"}) {
    EVENKEEL_TRY(client::InstallDefinition(member, kube::OwnDefinition(kind)));
  }
  if (parts.zookeeper) {
    EVENKEEL_TRY(client::InstallDefinition(member, controllers::rollout::zookeeper::ZooKeeperDefinition()));
  }
  for (const Json& object : MemberAccountObjects(parts)) EVENKEEL_TRY(Put(member, object));
  return {};
}

base::Status RemoveMemberAccount(client::Client& member) {
  std::vector<Json> objects = MemberAccountObjects({.cloud_provider = "clusterapi", .zookeeper = true});
  Append(objects, kMemberKwokYaml);
  for (const Json& object : std::views::reverse(objects)) {
    EVENKEEL_TRY(DeleteIfThere(member, KindOf(object), kube::NamespaceOf(object), kube::NameOf(object)));
  }
  return DeleteIfThere(member, kube::resources::Secrets(), kMemberNamespace, kTokenSecret);
}

base::Status RevokeMemberTokens(client::Client& member) {
  EVENKEEL_TRY(DeleteIfThere(member, kube::resources::Secrets(), kMemberNamespace, kTokenSecret));
  EVENKEEL_TRY(DeleteIfThere(member, kube::resources::ServiceAccounts(), kMemberNamespace, kMemberAccount));
  // Bindings name the account, so the one with that name has its rights.
  std::vector<Json> objects;
  Append(objects, kMemberAccountYaml);
  for (const Json& object : objects) EVENKEEL_TRY(Put(member, object));
  return {};
}

base::Result<MemberToken> MakeMemberToken(client::Client& member, base::Duration lifetime,
                                          const std::function<base::Status()>& wait) {
  auto made = controllers::distribution::RequestToken(member, kMemberNamespace, kMemberAccount, lifetime);
  if (made) return MemberToken{std::move(made->token), made->expires};
  constexpr Code kNotOffered[] = {Code::kNotFound, Code::kMethodNotAllowed, Code::kForbidden};
  if (std::ranges::find(kNotOffered, made.error().code()) == std::end(kNotOffered)) return base::Fail(made.error());
  return TokenOfSecret(member, wait);
}

}  // namespace evenkeel::cli
