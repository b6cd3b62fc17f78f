#include "client/http/http_client.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <iterator>
#include <mutex>
#include <vector>

#include "base/hash.h"
#include "base/input/yaml.h"
#include "base/random.h"
#include "base/text.h"
#include "client/http/http_connection.h"
#include "client/http/http_credentials.h"
#include "client/http/http_watch.h"
#include "kube/forms/protobuf.h"
#include "kube/schema/schema_text.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;

constexpr base::Duration kIdleConnectionMax = 60s;  // API servers and load balancers close idle ones after minutes
constexpr size_t kWatchLineMax = 64u << 20;

std::string QueryEscape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (base::IsAlphanumeric(c) || c == '-' || c == '_' || c == '.' || c == '~') {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

/// "?a=b&c=d"; empty values are left out.
class QueryText {
 public:
  QueryText& Add(std::string_view name, std::string_view value) {
    if (value.empty()) return *this;
    text_ += text_.empty() ? '?' : '&';
    text_.append(name).append("=").append(QueryEscape(value));
    return *this;
  }
  QueryText& AddFlag(std::string_view name, bool value) { return Add(name, value ? "true" : ""); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// "Name: value" lines. kBadRequest where a name or value would break out of its line.
Result<std::string> HeaderLines(const std::vector<std::pair<std::string, std::string>>& headers) {
  std::string lines;
  for (const auto& [name, value] : headers) {
    const bool name_ok =
        !name.empty() && std::ranges::all_of(name, [](char c) { return base::IsAlphanumeric(c) || c == '-' || c == '_'; });
    const bool value_ok = std::ranges::none_of(value, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
    if (!name_ok || !value_ok) return Fail(Code::kBadRequest, fmt::format("the header \"{}\" cannot be sent", name));
    lines += name + ": " + value + "\r\n";
  }
  return lines;
}

/// What GET /version answers is of Kubernetes 1.27 or later: servers from before ignore what they do not know in a query.
bool KnowsInitialEvents(std::string_view version_text) {
  const auto version = base::ParseJson(version_text, "/version");
  if (!version) return false;
  // Clouds add a sign: "27+".
  const auto number = [&](const char* field) {
    const std::string_view text = base::FindString(*version, {field});
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  return std::pair(number("major"), number("minor")) >= std::pair(1, 27);
}

struct HttpCall {
  std::string_view method = "GET";
  std::string path;  ///< with the query, without the server's prefix
  std::string body;
  std::string_view content_type = "application/json";
  std::string_view accept = "application/json, */*";
};

class HttpClient final : public Client {
 public:
  HttpClient(HttpClientOptions options, std::string header_lines, HttpEndpoint endpoint,
             std::unique_ptr<HttpCredentials> credentials)
      : options_(std::move(options)),
        header_lines_(std::move(header_lines)),
        endpoint_(std::move(endpoint)),
        credentials_(std::move(credentials)),
        random_(options_.seed.has_value() ? *options_.seed : base::EntropySeed()) {}

  Result<Json> Get(const Resource& resource, std::string_view ns, std::string_view name,
                   std::string_view subresource) override {
    return CallJson({.path = resource.Path(ns, name, subresource), .body = {}});
  }

  Result<ListPage> List(const Resource& resource, const ListOptions& options) override {
    const HttpCall call = ListCall(resource, options);
    EVENKEEL_ASSIGN(const Answer answer, Perform(call));
    return PageOf(resource, call, answer);
  }

  Result<ListPage> Visit(const Resource& resource, const ListOptions& options, const ObjectVisitor& visit) override {
    HttpCall call = ListCall(resource, options);
    const kube::Schema* schema = kube::FindKindSchema(resource.ApiVersion(), resource.kind);
    if (schema != nullptr) call.accept = "application/vnd.kubernetes.protobuf, application/json";
    EVENKEEL_ASSIGN(const Answer answer, Perform(call));
    if (schema != nullptr && answer.body.starts_with(kube::kProtobufMagic)) {
      auto page = VisitProtobufList(resource, *schema, answer.body, visit);
      if (!page) return Fail(Code::kInternal, Doing(call) + ": " + page.error().message());
      page->bytes = answer.body.size();
      return page;
    }
    EVENKEEL_ASSIGN(ListPage page, PageOf(resource, call, answer));
    for (const Json& item : page.items) visit(item);
    page.items.clear();
    return page;
  }

  Result<Json> Create(const Resource& resource, const Json& object, const WriteOptions& options) override {
    std::string_view name = options.subresource.empty() ? std::string_view() : kube::NameOf(object);
    return CallJson({.method = "POST",
                     .path = resource.Path(kube::NamespaceOf(object), name, options.subresource) + WriteQuery(options),
                     .body = base::ToText(object)});
  }

  Result<Json> Update(const Resource& resource, const Json& object, const WriteOptions& options) override {
    if (kube::NameOf(object).empty()) return Fail(Code::kBadRequest, "cannot update an object without metadata.name");
    return CallJson(
        {.method = "PUT",
         .path = resource.Path(kube::NamespaceOf(object), kube::NameOf(object), options.subresource) + WriteQuery(options),
         .body = base::ToText(object)});
  }

  Result<Json> Patch(const Resource& resource, std::string_view ns, std::string_view name, PatchType type, const Json& patch,
                     const PatchOptions& options) override {
    if (type == PatchType::kApply && options.field_manager.empty())
      return Fail(Code::kBadRequest, "server-side apply needs a field manager");
    QueryText query;
    query.Add("fieldManager", options.field_manager).AddFlag("force", options.force && type == PatchType::kApply);
    query.Add("dryRun", options.dry_run ? "All" : "");
    return CallJson({.method = "PATCH",
                     .path = resource.Path(ns, name, options.subresource) + query.text(),
                     .body = base::ToText(patch),
                     .content_type = ContentTypeOf(type)});
  }

  Result<Json> Delete(const Resource& resource, std::string_view ns, std::string_view name,
                      const DeleteOptions& options) override {
    base::JsonObject body{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
    if (options.grace_period_seconds.has_value()) body["gracePeriodSeconds"] = *options.grace_period_seconds;
    if (!options.propagation_policy.empty()) body["propagationPolicy"] = options.propagation_policy;
    base::JsonObject preconditions;
    if (!options.uid.empty()) preconditions["uid"] = options.uid;
    if (!options.resource_version.empty()) preconditions["resourceVersion"] = options.resource_version;
    if (!preconditions.empty()) body["preconditions"] = std::move(preconditions);
    if (options.dry_run) body["dryRun"] = base::JsonArray{"All"};
    return CallJson({.method = "DELETE", .path = resource.Path(ns, name), .body = boost::json::serialize(body)});
  }

  Result<Json> Post(const Resource& resource, std::string_view ns, std::string_view name, std::string_view subresource,
                    const Json& body) override {
    return CallJson({.method = "POST", .path = resource.Path(ns, name, subresource), .body = base::ToText(body)});
  }

  Result<std::unique_ptr<Watch>> NewWatch(const Resource& resource, const WatchOptions& options, WatchHandler handler) override;

  bool StreamsLists() override;
  ListLimits Limits() const override { return options_.list_limits; }

  Result<std::string> GetRaw(std::string_view path) override {
    EVENKEEL_ASSIGN(Answer answer, Perform({.path = std::string(path), .body = {}, .accept = options_.raw_accept}));
    return std::move(answer.body);
  }

  std::string Describe() const override { return endpoint_.description; }

 private:
  struct Answer {
    std::string body;
  };

  static std::string WriteQuery(const WriteOptions& options) {
    return QueryText().Add("fieldManager", options.field_manager).Add("dryRun", options.dry_run ? "All" : "").text();
  }

  static ListPage DecodeList(const Resource& resource, Json& list);
  static HttpCall ListCall(const Resource& resource, const ListOptions& options) {
    QueryText query;
    query.Add("labelSelector", options.label_selector).Add("fieldSelector", options.field_selector);
    query.Add("limit", options.limit > 0 ? std::to_string(options.limit) : "").Add("continue", options.continue_token);
    query.Add("resourceVersion", options.resource_version).Add("resourceVersionMatch", options.resource_version_match);
    return {.path = resource.Path(options.ns) + query.text(), .body = {}};
  }
  static Result<ListPage> VisitProtobufList(const Resource& resource, const kube::Schema& schema, std::string_view bytes,
                                            const ObjectVisitor& visit);
  Result<Json> ParseAnswer(const HttpCall& call, const Answer& answer);
  /// Of a list in JSON.
  Result<ListPage> PageOf(const Resource& resource, const HttpCall& call, const Answer& answer);
  Result<Json> CallJson(const HttpCall& call);
  /// Sends the call, over a connection that is open already where that is safe; the answer is a 2xx.
  Result<Answer> Perform(const HttpCall& call);
  Result<HttpCredentials::Proof> Prove(const HttpCall& call, base::Instant deadline);
  /// Sends the call once, but for a connection that turns out to have been closed. The reader is done, whatever the status.
  Result<std::unique_ptr<HttpResponseReader>> SendOnce(const HttpCall& call, const HttpCredentials::Proof& proof,
                                                       base::Instant deadline);
  Result<std::string> Head(const HttpCall& call, const HttpCredentials::Proof& proof) const;
  base::Error DecodeFailure(const HttpCall& call, const HttpResponseReader& reader, std::string_view body);
  std::string Doing(const HttpCall& call) const {
    return fmt::format("{} {}{}", call.method, endpoint_.description, call.path);
  }
  std::unique_ptr<HttpConnection> TakeIdle(const HttpCredentials::Proof& proof);
  void Return(std::unique_ptr<HttpConnection> connection, const HttpResponseReader& reader);
  Result<std::unique_ptr<HttpConnection>> Open(const HttpCredentials::Proof& proof, base::Instant deadline);

  const HttpClientOptions options_;
  const std::string header_lines_;
  const HttpEndpoint endpoint_;
  const std::unique_ptr<HttpCredentials> credentials_;
  enum class StreamsListsState { kUnknown, kNo, kYes };
  std::atomic<StreamsListsState> streams_lists_ = StreamsListsState::kUnknown;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpConnection>> idle_;  // the most recently used last; guarded by mutex_
  base::Random random_;                                // guarded by mutex_
};

Result<std::string> HttpClient::Head(const HttpCall& call, const HttpCredentials::Proof& proof) const {
  std::string head = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\nAccept: {}\r\n", call.method,
                                 endpoint_.path_prefix, call.path, endpoint_.host_header, options_.user_agent, call.accept);
  if (call.path.empty() || call.path.front() != '/' || call.path.find_first_of(" \r\n") != std::string::npos) {
    return Fail(Code::kBadRequest, fmt::format("not a path of an API: \"{}\"", call.path));
  }
  if (!proof.authorization.empty()) head += "Authorization: " + proof.authorization + "\r\n";
  if (!call.body.empty()) head += fmt::format("Content-Type: {}\r\n", call.content_type);
  if (call.method != "GET") head += fmt::format("Content-Length: {}\r\n", call.body.size());
  head += header_lines_;
  head += "\r\n";
  return head;
}

std::unique_ptr<HttpConnection> HttpClient::TakeIdle(const HttpCredentials::Proof& proof) {
  std::vector<std::unique_ptr<HttpConnection>> expired;
  std::unique_lock lock(mutex_);
  const base::Instant now = base::SystemClock().Monotonic();
  // What a busy moment has opened is not needed in quiet ones.
  const auto fresh =
      std::ranges::find_if(idle_, [now](const auto& connection) { return now - connection->idle_since < kIdleConnectionMax; });
  std::move(idle_.begin(), fresh, std::back_inserter(expired));
  idle_.erase(idle_.begin(), fresh);
  while (!idle_.empty()) {
    std::unique_ptr<HttpConnection> connection = std::move(idle_.back());
    idle_.pop_back();
    // One that was opened with another certificate would go on speaking for that.
    if (connection->tls() == proof.tls && connection->Alive()) return connection;
    expired.push_back(std::move(connection));
  }
  return nullptr;
}

void HttpClient::Return(std::unique_ptr<HttpConnection> connection, const HttpResponseReader& reader) {
  if (!reader.keep_alive()) return;
  connection->idle_since = base::SystemClock().Monotonic();
  std::lock_guard lock(mutex_);
  if (idle_.size() < static_cast<size_t>(std::max(0, options_.idle_connections_max))) idle_.push_back(std::move(connection));
}

Result<std::unique_ptr<HttpConnection>> HttpClient::Open(const HttpCredentials::Proof& proof, base::Instant deadline) {
  const base::Instant connect_deadline = base::SystemClock().Monotonic() + options_.connect_timeout;
  return HttpConnection::Open(endpoint_, proof.tls, std::min(deadline, connect_deadline));
}

/// Asking again is safe where asking twice is: not for POST and PATCH, of which the server may have carried out the first.
bool IsRepeatable(const HttpCall& call) { return call.method == "GET" || call.method == "PUT" || call.method == "DELETE"; }

Result<HttpClient::Answer> HttpClient::Perform(const HttpCall& call) {
  const bool writes = call.method != "GET";
  const base::Duration timeout = writes ? std::min(options_.write_timeout, options_.request_timeout) : options_.request_timeout;
  const base::Instant deadline = base::SystemClock().Monotonic() + timeout;
  for (bool again = false;; again = true) {
    EVENKEEL_ASSIGN(const HttpCredentials::Proof proof, Prove(call, deadline));
    EVENKEEL_ASSIGN(const std::unique_ptr<HttpResponseReader> reader, SendOnce(call, proof, deadline));
    Answer answer{reader->TakeBody()};
    if (reader->status() >= 200 && reader->status() < 300) return answer;
    const bool renewed = reader->status() == 401 && credentials_->Rejected(proof);
    if (renewed && !again && IsRepeatable(call)) continue;
    return Fail(DecodeFailure(call, *reader, answer.body));
  }
}

Result<HttpCredentials::Proof> HttpClient::Prove(const HttpCall& call, base::Instant deadline) {
  auto proof = credentials_->Get(deadline);
  if (!proof) return Fail(proof.error().Wrap(Doing(call)));
  return proof;
}

Result<std::unique_ptr<HttpResponseReader>> HttpClient::SendOnce(const HttpCall& call, const HttpCredentials::Proof& proof,
                                                                 base::Instant deadline) {
  EVENKEEL_ASSIGN(const std::string head, Head(call, proof));
  std::unique_ptr<HttpConnection> connection = TakeIdle(proof);
  while (true) {
    const bool reused = connection != nullptr;
    if (!reused) {
      EVENKEEL_ASSIGN(connection, Open(proof, deadline));
    }
    auto reader = std::make_unique<HttpResponseReader>(options_.body_bytes_max);
    HttpConnection::Exchange exchange;
    const base::Status sent = connection->Send(head, call.body, *reader, false, deadline, exchange);
    if (sent) {
      Return(std::move(connection), *reader);
      return reader;
    }
    // The server may close an idle connection just as a request goes out.
    const bool stale = reused && !exchange.received_any && sent.error().code() == Code::kUnavailable;
    if (!stale || (exchange.sent_any && !IsRepeatable(call))) return Fail(sent.error().Wrap(Doing(call)));
    connection = nullptr;
  }
}

base::Error HttpClient::DecodeFailure(const HttpCall& call, const HttpResponseReader& reader, std::string_view body) {
  const int status = reader.status();
  int retry_after = 0;
  for (const char c : reader.header("Retry-After")) {
    if (c < '0' || c > '9' || retry_after > 86'400) break;
    retry_after = retry_after * 10 + (c - '0');
  }
  std::optional<base::Error> error;
  if (!body.empty() && body.front() == '{') {
    if (Result<Json> value = base::ParseJson(body, "answer")) error = DecodeStatusObject(*value, status);
  } else if (const auto envelope = kube::ReadProtobufEnvelope(body); envelope && envelope->kind == "Status") {
    const kube::Schema& schema = *kube::FindKindSchema("v1", "Status");
    if (Result<Json> value = kube::DecodeProtobufKind(schema, "v1", "Status", envelope->raw)) {
      error = DecodeStatusObject(*value, status);
    }
  }
  if (!error.has_value()) {
    std::string text(body.substr(0, 200));
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ' ');
    error.emplace(base::CodeFromWire(status, ""),
                  fmt::format("{}: {} {}{}{}", Doing(call), status, HttpReasonPhrase(status), text.empty() ? "" : ": ", text),
                  base::ErrorDetails{});
  }
  if (retry_after == 0) return *std::move(error);
  base::ErrorDetails details = *error->details();
  details.retry_after_seconds = retry_after;
  return {error->code(), error->message(), std::move(details)};
}

Result<Json> HttpClient::CallJson(const HttpCall& call) {
  EVENKEEL_ASSIGN(const Answer answer, Perform(call));
  return ParseAnswer(call, answer);
}

Result<Json> HttpClient::ParseAnswer(const HttpCall& call, const Answer& answer) {
  Result<Json> value = base::ParseJson(answer.body, "answer");
  if (!value) return Fail(Code::kInternal, fmt::format("{}: the answer is not JSON: {}", Doing(call), value.error().message()));
  return value;
}

Result<ListPage> HttpClient::PageOf(const Resource& resource, const HttpCall& call, const Answer& answer) {
  EVENKEEL_ASSIGN(Json list, ParseAnswer(call, answer));
  ListPage page = DecodeList(resource, list);
  page.bytes = answer.body.size();
  return page;
}

ListPage HttpClient::DecodeList(const Resource& resource, Json& list) {
  ListPage page;
  page.resource_version = base::FindString(list, {"metadata", "resourceVersion"});
  page.continue_token = base::FindString(list, {"metadata", "continue"});
  page.remaining = base::FindInt(list, {"metadata", "remainingItemCount"});
  Json* items = base::Find(list, {"items"});
  if (items == nullptr || !items->is_array()) return page;
  page.items.reserve(items->get_array().size());
  for (Json& item : items->get_array()) {
    // Items of a list come without what the list itself says.
    if (item.is_object()) {
      base::JsonObject& object = item.get_object();
      if (!object.contains("kind")) object["kind"] = resource.kind;
      if (!object.contains("apiVersion")) object["apiVersion"] = resource.ApiVersion();
    }
    page.items.push_back(std::move(item));
  }
  return page;
}

Result<ListPage> HttpClient::VisitProtobufList(const Resource& resource, const kube::Schema& schema, std::string_view bytes,
                                               const ObjectVisitor& visit) {
  EVENKEEL_ASSIGN(const kube::ProtobufEnvelope envelope, kube::ReadProtobufEnvelope(bytes));
  EVENKEEL_ASSIGN(const kube::ProtobufItems list, kube::ReadProtobufList(envelope.raw));
  ListPage page;
  page.resource_version = base::FindString(list.metadata, {"resourceVersion"});
  page.continue_token = base::FindString(list.metadata, {"continue"});
  page.remaining = base::FindInt(list.metadata, {"remainingItemCount"});
  // Asking for the memory of each value, and giving it back, would take as long as reading the bytes.
  constexpr size_t kUsualObjectBytes = 64 << 10;
  const auto usual = std::make_unique<unsigned char[]>(kUsualObjectBytes);
  boost::json::monotonic_resource memory(usual.get(), kUsualObjectBytes);
  const std::string api_version = resource.ApiVersion();
  for (const std::string_view item : list.items) {
    {
      EVENKEEL_ASSIGN(const Json object, kube::DecodeProtobufKind(schema, api_version, resource.kind, item, &memory));
      visit(object);
    }
    memory.release();
  }
  return page;
}

Result<std::unique_ptr<Watch>> HttpClient::NewWatch(const Resource& resource, const WatchOptions& options,
                                                    WatchHandler handler) {
  int64_t timeout_seconds = 0;
  {
    std::lock_guard lock(mutex_);
    timeout_seconds = random_.Between(int64_t{300}, int64_t{600});
  }
  QueryText query;
  query.Add("watch", "true").Add("labelSelector", options.label_selector).Add("fieldSelector", options.field_selector);
  query.Add("resourceVersion", options.resource_version).AddFlag("allowWatchBookmarks", options.bookmarks);
  if (options.send_initial_events) {
    query.AddFlag("sendInitialEvents", true).Add("resourceVersionMatch", "NotOlderThan");
  }
  query.Add("timeoutSeconds", std::to_string(timeout_seconds));
  const HttpCall call{.path = resource.Path(options.ns) + query.text(), .body = {}};
  const base::Instant deadline = base::SystemClock().Monotonic() + options_.request_timeout;
  for (bool again = false;; again = true) {
    EVENKEEL_ASSIGN(const HttpCredentials::Proof proof, Prove(call, deadline));
    EVENKEEL_ASSIGN(const std::string head, Head(call, proof));
    // Always a connection of its own: a watch keeps it for minutes, and starts too seldom to gain from reuse.
    EVENKEEL_ASSIGN(std::unique_ptr<HttpConnection> connection, Open(proof, deadline));
    auto reader = std::make_unique<HttpResponseReader>(std::numeric_limits<size_t>::max());
    HttpConnection::Exchange exchange;
    base::Status sent = connection->Send(head, "", *reader, true, deadline, exchange);
    if (!sent) return Fail(sent.error().Wrap(Doing(call)));
    if (reader->status() == 200) {
      return StartHttpWatch(std::move(connection), std::move(reader), std::chrono::seconds(timeout_seconds + 30), kWatchLineMax,
                            std::move(handler));
    }
    const bool renewed = reader->status() == 401 && credentials_->Rejected(proof);
    if (!renewed || again) return Fail(DecodeFailure(call, *reader, reader->TakeBody()));
  }
}

bool HttpClient::StreamsLists() {
  if (streams_lists_ == StreamsListsState::kUnknown) {
    const auto version = GetRaw("/version");
    if (!version) return false;
    streams_lists_ = KnowsInitialEvents(*version) ? StreamsListsState::kYes : StreamsListsState::kNo;
  }
  return streams_lists_ == StreamsListsState::kYes;
}

}  // namespace

base::Result<std::unique_ptr<Client>> NewHttpClient(ConnectionConfig config, HttpClientOptions options) {
  EVENKEEL_ASSIGN(HttpEndpoint endpoint, ParseEndpoint(config));
  EVENKEEL_ASSIGN(std::string header_lines, HeaderLines(options.headers));
  EVENKEEL_ASSIGN(auto credentials,
                  HttpCredentials::Make(std::move(config), endpoint.tls, endpoint.description, options.plugins));
  return std::make_unique<HttpClient>(std::move(options), std::move(header_lines), std::move(endpoint), std::move(credentials));
}

}  // namespace evenkeel::client
