#include "embedded/apiserver/access/account_tokens.h"

#include "base/hash.h"
#include "base/log.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/requests/errors.h"
#include "kube/forms/defaulting.h"
#include "kube/schema/schema.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;

constexpr char kAccountName[] = "kubernetes.io/service-account.name";
constexpr char kAccountUid[] = "kubernetes.io/service-account.uid";
constexpr char kCredentialId[] = "authentication.kubernetes.io/credential-id";
constexpr size_t kVerifiedMax = 1024;
constexpr int64_t kSecondsMin = 600, kSecondsMax = int64_t{1} << 32;

std::pair<std::string, std::string> SplitKey(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == key.npos) return {};
  return {std::string(key.substr(0, slash)), std::string(key.substr(slash + 1))};
}

Call TokenControllerCall(const ServedPointer& served, const std::pair<std::string, std::string>& object) {
  Call call;
  call.served = served;
  call.ns = object.first;
  call.name = object.second;
  call.user = {.name = "system:kube-controller-manager/tokens-controller", .groups = {access::kMasters}};
  call.field_manager = "tokens-controller";
  return call;
}

/// The request with its defaults, or what is wrong with it.
Status CheckRequest(const Call& call, Json& body) {
  const kube::Resource request = NamedKind("authentication.k8s.io", "TokenRequest", "tokenrequests");
  const std::string_view kind = base::FindString(body, {"kind"}), version = base::FindString(body, {"apiVersion"});
  if ((!kind.empty() && kind != request.kind) || (!version.empty() && version != request.ApiVersion())) {
    return Fail(Code::kBadRequest, "the body must be a TokenRequest of " + request.ApiVersion());
  }
  if (const std::string_view ns = kube::NamespaceOf(body); !ns.empty() && ns != call.ns) {
    return Fail(Code::kBadRequest, "the namespace of the provided object does not match the namespace sent on the request");
  }
  const kube::Schema* schema = kube::FindBuiltInSchema("io.k8s.api.authentication.v1.TokenRequest");
  EVENKEEL_CHECK(schema != nullptr);
  if (Json& spec = base::Ensure(body, {"spec"}); spec.is_null()) spec = base::JsonObject();
  kube::Prune(body, *schema, nullptr);
  kube::ApplyDefaults(body, *schema);
  std::vector<base::Cause> causes = kube::Validate(body, *schema);
  const int64_t seconds = base::FindInt(body, {"spec", "expirationSeconds"});
  const auto invalid = [&](std::string_view field, const std::string& message) {
    causes.push_back({.reason = "FieldValueInvalid", .message = message, .field = std::string(field)});
  };
  if (causes.empty() && seconds < kSecondsMin) {
    invalid("spec.expirationSeconds",
            "Invalid value: " + std::to_string(seconds) + ": may not specify a duration less than 10 minutes");
  }
  if (causes.empty() && seconds > kSecondsMax) {
    invalid("spec.expirationSeconds",
            "Invalid value: " + std::to_string(seconds) + ": may not specify a duration larger than 2^32 seconds");
  }
  // kubectl sends null where nothing is meant.
  const Json* bound = base::Find(body, {"spec", "boundObjectRef"});
  if (causes.empty() && bound != nullptr && !bound->is_null()) {
    causes.push_back({.reason = "FieldValueForbidden",
                      .message = "Forbidden: this server binds tokens to their ServiceAccount only",
                      .field = "spec.boundObjectRef"});
  }
  if (!causes.empty()) return Fail(InvalidError(request, "", std::move(causes)));
  return {};
}

}  // namespace

AccountTokens::AccountTokens(Api& api, access::TokenKey key, std::string ca_pem)
    : api_(api), key_(std::move(key)), ca_pem_(std::move(ca_pem)) {
  EVENKEEL_CHECK(api_.options().executor != nullptr);
  strand_ = api_.options().executor->NewStrand("account-tokens");
}

AccountTokens::~AccountTokens() {
  accounts_follower_.reset();
  secrets_follower_.reset();
  strand_->Close();
}

