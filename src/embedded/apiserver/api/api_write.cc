// Create and update: one path for everything that edits an existing object (Modify), one for what is new. Patches:
// api_patch.cc.
#include "embedded/apiserver/access/access_control.h"
#include "embedded/apiserver/access/request_attributes.h"
#include "embedded/apiserver/admission/admin_access.h"
#include "embedded/apiserver/admission/admission_policies.h"
#include "embedded/apiserver/admission/limit_ranges.h"
#include "embedded/apiserver/admission/priority_classes.h"
#include "embedded/apiserver/admission/quotas.h"
#include "embedded/apiserver/admission/runtime_classes.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/api/epoch_gate.h"
#include "embedded/apiserver/api/modification.h"
#include "embedded/apiserver/definitions/custom_definitions.h"
#include "embedded/apiserver/objects/decoding.h"
#include "embedded/apiserver/objects/managed_fields.h"
#include "embedded/apiserver/objects/strategy.h"
#include "embedded/apiserver/requests/errors.h"
#include "kube/forms/defaulting.h"
#include "kube/validation/validation.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;

// Generated names collide about once in 10^7; more than this many times in a row means that something else is wrong.
constexpr int kNameAttempts = 8;
constexpr size_t kGeneratedNameBase = 58;

bool IsService(const Served& served) { return served.resource.group.empty() && served.resource.plural == "services"; }

bool IsPod(const Served& served) { return served.resource.group.empty() && served.resource.plural == "pods"; }

bool IsAdmission(const Served& served) { return served.resource.group == kAdmissionGroup; }

// Whoever asks for a certificate does so as himself.
void SetRequestor(Json& request, const UserInfo& user) {
  base::Ensure(request, {"spec", "username"}) = user.name;
  base::Ensure(request, {"spec", "groups"}) = base::ToJsonArray(user.groups);
}

bool SameObject(Json object, Json old) {
  base::Erase(object, {"metadata", "resourceVersion"});
  base::Erase(old, {"metadata", "resourceVersion"});
  return base::Equal(object, old);
}

}  // namespace

Status Api::Ingest(const Call& call, Json& object, Answer& answer) {
  EVENKEEL_TRY(CheckKind(*call.served, object));
  const kube::Resource& resource = call.served->resource;
  EVENKEEL_CHECK(call.served->custom_schema == nullptr || resource.schema != nullptr);
  EVENKEEL_TRY(DecodeBody(call, object, answer.warnings));
  kube::ApplyKindDefaults(resource, object);
  if (resource.schema != nullptr) kube::Normalize(object, *resource.schema);
  return {};
}

Status Api::CheckNamespace(const Call& call) {
  if (!call.served->resource.namespaced) return {};
  const Served& namespaces = *table_.Find("", "v1", "namespaces");
  const auto found = options_.store->Get(namespaces.Key("", call.ns));
  if (!found) {
    if (found.error().code() == Code::kNotFound) return Fail(NotFoundError(namespaces.resource, call.ns));
    return Fail(found.error());
  }
  const Stored stored{found->value, found->mod_revision};
  if (StoredMetaText(stored, "deletionTimestamp").empty()) return {};
  return Fail(ForbiddenError(call.served->resource, call.name,
                             "unable to create new content in namespace " + call.ns + " because it is being terminated",
                             {{.reason = "NamespaceTerminating",
                               .message = "namespace " + call.ns + " is being terminated",
                               .field = "metadata.namespace"}}));
}

Status Api::PrepareCreate(const Call& call, Json& object, Answer& answer) {
  const Served& served = *call.served;
  EVENKEEL_TRY(CheckKind(served, object));
  base::JsonObject& metadata = object.at("metadata").get_object();
  if (served.resource.namespaced) {
    metadata["namespace"] = call.ns;
  } else {
    metadata.erase("namespace");
  }
  metadata["name"] = call.name;
  EVENKEEL_TRY(Ingest(call, object, answer));
  FillNewMetadata(served, object, NewUid(), Now());
  limit_ranges_->SetDefaults(call, object);
  if (IsPod(served)) {
    EVENKEEL_TRY(priority_classes_->Assign(call, object));
    EVENKEEL_TRY(ApplyRuntimeClass(*options_.store, *table_.Find("node.k8s.io", "v1", "runtimeclasses"), call, object));
  }
  PrepareForCreate(served, object, Now());
  if (served.resource.group == "certificates.k8s.io") SetRequestor(object, call.user);
  if (IsService(served)) EVENKEEL_TRY(AllocateService(object, nullptr));
  if (served.IsDefinition()) PrepareDefinition(object, nullptr, NamesInConflict(object), Now());
  auto causes = CheckAdminAccess(*options_.store, *table_.Find("", "v1", "namespaces"), call, object, nullptr);
  std::ranges::move(kube::ValidateObject(served.resource, object), std::back_inserter(causes));
  if (served.IsDefinition()) std::ranges::move(ValidateDefinition(object, nullptr), std::back_inserter(causes));
  if (!causes.empty()) return Fail(InvalidError(served.resource, call.name, std::move(causes)));
  if (served.IsDefinition()) std::ranges::move(WarnOfDefinition(object, service_address_), std::back_inserter(answer.warnings));
  if (IsAdmission(served)) WarnOfAdmission(object, answer);
  return {};
}

