// Start, and what the verbs share.
#include "embedded/apiserver/api/api.h"

#include "base/log.h"
#include "client/fenced_client.h"
#include "embedded/apiserver/access/access_control.h"
#include "embedded/apiserver/admission/admission_policies.h"
#include "embedded/apiserver/admission/limit_ranges.h"
#include "embedded/apiserver/admission/priority_classes.h"
#include "embedded/apiserver/admission/quotas.h"
#include "embedded/apiserver/api/epoch_gate.h"
#include "embedded/apiserver/api/event_expiry.h"
#include "embedded/apiserver/requests/errors.h"
#include "embedded/apiserver/requests/raw_json.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr std::string_view kDefinitionsPlural = "customresourcedefinitions";
constexpr std::string_view kDefinitionsGroup = "apiextensions.k8s.io";
// Reads of a store behind a network overlap up to this many.
constexpr int kReadStrands = 16;

}  // namespace

Api::Api(ApiOptions options)
    : options_(std::move(options)), random_(options_.random), audit_random_(options_.random.Fork("audit")) {
  EVENKEEL_CHECK(options_.store != nullptr && options_.clock != nullptr);
  access_ = std::make_unique<AccessControl>(*this);
  webhook_poster_ = options_.webhook_poster ? options_.webhook_poster : PostToWebhook;
  service_address_ = World().service_address;
  webhooks_ = std::make_unique<AdmissionWebhooks>(webhook_poster_, World());
  policies_ = std::make_unique<AdmissionPolicies>(World());
  StartConversion();
  limit_ranges_ = std::make_unique<LimitRanges>(*options_.store, table_.Find("", "v1", "limitranges"), options_.executor);
  priority_classes_ = std::make_unique<PriorityClasses>(
      *options_.store, table_.Find("scheduling.k8s.io", "v1", "priorityclasses"), options_.executor);
  quotas_ = std::make_unique<Quotas>(*this);
  const ServedPointer leases = table_.Find("coordination.k8s.io", "v1", "leases");
  gate_ = std::make_unique<EpochGate>(*options_.store, leases->Key(client::kOwnerLeaseNamespace, client::kOwnerLease),
                                      [this](base::Task task) { Run(std::move(task)); });
  if (options_.store->reads_block() && options_.executor != nullptr) {
    for (int i = 0; i < kReadStrands; ++i) strands_.push_back(options_.executor->NewStrand("apiserver-" + options_.name));
  }
}

Api::~Api() {
  event_expiry_.reset();
  compactor_.reset();
  access_.reset();
  quotas_.reset();
  limit_ranges_.reset();
  priority_classes_.reset();
  definitions_.reset();
  StopAdmission();
  for (const auto& strand : conversion_strands_) strand->Close();
  for (const auto& strand : strands_) strand->Close();
}

void Api::Run(base::Task task) {
  if (strands_.empty()) return task();
  strands_[next_strand_++ % strands_.size()]->Post(std::move(task));
}

