// Deletes: grace, finalizers, propagation, collections, and what goes with a CustomResourceDefinition.
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/api/epoch_gate.h"
#include "embedded/apiserver/api/modification.h"
#include "embedded/apiserver/definitions/custom_definitions.h"
#include "embedded/apiserver/requests/errors.h"
#include "kube/types.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;

constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr int64_t kDefaultPodGrace = 30;
constexpr int kDeleteAttempts = 10;

bool IsCore(const Served& served, std::string_view plural) {
  return served.resource.group.empty() && served.resource.plural == plural;
}

// The finalizers that the object has once it is marked: the collector's two follow the propagation policy.
base::JsonArray FinalizersFor(const Json& object, const std::string& propagation) {
  base::JsonArray result;
  const base::JsonArray& present = base::FindArray(object, {"metadata", "finalizers"});
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(present, [&](const Json& item) { return item.is_string() && item.get_string() == name; });
  };
  bool orphan = propagation == "Orphan" || (propagation.empty() && has(kOrphan));
  bool foreground = propagation == "Foreground" || (propagation.empty() && has(kForeground));
  for (const Json& item : present) {
    if (item.is_string() && (item.get_string() == kOrphan || item.get_string() == kForeground)) continue;
    result.push_back(item);
  }
  if (orphan) {
    result.emplace_back(kOrphan);
  } else if (foreground) {
    result.emplace_back(kForeground);
  }
  return result;
}

// Seconds that the object may take to end: only pods that run somewhere take any.
int64_t GraceFor(const Served& served, const Json& object, const DeleteRequest& request) {
  if (!IsCore(served, "pods")) return 0;
  if (base::FindString(object, {"spec", "nodeName"}).empty() || kube::HasEnded(object)) return 0;
  int64_t grace =
      request.grace_seconds.value_or(base::FindInt(object, {"spec", "terminationGracePeriodSeconds"}, kDefaultPodGrace));
  return grace < 0 ? 1 : grace;
}

// Marks the object (again, sooner). False when nothing changes.
bool MarkDeleted(const Served& served, Json& object, int64_t grace, base::JsonArray finalizers, base::Time now) {
  base::JsonObject& metadata = base::Ensure(object, {"metadata"}).as_object();
  bool changed = !base::Equal(Json(finalizers), Json(base::FindArray(object, {"metadata", "finalizers"})));
  const auto present = base::ParseTime(base::FindString(object, {"metadata", "deletionTimestamp"}));
  if (finalizers.empty()) {
    metadata.erase("finalizers");
  } else {
    metadata["finalizers"] = std::move(finalizers);
  }
  const int64_t before = base::FindInt(object, {"metadata", "deletionGracePeriodSeconds"});
  if (present && grace >= before) return changed;
  const base::Time begun = present ? *present - std::chrono::seconds(before) : now;
  metadata["deletionTimestamp"] = base::FormatTime(begun + std::chrono::seconds(grace));
  metadata["deletionGracePeriodSeconds"] = grace;
  if (present) return true;
  if (const int64_t generation = base::FindInt(object, {"metadata", "generation"}); generation > 0)
    metadata["generation"] = generation + 1;
  if (IsCore(served, "namespaces")) base::Ensure(object, {"status", "phase"}) = "Terminating";
  return true;
}

// As webhooks see them.
Json OptionsJson(const DeleteRequest& request, bool dry_run) {
  base::JsonObject options{{"kind", "DeleteOptions"}, {"apiVersion", "meta.k8s.io/v1"}};
  if (request.grace_seconds) options["gracePeriodSeconds"] = *request.grace_seconds;
  if (!request.propagation.empty()) options["propagationPolicy"] = request.propagation;
  base::JsonObject preconditions;
  if (!request.uid.empty()) preconditions["uid"] = request.uid;
  if (!request.resource_version.empty()) preconditions["resourceVersion"] = request.resource_version;
  if (!preconditions.empty()) options["preconditions"] = std::move(preconditions);
  if (dry_run) options["dryRun"] = base::JsonArray{"All"};
  return options;
}

}  // namespace

void Api::Remove(const Call& call, Stored current, Answer answer, Done done, std::function<void()> on_conflict) {
  store::Write write{.key = call.served->Key(call.ns, call.name), .value = nullptr, .expected = current.revision};
  gate_->Commit(call, std::move(write),
                [this, served = call.served, name = call.name, current, answer = std::move(answer), done = std::move(done),
                 on_conflict = std::move(on_conflict)](Result<store::Revision> revision) mutable {
                  if (revision) {
                    answer.object.revision = *revision;
                    AfterRemove(*served, current, name, *revision);
                    return done(std::move(answer));
                  }
                  if (revision.error().code() == Code::kConflict) return on_conflict();
                  if (revision.error().code() == Code::kNotFound) return done(Fail(NotFoundError(served->resource, name)));
                  done(Fail(revision.error()));
                });
}

