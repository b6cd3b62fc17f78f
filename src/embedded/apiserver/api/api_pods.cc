// What pods alone have: a priority by their class, and subresources that are verbs: scale, binding, eviction.
// Follows: kubernetes@1.36 pkg/registry/core/pod/storage/eviction.go
#include "embedded/apiserver/access/access_control.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/api/modification.h"
#include "embedded/apiserver/objects/delete_options.h"
#include "embedded/apiserver/objects/scale.h"
#include "embedded/apiserver/requests/errors.h"
#include "kube/types.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;

// Upstream's bound on pods whose eviction the budget's controller has not seen yet.
constexpr size_t kDisruptedPodsMax = 2'000;
constexpr int kBudgetRetrySeconds = 10;

// The answer to a binding or an eviction of the object.
Result<Answer> Created(Result<Answer> answer) {
  if (!answer) return answer;
  answer->http_status = 201;
  answer->other = base::JsonObject{
      {"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", base::JsonObject()}, {"status", "Success"}, {"code", 201}};
  return answer;
}

base::Error BudgetError(const std::string& message, int retry_after) {
  return {Code::kTooManyRequests,
          "Cannot evict pod as it would violate the pod's disruption budget.",
          {.name = {},
           .group = {},
           .kind = {},
           .uid = {},
           .causes = {{.reason = "DisruptionBudget", .message = message, .field = ""}},
           .retry_after_seconds = retry_after}};
}

