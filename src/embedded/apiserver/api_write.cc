// Create, update and patch: one path for everything that edits an existing object (Modify), one for what is new.
#include "embedded/apiserver/access_control.h"
#include "embedded/apiserver/api.h"
#include "embedded/apiserver/custom_definitions.h"
#include "embedded/apiserver/epoch_gate.h"
#include "embedded/apiserver/errors.h"
#include "embedded/apiserver/managed_fields.h"
#include "embedded/apiserver/modification.h"
#include "embedded/apiserver/request_attributes.h"
#include "embedded/apiserver/strategy.h"
#include "kube/defaulting.h"
#include "kube/strategic_merge.h"
#include "kube/typed_decode.h"
#include "kube/validation.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;

// Generated names collide about once in 10^7; more than this many times in a row means that something else is wrong.
constexpr int kNameAttempts = 8;
constexpr size_t kGeneratedNameBase = 58;

bool IsService(const Served& served) { return served.resource.group.empty() && served.resource.plural == "services"; }

bool IsWebhooks(const Served& served) { return served.resource.group == "admissionregistration.k8s.io"; }

Status CheckKind(const Served& served, Json& object) {
  const kube::Resource& resource = served.resource;
  if (!object.is_object()) return Fail(Code::kBadRequest, "the object provided is unrecognized: it is not a JSON object");
  const std::string_view version = base::FindString(object, {"apiVersion"});
  const std::string_view kind = base::FindString(object, {"kind"});
  if (!kind.empty() && kind != resource.kind) {
    return Fail(Code::kBadRequest, std::string(kind) + " in version \"" + std::string(version) + "\" cannot be handled as a " +
                                       resource.kind + ": the path is for " + resource.QualifiedPlural());
  }
  if (!version.empty() && version != resource.ApiVersion()) {
    return Fail(Code::kBadRequest, "the API version in the data (" + std::string(version) +
                                       ") does not match the expected API version (" + resource.ApiVersion() + ")");
  }
  base::JsonObject& fields = object.get_object();
  fields["apiVersion"] = resource.ApiVersion();
  fields["kind"] = resource.kind;
  Json& metadata = fields["metadata"];
  if (metadata.is_null()) metadata = base::JsonObject();
  if (!metadata.is_object()) return Fail(Code::kBadRequest, "metadata: must be an object");
  return {};
}

std::string UnknownFieldText(const std::string& path) { return "unknown field \"" + path + "\""; }

ManagerIdentity ManagerOf(const Call& call, base::Time now) {
  return {.name = call.field_manager.empty() ? "unknown" : call.field_manager,
          .api_version = call.served->resource.ApiVersion(),
          .subresource = call.subresource,
          .now = now};
}

std::string CannotBeHandled(const kube::Resource& resource) {
  return resource.kind + " in version \"" + resource.version + "\" cannot be handled as a " + resource.kind + ": ";
}

// Takes out what the schema does not know: warned of, or refused, as the request asks.
Status PruneUnknown(const Call& call, Json& object, std::vector<std::string>& warnings) {
  const kube::Resource& resource = call.served->resource;
  std::vector<std::string> unknown;
  if (resource.schema != nullptr) kube::Prune(object, *resource.schema, &unknown);
  std::vector<std::string> wrong = call.repeated_keys;
  for (const std::string& path : unknown) {
    const std::string text = UnknownFieldText(path);
    // A field that nobody knows is told of once, however often it is there.
    std::erase(wrong, "duplicate" + text.substr(std::string_view("unknown").size()));
    wrong.push_back(text);
  }
  if (!wrong.empty() && call.field_validation == FieldValidation::kStrict) {
    std::string text;
    for (const std::string& one : wrong) text += (text.empty() ? "" : ", ") + one;
    const std::string prefix = call.served->custom ? "" : CannotBeHandled(resource);
    return Fail(Code::kBadRequest, prefix + "strict decoding error: " + text);
  }
  if (call.field_validation == FieldValidation::kWarn) std::ranges::move(wrong, std::back_inserter(warnings));
  return {};
}

