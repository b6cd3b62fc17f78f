#include "controllers/rollout/zookeeper/member/desired_member.h"

#include <spdlog/fmt/fmt.h>

#include "controllers/rollout/zookeeper/member/asked.h"
#include "controllers/rollout/zookeeper/reading/render.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/server_names.h"
#include "kube/karmada.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;

std::unexpected<base::Error> Wrong(std::string_view field, std::string_view what) {
  return base::Fail(base::Code::kBadRequest, fmt::format("{}: {}", field, what));
}

base::Result<std::vector<ServerLine>> ReadLines(const base::JsonArray& list, std::string_view field) {
  std::vector<std::string> lines;
  for (const Json& line : list) lines.emplace_back(line.is_string() ? std::string_view(line.get_string()) : "");
  auto servers = ParseServerLines(lines);
  if (!servers) return Wrong(field, servers.error().message());
  return servers;
}

base::Status ReadRecovery(const Json& object, MemberSpec& spec) {
  spec.abandoned = base::FindBool(object, {"spec", "abandoned"});
  if (spec.abandoned && spec.replicas > 0) return Wrong("spec.abandoned", "is only for clusters with no replicas");
  const Json* recovery = base::Find(object, {"spec", "recovery"});
  if (recovery == nullptr || recovery->is_null()) return {};
  spec.recovery.request = FindString(*recovery, {"request"});
  if (std::string wrong = zookeeper::CheckRecoveryName(spec.recovery.request); !wrong.empty())
    return Wrong("spec.recovery.request", wrong);
  EVENKEEL_ASSIGN(spec.recovery.servers, ReadLines(FindArray(*recovery, {"servers"}), "spec.recovery.servers"));
  if (spec.recovery.servers.empty()) return Wrong("spec.recovery.servers", "empty");
  for (const Json& absent : FindArray(*recovery, {"absent"})) {
    const int64_t id = absent.is_int64() ? absent.get_int64() : 0;
    if (FindServer(spec.recovery.servers, id) == nullptr)
      return Wrong("spec.recovery.absent", "not ids of spec.recovery.servers");
    spec.recovery.absent.insert(id);
  }
  return {};
}

bool IsCopy(const Json& object) { return !FindString(object, {"metadata", "labels", kOwnerLabel}).empty(); }

/// Whoever writes over the hub's override may take servers away that the revision counts on.
base::Status CheckNone(const Json& object, const MemberSpec& spec) {
  if (!IsCopy(object) || spec.replicas > 0 || spec.revision.empty() || spec.revision == kNoRevision) return {};
  const int64_t first = spec.IdOf(spec.ordinals_start);
  if (FindServer(spec.servers, first) == nullptr) return {};
  return Wrong("spec.replicas",
               fmt::format("0, but revision {} has server.{} here: does another override set it?", spec.revision, first));
}

base::Status ReadServers(const Json& object, MemberSpec& spec) {
  EVENKEEL_ASSIGN(spec.servers, ReadLines(FindArray(object, {"spec", "servers"}), "spec.servers"));
  for (const Json& leaving : FindArray(object, {"spec", "leaving"})) {
    const int64_t id = leaving.is_int64() ? leaving.get_int64() : 0;
    if (id < 1 || id > kIdMax) return Wrong("spec.leaving", fmt::format("not ids from 1 to {}", kIdMax));
    if (FindServer(spec.servers, id) != nullptr) return Wrong("spec.leaving", fmt::format("server.{} is in spec.servers", id));
    spec.leaving.insert(id);
  }
  EVENKEEL_TRY(ReadRecovery(object, spec));
  for (int64_t i = 0; i < spec.replicas; ++i) {
    const int64_t id = spec.IdOf(spec.ordinals_start + i);
    const ServerLine* line = FindServer(spec.servers, id);
    if (line == nullptr) return Wrong("spec.servers", fmt::format("there is no server.{}, which is replica {} here", id, i));
    if (line->client_port == 0) return Wrong("spec.servers", fmt::format("server.{} has no port for clients", id));
  }
  return {};
}

}  // namespace

base::Result<MemberSpec> DecodeMemberSpec(const Json& object) {
  MemberSpec spec;
  spec.name = kube::NameOf(object);
  spec.ns = kube::NamespaceOf(object);
  spec.uid = kube::UidOf(object);
  spec.generation = FindInt(object, {"metadata", "generation"});
  // The longest name made from it is NAME-headless, and a pod's NAME-255 needs room for a hash in a label.
  if (std::string wrong = kube::CheckDnsLabel(spec.name + "-headless"); !wrong.empty()) return Wrong("metadata.name", wrong);
  spec.replicas = FindInt(object, {"spec", "replicas"});
  spec.id_offset = FindInt(object, {"spec", "myidOffset"});
  spec.ordinals_start = FindInt(object, {"spec", "ordinalsStart"});
  if (spec.replicas < 0 || spec.replicas > kIdMax) return Wrong("spec.replicas", fmt::format("not from 0 to {}", kIdMax));
  if (spec.id_offset < 0 || spec.id_offset + spec.replicas > kIdMax) {
    return Wrong("spec.myidOffset", fmt::format("the ids {} to {} are not from 1 to {}", spec.id_offset + 1,
                                                spec.id_offset + spec.replicas, kIdMax));
  }
  if (spec.ordinals_start < 0) return Wrong("spec.ordinalsStart", "below 0");
  EVENKEEL_TRY(ReadServers(object, spec));
  const Json* body = base::Find(object, {"spec"});
  EVENKEEL_TRY(ReadServersSpec(body == nullptr ? Json() : *body, "spec", spec));
  spec.revision = FindString(object, {"spec", "rolloutRevision"});
  spec.hold = base::FindBool(object, {"spec", "hold"});
  spec.ensemble = FindString(object, {"spec", "ensemble"});
  if (!spec.ensemble.empty()) {
    if (std::string wrong = zookeeper::CheckRecoveryName(spec.ensemble); !wrong.empty()) return Wrong("spec.ensemble", wrong);
  }
  EVENKEEL_TRY(CheckNone(object, spec));
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
