#include "embedded/apiserver/http/http_server_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "base/text.h"
#include "embedded/apiserver/access/authentication.h"
#include "embedded/apiserver/requests/http_error.h"

namespace evenkeel::embedded::apiserver {
namespace {

using client::HttpReadState;
using client::IoResult;

// One connection with much to send gives way to the others after this much.
constexpr size_t kFlushTurnBytes = 1 << 20;
// As long as a client gets to read an answer after which the connection ends, while it may still be sending.
constexpr base::Duration kLingerTime = 2s;
constexpr std::string_view kAllowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

std::string WithoutLineBreaks(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return text;
}

std::string ResponseHead(const HttpResponse& response, std::string_view framing, bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, client::HttpReasonPhrase(response.status));
  if (!response.content_type.empty()) head += fmt::format("Content-Type: {}\r\n", WithoutLineBreaks(response.content_type));
  for (const auto& [name, value] : response.headers) {
    head += fmt::format("{}: {}\r\n", WithoutLineBreaks(name), WithoutLineBreaks(value));
  }
  head += framing;
  if (!keep_alive) head += "Connection: close\r\n";
  head += "\r\n";
  return head;
}

Chunk MakeChunk(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

/// Answers one request; see Responder.
class ServerResponder final : public Responder {
 public:
  explicit ServerResponder(std::shared_ptr<ServerConnection> connection) : connection_(std::move(connection)) {}
  ~ServerResponder() override {
    if (connection_ != nullptr) Send(StatusResponse(500, "InternalError", "the request was not answered"));
  }
  void Send(HttpResponse response) override {
    EVENKEEL_CHECK(connection_ != nullptr);
    std::exchange(connection_, nullptr)->Deliver(std::move(response));
  }
  std::shared_ptr<ResponseStream> StartStream(int status, std::string content_type, HttpHeaders headers) override {
    EVENKEEL_CHECK(connection_ != nullptr);
    std::shared_ptr<ServerConnection> connection = std::exchange(connection_, nullptr);
    auto stream = std::make_shared<ServerStream>(connection, connection->worker().shared().options.stream_bytes_max);
    connection->Deliver(stream,
                        {.status = status, .content_type = std::move(content_type), .headers = std::move(headers), .body = {}});
    return stream;
  }

 private:
  std::shared_ptr<ServerConnection> connection_;
};

}  // namespace

ServerConnection::ServerConnection(std::shared_ptr<ServerWorker> worker, client::UniqueFd fd, std::string remote,
                                   ConnectionCount count)
    : worker_(std::move(worker)),
      descriptor_(worker_->context()),
      remote_(std::move(remote)),
      count_(std::move(count)),
      budget_(worker_->shared()) {
  const int number = fd.get();
  descriptor_.assign(fd.release());
  const auto tls = worker_->shared().tls();
  transport_ = client::Transport(number, tls != nullptr ? tls->NewServerSession(number) : nullptr);
}

ServerConnection::~ServerConnection() = default;

void ServerConnection::Start() {
  active_ = worker_->now();
  SetDeadline(worker_->shared().options.handshake_timeout);
  Handshake();
}

void ServerConnection::SetDeadline(base::Duration from_now) { deadline_ = worker_->now() + from_now; }

void ServerConnection::ArmRead() {
  if (read_armed_ || phase_ == Phase::kClosed) return;
  read_armed_ = true;
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           self->read_armed_ = false;
                           if (!error) self->OnReady();
                         });
}

void ServerConnection::ArmWrite() {
  if (write_armed_ || phase_ == Phase::kClosed) return;
  write_armed_ = true;
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           self->write_armed_ = false;
                           if (!error) self->OnReady();
                         });
}

void ServerConnection::OnReady() {
  switch (phase_) {
    case Phase::kHandshake:
      return Handshake();
    case Phase::kIdle:
    case Phase::kReading:
      if (out_index_ < out_.size()) Flush();
      return Drive();
    case Phase::kHandling:
      return;
    case Phase::kWriting:
      return Flush();
    case Phase::kStreaming:
      if (out_index_ < out_.size()) Flush();
      if (phase_ == Phase::kStreaming) ReadWhileStreaming();
      return;
    case Phase::kLingering:
      return Linger();
    case Phase::kClosed:
      return;
  }
}

void ServerConnection::Handshake() {
  const IoResult result = transport_.Handshake();
  if (result.wants()) return Arm(result.kind);
  if (!result.done()) return Close();
  const client::PeerSubject peer = transport_.Peer();
  if (!peer.common_name.empty()) subject_ = FormatSubject(peer.common_name, peer.organizations);
  phase_ = Phase::kIdle;
  SetDeadline(worker_->shared().options.idle_timeout);
  Drive();
}