// A value of another type than its field's, which a typed server cannot even read. Of a custom resource that is metadata alone.
Status CheckTypes(const Call& call, const Json& object) {
  const kube::Resource& resource = call.served->resource;
  std::optional<std::string> error;
  if (!call.served->custom) {
    if (resource.schema != nullptr) error = kube::FindTypeError(object, *resource.schema);
  } else if (const Json* metadata = base::Find(object, {"metadata"})) {
    static const kube::Schema* const schema = kube::FindBuiltInSchema("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    error = kube::FindTypeError(*metadata, *schema, "metadata");
  }
  if (!error) return {};
  return Fail(Code::kBadRequest, CannotBeHandled(resource) + *error);
}

// Who applies what is not there creates it. Callers in this process are not asked.
Status MayCreate(const Call& call, const access::Authorizer& authorizer) {
  if (call.origin == nullptr) return {};
  const kube::Resource& resource = call.served->resource;
  const access::Attributes create{.verb = "create",
                                  .group = resource.group,
                                  .resource = resource.plural,
                                  .subresource = call.subresource,
                                  .ns = call.ns,
                                  .name = call.name};
  const access::Decision decision = authorizer.Authorize(call.user, create);
  if (decision.allowed) return {};
  return Fail(ForbiddenFor(call.user, create, decision.reason));
}

// What is applied as a typed object: a key that is there twice could not be merged.
Status CheckApplied(const Call& call, const Json& config) {
  const kube::Resource& resource = call.served->resource;
  const std::vector<std::string> duplicates = DuplicateEntries(config, resource.schema);
  if (duplicates.empty()) return {};
  std::string text = duplicates.size() == 1 ? duplicates[0] : "errors:";
  for (size_t i = 0; duplicates.size() > 1 && i < duplicates.size(); ++i) text += "\n  " + duplicates[i];
  return Fail(base::Error(Code::kInternal,
                          "failed to create typed patch object (" + call.ns + "/" + call.name + "; " + resource.ApiVersion() +
                              ", Kind=" + resource.kind + "): " + text,
                          {.unspecified = true}));
}

// Whoever asks for a certificate does so as himself.
void SetRequestor(Json& request, const UserInfo& user) {
  base::JsonArray groups;
  for (const std::string& group : user.groups) groups.emplace_back(group);
  base::Ensure(request, {"spec", "username"}) = user.name;
  base::Ensure(request, {"spec", "groups"}) = std::move(groups);
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
  EVENKEEL_TRY(CheckTypes(call, object));
  EVENKEEL_TRY(PruneUnknown(call, object, answer.warnings));
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
  FillNewMetadata(served, object, NewUid(), Now());
  EVENKEEL_TRY(Ingest(call, object, answer));
  PrepareForCreate(served, object, Now());
  if (served.resource.group == "certificates.k8s.io") SetRequestor(object, call.user);
  if (IsService(served)) EVENKEEL_TRY(AllocateService(object, nullptr));
  if (served.IsDefinition()) PrepareDefinition(object, nullptr, NamesInConflict(object), Now());
  auto causes = kube::ValidateObject(served.resource, object);
  if (served.IsDefinition()) std::ranges::move(ValidateDefinition(object, nullptr), std::back_inserter(causes));
  if (!causes.empty()) return Fail(InvalidError(served.resource, call.name, std::move(causes)));
  if (served.IsDefinition()) std::ranges::move(WarnOfDefinition(object), std::back_inserter(answer.warnings));
  if (IsWebhooks(served)) std::ranges::move(WarnOfWebhooks(object, World()), std::back_inserter(answer.warnings));
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
    return done(Fail(Code::kBadRequest, "resourceVersion should not be set on objects to be created"));
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
    if (const auto changed = Mutate(call, "CREATE", object, nullptr, answer); !changed) return done(Fail(changed.error()));
    FinishCreate(std::move(call), std::move(object), std::move(given), std::move(answer), std::move(done), attempt);
  });
}

