#include "client/http/argo_cluster_config.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>

#include "base/hash.h"
#include "base/text.h"
#include "client/http/exec_credential.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;
using base::Field;
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
      folded += base::LowerOf(name[i]);
    }
  }
  return folded;
}

struct GoField {
  std::string_view name;
  std::function<Status(const Field& value)> read;
};
using GoFields = std::initializer_list<GoField>;

/// An object into the fields of a Go struct: null changes nothing, names that are there in several spellings count in turn.
Status ReadGoObject(const Field& object, GoFields fields) {
  return object.ForEachMember([&](std::string_view key, const Field& member) -> Status {
    const std::string folded = FoldName(key);
    const auto field = std::ranges::find_if(fields, [&](const GoField& each) { return FoldName(each.name) == folded; });
    return field == fields.end() ? Status() : field->read(member);
  });
}

auto TextInto(std::string& into) {
  return [&into](const Field& value) { return value.Text(into); };
}

auto FlagInto(bool& into) {
  return [&into](const Field& value) { return value.Flag(into); };
}

auto BytesInto(std::string& into) {
  return [&into](const Field& value) -> Status {
    std::string text;
    EVENKEEL_TRY(value.Text(text));
    into.clear();
    return base::Base64Decode(text, into) ? Status() : value.Wrong("not base64");
  };
}

auto TextsInto(std::vector<std::string>& into) {
  return [&into](const Field& value) {
    into.clear();
    return value.Texts(into);
  };
}

auto VariablesInto(std::vector<std::pair<std::string, std::string>>& into) {
  return [&into](const Field& value) {
    if (!value) into.clear();
    return value.ForEachMember([&into](std::string_view name, const Field& item) {
      return item.Text(into.emplace_back(std::string(name), "").second);
    });
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

Status ReadAws(const Field& value, ArgoConfig& config) {
  if (!value) return config.aws.reset(), Status();
  AwsAuth& aws = config.aws.has_value() ? *config.aws : config.aws.emplace();
  return ReadGoObject(
      value,
      {{"clusterName", TextInto(aws.cluster_name)}, {"roleARN", TextInto(aws.role_arn)}, {"profile", TextInto(aws.profile)}});
}

Status ReadExec(const Field& value, ArgoConfig& config) {
  if (!value) return config.exec.reset(), Status();
  ExecProvider& exec = config.exec.has_value() ? *config.exec : config.exec.emplace();
  return ReadGoObject(value, {{"command", TextInto(exec.config.command)},
                              {"args", TextsInto(exec.config.args)},
                              {"env", VariablesInto(exec.config.env)},
                              {"apiVersion", TextInto(exec.config.api_version)},
                              {"installHint", TextInto(exec.config.install_hint)},
                              {"provideClusterInfo", FlagInto(exec.provide_cluster_info)},
                              {"config", [&exec](const Field& extra) -> Status {
                                 exec.extra = extra ? extra.value() : Json();
                                 return {};
                               }}});
}

base::Result<ArgoConfig> ReadArgoConfig(const Field& fields) {
  ArgoConfig config;
  ConnectionConfig& to = config.connection;
  const auto tls = [&to](const Field& member) {
    return ReadGoObject(member, {{"insecure", FlagInto(to.insecure_skip_tls_verify)},
                                 {"serverName", TextInto(to.tls_server_name)},
                                 {"caData", BytesInto(to.ca_pem)},
                                 {"certData", BytesInto(to.client_certificate_pem)},
                                 {"keyData", BytesInto(to.client_key_pem)}});
  };
  const auto aws = [&config](const Field& member) { return ReadAws(member, config); };
  const auto exec = [&config](const Field& member) { return ReadExec(member, config); };
  EVENKEEL_TRY(ReadGoObject(fields, {{"username", TextInto(to.username)},
                                     {"password", TextInto(to.password)},
                                     {"bearerToken", TextInto(to.token)},
                                     {"proxyUrl", TextInto(to.proxy_url)},
                                     {"disableCompression", FlagInto(config.disable_compression)},
                                     {"tlsClientConfig", tls},
                                     {"awsAuthConfig", aws},
                                     {"execProviderConfig", exec}}));
  return config;
}

/// The plugin that Argo CD would run; null without one.
base::Result<std::shared_ptr<const ExecConfig>> PluginOf(const Field& fields, const ArgoConfig& config) {
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
  const Field exec = fields["execProviderConfig"];
  if (plugin.command.empty()) return exec["command"].Wrong("missing");
  EVENKEEL_TRY(CheckExecApiVersion(exec["apiVersion"], plugin.api_version));
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

Status CheckArgoTls(const Field& tls, const ConnectionConfig& config) {
  if (config.client_certificate_pem.empty() && !config.client_key_pem.empty()) {
    return tls["certData"].Wrong("missing, although there is keyData");
  }
  if (config.client_key_pem.empty() && !config.client_certificate_pem.empty()) {
    return tls["keyData"].Wrong("missing, although there is certData");
  }
  if (config.insecure_skip_tls_verify && !config.ca_pem.empty()) {
    return tls["insecure"].Wrong("contradicts caData; remove one of them");
  }
  return {};
}

}  // namespace

base::Result<ConnectionConfig> ParseArgoClusterConfig(std::string_view server, std::string_view config_json) {
  if (server.empty()) return Fail(Code::kBadRequest, "server: missing");
  Json value;
  if (config_json.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    EVENKEEL_ASSIGN(value, base::ParseJson(config_json, "config"));
  }
  const Field fields(&value, "config");
  EVENKEEL_ASSIGN(ArgoConfig config, ReadArgoConfig(fields));
  ConnectionConfig& connection = config.connection;
  connection.server = server;
  EVENKEEL_TRY(CheckArgoTls(fields["tlsClientConfig"], connection));
  EVENKEEL_ASSIGN(std::shared_ptr<const ExecConfig> plugin, PluginOf(fields, config));
  if (plugin != nullptr) {
    connection.token.clear();
    connection.username.clear();
    connection.password.clear();
    if (connection.client_certificate_pem.empty()) connection.exec = std::move(plugin);
  } else if (!connection.username.empty() && !connection.token.empty()) {
    return fields["username"].Wrong("contradicts bearerToken; remove one of them");
  }
  return std::move(connection);
}

}  // namespace evenkeel::client
