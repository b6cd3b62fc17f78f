// GET: one object, lists, watches, logs.
#include "embedded/apiserver/http/http_handler_impl.h"
#include "embedded/apiserver/objects/protobuf_answer.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;

// A day: nobody waits longer, and ten thousand million of them are more nanoseconds than a duration has.
constexpr int64_t kWatchSecondsMax = 86'400;

std::vector<Chunk> ListChunks(const Served& served, const ListAnswer& answer, const Wanted& wanted) {
  std::vector<Chunk> chunks;
  std::string text;
  const bool partial = wanted.form == Form::kPartial;
  const std::string kind = partial ? "PartialObjectMetadataList" : served.resource.kind + "List";
  const std::string version = partial ? "meta.k8s.io/" + wanted.version : served.resource.ApiVersion();
  text = "{\"kind\":\"" + kind + "\",\"apiVersion\":\"" + version + "\",\"metadata\":" + base::ToText(ListMetadata(answer)) +
         ",\"items\":[";
  bool first = true;
  for (const Stored& stored : answer.items) {
    if (text.size() + stored.bytes->size() + 64 > kAnswerChunkBytes) {
      chunks.push_back(std::make_shared<const std::string>(std::move(text)));
      text = {};
    }
    if (text.empty()) text.reserve(kAnswerChunkBytes);
    if (!first) text += ',';
    first = false;
    if (partial) {
      text += PartialText(served, stored, wanted.version);
    } else {
      AppendObject(text, served, stored);
    }
  }
  text += "]}\n";
  chunks.push_back(std::make_shared<const std::string>(std::move(text)));
  return chunks;
}

base::Result<LogRequest> LogRequestOf(const Query& query, const Call& call, const Json& pod, base::Time now) {
  LogRequest log{.ns = call.ns,
                 .pod = call.name,
                 .container = query.Get("container"),
                 .previous = query.Flag("previous"),
                 .timestamps = query.Flag("timestamps"),
                 .tail_lines = {},
                 .limit_bytes = {},
                 .since = {}};
  EVENKEEL_ASSIGN(log.tail_lines, query.Integer("tailLines"));
  EVENKEEL_ASSIGN(log.limit_bytes, query.Integer("limitBytes"));
  EVENKEEL_ASSIGN(const auto seconds, query.Integer("sinceSeconds"));
  if (seconds) log.since = now - std::chrono::seconds(*seconds);
  if (const std::string text = query.Get("sinceTime"); !text.empty()) {
    EVENKEEL_ASSIGN(log.since, base::ParseTime(text));
  }
  std::vector<std::string> names;
  for (const std::string_view list : {"containers", "initContainers", "ephemeralContainers"}) {
    for (const Json& container : base::FindArray(pod, {"spec", list})) {
      if (list == "containers" || !log.container.empty()) names.emplace_back(base::FindString(container, {"name"}));
    }
  }
  if (log.container.empty()) {
    if (names.size() != 1) {
      std::string choices;
      for (const std::string& name : names) choices += (choices.empty() ? "" : " ") + name;
      return base::Fail(Code::kBadRequest,
                        "a container name must be specified for pod " + call.name + ", choose one of: [" + choices + "]");
    }
    log.container = names[0];
  } else if (std::ranges::find(names, log.container) == names.end()) {
    return base::Fail(Code::kBadRequest, "container " + log.container + " is not valid for pod " + call.name);
  }
  return log;
}

// Keeps following while the connection lives.
struct FollowedLog {
  std::mutex mutex;
  bool closed = false;
  std::unique_ptr<LogFollower> follower;
};

}  // namespace

ListQuery ListQueryOf(const Query& query, int64_t limit) {
  return {.label_selector = query.Get("labelSelector"),
          .field_selector = query.Get("fieldSelector"),
          .limit = limit,
          .continue_token = query.Get("continue"),
          .resource_version = query.Get("resourceVersion"),
          .resource_version_match = query.Get("resourceVersionMatch"),
          .has_send_initial_events = query.Has("sendInitialEvents")};
}

base::Result<TableRequest> TableRequestOf(const Exchange& exchange) {
  TableRequest request{.version = exchange.wanted.version, .include = IncludeObject::kMetadata};
  const std::string include = exchange.query.Get("includeObject");
  if (include == "None") {
    request.include = IncludeObject::kNone;
  } else if (include == "Object") {
    request.include = IncludeObject::kObject;
  } else if (!include.empty() && include != "Metadata") {
    return base::Fail(Code::kBadRequest, "includeObject: Invalid value: \"" + include + "\": must be Metadata, None or Object");
  }
  return request;
}

void ApiHandler::Impl::Read(const ExchangePointer& exchange, const Call& call) {
  const bool watch = exchange->watch;
  if (!call.name.empty() && call.subresource == "log") return GetLog(exchange, call);
  if (!call.name.empty() && (call.subresource == "eviction" || call.subresource == "binding" ||
                             call.subresource == "finalize" || call.subresource == "token")) {
    return exchange->SendError(MethodNotAllowedError());
  }
  if (!call.name.empty() && !watch) return GetOne(exchange, call);
  if (watch) return Watch(exchange, call);
  List(exchange, call);
}

