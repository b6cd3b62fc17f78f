#include "client/http/http_tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;

constexpr size_t kTlsRecordBytes = 16 << 10;

std::string TakeSslErrors() {
  std::string text;
  while (unsigned long code = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(code);
    if (!text.empty()) text += "; ";
    text += reason != nullptr ? reason : "error " + std::to_string(code);
  }
  return text.empty() ? "unknown TLS error" : text;
}

// OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE when the other side has gone; a library must not change
// how the process takes signals, so this one sends with MSG_NOSIGNAL.
int QuietSocketWrite(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto fd = static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
  const ssize_t sent = send(fd, data, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int QuietSocketRead(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto fd = static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
  const ssize_t received = recv(fd, data, static_cast<size_t>(size), 0);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (received == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(received);
}

long QuietSocketControl(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

const BIO_METHOD* QuietSocketMethod() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    BIO_meth_set_write(made, QuietSocketWrite);
    BIO_meth_set_read(made, QuietSocketRead);
    BIO_meth_set_ctrl(made, QuietSocketControl);
    return made;
  }();
  return method;
}

void AttachSocket(SSL* ssl, int fd) {
  BIO* bio = BIO_new(QuietSocketMethod());
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
}

using BioPointer = std::unique_ptr<BIO, decltype(&BIO_free)>;
using X509Pointer = std::unique_ptr<X509, decltype(&X509_free)>;

BioPointer MemoryBio(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

// A password callback that has none: without it OpenSSL would ask on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

base::Status UseKeyPair(SSL_CTX* context, const std::string& certificate_pem, const std::string& key_pem) {
  BioPointer certificate_bio = MemoryBio(certificate_pem);
  X509Pointer certificate(PEM_read_bio_X509(certificate_bio.get(), nullptr, NoPassword, nullptr), &X509_free);
  if (certificate == nullptr) return Fail(Code::kBadRequest, "the certificate is not PEM: " + TakeSslErrors());
  if (SSL_CTX_use_certificate(context, certificate.get()) != 1) {
    return Fail(Code::kBadRequest, "the certificate cannot be used: " + TakeSslErrors());
  }
  while (X509* next = PEM_read_bio_X509(certificate_bio.get(), nullptr, NoPassword, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, next) != 1) X509_free(next);
  }
  ERR_clear_error();
  BioPointer key_bio = MemoryBio(key_pem);
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, NoPassword, nullptr),
                                                          &EVP_PKEY_free);
  if (key == nullptr) return Fail(Code::kBadRequest, "the private key is not PEM without a password: " + TakeSslErrors());
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return Fail(Code::kBadRequest, "the private key does not belong to the certificate: " + TakeSslErrors());
  }
  return {};
}

base::Status TrustAuthorities(SSL_CTX* context, const std::string& ca_pem, bool announce) {
  BioPointer bio = MemoryBio(ca_pem);
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  int count = 0;
  while (X509* read = PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr)) {
    X509Pointer certificate(read, &X509_free);
    X509_STORE_add_cert(store, read);
    if (announce) SSL_CTX_add_client_CA(context, read);
    ++count;
  }
  ERR_clear_error();
  if (count == 0) return Fail(Code::kBadRequest, "the certificate authority holds no PEM certificate");
  return {};
}

void SetCommonOptions(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A message that is cut off shows in its framing (Content-Length, chunks), so a missing close_notify is an ordinary end.
  SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_read_ahead(context, 1);
}

bool IsIpAddress(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

void AppendNames(X509_NAME* name, int nid, std::vector<std::string>& values) {
  for (int i = X509_NAME_get_index_by_NID(name, nid, -1); i >= 0; i = X509_NAME_get_index_by_NID(name, nid, i)) {
    unsigned char* utf8 = nullptr;
    const int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, i)));
    if (size < 0) continue;
    values.emplace_back(reinterpret_cast<char*>(utf8), static_cast<size_t>(size));
    OPENSSL_free(utf8);
  }
}

}  // namespace

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

void SslDeleter::operator()(ssl_st* ssl) const {
  // A connection that goes without both sides' close_notify would spoil its session for OpenSSL, also the one that is kept for
  // the next connection: that would shake hands in full and hold certificates of its own. Cut messages show in their framing.
  SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  SSL_free(ssl);
}