void ServerConnection::Drive() {
  // A handler that answers at once leads back here; the loop below then goes on, rather than the stack growing.
  if (driving_) return;
  driving_ = true;
  constexpr int kRequestsPerTurn = 64;
  int64_t turns = 0;
  while (phase_ == Phase::kIdle || phase_ == Phase::kReading) {
    if (parse_input_) {
      // One client that sends many requests at a time must not keep the others of this thread waiting.
      if (++turns == kRequestsPerTurn) {
        worker_->Post([self = shared_from_this()] { self->Drive(); });
        break;
      }
      Parse({});
      continue;
    }
    std::vector<char>& scratch = worker_->scratch();
    const IoResult result = transport_.Read(scratch.data(), scratch.size());
    if (result.wants()) {
      Arm(result.kind);
      break;
    }
    if (!result.done()) {
      Close();
      break;
    }
    Parse({scratch.data(), result.bytes});
  }
  driving_ = false;
}

void ServerConnection::Parse(std::string_view fresh) {
  const HttpServerOptions& options = worker_->shared().options;
  active_ = worker_->now();
  if (phase_ == Phase::kIdle) {
    phase_ = Phase::kReading;
    continued_ = false;
    reader_.emplace(options.header_bytes_max, options.body_bytes_max);
    SetDeadline(options.request_timeout);
  }
  parse_input_ = false;
  const bool buffered = !input_.empty();
  if (buffered) input_.append(fresh);
  std::string_view data = buffered ? std::string_view(input_) : fresh;
  size_t consumed = 0;
  const HttpReadState state = reader_->Feed(data, consumed);
  if (buffered) {
    input_.erase(0, consumed);
  } else {
    input_.assign(data.substr(consumed));
  }
  if (!budget_.Set(reader_->body_size())) {
    HttpResponse busy = StatusResponse(429, "TooManyRequests", "too many requests with bodies are under way, try again");
    busy.headers.emplace_back("Retry-After", "1");
    return Refuse(std::move(busy));
  }
  switch (state) {
    case HttpReadState::kHeader:
      return BeginRequest();
    case HttpReadState::kDone:
      return Dispatch();
    case HttpReadState::kMalformed:
      return Refuse(400, "BadRequest", "malformed HTTP request: " + reader_->error());
    case HttpReadState::kHeaderTooLarge:
      return Refuse(431, "RequestHeaderFieldsTooLarge", "the request's header is too large");
    case HttpReadState::kBodyTooLarge:
      return Refuse(413, "RequestEntityTooLarge",
                    options.body_bytes_max == 0
                        ? "no request here has a body"
                        : fmt::format("the request's body is larger than {} bytes", options.body_bytes_max));
    case HttpReadState::kMore:
      break;
  }
  if (input_.size() > options.header_bytes_max) {
    return Refuse(431, "RequestHeaderFieldsTooLarge", "the request's header is too large");
  }
  if (!continued_ && reader_->wants_continue()) {
    continued_ = true;
    out_.push_back(MakeChunk("HTTP/1.1 100 Continue\r\n\r\n"));
    Flush();
  }
}

/// Headers are taken before the body, so that what stands behind it is none.
void ServerConnection::BeginRequest() {
  keep_alive_ = reader_->keep_alive();
  http10_ = reader_->http10();
  if (const auto refusal = reader_->RefusedHeader(); refusal.status != 0) {
    return Refuse(refusal.status, refusal.status == 501 ? "NotImplemented" : "BadRequest",
                  fmt::format("malformed HTTP request: {}", refusal.why));
  }
  request_ = {};
  if (!ReadHeader(request_)) return Refuse(400, "BadRequest", "malformed HTTP request: bad target");
  if (auto refusal = worker_->shared().handler->Admit(request_)) return Refuse(*std::move(refusal));
  known_ = known_ || request_.authenticated;
  parse_input_ = true;
}

bool ServerConnection::ReadHeader(HttpRequest& request) const {
  request.method = reader_->method();
  std::string_view target = reader_->target();
  if (target.starts_with("http://") || target.starts_with("https://")) {
    const size_t path = target.find('/', target.find("//") + 2);
    target = path == std::string_view::npos ? "/" : target.substr(path);
  }
  if (target != "*" && !target.starts_with('/')) return false;
  if (std::ranges::any_of(target, [](char letter) { return letter <= ' ' || letter > '~'; })) return false;
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string_view::npos) request.query = target.substr(mark + 1);
  reader_->ForEachHeader([&](std::string_view name, std::string_view value) {
    auto [entry, is_new] = request.headers.try_emplace(base::Lower(name), value);
    if (!is_new) entry->second.append(", ").append(value);
  });
  request.client_certificate_subject = subject_;
  request.remote = remote_;
  return true;
}

