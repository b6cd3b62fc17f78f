#include "embedded/federation/members/member_sync.h"

#include <spdlog/fmt/fmt.h>

#include <sstream>

#include "base/hash.h"
#include "client/definitions.h"
#include "embedded/federation/policies/bindings.h"
#include "kube/karmada.h"

namespace evenkeel::embedded::federation {
namespace {

using base::Find;
using base::FindArray;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
namespace karmada = kube::karmada;

constexpr base::Duration kRemovalPoll = std::chrono::seconds(1);

client::WriteOptions OnlyStatus() { return {.subresource = "status", .field_manager = "", .dry_run = false}; }

bool IsGone(const base::Error& error) { return error.code() == base::Code::kNotFound; }

std::string_view NoteOf(const Json& object, const char* note) { return FindString(object, {"metadata", "annotations", note}); }

/// Whether the member's object is the copy that this Work has made.
bool BelongsTo(const Json& observed, const kube::Object& work) {
  return FindString(observed, {"metadata", "labels", kManagedLabel}) == "true" &&
         NoteOf(observed, kWorkName) == work.meta.name && NoteOf(observed, kWorkNamespace) == work.meta.ns;
}

/// The member's labels (annotations) with ours: those that we have set before and do not set now go.
void MergeMap(Json& desired, const Json& observed, const char* map, const char* managed) {
  JsonObject merged = base::FindObject(observed, {"metadata", map});
  std::istringstream before{std::string(NoteOf(observed, managed))};
  for (std::string key; std::getline(before, key, ',');) merged.erase(key);
  for (const auto& [key, value] : base::FindObject(desired, {"metadata", map})) merged[key] = value;
  base::Ensure(desired, {"metadata", map}) = std::move(merged);
}

}  // namespace

MemberSync::MemberSync(std::string cluster, client::Client& hub, std::unique_ptr<client::Client> member,
                       Interpreter& interpreter, std::shared_ptr<base::Strand> strand, base::Clock& clock,
                       const base::Random& random)
    : cluster_(std::move(cluster)),
      hub_(hub),
      member_(std::move(member)),
      interpreter_(interpreter),
      strand_(std::move(strand)),
      clock_(clock),
      works_(hub, karmada::Works(), {.ns = karmada::ExecutionNamespace(cluster_)}, strand_, clock, random.Fork("works")),
      copies_(*member_, {.label_selector = std::string(kManagedLabel) + "=true", .backoff_max = kHealthPeriod}, strand_, clock,
              random.Fork("copies")),
      controller_("federation-execution", strand_, clock, [this](const std::string& key) { return Reconcile(key); }),
      endpoints_(cluster_, hub, *member_, works_, strand_, clock, random.Fork("endpoints")),
      last_contact_(clock.Monotonic()) {
  controller_.WaitFor([this] { return works_.synced(); });
  works_.AddHandler([this](const ObjectPointer&, const ObjectPointer& after) {
    if (after != nullptr) controller_.Enqueue(after->meta.Key());
  });
  copies_.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    const Json& copy = after ? *after->json : *before->json;
    if (NoteOf(copy, kWorkNamespace) == karmada::ExecutionNamespace(cluster_))
      controller_.Enqueue(std::string(NoteOf(copy, kWorkNamespace)) + "/" + std::string(NoteOf(copy, kWorkName)));
  });
}

MemberSync::~MemberSync() { strand_->Close(); }

void MemberSync::Start() {
  strand_->Post([this] {
    works_.Start();
    controller_.Start();
    endpoints_.Start();
    CheckHealth();
  });
}

MemberSync::Done MemberSync::Reconcile(const std::string& key) {
  const ObjectPointer work = works_.Get(key);
  if (work == nullptr) return {};
  if (work->meta.deletion_time) return Remove(*work);
  std::optional<base::Error> failure;
  const bool suspended = base::FindBool(*work->json, {"spec", "suspendDispatching"});
  if (!suspended) {
    for (const Json& manifest : FindArray(*work->json, {"spec", "workload", "manifests"})) {
      auto applied = Apply(*work, manifest);
      if (!applied && applied.error().code() == base::Code::kConflict) return base::Fail(applied.error());
      if (!applied && !failure) failure = applied.error();
    }
  }
  EVENKEEL_TRY(WriteStatus(*work, failure));
  if (failure) return base::Fail(*failure);
  return {};
}

base::Result<std::optional<Json>> MemberSync::Observe(const kube::Resource& resource, const Json& manifest) {
  EVENKEEL_ASSIGN(ObjectInformer* const copies, copies_.Of(resource.ApiVersion(), resource.kind));
  if (const ObjectPointer copy = copies->Get(kube::KeyOf(manifest))) return std::optional<Json>(*copy->json);
  // It may not have been listed yet, or be somebody else's.
  auto found = member_->Get(resource, kube::NamespaceOf(manifest), kube::NameOf(manifest));
  if (found) return std::optional<Json>(*std::move(found));
  if (IsGone(found.error())) return std::nullopt;
  return base::Fail(found.error());
}

