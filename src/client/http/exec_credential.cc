#include "client/http/exec_credential.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/hash.h"
#include "base/input/yaml.h"
#include "base/text.h"
#include "base/utf8.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;
using base::Field;
using base::FindString;
using base::Json;

constexpr std::string_view kExecV1 = "client.authentication.k8s.io/v1";
constexpr std::string_view kExecV1Beta1 = "client.authentication.k8s.io/v1beta1";

bool IsExecApiVersion(std::string_view api_version) { return api_version == kExecV1 || api_version == kExecV1Beta1; }

base::Status ReadExecEnv(const Field& list, ExecConfig& config) {
  return list.ForEach(
      [&](const Field& variable) -> base::Status {
        auto& [name, value] = config.env.emplace_back();
        EVENKEEL_TRY(variable["name"].Text(name));
        return variable["value"].Text(value);
      },
      "names and values");
}

base::Status CheckInteractiveMode(const Field& field, std::string_view api_version) {
  std::string mode;
  EVENKEEL_TRY(field.Word(mode, {"Never", "IfAvailable", "Always"}));
  if (mode.empty() && api_version == kExecV1) {
    return field.Wrong(fmt::format("missing, although apiVersion is {}; set Never or IfAvailable", kExecV1));
  }
  if (mode != "Always") return {};
  return field.Wrong(
      "Always needs a person at a terminal, which evenkeel does not offer; set Never or IfAvailable, and use a login that "
      "asks nobody");
}

bool IsTokenCharacter(char c) { return base::IsAlphanumeric(c) || c == '+' || c == '=' || c == '-' || c == '_'; }

/// Long, and of letters and digits both, as keys and tokens are and words are not.
bool LooksSecret(std::string_view word) {
  constexpr size_t kShortestSecret = 16;
  return word.size() >= kShortestSecret && std::ranges::any_of(word, base::IsDigit) &&
         std::ranges::any_of(word, base::IsLetter);
}

constexpr std::string_view kHidden = "<redacted>";

void ReplaceAll(std::string& text, std::string_view what) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + kHidden.size())) {
    text.replace(at, what.size(), kHidden);
  }
}

/// On one line, with single blanks.
std::string WithoutLines(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  const auto blanks = std::ranges::unique(line, [](char a, char b) { return a == ' ' && b == ' '; });
  line.erase(blanks.begin(), blanks.end());
  return line;
}

std::string HideCredentials(std::string_view text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && IsTokenCharacter(text[end])) ++end;
    if (end == at) {
      shown += text[at++];
      continue;
    }
    const std::string_view word = text.substr(at, end - at);
    shown += LooksSecret(word) ? kHidden : word;
    at = end;
  }
  return shown;
}

/// "password=x", "token: x", "Bearer x": what follows such a word is hidden up to the next blank, however short it is.
std::string HideAfterNames(std::string text) {
  constexpr std::array<std::string_view, 6> kNames = {"password", "passwd", "secret", "token", "bearer", "assertion"};
  const std::string lower = base::Lower(text);
  std::string shown;
  size_t copied = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto name =
        std::ranges::find_if(kNames, [&](std::string_view each) { return lower.compare(at, each.size(), each) == 0; });
    if (name == kNames.end()) continue;
    size_t begin = at + name->size();
    size_t marks = 0;
    while (begin < text.size() && (text[begin] == '=' || text[begin] == ':' || text[begin] == '"' || text[begin] == '\'' ||
                                   (text[begin] == ' ' && (marks > 0 || *name == "bearer")))) {
      marks += text[begin] != ' ' || *name == "bearer" ? 1 : 0;
      ++begin;
    }
    if (marks == 0) continue;
    size_t end = begin;
    while (end < text.size() && text[end] != ' ' && text[end] != '"' && text[end] != '\'' && text[end] != ',') ++end;
    if (end == begin) continue;
    shown.append(text, copied, begin - copied).append(kHidden);
    copied = end;
    at = end - 1;
  }
  return shown + text.substr(copied);
}

base::Result<Json> ReadOutput(std::string_view output) {
  const size_t begin = output.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && output[begin] == '{') {
    if (auto json = base::ParseJson(output, "stdout")) return json;
  }
  auto yaml = base::ParseYamlDocument(output, "stdout");
  // The parser's words may be the plugin's.
  if (!yaml || !yaml->is_object()) return Fail(Code::kUnavailable, "decoding stdout: it is no ExecCredential in JSON or YAML");
  return yaml;
}

}  // namespace

std::string ExecConfig::Key() const {
  base::JsonArray all{command, api_version, cluster_info};
  all.emplace_back(base::JsonArray(args.begin(), args.end()));
  base::JsonArray variables;
  for (const auto& [name, value] : env) variables.emplace_back(base::JsonArray{name, value});
  all.emplace_back(std::move(variables));
  return base::ToText(all);
}

