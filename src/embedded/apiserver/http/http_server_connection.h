// One connection of the HTTP server: reads a request, has it answered, goes on. Only http_server*.cc include this.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client/http/http_message.h"
#include "client/http/http_tls.h"
#include "embedded/apiserver/http/http_server_worker.h"
#include "embedded/apiserver/requests/http.h"

namespace evenkeel::embedded::apiserver {

/// What handlers write to; the connection takes it from here on its own thread.
class ServerStream final : public ResponseStream, public std::enable_shared_from_this<ServerStream> {
 public:
  ServerStream(std::shared_ptr<ServerConnection> connection, size_t bytes_max)
      : bytes_max_(bytes_max), connection_(std::move(connection)) {}

  bool Write(Chunk chunk) override;
  bool WriteBeginning(Chunk chunk) override;
  void Close() override;
  void OnClosed(std::function<void()> callback) override;

  // For the connection, on its thread.
  struct Batch {
    std::vector<Chunk> chunks;
    bool last = false;      ///< nothing follows
    bool overflow = false;  ///< the reader is too slow: cut the connection
  };
  Batch Take();
  void Written(size_t bytes);
  bool overflow();
  /// No more writes; calls what OnClosed left.
  void ConnectionGone();

 private:
  void Schedule(std::unique_lock<std::mutex> lock);
  bool Queue(std::unique_lock<std::mutex> lock, Chunk chunk);

  const size_t bytes_max_;
  std::mutex mutex_;
  std::shared_ptr<ServerConnection> connection_;  // null once the connection is gone
  std::vector<Chunk> pending_;
  size_t queued_ = 0;     // bytes in pending_ and on their way
  size_t beginning_ = 0;  // of them, the first ones, which the bound does not count
  bool scheduled_ = false;
  bool closing_ = false;
  bool overflow_ = false;
  std::function<void()> callback_;
};

class ServerConnection final : public std::enable_shared_from_this<ServerConnection> {
 public:
  ServerConnection(std::shared_ptr<ServerWorker> worker, client::UniqueFd fd, std::string remote, ConnectionCount count);
  ~ServerConnection();

  void Start();
  /// Ends it at once.
  void Close();
  void CheckDeadline(base::Instant now);
  /// Nobody has shown yet who is there, and nothing is being done for them.
  bool is_strangers() const {
    return !known_ && (phase_ == Phase::kHandshake || phase_ == Phase::kIdle || phase_ == Phase::kReading);
  }
  /// When something came last.
  base::Instant active() const { return active_; }

  // Any thread; for responders.
  void Deliver(HttpResponse response);
  void Deliver(std::shared_ptr<ServerStream> stream, HttpResponse head);
  ServerWorker& worker() { return *worker_; }

  /// The stream has something to send.
  void PumpStream();

 private:
  enum class Phase { kHandshake, kIdle, kReading, kHandling, kWriting, kStreaming, kLingering, kClosed };

  void OnReady();
  void ArmRead();
  void ArmWrite();
  void Arm(client::IoResult::Kind kind) { kind == client::IoResult::Kind::kWantWrite ? ArmWrite() : ArmRead(); }
  void Handshake();
  void Drive();
  void Parse(std::string_view fresh);
  void BeginRequest();
  bool ReadHeader(HttpRequest& request) const;
  void Dispatch();
  void Refuse(int status, std::string_view reason, std::string_view message);
  void Refuse(HttpResponse response);
  void Answer(HttpResponse response);
  void BeginStream(std::shared_ptr<ServerStream> stream, const HttpResponse& head);
  void CloseSlowStream();
  void QueueStreamBatch(std::vector<Chunk> chunks);
  void Flush();
  void AfterFlush();
  void Linger();
  void ReadWhileStreaming();
  void SetDeadline(base::Duration from_now);
  void ClearDeadline() { deadline_ = base::Instant::max(); }

  const std::shared_ptr<ServerWorker> worker_;  // first, so that it outlives the descriptor
  boost::asio::posix::stream_descriptor descriptor_;
  client::Transport transport_;
  const std::string remote_;
  std::optional<ConnectionCount> count_;
  std::string subject_;
  Phase phase_ = Phase::kHandshake;
  base::Instant deadline_ = base::Instant::max();
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool driving_ = false;
  bool continued_ = false;
  bool known_ = false;  // a request of this connection was authenticated
  base::Instant active_{};

  // The request being read or answered.
  std::optional<client::HttpRequestReader> reader_;
  HttpRequest request_;  // from its header on
  BodyBudget budget_;
  std::string input_;  // bytes that came but are not parsed
  bool parse_input_ = false;
  bool keep_alive_ = true;
  bool http10_ = false;
  bool head_only_ = false;
  bool in_handler_ = false;
  std::optional<HttpResponse> inline_response_;
  std::function<void()> inline_stream_;

  // What is being sent.
  std::vector<Chunk> out_;
  size_t out_index_ = 0, out_offset_ = 0;
  std::shared_ptr<ServerStream> stream_;
  size_t stream_in_flight_ = 0;
  bool stream_last_ = false;
  bool pump_again_ = false;
};

}  // namespace evenkeel::embedded::apiserver