void ServerConnection::Dispatch() {
  HttpRequest request = std::exchange(request_, {});
  request.body = reader_->TakeBody();
  reader_.reset();
  parse_input_ = !input_.empty();
  phase_ = Phase::kHandling;
  ClearDeadline();
  ++worker_->shared().requests;
  head_only_ = request.method == "HEAD";
  if (request.method == "OPTIONS") {
    HttpResponse response{.status = 204, .content_type = "", .headers = {}, .body = {}};
    response.headers.emplace_back("Allow", kAllowedMethods);
    return Answer(std::move(response));
  }
  if (kAllowedMethods.find(request.method) == std::string_view::npos) {
    HttpResponse response = StatusResponse(405, "MethodNotAllowed", "the server does not allow this method");
    response.headers.emplace_back("Allow", kAllowedMethods);
    return Answer(std::move(response));
  }
  // HEAD is GET without the body; handlers need not know.
  if (head_only_) request.method = "GET";
  in_handler_ = true;
  worker_->shared().handler->Handle(std::move(request), std::make_unique<ServerResponder>(shared_from_this()));
  in_handler_ = false;
  if (inline_response_.has_value()) {
    HttpResponse response = std::move(*inline_response_);
    inline_response_.reset();
    Answer(std::move(response));
  } else if (inline_stream_) {
    std::exchange(inline_stream_, nullptr)();
  }
}

void ServerConnection::Refuse(int status, std::string_view reason, std::string_view message) {
  Refuse(StatusResponse(status, reason, message));
}

void ServerConnection::Refuse(HttpResponse response) {
  keep_alive_ = false;
  head_only_ = false;
  reader_.reset();
  budget_.Set(0);
  input_.clear();
  parse_input_ = false;
  phase_ = Phase::kHandling;
  Answer(std::move(response));
}

void ServerConnection::Deliver(HttpResponse response) {
  if (worker_->here() && in_handler_) {
    inline_response_ = std::move(response);
    return;
  }
  worker_->Post([self = shared_from_this(), response = std::move(response)]() mutable { self->Answer(std::move(response)); });
}

void ServerConnection::Deliver(std::shared_ptr<ServerStream> stream, HttpResponse head) {
  auto begin = [self = shared_from_this(), stream, head = std::move(head)] { self->BeginStream(stream, head); };
  if (worker_->here() && in_handler_) {
    inline_stream_ = std::move(begin);
    return;
  }
  if (!worker_->Post(std::move(begin))) stream->ConnectionGone();
}

void ServerConnection::Answer(HttpResponse response) {
  if (phase_ != Phase::kHandling) return;
  phase_ = Phase::kWriting;
  budget_.Set(0);
  size_t size = 0;
  for (const Chunk& chunk : response.body) size += chunk->size();
  const bool bodiless = response.status == 204 || response.status == 304;
  out_.push_back(MakeChunk(ResponseHead(response, bodiless ? "" : fmt::format("Content-Length: {}\r\n", size), keep_alive_)));
  if (!head_only_ && !bodiless) out_.insert(out_.end(), response.body.begin(), response.body.end());
  Flush();
}

void ServerConnection::BeginStream(std::shared_ptr<ServerStream> stream, const HttpResponse& head) {
  if (phase_ != Phase::kHandling) return stream->ConnectionGone();
  budget_.Set(0);
  if (http10_) keep_alive_ = false;
  out_.push_back(MakeChunk(ResponseHead(head, http10_ ? "" : "Transfer-Encoding: chunked\r\n", keep_alive_)));
  if (head_only_) {
    phase_ = Phase::kWriting;
    stream->ConnectionGone();
    return Flush();
  }
  phase_ = Phase::kStreaming;
  stream_ = std::move(stream);
  stream_last_ = false;
  stream_in_flight_ = 0;
  // What the handler has written already goes out together with the header.
  PumpStream();
  if (phase_ == Phase::kStreaming) ReadWhileStreaming();
}

void ServerConnection::PumpStream() {
  if (phase_ != Phase::kStreaming || stream_last_) return;
  // While earlier chunks wait for the socket, later ones gather in the stream; AfterFlush comes back for them.
  if (stream_in_flight_ > 0) {
    pump_again_ = true;
    return stream_->overflow() ? CloseSlowStream() : void();
  }
  ServerStream::Batch batch = stream_->Take();
  if (phase_ != Phase::kStreaming) return;
  if (batch.overflow) return CloseSlowStream();
  QueueStreamBatch(std::move(batch.chunks));
  if (batch.last) {
    stream_last_ = true;
    if (!http10_) out_.push_back(MakeChunk("0\r\n\r\n"));
  }
  Flush();
}

void ServerConnection::CloseSlowStream() {
  base::log::Warn("closed a stream whose client reads too slowly", {{"client", remote_}});
  Close();
}

