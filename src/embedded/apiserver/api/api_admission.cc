// Writes that webhooks want to change or webhooks and policies to judge first (admission_webhooks.h, admission_policies.h):
// asked on strands of the executor, so that a webhook that hangs holds up only what it is asked about.
#include "base/log.h"
#include "embedded/apiserver/access/access_control.h"
#include "embedded/apiserver/admission/admission_policies.h"
#include "embedded/apiserver/admission/admission_webhooks.h"
#include "embedded/apiserver/admission/limit_ranges.h"
#include "embedded/apiserver/admission/priority_classes.h"
#include "embedded/apiserver/admission/quotas.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/objects/scale.h"
#include "embedded/apiserver/requests/raw_json.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr std::pair<AdmissionWebhooks::Kind, const char*> kConfigurations[] = {
    {AdmissionWebhooks::Kind::kMutating, "mutatingwebhookconfigurations"},
    {AdmissionWebhooks::Kind::kValidating, "validatingwebhookconfigurations"}};
/// Questions that are asked at the same time.
constexpr int kAdmissionStrands = 4;

kube::Labels LabelsIn(const Stored& stored) {
  kube::Labels labels;
  RawFields(RawFind(*stored.bytes, {"metadata", "labels"}), [&](std::string_view key, std::string_view value) {
    labels[std::string(key)] = RawText(value);
    return true;
  });
  return labels;
}

// The endpoint's port behind a port of the service: both have its name.
std::string AddressIn(const Json& endpoints, std::string_view port_name) {
  for (const Json& subset : base::FindArray(endpoints, {"subsets"})) {
    for (const Json& port : base::FindArray(subset, {"ports"})) {
      if (base::FindString(port, {"name"}) != port_name) continue;
      for (const Json& address : base::FindArray(subset, {"addresses"})) {
        // Only pods that are processes have such addresses; behind the others nothing listens.
        const std::string_view ip = base::FindString(address, {"ip"});
        if (ip.starts_with("127.")) return fmt::format("{}:{}", ip, base::FindInt(port, {"port"}));
      }
    }
  }
  return "";
}

}  // namespace

AdmissionView Api::World() {
  const auto read = [this](std::string_view plural, const std::string& ns, const std::string& name) -> std::optional<Stored> {
    const ServedPointer served = table_.Find("", "v1", plural);
    auto found = options_.store->Get(served->Key(ns, name));
    if (!found) return std::nullopt;
    return Stored{std::move(found->value), found->mod_revision};
  };
  AdmissionView world;
  world.namespace_labels = [read](const std::string& ns) -> std::optional<kube::Labels> {
    const auto found = read("namespaces", "", ns);
    return found ? std::optional(LabelsIn(*found)) : std::nullopt;
  };
  world.service_address = [this, read](const std::string& ns, const std::string& name, int64_t port) -> std::string {
    const auto service = read("services", ns, name), endpoints = read("endpoints", ns, name);
    if (!service || !endpoints) return "";
    const auto service_json = DecodeObject(*table_.Find("", "v1", "services"), *service);
    const auto endpoints_json = DecodeObject(*table_.Find("", "v1", "endpoints"), *endpoints);
    if (!service_json || !endpoints_json) return "";
    for (const Json& one : base::FindArray(*service_json, {"spec", "ports"})) {
      if (base::FindInt(one, {"port"}) == port) return AddressIn(*endpoints_json, base::FindString(one, {"name"}));
    }
    return "";
  };
  world.authorize = [this](const UserInfo& user, const access::Attributes& attributes) {
    return access_->authorizer().Authorize(user, attributes);
  };
  world.versions = [this](const Served& served) {
    std::vector<ServedPointer> versions;
    for (const ServedPointer& other : table_.All()) {
      if (other->prefix == served.prefix) versions.push_back(other);
    }
    return versions;
  };
  world.kind = [this](std::string_view api_version, std::string_view kind) { return table_.FindKind(api_version, kind); };
  const auto call_for = [](const ServedPointer& served, const std::string& ns, const std::string& name) {
    return Call{.served = served, .ns = ns, .name = name, .subresource = "", .user = {}, .field_manager = "", .unasked = true};
  };
  world.object = [this, call_for](const ServedPointer& served, const std::string& ns, const std::string& name) -> Result<Json> {
    EVENKEEL_ASSIGN(const Stored stored, Get(call_for(served, ns, name)));
    return DecodeObject(*served, stored);
  };
  world.objects = [this, call_for](const ServedPointer& served, const std::string& ns) -> Result<std::vector<Json>> {
    EVENKEEL_ASSIGN(const ListAnswer list, List(call_for(served, ns, ""), {}));
    std::vector<Json> objects;
    for (const Stored& stored : list.items) {
      EVENKEEL_ASSIGN(Json object, DecodeObject(*served, stored));
      objects.push_back(std::move(object));
    }
    return objects;
  };
  return world;
}

