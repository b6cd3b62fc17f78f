// Writes that others want to judge first (validating_webhooks.h): asked on strands of the executor, so that a webhook that
// hangs holds up only what it is asked about.
#include "base/log.h"
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
  EVENKEEL_ASSIGN(const auto list, options_.store->List({.prefix = configurations->prefix, .start_after = {}}));
  const auto set = [this, configurations](const Stored& stored) {
    if (const auto configuration = DecodeObject(*configurations, stored)) webhooks_->Set(*configuration);
  };
  for (const store::KeyValue& item : list.items) set({item.value, item.mod_revision});
  auto watch =
      options_.store->NewWatch(configurations->prefix, list.revision,
                               [this, configurations, set](std::vector<store::Event> batch, const base::Error* error) {
                                 if (error != nullptr)
                                   base::log::Warn("no longer hears of changed webhook configurations", {{"error", *error}});
                                 for (const store::Event& event : batch) {
                                   if (event.type == store::Event::Type::kPut) {
                                     set({event.current.value, event.revision});
                                   } else if (event.type == store::Event::Type::kDelete) {
                                     webhooks_->Remove(event.current.key.substr(configurations->prefix.size()));
                                   }
                                 }
                               });
  if (!watch) return base::Fail(watch.error().Wrap("watching ValidatingWebhookConfigurations"));
  webhooks_watch_ = *std::move(watch);
  return {};
}

void Api::StopAdmission() {
  webhooks_watch_.reset();
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
