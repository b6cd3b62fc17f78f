#include "controllers/rollout/zookeeper/member/member_plan.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>

#include "controllers/rollout/zookeeper/member/asked.h"
#include "controllers/rollout/zookeeper/member/member_objects.h"
#include "controllers/rollout/zookeeper/member/reclaim.h"
#include "controllers/rollout/zookeeper/member/replacement.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

std::string ClientHost(const ServerLine& line, const std::string& otherwise) {
  const bool everywhere = line.client_host.empty() || line.client_host == "0.0.0.0" || line.client_host == "::";
  return everywhere ? otherwise : line.client_host;
}

Endpoint EndpointOf(const Picture& picture, const ServerPod& pod, const std::vector<ServerLine>& known) {
  const ServerLine* line = FindServer(picture.spec.servers, pod.id);
  if (line == nullptr) line = FindServer(known, pod.id);
  if (line == nullptr || line->client_port == 0) return {pod.id, pod.ip, picture.spec.client_port};
  return {pod.id, ClientHost(*line, pod.ip), line->client_port};
}

std::string_view NameOf(Mode mode) {
  switch (mode) {
    case Mode::kNotServing:
      return "";
    case Mode::kLeader:
      return "leader";
    case Mode::kFollower:
      return "follower";
    case Mode::kObserver:
      return "observer";
    case Mode::kStandalone:
      return "standalone";
  }
  EVENKEEL_CHECK(false);
}

/// Whether the pods are those that are wanted, and no others.
bool PodsAreDone(const Picture& picture, const Making& making) {
  if (picture.set_replicas.value_or(0) != picture.spec.replicas) return false;
  if (static_cast<int64_t>(picture.pods.size()) != picture.spec.replicas) return false;
  return std::ranges::all_of(
      picture.pods, [&](const ServerPod& pod) { return !pod.terminating && (picture.carried_out || making.Suits(pod)); });
}

bool IsReady(const ServerPod& pod, const Ensemble& ensemble) {
  return !pod.terminating && pod.ready && ensemble.Serves(pod.id);
}

/// Why servers here are not as they should be, in one line; "": they are.
std::string ProblemOf(const Picture& picture, const MemberPlan& plan) {
  for (const ServerPod& pod : picture.pods) {
    if (!pod.terminating && !pod.problem.empty()) return fmt::format("pod {}: {}", pod.name, pod.problem);
  }
  return plan.settled ? "" : plan.message;
}

/// What another version has written down for what is asked stays as it is.
void Keep(const Picture& picture, const Making& making, MemberPlan& plan) {
  Json& config = plan.objects.front();
  base::Ensure(config, {"metadata", "annotations", kAsked}) = making.asked;
  if (making.keeps_files) {
    base::Ensure(config, {"data", kConfigFile}) = picture.files.config;
    base::Ensure(config, {"data", kScriptFile}) = picture.files.script;
    base::Ensure(config, {"metadata", "annotations", kFiles}) = FilesHash(picture.files.config, picture.files.script);
  }
  Json& set = *plan.stateful_set;
  base::Ensure(set, {"metadata", "annotations", kAsked}) = making.asked;
  base::Ensure(set, {"metadata", "annotations", kMadeAs}) = fmt::format("{}", fmt::join(making.made_as, ","));
  base::Ensure(set, {"spec", "template", "metadata", "annotations", kPodRevision}) = making.revision;
}

Json StatusOf(const Json& object) {
  const Json* before = base::Find(object, {"status"});
  return before == nullptr || !before->is_object() ? Json(JsonObject{}) : Json(*before, {});
}

}  // namespace

std::set<int64_t> IdsHere(const Picture& picture) {
  std::set<int64_t> here;
  for (const ServerPod& pod : picture.pods) here.insert(pod.id);
  for (int64_t i = 0; i < std::max(picture.spec.replicas, picture.set_replicas.value_or(0)); ++i) {
    here.insert(picture.spec.IdOf(picture.spec.ordinals_start + i));
  }
  return here;
}

std::vector<Question> Questions(const Picture& picture, const std::vector<ServerLine>& known) {
  std::vector<Question> questions;
  for (const ServerPod& pod : picture.pods) {
    if (pod.running && !pod.terminating && !pod.ip.empty()) questions.push_back({EndpointOf(picture, pod, known), pod.uid});
  }
  std::set<int64_t> done = IdsHere(picture);
  for (const auto* list : {&picture.spec.servers, &known}) {
    for (const ServerLine& line : *list) {
      if (line.client_port == 0 || !done.insert(line.id).second) continue;
      questions.push_back({{line.id, ClientHost(line, line.host), line.client_port}, ""});
    }
  }
  return questions;
}

