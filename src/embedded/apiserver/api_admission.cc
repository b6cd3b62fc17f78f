// Writes that others want to judge first (validating_webhooks.h): asked on strands of the executor, so that a webhook that
// hangs holds up only what it is asked about.
#include "base/log.h"
#include "embedded/apiserver/access_control.h"
#include "embedded/apiserver/api.h"
#include "embedded/apiserver/validating_webhooks.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr const char* kWebhooksPlural = "validatingwebhookconfigurations";
constexpr const char* kWebhooksGroup = "admissionregistration.k8s.io";
/// Questions that are asked at the same time.
constexpr int kAdmissionStrands = 4;

}  // namespace

Status Api::StartAdmission() {
  if (options_.executor != nullptr) {
    for (int i = 0; i < kAdmissionStrands; ++i) {
      admission_strands_.push_back(options_.executor->NewStrand("admission-" + options_.name));
    }
  }
  const ServedPointer configurations = table_.Find(kWebhooksGroup, "v1", kWebhooksPlural);
  EVENKEEL_CHECK(configurations != nullptr);
  webhook_configurations_ = std::make_unique<StoreFollower>(
      *options_.store, configurations->prefix, "ValidatingWebhookConfigurations",
      StoreFollower::Sink{.put =
                              [this, configurations](const store::KeyValue& item) {
                                const auto configuration = DecodeObject(*configurations, {item.value, item.mod_revision});
                                if (configuration) webhooks_->Set(*configuration);
                              },
                          .remove = [this](const std::string& name, store::Revision) { webhooks_->Remove(name); }},
      options_.executor);
  return webhook_configurations_->Start();
}

bool Api::HearsOfChanges() const {
  return (definitions_ == nullptr || definitions_->current()) &&
         (webhook_configurations_ == nullptr || webhook_configurations_->current()) && access_->current();
}

void Api::StopAdmission() {
  webhook_configurations_.reset();
  for (const auto& strand : admission_strands_) strand->Close();
}

void Api::Admit(std::shared_ptr<const Call> call, std::string operation, Json object, Json old,
                std::move_only_function<void(Result<std::vector<std::string>>)> then) {
  auto ask = [this, call = std::move(call), operation = std::move(operation), uid = NewUid(), object = std::move(object),
              old = std::move(old),
              then = std::move(then)]() mutable { then(webhooks_->Ask(*call, operation, uid, object, old)); };
  if (admission_strands_.empty()) return ask();
  admission_strands_[next_strand_++ % admission_strands_.size()]->Post(std::move(ask));
}

}  // namespace evenkeel::embedded::apiserver
