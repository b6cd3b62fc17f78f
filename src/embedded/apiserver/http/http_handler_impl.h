// The parts of ApiHandler: routing (http_handler.cc), reads (http_read.cc), writes (http_write.cc), documents
// (http_documents.cc).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "embedded/apiserver/api/discovery.h"
#include "embedded/apiserver/http/gzip.h"
#include "embedded/apiserver/http/http_exchange.h"
#include "embedded/apiserver/http/http_handler.h"
#include "embedded/apiserver/http/watch_streams.h"
#include "embedded/apiserver/objects/protobuf_cache.h"
#include "embedded/apiserver/requests/errors.h"

namespace evenkeel::embedded::apiserver {

struct ApiHandler::Impl : std::enable_shared_from_this<ApiHandler::Impl> {
  Impl(Api& served_api, ApiHandlerOptions handler_options);

  Api& api;
  const ApiHandlerOptions options;
  const std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>();
  std::shared_ptr<WatchStreams> watches;
  std::unique_ptr<RequestQueue> queue;  // null: requests run where they come in

  // For stores that give the same value each time, since it is in memory.
  ProtobufCache protobuf_cache;

  // Documents that change only with what is served, which `etag` stands for.
  struct Document {
    std::string etag;
    Chunk gzip;
  };
  std::atomic<uint64_t> documents_generation = 0;
  std::mutex documents_mutex;
  std::map<std::string, Document> documents;

  /// Whether the request may be carried out: kForbidden. `head.user` becomes whom it impersonates.
  base::Status Decide(HttpRequest& head);
  /// The answer to what may not be, counted and recorded.
  HttpResponse RefuseHead(const HttpRequest& head, const base::Error& error);
  void RecordRefusal(const std::string& method, const Call& call, const base::Error& error);

  void Route(const ExchangePointer& exchange);
  /// Runs the task when it is the turn of who asks, or answers that there is too much to do.
  void RunInTurn(const ExchangePointer& exchange, base::Task task);
  void RouteResource(const ExchangePointer& exchange, const ResourcePath& path);
  void RouteHealth(const ExchangePointer& exchange, const std::vector<std::string>& parts);
  base::Status Check(const std::string& check);
  void SendHealth(const ExchangePointer& exchange, const std::string& what, const std::vector<std::string>& checks);
  bool RouteDocument(const ExchangePointer& exchange, const std::vector<std::string>& parts);
  void SendOpenApi(const ExchangePointer& exchange, const std::vector<std::string>& parts);
  void SendDiscovery(const ExchangePointer& exchange, const std::vector<std::string>& parts);
  /// The cached document under `key`, made by `make` again when it is about others than before; answers If-None-Match.
  void SendDocument(const ExchangePointer& exchange, const std::string& key, const std::string& content_type,
                    const std::vector<ServedPointer>& about, const std::function<void(GzipWriter& out)>& make);
  Chunk MakeDocument(const std::string& key, const std::string& etag, const std::function<void(GzipWriter& out)>& make);
  void DropOldDocuments();
  std::string EtagOf(const std::vector<ServedPointer>& about) const;

  void Read(const ExchangePointer& exchange, const Call& call);
  void GetOne(const ExchangePointer& exchange, const Call& call);
  void List(const ExchangePointer& exchange, const Call& call);
  void Watch(const ExchangePointer& exchange, const Call& call);
  void GetLog(const ExchangePointer& exchange, const Call& call);

  /// Answers a request that does not get as far as Api, and has it recorded if it is a write.
  void Refuse(const ExchangePointer& exchange, const Call& call, const base::Error& error);
  void Change(const ExchangePointer& exchange, Call call);
  void Write(const ExchangePointer& exchange, Call call);
  void Create(const ExchangePointer& exchange, Call call);
  void Patch(const ExchangePointer& exchange, Call call);
  void Delete(const ExchangePointer& exchange, Call call);
};

/// What a body is that does not say it itself, as one in protocol buffers may.
struct BodyKind {
  std::string api_version, kind;
  bool protobuf = true;  ///< whether it may be in protocol buffers at all
};
/// JSON, YAML or protocol buffers, as its Content-Type says; `repeated`: Call::repeated_keys. kBadRequest,
/// kUnsupportedMediaType.
base::Result<Json> ParseBody(const Exchange& exchange, const BodyKind& kind, std::vector<std::string>& repeated,
                             boost::json::storage_ptr storage = {});

/// Who sent a request and when, for audits.
std::shared_ptr<const CallOrigin> OriginOf(const HttpRequest& request, const base::Clock& clock);
/// Which objects a list, or the deletion of a collection, is about.
ListQuery ListQueryOf(const Query& query, int64_t limit);
/// Table options of a request: includeObject.
base::Result<TableRequest> TableRequestOf(const Exchange& exchange);

}  // namespace evenkeel::embedded::apiserver
