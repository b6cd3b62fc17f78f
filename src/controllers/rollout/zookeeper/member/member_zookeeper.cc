#include "controllers/rollout/zookeeper/member/member_zookeeper.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/hash.h"
#include "base/log.h"
#include "base/utf8.h"
#include "client/definitions.h"
#include "client/event_recorder.h"
#include "controllers/rollout/zookeeper/member/asked.h"
#include "controllers/rollout/zookeeper/member/event_kinds.h"
#include "controllers/rollout/zookeeper/member/member_cache.h"
#include "controllers/rollout/zookeeper/member/member_objects.h"
#include "controllers/rollout/zookeeper/member/member_plan.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "controllers/rollout/zookeeper/spec/unknown_fields.h"
#include "controllers/runtime/rate_limited_log.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

using base::Json;
using namespace std::chrono_literals;

constexpr base::Duration kDebounce = 100ms;
constexpr base::Duration kSyncPoll = 1s;
/// While something is under way: servers come back within seconds.
constexpr base::Duration kBusyScan = 500ms;
constexpr base::Duration kScan = 3s;
/// Positions in the log change all the time, and are no reason to write.
constexpr base::Duration kStatusInterval = 30s;
/// What was seen longer ago is looked at again before a server is stopped: the API may have taken its time to write something
/// else, or this process may have stood still.
constexpr base::Duration kFresh = 2s;
/// After a change of the members was refused or not answered.
constexpr base::Duration kReconfigurePause = 2s;
/// Karmada may take a copy back that it left behind; then this is not needed.
constexpr base::Duration kLeftFor = 30s;
/// A deletion that nobody has answered has come by then, or never comes.
constexpr base::Duration kDeletionComes = 2min;

/// Without what changes all the time.
Json Steady(const Json& status) {
  Json copy(status, {});
  if (!copy.is_object() || base::FindArray(copy, {"members"}).empty()) return copy;
  for (Json& server : copy.get_object()["members"].as_array()) base::Erase(server, {"zxid"});
  return copy;
}

/// `present` as it has to be to say what `wanted` says; nullopt when it does already.
std::optional<Json> Corrected(const Json& present, const Json& wanted) {
  Json next(present, {});
  const bool set = base::FindString(wanted, {"kind"}) == kube::resources::StatefulSets().kind;
  if (set) {
    for (const auto& [key, value] : base::FindObject(wanted, {"metadata", "annotations"})) {
      base::Ensure(next, {"metadata", "annotations", key}) = value;
    }
    // Its other fields cannot change. The hash stands for the whole template, in which an API server fills in its defaults.
    const auto revision = [](const Json& object) {
      return base::FindString(object, {"spec", "template", "metadata", "annotations", kPodRevision});
    };
    if (revision(present) != revision(wanted)) {
      base::Ensure(next, {"spec", "template"}) = Json(*base::Find(wanted, {"spec", "template"}), {});
    }
    base::Ensure(next, {"spec", "replicas"}) = *base::Find(wanted, {"spec", "replicas"});
  } else if (!Says(present, wanted)) {
    base::ApplyMergePatch(next, wanted);
  }
  if (base::Equal(next, present)) return std::nullopt;
  return next;
}

class MemberZooKeeper final : public runtime::MemberController {
 public:
  MemberZooKeeper(const MemberZooKeeperContext& context, runtime::Member& member)
      : context_(context),
        member_(member),
        clock_(context_.clock),
        random_(context_.random.Fork(member.name())),
        probe_(context_.probe(member)),
        cache_(member.client(), member.strand(), clock_, random_.Fork("cache")),
        recorder_(member.client(), member.strand(), clock_, random_.Fork("events"), "evenkeel-zookeeper", context_.host) {
    member.strand()->Post([this] { Schedule(kDebounce); });
  }
  ~MemberZooKeeper() override { context_.metrics->Forget(member_.name()); }

