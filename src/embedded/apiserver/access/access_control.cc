#include "embedded/apiserver/access/access_control.h"

#include <latch>
#include <set>

#include "base/log.h"
#include "embedded/access/default_policy.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/requests/errors.h"

namespace evenkeel::embedded::apiserver {
namespace {

using access::kRbacGroup;

constexpr base::Duration kAggregationRetry = std::chrono::seconds(1);
constexpr char kAggregator[] = "clusterrole-aggregation-controller";

std::string RbacPrefix() { return std::string("/registry/") + kRbacGroup + "/"; }

/// "roles/NS/NAME" or "clusterroles/NAME".
struct RbacKey {
  std::string plural, ns, name;
};

RbacKey ParseKey(std::string_view key) {
  RbacKey parsed;
  const size_t slash = key.find('/');
  parsed.plural = key.substr(0, slash);
  if (slash == key.npos) return parsed;
  std::string_view rest = key.substr(slash + 1);
  const size_t next = rest.find('/');
  if (next != rest.npos) {
    parsed.ns = rest.substr(0, next);
    rest.remove_prefix(next + 1);
  }
  parsed.name = rest;
  return parsed;
}

/// Whether only what the garbage collector keeps differs.
bool OnlyOwnersDiffer(Json object, Json old) {
  for (Json* one : {&object, &old}) {
    for (const char* field : {"ownerReferences", "finalizers", "resourceVersion", "managedFields"}) {
      base::Erase(*one, {"metadata", field});
    }
  }
  return base::Equal(object, old);
}

std::string QuotedList(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) {
    if (text.size() > 1) text += ' ';
    base::AppendQuoted(text, item);
  }
  return text + "]";
}

/// kForbidden unless `held` covers `wanted`.
Status CheckHeld(const Call& call, const access::HeldRules& held, const std::vector<access::Rule>& wanted) {
  std::set<std::string> missing;
  for (const access::Rule& rule : access::Uncovered(held.rules, wanted)) missing.insert(access::Describe(rule));
  if (missing.empty()) return {};
  std::string text = "user ";
  base::AppendQuoted(text, call.user.name);
  text += " (groups=" + QuotedList(call.user.groups) + ") is attempting to grant RBAC permissions not currently held:";
  for (const std::string& rule : missing) text += "\n" + rule;
  if (!held.errors.empty()) text += "; resolution errors: [" + held.errors + "]";
  return base::Fail(ForbiddenError(call.served->resource, call.name, text));
}

}  // namespace

AccessControl::AccessControl(Api& api) : api_(api) {}

AccessControl::~AccessControl() {
  roles_.reset();
  tokens_.reset();
  if (strand_ != nullptr) strand_->Close();
  retry_.Cancel();
}

Status AccessControl::Start() {
  roles_ = std::make_unique<StoreFollower>(
      api_.store(), RbacPrefix(), "roles",
      StoreFollower::Sink{.put = [this](const store::KeyValue& item) { Put(item); },
                          .remove = [this](const std::string& key, store::Revision) { Remove(key); }},
      api_.options().executor);
  EVENKEEL_TRY(roles_->Start());
  if (!api_.options().account_key) return {};
  tokens_ = std::make_unique<AccountTokens>(api_, *api_.options().account_key, api_.options().account_ca_pem);
  authenticator_.AddSource([this](std::string_view token) { return tokens_->FindOwner(token); });
  return tokens_->Start();
}

bool AccessControl::current() const {
  return (roles_ == nullptr || roles_->current()) && (tokens_ == nullptr || tokens_->current());
}

void AccessControl::Put(const store::KeyValue& item) {
  const RbacKey key = ParseKey(std::string_view(item.key).substr(RbacPrefix().size()));
  const ServedPointer served = api_.resources().Find(kRbacGroup, "v1", key.plural);
  if (served == nullptr) return;
  const auto object = DecodeObject(*served, {item.value, item.mod_revision});
  // What cannot be read gives nobody anything.
  if (object) {
    authorizer_.Set(*object);
  } else {
    authorizer_.Remove(served->resource.kind, key.ns, key.name);
  }
  if (key.plural == "clusterroles") Aggregate();
}

void AccessControl::Remove(const std::string& text) {
  const RbacKey key = ParseKey(text);
  const ServedPointer served = api_.resources().Find(kRbacGroup, "v1", key.plural);
  if (served == nullptr) return;
  authorizer_.Remove(served->resource.kind, key.ns, key.name);
  if (key.plural == "clusterroles") Aggregate();
}

void AccessControl::StartAggregation() {
  EVENKEEL_CHECK(api_.options().executor != nullptr);
  strand_ = api_.options().executor->NewStrand("aggregate-roles");
  aggregates_ = true;
  Aggregate();
}