base::Status MemberSync::Apply(const kube::Object& work, const Json& manifest) {
  EVENKEEL_ASSIGN(const kube::Resource resource, copies_.kinds().Find(std::string(FindString(manifest, {"apiVersion"})),
                                                                      std::string(FindString(manifest, {"kind"}))));
  EVENKEEL_ASSIGN(const std::optional<Json> observed, Observe(resource, manifest));
  const std::string key = TemplateKeyOf(manifest);
  if (!observed) {
    EVENKEEL_TRY(CreateCopy(resource, manifest));
  } else {
    if (!BelongsTo(*observed, work) && NoteOf(manifest, kConflictResolution) != "overwrite") {
      return base::Fail(base::Code::kAlreadyExists,
                        fmt::format("resource(kind={}, {}) already exists in cluster {} but is not managed by Karmada",
                                    resource.kind, kube::KeyOf(manifest), cluster_));
    }
    EVENKEEL_TRY(UpdateCopy(work, resource, manifest, *observed));
  }
  applied_[key] = base::Blake2b64(base::ToText(manifest));
  return {};
}

base::Status MemberSync::CreateCopy(const kube::Resource& resource, const Json& manifest) {
  auto created = member_->Create(resource, manifest);
  if (!created && IsGone(created.error()) && resource.namespaced) {
    // Karmada brings every namespace of the hub to every member; here it comes with the first object that needs it.
    const auto& namespaces = kube::resources::Namespaces();
    const auto made = member_->Create(namespaces, kube::NewObject(namespaces, "", kube::NamespaceOf(manifest)));
    if (!made && made.error().code() != base::Code::kAlreadyExists) return base::Fail(made.error());
    created = member_->Create(resource, manifest);
  }
  if (created) return {};
  return base::Fail(created.error());
}

base::Status MemberSync::UpdateCopy(const kube::Object&, const kube::Resource& resource, const Json& manifest,
                                    const Json& observed) {
  if (Find(observed, {"metadata", "deletionTimestamp"}) != nullptr)
    return base::Fail(base::Code::kConflict, "the member's copy is being deleted");
  EVENKEEL_ASSIGN(Json desired, interpreter_.Retain(manifest, observed));
  MergeMap(desired, observed, "labels", kManagedLabels);
  MergeMap(desired, observed, "annotations", kManagedAnnotations);
  for (const char* field : {"resourceVersion", "uid", "finalizers", "ownerReferences"}) {
    if (const Json* value = Find(observed, {"metadata", field})) base::Ensure(desired, {"metadata", field}) = *value;
  }
  if (const Json* status = Find(observed, {"status"})) base::Ensure(desired, {"status"}) = *status;
  const auto before = applied_.find(TemplateKeyOf(manifest));
  const bool written = before != applied_.end() && before->second == base::Blake2b64(base::ToText(manifest));
  if (written && client::SaysAll(observed, desired)) return {};
  const auto updated = member_->Update(resource, desired);
  if (!updated) return base::Fail(updated.error());
  return {};
}

MemberSync::Done MemberSync::Remove(const kube::Object& work) {
  bool gone = true;
  for (const Json& manifest : FindArray(*work.json, {"spec", "workload", "manifests"})) {
    EVENKEEL_ASSIGN(const bool this_one, RemoveCopy(work, manifest));
    gone = gone && this_one;
  }
  if (!gone) return controllers::runtime::ReconcileResult{kRemovalPoll};
  EVENKEEL_TRY(KeepFinalizer(hub_, karmada::Works(), work, kExecutionFinalizer, false));
  return {};
}

base::Result<bool> MemberSync::RemoveCopy(const kube::Object& work, const Json& manifest) {
  const auto resource =
      copies_.kinds().Find(std::string(FindString(manifest, {"apiVersion"})), std::string(FindString(manifest, {"kind"})));
  // A kind that the member does not serve has no objects there.
  if (!resource && IsGone(resource.error())) return true;
  if (!resource) return base::Fail(resource.error());
  applied_.erase(TemplateKeyOf(manifest));
  const auto observed = member_->Get(*resource, kube::NamespaceOf(manifest), kube::NameOf(manifest));
  if (!observed && IsGone(observed.error())) return true;
  if (!observed) return base::Fail(observed.error());
  if (!BelongsTo(*observed, work)) return true;
  if (base::FindBool(*work.json, {"spec", "preserveResourcesOnDeletion"})) {
    const Json release = JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{kManagedLabel, nullptr}}}}}};
    EVENKEEL_TRY(
        member_->Patch(*resource, kube::NamespaceOf(manifest), kube::NameOf(manifest), client::PatchType::kMerge, release));
    return true;
  }
  if (Find(*observed, {"metadata", "deletionTimestamp"}) != nullptr) return false;
  client::DeleteOptions options;
  options.propagation_policy = "Background";
  options.uid = kube::UidOf(*observed);
  const auto deleted = member_->Delete(*resource, kube::NamespaceOf(manifest), kube::NameOf(manifest), options);
  if (!deleted && !IsGone(deleted.error())) return base::Fail(deleted.error());
  return false;
}

