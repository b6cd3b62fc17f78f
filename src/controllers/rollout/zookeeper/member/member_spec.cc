#include "controllers/rollout/zookeeper/member/member_spec.h"

#include <spdlog/fmt/fmt.h>

#include "controllers/rollout/zookeeper/server_names.h"
#include "kube/object.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

using base::FindArray;
using base::FindInt;
using base::FindObject;
using base::FindString;
using base::Json;

std::unexpected<base::Error> Wrong(std::string_view field, std::string_view what) {
  return base::Fail(base::Code::kBadRequest, fmt::format("{}: {}", field, what));
}

/// Keys that the ensemble's safety hangs on, or that would say where files are.
bool IsReserved(std::string_view key) {
  for (const std::string_view reserved : {"dataDir", "dynamicConfigFile", "standaloneEnabled", "reconfigEnabled", "clientPort",
                                          "clientPortAddress", "4lw.commands.whitelist", "peerType"}) {
    if (key == reserved) return true;
  }
  return key.starts_with("server.") || key.starts_with("group.") || key.starts_with("weight.") ||
         key == "DigestAuthenticationProvider.superDigest";
}

base::Status ReadConfig(const Json& object, MemberSpec& spec) {
  const auto number = [&](const char* key, int64_t usual) {
    spec.config[key] = std::to_string(FindInt(object, {"spec", "config", key}, usual));
  };
  number("tickTime", 2000);
  number("initLimit", 10);
  number("syncLimit", 5);
  number("maxClientCnxns", 60);
  const auto purge = [&](const char* key, int64_t usual) {
    spec.config[std::string("autopurge.") + key] = std::to_string(FindInt(object, {"spec", "config", "autopurge", key}, usual));
  };
  purge("snapRetainCount", 3);
  purge("purgeInterval", 24);
  for (const auto& [key, value] : FindObject(object, {"spec", "config", "extra"})) {
    const std::string field = fmt::format("spec.config.extra.{}", std::string_view(key));
    if (IsReserved(key)) return Wrong(field, "is not for you to set");
    if (spec.config.contains(std::string(key)))
      return Wrong(field, fmt::format("has a field of its own, spec.config.{}", std::string_view(key)));
    if (!value.is_string() || value.get_string().find('\n') != std::string::npos) return Wrong(field, "not one line of text");
    if (key.empty() || key.find_first_of("=\n #!:") != std::string::npos) return Wrong(field, "not a key of zoo.cfg");
    spec.config[std::string(key)] = value.get_string();
  }
  return {};
}

base::Status ReadServers(const Json& object, MemberSpec& spec) {
  std::vector<std::string> lines;
  for (const Json& line : FindArray(object, {"spec", "servers"})) {
    lines.emplace_back(line.is_string() ? std::string_view(line.get_string()) : "");
  }
  auto servers = ParseServerLines(lines);
  if (!servers) return Wrong("spec.servers", servers.error().message());
  spec.servers = *std::move(servers);
  for (const Json& leaving : FindArray(object, {"spec", "leaving"})) {
    const int64_t id = leaving.is_int64() ? leaving.get_int64() : 0;
    if (id < 1 || id > kIdMax) return Wrong("spec.leaving", fmt::format("not ids from 1 to {}", kIdMax));
    if (FindServer(spec.servers, id) != nullptr) return Wrong("spec.leaving", fmt::format("server.{} is in spec.servers", id));
    spec.leaving.insert(id);
  }
  for (int64_t i = 0; i < spec.replicas; ++i) {
    const int64_t id = spec.IdOf(spec.ordinals_start + i);
    const ServerLine* line = FindServer(spec.servers, id);
    if (line == nullptr) return Wrong("spec.servers", fmt::format("there is no server.{}, which is replica {} here", id, i));
    if (line->client_port == 0) return Wrong("spec.servers", fmt::format("server.{} has no port for clients", id));
  }
  return {};
}

base::Result<int> ReadPort(const Json& object, const char* name, int64_t usual) {
  const int64_t port = FindInt(object, {"spec", "ports", name}, usual);
  if (port < 1 || port > 65535) return Wrong(fmt::format("spec.ports.{}", name), "not a port from 1 to 65535");
  return static_cast<int>(port);
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
  const std::string_view tag = FindString(object, {"spec", "image", "tag"}, "3.8");
  spec.image = fmt::format("{}{}{}", FindString(object, {"spec", "image", "repository"}, "zookeeper"),
                           tag.starts_with("sha256:") ? "@" : ":", tag);
  spec.pull_policy = FindString(object, {"spec", "image", "pullPolicy"});
  for (const Json& secret : FindArray(object, {"spec", "image", "pullSecrets"})) {
    if (secret.is_string()) spec.pull_secrets.emplace_back(secret.get_string());
  }
  spec.replicas = FindInt(object, {"spec", "replicas"});
  spec.id_offset = FindInt(object, {"spec", "myidOffset"});
  spec.ordinals_start = FindInt(object, {"spec", "ordinalsStart"});
  if (spec.replicas < 0 || spec.replicas > kIdMax) return Wrong("spec.replicas", fmt::format("not from 0 to {}", kIdMax));
  if (spec.id_offset < 0 || spec.id_offset + spec.replicas > kIdMax) {
    return Wrong("spec.myidOffset", fmt::format("the ids {} to {} are not from 1 to {}", spec.id_offset + 1,
                                                spec.id_offset + spec.replicas, kIdMax));
  }
  if (spec.ordinals_start < 0) return Wrong("spec.ordinalsStart", "below 0");
  EVENKEEL_ASSIGN(spec.client_port, ReadPort(object, "client", 2181));
  EVENKEEL_ASSIGN(spec.quorum_port, ReadPort(object, "quorum", 2888));
  EVENKEEL_ASSIGN(spec.election_port, ReadPort(object, "election", 3888));
  EVENKEEL_TRY(ReadServers(object, spec));
  EVENKEEL_TRY(ReadConfig(object, spec));
  const std::string_view storage = FindString(object, {"spec", "storage", "type"}, "persistent");
  if (storage != "persistent" && storage != "ephemeral") return Wrong("spec.storage.type", "persistent or ephemeral");
  spec.ephemeral = storage == "ephemeral";
  spec.storage_size = FindString(object, {"spec", "storage", "size"}, "10Gi");
  spec.storage_class = FindString(object, {"spec", "storage", "storageClass"});
  spec.pod_template = base::JsonObject(FindObject(object, {"spec", "podTemplate"}), {});
  spec.paused = base::FindBool(object, {"spec", "paused"});
  spec.revision = FindString(object, {"spec", "rolloutRevision"});
  return spec;
}

base::Duration MemberSpec::NoticeTime() const {
  const int64_t ticks = std::stoll(config.at("syncLimit")) + 1;
  return std::chrono::milliseconds(ticks * std::stoll(config.at("tickTime")));
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