void ApiHandler::Impl::GetOne(const ExchangePointer& exchange, const Call& call) {
  if (call.subresource == "scale") {
    const auto scale = api.GetScale(call);
    if (!scale) return exchange->SendError(scale.error());
    if (exchange->wanted.form != Form::kTable) return exchange->SendJson(200, *scale);
    const auto table = TableRequestOf(*exchange);
    if (!table) return exchange->SendError(table.error());
    return exchange->SendJsonText(200, ScaleTableText(*scale, *table, api.Now()));
  }
  const auto stored = api.Get(call);
  if (!stored) return exchange->SendError(stored.error());
  switch (exchange->wanted.form) {
    case Form::kTable: {
      const auto table = TableRequestOf(*exchange);
      if (!table) return exchange->SendError(table.error());
      return exchange->SendJsonText(
          200, TableText(*call.served, {*stored}, {{"resourceVersion", std::to_string(stored->revision)}}, *table, api.Now()));
    }
    case Form::kPartial:
      return exchange->SendJsonText(200, PartialText(*call.served, *stored, exchange->wanted.version));
    default:
      return exchange->SendJsonText(200, ObjectText(*call.served, *stored));
  }
}

void ApiHandler::Impl::List(const ExchangePointer& exchange, const Call& call) {
  exchange->verb = "LIST";
  const auto limit = exchange->query.Integer("limit");
  if (!limit) return exchange->SendError(limit.error());
  const auto answer = api.List(call, ListQueryOf(exchange->query, limit->value_or(0)));
  if (!answer) return exchange->SendError(answer.error());
  if (exchange->wanted.form == Form::kTable) {
    const auto table = TableRequestOf(*exchange);
    if (!table) return exchange->SendError(table.error());
    return exchange->SendJsonText(200, TableText(*call.served, answer->items, ListMetadata(*answer), *table, api.Now()));
  }
  if (exchange->wanted.encoding == Encoding::kProtobuf) {
    auto list = ProtobufList(*call.served, answer->items, ListMetadata(*answer),
                             exchange->wanted.form == Form::kPartial ? exchange->wanted.version : "",
                             api.store().reads_block() ? nullptr : &protobuf_cache);
    return list ? exchange->SendChunks(200, std::string(kProtobufType), *std::move(list)) : exchange->SendError(list.error());
  }
  std::vector<Chunk> chunks = ListChunks(*call.served, *answer, exchange->wanted);
  if (exchange->wanted.encoding == Encoding::kJson) return exchange->SendChunks(200, "application/json", std::move(chunks));
  std::string text;
  for (const Chunk& chunk : chunks) text += *chunk;
  exchange->SendJsonText(200, std::move(text));
}

void ApiHandler::Impl::Watch(const ExchangePointer& exchange, const Call& call) {
  exchange->verb = "WATCH";
  const Query& query = exchange->query;
  const auto seconds = query.Integer("timeoutSeconds");
  if (!seconds) return exchange->SendError(seconds.error());
  const auto table = TableRequestOf(*exchange);
  if (!table) return exchange->SendError(table.error());
  WatchQuery watch{.label_selector = query.Get("labelSelector"),
                   .field_selector = query.Get("fieldSelector"),
                   .resource_version = query.Get("resourceVersion"),
                   .resource_version_match = query.Get("resourceVersionMatch"),
                   .send_initial_events = query.FindFlag("sendInitialEvents"),
                   .continue_token = query.Get("continue")};
  if (!call.name.empty()) watch.field_selector += (watch.field_selector.empty() ? "" : ",") + ("metadata.name=" + call.name);
  const bool named = seconds->has_value() && **seconds > 0;
  const base::Duration timeout =
      named ? base::Duration(std::chrono::seconds(std::min(**seconds, kWatchSecondsMax))) : options.watch_timeout;
  watches->Start(exchange, call, watch, {exchange->wanted.form, *table, exchange->wanted.encoding},
                 query.Flag("allowWatchBookmarks"), timeout);
}

void ApiHandler::Impl::GetLog(const ExchangePointer& exchange, const Call& call) {
  const auto stored = api.Get(call);
  if (!stored) return exchange->SendError(stored.error());
  const auto pod = DecodeObject(*call.served, *stored);
  if (!pod) return exchange->SendError(pod.error());
  const auto request = LogRequestOf(exchange->query, call, *pod, api.Now());
  if (!request) return exchange->SendError(request.error());
  LogSource* logs = api.options().logs;
  if (logs == nullptr) return exchange->SendError({Code::kBadRequest, "no node agent of this cluster keeps logs"});
  if (!exchange->query.Flag("follow")) {
    auto text = logs->ReadLog(*request);
    if (!text) return exchange->SendError(text.error());
    return exchange->SendText(200, "text/plain", *std::move(text));
  }
  // The stream begins with the first piece, so that a container without a log is an error as it is without follow.
  auto followed = std::make_shared<FollowedLog>();
  auto stream = std::make_shared<std::shared_ptr<ResponseStream>>();
  auto early = std::make_shared<std::vector<std::pair<std::string, bool>>>();
  auto sink_mutex = std::make_shared<std::mutex>();
  auto follower = logs->FollowLog(*request, [stream, early, sink_mutex](std::string_view chunk, bool end) {
    std::unique_lock lock(*sink_mutex);
    if (*stream == nullptr) {
      early->emplace_back(std::string(chunk), end);
      return;
    }
    const std::shared_ptr<ResponseStream> out = *stream;
    lock.unlock();
    if (!chunk.empty()) out->Write(std::make_shared<const std::string>(chunk));
    if (end) out->Close();
  });
  if (!follower) return exchange->SendError(follower.error());
  auto out = exchange->StartStream("text/plain");
  followed->follower = *std::move(follower);
  {
    std::lock_guard lock(*sink_mutex);
    for (const auto& [chunk, end] : *early) {
      if (!chunk.empty()) out->Write(std::make_shared<const std::string>(chunk));
      if (end) out->Close();
    }
    *stream = out;
  }
  out->OnClosed([followed, stream] {
    std::unique_ptr<LogFollower> ended;
    std::lock_guard lock(followed->mutex);
    followed->closed = true;
    ended = std::move(followed->follower);
  });
}

}  // namespace evenkeel::embedded::apiserver
