// Paths that are not resources: health, version, metrics, discovery, OpenAPI.
#include "base/descriptors.h"
#include "base/hash.h"
#include "base/log.h"
#include "embedded/apiserver/http_handler_impl.h"
#include "kube/openapi.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;

Json VersionInfo(const std::string& git_version) {
  return base::JsonObject{{"major", "1"},    {"minor", "30"},           {"gitVersion", git_version},
                          {"gitCommit", ""}, {"gitTreeState", "clean"}, {"buildDate", "1970-01-01T00:00:00Z"},
                          {"goVersion", ""}, {"compiler", "clang"},     {"platform", "linux/amd64"}};
}

std::string HashText(std::string_view text) { return fmt::format("{:016X}", base::Fnv1a64(text)); }

// Owns what its pointers refer to while a document is made.
struct ResourceList {
  std::vector<ServedPointer> served;
  std::vector<const kube::Resource*> pointers;
};

ResourceList ResourcesOf(const ResourceTable& table, const std::function<bool(const kube::Resource&)>& wanted) {
  ResourceList list;
  for (const ServedPointer& served : table.All()) {
    if (!wanted(served->resource)) continue;
    list.served.push_back(served);
    list.pointers.push_back(&served->resource);
  }
  return list;
}

// "api/v1", "apis/apps/v1" of everything served, in order.
std::vector<std::string> GroupVersionPaths(const ResourceTable& table) {
  std::vector<std::string> paths;
  for (const ServedPointer& served : table.All()) {
    const kube::Resource& resource = served->resource;
    std::string path = resource.group.empty() ? "api/" + resource.version : "apis/" + resource.group + "/" + resource.version;
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
  }
  return paths;
}

std::string OpenApiV3Text(const ResourceTable& table, const std::string& group, const std::string& version) {
  const ResourceList list = ResourcesOf(
      table, [&](const kube::Resource& resource) { return resource.group == group && resource.version == version; });
  return list.pointers.empty() ? "" : base::ToText(kube::OpenApiV3(group, version, list.pointers));
}

/// One copy of equal texts in this process: the members of an embedded fleet serve the same kinds, and each has half a megabyte
/// of documents about them.
Chunk SharedText(std::string text) {
  static std::mutex mutex;
  static std::map<uint64_t, std::weak_ptr<const std::string>> texts;
  const uint64_t hash = base::Fnv1a64(text);
  std::lock_guard lock(mutex);
  if (const auto known = texts.find(hash); known != texts.end()) {
    if (const Chunk same = known->second.lock(); same && *same == text) return same;
  }
  std::erase_if(texts, [](const auto& entry) { return entry.second.expired(); });
  const auto made = std::make_shared<const std::string>(std::move(text));
  texts[hash] = made;
  return made;
}

}  // namespace

ApiHandler::Impl::Document ApiHandler::Impl::MakeDocument(const std::string& key, const std::function<std::string()>& make) {
  const uint64_t generation = api.resources().generation();
  {
    std::lock_guard lock(documents_mutex);
    const auto found = documents.find(key);
    if (found != documents.end() && found->second.generation == generation) return found->second;
  }
  Document document{.generation = generation, .etag = {}, .body = SharedText(make())};
  document.etag = HashText(*document.body);
  std::lock_guard lock(documents_mutex);
  // Documents of groups that are gone are dropped with the next change.
  std::erase_if(documents, [&](const auto& entry) { return entry.second.generation != generation; });
  documents[key] = document;
  return document;
}

void ApiHandler::Impl::SendDocument(const ExchangePointer& exchange, const std::string& key, const std::string& content_type,
                                    const std::function<std::string()>& make) {
  const Document document = MakeDocument(key, make);
  if (document.body->empty()) return exchange->SendError(NoSuchResourceError());
  const std::string etag = "\"" + document.etag + "\"";
  const std::vector<std::pair<std::string, std::string>> headers = {{"ETag", etag}, {"Vary", "Accept"}};
  if (exchange->Header("if-none-match") == etag) return exchange->SendChunks(304, content_type, {}, headers);
  exchange->SendChunks(200, content_type, {document.body}, headers);
}