 private:
  /// What is remembered of one ZooKeeper between two turns; nothing that could not be found out again.
  struct Memory {
    std::vector<ServerLine> known;                  // members that were agreed on when last heard of
    std::set<std::string> deleted;                  // uids of pods
    std::map<std::string, base::Instant> doubted;   // uids of claims whose deletion may still come, until when
    std::map<int64_t, base::Instant> silent_since;  // servers of other clusters that are not known to serve
    // Of servers here, by the uid of the pod: when they served last; of one that has not, when it first gave no answer.
    std::map<std::string, base::Instant> served;
    base::Instant asked{};                    // when the answers came of what is done now
    base::Instant written{};                  // its status
    base::Instant no_change_until{};          // of the members
    std::optional<base::Instant> left_since;  // it has been left empty
  };

  void Schedule(base::Duration delay) {
    timer_ = member_.strand()->PostAfter(delay, [this] { Schedule(Turn()); });
  }

  base::Duration Turn() {
    if (!installed_) {
      if (const auto installed = client::InstallDefinition(member_.client(), ZooKeeperDefinition(context_.forms)); !installed) {
        waits_.Record("its kind", installed.error().message());
        return kScan;
      }
      installed_ = true;
      cache_.Start();
    }
    if (const std::string missing = cache_.WhyNotSynced(); !missing.empty()) return kSyncPoll;
    base::Duration next = kScan;
    for (const auto& [key, object] : cache_.zookeepers()) next = std::min(next, Look(key, *object->json));
    std::erase_if(memory_, [&](const auto& item) {
      const bool gone = !cache_.zookeepers().contains(item.first);
      if (gone) context_.metrics->Forget(member_.name(), item.first);
      return gone;
    });
    return next;
  }

  base::Duration Look(const std::string& key, const Json& object) {
    // What belongs to it goes with it.
    if (base::Find(object, {"metadata", "deletionTimestamp"}) != nullptr) return kScan;
    Memory& memory = memory_[key];
    if (const std::string missing = WhyNotPinned(object); !missing.empty()) {
      WriteStatus(object, ReportInvalid(object, kNotPinned, missing, clock_.Now()), memory);
      return kScan;
    }
    if (const std::string newer = WhyTooNew(object, context_.forms); !newer.empty()) return Hold(object, newer, memory);
    auto spec = DecodeMemberSpec(object);
    if (!spec) {
      WriteStatus(object, ReportInvalid(object, kInvalidSpec, spec.error().message(), clock_.Now()), memory);
      return kScan;
    }
    spec->form = context_.forms.servers;
    const std::string password = Password(*spec);
    if (password.empty()) return kBusyScan;
    Picture picture = cache_.PictureOf(*std::move(spec), object, memory.deleted);
    if (!KnowsAsked(picture.set_asked)) {
      return Hold(object,
                  fmt::format("the annotation {} of StatefulSet {} is \"{}\", which this program cannot read: bring it to "
                              "the version that wrote this",
                              kAsked, key, base::OneLine(picture.set_asked, 40)),
                  memory);
    }
    std::erase_if(memory.doubted, [now = clock_.Monotonic()](const auto& item) { return item.second <= now; });
    for (VolumeClaim& claim : picture.claims) claim.doubted = memory.doubted.contains(claim.uid);
    if (RemoveLeft(object, picture, memory)) return kBusyScan;
    picture.password = password;
    picture.super_digest = SuperDigest(password);
    Ask(picture, memory);
    MemberPlan plan = PlanMember(picture, memory.known);
    const bool done = CarryOut(object, plan, memory);
    if (!done) plan.settled = false;
    WriteStatus(object, ReportMember(object, picture, plan, clock_.Now()), memory);
    return done && plan.message.empty() && plan.settled ? kScan : kBusyScan;
  }

