#include "controllers/rollout/zookeeper/spec/desired_servers.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/schema/schema.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::FindArray;
using base::FindObject;
using base::FindString;
using base::Json;

/// Keys that the ensemble's safety hangs on, or that would say where files are.
bool IsReserved(std::string_view key) {
  for (const std::string_view reserved : {"dataDir", "dynamicConfigFile", "standaloneEnabled", "reconfigEnabled", "clientPort",
                                          "clientPortAddress", "4lw.commands.whitelist", "peerType"}) {
    if (key == reserved) return true;
  }
  return key.starts_with("server.") || key.starts_with("group.") || key.starts_with("weight.") ||
         key == "DigestAuthenticationProvider.superDigest";
}

bool IsStoreOf(std::string_view key, std::string_view prefix) {
  return key.starts_with(fmt::format("{}.keyStore.", prefix)) || key.starts_with(fmt::format("{}.trustStore.", prefix));
}

/// A copy without nulls, which take something out of what is made.
Json WithoutNulls(const Json& value) {
  if (value.is_array()) {
    base::JsonArray items;
    for (const Json& item : value.get_array()) items.push_back(WithoutNulls(item));
    return items;
  }
  // Braces would make a list of it.
  if (!value.is_object()) return Json(value, {});  // NOLINT(modernize-return-braced-init-list)
  base::JsonObject fields;
  for (const auto& [key, field] : value.get_object()) {
    if (!field.is_null()) fields[key] = WithoutNulls(field);
  }
  return fields;
}

class Reader {
 public:
  Reader(const Json& spec, const std::string& at, ServersSpec& servers) : spec_(spec), at_(at), servers_(servers) {}

  base::Status Read() {
    EVENKEEL_TRY(ReadImage());
    EVENKEEL_TRY(ReadConfig());
    EVENKEEL_TRY(ReadPort("client", servers_.client_port));
    EVENKEEL_TRY(ReadPort("quorum", servers_.quorum_port));
    EVENKEEL_TRY(ReadPort("election", servers_.election_port));
    EVENKEEL_TRY(ReadPort("secureClient", servers_.secure_client_port));
    EVENKEEL_TRY(OneOf({"ports", "clientAddress"}, {"Any", "Host"}, "Any"));
    EVENKEEL_TRY(ReadTls());
    EVENKEEL_TRY(ReadExtra());
    EVENKEEL_TRY(ReadStorage());
    EVENKEEL_TRY(ReadPodTemplate());
    EVENKEEL_ASSIGN(servers_.paused, Flag({"paused"}));
    return {};
  }

 private:
  using Path = std::initializer_list<std::string_view>;

  std::unexpected<base::Error> Wrong(const std::string& field, std::string_view what) const {
    return base::Fail(base::Code::kBadRequest, fmt::format("{}.{}: {}", at_, field, what));
  }
  static std::string Field(Path path) { return fmt::format("{}", fmt::join(path, ".")); }