Json MemberSync::ManifestStatus(const Json& manifest, int64_t ordinal) {
  std::string group, version;
  kube::SplitApiVersion(FindString(manifest, {"apiVersion"}), group, version);
  JsonObject identifier{{"ordinal", ordinal}, {"group", group}, {"version", version}, {"kind", FindString(manifest, {"kind"})}};
  const auto informer =
      copies_.Of(std::string(FindString(manifest, {"apiVersion"})), std::string(FindString(manifest, {"kind"})));
  const ObjectPointer copy = informer ? (*informer)->Get(kube::KeyOf(manifest)) : nullptr;
  if (const std::string_view ns = kube::NamespaceOf(manifest); !ns.empty()) identifier["namespace"] = ns;
  identifier["name"] = kube::NameOf(manifest);
  JsonObject entry{{"identifier", std::move(identifier)}};
  if (copy == nullptr) {
    entry["health"] = "Unknown";
    return entry;
  }
  const auto status = interpreter_.Status(*copy->json);
  if (status && !status->is_null()) entry["status"] = *status;
  entry["health"] = status ? interpreter_.Health(*copy->json) : "Unknown";
  return entry;
}

base::Status MemberSync::WriteStatus(const kube::Object& work, const std::optional<base::Error>& failure) {
  Json changed = *work.json;
  const base::Time now = clock_.Now();
  const bool suspended = base::FindBool(changed, {"spec", "suspendDispatching"});
  const auto& manifests = FindArray(changed, {"spec", "workload", "manifests"});
  if (suspended || kube::FindCondition(changed, "Dispatching") != nullptr) {
    kube::SetCondition(changed, "Dispatching", suspended ? "False" : "True", suspended ? "SuspendDispatching" : "Dispatching",
                       suspended ? "Work dispatching is in a suspended state." : "Work is being dispatched to member clusters.",
                       now);
  }
  if (!suspended) {
    kube::SetCondition(
        changed, "Applied", failure ? "False" : "True", failure ? "AppliedFailed" : "AppliedSuccessful",
        failure ? "Failed to apply all manifests: " + failure->message() : "Manifest has been successfully applied", now);
  }
  if (kube::ConditionStatus(changed, "Applied") == "True") {
    JsonArray statuses;
    for (size_t i = 0; i < manifests.size(); ++i) statuses.push_back(ManifestStatus(manifests[i], static_cast<int64_t>(i)));
    base::Ensure(changed, {"status", "manifestStatuses"}) = std::move(statuses);
  }
  if (base::Equal(changed, *work.json)) return {};
  const auto written = hub_.Update(karmada::Works(), changed, OnlyStatus());
  if (!written && !IsGone(written.error())) return base::Fail(written.error());
  return {};
}

void MemberSync::CheckHealth() {
  const auto answer = member_->GetRaw("/readyz");
  const base::Instant now = clock_.Monotonic();
  const bool back = answer && silent_;
  silent_ = !answer;
  // Retries have become rare meanwhile.
  if (back) {
    for (const auto& [key, work] : works_.items()) controller_.Enqueue(key);
  }
  if (answer) {
    last_contact_ = now;
    if (version_.empty()) {
      if (const auto text = member_->GetRaw("/version")) {
        if (const auto json = base::ParseJson(*text, "version")) version_ = FindString(*json, {"gitVersion"});
      }
    }
  }
  base::Status written;
  if (answer) written = WriteHealth(true, "cluster is healthy and ready to accept workloads");
  if (!answer && now - last_contact_ >= kHealthGrace) written = WriteHealth(false, answer.error().message());
  health_timer_ = strand_->PostAfter(written ? kHealthPeriod : kRemovalPoll, [this] { CheckHealth(); });
}

base::Status MemberSync::WriteHealth(bool reachable, const std::string& why) {
  EVENKEEL_ASSIGN(Json object, hub_.Get(karmada::Clusters(), "", cluster_));
  // What people read changes only with the state: messages of errors differ from one to the next.
  const std::string_view wanted = reachable ? "True" : "False";
  const bool same = kube::ConditionStatus(object, "Ready") == wanted;
  if (same && (version_.empty() || FindString(object, {"status", "kubernetesVersion"}) == version_)) return {};
  kube::SetCondition(object, "Ready", wanted, reachable ? "ClusterReady" : "ClusterNotReachable", why, clock_.Now());
  if (!version_.empty()) base::Ensure(object, {"status", "kubernetesVersion"}) = version_;
  EVENKEEL_TRY(hub_.Update(karmada::Clusters(), object, OnlyStatus()));
  return {};
}

}  // namespace evenkeel::embedded::federation
