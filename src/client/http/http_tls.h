// Bytes over a non-blocking socket, with TLS or without: what the HTTP client and the HTTP server share. It works on the socket
// itself rather than through memory buffers, so that an idle connection costs a few kilobytes.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

struct ssl_st;
struct ssl_ctx_st;
struct ssl_session_st;

namespace evenkeel::client {

/// A file descriptor that is closed with its owner.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// What one attempt to read, write or shake hands came to. kWant*: nothing happened, try again when the socket is ready.
struct IoResult {
  enum class Kind { kDone, kWantRead, kWantWrite, kEof, kError };
  Kind kind = Kind::kDone;
  size_t bytes = 0;
  std::string error{};
  bool dry = false;  ///< of Read, when done: nothing more had come, so that the next attempt would most likely be kWantRead

  bool done() const { return kind == Kind::kDone; }
  bool wants() const { return kind == Kind::kWantRead || kind == Kind::kWantWrite; }
};

struct SslDeleter {
  void operator()(ssl_st* ssl) const;
};
using SslPointer = std::unique_ptr<ssl_st, SslDeleter>;

/// Keys, trust and session cache of one server or of one client. Immutable once made, apart from the session: thread-safe.
class TlsContext {
 public:
  /// `client_ca_pem` empty: client certificates are not asked for; otherwise they are optional, and one that does not verify
  /// ends the handshake. kBadRequest says which of the three cannot be used.
  static base::Result<std::shared_ptr<TlsContext>> ForServer(const std::string& certificate_pem, const std::string& key_pem,
                                                             const std::string& client_ca_pem);
  /// `ca_pem` empty: the system's. `certificate_pem` and `key_pem` are both given or both empty.
  static base::Result<std::shared_ptr<TlsContext>> ForClient(const std::string& ca_pem, bool verify,
                                                             const std::string& certificate_pem, const std::string& key_pem);
  ~TlsContext();

  SslPointer NewServerSession(int fd) const;
  /// Verifies that the certificate is for `server_name`, a DNS name or an IP address. Resumes an earlier session where it can.
  SslPointer NewClientSession(int fd, const std::string& server_name) const;

 private:
  TlsContext() = default;
  static int OnNewSession(ssl_st* ssl, ssl_session_st* session);

  ssl_ctx_st* context_ = nullptr;
  bool verify_ = true;
  mutable std::mutex mutex_;
  mutable ssl_session_st* session_ = nullptr;
};

/// Common name and organizations of the certificate that the other side showed and that verified; empty when there is none.
struct PeerSubject {
  std::string common_name;
  std::vector<std::string> organizations;
};

/// One connection's bytes. Does not own the descriptor, which must be non-blocking. One thread at a time.
class Transport {
 public:
  Transport() = default;
  Transport(int fd, SslPointer ssl) : fd_(fd), ssl_(std::move(ssl)) {}

  bool tls() const { return ssl_ != nullptr; }
  /// Done at once without TLS. The error of a certificate that was refused says why.
  IoResult Handshake();
  IoResult Read(char* data, size_t size);
  /// Writes some of the parts, in order, without copying; over TLS, small ones are put together into records of 16 KiB. After
  /// kWant*, call again with the same parts, to which more may have been added at the end.
  IoResult Write(const std::vector<std::string_view>& parts);
  IoResult Write(std::string_view data) { return Write(std::vector<std::string_view>{data}); }
  /// Tells the other side that nothing more will come, as far as that goes without waiting.
  void ShutdownWrite();
  PeerSubject Peer() const;
  /// Releases the TLS state; the transport can then only be destroyed.
  void Reset() { ssl_.reset(); }

 private:
  IoResult SslOutcome(int result, std::string_view doing);
  IoResult WriteTls(const std::vector<std::string_view>& parts);

  int fd_ = -1;
  SslPointer ssl_;
  bool handshake_done_ = false;
  bool failed_ = false;
};

}  // namespace evenkeel::client