Status AccountTokens::Start() {
  const ServedPointer accounts = api_.resources().Find("", "v1", "serviceaccounts");
  const ServedPointer secrets = api_.resources().Find("", "v1", "secrets");
  accounts_follower_ = std::make_unique<StoreFollower>(
      api_.store(), accounts->prefix, "ServiceAccounts",
      StoreFollower::Sink{.put = [this, accounts](const store::KeyValue& item) { PutAccount(*accounts, item); },
                          .remove = [this](const std::string& key, store::Revision) { RemoveAccount(key); }},
      api_.options().executor);
  EVENKEEL_TRY(accounts_follower_->Start());
  secrets_follower_ = std::make_unique<StoreFollower>(
      api_.store(), secrets->prefix, "Secrets with tokens",
      StoreFollower::Sink{.put = [this, secrets](const store::KeyValue& item) { PutSecret(*secrets, item); },
                          .remove =
                              [this](const std::string& key, store::Revision) {
                                std::lock_guard lock(mutex_);
                                secrets_.erase(SplitKey(key));
                              }},
      api_.options().executor);
  return secrets_follower_->Start();
}

void AccountTokens::PutAccount(const Served& served, const store::KeyValue& item) {
  const std::string uid = StoredMetaText({item.value, item.mod_revision}, "uid");
  std::lock_guard lock(mutex_);
  accounts_[SplitKey(std::string_view(item.key).substr(served.prefix.size()))] = uid;
}

void AccountTokens::RemoveAccount(const std::string& key) {
  const NamespacedName account = SplitKey(key);
  std::vector<NamespacedName> orphans;
  {
    std::lock_guard lock(mutex_);
    accounts_.erase(account);
    for (const auto& [name, secret] : secrets_) {
      if (name.first == account.first && secret.account == account.second) orphans.push_back(name);
    }
  }
  for (const NamespacedName& secret : orphans) Post(secret);
}

void AccountTokens::PutSecret(const Served& served, const store::KeyValue& item) {
  const NamespacedName name = SplitKey(std::string_view(item.key).substr(served.prefix.size()));
  std::optional<Secret> secret;
  // Most Secrets are none of these, which is seen without parsing them.
  if (item.value->find(kTokenSecret) != std::string::npos) {
    const auto object = DecodeObject(served, {item.value, item.mod_revision});
    if (object && base::FindString(*object, {"type"}) == kTokenSecret) {
      secret = Secret{.uid = std::string(kube::UidOf(*object)),
                      .account = std::string(base::FindString(*object, {"metadata", "annotations", kAccountName})),
                      .complete = !base::FindString(*object, {"data", "token"}).empty() &&
                                  !base::FindString(*object, {"metadata", "annotations", kAccountUid}).empty()};
    }
  }
  const bool incomplete = secret && !secret->complete;
  {
    std::lock_guard lock(mutex_);
    if (secret) {
      secrets_[name] = *std::move(secret);
    } else {
      secrets_.erase(name);
    }
  }
  if (incomplete) Post(name);
}

void AccountTokens::Post(const NamespacedName& secret) {
  strand_->Post([this, secret] { Fill(secret); });
}

void AccountTokens::Fill(const NamespacedName& name) {
  Secret secret;
  std::string account_uid;
  {
    std::lock_guard lock(mutex_);
    const auto found = secrets_.find(name);
    if (found == secrets_.end()) return;
    secret = found->second;
    const auto account = accounts_.find({name.first, secret.account});
    if (account != accounts_.end()) account_uid = account->second;
  }
  const Call call = TokenControllerCall(api_.resources().Find("", "v1", "secrets"), name);
  const auto finish = [name](const Result<Answer>& answer) {
    if (answer || answer.error().code() == Code::kNotFound || answer.error().code() == Code::kConflict) return;
    base::log::Warn("a Secret for a ServiceAccount's token could not be written",
                    {{"secret", name.first + "/" + name.second}, {"error", answer.error()}});
  };
  DeleteRequest gone;
  gone.uid = secret.uid;
  if (account_uid.empty()) return api_.Delete(call, std::move(gone), finish);
  if (secret.complete) return;
  const std::string token = key_.Sign({.ns = name.first,
                                       .account = secret.account,
                                       .account_uid = account_uid,
                                       .secret = name.second,
                                       .secret_uid = secret.uid});
  const Json patch = base::JsonObject{
      {"metadata", base::JsonObject{{"uid", secret.uid}, {"annotations", base::JsonObject{{kAccountUid, account_uid}}}}},
      {"data", base::JsonObject{{"token", base::Base64Encode(token)},
                                {"namespace", base::Base64Encode(name.first)},
                                {"ca.crt", base::Base64Encode(ca_pem_)}}}};
  api_.Patch(call, {client::PatchType::kMerge, patch}, finish);
}