base::Result<std::shared_ptr<TlsContext>> TlsContext::ForServer(const std::string& certificate_pem, const std::string& key_pem,
                                                                const std::string& client_ca_pem) {
  std::shared_ptr<TlsContext> made(new TlsContext());
  made->context_ = SSL_CTX_new(TLS_server_method());
  if (made->context_ == nullptr) return Fail(Code::kInternal, "cannot set up TLS: " + TakeSslErrors());
  SetCommonOptions(made->context_);
  EVENKEEL_TRY(UseKeyPair(made->context_, certificate_pem, key_pem));
  constexpr std::string_view kSessionContext = "evenkeel";
  SSL_CTX_set_session_id_context(made->context_, reinterpret_cast<const unsigned char*>(kSessionContext.data()),
                                 static_cast<unsigned>(kSessionContext.size()));
  SSL_CTX_set_session_cache_mode(made->context_, SSL_SESS_CACHE_SERVER);
  SSL_CTX_sess_set_cache_size(made->context_, 4096);
  // Two tickets are OpenSSL's default; each costs a write in every handshake, and clients here resume from one.
  SSL_CTX_set_num_tickets(made->context_, 1);
  if (!client_ca_pem.empty()) {
    if (auto status = TrustAuthorities(made->context_, client_ca_pem, true); !status)
      return Fail(status.error().Wrap("client CA"));
    SSL_CTX_set_verify(made->context_, SSL_VERIFY_PEER, nullptr);
  }
  return made;
}

base::Result<std::shared_ptr<TlsContext>> TlsContext::ForClient(const std::string& ca_pem, bool verify,
                                                                const std::string& certificate_pem,
                                                                const std::string& key_pem) {
  std::shared_ptr<TlsContext> made(new TlsContext());
  made->context_ = SSL_CTX_new(TLS_client_method());
  if (made->context_ == nullptr) return Fail(Code::kInternal, "cannot set up TLS: " + TakeSslErrors());
  SetCommonOptions(made->context_);
  made->verify_ = verify;
  if (verify) {
    if (ca_pem.empty()) {
      SSL_CTX_set_default_verify_paths(made->context_);
    } else {
      EVENKEEL_TRY(TrustAuthorities(made->context_, ca_pem, false));
      // Whoever is named there is trusted, even if it is no root itself, as Go has it.
      X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(made->context_), X509_V_FLAG_PARTIAL_CHAIN);
    }
  }
  SSL_CTX_set_verify(made->context_, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (certificate_pem.empty() != key_pem.empty()) {
    return Fail(Code::kBadRequest,
                certificate_pem.empty() ? "a client key without its certificate" : "a client certificate without its key");
  }
  if (!certificate_pem.empty()) {
    if (auto status = UseKeyPair(made->context_, certificate_pem, key_pem); !status)
      return Fail(status.error().Wrap("client certificate"));
  }
  SSL_CTX_set_session_cache_mode(made->context_, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_set_app_data(made->context_, made.get());
  SSL_CTX_sess_set_new_cb(made->context_, &TlsContext::OnNewSession);
  return made;
}

TlsContext::~TlsContext() {
  SSL_SESSION_free(session_);
  SSL_CTX_free(context_);
}

int TlsContext::OnNewSession(ssl_st* ssl, ssl_session_st* session) {
  auto* self = static_cast<TlsContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  std::lock_guard lock(self->mutex_);
  SSL_SESSION_free(self->session_);
  self->session_ = session;
  return 1;  // the reference is ours now
}

SslPointer TlsContext::NewServerSession(int fd) const {
  SslPointer ssl(SSL_new(context_));
  EVENKEEL_CHECK(ssl != nullptr);
  AttachSocket(ssl.get(), fd);
  SSL_set_accept_state(ssl.get());
  return ssl;
}

SslPointer TlsContext::NewClientSession(int fd, const std::string& server_name) const {
  SslPointer ssl(SSL_new(context_));
  EVENKEEL_CHECK(ssl != nullptr);
  AttachSocket(ssl.get(), fd);
  SSL_set_connect_state(ssl.get());
  const bool is_address = IsIpAddress(server_name);
  if (!is_address) SSL_set_tlsext_host_name(ssl.get(), server_name.c_str());
  if (verify_) {
    X509_VERIFY_PARAM* parameters = SSL_get0_param(ssl.get());
    X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (is_address) {
      X509_VERIFY_PARAM_set1_ip_asc(parameters, server_name.c_str());
    } else {
      X509_VERIFY_PARAM_set1_host(parameters, server_name.c_str(), server_name.size());
    }
  }
  // Sessions are taken, not shared: a TLS 1.3 ticket should be used once.
  ssl_session_st* session = nullptr;
  {
    std::lock_guard lock(mutex_);
    session = std::exchange(session_, nullptr);
  }
  if (session != nullptr) {
    SSL_set_session(ssl.get(), session);
    SSL_SESSION_free(session);
  }
  return ssl;
}

IoResult Transport::SslOutcome(int result, std::string_view doing) {
  const int system_error = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {IoResult::Kind::kWantRead, 0, {}};
    case SSL_ERROR_WANT_WRITE:
      return {IoResult::Kind::kWantWrite, 0, {}};
    case SSL_ERROR_ZERO_RETURN:
      return {IoResult::Kind::kEof, 0, {}};
    case SSL_ERROR_SYSCALL:
      failed_ = true;
      if (system_error == 0) return {IoResult::Kind::kEof, 0, {}};
      return {IoResult::Kind::kError, 0, std::string(doing) + ": " + std::strerror(system_error)};
    default:
      break;
  }
  failed_ = true;
  std::string reason = TakeSslErrors();
  if (const long verdict = SSL_get_verify_result(ssl_.get()); !handshake_done_ && verdict != X509_V_OK) {
    reason = std::string("certificate refused: ") + X509_verify_cert_error_string(verdict);
  }
  return {IoResult::Kind::kError, 0, std::string(doing) + ": " + reason};
}