  /// True: the copy has just gone, in the very state that it was seen in.
  bool RemoveLeft(const Json& object, const Picture& picture, Memory& memory) {
    if (!IsLeftEmpty(object) || !picture.pods.empty() || picture.set_replicas.value_or(0) > 0) {
      memory.left_since.reset();
      return false;
    }
    const base::Instant now = clock_.Monotonic();
    if (!memory.left_since) memory.left_since = now;
    if (now - *memory.left_since < kLeftFor) return false;
    const auto deleted =
        member_.client().Delete(ZooKeepers(), kube::NamespaceOf(object), kube::NameOf(object),
                                {.uid = std::string(kube::UidOf(object)),
                                 .resource_version = std::string(base::FindString(object, {"metadata", "resourceVersion"}))});
    if (!deleted) {
      const base::Code code = deleted.error().code();
      if (code != base::Code::kNotFound && code != base::Code::kConflict) {
        waits_.Record("the copy " + kube::KeyOf(object), deleted.error().message());
      }
      return false;
    }
    recorder_.Normal(object, events::kEmptyCopyRemoved.reason, "Karmada left it behind before it had servers");
    base::log::Info("copy that was left behind without servers removed",
                    {{"cluster", member_.name()}, {"zookeeper", kube::KeyOf(object)}});
    return true;
  }

  /// A program that is older than what has been written leaves everything as it is.
  base::Duration Hold(const Json& object, const std::string& why, Memory& memory) {
    const Json* said = kube::FindCondition(object, "Valid");
    const bool known =
        said != nullptr && base::FindString(*said, {"reason"}) == kTooNew && base::FindString(*said, {"message"}) == why;
    if (!known) recorder_.Warning(object, events::kWrittenByNewer.reason, why);
    WriteStatus(object, ReportInvalid(object, kTooNew, why, clock_.Now()), memory);
    return kScan;
  }

  /// "": it has just been made, or cannot be read.
  std::string Password(const MemberSpec& spec) {
    const std::string name = AdminSecretName(spec);
    if (const auto secret = cache_.Get(kube::resources::Secrets(), spec.ns + "/" + name)) {
      std::string password;
      const bool good = base::Base64Decode(base::FindString(*secret, {"data", "password"}), password) && !password.empty();
      if (!good) waits_.Record("Secret " + name, "data.password is missing or not base64");
      return good ? password : "";
    }
    if (spec.paused) return "";
    const auto made = member_.client().Create(kube::resources::Secrets(), RenderAdminSecret(spec, context_.new_password()));
    if (!made && made.error().code() != base::Code::kAlreadyExists) waits_.Record("Secret " + name, made.error().message());
    return "";
  }

  void Ask(Picture& picture, Memory& memory) {
    const std::vector<Question> questions = Questions(picture, memory.known);
    std::vector<Endpoint> endpoints;
    for (const Question& question : questions) endpoints.push_back(question.endpoint);
    std::vector<base::Result<Answer>> answers = probe_->Ask(endpoints);
    EVENKEEL_CHECK(answers.size() == questions.size());
    const base::Instant now = memory.asked = clock_.Monotonic();
    std::map<std::string, base::Instant> served;
    std::set<std::string> ready;
    for (const ServerPod& pod : picture.pods) {
      if (const auto before = memory.served.find(pod.uid); before != memory.served.end()) served.insert(*before);
      if (pod.ready) ready.insert(pod.uid);
    }
    for (size_t i = 0; i < answers.size(); ++i) {
      const int64_t id = questions[i].endpoint.id;
      if (const std::string& uid = questions[i].uid; !uid.empty()) {
        if (answers[i] && answers[i]->mode != Mode::kNotServing) served[uid] = now;
        // Whoever has not been asked before gets the benefit of the doubt.
        if (!answers[i] || ready.contains(uid)) served.emplace(uid, now);
        if (answers[i]) picture.own.emplace(uid, *std::move(answers[i]));
      } else if (answers[i]) {
        picture.others.emplace(id, *std::move(answers[i]));
      }
    }
    for (const auto& [uid, at] : served) {
      if (now - at < picture.spec.NoticeTime()) picture.lately.insert(uid);
    }
    memory.served = std::move(served);
    // A leader who is not in the wanted list, and is not remembered after a restart, is asked in the next turn.
    const Ensemble ensemble(picture);
    if (!ensemble.heard().empty()) memory.known = ensemble.heard();
    TimeSilence(picture, ensemble, questions, memory);
  }