bool ApiHandler::Impl::RouteDocument(const ExchangePointer& exchange, const std::vector<std::string>& parts) {
  const bool is_get = exchange->request.method == "GET" || exchange->request.method == "HEAD";
  if (parts.empty() || (parts[0] == "api" && parts.size() <= 2) || (parts[0] == "apis" && parts.size() <= 3)) {
    if (!is_get) {
      exchange->SendError(MethodNotAllowedError());
    } else {
      SendDiscovery(exchange, parts);
    }
    return true;
  }
  if (parts[0] == "healthz" || parts[0] == "livez" || parts[0] == "readyz") {
    RouteHealth(exchange, parts);
    return true;
  }
  if (parts[0] == "version" && parts.size() == 1) {
    exchange->SendJson(200, VersionInfo(options.git_version));
    return true;
  }
  if (parts[0] == "metrics" && parts.size() == 1) {
    exchange->SendText(200, "text/plain; version=0.0.4; charset=utf-8", metrics->Text(api.store().current_revision()));
    return true;
  }
  if (parts[0] == "openapi") {
    RunInTurn(exchange, [self = shared_from_this(), exchange, parts] { self->SendOpenApi(exchange, parts); });
    return true;
  }
  return false;
}

void ApiHandler::Impl::RouteHealth(const ExchangePointer& exchange, const std::vector<std::string>& parts) {
  // What a restart mends is all that concerns liveness.
  std::vector<std::string> checks{"ping"};
  if (parts[0] != "livez") checks.insert(checks.end(), {"descriptors", "informer-sync", "store"});
  if (parts.size() > 2 || (parts.size() == 2 && std::ranges::find(checks, parts[1]) == checks.end())) {
    return exchange->SendError(NoSuchResourceError());
  }
  if (parts.size() == 2) checks = {parts[1]};
  std::erase(checks, exchange->query.Get("exclude"));
  const auto answer = [self = shared_from_this(), exchange, what = parts[0], checks] {
    self->SendHealth(exchange, what, checks);
  };
  const bool blocks = api.store().reads_block() && std::ranges::find(checks, "store") != checks.end();
  blocks ? RunInTurn(exchange, answer) : answer();
}

base::Status ApiHandler::Impl::Check(const std::string& check) {
  if (check == "store") return api.store().Health();
  if (check == "informer-sync" && !api.HearsOfChanges()) {
    return base::Fail(Code::kUnavailable, "what others have changed of CRDs, webhooks and roles is not known yet");
  }
  if (check == "descriptors" && base::DescriptorsAreShort(base::SystemClock().Monotonic())) {
    return base::Fail(Code::kUnavailable, "none was left for a connection: raise the limit of open files");
  }
  return {};
}

void ApiHandler::Impl::SendHealth(const ExchangePointer& exchange, const std::string& what,
                                  const std::vector<std::string>& checks) {
  std::string text;
  bool good = true;
  for (const std::string& check : checks) {
    const base::Status status = Check(check);
    text += status ? "[+]" + check + " ok\n" : "[-]" + check + " failed: " + status.error().message() + "\n";
    if (status) continue;
    good = false;
    base::log::Warn("not ready", {{"server", api.options().name}, {"check", check}, {"error", status.error()}});
  }
  const char* type = "text/plain; charset=utf-8";
  if (good && !exchange->query.Has("verbose")) return exchange->SendText(200, type, "ok");
  exchange->SendText(good ? 200 : 500, type, text + what + " check " + (good ? "passed" : "failed") + "\n");
}