void Api::AnswerUnwritten(const Call& call, Answer answer, const Done& done) {
  if (auto allowed = gate_->Check(call); !allowed) return done(Fail(std::move(allowed).error()));
  done(std::move(answer));
}

void Api::Create(Call call, Json object, Done done) {
  call.name = kube::NameOf(object);
  done = Audited(call, "create", std::move(done));
  if (call.served->resource.review) return Review(std::move(call), std::move(object), std::move(done));
  BeginCreate(std::move(call), std::move(object), std::move(done));
}

void Api::BeginCreate(Call call, Json object, Done done) {
  call.served = WithSchema(std::move(call.served));
  const kube::Resource& resource = call.served->resource;
  if (const auto checked = CheckKind(*call.served, object); !checked) return done(Fail(checked.error()));
  const std::string_view given_ns = kube::NamespaceOf(object);
  if (resource.namespaced && call.ns.empty()) call.ns = given_ns;
  if (resource.namespaced && !given_ns.empty() && given_ns != call.ns) {
    return done(
        Fail(Code::kBadRequest, "the namespace of the provided object does not match the namespace sent on the request"));
  }
  if (resource.namespaced && call.ns.empty()) {
    return done(Fail(Code::kBadRequest, "an empty namespace may not be set during creation"));
  }
  if (!kube::ResourceVersionOf(object).empty()) {
    return done(Fail(
        base::Error(Code::kInternal, "resourceVersion should not be set on objects to be created", {.unspecified = true})));
  }
  if (call.served->terminating) {
    return done(Fail(Code::kMethodNotAllowed, "create not allowed while custom resource definition is terminating"));
  }
  if (!call.name.empty()) return CreateStep(std::move(call), std::move(object), nullptr, std::move(done), 0);
  if (base::FindString(object, {"metadata", "generateName"}).empty()) {
    return done(Fail(InvalidError(call.served->resource, "",
                                  {{.reason = "FieldValueRequired",
                                    .message = "Required value: name or generateName is required",
                                    .field = "metadata.name"}})));
  }
  // On the heap: it is needed after the caller's storage is gone.
  auto given = std::make_shared<const Json>(std::move(object), boost::json::storage_ptr());
  CreateGenerated(std::move(call), std::move(given), std::move(done), 0);
}

void Api::CreateGenerated(Call call, std::shared_ptr<const Json> given, Done done, int attempt) {
  const std::string_view prefix = base::FindString(*given, {"metadata", "generateName"});
  call.name = std::string(prefix.substr(0, kGeneratedNameBase)) + NewSuffix();
  Json object = *given;
  CreateStep(std::move(call), std::move(object), std::move(given), std::move(done), attempt);
}

void Api::CreateStep(Call call, Json object, std::shared_ptr<const Json> given, Done done, int attempt) {
  if (const auto checked = CheckNamespace(call); !checked) return done(Fail(checked.error()));
  Answer answer;
  answer.http_status = 201;
  if (!Changes(call, "CREATE")) {
    return FinishCreate(std::move(call), std::move(object), std::move(given), std::move(answer), std::move(done), attempt);
  }
  RunAdmission([this, call = std::move(call), object = Json(object, {}), given = std::move(given), answer = std::move(answer),
                done = std::move(done), attempt]() mutable {
    base::Ensure(object, {"metadata", "name"}) = call.name;
    if (call.served->resource.namespaced) base::Ensure(object, {"metadata", "namespace"}) = call.ns;
    if (const auto taken = Ingest(call, object, answer); !taken) return done(Fail(taken.error()));
    call.repeated_keys.clear();
    limit_ranges_->SetDefaults(call, object);
    if (const auto changed = Mutate(call, "CREATE", object, nullptr, answer); !changed) return done(Fail(changed.error()));
    FinishCreate(std::move(call), std::move(object), std::move(given), std::move(answer), std::move(done), attempt);
  });
}

