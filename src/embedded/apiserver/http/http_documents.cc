// Paths that are not resources: health, version, metrics, discovery, OpenAPI.
#include "base/hash.h"
#include "base/log.h"
#include "base/process/descriptors.h"
#include "base/process/free_memory.h"
#include "embedded/apiserver/http/http_handler_impl.h"
#include "kube/forms/openapi.h"
#include "kube/schema/schema_text.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;

Json VersionInfo(const std::string& git_version) {
  return base::JsonObject{{"major", "1"},    {"minor", "36"},           {"gitVersion", git_version},
                          {"gitCommit", ""}, {"gitTreeState", "clean"}, {"buildDate", "1970-01-01T00:00:00Z"},
                          {"goVersion", ""}, {"compiler", "clang"},     {"platform", "linux/amd64"}};
}

std::string GroupVersionPath(const kube::Resource& resource) {
  return resource.group.empty() ? "api/" + resource.version : "apis/" + resource.group + "/" + resource.version;
}

// By "api/v1", "apis/apps/v1", in order.
std::vector<std::pair<std::string, std::vector<ServedPointer>>> ByGroupVersion(const std::vector<ServedPointer>& all) {
  std::vector<std::pair<std::string, std::vector<ServedPointer>>> groups;
  std::map<std::string, size_t> places;
  for (const ServedPointer& served : all) {
    const auto [place, added] = places.try_emplace(GroupVersionPath(served->resource), groups.size());
    if (added) groups.emplace_back(place->first, std::vector<ServedPointer>());
    groups[place->second].second.push_back(served);
  }
  return groups;
}

// Of custom kinds the schemas are read one after the other: all at once would take many times the document's memory.
void WriteOpenApi(kube::OpenApiForm form, const std::vector<ServedPointer>& about, GzipWriter& out) {
  kube::OpenApiDocument document(form);
  for (const ServedPointer& served : about) document.Add(WithSchema(served)->resource);
  document.Write([&out](std::string_view piece) { out.Append(piece); });
}

/// One copy of equal texts in this process: the members of an embedded fleet serve the same kinds.
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

std::string ApiHandler::Impl::EtagOf(const std::vector<ServedPointer>& about) const {
  uint64_t digest = base::XxHash64(options.git_version, kube::DigestOfBuiltInSchemas());
  for (const ServedPointer& served : about) digest = base::XxHash64(served->head + served->says, digest);
  return fmt::format("{:016X}", digest);
}

void ApiHandler::Impl::DropOldDocuments() {
  const uint64_t generation = api.resources().generation();
  if (documents_generation.exchange(generation) == generation) return;
  const std::vector<ServedPointer> all = api.resources().All();
  std::map<std::string, std::string> current;
  for (const auto& [path, about] : ByGroupVersion(all)) current["openapi/v3/" + path] = EtagOf(about);
  const std::string whole = EtagOf(all);
  std::lock_guard lock(documents_mutex);
  std::erase_if(documents, [&](const auto& entry) {
    if (!entry.first.starts_with("openapi/v3/")) return entry.second.etag != whole;
    const auto found = current.find(entry.first);
    return found == current.end() || found->second != entry.second.etag;
  });
}

Chunk ApiHandler::Impl::MakeDocument(const std::string& key, const std::string& etag,
                                     const std::function<void(GzipWriter& out)>& make) {
  {
    std::lock_guard lock(documents_mutex);
    const auto found = documents.find(key);
    if (found != documents.end() && found->second.etag == etag) return found->second.gzip;
  }
  Chunk gzip;
  {
    GzipWriter out;
    make(out);
    gzip = SharedText(out.Finish());
  }
  base::GiveBackFreeMemory();
  std::lock_guard lock(documents_mutex);
  documents[key] = {.etag = etag, .gzip = gzip};
  return gzip;
}

void ApiHandler::Impl::SendDocument(const ExchangePointer& exchange, const std::string& key, const std::string& content_type,
                                    const std::vector<ServedPointer>& about, const std::function<void(GzipWriter& out)>& make) {
  const std::string etag = EtagOf(about);
  const std::string quoted = "\"" + etag + "\"";
  const HttpHeaders headers = {{"ETag", quoted}, {"Vary", "Accept, Accept-Encoding"}};
  if (exchange->Header("if-none-match") == quoted) return exchange->SendChunks(304, content_type, {}, headers);
  exchange->SendGzip(content_type, MakeDocument(key, etag, make), headers);
}

bool ApiHandler::Impl::RouteDocument(const ExchangePointer& exchange, const std::vector<std::string>& parts) {
  DropOldDocuments();
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
    return SendDocument(exchange, "discovery/" + parts[0] + "/" + wanted->version, type, table.All(),
                        [&](GzipWriter& out) { out.Append(base::ToText(AggregatedDiscovery(table, core, wanted->version))); });
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
    const std::vector<ServedPointer> all = table.All();
    const bool protobuf = wanted->form == Form::kOpenApiProtobuf;
    const auto form = protobuf ? kube::OpenApiForm::kV2Protobuf : kube::OpenApiForm::kV2;
    // Clients ask with an "@" in the name, which is no media type that they could parse in an answer.
    return SendDocument(exchange, protobuf ? "openapi/v2.pb" : "openapi/v2",
                        protobuf ? "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" : "application/json", all,
                        [&](GzipWriter& out) { WriteOpenApi(form, all, out); });
  }
  const auto groups = ByGroupVersion(table.All());
  if (parts.size() == 2 && parts[1] == "v3") {
    base::JsonObject paths;
    for (const auto& [path, about] : groups) {
      paths[path] = base::JsonObject{{"serverRelativeURL", "/openapi/v3/" + path + "?hash=" + EtagOf(about)}};
    }
    return exchange->SendJson(200, base::JsonObject{{"paths", std::move(paths)}});
  }
  std::string wanted;
  for (size_t i = 2; i < parts.size() && parts[1] == "v3"; ++i) wanted += (i == 2 ? "" : "/") + parts[i];
  const auto found = std::ranges::find_if(groups, [&](const auto& group) { return group.first == wanted; });
  // Names of groups that are not served must not fill the cache.
  if (found == groups.end()) return exchange->SendError(NoSuchResourceError());
  SendDocument(exchange, "openapi/v3/" + wanted, "application/json", found->second,
               [&](GzipWriter& out) { WriteOpenApi(kube::OpenApiForm::kV3, found->second, out); });
}

}  // namespace evenkeel::embedded::apiserver
