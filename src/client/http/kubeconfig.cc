#include "client/http/kubeconfig.h"

#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/hash.h"
#include "base/input/field.h"
#include "base/input/file.h"
#include "base/input/yaml.h"
#include "base/text.h"
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
  std::string path;  ///< "users[ann]"

  base::Field operator[](std::string_view field) const { return base::Field(&value, source, path)[field]; }
};

/// Several kubeconfig files as kubectl sees them: of two entries with one name, the first counts.
struct MergedKubeconfig {
  std::map<std::string, KubeconfigEntry> clusters, users, contexts;
  std::vector<std::string> context_names;  // in the order of the files
  std::string current_context;
  std::string sources;  // for messages
};

base::Status MergeEntries(const base::Field& config, const std::string& list, std::string_view member,
                          const std::string& source, const std::string& directory, std::map<std::string, KubeconfigEntry>& into,
                          std::vector<std::string>* names = nullptr) {
  return config[list].ForEach([&](const base::Field& entry) -> base::Status {
    std::string name;
    EVENKEEL_TRY(entry["name"].Text(name));
    if (name.empty()) return entry.Wrong("an entry without a name");
    const base::Field value = entry[member];
    if (value) EVENKEEL_TRY(value.IsObject());
    KubeconfigEntry kept{value ? value.value() : Json(base::JsonObject()), source, directory,
                         fmt::format("{}[{}]", list, name)};
    if (into.try_emplace(name, std::move(kept)).second && names != nullptr) names->push_back(name);
    return {};
  });
}