void Api::Delete(Call call, DeleteRequest request, Done done) {
  done = Audited(call, "delete", std::move(done));
  BeginDelete(std::move(call), std::move(request), std::move(done));
}

void Api::BeginDelete(Call call, DeleteRequest request, Done done) {
  if (!request.propagation.empty() && request.propagation != "Orphan" && request.propagation != "Background" &&
      request.propagation != "Foreground") {
    return done(Fail(InvalidError(NamedKind("meta.k8s.io", "DeleteOptions", "deleteoptions"), "",
                                  {{.reason = "FieldValueNotSupported",
                                    .message = "Unsupported value: \"" + request.propagation +
                                               "\": supported values: \"Background\", \"Foreground\", \"Orphan\"",
                                    .field = "propagationPolicy"}})));
  }
  DeleteStep(std::make_shared<const Call>(std::move(call)), std::make_shared<const DeleteRequest>(std::move(request)),
             std::move(done), 0);
}

void Api::DeleteStep(std::shared_ptr<const Call> call, std::shared_ptr<const DeleteRequest> request, Done done, int attempt) {
  auto current = Get(*call);
  if (!current) return done(Fail(current.error()));
  if (const auto checked = CheckPreconditions(*call, request->uid, request->resource_version, *current); !checked)
    return done(Fail(checked.error()));
  if (!Asks(*call, "DELETE")) return DeleteAdmitted(call, request, *std::move(current), {}, std::move(done), attempt);
  auto old = DecodeObject(*call->served, *current);
  // Of what cannot be read nobody can be asked.
  if (!old) return DeleteAdmitted(call, request, *std::move(current), {}, std::move(done), attempt);
  Admit(
      call, "DELETE", nullptr, *std::move(old),
      [this, call, request, current = *std::move(current), done = std::move(done),
       attempt](Result<std::vector<std::string>> warnings) mutable {
        if (!warnings) return done(Fail(warnings.error()));
        Answer answer;
        answer.warnings = *std::move(warnings);
        DeleteAdmitted(std::move(call), std::move(request), std::move(current), std::move(answer), std::move(done), attempt);
      },
      OptionsJson(*request, call->dry_run));
}

void Api::DeleteAdmitted(std::shared_ptr<const Call> call, std::shared_ptr<const DeleteRequest> request, Stored current,
                         Answer answer, Done done, int attempt) {
  const Served& served = *call->served;
  const auto again = [this, call, request, done, attempt] {
    if (attempt + 1 >= kDeleteAttempts) return done(Fail(StaleError(call->served->resource, call->name)));
    Run([this, call, request, done, attempt] {
      RunFor(*call->served, [=, this] { DeleteStep(call, request, done, attempt + 1); });
    });
  };
  answer.object = current;
  auto decoded = DecodeObject(served, current);
  if (!decoded) {
    // Nothing that it might ask for before it goes can be read.
    answer.other = SuccessStatus(served.resource, call->name, "");
    if (call->dry_run) return AnswerUnwritten(*call, std::move(answer), done);
    return Remove(*call, std::move(current), std::move(answer), std::move(done), again);
  }
  Json& object = *decoded;
  base::Erase(object, {"metadata", "resourceVersion"});
  const int64_t grace = GraceFor(served, object, *request);
  base::JsonArray finalizers = FinalizersFor(object, request->propagation);
  const bool stays = grace > 0 || !finalizers.empty() ||
                     (IsCore(served, "namespaces") && !base::FindArray(object, {"spec", "finalizers"}).empty());
  if (!stays) {
    answer.other = SuccessStatus(served.resource, call->name, kube::UidOf(object));
    if (IsCore(served, "pods") || IsCore(served, "namespaces")) answer.other.reset();
    if (call->dry_run) return AnswerUnwritten(*call, std::move(answer), done);
    return Remove(*call, std::move(current), std::move(answer), std::move(done), again);
  }
  const bool changed = MarkDeleted(served, object, grace, std::move(finalizers), Now());
  if (!changed) return AnswerUnwritten(*call, std::move(answer), done);
  if (served.IsDefinition()) {
    kube::SetCondition(object, "Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress",
                       Now());
  }
  auto row = EncodeRow(*call, object, answer.object);
  if (!row) return done(Fail(row.error()));
  if (call->dry_run) return AnswerUnwritten(*call, std::move(answer), done);
  store::Write write{.key = served.Key(call->ns, call->name), .value = *std::move(row), .expected = current.revision};
  gate_->Commit(*call, std::move(write),
                [this, call, again, done, answer = std::move(answer)](Result<store::Revision> revision) mutable {
                  if (revision) {
                    answer.object.revision = *revision;
                    AfterWrite(*call->served, answer.object, call->name);
                    return done(std::move(answer));
                  }
                  if (revision.error().code() == Code::kConflict || revision.error().code() == Code::kNotFound) return again();
                  done(Fail(revision.error()));
                });
}

