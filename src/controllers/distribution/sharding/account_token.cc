#include "controllers/distribution/sharding/account_token.h"

#include "base/hash.h"
#include "kube/object.h"
#include "kube/types.h"

namespace evenkeel::controllers::distribution {
namespace {

using base::Json;
using base::JsonObject;

// Below the shortest that an API server gives (10 min), so that tests may be quick; beyond the longest, a number that fits.
constexpr base::Duration kLifetimeMin = std::chrono::seconds(10);
constexpr base::Duration kLifetimeMax = std::chrono::hours(24 * 365 * 10);
constexpr const char* kConfig = "config";

std::optional<base::Time> TimeIn(const Json& secret, std::string_view annotation) {
  const auto time = base::ParseTime(base::FindString(secret, {"metadata", "annotations", annotation}));
  return time ? std::optional(*time) : std::nullopt;
}

}  // namespace

std::optional<AccountToken> AccountTokenOf(const Json& secret) {
  AccountToken token;
  kube::SplitKey(base::FindString(secret, {"metadata", "annotations", kTokenAccountAnnotation}), token.ns, token.account);
  const auto issued = TimeIn(secret, kTokenIssuedAnnotation), expires = TimeIn(secret, kTokenExpiresAnnotation);
  if (token.ns.empty() || token.account.empty() || !issued || !expires) return std::nullopt;
  token.issued = *issued;
  token.expires = *expires;
  if (token.lifetime() < kLifetimeMin || token.lifetime() > kLifetimeMax) return std::nullopt;
  return token;
}

base::Result<NewToken> RequestToken(client::Client& member, const std::string& ns, const std::string& account,
                                    base::Duration lifetime) {
  const Json request = JsonObject{
      {"apiVersion", "authentication.k8s.io/v1"},
      {"kind", "TokenRequest"},
      {"spec", JsonObject{{"expirationSeconds", std::chrono::duration_cast<std::chrono::seconds>(lifetime).count()}}}};
  auto answer = member.Post(kube::resources::ServiceAccounts(), ns, account, "token", request);
  if (!answer) return base::Fail(answer.error().Wrap("a token for ServiceAccount " + ns + "/" + account));
  NewToken made;
  made.token = base::FindString(*answer, {"status", "token"});
  const auto expires = base::ParseTime(base::FindString(*answer, {"status", "expirationTimestamp"}));
  if (made.token.empty() || !expires) {
    return base::Fail(base::Code::kInternal, "ServiceAccount " + ns + "/" + account + ": the answer has no token with a time");
  }
  made.expires = *expires;
  return made;
}

base::Status PutToken(Json& secret, const NewToken& token, const std::string& ns, const std::string& account, base::Time now) {
  const std::string key = kube::KeyOf(secret);
  const auto& data = kube::DataObject::Decode(secret).data;
  const auto found = data.find(kConfig);
  auto config = found == data.end() ? base::Result<Json>(JsonObject{}) : base::ParseJson(found->second, "config");
  if (!config || !config->is_object()) {
    return base::Fail(base::Code::kBadRequest, "Secret " + key + ": data.config is no JSON object: make the Secret anew");
  }
  config->as_object()["bearerToken"] = token.token;
  base::Ensure(secret, {"data", kConfig}) = base::Base64Encode(base::ToText(*config));
  if (auto* texts = secret.as_object().if_contains("stringData"); texts != nullptr && texts->is_object()) {
    texts->as_object().erase(kConfig);
  }
  const size_t equals = kTokenLabel.find('=');
  base::Ensure(secret, {"metadata", "labels", kTokenLabel.substr(0, equals)}) = kTokenLabel.substr(equals + 1);
  base::Ensure(secret, {"metadata", "annotations", kTokenAccountAnnotation}) = ns + "/" + account;
  base::Ensure(secret, {"metadata", "annotations", kTokenIssuedAnnotation}) = base::FormatTime(now);
  base::Ensure(secret, {"metadata", "annotations", kTokenExpiresAnnotation}) = base::FormatTime(token.expires);
  return {};
}

}  // namespace evenkeel::controllers::distribution
