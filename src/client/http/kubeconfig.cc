#include "client/http/kubeconfig.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "base/hash.h"
#include "base/input/yaml.h"
#include "client/http/exec_credential.h"
#include "client/http/http_connection.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;
using base::FindString;
using base::Json;

constexpr size_t kKubeconfigBytesMax = 16u << 20;

/// A named cluster, user or context, and the file that it comes from.
struct KubeconfigEntry {
  Json value;
  std::string source;
  std::string directory;
};

/// Several kubeconfig files as kubectl sees them: of two entries with one name, the first counts.
struct MergedKubeconfig {
  std::map<std::string, KubeconfigEntry> clusters, users, contexts;
  std::vector<std::string> context_names;  // in the order of the files
  std::string current_context;
  std::string sources;  // for messages
};

std::unexpected<base::Error> BadField(const KubeconfigEntry& entry, std::string_view where, std::string_view field,
                                      std::string_view why) {
  return Fail(Code::kBadRequest, fmt::format("{}: {}.{}: {}", entry.source, where, field, why));
}

base::Status MergeEntries(const Json& config, std::string_view list, std::string_view member, const std::string& source,
                          const std::string& directory, std::map<std::string, KubeconfigEntry>& into,
                          std::vector<std::string>* names) {
  const Json* entries = base::Find(config, {list});
  if (entries == nullptr || entries->is_null()) return {};
  if (!entries->is_array()) return Fail(Code::kBadRequest, fmt::format("{}: {}: must be a list", source, list));
  for (const Json& entry : entries->get_array()) {
    const std::string name(FindString(entry, {"name"}));
    const Json* value = base::Find(entry, {member});
    if (name.empty()) return Fail(Code::kBadRequest, fmt::format("{}: {}: an entry without a name", source, list));
    if (value != nullptr && !value->is_object() && !value->is_null()) {
      return Fail(Code::kBadRequest, fmt::format("{}: {}[{}].{}: must be an object", source, list, name, member));
    }
    const bool added = into.try_emplace(name, value != nullptr ? *value : Json(base::JsonObject()), source, directory).second;
    if (added && names != nullptr) names->push_back(name);
  }
  return {};
}

base::Status MergeText(std::string_view text, const std::string& source, const std::string& directory,
                       MergedKubeconfig& merged) {
  EVENKEEL_ASSIGN(const Json config, base::ParseYamlDocument(text, source, base::YamlDuplicates::kLastCounts));
  if (!config.is_object()) return Fail(Code::kBadRequest, fmt::format("{}: not a kubeconfig", source));
  if (const std::string_view kind = FindString(config, {"kind"}, "Config"); kind != "Config") {
    return Fail(Code::kBadRequest, fmt::format("{}: kind: {} is not a kubeconfig (kind: Config)", source, kind));
  }
  EVENKEEL_TRY(MergeEntries(config, "clusters", "cluster", source, directory, merged.clusters, nullptr));
  EVENKEEL_TRY(MergeEntries(config, "users", "user", source, directory, merged.users, nullptr));
  EVENKEEL_TRY(MergeEntries(config, "contexts", "context", source, directory, merged.contexts, &merged.context_names));
  if (merged.current_context.empty()) merged.current_context = FindString(config, {"current-context"});
  merged.sources += (merged.sources.empty() ? "" : ":") + source;
  return {};
}

