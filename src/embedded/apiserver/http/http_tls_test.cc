#include "client/http/http_tls.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <memory>

#include "embedded/apiserver/http/http_testing.h"

namespace evenkeel::embedded::apiserver::http_tls_test {
namespace {

using client::TlsContext;
using client::Transport;
using client::UniqueFd;
using testing::TestCertificates;

/// Both ends of one connection over which the server has said something, with which its ticket came.
class ConnectedPair {
 public:
  ConnectedPair(const TlsContext& client, const TlsContext& server) {
    int ends[2];
    EVENKEEL_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    client_fd_ = UniqueFd(ends[0]);
    server_fd_ = UniqueFd(ends[1]);
    client::SslPointer ssl = client.NewClientSession(ends[0], "127.0.0.1");
    ssl_ = ssl.get();
    client_ = Transport(ends[0], std::move(ssl));
    server_ = Transport(ends[1], server.NewServerSession(ends[1]));
    for (int turn = 0; turn < 10; ++turn) {
      const bool client_done = client_.Handshake().done();
      if (server_.Handshake().done() && client_done) break;
    }
    char byte = 0;
    connected_ = server_.Write("x").done() && client_.Read(&byte, 1).done() && byte == 'x';
  }

  Transport& client() { return client_; }
  Transport& server() { return server_; }
  bool connected() const { return connected_; }
  bool resumed() const { return SSL_session_reused(ssl_) == 1; }

 private:
  UniqueFd client_fd_, server_fd_;
  ssl_st* ssl_ = nullptr;
  Transport client_, server_;
  bool connected_ = false;
};

TEST(TlsContextTest, ResumesTheSessionOfAConnectionThatHasGone) {
  const TestCertificates& certificates = TestCertificates::Get();
  const HttpServerOptions options = testing::TlsServerOptions();
  const auto server = TlsContext::ForServer(options.certificate_pem, options.private_key_pem, "").value();
  const auto client = TlsContext::ForClient(certificates.authority.certificate_pem, true, "", "").value();
  auto first = std::make_unique<ConnectedPair>(*client, *server);
  ASSERT_TRUE(first->connected());
  EXPECT_FALSE(first->resumed());
  // Neither side says goodbye.
  first.reset();
  for (int again = 0; again < 3; ++again) {
    const ConnectedPair next(*client, *server);
    ASSERT_TRUE(next.connected());
    EXPECT_TRUE(next.resumed());
  }
}

/// What one attempt to read gives: the bytes, and "|" where nothing more has come; "" when there was nothing.
std::string ReadOnce(Transport& transport, size_t size) {
  std::string data(size, '\0');
  const client::IoResult result = transport.Read(data.data(), data.size());
  if (!result.done()) return "";
  return data.substr(0, result.bytes) + (result.dry ? "|" : "");
}

TEST(TransportTest, SaysWhenAllThatHasComeIsRead) {
  const HttpServerOptions options = testing::TlsServerOptions();
  const auto server = TlsContext::ForServer(options.certificate_pem, options.private_key_pem, "").value();
  const auto client = TlsContext::ForClient("", false, "", "").value();
  ConnectedPair pair(*client, *server);
  ASSERT_TRUE(pair.connected());
  ASSERT_TRUE(pair.server().Write("ab").done() && pair.server().Write("cd").done());
  EXPECT_EQ(ReadOnce(pair.client(), 64), "ab") << "the second record has come, too";
  EXPECT_EQ(ReadOnce(pair.client(), 1), "c");
  EXPECT_EQ(ReadOnce(pair.client(), 64), "d|");
  EXPECT_EQ(ReadOnce(pair.client(), 64), "");
}

TEST(TransportTest, SaysWithoutTlsWhenAllThatHasComeIsRead) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd left(ends[0]), right(ends[1]);
  Transport writer(ends[0], nullptr), reader(ends[1], nullptr);
  ASSERT_TRUE(writer.Write("abc").done());
  EXPECT_EQ(ReadOnce(reader, 2), "ab");
  EXPECT_EQ(ReadOnce(reader, 2), "c|");
  EXPECT_EQ(ReadOnce(reader, 2), "");
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::http_tls_test