  /// Null when absent.
  const Json* At(Path path) const {
    const Json* value = base::Find(spec_, path);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  base::Result<std::string> Text(Path path, std::string_view missing) const {
    const Json* value = At(path);
    if (value == nullptr) return std::string(missing);
    if (!value->is_string()) return Wrong(Field(path), "not a text");
    return std::string(value->get_string());
  }

  base::Result<std::string> OneOf(Path path, std::initializer_list<std::string_view> values, std::string_view missing) const {
    EVENKEEL_ASSIGN(std::string text, Text(path, missing));
    if (text == missing || std::ranges::find(values, text) != values.end()) return text;
    const auto* const last = values.end() - 1;
    return Wrong(Field(path), fmt::format("not {} or {}", fmt::join(values.begin(), last, ", "), *last));
  }

  base::Result<bool> Flag(Path path) const {
    const Json* value = At(path);
    if (value != nullptr && !value->is_bool()) return Wrong(Field(path), "not true or false");
    return value != nullptr && value->get_bool();
  }

  base::Result<std::string> Name(Path path) const {
    EVENKEEL_ASSIGN(std::string name, Text(path, ""));
    if (name.empty()) return name;
    if (const std::string wrong = kube::CheckDnsSubdomain(name); !wrong.empty()) return Wrong(Field(path), wrong);
    return name;
  }

  base::Status ReadImage() {
    EVENKEEL_ASSIGN(const std::string repository, Text({"image", "repository"}, "zookeeper"));
    EVENKEEL_ASSIGN(const std::string tag, Text({"image", "tag"}, "3.8"));
    servers_.image = fmt::format("{}{}{}", repository, tag.starts_with("sha256:") ? "@" : ":", tag);
    EVENKEEL_ASSIGN(servers_.pull_policy, OneOf({"image", "pullPolicy"}, {"Always", "IfNotPresent", "Never"}, ""));
    const Json* secrets = At({"image", "pullSecrets"});
    if (secrets == nullptr) return {};
    if (!secrets->is_array()) return Wrong("image.pullSecrets", "not a list of names of Secrets");
    for (const Json& secret : secrets->get_array()) {
      if (!secret.is_string()) return Wrong("image.pullSecrets", "not a list of names of Secrets");
      servers_.pull_secrets.emplace_back(secret.get_string());
      if (const std::string wrong = kube::CheckDnsSubdomain(servers_.pull_secrets.back()); !wrong.empty())
        return Wrong("image.pullSecrets", wrong);
    }
    return {};
  }

  base::Status ReadNumber(Path path, std::string key, int64_t usual, int64_t least) {
    const Json* value = At(path);
    const int64_t number = value == nullptr ? usual : base::FindInt(spec_, path, least - 1);
    if (number < least || number > std::numeric_limits<int>::max())
      return Wrong(Field(path), fmt::format("not a whole number of {} or more", least));
    servers_.config[std::move(key)] = std::to_string(number);
    return {};
  }

  base::Status ReadConfig() {
    EVENKEEL_TRY(ReadNumber({"config", "tickTime"}, "tickTime", 2000, 1));
    EVENKEEL_TRY(ReadNumber({"config", "initLimit"}, "initLimit", 10, 1));
    EVENKEEL_TRY(ReadNumber({"config", "syncLimit"}, "syncLimit", 5, 1));
    EVENKEEL_TRY(ReadNumber({"config", "maxClientCnxns"}, "maxClientCnxns", 60, 0));
    EVENKEEL_TRY(ReadNumber({"config", "autopurge", "snapRetainCount"}, "autopurge.snapRetainCount", 3, 3));
    return ReadNumber({"config", "autopurge", "purgeInterval"}, "autopurge.purgeInterval", 24, 0);
  }

  base::Status ReadTls() {
    EVENKEEL_ASSIGN(servers_.quorum_secret, Name({"tls", "quorumSecret"}));
    EVENKEEL_ASSIGN(const std::string mode, OneOf({"tls", "quorumMode"}, {"Accept", "Prefer", "Require"}, ""));
    if (servers_.quorum_secret.empty() && !mode.empty()) return Wrong("tls.quorumMode", "needs a quorumSecret");
    if (!servers_.quorum_secret.empty()) {
      servers_.config["sslQuorum"] = mode == "Accept" ? "false" : "true";
      servers_.config["portUnification"] = mode == "Accept" || mode == "Prefer" ? "true" : "false";
    }
    EVENKEEL_ASSIGN(servers_.client_secret, Name({"tls", "clientSecret"}));
    EVENKEEL_ASSIGN(const std::string auth, OneOf({"tls", "clientAuth"}, {"need", "want", "none"}, ""));
    if (servers_.client_secret.empty() && !auth.empty()) return Wrong("tls.clientAuth", "needs a clientSecret");
    if (servers_.client_secret.empty()) return {};
    if (servers_.secure_client_port == servers_.client_port) return Wrong("ports.secureClient", "is ports.client, too");
    servers_.config["secureClientPort"] = std::to_string(servers_.secure_client_port);
    servers_.config["serverCnxnFactory"] = "org.apache.zookeeper.server.NettyServerCnxnFactory";
    servers_.config["ssl.clientAuth"] = auth.empty() ? "need" : auth;
    return {};
  }

  /// Whether spec.tls says it already.
  bool IsOfTls(std::string_view key) const {
    if (!servers_.quorum_secret.empty() && (key == "sslQuorum" || key == "portUnification" || IsStoreOf(key, "ssl.quorum"))) {
      return true;
    }
    return !servers_.client_secret.empty() && (key.starts_with("secureClientPort") || key == "serverCnxnFactory" ||
                                               key == "ssl.clientAuth" || IsStoreOf(key, "ssl"));
  }

  base::Status ReadExtra() {
    const Json* extra = At({"config", "extra"});
    if (extra != nullptr && !extra->is_object()) return Wrong("config.extra", "not an object");
    for (const auto& [key, value] : FindObject(spec_, {"config", "extra"})) {
      const std::string field = fmt::format("config.extra.{}", std::string_view(key));
      if (IsReserved(key)) return Wrong(field, "is not for you to set");
      if (IsOfTls(key)) return Wrong(field, fmt::format("is said by {}.tls", at_));
      if (servers_.config.contains(std::string(key)))
        return Wrong(field, fmt::format("has a field of its own, {}.config.{}", at_, std::string_view(key)));
      if (!value.is_string() || value.get_string().find('\n') != std::string::npos) return Wrong(field, "not one line of text");
      if (key.empty() || key.find_first_of("=\n #!:") != std::string::npos) return Wrong(field, "not a key of zoo.cfg");
      servers_.config[std::string(key)] = value.get_string();
    }
    return {};
  }

  base::Status ReadPort(const char* name, int& port) const {
    const Json* value = At({"ports", name});
    if (value == nullptr) return {};
    const int64_t number = base::FindInt(spec_, {"ports", name});
    if (number < 1 || number > 65535) return Wrong(fmt::format("ports.{}", name), "not a port from 1 to 65535");
    port = static_cast<int>(number);
    return {};
  }

  base::Status ReadStorage() {
    EVENKEEL_ASSIGN(const std::string type, OneOf({"storage", "type"}, {"persistent", "ephemeral"}, "persistent"));
    servers_.ephemeral = type == "ephemeral";
    EVENKEEL_ASSIGN(servers_.storage_size, Text({"storage", "size"}, "10Gi"));
    if (!kube::Quantity::Parse(servers_.storage_size)) return Wrong("storage.size", "not a quantity");
    EVENKEEL_ASSIGN(servers_.storage_class, Name({"storage", "storageClass"}));
    EVENKEEL_ASSIGN(const std::string policy, OneOf({"storage", "reclaimPolicy"}, {"Retain", "Delete"}, "Retain"));
    servers_.reclaim = policy == "Delete";
    return {};
  }

  /// Lists of containers are merged by name; without one they would replace the server's.
  base::Status CheckContainers(const char* list) const {
    const Json* containers = At({"podTemplate", "spec", list});
    if (containers == nullptr) return {};
    const std::string field = fmt::format("podTemplate.spec.{}", list);
    if (!containers->is_array()) return Wrong(field, "not a list");
    for (const Json& container : containers->get_array()) {
      if (FindString(container, {"name"}).empty())
        return Wrong(field, fmt::format("one has no name; the server's is {}", kServerContainer));
    }
    return {};
  }

  base::Status ReadPodTemplate() {
    servers_.pod_template = base::JsonObject{};
    const Json* pods = At({"podTemplate"});
    if (pods == nullptr) return {};
    if (!pods->is_object()) return Wrong("podTemplate", "not an object");
    for (const auto& [key, value] : pods->get_object()) {
      if (key != "metadata" && key != "spec")
        return Wrong("podTemplate." + std::string(key), "only metadata and spec are known");
    }
    for (const auto& [key, value] : FindObject(*pods, {"metadata"})) {
      if (key != "labels" && key != "annotations")
        return Wrong("podTemplate.metadata." + std::string(key), "only labels and annotations are known");
    }
    const Json* containers = At({"podTemplate", "spec", "containers"});
    if (containers != nullptr && containers->is_array() && containers->get_array().empty())
      return Wrong("podTemplate.spec.containers", "empty, which would leave no server: leave it out");
    EVENKEEL_TRY(CheckContainers("containers"));
    EVENKEEL_TRY(CheckContainers("initContainers"));
    static const kube::Schema* const schema = kube::FindBuiltInSchema("io.k8s.api.core.v1.PodTemplateSpec");
    EVENKEEL_CHECK(schema != nullptr);
    for (const base::Cause& cause : kube::Validate(WithoutNulls(*pods), *schema, at_ + ".podTemplate")) {
      // What is left out is there already, or is asked for when all of it is put together.
      if (cause.reason == "FieldValueRequired") continue;
      return base::Fail(base::Code::kBadRequest, cause.field + ": " + cause.message);
    }
    servers_.pod_template = Json(*pods, {});
    return {};
  }

  const Json& spec_;
  const std::string& at_;
  ServersSpec& servers_;
};

}  // namespace

base::Status ReadServersSpec(const Json& spec, const std::string& at, ServersSpec& servers) {
  return Reader(spec, at, servers).Read();
}

}  // namespace evenkeel::controllers::rollout::zookeeper
