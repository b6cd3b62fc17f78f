#include "client/http/argo_cluster_config.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>

#include "base/hash.h"
#include "client/http/exec_credential.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;
using base::Json;
using base::Status;

/// How Go's encoding/json compares names: case does not count, and two letters of Unicode fold to ASCII ones.
std::string FoldName(std::string_view name) {
  constexpr std::string_view kLongS = "\xC5\xBF", kKelvin = "\xE2\x84\xAA";
  std::string folded;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with(kLongS)) {
      folded += 's';
      i += kLongS.size() - 1;
    } else if (name.substr(i).starts_with(kKelvin)) {
      folded += 'k';
      i += kKelvin.size() - 1;
    } else {
      folded += name[i] >= 'A' && name[i] <= 'Z' ? static_cast<char>(name[i] + 32) : name[i];
    }
  }
  return folded;
}

struct GoField {
  std::string_view name;
  std::function<Status(const Json& value, const std::string& path)> read;
};
using GoFields = std::initializer_list<GoField>;

std::unexpected<base::Error> WrongType(const std::string& path, std::string_view wanted) {
  return Fail(Code::kBadRequest, fmt::format("{}: must be {}", path, wanted));
}

/// An object into the fields of a Go struct: null changes nothing, names that are there in several spellings count in turn.
Status ReadGoObject(const Json& value, const std::string& path, GoFields fields) {
  if (value.is_null()) return {};
  if (!value.is_object()) return WrongType(path, path == "config" ? "a JSON object" : "an object");
  for (const auto& [key, member] : value.get_object()) {
    const std::string folded = FoldName(key);
    const auto field = std::ranges::find_if(fields, [&](const GoField& each) { return FoldName(each.name) == folded; });
    if (field == fields.end()) continue;
    const std::string where =
        path == "config" ? fmt::format("config: {}", field->name) : fmt::format("{}.{}", path, field->name);
    EVENKEEL_TRY(field->read(member, where));
  }
  return {};
}

auto TextInto(std::string& into) {
  return [&into](const Json& value, const std::string& path) -> Status {
    if (value.is_null()) return {};
    if (!value.is_string()) return WrongType(path, "a string");
    into = value.get_string();
    return {};
  };
}

auto BoolInto(bool& into) {
  return [&into](const Json& value, const std::string& path) -> Status {
    if (value.is_null()) return {};
    if (!value.is_bool()) return WrongType(path, "true or false, without quotes");
    into = value.get_bool();
    return {};
  };
}

auto BytesInto(std::string& into) {
  return [&into](const Json& value, const std::string& path) -> Status {
    if (value.is_null()) return into.clear(), Status();
    if (!value.is_string()) return WrongType(path, "a string in base64");
    if (!base::Base64Decode(value.get_string(), into)) return Fail(Code::kBadRequest, path + ": not base64");
    return {};
  };
}

auto TextsInto(std::vector<std::string>& into) {
  return [&into](const Json& value, const std::string& path) -> Status {
    into.clear();
    if (value.is_null()) return {};
    if (!value.is_array()) return WrongType(path, "a list of strings");
    for (const Json& item : value.get_array()) EVENKEEL_TRY(TextInto(into.emplace_back())(item, path));
    return {};
  };
}

auto VariablesInto(std::vector<std::pair<std::string, std::string>>& into) {
  return [&into](const Json& value, const std::string& path) -> Status {
    if (value.is_null()) return into.clear(), Status();
    if (!value.is_object()) return WrongType(path, "an object of strings");
    for (const auto& [name, item] : value.get_object()) {
      auto& variable = into.emplace_back(std::string(name), "");
      EVENKEEL_TRY(TextInto(variable.second)(item, fmt::format("{}.{}", path, std::string_view(name))));
    }
    return {};
  };
}

struct AwsAuth {
  std::string cluster_name, role_arn, profile;
};

struct ExecProvider {
  ExecConfig config;
  bool provide_cluster_info = false;
  Json extra;
};

/// What `config` may hold, as it is written.
struct ArgoConfig {
  ConnectionConfig connection;
  bool disable_compression = false;
  std::optional<AwsAuth> aws;
  std::optional<ExecProvider> exec;
};

Status ReadAws(const Json& value, const std::string& path, ArgoConfig& config) {
  if (value.is_null()) return config.aws.reset(), Status();
  AwsAuth& aws = config.aws.has_value() ? *config.aws : config.aws.emplace();
  return ReadGoObject(
      value, path,
      {{"clusterName", TextInto(aws.cluster_name)}, {"roleARN", TextInto(aws.role_arn)}, {"profile", TextInto(aws.profile)}});
}

Status ReadExec(const Json& value, const std::string& path, ArgoConfig& config) {
  if (value.is_null()) return config.exec.reset(), Status();
  ExecProvider& exec = config.exec.has_value() ? *config.exec : config.exec.emplace();
  return ReadGoObject(value, path,
                      {{"command", TextInto(exec.config.command)},
                       {"args", TextsInto(exec.config.args)},
                       {"env", VariablesInto(exec.config.env)},
                       {"apiVersion", TextInto(exec.config.api_version)},
                       {"installHint", TextInto(exec.config.install_hint)},
                       {"provideClusterInfo", BoolInto(exec.provide_cluster_info)},
                       {"config", [&exec](const Json& extra, const std::string&) -> Status {
                          exec.extra = extra;
                          return {};
                        }}});
}

