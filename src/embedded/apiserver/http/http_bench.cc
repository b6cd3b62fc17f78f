#include <benchmark/benchmark.h>

#include "embedded/apiserver/http/http_testing.h"

namespace evenkeel::embedded::apiserver {
namespace {

using testing::LambdaHandler;
using testing::TlsClientConfig;
using testing::TlsServerOptions;

/// Requests per second over kept-alive TLS connections, one per thread, with a handler that does nothing: what HTTP itself
/// costs.
void BM_TlsKeepAliveRequests(benchmark::State& state) {
  static std::unique_ptr<HttpServer> server;
  static LambdaHandler handler([](HttpRequest, std::unique_ptr<Responder> responder) {
    static const Chunk body = std::make_shared<const std::string>(500, 'x');
    HttpResponse response;
    response.body.push_back(body);
    responder->Send(std::move(response));
  });
  static std::unique_ptr<client::Client> client;
  if (state.thread_index() == 0) {
    server = HttpServer::Start(TlsServerOptions(), handler).value();
    client = client::NewHttpClient(TlsClientConfig(server->port())).value();
  }
  for (auto unused : state) {
    if (!client->GetRaw("/api/v1/pods")) {
      state.SkipWithError("request failed");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) {
    client.reset();
    server.reset();
  }
}
BENCHMARK(BM_TlsKeepAliveRequests)->Threads(1)->Threads(16)->UseRealTime();

/// One chunk written to 2,000 TLS streams until the last client has it; sending and receiving share this process's cores.
void BM_TlsStreamsSeeOneChunk(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  std::mutex mutex;
  std::vector<std::shared_ptr<ResponseStream>> streams;
  LambdaHandler handler([&](HttpRequest, std::unique_ptr<Responder> responder) {
    auto stream = responder->StartStream(200, "application/json", {});
    std::lock_guard lock(mutex);
    streams.push_back(std::move(stream));
  });
  auto server = HttpServer::Start(TlsServerOptions(), handler).value();
  auto client = client::NewHttpClient(TlsClientConfig(server->port())).value();
  kube::Resource pods;
  pods.version = "v1";
  pods.plural = "pods";
  std::atomic<int64_t> seen{0};
  std::vector<std::unique_ptr<client::Watch>> watches;
  for (size_t i = 0; i < count; ++i) {
    auto watch = client->NewWatch(pods, {}, [&](base::Result<client::WatchEvent>) {
      ++seen;
      seen.notify_one();
    });
    if (!watch) return state.SkipWithError(watch.error().message().c_str());
    watches.push_back(*std::move(watch));
  }
  const auto chunk = std::make_shared<const std::string>(
      R"({"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"1"}}})"
      "\n");
  int64_t expected = 0;
  for (auto unused : state) {
    expected += static_cast<int64_t>(count);
    for (const auto& stream : streams) stream->Write(chunk);
    for (int64_t now = seen; now < expected; now = seen) seen.wait(now);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  watches.clear();
  server.reset();
}
BENCHMARK(BM_TlsStreamsSeeOneChunk)->Arg(2000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace evenkeel::embedded::apiserver