Status Api::FollowAdmission(const char* plural, std::function<void(const Json&)> put,
                            std::function<void(const std::string&)> remove) {
  const ServedPointer served = table_.Find(kAdmissionGroup, "v1", plural);
  EVENKEEL_CHECK(served != nullptr);
  admission_followers_.push_back(std::make_unique<StoreFollower>(
      *options_.store, served->prefix, served->resource.kind + "s",
      StoreFollower::Sink{.put =
                              [served, put = std::move(put)](const store::KeyValue& item) {
                                if (const auto object = DecodeObject(*served, {item.value, item.mod_revision})) put(*object);
                              },
                          .remove = [remove = std::move(remove)](const std::string& name, store::Revision) { remove(name); }},
      options_.executor));
  return admission_followers_.back()->Start();
}

Status Api::StartAdmission() {
  if (options_.executor != nullptr) {
    for (int i = 0; i < kAdmissionStrands; ++i) {
      admission_strands_.push_back(options_.executor->NewStrand("admission-" + options_.name));
    }
  }
  for (const auto& [kind, plural] : kConfigurations) {
    EVENKEEL_TRY(FollowAdmission(
        plural, [this, of = kind](const Json& configuration) { webhooks_->Set(of, configuration); },
        [this, of = kind](const std::string& name) { webhooks_->Remove(of, name); }));
  }
  EVENKEEL_TRY(FollowAdmission(
      "validatingadmissionpolicies", [this](const Json& policy) { policies_->SetPolicy(policy); },
      [this](const std::string& name) { policies_->RemovePolicy(name); }));
  return FollowAdmission(
      "validatingadmissionpolicybindings", [this](const Json& binding) { policies_->SetBinding(binding); },
      [this](const std::string& name) { policies_->RemoveBinding(name); });
}

void Api::WarnOfAdmission(const Json& object, Answer& answer) {
  std::ranges::move(WarnOfWebhooks(object, World()), std::back_inserter(answer.warnings));
  std::ranges::move(WarnOfPolicy(object), std::back_inserter(answer.warnings));
}

bool Api::HearsOfChanges() const {
  return (definitions_ == nullptr || definitions_->current()) &&
         std::ranges::all_of(admission_followers_, [](const auto& follower) { return follower->current(); }) &&
         limit_ranges_->current() && priority_classes_->current() && quotas_->current() && access_->current();
}

void Api::StopAdmission() {
  admission_followers_.clear();
  for (const auto& strand : admission_strands_) strand->Close();
}

bool Api::Asks(const Call& call, std::string_view operation) const {
  return policies_->Concern(call, operation) || webhooks_->Concern(AdmissionWebhooks::Kind::kValidating, call, operation) ||
         (operation == "DELETE" && webhooks_->Concern(AdmissionWebhooks::Kind::kMutating, call, operation));
}

void Api::RunAdmission(base::Task task) {
  if (admission_strands_.empty()) return task();
  admission_strands_[next_strand_++ % admission_strands_.size()]->Post(std::move(task));
}

void Api::Admit(std::shared_ptr<const Call> call, std::string operation, Json object, Json old,
                std::move_only_function<void(Result<std::vector<std::string>>)> then, Json options) {
  RunAdmission([this, call = std::move(call), operation = std::move(operation), uid = NewUid(), object = std::move(object),
                old = std::move(old), options = std::move(options), then = std::move(then)]() mutable {
    std::vector<std::string> warnings;
    if (call->subresource == "scale") {
      object = ScaleOf(*call->served, object);
      if (!old.is_null()) old = ScaleOf(*call->served, old);
    }
    const AdmissionQuestion question{.operation = operation,
                                     .uid = uid,
                                     .old = old.is_null() ? nullptr : &old,
                                     .options = options.is_null() ? nullptr : &options};
    if (const auto allowed = policies_->Judge(*call, question, object, warnings); !allowed) return then(Fail(allowed.error()));
    if (const auto allowed = webhooks_->Judge(*call, question, object, warnings); !allowed) return then(Fail(allowed.error()));
    const Served& served = *call->served;
    RunFor(served, [call, then = std::move(then), warnings = std::move(warnings)]() mutable { then(std::move(warnings)); });
  });
}

bool Api::Changes(const Call& call, std::string_view operation) const {
  return (call.subresource.empty() || call.subresource == "status") &&
         webhooks_->Concern(AdmissionWebhooks::Kind::kMutating, call, operation);
}

Result<bool> Api::Mutate(const Call& call, std::string_view operation, Json& object, const Json* old, Answer& answer) {
  // What a webhook adds that nobody knows is dropped without a word.
  Call quiet = call;
  quiet.field_validation = FieldValidation::kIgnore;
  const auto complete = [this, &quiet](Json& changed) -> Status {
    Answer ignored;
    return Ingest(quiet, changed, ignored);
  };
  const AdmissionQuestion question{.operation = operation, .uid = NewUid(), .old = old};
  return webhooks_->Change(call, question, object, complete, answer.warnings);
}

}  // namespace evenkeel::embedded::apiserver