base::Status MergeText(std::string_view text, const std::string& source, const std::string& directory,
                       MergedKubeconfig& merged) {
  EVENKEEL_ASSIGN(const Json config, base::ParseYamlDocument(text, source, base::YamlDuplicates::kLastCounts));
  if (!config.is_object()) return Fail(Code::kBadRequest, fmt::format("{}: not a kubeconfig", source));
  const base::Field root(&config, source);
  std::string kind = "Config";
  EVENKEEL_TRY(root["kind"].Text(kind));
  if (kind != "Config") return root["kind"].Wrong(kind + " is not a kubeconfig (kind: Config)");
  EVENKEEL_TRY(MergeEntries(root, "clusters", "cluster", source, directory, merged.clusters));
  EVENKEEL_TRY(MergeEntries(root, "users", "user", source, directory, merged.users));
  EVENKEEL_TRY(MergeEntries(root, "contexts", "context", source, directory, merged.contexts, &merged.context_names));
  if (merged.current_context.empty()) EVENKEEL_TRY(root["current-context"].Text(merged.current_context));
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
    for (const std::string_view file : base::SplitWords(list, ':')) files.emplace_back(file);
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
base::Result<std::string> ReadDataOrFile(const KubeconfigEntry& entry, const std::string& field) {
  std::string data, path;
  EVENKEEL_TRY(entry[field + "-data"].Text(data));
  if (!data.empty()) {
    std::string bytes;
    if (!base::Base64Decode(data, bytes)) return entry[field + "-data"].Wrong("not base64");
    return bytes;
  }
  EVENKEEL_TRY(entry[field].Text(path));
  if (path.empty()) return std::string();
  base::Result<std::string> content = base::ReadFile(ResolvePath(path, entry.directory), kKubeconfigBytesMax);
  if (!content) return Fail(content.error().Wrap(fmt::format("{}: {}.{}", entry.source, entry.path, field)));
  return content;
}

base::Status ApplyCluster(const KubeconfigEntry& entry, ConnectionConfig& config) {
  EVENKEEL_TRY(entry["server"].Text(config.server));
  if (config.server.empty()) return entry["server"].Wrong("missing");
  EVENKEEL_TRY(entry["tls-server-name"].Text(config.tls_server_name));
  EVENKEEL_TRY(entry["insecure-skip-tls-verify"].Flag(config.insecure_skip_tls_verify));
  EVENKEEL_TRY(entry["proxy-url"].Text(config.proxy_url));
  EVENKEEL_ASSIGN(config.ca_pem, ReadDataOrFile(entry, "certificate-authority"));
  if (config.insecure_skip_tls_verify && !config.ca_pem.empty()) {
    return entry["insecure-skip-tls-verify"].Wrong("contradicts certificate-authority; remove one of them");
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
base::Status ApplyExec(const KubeconfigEntry& entry, const KubeconfigEntry& cluster, ConnectionConfig& config) {
  const base::Field exec = entry["exec"];
  if (!exec) return {};
  const bool others =
      !config.token.empty() || !config.token_file.empty() || !config.username.empty() || !config.client_certificate_pem.empty();
  const auto endpoint = ParseEndpoint(config, {});
  if (others || (endpoint && !endpoint->tls)) return {};
  bool disable_compression = false;
  EVENKEEL_TRY(cluster["disable-compression"].Flag(disable_compression));
  const ExecClusterInfo info{.server = config.server,
                             .tls_server_name = config.tls_server_name,
                             .ca_pem = config.ca_pem,
                             .proxy_url = config.proxy_url,
                             .insecure_skip_tls_verify = config.insecure_skip_tls_verify,
                             .disable_compression = disable_compression,
                             .config = PluginExtension(cluster.value)};
  EVENKEEL_TRY(exec.IsObject());
  EVENKEEL_ASSIGN(ExecConfig read, ReadKubeconfigExec(exec, info, entry.directory));
  config.exec = std::make_shared<const ExecConfig>(std::move(read));
  return {};
}

base::Status ApplyUser(const KubeconfigEntry& entry, const KubeconfigEntry& cluster, ConnectionConfig& config) {
  if (entry["auth-provider"]) {
    return entry["auth-provider"].Wrong(
        "is not supported, as kubectl has removed all but one of its kind; use a credential plugin (exec), a client "
        "certificate, a token or a tokenFile");
  }
  if (!entry["as"].IsEmpty()) return entry["as"].Wrong("impersonation is not supported; use credentials of that user");
  EVENKEEL_ASSIGN(config.client_certificate_pem, ReadDataOrFile(entry, "client-certificate"));
  EVENKEEL_ASSIGN(config.client_key_pem, ReadDataOrFile(entry, "client-key"));
  if (config.client_certificate_pem.empty() && !config.client_key_pem.empty()) {
    return entry["client-certificate"].Wrong("missing, although there is a client-key");
  }
  if (config.client_key_pem.empty() && !config.client_certificate_pem.empty()) {
    return entry["client-key"].Wrong("missing, although there is a client-certificate");
  }
  std::string token_file;
  EVENKEEL_TRY(entry["token"].Text(config.token));
  EVENKEEL_TRY(entry["tokenFile"].Text(token_file));
  EVENKEEL_TRY(entry["username"].Text(config.username));
  EVENKEEL_TRY(entry["password"].Text(config.password));
  if (!token_file.empty()) config.token_file = ResolvePath(token_file, entry.directory);
  return ApplyExec(entry, cluster, config);
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
  std::string cluster_name, user_name, ns;
  EVENKEEL_TRY(entry["cluster"].Text(cluster_name));
  EVENKEEL_TRY(entry["user"].Text(user_name));
  EVENKEEL_TRY(entry["namespace"].Text(ns));
  auto cluster = merged.clusters.find(cluster_name);
  if (cluster == merged.clusters.end()) return entry["cluster"].Wrong(fmt::format("no cluster \"{}\"", cluster_name));
  ConnectionConfig config;
  EVENKEEL_TRY(ApplyCluster(cluster->second, config));
  if (!user_name.empty()) {
    auto user = merged.users.find(user_name);
    if (user == merged.users.end()) return entry["user"].Wrong(fmt::format("no user \"{}\"", user_name));
    EVENKEEL_TRY(ApplyUser(user->second, cluster->second, config));
  }
  if (!ns.empty()) config.ns = std::move(ns);
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