  /// Servers of other clusters, from the first turn on in which they might have been heard and were not: also those that this
  /// replica knows of only since this turn, and has never asked.
  static void TimeSilence(Picture& picture, const Ensemble& ensemble, const std::vector<Question>& questions, Memory& memory) {
    std::set<int64_t> others;
    for (const ServerLine& line : ensemble.heard()) others.insert(line.id);
    for (const Question& question : questions) others.insert(question.endpoint.id);
    for (const int64_t id : IdsHere(picture)) others.erase(id);
    std::map<int64_t, base::Instant> silent_since;
    for (const int64_t id : others) {
      if (ensemble.Serves(id)) continue;
      const auto before = memory.silent_since.find(id);
      const base::Instant since = before == memory.silent_since.end() ? memory.asked : before->second;
      silent_since.emplace(id, since);
      if (memory.asked - since < picture.spec.NoticeTime()) picture.newly_silent.insert(id);
    }
    memory.silent_since = std::move(silent_since);
  }

  /// False: something has to be tried again; where the API does not take an object, the plan says so.
  bool CarryOut(const Json& object, MemberPlan& plan, Memory& memory) {
    const auto apply = [&](const Json& wanted) {
      const base::Status applied = Apply(wanted);
      if (applied) return true;
      // The cache has not heard yet of what was written last.
      const base::Code code = applied.error().code();
      if (code == base::Code::kConflict || code == base::Code::kAlreadyExists) return false;
      waits_.Record(NameOf(wanted), applied.error().message());
      plan.reason = kObjectRefused;
      plan.message = NameOf(wanted) + ": " + applied.error().message();
      return false;
    };
    if (!std::ranges::all_of(plan.objects, apply)) return false;
    if (plan.stateful_set && !apply(*plan.stateful_set)) return false;
    if (plan.reclaim && !Reclaim(object, plan, memory)) return false;
    if (plan.change) return Reconfigure(object, plan, memory);
    if (plan.replace) return Replace(object, plan, memory);
    return true;
  }

  static std::string NameOf(const Json& object) {
    return std::string(base::FindString(object, {"kind"})) + " " + kube::KeyOf(object);
  }

  base::Status Apply(Json wanted) {
    const kube::Resource& resource = cache_.Served(base::FindString(wanted, {"kind"}));
    base::Ensure(wanted, {"apiVersion"}) = resource.ApiVersion();
    const auto present = cache_.Get(resource, kube::KeyOf(wanted));
    base::Result<Json> written = Json();
    if (present == nullptr) {
      written = member_.client().Create(resource, wanted);
    } else if (const auto next = Corrected(*present, wanted)) {
      EVENKEEL_TRY(CheckOwn(*present, wanted));
      written = member_.client().Update(resource, *next);
    }
    if (written) return {};
    if (written.error().code() == base::Code::kAlreadyExists) {
      // What the cache does not have may have just been made, or be somebody else's. It is listed, since roles that let the
      // operator list have no reason to let it get.
      client::ListOptions list;
      list.ns = kube::NamespaceOf(wanted);
      list.field_selector = "metadata.name=" + std::string(kube::NameOf(wanted));
      const auto there = member_.client().List(resource, list);
      for (const Json& item : there ? there->items : std::vector<Json>{}) {
        if (kube::NameOf(item) == kube::NameOf(wanted)) EVENKEEL_TRY(CheckOwn(item, wanted));
      }
    }
    return base::Fail(written.error());
  }

  static base::Status CheckOwn(const Json& present, const Json& wanted) {
    const auto owner = [](const Json& object) { return base::FindString(object, {"metadata", "labels", kEnsembleLabel}); };
    if (owner(present) == owner(wanted)) return {};
    return base::Fail(base::Code::kBadRequest,
                      fmt::format("it is there and not of this ZooKeeper: remove it, or give it the label {}={}",
                                  kEnsembleLabel, owner(wanted)));
  }

  bool Reconfigure(const Json& object, const MemberPlan& plan, Memory& memory) {
    const base::Instant now = clock_.Monotonic();
    if (now < memory.no_change_until) return false;
    memory.no_change_until = now + kReconfigurePause;
    const auto changed = member_.Write("change the members of ZooKeeper " + kube::KeyOf(object),
                                       [&] { return probe_->Reconfigure(plan.via, *plan.change); });
    context_.metrics->CountChange(member_.name(), kube::KeyOf(object), changed ? "succeeded" : "failed");
    if (!changed) {
      waits_.Record("the members of " + kube::KeyOf(object), changed.error().message());
      return false;
    }
    memory.no_change_until = {};
    recorder_.Normal(object, events::kMembersChanged.reason, plan.message);
    base::log::Info("ZooKeeper's members changed", {{"cluster", member_.name()}, {"what", plan.message}});
    return true;
  }