std::string DirectoryOf(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

std::string ResolvePath(const std::string& path, const std::string& directory) {
  if (path.starts_with('/') || directory.empty()) return path;
  return (std::filesystem::path(directory) / path).lexically_normal().string();
}

/// The files that `path`, or the environment in its place, names.
std::vector<std::string> KubeconfigFiles(const std::string& path) {
  if (!path.empty()) return {path};
  std::vector<std::string> files;
  if (const char* list = std::getenv("KUBECONFIG"); list != nullptr) {
    std::string_view rest = list;
    while (!rest.empty()) {
      const size_t colon = rest.find(':');
      if (colon != 0) files.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
    }
    if (!files.empty()) return files;
  }
  if (const char* home = std::getenv("HOME"); home != nullptr) files.push_back(std::string(home) + "/.kube/config");
  return files;
}

base::Result<MergedKubeconfig> ReadKubeconfigFiles(const std::string& path) {
  MergedKubeconfig merged;
  const std::vector<std::string> files = KubeconfigFiles(path);
  for (const std::string& file : files) {
    base::Result<std::string> text = base::ReadFile(file, kKubeconfigBytesMax);
    // kubectl skips files of the list that do not exist.
    if (!text && text.error().code() == Code::kNotFound && path.empty()) continue;
    if (!text) return Fail(text.error().Wrap("kubeconfig"));
    EVENKEEL_TRY(MergeText(*text, file, DirectoryOf(file), merged));
  }
  if (merged.sources.empty()) {
    std::string tried;
    for (const std::string& file : files) tried += (tried.empty() ? "" : ", ") + file;
    return Fail(Code::kNotFound, fmt::format("no kubeconfig found (looked for {}); name one with --kubeconfig or $KUBECONFIG",
                                             tried.empty() ? "$HOME/.kube/config" : tried));
  }
  return merged;
}

/// FIELD-data in base64, or the content of the file that FIELD names; "" when neither is there.
base::Result<std::string> ReadDataOrFile(const KubeconfigEntry& entry, const std::string& where, const std::string& field) {
  const std::string data_field = field + "-data";
  if (const std::string_view data = FindString(entry.value, {data_field}); !data.empty()) {
    std::string bytes;
    if (!base::Base64Decode(data, bytes)) return BadField(entry, where, data_field, "not base64");
    return bytes;
  }
  const std::string path(FindString(entry.value, {field}));
  if (path.empty()) return std::string();
  base::Result<std::string> content = base::ReadFile(ResolvePath(path, entry.directory), kKubeconfigBytesMax);
  if (!content) return Fail(content.error().Wrap(fmt::format("{}: {}.{}", entry.source, where, field)));
  return content;
}

base::Status ApplyCluster(const KubeconfigEntry& entry, const std::string& name, ConnectionConfig& config) {
  const std::string where = fmt::format("clusters[{}]", name);
  config.server = FindString(entry.value, {"server"});
  if (config.server.empty()) return BadField(entry, where, "server", "missing");
  config.tls_server_name = FindString(entry.value, {"tls-server-name"});
  config.insecure_skip_tls_verify = base::FindBool(entry.value, {"insecure-skip-tls-verify"});
  config.proxy_url = FindString(entry.value, {"proxy-url"});
  EVENKEEL_ASSIGN(config.ca_pem, ReadDataOrFile(entry, where, "certificate-authority"));
  if (config.insecure_skip_tls_verify && !config.ca_pem.empty()) {
    return BadField(entry, where, "insecure-skip-tls-verify", "contradicts certificate-authority; remove one of them");
  }
  return {};
}

/// What the extension of the cluster for plugins says; null: none.
Json PluginExtension(const Json& cluster) {
  for (const Json& extension : base::FindArray(cluster, {"extensions"})) {
    if (FindString(extension, {"name"}) != "client.authentication.k8s.io/exec") continue;
    if (const Json* value = base::Find(extension, {"extension"})) return *value;
  }
  return nullptr;
}

/// As kubectl does, credentials beside `exec` go before it without a word, and nothing of them is used without TLS.
base::Status ApplyExec(const KubeconfigEntry& entry, const std::string& where, const KubeconfigEntry& cluster,
                       ConnectionConfig& config) {
  const Json* exec = base::Find(entry.value, {"exec"});
  if (exec == nullptr || exec->is_null()) return {};
  const bool others =
      !config.token.empty() || !config.token_file.empty() || !config.username.empty() || !config.client_certificate_pem.empty();
  const auto endpoint = ParseEndpoint(config, {});
  if (others || (endpoint && !endpoint->tls)) return {};
  const ExecClusterInfo info{.server = config.server,
                             .tls_server_name = config.tls_server_name,
                             .ca_pem = config.ca_pem,
                             .proxy_url = config.proxy_url,
                             .insecure_skip_tls_verify = config.insecure_skip_tls_verify,
                             .disable_compression = base::FindBool(cluster.value, {"disable-compression"}),
                             .config = PluginExtension(cluster.value)};
  if (!exec->is_object()) return BadField(entry, where, "exec", "must be an object");
  auto read = ParseKubeconfigExec(*exec, info, entry.directory);
  if (!read) return Fail(Code::kBadRequest, fmt::format("{}: {}.exec.{}", entry.source, where, read.error().message()));
  config.exec = std::make_shared<const ExecConfig>(*std::move(read));
  return {};
}

base::Status ApplyUser(const KubeconfigEntry& entry, const std::string& name, const KubeconfigEntry& cluster,
                       ConnectionConfig& config) {
  const std::string where = fmt::format("users[{}]", name);
  if (const Json* provider = base::Find(entry.value, {"auth-provider"}); provider != nullptr && !provider->is_null()) {
    return BadField(
        entry, where, "auth-provider",
        "is not supported, as kubectl has removed all but one of its kind; use a credential plugin (exec), a client "
        "certificate, a token or a tokenFile");
  }
  if (!FindString(entry.value, {"as"}).empty()) {
    return BadField(entry, where, "as", "impersonation is not supported; use credentials of that user");
  }
  EVENKEEL_ASSIGN(config.client_certificate_pem, ReadDataOrFile(entry, where, "client-certificate"));
  EVENKEEL_ASSIGN(config.client_key_pem, ReadDataOrFile(entry, where, "client-key"));
  if (config.client_certificate_pem.empty() != config.client_key_pem.empty()) {
    const bool no_key = config.client_key_pem.empty();
    return BadField(entry, where, no_key ? "client-key" : "client-certificate",
                    no_key ? "missing, although there is a client-certificate" : "missing, although there is a client-key");
  }
  config.token = FindString(entry.value, {"token"});
  if (const std::string path(FindString(entry.value, {"tokenFile"})); !path.empty()) {
    config.token_file = ResolvePath(path, entry.directory);
  }
  config.username = FindString(entry.value, {"username"});
  config.password = FindString(entry.value, {"password"});
  return ApplyExec(entry, where, cluster, config);
}

base::Result<ConnectionConfig> ResolveContext(const MergedKubeconfig& merged, const std::string& wanted) {
  const std::string name = wanted.empty() ? merged.current_context : wanted;
  if (name.empty()) {
    return Fail(Code::kBadRequest, fmt::format("{}: current-context: not set; name a context", merged.sources));
  }
  auto context = merged.contexts.find(name);
  if (context == merged.contexts.end()) {
    std::string known;
    for (const std::string& other : merged.context_names) known += (known.empty() ? "" : ", ") + other;
    return Fail(Code::kNotFound,
                fmt::format("{}: no context \"{}\"; there are: {}", merged.sources, name, known.empty() ? "none" : known));
  }
  const KubeconfigEntry& entry = context->second;
  const std::string where = fmt::format("contexts[{}]", name);
  const std::string cluster_name(FindString(entry.value, {"cluster"}));
  const std::string user_name(FindString(entry.value, {"user"}));
  auto cluster = merged.clusters.find(cluster_name);
  if (cluster == merged.clusters.end())
    return BadField(entry, where, "cluster", fmt::format("no cluster \"{}\"", cluster_name));
  ConnectionConfig config;
  EVENKEEL_TRY(ApplyCluster(cluster->second, cluster_name, config));
  if (!user_name.empty()) {
    auto user = merged.users.find(user_name);
    if (user == merged.users.end()) return BadField(entry, where, "user", fmt::format("no user \"{}\"", user_name));
    EVENKEEL_TRY(ApplyUser(user->second, user_name, cluster->second, config));
  }
  if (const std::string_view ns = FindString(entry.value, {"namespace"}); !ns.empty()) config.ns = ns;
  return config;
}

void SetUnlessEmpty(base::JsonObject& object, std::string_view key, std::string_view value) {
  if (!value.empty()) object[key] = value;
}

void SetBase64(base::JsonObject& object, std::string_view key, std::string_view value) {
  if (!value.empty()) object[key] = base::Base64Encode(value);
}

}  // namespace

