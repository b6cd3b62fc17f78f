// Writes that others want to change or to judge first (admission_webhooks.h): asked on strands of the executor, so that a
// webhook that hangs holds up only what it is asked about.
#include "base/log.h"
#include "embedded/apiserver/access/access_control.h"
#include "embedded/apiserver/admission/admission_webhooks.h"
#include "embedded/apiserver/admission/limit_ranges.h"
#include "embedded/apiserver/admission/priority_classes.h"
#include "embedded/apiserver/admission/quotas.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/requests/raw_json.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr const char* kWebhooksGroup = "admissionregistration.k8s.io";
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

WebhookWorld Api::World() {
  const auto read = [this](std::string_view plural, const std::string& ns, const std::string& name) -> std::optional<Stored> {
    const ServedPointer served = table_.Find("", "v1", plural);
    auto found = options_.store->Get(served->Key(ns, name));
    if (!found) return std::nullopt;
    return Stored{std::move(found->value), found->mod_revision};
  };
  WebhookWorld world;
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
  return world;
}

Status Api::StartAdmission() {
  if (options_.executor != nullptr) {
    for (int i = 0; i < kAdmissionStrands; ++i) {
      admission_strands_.push_back(options_.executor->NewStrand("admission-" + options_.name));
    }
  }
  for (const auto& [kind, plural] : kConfigurations) {
    const ServedPointer configurations = table_.Find(kWebhooksGroup, "v1", plural);
    EVENKEEL_CHECK(configurations != nullptr);
    webhook_configurations_.push_back(std::make_unique<StoreFollower>(
        *options_.store, configurations->prefix, configurations->resource.kind + "s",
        StoreFollower::Sink{
            .put =
                [this, configurations, of = kind](const store::KeyValue& item) {
                  const auto configuration = DecodeObject(*configurations, {item.value, item.mod_revision});
                  if (configuration) webhooks_->Set(of, *configuration);
                },
            .remove = [this, of = kind](const std::string& name, store::Revision) { webhooks_->Remove(of, name); }},
        options_.executor));
    EVENKEEL_TRY(webhook_configurations_.back()->Start());
  }
  return {};
}

bool Api::HearsOfChanges() const {
  return (definitions_ == nullptr || definitions_->current()) &&
         std::ranges::all_of(webhook_configurations_, [](const auto& follower) { return follower->current(); }) &&
         limit_ranges_->current() && priority_classes_->current() && quotas_->current() && access_->current();
}

void Api::StopAdmission() {
  webhook_configurations_.clear();
  for (const auto& strand : admission_strands_) strand->Close();
}

bool Api::Asks(const Call& call, std::string_view operation) const {
  return webhooks_->Concern(AdmissionWebhooks::Kind::kValidating, call, operation) ||
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
    const AdmissionQuestion question{.operation = operation,
                                     .uid = uid,
                                     .old = old.is_null() ? nullptr : &old,
                                     .options = options.is_null() ? nullptr : &options};
    if (const auto allowed = webhooks_->Judge(*call, question, object, warnings); !allowed) {
      return then(Fail(allowed.error()));
    }
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
