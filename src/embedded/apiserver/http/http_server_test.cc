#include "embedded/apiserver/http/http_server.h"

#include <gtest/gtest.h>

#include <latch>

#include "base/json.h"
#include "embedded/apiserver/http/http_testing.h"

namespace evenkeel::embedded::apiserver::http_server_test {
namespace {

using testing::Eventually;
using testing::LambdaHandler;
using testing::PlainClientConfig;
using testing::RawConnection;
using testing::TextResponse;
using testing::TlsClientConfig;
using testing::TlsServerOptions;

Chunk TextChunk(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

/// Answers "METHOD PATH?QUERY BODY".
LambdaHandler EchoHandler() {
  return LambdaHandler([](HttpRequest request, std::unique_ptr<Responder> responder) {
    responder->Send(TextResponse(200, request.method + " " + request.path + "?" + request.query + " " + request.body));
  });
}

/// Keeps the streams that it starts.
struct StreamKeeper {
  std::mutex mutex;
  std::vector<std::shared_ptr<ResponseStream>> streams;
  std::atomic<int> closed{0};
  LambdaHandler handler{[this](HttpRequest, std::unique_ptr<Responder> responder) {
    auto stream = responder->StartStream(200, "application/json", {});
    stream->OnClosed([this] { ++closed; });
    std::lock_guard lock(mutex);
    streams.push_back(std::move(stream));
  }};

  size_t size() {
    std::lock_guard lock(mutex);
    return streams.size();
  }
  std::shared_ptr<ResponseStream> first() {
    std::lock_guard lock(mutex);
    return streams.front();
  }
};

constexpr std::string_view kGet = "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n";

TEST(HttpServerTest, KeepsAConnectionOpenForMoreRequests) {
  LambdaHandler handler = EchoHandler();
  auto server = HttpServer::Start({}, handler).value();
  RawConnection connection(PlainClientConfig(server->port()));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(connection.Write(kGet));
    const std::string answer = connection.ReadUntil("GET /a?b=c ");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_NE(answer.find("Content-Length: 11\r\n"), std::string::npos) << answer;
  }
  EXPECT_EQ(server->stats().connections, 1);
  EXPECT_EQ(server->stats().requests, 3);
}

TEST(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  LambdaHandler handler([](HttpRequest request, std::unique_ptr<Responder> responder) {
    // The first answer comes later, from another thread.
    if (request.path == "/0") {
      std::thread([responder = std::move(responder)]() mutable {
        std::this_thread::sleep_for(50ms);
        responder->Send(TextResponse(200, "slow;"));
      }).detach();
    } else {
      responder->Send(TextResponse(200, request.path + ";"));
    }
  });
  auto server = HttpServer::Start({}, handler).value();
  RawConnection connection(PlainClientConfig(server->port()));
  std::string requests;
  for (int i = 0; i < 200; ++i) requests += fmt::format("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", i);
  ASSERT_TRUE(connection.Write(requests));
  EXPECT_NE(connection.ReadUntil("slow;"), "");
  for (int i = 1; i < 200; ++i) {
    const std::string answer = connection.ReadUntil(";");
    EXPECT_TRUE(answer.ends_with(fmt::format("\r\n\r\n/{};", i))) << answer;
  }
}

TEST(HttpServerTest, ReadsBodiesOfBothFramingsAndTellsAClientToContinue) {
  LambdaHandler handler = EchoHandler();
  auto server = HttpServer::Start({}, handler).value();
  RawConnection connection(PlainClientConfig(server->port()));
  ASSERT_TRUE(
      connection.Write("POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
  EXPECT_NE(connection.ReadUntil("POST /p? abcde").find("200 OK"), std::string::npos);
  ASSERT_TRUE(connection.Write("PUT /q HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(connection.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(connection.Write("wxyz"));
  EXPECT_NE(connection.ReadUntil("PUT /q? wxyz").find("200 OK"), std::string::npos);
}

TEST(HttpServerTest, AnswersHeadWithoutABodyAndOptionsWithTheMethods) {
  LambdaHandler handler = EchoHandler();
  auto server = HttpServer::Start({}, handler).value();
  RawConnection connection(PlainClientConfig(server->port()));
  ASSERT_TRUE(connection.Write("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\nOPTIONS /a HTTP/1.1\r\nHost: x\r\n\r\n"));
  const std::string head = connection.ReadUntil("\r\n\r\n");
  EXPECT_NE(head.find("Content-Length: 8\r\n"), std::string::npos) << head;
  const std::string options = connection.ReadUntil("\r\n\r\n");
  EXPECT_TRUE(options.starts_with("HTTP/1.1 204 No Content\r\n")) << options;
  EXPECT_NE(options.find("Allow: GET"), std::string::npos) << options;
  ASSERT_TRUE(connection.Write("TRACE / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_TRUE(connection.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 405"));
}

TEST(HttpServerTest, RefusesABodyThatIsTooLargeWithAStatusAndCloses) {
  LambdaHandler handler = EchoHandler();
  HttpServerOptions options = TlsServerOptions();
  options.body_bytes_max = 1000;
  auto server = HttpServer::Start(options, handler).value();
  RawConnection declared(TlsClientConfig(server->port()));
  ASSERT_TRUE(declared.Write("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 'x')));
  std::string answer = declared.ReadAll();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 Payload Too Large\r\n")) << answer;
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
  const auto body = base::ParseJson(answer.substr(answer.find("\r\n\r\n") + 4), "body");
  ASSERT_TRUE(body);
  EXPECT_EQ(base::FindString(*body, {"reason"}), "RequestEntityTooLarge");
  RawConnection chunked(TlsClientConfig(server->port()));
  chunked.Write("POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n" + std::string(2048, 'x') + "\r\n");
  EXPECT_TRUE(chunked.ReadAll().starts_with("HTTP/1.1 413"));
}

TEST(HttpServerTest, RefusesHeadersThatAreTooLarge) {
  LambdaHandler handler = EchoHandler();
  HttpServerOptions options;
  options.header_bytes_max = 2000;
  auto server = HttpServer::Start(options, handler).value();
  for (const std::string& request :
       {"GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(3000, 'y') + "\r\n\r\n", "GET /" + std::string(5000, 'z'),
        "GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(3000, 'y')}) {
    RawConnection connection(PlainClientConfig(server->port()));
    ASSERT_TRUE(connection.Write(request));
    EXPECT_TRUE(connection.ReadAll().starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n")) << request.substr(0, 30);
  }
}

/// Lets in who says so, before any body.
struct AdmittingHandler final : HttpHandler {
  std::optional<HttpResponse> Admit(HttpRequest& head) override {
    if (head.headers.contains("authorization")) {
      head.user.name = "ann";
      head.authenticated = true;
      return std::nullopt;
    }
    return TextResponse(401, "who are you");
  }
  void Handle(HttpRequest request, std::unique_ptr<Responder> responder) override {
    responder->Send(TextResponse(200, fmt::format("{} sent {} bytes, {}", request.user.name, request.body.size(),
                                                  request.headers.contains("x-late") ? "late" : "in time")));
  }
};

TEST(HttpServerTest, AsksWhoItIsBeforeItReadsABody) {
  AdmittingHandler handler;
  auto server = HttpServer::Start({}, handler).value();
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  RawConnection stranger(PlainClientConfig(server->port()));
  ASSERT_TRUE(stranger.Write(head + "Content-Length: 3000000\r\n\r\n"));
  EXPECT_TRUE(stranger.ReadAll().starts_with("HTTP/1.1 401")) << "without a byte of the body";
  RawConnection known(PlainClientConfig(server->port()));
  ASSERT_TRUE(known.Write(head + "Authorization: me\r\nContent-Length: 5\r\n\r\n12345" + head + "Authorization: me\r\n\r\n"));
  EXPECT_NE(known.ReadUntil("ann sent 5 bytes, in time").find("200 OK"), std::string::npos);
  EXPECT_NE(known.ReadUntil("ann sent 0 bytes, in time").find("200 OK"), std::string::npos);
  // What stands behind a body is no header.
  const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n";
  RawConnection late(PlainClientConfig(server->port()));
  ASSERT_TRUE(late.Write(head + chunked + "Authorization: me\r\n\r\n"));
  EXPECT_TRUE(late.ReadAll().starts_with("HTTP/1.1 401"));
  ASSERT_TRUE(known.Write(head + "Authorization: me\r\n" + chunked + "X-Late: 1\r\n\r\n"));
  EXPECT_NE(known.ReadUntil("ann sent 3 bytes, in time").find("200 OK"), std::string::npos);
}

TEST(HttpServerTest, RefusesHeadersThatOthersMayReadOtherwise) {
  LambdaHandler handler = EchoHandler();
  auto server = HttpServer::Start({}, handler).value();
  const std::vector<std::pair<std::string, std::string>> cases{
      {"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n", "501"},
      {"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n", "501"},
      {"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n", "501"},
      {"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "400"},
      {"POST /p HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", "400"},
      {"GET /p HTTP/1.1\r\nHost: x\r\nHost: y\r\n", "400"},
      {"GET /p HTTP/1.1\r\n", "400"},
      {"GET /p\xff HTTP/1.1\r\nHost: x\r\n", "400"}};
  for (const auto& [header, status] : cases) {
    RawConnection connection(PlainClientConfig(server->port()));
    ASSERT_TRUE(connection.Write(header + "\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"));
    const std::string answer = connection.ReadAll();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + status)) << header << answer;
    EXPECT_EQ(answer.find("hidden"), std::string::npos) << header;
  }
}

TEST(HttpServerTest, ReadsOnlySoManyBodiesAtATime) {
  LambdaHandler handler = EchoHandler();
  HttpServerOptions options;
  options.bodies_bytes_max = 1 << 20;
  auto server = HttpServer::Start(options, handler).value();
  const std::string head = "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n";
  RawConnection first(PlainClientConfig(server->port())), second(PlainClientConfig(server->port()));
  ASSERT_TRUE(first.Write(head + std::string(800'000, 'x')));
  std::string refused;
  ASSERT_TRUE(Eventually([&] {
    RawConnection other(PlainClientConfig(server->port()));
    other.Write(head + std::string(899'999, 'x'));
    other.Write("y");
    refused = other.ReadUntil("\r\n\r\n");
    return refused.starts_with("HTTP/1.1 429");
  }));
  EXPECT_NE(refused.find("Retry-After: 1\r\n"), std::string::npos) << refused;
  ASSERT_TRUE(first.Write(std::string(100'000, 'x')));
  EXPECT_NE(first.ReadUntil("\r\n\r\n").find("200 OK"), std::string::npos);
  ASSERT_TRUE(second.Write(head + std::string(900'000, 'x')));
  EXPECT_NE(second.ReadUntil("\r\n\r\n").find("200 OK"), std::string::npos) << "what is answered is given back";
}

TEST(HttpServerTest, RefusesWhatIsNotHttp) {
  LambdaHandler handler = EchoHandler();
  auto server = HttpServer::Start({}, handler).value();
  for (std::string_view request :
       {"hello\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET nowhere HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    RawConnection connection(PlainClientConfig(server->port()));
    ASSERT_TRUE(connection.Write(request));
    EXPECT_TRUE(connection.ReadAll().starts_with("HTTP/1.1 400 Bad Request\r\n")) << request;
  }
  EXPECT_EQ(server->stats().requests, 0);
}

TEST(HttpServerTest, ClosesConnectionsOfSlowClients) {
  LambdaHandler handler = EchoHandler();
  HttpServerOptions options = TlsServerOptions();
  // In which a busy machine greets, and writes the beginning of a request.
  options.handshake_timeout = options.request_timeout = options.idle_timeout = base::Duration(2s);
  auto server = HttpServer::Start(options, handler).value();
  client::ConnectionConfig plain = PlainClientConfig(server->port());
  RawConnection silent(plain), idle(TlsClientConfig(server->port())), slow(TlsClientConfig(server->port()));
  ASSERT_TRUE(slow.Write("GET / HTTP/1.1\r\nHo"));
  EXPECT_TRUE(slow.ReadAll().starts_with("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_TRUE(silent.ClosedWithin(60s));
  EXPECT_TRUE(idle.ClosedWithin(60s));
  slow.Close();
  EXPECT_TRUE(Eventually([&] { return server->stats().connections == 0; }));
}

TEST(HttpServerTest, BeyondTheLimitStrangersMakeRoomAndTheOthersStay) {
  AdmittingHandler handler;
  HttpServerOptions options;
  options.connections_max = 3;
  auto server = HttpServer::Start(options, handler).value();
  const std::string known = "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: me\r\n\r\n";
  const client::ConnectionConfig config = PlainClientConfig(server->port());
  const auto introduce = [&](RawConnection& connection) {
    ASSERT_TRUE(connection.Write(known));
    EXPECT_NE(connection.ReadUntil("in time").find("200 OK"), std::string::npos);
  };
  RawConnection first(config), quietest(config);
  introduce(first);
  RawConnection later(config);
  ASSERT_TRUE(later.Write("GET / HT"));
  ASSERT_TRUE(Eventually([&] { return server->stats().connections == 3; }));
  RawConnection second(config);
  introduce(second);
  EXPECT_TRUE(quietest.ClosedWithin(60s));
  RawConnection third(config);
  introduce(third);
  EXPECT_TRUE(later.ClosedWithin(60s));
  EXPECT_EQ(server->stats().rejected, 0);
  // Nobody is left who could be asked to go.
  RawConnection refused(config);
  EXPECT_TRUE(refused.ReadAll().starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_EQ(server->stats().rejected, 1);
  for (RawConnection* connection : {&first, &second, &third}) introduce(*connection);
  third.Close();
  ASSERT_TRUE(Eventually([&] { return server->stats().connections == 2; }));
  RawConnection fourth(config);
  introduce(fourth);
}

TEST(HttpServerTest, AnswersForAHandlerThatForgets) {
  LambdaHandler handler([](HttpRequest, std::unique_ptr<Responder>) {});
  auto server = HttpServer::Start({}, handler).value();
  RawConnection connection(PlainClientConfig(server->port()));
  ASSERT_TRUE(connection.Write(kGet));
  EXPECT_TRUE(connection.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 500"));
}

TEST(HttpServerTest, SendsABodyOfManyChunksWhole) {
  std::string expected;
  HttpResponse response;
  for (int i = 0; i < 3000; ++i) {
    response.body.push_back(TextChunk(std::string(i % 7 == 0 ? 40'000 : i % 100, static_cast<char>('a' + i % 26))));
    expected += *response.body.back();
  }
  LambdaHandler handler([&](HttpRequest, std::unique_ptr<Responder> responder) { responder->Send(response); });
  for (const bool tls : {true, false}) {
    auto server = HttpServer::Start(tls ? TlsServerOptions() : HttpServerOptions{}, handler).value();
    auto client = client::NewHttpClient(tls ? TlsClientConfig(server->port()) : PlainClientConfig(server->port())).value();
    EXPECT_TRUE(client->GetRaw("/").value() == expected);
  }
}

TEST(HttpServerTest, StreamsToManyClients) {
  StreamKeeper keeper;
  auto server = HttpServer::Start(TlsServerOptions(), keeper.handler).value();
  std::vector<std::unique_ptr<RawConnection>> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<RawConnection>(TlsClientConfig(server->port())));
    ASSERT_TRUE(clients.back()->Write(kGet));
  }
  ASSERT_TRUE(Eventually([&] { return keeper.size() == 50; }));
  const Chunk chunk = TextChunk("{\"event\":1}\n");
  for (auto& stream : keeper.streams) EXPECT_TRUE(stream->Write(chunk));
  for (auto& client : clients) EXPECT_NE(client->ReadUntil("c\r\n{\"event\":1}\n\r\n").find("chunked"), std::string::npos);
  keeper.first()->Close();
  EXPECT_TRUE(Eventually([&] { return keeper.closed == 1; }));
  EXPECT_FALSE(keeper.first()->Write(chunk));
  EXPECT_EQ(clients[0]->ReadUntil("0\r\n\r\n"), "0\r\n\r\n");
  // The connection goes on after its stream.
  ASSERT_TRUE(clients[0]->Write(kGet));
  EXPECT_TRUE(Eventually([&] { return keeper.size() == 51; }));
}

TEST(HttpServerTest, KeepsTheOrderOfChunksWrittenByManyWrites) {
  StreamKeeper keeper;
  auto server = HttpServer::Start({}, keeper.handler).value();
  RawConnection connection(PlainClientConfig(server->port()));
  ASSERT_TRUE(connection.Write("GET / HTTP/1.0\r\n\r\n"));
  ASSERT_TRUE(Eventually([&] { return keeper.size() == 1; }));
  std::string expected;
  for (int i = 0; i < 5000; ++i) {
    expected += fmt::format("{};", i);
    ASSERT_TRUE(keeper.first()->Write(TextChunk(fmt::format("{};", i))));
  }
  keeper.first()->Close();
  const std::string answer = connection.ReadAll();
  EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), expected);
}

TEST(HttpServerTest, NoticesAStreamsClientThatGoesWhileNothingIsSent) {
  StreamKeeper keeper;
  auto server = HttpServer::Start(TlsServerOptions(), keeper.handler).value();
  RawConnection connection(TlsClientConfig(server->port()));
  ASSERT_TRUE(connection.Write(kGet));
  ASSERT_TRUE(Eventually([&] { return keeper.size() == 1; }));
  connection.Close();
  EXPECT_TRUE(Eventually([&] { return keeper.closed == 1; }));
  EXPECT_FALSE(keeper.first()->Write(TextChunk("late")));
  bool told = false;
  keeper.first()->OnClosed([&] { told = true; });
  EXPECT_TRUE(told);
}

TEST(HttpServerTest, ClosesAStreamWhoseClientDoesNotRead) {
  StreamKeeper keeper;
  HttpServerOptions options = TlsServerOptions();
  options.stream_bytes_max = 4 << 20;
  auto server = HttpServer::Start(options, keeper.handler).value();
  RawConnection connection(TlsClientConfig(server->port()));
  ASSERT_TRUE(connection.Write(kGet));
  ASSERT_TRUE(Eventually([&] { return keeper.size() == 1; }));
  const Chunk chunk = TextChunk(std::string(1 << 20, 'x'));
  int accepted = 0;
  while (accepted < 1000 && keeper.first()->Write(chunk)) ++accepted;
  EXPECT_GE(accepted, 4);
  EXPECT_LT(accepted, 1000);
  EXPECT_TRUE(Eventually([&] { return keeper.closed == 1; }));
  EXPECT_TRUE(Eventually([&] { return server->stats().connections == 0; }));
}

TEST(HttpServerTest, AStreamMayBeginWithMoreThanItsBound) {
  StreamKeeper keeper;
  HttpServerOptions options;
  options.stream_bytes_max = 1 << 20;
  auto server = HttpServer::Start(options, keeper.handler).value();
  RawConnection connection(PlainClientConfig(server->port()));
  ASSERT_TRUE(connection.Write(kGet));
  ASSERT_TRUE(Eventually([&] { return keeper.size() == 1; }));
  const auto stream = keeper.first();
  const Chunk chunk = TextChunk(std::string(1 << 20, 'x'));
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(stream->WriteBeginning(chunk));
  ASSERT_TRUE(stream->Write(TextChunk("after it")));
  EXPECT_TRUE(connection.ReadUntil("after it").ends_with("after it"));
  // Nothing of it counts any more.
  int accepted = 0;
  while (accepted < 1000 && stream->Write(chunk)) ++accepted;
  EXPECT_LT(accepted, 1000);
  EXPECT_TRUE(Eventually([&] { return keeper.closed == 1; }));
}

TEST(HttpServerTest, GivesUpOnAWriteThatMakesNoProgress) {
  StreamKeeper keeper;
  HttpServerOptions options;
  options.write_timeout = base::Duration(200ms);
  auto server = HttpServer::Start(options, keeper.handler).value();
  RawConnection connection(PlainClientConfig(server->port()));
  ASSERT_TRUE(connection.Write(kGet));
  ASSERT_TRUE(Eventually([&] { return keeper.size() == 1; }));
  ASSERT_TRUE(keeper.first()->Write(TextChunk(std::string(32 << 20, 'x'))));
  EXPECT_TRUE(Eventually([&] { return keeper.closed == 1; }));
}

TEST(HttpServerTest, StopsWhileStreamsAreOpenAndWritten) {
  StreamKeeper keeper;
  auto server = HttpServer::Start(TlsServerOptions(), keeper.handler).value();
  std::vector<std::unique_ptr<RawConnection>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<RawConnection>(TlsClientConfig(server->port())));
    ASSERT_TRUE(clients.back()->Write(kGet));
  }
  ASSERT_TRUE(Eventually([&] { return keeper.size() == 8; }));
  std::atomic<bool> stop{false};
  const std::vector<std::shared_ptr<ResponseStream>> streams = keeper.streams;
  std::thread writer([&] {
    const Chunk chunk = TextChunk(std::string(100, 'x'));
    while (!stop) {
      for (const auto& stream : streams) stream->Write(chunk);
    }
  });
  std::this_thread::sleep_for(20ms);
  server.reset();
  EXPECT_EQ(keeper.closed, 8);
  stop = true;
  writer.join();
  for (const auto& stream : streams) EXPECT_FALSE(stream->Write(TextChunk("late")));
}

TEST(HttpServerTest, ToleratesAnswersThatComeAfterItsEnd) {
  std::vector<std::unique_ptr<Responder>> kept;
  std::latch arrived(2);
  std::mutex mutex;
  LambdaHandler handler([&](HttpRequest, std::unique_ptr<Responder> responder) {
    std::lock_guard lock(mutex);
    kept.push_back(std::move(responder));
    arrived.count_down();
  });
  auto server = HttpServer::Start({}, handler).value();
  RawConnection first(PlainClientConfig(server->port())), second(PlainClientConfig(server->port()));
  ASSERT_TRUE(first.Write(kGet));
  ASSERT_TRUE(second.Write(kGet));
  arrived.wait();
  server.reset();
  kept[0]->Send(TextResponse(200, "late"));
  int closed = 0;
  auto stream = kept[1]->StartStream(200, "text/plain", {});
  stream->OnClosed([&] { ++closed; });
  EXPECT_EQ(closed, 1);
  EXPECT_FALSE(stream->Write(TextChunk("late")));
}

TEST(HttpServerTest, SaysThatThePortIsTaken) {
  LambdaHandler handler = EchoHandler();
  auto server = HttpServer::Start({}, handler).value();
  HttpServerOptions options;
  options.port = server->port();
  auto second = HttpServer::Start(options, handler);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), base::Code::kUnavailable);
  EXPECT_NE(second.error().message().find(fmt::format("cannot listen on 127.0.0.1:{}: Address already in use", options.port)),
            std::string::npos)
      << second.error().message();
}

TEST(HttpServerTest, RefusesCertificatesThatAreNone) {
  LambdaHandler handler = EchoHandler();
  HttpServerOptions options = TlsServerOptions();
  options.certificate_pem = "nonsense";
  EXPECT_EQ(HttpServer::Start(options, handler).error().code(), base::Code::kBadRequest);
  options = TlsServerOptions();
  options.private_key_pem = testing::TestCertificates::Get().alice.private_key_pem;
  EXPECT_NE(HttpServer::Start(options, handler).error().message().find("does not belong"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::http_server_test