IoResult Transport::Handshake() {
  if (ssl_ == nullptr) {
    handshake_done_ = true;
    return {};
  }
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    handshake_done_ = true;
    return {};
  }
  IoResult outcome = SslOutcome(result, "TLS handshake");
  if (outcome.kind == IoResult::Kind::kEof) return {IoResult::Kind::kError, 0, "TLS handshake: the connection was closed"};
  return outcome;
}

IoResult Transport::Read(char* data, size_t size) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    errno = 0;
    size_t bytes = 0;
    const int result = SSL_read_ex(ssl_.get(), data, size, &bytes);
    if (result != 1) return SslOutcome(result, "read");
    // A session ticket on the way has made a buffer for writing, which would stay until the next write: for ever in a watch.
    // What is left of a record must not be freed.
    if (SSL_pending(ssl_.get()) == 0) SSL_free_buffers(ssl_.get());
    return {.bytes = bytes, .dry = SSL_has_pending(ssl_.get()) == 0};
  }
  while (true) {
    const ssize_t received = recv(fd_, data, size, 0);
    if (received > 0) return {.bytes = static_cast<size_t>(received), .dry = static_cast<size_t>(received) < size};
    if (received == 0) return {IoResult::Kind::kEof, 0, {}};
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return {IoResult::Kind::kWantRead, 0, {}};
    return {IoResult::Kind::kError, 0, std::string("read: ") + std::strerror(errno)};
  }
}

IoResult Transport::Write(const std::vector<std::string_view>& parts) {
  if (ssl_ != nullptr) return WriteTls(parts);
  std::array<iovec, 64> vectors;
  size_t count = 0;
  for (std::string_view part : parts) {
    if (part.empty()) continue;
    if (count == vectors.size()) break;
    vectors[count++] = {const_cast<char*>(part.data()), part.size()};
  }
  if (count == 0) return {};
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  while (true) {
    const ssize_t sent = sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (sent >= 0) return {IoResult::Kind::kDone, static_cast<size_t>(sent), {}};
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return {IoResult::Kind::kWantWrite, 0, {}};
    return {IoResult::Kind::kError, 0, std::string("write: ") + std::strerror(errno)};
  }
}

IoResult Transport::WriteTls(const std::vector<std::string_view>& parts) {
  // A write that could not finish must be repeated with the same bytes and at least as many: parts only grow at the end, so
  // gathering them anew each time gives just that.
  thread_local std::array<char, kTlsRecordBytes> gathered;
  std::string_view data;
  size_t first = 0;
  while (first < parts.size() && parts[first].empty()) ++first;
  if (first == parts.size()) return {};
  if (parts[first].size() >= kTlsRecordBytes || first + 1 == parts.size()) {
    data = parts[first];
  } else {
    size_t size = 0;
    for (size_t i = first; i < parts.size() && size < gathered.size(); ++i) {
      const size_t take = std::min(parts[i].size(), gathered.size() - size);
      std::memcpy(gathered.data() + size, parts[i].data(), take);
      size += take;
    }
    data = {gathered.data(), size};
  }
  ERR_clear_error();
  errno = 0;
  size_t bytes = 0;
  const int result = SSL_write_ex(ssl_.get(), data.data(), data.size(), &bytes);
  if (result == 1) return {IoResult::Kind::kDone, bytes, {}};
  return SslOutcome(result, "write");
}

void Transport::ShutdownWrite() {
  if (ssl_ != nullptr && handshake_done_ && !failed_) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  if (fd_ >= 0) shutdown(fd_, SHUT_WR);
}

PeerSubject Transport::Peer() const {
  PeerSubject subject;
  if (ssl_ == nullptr || SSL_get_verify_result(ssl_.get()) != X509_V_OK) return subject;
  X509* certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate == nullptr) return subject;
  X509_NAME* name = X509_get_subject_name(certificate);
  std::vector<std::string> common_names;
  AppendNames(name, NID_commonName, common_names);
  AppendNames(name, NID_organizationName, subject.organizations);
  if (!common_names.empty()) subject.common_name = std::move(common_names.front());
  return subject;
}

}  // namespace evenkeel::client