std::string ExecClusterInfoText(const ExecClusterInfo& cluster) {
  base::JsonObject info{{"server", cluster.server}};
  if (!cluster.tls_server_name.empty()) info["tls-server-name"] = cluster.tls_server_name;
  if (cluster.insecure_skip_tls_verify) info["insecure-skip-tls-verify"] = true;
  if (!cluster.ca_pem.empty()) info["certificate-authority-data"] = base::Base64Encode(cluster.ca_pem);
  if (!cluster.proxy_url.empty()) info["proxy-url"] = cluster.proxy_url;
  if (cluster.disable_compression) info["disable-compression"] = true;
  info["config"] = cluster.config;
  return base::ToText(info);
}

base::Status CheckExecApiVersion(const Field& field, std::string_view api_version) {
  if (IsExecApiVersion(api_version)) return {};
  return field.Wrong(fmt::format("exec plugin: invalid apiVersion \"{}\"; there are {} and {}", base::OneLine(api_version),
                                 kExecV1, kExecV1Beta1));
}

base::Result<ExecConfig> ReadKubeconfigExec(const Field& exec, const ExecClusterInfo& cluster, const std::string& directory) {
  ExecConfig config;
  bool told = false;
  EVENKEEL_TRY(exec["command"].Text(config.command));
  if (config.command.empty()) return exec["command"].Wrong("missing");
  if (config.command.find('/') != std::string::npos && config.command.front() != '/' && !directory.empty()) {
    config.command = (std::filesystem::path(directory) / config.command).lexically_normal().string();
  }
  EVENKEEL_TRY(exec["apiVersion"].Text(config.api_version));
  EVENKEEL_TRY(CheckExecApiVersion(exec["apiVersion"], config.api_version));
  EVENKEEL_TRY(exec["installHint"].Text(config.install_hint));
  EVENKEEL_TRY(CheckInteractiveMode(exec["interactiveMode"], config.api_version));
  EVENKEEL_TRY(exec["args"].Texts(config.args));
  EVENKEEL_TRY(ReadExecEnv(exec["env"], config));
  EVENKEEL_TRY(exec["provideClusterInfo"].Flag(told));
  if (told) config.cluster_info = ExecClusterInfoText(cluster);
  return config;
}

std::string ExecInfo(const ExecConfig& config) {
  std::string text = R"({"kind":"ExecCredential","apiVersion":)";
  base::AppendQuoted(text, config.api_version);
  text += R"(,"spec":{)";
  if (!config.cluster_info.empty()) text += "\"cluster\":" + config.cluster_info + ",";
  return text + "\"interactive\":false}}\n";
}

base::Result<ExecAnswer> ParseExecAnswer(std::string_view output, std::string_view api_version) {
  EVENKEEL_ASSIGN(const Json value, ReadOutput(output));
  if (FindString(value, {"kind"}) != "ExecCredential") {
    return Fail(Code::kUnavailable, "decoding stdout: its kind is not ExecCredential");
  }
  if (const std::string_view other = FindString(value, {"apiVersion"}); other != api_version) {
    return Fail(Code::kUnavailable, fmt::format("exec plugin is configured to use API version {}, plugin returned version {}",
                                                api_version, IsExecApiVersion(other) ? other : "of another name"));
  }
  const Field status(base::Find(value, {"status"}), "decoding stdout", "status", Code::kUnavailable);
  if (!status || !status.value().is_object()) return Fail(Code::kUnavailable, "exec plugin didn't return a status field");
  ExecAnswer answer;
  EVENKEEL_TRY(status["token"].Text(answer.token));
  EVENKEEL_TRY(status["clientCertificateData"].Text(answer.certificate_pem));
  EVENKEEL_TRY(status["clientKeyData"].Text(answer.key_pem));
  if (answer.token.empty() && answer.certificate_pem.empty() && answer.key_pem.empty()) {
    return Fail(Code::kUnavailable, "exec plugin didn't return a token or cert/key pair");
  }
  if (answer.certificate_pem.empty() != answer.key_pem.empty()) {
    return Fail(Code::kUnavailable, "exec plugin returned only certificate or key, not both");
  }
  if (std::ranges::any_of(answer.token, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; })) {
    return status["token"].Wrong("has blanks or control characters");
  }
  if (const Field expires = status["expirationTimestamp"]; !expires.IsEmpty()) EVENKEEL_TRY(expires.Instant(answer.expires));
  return answer;
}

std::string RedactedErrors(std::string_view text, const ExecConfig& config) {
  constexpr size_t kShownMax = 400;
  std::string shown = WithoutLines(text);
  for (const auto& [name, value] : config.env) {
    // What is as short as "1" or "true" is no secret, and hiding it would garble the rest.
    if (const std::string hidden = WithoutLines(value); hidden.size() > 4) ReplaceAll(shown, hidden);
  }
  shown = HideCredentials(HideAfterNames(std::move(shown)));
  // The end says why; what is before it is a stack.
  if (shown.size() > kShownMax) shown = "..." + shown.substr(shown.size() - kShownMax);
  while (shown.ends_with(' ')) shown.pop_back();
  if (shown.starts_with(' ')) shown.erase(0, 1);
  if (base::FindNotUtf8(shown) == std::string::npos) return shown;
  std::ranges::replace_if(shown, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  return shown;
}

}  // namespace evenkeel::client