base::Result<ConnectionConfig> LoadKubeconfig(const KubeconfigSource& source) {
  EVENKEEL_ASSIGN(const MergedKubeconfig merged, ReadKubeconfigFiles(source.path));
  return ResolveContext(merged, source.context);
}

base::Result<ConnectionConfig> ParseKubeconfig(std::string_view text, std::string_view source, const std::string& context,
                                               const std::string& directory) {
  MergedKubeconfig merged;
  EVENKEEL_TRY(MergeText(text, std::string(source), directory, merged));
  return ResolveContext(merged, context);
}

base::Result<std::vector<std::string>> KubeconfigContexts(const std::string& path) {
  EVENKEEL_ASSIGN(MergedKubeconfig merged, ReadKubeconfigFiles(path));
  return std::move(merged.context_names);
}

base::Result<ConnectionConfig> InClusterConfig(const std::string& directory) {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || *host == '\0') {
    return Fail(Code::kNotFound, "not in a cluster: $KUBERNETES_SERVICE_HOST is not set; use --kubeconfig");
  }
  ConnectionConfig config;
  const bool is_v6 = std::string_view(host).find(':') != std::string_view::npos;
  config.server = fmt::format("https://{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
                              port != nullptr && *port != '\0' ? port : "443");
  config.token_file = directory + "/token";
  base::Result<std::string> token = base::ReadFile(config.token_file, 1 << 20);
  if (!token) return Fail(Code::kNotFound, "not in a cluster: " + token.error().message());
  // Without the CA the system's are asked, as client-go does.
  if (base::Result<std::string> ca = base::ReadFile(directory + "/ca.crt", kKubeconfigBytesMax)) config.ca_pem = *std::move(ca);
  if (base::Result<std::string> ns = base::ReadFile(directory + "/namespace", 1 << 10)) {
    while (!ns->empty() && (ns->back() == '\n' || ns->back() == ' ')) ns->pop_back();
    if (!ns->empty()) config.ns = *std::move(ns);
  }
  return config;
}