void Api::DeleteCollection(Call call, ListQuery query, DeleteRequest request, Done done) {
  done = Audited(call, "deletecollection", std::move(done));
  BeginDeleteCollection(std::move(call), std::move(query), std::move(request), std::move(done));
}

void Api::BeginDeleteCollection(Call call, ListQuery query, DeleteRequest request, Done done) {
  auto list = List(call, query);
  if (!list) return done(Fail(list.error()));
  if (list->items.empty()) {
    if (const auto allowed = gate_->Check(call); !allowed) return done(Fail(allowed.error()));
  }
  struct Progress {
    std::mutex mutex;
    size_t open = 0;
    base::JsonArray deleted;
    std::optional<base::Error> error;
  };
  auto progress = std::make_shared<Progress>();
  progress->open = list->items.size() + 1;
  const auto finish = [progress, done, served = call.served, metadata = ListMetadata(*list)](Result<Answer> one) {
    std::unique_lock lock(progress->mutex);
    if (one && one->object.bytes != nullptr) {
      if (auto object = DecodeObject(*served, one->object)) progress->deleted.push_back(*std::move(object));
    }
    if (!one && one.error().code() != Code::kNotFound && !progress->error) progress->error = one.error();
    if (--progress->open > 0) return;
    lock.unlock();
    if (progress->error) return done(Fail(*progress->error));
    Answer answer;
    answer.other = base::JsonObject{{"kind", served->resource.kind + "List"},
                                    {"apiVersion", served->resource.ApiVersion()},
                                    {"metadata", metadata},
                                    {"items", std::move(progress->deleted)}};
    done(std::move(answer));
  };
  for (const Stored& stored : list->items) {
    Call one = call;
    one.ns = StoredMetaText(stored, "namespace");
    one.name = StoredMetaText(stored, "name");
    BeginDelete(std::move(one), request, finish);
  }
  finish(Answer{});
}

void Api::DeleteCustomObjects(const std::string& crd_name) {
  const size_t dot = crd_name.find('.');
  ServedPointer found;
  for (const ServedPointer& served : table_.All()) {
    const kube::Resource& resource = served->resource;
    if (!served->custom || resource.plural != crd_name.substr(0, dot) || resource.group != crd_name.substr(dot + 1)) continue;
    // In the version in which most are stored nobody has to convert them.
    if (found == nullptr || resource.ApiVersion() == served->storage_api_version) found = served;
  }
  if (found == nullptr) return FinishCustomCleanup(crd_name);
  RunFor(*found, [this, found, crd_name] {
    Call call{.served = found, .ns = "", .name = "", .subresource = "", .user = {}, .field_manager = "", .unasked = true};
    BeginDeleteCollection(std::move(call), {}, {}, [this, crd_name](const Result<Answer>&) { FinishCustomCleanup(crd_name); });
  });
}

void Api::FinishCustomCleanup(const std::string& crd_name) {
  const size_t dot = crd_name.find('.');
  const std::string prefix = "/registry/" + crd_name.substr(dot + 1) + "/" + crd_name.substr(0, dot) + "/";
  const auto left = options_.store->List({.prefix = prefix, .start_after = {}, .limit = 1});
  if (!left || !left->items.empty()) return;
  Call call{.served = table_.Find("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
            .ns = "",
            .name = crd_name,
            .subresource = "",
            .user = {},
            .field_manager = "",
            .unasked = true};
  Modify(
      std::move(call),
      [](Json& object, const Stored&, Answer&) -> Result<bool> {
        if (base::Find(object, {"metadata", "deletionTimestamp"}) == nullptr) return false;
        kube::SetFinalizer(object, kCustomCleanupFinalizer, false);
        return true;
      },
      [](const Result<Answer>&) {});
}

}  // namespace evenkeel::embedded::apiserver