Status Api::Start() {
  if (options_.executor != nullptr) {
    compactor_ = std::make_unique<Compactor>(*options_.store, *options_.executor);
    const std::string events = table_.Find("", "v1", "events")->prefix;
    event_expiry_ = std::make_unique<EventExpiry>(*options_.store, events, *options_.executor);
  }
  // Another server on the same store may change them, too.
  if (const ServedPointer definitions = table_.Find(kDefinitionsGroup, "v1", kDefinitionsPlural)) {
    definitions_ = std::make_unique<StoreFollower>(
        *options_.store, definitions->prefix, "CustomResourceDefinitions",
        StoreFollower::Sink{
            .put =
                [this, definitions](const store::KeyValue& item) {
                  // Of what is written here AfterWrite may have told.
                  if (!table_.IsNews(item.key.substr(definitions->prefix.size()), item.mod_revision)) return;
                  const auto definition = DecodeObject(*definitions, {item.value, item.mod_revision});
                  if (definition) table_.SetCustom(*definition, item.value, item.mod_revision);
                },
            .remove = [this](const std::string& name, store::Revision revision) { table_.RemoveCustom(name, revision); }},
        options_.executor);
    EVENKEEL_TRY(definitions_->Start());
  }
  EVENKEEL_TRY(limit_ranges_->Start());
  EVENKEEL_TRY(priority_classes_->Start());
  EVENKEEL_TRY(quotas_->Start());
  EVENKEEL_TRY(StartAdmission());
  const ServedPointer namespaces = table_.Find("", "v1", "namespaces");
  for (const std::string_view name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    EVENKEEL_TRY(MakeStandard(namespaces, kube::NewObject(namespaces->resource, "", name)));
  }
  EVENKEEL_TRY(access_->Start());
  if (!options_.default_policy) return {};
  EVENKEEL_TRY(MakeDefaultPolicy());
  const ServedPointer classes = table_.Find("scheduling.k8s.io", "v1", "priorityclasses");
  // kubernetes@1.36:pkg/apis/scheduling/v1/helpers.go
  for (const auto& [name, value, what] :
       {std::tuple("system-node-critical", 2'000'001'000,
                   "Used for system critical pods that must not be moved from their current node."),
        std::tuple(
            "system-cluster-critical", 2'000'000'000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.")}) {
    Json object = kube::NewObject(classes->resource, "", name);
    object.as_object()["value"] = value;
    object.as_object()["description"] = what;
    EVENKEEL_TRY(MakeStandard(classes, std::move(object)));
  }
  access_->StartAggregation();
  return {};
}

Status Api::MakeStandard(const ServedPointer& served, Json object) {
  Call call{.served = served,
            .ns = "",
            .name = std::string(kube::NameOf(object)),
            .subresource = "",
            .user = {},
            .field_manager = "",
            .unasked = true};
  std::string key = served->Key("", call.name);
  if (options_.store->Get(key)) return {};
  Answer answer;
  EVENKEEL_TRY(PrepareCreate(call, object, answer));
  auto bytes = std::make_shared<const std::string>(EncodeStored(object, *served));
  auto written = options_.store->CommitAndWait({.key = std::move(key), .value = std::move(bytes), .expected = 0});
  if (!written && written.error().code() != base::Code::kConflict) return base::Fail(written.error());
  return {};
}

std::string Api::NewUid() {
  std::lock_guard lock(random_mutex_);
  return random_.Uuid();
}

std::string Api::NewSuffix() {
  std::lock_guard lock(random_mutex_);
  return random_.NameSuffix();
}

void Api::AfterWrite(const Served& served, const Stored& stored, const std::string& name) {
  if (served.custom) {
    // The schema may have changed while this write was on its way.
    const ServedPointer now = table_.Find(served.resource.group, served.resource.version, served.resource.plural);
    if (now != nullptr && now->storage_form != served.storage_form) now->storage_form->NoteOlderWrite(stored.revision);
    return;
  }
  if (served.resource.group != kDefinitionsGroup || served.resource.plural != kDefinitionsPlural) return;
  // The follower mostly comes first. What is not in the text need not be looked for in the object.
  if (!table_.IsNews(name, stored.revision) && !stored.bytes->contains("\"deletionTimestamp\"")) return;
  const auto crd = DecodeObject(served, stored);
  if (!crd) return;
  table_.SetCustom(*crd, stored.bytes, stored.revision);
  if (base::Find(*crd, {"metadata", "deletionTimestamp"}) != nullptr) DeleteCustomObjects(std::string(kube::NameOf(*crd)));
}

void Api::AfterRemove(const Served& served, const Stored& stored, std::string_view name, store::Revision revision) {
  const kube::Resource& resource = served.resource;
  if (resource.group.empty() && resource.plural == "services") ReleaseService(stored);
  if (resource.group == kDefinitionsGroup && resource.plural == kDefinitionsPlural)
    table_.RemoveCustom(std::string(name), revision);
  if (!served.custom) return;
  const ServedPointer now = table_.Find(resource.group, resource.version, resource.plural);
  if (now != nullptr && now->terminating) FinishCustomCleanup(resource.plural + "." + resource.group);
}

std::string Api::NamesInConflict(const Json& crd) {
  const std::string_view name = kube::NameOf(crd);
  const std::string_view group = base::FindString(crd, {"spec", "group"});
  const std::string_view plural = base::FindString(crd, {"spec", "names", "plural"});
  const std::string_view kind = base::FindString(crd, {"spec", "names", "kind"});
  for (const ServedPointer& served : table_.All()) {
    const kube::Resource& resource = served->resource;
    if (resource.group != group || resource.plural + "." + resource.group == name) continue;
    if (resource.plural == plural) return "\"" + std::string(plural) + "\" is already in use";
    if (resource.kind == kind) return "\"" + std::string(kind) + "\" is already in use";
  }
  return "";
}

}  // namespace evenkeel::embedded::apiserver