MemberPlan PlanMember(const Picture& picture, const std::vector<ServerLine>& known) {
  MemberPlan plan;
  const Making making = MakingOf(picture);
  const Ensemble ensemble(picture);
  const MembersChange members = NextMembersChange(picture, ensemble);
  plan.settled = PodsAreDone(picture, making) && members.waits_for.empty();
  if (picture.spec.paused) {
    plan.reason = kPaused;
    plan.message = "spec.paused is set: nothing is changed";
    return plan;
  }
  plan.objects = RenderObjects(picture.spec, picture.super_digest, ensemble.formed());
  const int64_t set_replicas = WithoutDoubted(picture, members.set_replicas);
  plan.stateful_set = RenderStatefulSet(picture.spec, picture.super_digest, set_replicas);
  Keep(picture, making, plan);
  plan.change = members.change;
  if (members.via) plan.via = EndpointOf(picture, *members.via, known);
  if (!members.waits_for.empty()) {
    plan.reason = "MembersChange";
    plan.message = members.waits_for;
  } else if (!members.released.empty()) {
    plan.reason = "MembersChange";
    plan.message = members.released;
  }
  if (set_replicas < members.set_replicas) {
    plan.reason = "Waiting";
    plan.message = fmt::format("nobody has answered whether the volume of server {} was deleted, and it may still be",
                               picture.spec.IdOf(picture.spec.ordinals_start + set_replicas));
  }
  plan.reclaim = NextReclaim(picture, ensemble);
  if (plan.reclaim) {
    plan.settled = false;
    plan.reason = "Reclaiming";
    plan.message = fmt::format("the volume {} of a server that was let go is deleted", plan.reclaim->name);
  }
  // The StatefulSet must know of the new template before it is to make a pod from it.
  if (plan.change || picture.carried_out || picture.set_revision != making.revision) return plan;
  const Replacement replacement = NextReplacement(picture, ensemble, making);
  plan.replace = replacement.pod;
  if (!replacement.why.empty()) {
    plan.reason = replacement.pod ? "Replacing" : "Waiting";
    plan.message = replacement.why;
  }
  return plan;
}

Json ReportMember(const Json& object, const Picture& picture, const MemberPlan& plan, base::Time now) {
  const MemberSpec& spec = picture.spec;
  const Ensemble ensemble(picture);
  Json holder = JsonObject{{"status", StatusOf(object)}};
  JsonObject& status = holder.as_object()["status"].as_object();
  status["observedGeneration"] = spec.generation;
  if (plan.settled || spec.hold) {
    // Kubernetes 1.20 takes no empty texts here.
    status.erase("observedRevision");
    if (!spec.revision.empty()) status["observedRevision"] = spec.revision;
    JsonArray settled;
    for (const ServerPod& pod : picture.pods) {
      if (plan.settled) settled.push_back(pod.id);
    }
    status["settledServers"] = std::move(settled);
  }
  const Making making = MakingOf(picture);
  const bool is_asked = making.asked == AskedOf(spec, picture.super_digest);
  int64_t ready = 0, updated = 0;
  JsonArray members;
  for (const ServerPod& pod : picture.pods) {
    ready += IsReady(pod, ensemble) ? 1 : 0;
    updated += !pod.terminating && is_asked && making.Suits(pod) ? 1 : 0;
    const Answer* answer = ensemble.Of(pod.id);
    if (answer == nullptr) continue;
    // One that follows without being a member has no vote yet.
    const bool synced = answer->mode != Mode::kNotServing && (ensemble.leader() == 0 || ensemble.IsMember(pod.id));
    members.push_back(JsonObject{
        {"id", pod.id}, {"pod", pod.name}, {"mode", NameOf(answer->mode)}, {"zxid", answer->zxid}, {"synced", synced}});
  }
  status["replicas"] = static_cast<int64_t>(picture.pods.size());
  status["readyReplicas"] = ready;
  status["updatedReplicas"] = updated;
  status["members"] = std::move(members);
  status["formed"] = ensemble.formed();
  status.erase("problem");
  if (std::string problem = ProblemOf(picture, plan); !problem.empty()) status["problem"] = std::move(problem);
  status.erase("leaderID");
  if (ensemble.leader() != 0) status["leaderID"] = ensemble.leader();
  const auto set = [&](std::string_view type, bool holds, std::string_view reason, std::string_view message) {
    kube::SetCondition(holder, type, holds ? "True" : "False", reason, message, now);
  };
  const std::string no_quorum = ensemble.WhyNoQuorum();
  set("Valid", true, "Valid", "the spec can be used");
  set("QuorumHealthy", no_quorum.empty(),
      no_quorum.empty()   ? "Healthy"
      : ensemble.formed() ? "QuorumLost"
                          : "NotFormed",
      no_quorum.empty() ? "a majority of the voters is in sync" : no_quorum);
  const bool moving = !plan.message.empty() && plan.reason != kPaused && plan.reason != kObjectRefused;
  set("Progressing", moving, plan.reason.empty() ? "Complete" : plan.reason,
      plan.message.empty() ? "the servers are what the spec wants" : plan.message);
  const bool all_ready = plan.settled && ready == spec.replicas;
  set("Ready", all_ready, all_ready ? "Ready" : "ServersNotReady",
      fmt::format("{} of {} servers are ready", ready, spec.replicas));
  return holder.as_object()["status"];
}

Json ReportInvalid(const Json& object, const std::string& reason, const std::string& what, base::Time now) {
  Json holder = JsonObject{{"status", StatusOf(object)}};
  JsonObject& status = holder.as_object()["status"].as_object();
  status["observedGeneration"] = base::FindInt(object, {"metadata", "generation"});
  status["problem"] = what;
  kube::SetCondition(holder, "Valid", "False", reason, what, now);
  kube::SetCondition(holder, "Progressing", "False", reason, "nothing is changed until the spec can be used", now);
  kube::SetCondition(holder, "Ready", "False", reason, what, now);
  return holder.as_object()["status"];
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