void ServerConnection::QueueStreamBatch(std::vector<Chunk> chunks) {
  if (chunks.empty()) return;
  static const Chunk line_end = MakeChunk("\r\n");
  size_t size = 0;
  for (const Chunk& chunk : chunks) size += chunk->size();
  stream_in_flight_ += size;
  if (!http10_) out_.push_back(MakeChunk(fmt::format("{:x}\r\n", size)));
  out_.insert(out_.end(), std::make_move_iterator(chunks.begin()), std::make_move_iterator(chunks.end()));
  if (!http10_) out_.push_back(line_end);
}

void ServerConnection::Flush() {
  size_t turn = 0;
  std::vector<std::string_view> parts;
  while (out_index_ < out_.size()) {
    parts.clear();
    for (size_t i = out_index_; i < out_.size() && parts.size() < 64; ++i) {
      std::string_view part = *out_[i];
      parts.push_back(i == out_index_ ? part.substr(out_offset_) : part);
    }
    const IoResult result = transport_.Write(parts);
    if (result.wants()) {
      // The clock starts anew whenever the socket is full: as long as it takes bytes, there is progress.
      SetDeadline(worker_->shared().options.write_timeout);
      return Arm(result.kind);
    }
    if (!result.done()) return Close();
    turn += result.bytes;
    size_t left = result.bytes;
    while (out_index_ < out_.size() && left >= out_[out_index_]->size() - out_offset_) {
      left -= out_[out_index_]->size() - out_offset_;
      out_[out_index_++].reset();
      out_offset_ = 0;
    }
    out_offset_ += left;
    if (turn >= kFlushTurnBytes && out_index_ < out_.size()) {
      SetDeadline(worker_->shared().options.write_timeout);
      return ArmWrite();
    }
  }
  out_.clear();
  if (out_.capacity() > 64) out_.shrink_to_fit();
  out_index_ = out_offset_ = 0;
  AfterFlush();
}

void ServerConnection::AfterFlush() {
  if (phase_ == Phase::kStreaming) {
    ClearDeadline();
    stream_->Written(std::exchange(stream_in_flight_, 0));
    if (!stream_last_) {
      if (std::exchange(pump_again_, false)) worker_->Post([self = shared_from_this()] { self->PumpStream(); });
      return;
    }
    std::exchange(stream_, nullptr)->ConnectionGone();
    if (phase_ == Phase::kClosed) return;
    phase_ = Phase::kWriting;
  }
  if (phase_ != Phase::kWriting) return;
  if (!keep_alive_) {
    transport_.ShutdownWrite();
    phase_ = Phase::kLingering;
    SetDeadline(kLingerTime);
    return Linger();
  }
  phase_ = Phase::kIdle;
  if (input_.empty()) input_.shrink_to_fit();
  parse_input_ = !input_.empty();
  SetDeadline(worker_->shared().options.idle_timeout);
  Drive();
}

void ServerConnection::Linger() {
  // Closing a socket with unread bytes resets it, and the client would lose the answer: read on, and forget, until it closes.
  std::vector<char>& scratch = worker_->scratch();
  for (int i = 0; i < 16; ++i) {
    const ssize_t received = recv(descriptor_.native_handle(), scratch.data(), scratch.size(), 0);
    if (received > 0) continue;
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) break;
    return Close();
  }
  ArmRead();
}

void ServerConnection::ReadWhileStreaming() {
  std::vector<char>& scratch = worker_->scratch();
  while (true) {
    const IoResult result = transport_.Read(scratch.data(), scratch.size());
    if (result.kind == IoResult::Kind::kWantRead) return ArmRead();
    if (result.wants()) return Arm(result.kind);
    if (!result.done()) return Close();
    // A request sent ahead waits for the stream to end; more than one header's worth of them is not waited for.
    input_.append(scratch.data(), result.bytes);
    if (input_.size() > worker_->shared().options.header_bytes_max) return Close();
  }
}

void ServerConnection::CheckDeadline(base::Instant now) {
  if (now < deadline_ || phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kReading && out_.empty()) return Refuse(408, "Timeout", "the request took too long to arrive");
  Close();
}

void ServerConnection::Close() {
  if (phase_ == Phase::kClosed) return;
  const std::shared_ptr<ServerConnection> self = shared_from_this();
  transport_.ShutdownWrite();
  phase_ = Phase::kClosed;
  transport_.Reset();
  boost::system::error_code ignored;
  static_cast<void>(descriptor_.close(ignored));
  reader_.reset();
  input_ = {};
  out_.clear();
  inline_response_.reset();
  count_.reset();
  worker_->Forget(self);
  if (stream_ != nullptr) std::exchange(stream_, nullptr)->ConnectionGone();
}

}  // namespace evenkeel::embedded::apiserver
