#include "controllers/rollout/zookeeper/member/desired_member.h"

#include <spdlog/fmt/fmt.h>

#include "base/input/field.h"
#include "controllers/rollout/zookeeper/member/asked.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/server_names.h"
#include "kube/karmada.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

using base::FindString;
using base::Json;

base::Status ReadLines(const base::Field& field, std::vector<ServerLine>& servers) {
  std::vector<std::string> lines;
  EVENKEEL_TRY(field.Texts(lines));
  auto read = ParseServerLines(lines);
  if (!read) return field.Wrong(read.error().message());
  servers = *std::move(read);
  return {};
}

base::Status ReadRecovery(const base::Field& fields, MemberSpec& spec) {
  const base::Field abandoned = fields["abandoned"], recovery = fields["recovery"], absent = recovery["absent"];
  EVENKEEL_TRY(abandoned.Flag(spec.abandoned));
  if (spec.abandoned && spec.replicas > 0) return abandoned.Wrong("is only for clusters with no replicas");
  if (!recovery) return {};
  EVENKEEL_TRY(recovery["request"].Text(spec.recovery.request));
  if (std::string wrong = zookeeper::CheckRecoveryName(spec.recovery.request); !wrong.empty())
    return recovery["request"].Wrong(wrong);
  EVENKEEL_TRY(ReadLines(recovery["servers"], spec.recovery.servers));
  if (spec.recovery.servers.empty()) return recovery["servers"].Wrong("empty");
  return absent.ForEach([&](const base::Field& item) -> base::Status {
    int64_t id = 0;
    EVENKEEL_TRY(item.Whole(id));
    if (FindServer(spec.recovery.servers, id) == nullptr) return absent.Wrong("not ids of spec.recovery.servers");
    spec.recovery.absent.insert(id);
    return {};
  });
}

bool IsCopy(const Json& object) { return !FindString(object, {"metadata", "labels", kOwnerLabel}).empty(); }

/// Whoever writes over the hub's override may take servers away that the revision counts on.
base::Status CheckNone(const base::Field& replicas, const MemberSpec& spec) {
  if (spec.replicas > 0 || spec.revision.empty() || spec.revision == kNoRevision) return {};
  const int64_t first = spec.IdOf(spec.ordinals_start);
  if (FindServer(spec.servers, first) == nullptr) return {};
  return replicas.Wrong(
      fmt::format("0, but revision {} has server.{} here: does another override set it?", spec.revision, first));
}

base::Status ReadServers(const base::Field& fields, MemberSpec& spec) {
  const base::Field servers = fields["servers"], leaving = fields["leaving"];
  EVENKEEL_TRY(ReadLines(servers, spec.servers));
  EVENKEEL_TRY(leaving.ForEach([&](const base::Field& item) -> base::Status {
    int64_t id = 0;
    EVENKEEL_TRY(item.Required());
    EVENKEEL_TRY(item.Whole(id, 1, kIdMax));
    if (FindServer(spec.servers, id) != nullptr) return leaving.Wrong(fmt::format("server.{} is in spec.servers", id));
    spec.leaving.insert(id);
    return {};
  }));
  EVENKEEL_TRY(ReadRecovery(fields, spec));
  for (int64_t i = 0; i < spec.replicas; ++i) {
    const int64_t id = spec.IdOf(spec.ordinals_start + i);
    const ServerLine* line = FindServer(spec.servers, id);
    if (line == nullptr) return servers.Wrong(fmt::format("there is no server.{}, which is replica {} here", id, i));
    if (line->client_port == 0) return servers.Wrong(fmt::format("server.{} has no port for clients", id));
  }
  return {};
}

/// How many servers there are here, and their ids.
base::Status ReadNumbers(const base::Field& fields, MemberSpec& spec) {
  EVENKEEL_TRY(fields["replicas"].Whole(spec.replicas, 0, kIdMax));
  EVENKEEL_TRY(fields["myidOffset"].Whole(spec.id_offset, 0, kIdMax));
  EVENKEEL_TRY(fields["ordinalsStart"].Whole(spec.ordinals_start, 0, INT32_MAX));
  if (spec.id_offset + spec.replicas <= kIdMax) return {};
  return fields["myidOffset"].Wrong(
      fmt::format("the ids {} to {} are not from 1 to {}", spec.id_offset + 1, spec.id_offset + spec.replicas, kIdMax));
}

}  // namespace

base::Result<MemberSpec> DecodeMemberSpec(const Json& object) {
  const base::Field whole(&object, ""), fields = whole["spec"];
  MemberSpec spec;
  spec.name = kube::NameOf(object);
  spec.ns = kube::NamespaceOf(object);
  spec.uid = kube::UidOf(object);
  spec.generation = base::FindInt(object, {"metadata", "generation"});
  // The longest name made from it is NAME-headless, and a pod's NAME-255 needs room for a hash in a label.
  if (std::string wrong = kube::CheckDnsLabel(spec.name + "-headless"); !wrong.empty())
    return whole["metadata"]["name"].Wrong(wrong);
  EVENKEEL_TRY(ReadNumbers(fields, spec));
  EVENKEEL_TRY(ReadServers(fields, spec));
  EVENKEEL_TRY(ReadServersSpec(fields ? fields.value() : Json(), "spec", spec));
  EVENKEEL_TRY(fields["rolloutRevision"].Text(spec.revision));
  EVENKEEL_TRY(fields["hold"].Flag(spec.hold));
  EVENKEEL_TRY(fields["ensemble"].Text(spec.ensemble));
  if (!spec.ensemble.empty()) {
    if (std::string wrong = zookeeper::CheckRecoveryName(spec.ensemble); !wrong.empty()) return fields["ensemble"].Wrong(wrong);
  }
  if (IsCopy(object)) EVENKEEL_TRY(CheckNone(fields["replicas"], spec));
  spec.asked = AskedBody(object);
  return spec;
}

std::string WhyNotPinned(const Json& object) {
  if (!IsCopy(object) || !FindString(object, {"spec", "rolloutRevision"}).empty()) return "";
  return "the copy has no rolloutRevision: its OverridePolicy on the hub is missing";
}

bool IsLeftEmpty(const Json& object) {
  return IsCopy(object) && FindString(object, {"metadata", "labels", kube::karmada::kManagedLabel}) != "true" &&
         FindString(object, {"spec", "rolloutRevision"}) == kNoRevision && base::FindInt(object, {"spec", "replicas"}, 1) == 0;
}

base::Duration MemberSpec::NoticeTime() const {
  const int64_t ticks = std::stoll(config.at("syncLimit")) + 1;
  return std::chrono::milliseconds(ticks * std::stoll(config.at("tickTime")));
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