Result<Json> AccountTokens::Request(const Call& call, Json body) {
  EVENKEEL_TRY(CheckRequest(call, body));
  EVENKEEL_ASSIGN(const Stored stored, api_.Get(TokenControllerCall(call.served, {call.ns, call.name})));
  access::AccountToken token{.ns = call.ns,
                             .account = call.name,
                             .account_uid = StoredMetaText(stored, "uid"),
                             .id = api_.NewUid(),
                             .issued = api_.Now(),
                             .expires = api_.Now() + std::chrono::seconds(base::FindInt(body, {"spec", "expirationSeconds"}))};
  for (const Json& audience : base::FindArray(body, {"spec", "audiences"})) {
    if (audience.is_string() && !audience.get_string().empty()) token.audiences.emplace_back(audience.get_string());
  }
  if (token.audiences.empty()) token.audiences = {access::kTokenIssuer};
  body.as_object()["apiVersion"] = "authentication.k8s.io/v1";
  body.as_object()["kind"] = "TokenRequest";
  base::Ensure(body, {"metadata"}) =
      base::JsonObject{{"name", call.name}, {"namespace", call.ns}, {"creationTimestamp", base::FormatTime(api_.Now())}};
  base::Ensure(body, {"spec", "audiences"}) = base::JsonArray(token.audiences.begin(), token.audiences.end());
  body.as_object()["status"] = base::JsonObject{{"token", call.dry_run ? "" : key_.Sign(token)},
                                                {"expirationTimestamp", base::FormatTime(token.expires)}};
  return body;
}

bool AccountTokens::Lives(const access::AccountToken& token) const {
  std::lock_guard lock(mutex_);
  const auto account = accounts_.find({token.ns, token.account});
  if (account == accounts_.end() || account->second.empty() || account->second != token.account_uid) return false;
  if (token.secret.empty()) return true;
  const auto secret = secrets_.find({token.ns, token.secret});
  return secret != secrets_.end() && secret->second.uid == token.secret_uid;
}

Result<access::AccountToken> AccountTokens::Verify(std::string_view text) const {
  const base::Time now = api_.Now();
  const TokenHash hash = HashToken(text);
  {
    std::lock_guard lock(mutex_);
    const auto found = verified_.find(hash);
    if (found != verified_.end() && found->second.HoldsAt(now)) return found->second;
  }
  EVENKEEL_ASSIGN(access::AccountToken token, key_.Verify(text, now));
  std::lock_guard lock(mutex_);
  if (verified_.size() >= kVerifiedMax) verified_.clear();
  verified_.insert_or_assign(hash, token);
  return token;
}

Result<Authenticator::Owner> AccountTokens::FindOwner(std::string_view text) const {
  EVENKEEL_ASSIGN(const access::AccountToken token, Verify(text));
  if (!Lives(token)) return Fail(Code::kUnauthorized, "the token's ServiceAccount or Secret is gone");
  Authenticator::Owner owner{.user = {.name = access::ServiceAccountUser(token.ns, token.account),
                                      .groups = access::ServiceAccountGroups(token.ns),
                                      .uid = token.account_uid},
                             .audiences = token.audiences};
  if (owner.audiences.empty()) owner.audiences = {access::kTokenIssuer};
  if (!token.id.empty()) owner.user.extra[kCredentialId] = {"JTI=" + token.id};
  return owner;
}

}  // namespace evenkeel::embedded::apiserver
