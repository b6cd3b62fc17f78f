#include "controllers/rollout/zookeeper/spec/desired_servers.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <limits>

#include "base/input/field.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "kube/schema/schema.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Field;
using base::FindObject;
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
  Reader(const Json& spec, const std::string& at, ServersSpec& servers) : spec_(&spec, "", at), servers_(servers) {}

  base::Status Read() {
    EVENKEEL_TRY(ReadImage());
    EVENKEEL_TRY(ReadConfig());
    EVENKEEL_TRY(ReadPort("client", servers_.client_port));
    EVENKEEL_TRY(ReadPort("quorum", servers_.quorum_port));
    EVENKEEL_TRY(ReadPort("election", servers_.election_port));
    EVENKEEL_TRY(ReadPort("secureClient", servers_.secure_client_port));
    std::string address;
    EVENKEEL_TRY(spec_["ports"]["clientAddress"].Word(address, {"Any", "Host"}));
    EVENKEEL_TRY(ReadTls());
    EVENKEEL_TRY(ReadExtra());
    EVENKEEL_TRY(ReadStorage());
    EVENKEEL_TRY(ReadPodTemplate());
    return spec_["paused"].Flag(servers_.paused);
  }

 private:
  /// The name of an object.
  static base::Status Name(const Field& field, std::string& name) {
    EVENKEEL_TRY(field.Text(name));
    if (name.empty()) return {};
    if (const std::string wrong = kube::CheckDnsSubdomain(name); !wrong.empty()) return field.Wrong(wrong);
    return {};
  }

  base::Status ReadImage() {
    const Field image = spec_["image"];
    std::string repository = "zookeeper", tag = "3.8";
    EVENKEEL_TRY(image["repository"].Text(repository));
    EVENKEEL_TRY(image["tag"].Text(tag));
    servers_.image = fmt::format("{}{}{}", repository, tag.starts_with("sha256:") ? "@" : ":", tag);
    EVENKEEL_TRY(image["pullPolicy"].Word(servers_.pull_policy, {"Always", "IfNotPresent", "Never"}));
    return image["pullSecrets"].ForEach(
        [&](const Field& secret) -> base::Status {
          EVENKEEL_TRY(secret.Required());
          return Name(secret, servers_.pull_secrets.emplace_back());
        },
        "names of Secrets");
  }

  base::Status ReadNumber(const char* key, int64_t usual, int64_t least, const char* within = nullptr) {
    const Field config = spec_["config"];
    int64_t number = usual;
    EVENKEEL_TRY((within == nullptr ? config : config[within])[key].Whole(number, least, std::numeric_limits<int>::max()));
    servers_.config[within == nullptr ? key : fmt::format("{}.{}", within, key)] = std::to_string(number);
    return {};
  }

  base::Status ReadConfig() {
    EVENKEEL_TRY(ReadNumber("tickTime", 2000, 1));
    EVENKEEL_TRY(ReadNumber("initLimit", 10, 1));
    EVENKEEL_TRY(ReadNumber("syncLimit", 5, 1));
    EVENKEEL_TRY(ReadNumber("maxClientCnxns", 60, 0));
    EVENKEEL_TRY(ReadNumber("snapRetainCount", 3, 3, "autopurge"));
    return ReadNumber("purgeInterval", 24, 0, "autopurge");
  }

  base::Status ReadTls() {
    const Field tls = spec_["tls"];
    std::string mode, auth;
    EVENKEEL_TRY(Name(tls["quorumSecret"], servers_.quorum_secret));
    EVENKEEL_TRY(tls["quorumMode"].Word(mode, {"Accept", "Prefer", "Require"}));
    if (servers_.quorum_secret.empty() && !mode.empty()) return tls["quorumMode"].Wrong("needs a quorumSecret");
    if (!servers_.quorum_secret.empty()) {
      servers_.config["sslQuorum"] = mode == "Accept" ? "false" : "true";
      servers_.config["portUnification"] = mode == "Accept" || mode == "Prefer" ? "true" : "false";
    }
    EVENKEEL_TRY(Name(tls["clientSecret"], servers_.client_secret));
    EVENKEEL_TRY(tls["clientAuth"].Word(auth, {"need", "want", "none"}));
    if (servers_.client_secret.empty() && !auth.empty()) return tls["clientAuth"].Wrong("needs a clientSecret");
    if (servers_.client_secret.empty()) return {};
    if (servers_.secure_client_port == servers_.client_port) {
      return spec_["ports"]["secureClient"].Wrong("is ports.client, too");
    }
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
    const std::string& at = spec_.path();
    return spec_["config"]["extra"].ForEachMember([&](std::string_view key, const Field& field) -> base::Status {
      std::string value;
      if (IsReserved(key)) return field.Wrong("is not for you to set");
      if (IsOfTls(key)) return field.Wrong(fmt::format("is said by {}.tls", at));
      if (servers_.config.contains(std::string(key))) {
        return field.Wrong(fmt::format("has a field of its own, {}.config.{}", at, key));
      }
      EVENKEEL_TRY(field.Required());
      EVENKEEL_TRY(field.Text(value));
      if (value.find('\n') != std::string::npos) return field.Wrong("not one line of text");
      if (key.empty() || key.find_first_of("=\n #!:") != std::string::npos) return field.Wrong("not a key of zoo.cfg");
      servers_.config[std::string(key)] = std::move(value);
      return {};
    });
  }

  base::Status ReadPort(const char* name, int& port) const {
    int64_t number = port;
    EVENKEEL_TRY(spec_["ports"][name].Whole(number, 1, 65535));
    port = static_cast<int>(number);
    return {};
  }

  base::Status ReadStorage() {
    const Field storage = spec_["storage"];
    EVENKEEL_TRY(storage["type"].Word<bool>(servers_.ephemeral, {{"persistent", false}, {"ephemeral", true}}));
    servers_.storage_size = "10Gi";
    EVENKEEL_TRY(storage["size"].Text(servers_.storage_size));
    if (!kube::Quantity::Parse(servers_.storage_size)) return storage["size"].Wrong("not a quantity");
    EVENKEEL_TRY(Name(storage["storageClass"], servers_.storage_class));
    return storage["reclaimPolicy"].Word<bool>(servers_.reclaim, {{"Retain", false}, {"Delete", true}});
  }

  /// Lists of containers are merged by name; without one they would replace the server's.
  base::Status CheckContainers(const Field& containers) const {
    return containers.ForEach([&](const Field& container) -> base::Status {
      std::string name;
      EVENKEEL_TRY(container["name"].Text(name));
      if (name.empty()) return containers.Wrong(fmt::format("one has no name; the server's is {}", kServerContainer));
      return {};
    });
  }

  base::Status ReadPodTemplate() {
    servers_.pod_template = base::JsonObject{};
    const Field pods = spec_["podTemplate"], containers = pods["spec"]["containers"];
    if (!pods) return {};
    EVENKEEL_TRY(pods.ForEachMember([](std::string_view key, const Field& field) -> base::Status {
      if (key != "metadata" && key != "spec") return field.Wrong("only metadata and spec are known");
      return {};
    }));
    for (const auto& [key, value] : FindObject(pods.value(), {"metadata"})) {
      if (key != "labels" && key != "annotations") return pods["metadata"][key].Wrong("only labels and annotations are known");
    }
    if (containers && containers.value().is_array() && containers.value().get_array().empty()) {
      return containers.Wrong("empty, which would leave no server: leave it out");
    }
    EVENKEEL_TRY(CheckContainers(containers));
    EVENKEEL_TRY(CheckContainers(pods["spec"]["initContainers"]));
    static const kube::Schema* const schema = kube::FindBuiltInSchema("io.k8s.api.core.v1.PodTemplateSpec");
    EVENKEEL_CHECK(schema != nullptr);
    for (const base::Cause& cause : kube::Validate(WithoutNulls(pods.value()), *schema, pods.path())) {
      // What is left out is there already, or is asked for when all of it is put together.
      if (cause.reason == "FieldValueRequired") continue;
      return base::Fail(base::Code::kBadRequest, cause.field + ": " + cause.message);
    }
    servers_.pod_template = Json(pods.value(), {});
    return {};
  }

  const Field spec_;
  ServersSpec& servers_;
};

}  // namespace

base::Status ReadServersSpec(const Json& spec, const std::string& at, ServersSpec& servers) {
  return Reader(spec, at, servers).Read();
}

}  // namespace evenkeel::controllers::rollout::zookeeper