std::string WriteKubeconfig(const std::vector<std::pair<std::string, ConnectionConfig>>& contexts, const std::string& current) {
  base::JsonArray clusters, users, context_list;
  for (const auto& [name, config] : contexts) {
    base::JsonObject cluster{{"server", config.server}};
    SetBase64(cluster, "certificate-authority-data", config.ca_pem);
    SetUnlessEmpty(cluster, "tls-server-name", config.tls_server_name);
    if (config.insecure_skip_tls_verify) cluster["insecure-skip-tls-verify"] = true;
    SetUnlessEmpty(cluster, "proxy-url", config.proxy_url);
    base::JsonObject user;
    SetBase64(user, "client-certificate-data", config.client_certificate_pem);
    SetBase64(user, "client-key-data", config.client_key_pem);
    SetUnlessEmpty(user, "token", config.token);
    SetUnlessEmpty(user, "tokenFile", config.token_file);
    SetUnlessEmpty(user, "username", config.username);
    SetUnlessEmpty(user, "password", config.password);
    base::JsonObject context{{"cluster", name}, {"user", name}};
    if (config.ns != "default") SetUnlessEmpty(context, "namespace", config.ns);
    clusters.push_back(base::JsonObject{{"name", name}, {"cluster", std::move(cluster)}});
    users.push_back(base::JsonObject{{"name", name}, {"user", std::move(user)}});
    context_list.push_back(base::JsonObject{{"name", name}, {"context", std::move(context)}});
  }
  return base::ToYaml(base::JsonObject{{"apiVersion", "v1"},
                                       {"kind", "Config"},
                                       {"clusters", std::move(clusters)},
                                       {"users", std::move(users)},
                                       {"contexts", std::move(context_list)},
                                       {"current-context", current}});
}

std::string WithoutUserinfo(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == url.npos ? 0 : scheme + 3;
  const std::string_view authority = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  const size_t at = authority.rfind('@');
  if (at == authority.npos) return std::string(url);
  return std::string(url.substr(0, begin)) + std::string(url.substr(begin + at + 1));
}

}  // namespace evenkeel::client