void Api::FinishCreate(Call call, Json object, std::shared_ptr<const Json> given, Answer answer, Done done, int attempt) {
  if (const auto prepared = PrepareCreate(call, object, answer); !prepared) return done(Fail(prepared.error()));
  if (const auto granted = access_->CheckGrant(call, object, nullptr); !granted) return done(Fail(granted.error()));
  if (const auto fits = limit_ranges_->Check(call, object, nullptr); !fits) return done(Fail(fits.error()));
  if (const auto fits = priority_classes_->Check(call, object); !fits) return done(Fail(fits.error()));
  auto shared = std::make_shared<const Call>(std::move(call));
  if (!Asks(*shared, "CREATE")) {
    return CommitNew(std::move(shared), std::move(given), std::move(object), std::move(answer), std::move(done), attempt);
  }
  Admit(shared, "CREATE", Json(object, {}), nullptr,
        [this, shared, given = std::move(given), object = Json(object, {}), answer = std::move(answer), done = std::move(done),
         attempt](Result<std::vector<std::string>> warnings) mutable {
          if (!warnings) return done(Fail(warnings.error()));
          std::ranges::move(*warnings, std::back_inserter(answer.warnings));
          CommitNew(std::move(shared), std::move(given), std::move(object), std::move(answer), std::move(done), attempt);
        });
}

void Api::CommitNew(std::shared_ptr<const Call> call, std::shared_ptr<const Json> given, Json object, Answer answer, Done done,
                    int attempt) {
  const Served& served = *call->served;
  std::string key = served.Key(call->ns, call->name);
  if (const auto fits = CheckDepth(*call, object); !fits) return done(Fail(fits.error()));
  auto ticket = quotas_->Admit(*call, object, nullptr);
  if (!ticket) return done(Fail(ticket.error()));
  auto row = EncodeRow(*call, object, answer.object);
  if (!row) return done(Fail(row.error()));
  if (call->dry_run) {
    if (options_.store->Get(key)) return done(Fail(AlreadyExistsError(served.resource, call->name)));
    return AnswerUnwritten(*call, std::move(answer), done);
  }
  store::Write write{.key = std::move(key), .value = *std::move(row), .expected = 0};
  gate_->Commit(*call, std::move(write),
                [this, call, given = std::move(given), answer = std::move(answer), done = std::move(done), attempt,
                 ticket = *std::move(ticket)](Result<store::Revision> revision) mutable {
                  if (ticket != nullptr && revision) ticket->Written(*revision);
                  ticket.reset();
                  if (revision) {
                    answer.object.revision = *revision;
                    AfterWrite(*call->served, answer.object, call->name);
                    return done(std::move(answer));
                  }
                  if (revision.error().code() != Code::kConflict) return done(Fail(revision.error()));
                  if (given == nullptr || attempt + 1 >= kNameAttempts)
                    return done(Fail(AlreadyExistsError(call->served->resource, call->name)));
                  Run([this, call, given = std::move(given), done = std::move(done), attempt]() mutable {
                    RunFor(*call->served, [this, call, given = std::move(given), done = std::move(done), attempt]() mutable {
                      CreateGenerated(*call, std::move(given), std::move(done), attempt + 1);
                    });
                  });
                });
}

void Api::Modify(Call call, Change change, Done done) {
  auto state = std::make_shared<Modification>();
  state->call = std::move(call);
  state->change = std::move(change);
  state->done = std::move(done);
  ModifyStep(std::move(state));
}