void ApiHandler::Impl::SendDiscovery(const ExchangePointer& exchange, const std::vector<std::string>& parts) {
  const ResourceTable& table = api.resources();
  if (parts.empty()) return exchange->SendJson(200, RootPaths(table));
  const bool core = parts[0] == "api";
  const auto wanted = parts.size() == 1 ? NegotiateForm(exchange->Header("accept"), {.forms = {Form::kAggregatedDiscovery}})
                                        : NegotiateForm(exchange->Header("accept"), {});
  if (!wanted) return exchange->SendError(wanted.error());
  exchange->wanted = *wanted;
  if (wanted->form == Form::kAggregatedDiscovery) {
    const std::string type = "application/json;g=apidiscovery.k8s.io;v=" + wanted->version + ";as=APIGroupDiscoveryList";
    return SendDocument(exchange, "discovery/" + parts[0] + "/" + wanted->version, type,
                        [&] { return base::ToText(AggregatedDiscovery(table, core, wanted->version)); });
  }
  Json answer;
  if (parts.size() == 1) {
    answer = core ? ApiVersions() : ApiGroupList(table);
  } else if (core) {
    answer = ApiResourceList(table, "", parts[1]);
  } else if (parts.size() == 2) {
    answer = ApiGroup(table, parts[1]);
  } else {
    answer = ApiResourceList(table, parts[1], parts[2]);
  }
  if (answer.is_null()) return exchange->SendError(NoSuchResourceError());
  exchange->SendJson(200, answer);
}

void ApiHandler::Impl::SendOpenApi(const ExchangePointer& exchange, const std::vector<std::string>& parts) {
  const ResourceTable& table = api.resources();
  if (parts.size() == 2 && parts[1] == "v2") {
    const auto wanted = NegotiateForm(exchange->Header("accept"), {.forms = {Form::kOpenApiProtobuf}});
    if (!wanted) return exchange->SendError(wanted.error());
    const auto document = [&table] {
      const ResourceList list = ResourcesOf(table, [](const kube::Resource&) { return true; });
      return kube::OpenApiV2(list.pointers);
    };
    if (wanted->form == Form::kOpenApiProtobuf) {
      // Clients ask with an "@" in the name, which is no media type that they could parse in an answer.
      return SendDocument(exchange, "openapi/v2.pb", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                          [&] { return kube::OpenApiV2Protobuf(document()); });
    }
    return SendDocument(exchange, "openapi/v2", "application/json", [&] { return base::ToText(document()); });
  }
  if (parts.size() == 2 && parts[1] == "v3") {
    base::JsonObject paths;
    for (const std::string& path : GroupVersionPaths(table)) {
      const bool core = path.starts_with("api/");
      std::string group, version;
      kube::SplitApiVersion(core ? path.substr(4) : path.substr(5), group, version);
      const Document document = MakeDocument("openapi/v3/" + path, [&] { return OpenApiV3Text(table, group, version); });
      paths[path] = base::JsonObject{{"serverRelativeURL", "/openapi/v3/" + path + "?hash=" + document.etag}};
    }
    return exchange->SendJson(200, base::JsonObject{{"paths", std::move(paths)}});
  }
  std::string group, version;
  if (parts.size() == 4 && parts[1] == "v3" && parts[2] == "api") {
    version = parts[3];
  } else if (parts.size() == 5 && parts[1] == "v3" && parts[2] == "apis") {
    group = parts[3];
    version = parts[4];
  } else {
    return exchange->SendError(NoSuchResourceError());
  }
  // Names of groups that are not served must not fill the cache.
  const ResourceList list = ResourcesOf(
      table, [&](const kube::Resource& resource) { return resource.group == group && resource.version == version; });
  if (list.pointers.empty()) return exchange->SendError(NoSuchResourceError());
  const std::string path = group.empty() ? "api/" + version : "apis/" + group + "/" + version;
  SendDocument(exchange, "openapi/v3/" + path, "application/json", [&] { return OpenApiV3Text(table, group, version); });
}

}  // namespace evenkeel::embedded::apiserver