void AccessControl::Aggregate() {
  if (!aggregates_ || waiting_.exchange(true)) return;
  strand_->Post([this] {
    waiting_ = false;
    for (const access::StaleAggregate& stale : authorizer_.StaleAggregates()) {
      base::JsonArray rules;
      for (const access::Rule& rule : stale.rules) rules.push_back(access::RuleToJson(rule));
      Call call;
      call.served = api_.resources().Find(kRbacGroup, "v1", "clusterroles");
      call.name = stale.name;
      call.user = {.name = access::ServiceAccountUser("kube-system", kAggregator), .groups = {access::kMasters}};
      call.field_manager = kAggregator;
      api_.Patch(std::move(call), {client::PatchType::kMerge, base::JsonObject{{"rules", std::move(rules)}}},
                 [this, strand = strand_, name = stale.name](const Result<Answer>& answer) {
                   if (answer || answer.error().code() == base::Code::kNotFound) return;
                   base::log::Warn("an aggregated ClusterRole could not be written, and is tried again",
                                   {{"name", name}, {"error", answer.error()}});
                   strand->Post([this] { retry_ = strand_->PostAfter(kAggregationRetry, [this] { Aggregate(); }); });
                 });
    }
  });
}

Status AccessControl::CheckRole(const Call& call, const Json& role, const Json* old) const {
  const access::HeldRules held = authorizer_.RulesOf(call.user, call.ns);
  EVENKEEL_TRY(CheckHeld(call, held, access::RulesFromJson(role)));
  const auto aggregated = [](const Json& object) { return base::Find(object, {"aggregationRule"}) != nullptr; };
  if (!aggregated(role) && (old == nullptr || !aggregated(*old))) return {};
  // It may gather anything, and keep rules from being taken away.
  const std::vector<access::Rule> all{{.verbs = {"*"}, .groups = {"*"}, .resources = {"*"}}, {.verbs = {"*"}, .paths = {"*"}}};
  if (access::Uncovered(held.rules, all).empty()) return {};
  return base::Fail(
      ForbiddenError(call.served->resource, call.name, "must have cluster-admin privileges to use the aggregationRule"));
}

Status AccessControl::CheckGrant(const Call& call, const Json& object, const Json* old) const {
  if (call.served->custom || call.served->resource.group != kRbacGroup || access::InGroup(call.user, access::kMasters))
    return {};
  if (old != nullptr && OnlyOwnersDiffer(object, *old)) return {};
  const bool is_role = call.served->resource.kind.ends_with("Role");
  const std::string name(is_role ? std::string_view(call.name) : base::FindString(object, {"roleRef", "name"}));
  const bool of_cluster = base::FindString(object, {"roleRef", "kind"}) == "ClusterRole";
  const std::string plural = is_role ? call.served->resource.plural : of_cluster ? "clusterroles" : "roles";
  const access::Attributes without_having{
      .verb = is_role ? "escalate" : "bind", .group = kRbacGroup, .resource = plural, .ns = call.ns, .name = name};
  if (authorizer_.Authorize(call.user, without_having).allowed) return {};
  if (is_role) return CheckRole(call, object, old);
  const auto given = authorizer_.RulesOfRole(base::FindObject(object, {"roleRef"}), call.ns);
  if (!given) return base::Fail(NotFoundError(api_.resources().Find(kRbacGroup, "v1", plural)->resource, name));
  return CheckHeld(call, authorizer_.RulesOf(call.user, call.ns), *given);
}

Status Api::MakeDefaultPolicy() {
  EVENKEEL_ASSIGN(const store::ListResult present, options_.store->List({.prefix = RbacPrefix()}));
  std::map<std::string_view, const store::KeyValue*> by_key;
  for (const store::KeyValue& item : present.items) by_key.emplace(item.key, &item);
  std::vector<store::Write> writes;
  for (const Json& wanted : access::DefaultPolicy()) {
    const ServedPointer served = table_.FindKind(base::FindString(wanted, {"apiVersion"}), base::FindString(wanted, {"kind"}));
    Call call;
    call.served = served;
    call.ns = kube::NamespaceOf(wanted);
    call.name = kube::NameOf(wanted);
    store::Write write{.key = served->Key(call.ns, call.name), .value = nullptr, .expected = 0};
    const auto found = by_key.find(write.key);
    Json object = wanted;
    if (found == by_key.end()) {
      Answer answer;
      EVENKEEL_TRY(PrepareCreate(call, object, answer));
    } else {
      auto stored = DecodeObject(*served, {found->second->value, found->second->mod_revision});
      if (!stored || !access::AddMissing(*stored, wanted)) continue;
      object = *std::move(stored);
      write.expected = found->second->mod_revision;
    }
    write.value = std::make_shared<const std::string>(EncodeStored(object, *served));
    writes.push_back(std::move(write));
  }
  // All at once: they share the waits for the disk.
  struct Pending {
    explicit Pending(size_t count) : left(static_cast<ptrdiff_t>(count)) {}
    std::latch left;
    std::mutex mutex;
    Status worst;
  };
  const auto pending = std::make_shared<Pending>(writes.size());
  for (store::Write& write : writes) {
    options_.store->Commit(std::move(write), [pending](const Result<store::Revision>& written) {
      // Another server on the same store has made it.
      if (!written && written.error().code() != base::Code::kConflict) {
        std::lock_guard lock(pending->mutex);
        pending->worst = base::Fail(written.error());
      }
      pending->left.count_down();
    });
  }
  pending->left.wait();
  if (!pending->worst) return base::Fail(pending->worst.error().Wrap("make the default roles"));
  return {};
}

}  // namespace evenkeel::embedded::apiserver