void Api::ModifyStep(std::shared_ptr<Modification> state) {
  const Call& call = state->call;
  auto found = options_.store->Get(call.served->Key(call.ns, call.name));
  if (!found) {
    if (found.error().code() == Code::kNotFound) return state->done(Fail(NotFoundError(call.served->resource, call.name)));
    return state->done(Fail(found.error()));
  }
  Stored current{std::move(found->value), found->mod_revision};
  if (const auto converted = ConvertRows(*call.served, std::span(&current, 1), false); !converted) {
    return state->done(Fail(converted.error()));
  }
  auto decoded = DecodeObject(*call.served, current);
  if (!decoded) return state->done(Fail(decoded.error()));
  const Json old = *std::move(decoded);
  Json object = old;
  Answer answer;
  const auto write = state->change(object, current, answer);
  if (!write) return state->done(Fail(write.error()));
  if (!*write) {
    if (answer.object.bytes == nullptr) answer.object = current;
    return AnswerUnwritten(call, std::move(answer), state->done);
  }
  if (!Changes(call, "UPDATE")) {
    return JudgeModified(std::move(state), std::move(object), old, std::move(current), std::move(answer));
  }
  RunAdmission(
      [this, state, object = std::move(object), old, current = std::move(current), answer = std::move(answer)]() mutable {
        const auto changed = Mutate(state->call, "UPDATE", object, &old, answer);
        if (!changed) return state->done(Fail(changed.error()));
        if (*changed) {
          Call quiet = state->call;
          quiet.repeated_keys.clear();
          Json before = old;
          base::Erase(before, {"metadata", "resourceVersion"});
          // Whose fields the webhook has set is nobody's.
          if (const auto finished = FinishUpdate(quiet, object, before, answer, true); !finished) {
            return state->done(Fail(finished.error()));
          }
        }
        JudgeModified(std::move(state), std::move(object), std::move(old), std::move(current), std::move(answer));
      });
}

void Api::JudgeModified(std::shared_ptr<Modification> state, Json object, Json old, Stored current, Answer answer) {
  const Call& call = state->call;
  if (!Asks(call, "UPDATE")) {
    return CommitModified(std::move(state), std::move(object), old, std::move(current), std::move(answer));
  }
  Admit(std::shared_ptr<const Call>(state, &state->call), "UPDATE", object, old,
        [this, state, object, old, current = std::move(current),
         answer = std::move(answer)](Result<std::vector<std::string>> warnings) mutable {
          if (!warnings) return state->done(Fail(warnings.error()));
          std::ranges::move(*warnings, std::back_inserter(answer.warnings));
          CommitModified(std::move(state), std::move(object), old, std::move(current), std::move(answer));
        });
}

void Api::CommitModified(std::shared_ptr<Modification> state, Json object, const Json& old, Stored current, Answer answer) {
  const Call& call = state->call;
  if (const auto fits = CheckDepth(call, object); !fits) return state->done(Fail(fits.error()));
  answer.object = current;
  Stored shown = current;
  auto row = EncodeRow(call, object, shown);
  if (!row) return state->done(Fail(row.error()));
  const auto again = [this, state](bool conflict) {
    if (conflict && ++state->attempt < Modification::kAttempts) {
      return Run([this, state] { RunFor(*state->call.served, [this, state] { ModifyStep(state); }); });
    }
    state->done(Fail(StaleError(state->call.served->resource, state->call.name)));
  };
  if (DeletionIsComplete(*call.served, object, old)) {
    if (call.dry_run) return AnswerUnwritten(call, std::move(answer), state->done);
    answer.object = shown;
    return Remove(call, std::move(current), std::move(answer), state->done, [again] { again(true); });
  }
  // The same fields in another order have the same size and are no change either, unless the row itself has another form.
  const bool same = *shown.bytes == *current.bytes || (!HasOtherForm(*call.served, current) && SameObject(object, old));
  if (shown.bytes->size() == current.bytes->size() && same) {
    return AnswerUnwritten(call, std::move(answer), state->done);
  }
  answer.object = std::move(shown);
  auto ticket = quotas_->Admit(call, object, &old);
  if (!ticket) return state->done(Fail(ticket.error()));
  if (call.dry_run) return AnswerUnwritten(call, std::move(answer), state->done);
  store::Write write{.key = call.served->Key(call.ns, call.name), .value = *std::move(row), .expected = current.revision};
  gate_->Commit(
      call, std::move(write),
      [this, state, again, answer = std::move(answer), ticket = *std::move(ticket)](Result<store::Revision> revision) mutable {
        if (ticket != nullptr && revision) ticket->Written(*revision);
        ticket.reset();
        if (revision) {
          answer.object.revision = *revision;
          AfterWrite(*state->call.served, answer.object, state->call.name);
          return state->done(std::move(answer));
        }
        const Code code = revision.error().code();
        if (code == Code::kConflict || code == Code::kNotFound) return again(true);
        state->done(Fail(revision.error()));
      });
}