bool NeedsNoBudget(const Json& pod) {
  const std::string_view phase = base::FindString(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed" || phase == "Pending" ||
         base::Find(pod, {"metadata", "deletionTimestamp"}) != nullptr;
}

// A pod that is not ready may go without using up the budget: always, or (the default) while the application is healthy anyway.
bool UnhealthyMayGo(const Json& budget, const Json& pod) {
  if (kube::ConditionStatus(pod, "Ready") == "True") return false;
  if (base::FindString(budget, {"spec", "unhealthyPodEvictionPolicy"}) == "AlwaysAllow") return true;
  const int64_t desired = base::FindInt(budget, {"status", "desiredHealthy"});
  return desired > 0 && base::FindInt(budget, {"status", "currentHealthy"}) >= desired;
}

Result<bool> TakeDisruption(const kube::Resource& resource, Json& budget, const std::string& pod, base::Time now) {
  const std::string name(kube::NameOf(budget));
  if (base::FindInt(budget, {"status", "observedGeneration"}) < base::FindInt(budget, {"metadata", "generation"})) {
    return Fail(BudgetError("The disruption budget " + name + " is still being processed by the server.", kBudgetRetrySeconds));
  }
  const int64_t allowed = base::FindInt(budget, {"status", "disruptionsAllowed"});
  if (allowed < 0) return Fail(ForbiddenError(resource, name, "pdb disruptions allowed is negative"));
  if (base::FindObject(budget, {"status", "disruptedPods"}).size() > kDisruptedPodsMax) {
    return Fail(
        ForbiddenError(resource, name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller"));
  }
  if (allowed == 0) {
    return Fail(BudgetError("The disruption budget " + name + " needs " +
                                std::to_string(base::FindInt(budget, {"status", "desiredHealthy"})) + " healthy pods and has " +
                                std::to_string(base::FindInt(budget, {"status", "currentHealthy"})) + " currently",
                            0));
  }
  base::Ensure(budget, {"status", "disruptionsAllowed"}) = allowed - 1;
  if (allowed == 1) {
    kube::SetCondition(budget, "DisruptionAllowed", "False", "InsufficientPods", "", now);
  }
  base::Ensure(budget, {"status", "disruptedPods", pod}) = base::FormatTime(now);
  return true;
}

}  // namespace

void Api::Post(Call call, Json body, Done done) {
  done = Audited(call, "create", std::move(done));
  if (!body.is_object()) return done(Fail(Code::kBadRequest, "the body must be a JSON object"));
  const std::string_view name = kube::NameOf(body);
  if (!name.empty() && name != call.name)
    return done(Fail(Code::kBadRequest, "name in URL does not match name in " + call.subresource + " object"));
  if (!Asks(call, "CREATE")) return PostAdmitted(std::move(call), std::move(body), std::move(done));
  auto shared = std::make_shared<const Call>(call);
  Json object = body;
  Admit(std::move(shared), "CREATE", std::move(object), nullptr,
        [this, call = std::move(call), body = std::move(body),
         done = std::move(done)](Result<std::vector<std::string>> warnings) mutable {
          if (!warnings) return done(Fail(warnings.error()));
          PostAdmitted(std::move(call), std::move(body),
                       [done = std::move(done), warnings = *std::move(warnings)](Result<Answer> answer) {
                         if (answer) answer->warnings.insert(answer->warnings.end(), warnings.begin(), warnings.end());
                         done(std::move(answer));
                       });
        });
}

void Api::PostAdmitted(Call call, Json body, Done done) {
  call.unasked = true;
  const bool pods = call.served->resource.group.empty() && call.served->resource.plural == "pods";
  if (pods && call.subresource == "binding") return Bind(std::move(call), std::move(body), std::move(done));
  if (pods && call.subresource == "eviction") return Evict(std::move(call), std::move(body), std::move(done));
  if (AccountTokens* tokens = access_->tokens(); tokens != nullptr && call.subresource == "token") {
    auto request = tokens->Request(call, std::move(body));
    if (!request) return done(Fail(request.error()));
    Answer answer;
    answer.http_status = 201;
    answer.other = *std::move(request);
    return AnswerUnwritten(call, std::move(answer), done);
  }
  done(Fail(NoSuchResourceError()));
}

void Api::Bind(Call call, Json body, Done done) {
  const std::string node(base::FindString(body, {"target", "name"}));
  const std::string_view kind = base::FindString(body, {"target", "kind"}, "Node");
  if (node.empty() || (!kind.empty() && kind != "Node")) {
    const kube::Resource binding = NamedKind("", "Binding", "bindings");
    return done(Fail(InvalidError(binding, call.name,
                                  {{.reason = node.empty() ? "FieldValueRequired" : "FieldValueNotSupported",
                                    .message = node.empty() ? "Required value" : "Unsupported value: only Node",
                                    .field = node.empty() ? "target.name" : "target.kind"}})));
  }
  Json annotations = base::FindObject(body, {"metadata", "annotations"});
  const std::string uid(kube::UidOf(body)), version(kube::ResourceVersionOf(body));
  auto shared = std::make_shared<const Call>(call);
  Modify(
      std::move(call),
      [this, shared, node, annotations, uid, version](Json& pod, const Stored& current, Answer&) -> Result<bool> {
        EVENKEEL_TRY(CheckPreconditions(*shared, uid, version, current));
        kube::Resource bindings = shared->served->resource;
        bindings.plural = "pods/binding";
        if (base::Find(pod, {"metadata", "deletionTimestamp"}) != nullptr) {
          return Fail(
              ConflictError(bindings, shared->name, "pod " + shared->name + " is being deleted, cannot be assigned to a host"));
        }
        if (const std::string_view present = base::FindString(pod, {"spec", "nodeName"}); !present.empty()) {
          return Fail(ConflictError(bindings, shared->name,
                                    "pod " + shared->name + " is already assigned to node \"" + std::string(present) + "\""));
        }
        base::Ensure(pod, {"spec", "nodeName"}) = node;
        for (const auto& [key, value] : annotations.get_object()) base::Ensure(pod, {"metadata", "annotations", key}) = value;
        kube::SetCondition(pod, "PodScheduled", "True", "", "", Now());
        return true;
      },
      [done](Result<Answer> answer) { done(Created(std::move(answer))); });
}

void Api::Evict(Call call, Json body, Done done) {
  const auto found = Get(call);
  if (!found) return done(Fail(found.error()));
  auto decoded = DecodeObject(*call.served, *found);
  if (!decoded) return done(Fail(decoded.error()));
  Json pod = *std::move(decoded);
  DeleteOptionsBody options;
  if (const Json* given = base::Find(body, {"deleteOptions"}); given != nullptr && !given->is_null()) {
    auto parsed = ParseDeleteOptions(*given, {});
    if (!parsed) return done(Fail(parsed.error()));
    options = *std::move(parsed);
  }
  DeleteRequest request = std::move(options.request);
  call.dry_run = call.dry_run || options.dry_run;
  call.subresource.clear();
  const auto answer = [done](Result<Answer> deleted) { done(Created(std::move(deleted))); };
  if (NeedsNoBudget(pod)) return BeginDelete(std::move(call), std::move(request), answer);

  const ServedPointer budgets = table_.Find("policy", "v1", "poddisruptionbudgets");
  const auto list = options_.store->List({.prefix = budgets->Prefix(call.ns), .start_after = {}});
  if (!list) return done(Fail(list.error()));
  const kube::Labels labels = StoredLabels(*found->bytes);
  std::optional<Stored> match;
  Json matching;
  for (const store::KeyValue& item : list->items) {
    const Stored stored{item.value, item.mod_revision};
    // A budget that cannot be read may be of this pod.
    auto budget = DecodeObject(*budgets, stored);
    if (!budget) return done(Fail(budget.error()));
    const Json* selector = base::Find(*budget, {"spec", "selector"});
    const auto parsed = kube::LabelSelector::FromJson(selector == nullptr ? Json() : *selector);
    if (!parsed || !parsed->Matches(labels)) continue;
    if (match) {
      return done(Fail(Code::kInternal,
                       "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."));
    }
    match = stored;
    matching = *std::move(budget);
  }
  if (!match || UnhealthyMayGo(matching, pod)) return BeginDelete(std::move(call), std::move(request), answer);
  TakeFromBudget(std::move(call), std::move(pod), *match, std::move(request), answer);
}

void Api::TakeFromBudget(Call call, Json pod, Stored budget, DeleteRequest request, Done done) {
  Call on_budget{.served = table_.Find("policy", "v1", "poddisruptionbudgets"),
                 .ns = call.ns,
                 .name = StoredMetaText(budget, "name"),
                 .subresource = "status",
                 .user = call.user,
                 .field_manager = "",
                 .dry_run = call.dry_run,
                 .epoch = call.epoch,
                 .unasked = true};
  // The pod that was judged is the one that goes, not a new one of its name.
  if (request.uid.empty()) request.uid = kube::UidOf(pod);
  const kube::Resource resource = on_budget.served->resource;
  Modify(
      std::move(on_budget),
      [this, resource, name = call.name](Json& object, const Stored&, Answer&) {
        return TakeDisruption(resource, object, name, Now());
      },
      [this, call, request, done](const Result<Answer>& taken) mutable {
        if (!taken) return done(Fail(taken.error()));
        Run([this, call = std::move(call), request = std::move(request), done = std::move(done)]() mutable {
          BeginDelete(std::move(call), std::move(request), std::move(done));
        });
      });
}

void Api::UpdateScale(Call call, std::function<Status(Json& scale)> edit, Done done) {
  if (call.served->spec_replicas.empty()) return done(Fail(NoSuchResourceError()));
  auto shared = std::make_shared<const Call>(call);
  Modify(
      std::move(call),
      [this, shared, edit = std::move(edit)](Json& object, const Stored& current, Answer& answer) -> Result<bool> {
        const Served& served = *shared->served;
        Json scale = ScaleOf(served, object);
        EVENKEEL_TRY(edit(scale));
        EVENKEEL_TRY(CheckPreconditions(*shared, kube::UidOf(scale), "", current));
        const std::string_view version = kube::ResourceVersionOf(scale);
        if (!version.empty() && version != std::to_string(current.revision))
          return Fail(StaleError(served.resource, shared->name));
        Json old = object;
        base::Erase(old, {"metadata", "resourceVersion"});
        EVENKEEL_TRY(SetScale(served, object, scale));
        EVENKEEL_TRY(FinishUpdate(*shared, object, old, answer, false));
        return true;
      },
      [done, shared](Result<Answer> answer) {
        if (!answer) return done(std::move(answer));
        const auto object = DecodeObject(*shared->served, answer->object);
        if (!object) return done(Fail(object.error()));
        answer->other = ScaleOf(*shared->served, *object);
        done(std::move(answer));
      });
}

}  // namespace evenkeel::embedded::apiserver