base::Result<ArgoConfig> ReadArgoConfig(const Json& value) {
  ArgoConfig config;
  ConnectionConfig& to = config.connection;
  const auto tls = [&to](const Json& member, const std::string& path) {
    return ReadGoObject(member, path,
                        {{"insecure", BoolInto(to.insecure_skip_tls_verify)},
                         {"serverName", TextInto(to.tls_server_name)},
                         {"caData", BytesInto(to.ca_pem)},
                         {"certData", BytesInto(to.client_certificate_pem)},
                         {"keyData", BytesInto(to.client_key_pem)}});
  };
  const auto aws = [&config](const Json& member, const std::string& path) { return ReadAws(member, path, config); };
  const auto exec = [&config](const Json& member, const std::string& path) { return ReadExec(member, path, config); };
  EVENKEEL_TRY(ReadGoObject(value, "config",
                            {{"username", TextInto(to.username)},
                             {"password", TextInto(to.password)},
                             {"bearerToken", TextInto(to.token)},
                             {"proxyUrl", TextInto(to.proxy_url)},
                             {"disableCompression", BoolInto(config.disable_compression)},
                             {"tlsClientConfig", tls},
                             {"awsAuthConfig", aws},
                             {"execProviderConfig", exec}}));
  return config;
}

/// The plugin that Argo CD would run; null without one.
base::Result<std::shared_ptr<const ExecConfig>> PluginOf(const ArgoConfig& config) {
  if (config.aws.has_value()) {
    ExecConfig plugin;
    plugin.command = "argocd-k8s-auth";
    plugin.args = {"aws", "--cluster-name", config.aws->cluster_name};
    if (!config.aws->role_arn.empty()) plugin.args.insert(plugin.args.end(), {"--role-arn", config.aws->role_arn});
    if (!config.aws->profile.empty()) plugin.args.insert(plugin.args.end(), {"--profile", config.aws->profile});
    plugin.api_version = "client.authentication.k8s.io/v1beta1";
    plugin.from_secret = true;
    return std::make_shared<const ExecConfig>(std::move(plugin));
  }
  if (!config.exec.has_value()) return nullptr;
  ExecConfig plugin = config.exec->config;
  if (plugin.command.empty()) return Fail(Code::kBadRequest, "config: execProviderConfig.command: missing");
  if (const Status known = CheckExecApiVersion(plugin.api_version); !known) {
    return Fail(Code::kBadRequest, "config: execProviderConfig." + known.error().message());
  }
  const ConnectionConfig& to = config.connection;
  if (config.exec->provide_cluster_info) {
    plugin.cluster_info = ExecClusterInfoText({.server = to.server,
                                               .tls_server_name = to.tls_server_name,
                                               .ca_pem = to.ca_pem,
                                               .proxy_url = to.proxy_url,
                                               .insecure_skip_tls_verify = to.insecure_skip_tls_verify,
                                               .disable_compression = config.disable_compression,
                                               .config = config.exec->extra});
  }
  plugin.from_secret = true;
  // Go's maps have no order; one that stays lets equal Secrets share an answer.
  std::ranges::sort(plugin.env);
  return std::make_shared<const ExecConfig>(std::move(plugin));
}

Status CheckArgoTls(const ConnectionConfig& config) {
  if (config.client_certificate_pem.empty() != config.client_key_pem.empty()) {
    return Fail(Code::kBadRequest, config.client_key_pem.empty()
                                       ? "config: tlsClientConfig.keyData: missing, although there is certData"
                                       : "config: tlsClientConfig.certData: missing, although there is keyData");
  }
  if (config.insecure_skip_tls_verify && !config.ca_pem.empty()) {
    return Fail(Code::kBadRequest, "config: tlsClientConfig.insecure: contradicts caData; remove one of them");
  }
  return {};
}

}  // namespace

base::Result<ConnectionConfig> ParseArgoClusterConfig(std::string_view server, std::string_view config_json) {
  ArgoConfig config;
  if (server.empty()) return Fail(Code::kBadRequest, "server: missing");
  if (config_json.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    EVENKEEL_ASSIGN(const Json value, base::ParseJson(config_json, "config"));
    EVENKEEL_ASSIGN(config, ReadArgoConfig(value));
  }
  ConnectionConfig& connection = config.connection;
  connection.server = server;
  EVENKEEL_TRY(CheckArgoTls(connection));
  EVENKEEL_ASSIGN(std::shared_ptr<const ExecConfig> plugin, PluginOf(config));
  if (plugin != nullptr) {
    connection.token.clear();
    connection.username.clear();
    connection.password.clear();
    if (connection.client_certificate_pem.empty()) connection.exec = std::move(plugin);
  } else if (!connection.username.empty() && !connection.token.empty()) {
    return Fail(Code::kBadRequest, "config: username: contradicts bearerToken; remove one of them");
  }
  return std::move(connection);
}

}  // namespace evenkeel::client