void Api::FinishCreate(Call call, Json object, std::shared_ptr<const Json> given, Answer answer, Done done, int attempt) {
  if (const auto prepared = PrepareCreate(call, object, answer); !prepared) return done(Fail(prepared.error()));
  if (const auto granted = access_->CheckGrant(call, object, nullptr); !granted) return done(Fail(granted.error()));
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
  answer.object.bytes = std::make_shared<const std::string>(EncodeStored(object, served));
  if (call->dry_run) {
    if (options_.store->Get(key)) return done(Fail(AlreadyExistsError(served.resource, call->name)));
    return AnswerUnwritten(*call, std::move(answer), done);
  }
  store::Write write{.key = std::move(key), .value = answer.object.bytes, .expected = 0};
  gate_->Commit(*call, std::move(write),
                [this, call, given = std::move(given), answer = std::move(answer), done = std::move(done),
                 attempt](Result<store::Revision> revision) mutable {
                  if (revision) {
                    answer.object.revision = *revision;
                    AfterWrite(*call->served, answer.object);
                    return done(std::move(answer));
                  }
                  if (revision.error().code() != Code::kConflict) return done(Fail(revision.error()));
                  if (given == nullptr || attempt + 1 >= kNameAttempts)
                    return done(Fail(AlreadyExistsError(call->served->resource, call->name)));
                  Run([this, call, given = std::move(given), done = std::move(done), attempt]() mutable {
                    CreateGenerated(*call, std::move(given), std::move(done), attempt + 1);
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
  std::string bytes = EncodeStored(object, *call.served);
  answer.object = current;
  const auto again = [this, state](bool conflict) {
    if (conflict && ++state->attempt < Modification::kAttempts) {
      return Run([this, state] { ModifyStep(state); });
    }
    state->done(Fail(StaleError(state->call.served->resource, state->call.name)));
  };
  if (DeletionIsComplete(*call.served, object, old)) {
    if (call.dry_run) return AnswerUnwritten(call, std::move(answer), state->done);
    answer.object.bytes = std::make_shared<const std::string>(std::move(bytes));
    return Remove(call, std::move(current), std::move(answer), state->done, [again] { again(true); });
  }
  // The same fields in another order have the same size and are no change either, unless the row itself has another form.
  const bool same = bytes == *current.bytes || (!HasOtherForm(*call.served, current) && SameObject(object, old));
  if (bytes.size() == current.bytes->size() && same) {
    return AnswerUnwritten(call, std::move(answer), state->done);
  }
  answer.object.bytes = std::make_shared<const std::string>(std::move(bytes));
  if (call.dry_run) return AnswerUnwritten(call, std::move(answer), state->done);
  store::Write write{.key = call.served->Key(call.ns, call.name), .value = answer.object.bytes, .expected = current.revision};
  gate_->Commit(call, std::move(write),
                [this, state, again, answer = std::move(answer)](Result<store::Revision> revision) mutable {
                  if (revision) {
                    answer.object.revision = *revision;
                    AfterWrite(*state->call.served, answer.object);
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
  if (!name.empty() && name != call.name) {
    return Fail(Code::kBadRequest,
                "the name of the object (" + std::string(name) + ") does not match the name on the URL (" + call.name + ")");
  }
  const std::string_view ns = kube::NamespaceOf(object);
  if (resource.namespaced && !ns.empty() && ns != call.ns) {
    return Fail(Code::kBadRequest, "the namespace of the object (" + std::string(ns) +
                                       ") does not match the namespace on the URL (" + call.ns + ")");
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
    PrepareForUpdate(served, object, old);
    if (IsService(served)) EVENKEEL_TRY(AllocateService(object, &old));
    if (served.IsDefinition()) PrepareDefinition(object, &old, NamesInConflict(object), Now());
  }
  base::Erase(object, {"metadata", "resourceVersion"});
  if (!applied) TrackUpdate(object, old, served.resource.schema, ManagerOf(call, Now()));
  auto causes = kube::ValidateObject(served.resource, object, &old);
  std::ranges::move(kube::ValidateUpdate(served.resource, object, old), std::back_inserter(causes));
  if (served.IsDefinition()) std::ranges::move(ValidateDefinition(object, &old), std::back_inserter(causes));
  if (!causes.empty()) return Fail(InvalidError(served.resource, call.name, std::move(causes)));
  if (served.IsDefinition() && call.subresource.empty()) {
    std::ranges::move(WarnOfDefinition(object), std::back_inserter(answer.warnings));
  }
  if (IsWebhooks(served)) std::ranges::move(WarnOfWebhooks(object, World()), std::back_inserter(answer.warnings));
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

void Api::Patch(Call call, PatchBody patch, Done done) {
  done = Audited(call, "patch", std::move(done));
  call.served = WithSchema(std::move(call.served));
  if (call.subresource == "scale") {
    return UpdateScale(
        std::move(call),
        [patch = std::move(patch)](Json& scale) -> Status {
          if (patch.type == client::PatchType::kJson) return base::ApplyJsonPatch(scale, patch.value);
          base::ApplyMergePatch(scale, patch.value);
          return {};
        },
        std::move(done));
  }
  if (patch.type == client::PatchType::kApply) return ApplyPatch(std::move(call), std::move(patch.value), std::move(done));
  if (patch.type == client::PatchType::kStrategic && call.served->custom) {
    return done(Fail(Code::kUnsupportedMediaType,
                     "the body of the request was in an unknown format - accepted media types include: "
                     "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"));
  }
  auto shared = std::make_shared<const Call>(call);
  Modify(
      std::move(call),
      [this, shared, patch = std::move(patch)](Json& object, const Stored& current, Answer& answer) -> Result<bool> {
        Json old = object;
        EVENKEEL_TRY(PatchObject(shared->served->resource, shared->name, patch, object));
        return FinishSubmitted(*shared, object, std::move(old), current, answer);
      },
      std::move(done));
}

void Api::ApplyPatch(Call call, Json config, Done done) {
  if (call.field_manager.empty()) {
    return done(Fail(InvalidError(NamedKind("meta.k8s.io", "PatchOptions", "patchoptions"), "",
                                  {{.reason = "FieldValueRequired",
                                    .message = "Required value: is required for apply patch",
                                    .field = "fieldManager"}})));
  }
  if (const auto checked = CheckKind(*call.served, config); !checked) return done(Fail(checked.error()));
  if (base::Find(config, {"metadata", "managedFields"}) != nullptr) {
    return done(Fail(Code::kBadRequest, "metadata.managedFields must be nil"));
  }
  if (const auto checked = CheckTypes(call, config); !checked) return done(Fail(checked.error()));
  std::vector<std::string> warnings;
  if (const auto pruned = PruneUnknown(call, config, warnings); !pruned) return done(Fail(pruned.error()));
  if (const auto checked = CheckApplied(call, config); !checked) return done(Fail(checked.error()));
  const bool exists = options_.store->Get(call.served->Key(call.ns, call.name)).has_value();
  auto shared = std::make_shared<const Call>(call);
  if (!exists) {
    if (const auto allowed = MayCreate(call, access_->authorizer()); !allowed) return done(Fail(allowed.error()));
    if (!call.subresource.empty()) return done(Fail(NotFoundError(call.served->resource, call.name)));
    if (const std::string_view uid = kube::UidOf(config); !uid.empty()) {
      return done(Fail(ConflictError(
          call.served->resource, call.name,
          "uid mismatch: the provided object specified uid " + std::string(uid) + ", and no existing object was found")));
    }
    base::Ensure(config, {"metadata", "name"}) = call.name;
    auto created = ApplyConfig(Json(), config, call.served->resource.schema, ManagerOf(call, Now()), call.force);
    if (!created) return done(Fail(created.error()));
    // Somebody may create it in between: then the answer is AlreadyExists, and applying again merges.
    return BeginCreate(std::move(call), *std::move(created), std::move(done));
  }
  Modify(
      std::move(call),
      [this, shared, config = std::move(config)](Json& object, const Stored& current, Answer& answer) -> Result<bool> {
        Json old = object;
        Json checked = config;
        EVENKEEL_TRY(CheckSubmitted(*shared, checked, current));
        base::Erase(old, {"metadata", "resourceVersion"});
        base::Erase(checked, {"metadata", "resourceVersion"});
        const kube::Resource& resource = shared->served->resource;
        if (resource.schema != nullptr) kube::Normalize(checked, *resource.schema);
        EVENKEEL_ASSIGN(object, ApplyConfig(old, checked, resource.schema, ManagerOf(*shared, Now()), shared->force));
        EVENKEEL_TRY(FinishUpdate(*shared, object, old, answer, true));
        KeepApplyTime(object, old);
        return true;
      },
      std::move(done));
}

}  // namespace evenkeel::embedded::apiserver