Status Api::CheckSubmitted(const Call& call, Json& object, const Stored& current) {
  const kube::Resource& resource = call.served->resource;
  EVENKEEL_TRY(CheckKind(*call.served, object));
  const std::string_view name = kube::NameOf(object);
  if (name.empty()) {
    return Fail(Code::kBadRequest,
                "the name of the object (" + call.name + " based on URL) was undeterminable: name must be provided");
  }
  if (name != call.name) {
    return Fail(Code::kBadRequest,
                "the name of the object (" + std::string(name) + ") does not match the name on the URL (" + call.name + ")");
  }
  const std::string_view ns = kube::NamespaceOf(object);
  if (resource.namespaced && !ns.empty() && ns != call.ns) {
    return Fail(Code::kBadRequest, "the namespace of the object (" + std::string(ns) +
                                       ") does not match the namespace on the request (" + call.ns + ")");
  }
  const std::string uid = StoredMetaText(current, "uid");
  if (const std::string_view given = kube::UidOf(object); !given.empty() && given != uid) {
    return Fail(
        ConflictError(resource, call.name,
                      "Precondition failed: UID in precondition: " + std::string(given) + ", UID in object meta: " + uid));
  }
  const std::string_view version = kube::ResourceVersionOf(object);
  if (!version.empty() && version != "0" && version != std::to_string(current.revision))
    return Fail(StaleError(resource, call.name));
  return {};
}

Status Api::FinishUpdate(const Call& call, Json& object, const Json& old, Answer& answer, bool applied) {
  const Served& served = *call.served;
  EVENKEEL_TRY(Ingest(call, object, answer));
  base::Erase(object, {"metadata", "resourceVersion"});
  if (call.subresource == "status") {
    PrepareForStatusUpdate(served, object, old);
  } else if (call.subresource == "finalize") {
    Json next = old;
    base::Ensure(next, {"spec", "finalizers"}) = base::FindArray(object, {"spec", "finalizers"});
    object = std::move(next);
  } else {
    PrepareForUpdate(served, object, old, Now());
    if (IsService(served)) EVENKEEL_TRY(AllocateService(object, &old));
    if (served.IsDefinition()) PrepareDefinition(object, &old, NamesInConflict(object), Now());
  }
  base::Erase(object, {"metadata", "resourceVersion"});
  if (!applied) TrackUpdate(object, old, served.resource.schema, ManagerOf(call, Now()));
  auto causes = CheckAdminAccess(*options_.store, *table_.Find("", "v1", "namespaces"), call, object, &old);
  std::ranges::move(kube::ValidateObject(served.resource, object, &old), std::back_inserter(causes));
  std::ranges::move(kube::ValidateUpdate(served.resource, object, old), std::back_inserter(causes));
  if (served.IsDefinition()) std::ranges::move(ValidateDefinition(object, &old), std::back_inserter(causes));
  if (!causes.empty()) return Fail(InvalidError(served.resource, call.name, std::move(causes)));
  if (served.IsDefinition() && call.subresource.empty()) {
    std::ranges::move(WarnOfDefinition(object, service_address_), std::back_inserter(answer.warnings));
  }
  if (IsAdmission(served)) WarnOfAdmission(object, answer);
  EVENKEEL_TRY(limit_ranges_->Check(call, object, &old));
  EVENKEEL_TRY(priority_classes_->Check(call, object));
  return access_->CheckGrant(call, object, &old);
}

Result<bool> Api::FinishSubmitted(const Call& call, Json& object, Json old, const Stored& current, Answer& answer) {
  EVENKEEL_TRY(CheckSubmitted(call, object, current));
  base::Erase(old, {"metadata", "resourceVersion"});
  EVENKEEL_TRY(FinishUpdate(call, object, old, answer, false));
  return true;
}

void Api::Update(Call call, Json given, Done done) {
  done = Audited(call, "update", std::move(done));
  call.served = WithSchema(std::move(call.served));
  if (call.subresource == "scale") {
    return UpdateScale(
        std::move(call),
        [given = std::move(given)](Json& scale) -> Status {
          if (!given.is_object()) return Fail(Code::kBadRequest, "the body must be an autoscaling/v1 Scale");
          scale = given;
          return {};
        },
        std::move(done));
  }
  auto shared = std::make_shared<const Call>(call);
  Modify(
      std::move(call),
      [this, shared, given = std::move(given)](Json& object, const Stored& current, Answer& answer) -> Result<bool> {
        Json old = std::move(object);
        object = given;
        return FinishSubmitted(*shared, object, std::move(old), current, answer);
      },
      std::move(done));
}

}  // namespace evenkeel::embedded::apiserver