  bool Replace(const Json& object, const MemberPlan& plan, Memory& memory) {
    const ServerPod& pod = *plan.replace;
    if (clock_.Monotonic() - memory.asked > kFresh) return false;
    // In the very state that it was seen in: one that has become ready since is another matter.
    const auto deleted = member_.client().Delete(kube::resources::Pods(), kube::NamespaceOf(object), pod.name,
                                                 {.uid = pod.uid, .resource_version = pod.version});
    if (!deleted) {
      const base::Code code = deleted.error().code();
      if (code == base::Code::kNotFound) {
        memory.deleted.insert(pod.uid);
      } else if (code != base::Code::kConflict) {
        waits_.Record("pod " + pod.name, deleted.error().message());
      }
      return false;
    }
    memory.deleted.insert(pod.uid);
    context_.metrics->CountReplacement(member_.name(), kube::KeyOf(object));
    recorder_.Normal(object, events::kServerReplaced.reason, plan.message);
    base::log::Info("ZooKeeper server replaced", {{"cluster", member_.name()}, {"what", plan.message}});
    return true;
  }

  bool Reclaim(const Json& object, MemberPlan& plan, Memory& memory) {
    const VolumeClaim& claim = *plan.reclaim;
    const auto deleted = member_.client().Delete(kube::resources::PersistentVolumeClaims(), kube::NamespaceOf(object),
                                                 claim.name, {.uid = claim.uid, .resource_version = claim.version});
    if (!deleted) {
      const base::Code code = deleted.error().code();
      if (code == base::Code::kNotFound || code == base::Code::kConflict) return true;
      memory.doubted[claim.uid] = clock_.Monotonic() + kDeletionComes;
      waits_.Record("volume " + claim.name, deleted.error().message());
      plan.reason = kObjectRefused;
      plan.message = "PersistentVolumeClaim " + claim.name + ": " + deleted.error().message();
      return false;
    }
    recorder_.Normal(object, events::kVolumeDeleted.reason, claim.name + ": its server was let go");
    base::log::Info("volume of a former ZooKeeper server deleted", {{"cluster", member_.name()}, {"claim", claim.name}});
    return true;
  }

  void WriteStatus(const Json& object, const Json& status, Memory& memory) {
    context_.metrics->SetState(member_.name(), kube::KeyOf(object), object, status);
    const Json* before = base::Find(object, {"status"});
    const base::Instant now = clock_.Monotonic();
    if (before != nullptr) {
      if (base::Equal(*before, status)) return;
      if (now - memory.written < kStatusInterval && base::Equal(Steady(*before), Steady(status))) return;
    }
    Json next(object, {});
    next.as_object()["status"] = Json(status, {});
    const auto written = member_.client().Update(ZooKeepers(), next, {.subresource = "status"});
    if (written) {
      memory.written = now;
    } else if (written.error().code() != base::Code::kConflict) {
      waits_.Record("the status of " + kube::KeyOf(object), written.error().message());
    }
  }

  const MemberZooKeeperContext context_;
  runtime::Member& member_;
  base::Clock& clock_;
  base::Random random_;
  std::unique_ptr<Probe> probe_;
  MemberCache cache_;
  client::EventRecorder recorder_;
  bool installed_ = false;
  std::map<std::string, Memory> memory_;  // by key
  runtime::RateLimitedLog waits_{clock_, "ZooKeeper waits", member_.name()};
  base::Timer timer_;
};

}  // namespace

runtime::MemberControllerFactory NewMemberZooKeeper(MemberZooKeeperContext context) {
  return [context = std::move(context)](runtime::Member& member) -> std::unique_ptr<runtime::MemberController> {
    return std::make_unique<MemberZooKeeper>(context, member);
  };
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
