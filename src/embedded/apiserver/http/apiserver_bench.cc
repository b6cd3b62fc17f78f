#include <benchmark/benchmark.h>

#include "base/executor.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/http/http_handler.h"
#include "embedded/store/memory_store.h"
#include "kube/forms/protobuf.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr const char* kPodSpec = R"("spec":{"containers":[{"name":"main","image":"registry.example/app:1.2.3",
  "env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"resources":{"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"memory":"256Mi"}},
  "ports":[{"containerPort":8080}],"readinessProbe":{"httpGet":{"path":"/ready","port":8080}}}]}})";

class NowhereStream : public ResponseStream {
 public:
  bool Write(Chunk chunk) override {
    benchmark::DoNotOptimize(chunk);
    ++writes;
    return !closed_;
  }
  void Close() override {
    closed_ = true;
    for (const auto& callback : std::exchange(callbacks_, {})) callback();
  }
  void OnClosed(std::function<void()> callback) override { callbacks_.push_back(std::move(callback)); }
  int64_t writes = 0;

 private:
  bool closed_ = false;
  std::vector<std::function<void()>> callbacks_;
};

class LastResponder : public Responder {
 public:
  explicit LastResponder(HttpResponse& last, std::shared_ptr<NowhereStream> stream = nullptr)
      : last_(last), stream_(std::move(stream)) {}
  void Send(HttpResponse response) override { last_ = std::move(response); }
  std::shared_ptr<ResponseStream> StartStream(int status, std::string, HttpHeaders) override {
    last_.status = status;
    return stream_;
  }

 private:
  HttpResponse& last_;
  std::shared_ptr<NowhereStream> stream_;
};

struct Server {
  Server() { EVENKEEL_CHECK(api.Start().has_value()); }
  HttpResponse Send(const std::string& method, const std::string& path, const std::string& query = "",
                    const std::string& body = "", std::shared_ptr<NowhereStream> stream = nullptr) {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.query = query;
    request.body = body;
    request.user = {.name = "bench", .groups = {access::kMasters}};
    request.headers["content-type"] = "application/json";
    request.headers["accept"] = accept;
    if (!epoch.empty()) request.headers["evenkeel-epoch"] = epoch;
    HttpResponse last;
    handler.Handle(std::move(request), std::make_unique<LastResponder>(last, std::move(stream)));
    return last;
  }
  void CreatePod(int64_t number) {
    const HttpResponse made =
        Send("POST", "/api/v1/namespaces/default/pods", "",
             R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod-)" + std::to_string(number) +
                 R"(","labels":{"app":"web","shard":")" + std::to_string(number % 10) + "\"}}," + kPodSpec);
    EVENKEEL_CHECK(made.status == 201);
  }

  std::string accept = "application/json";
  std::string epoch;  ///< stated in every request; empty: none
  std::unique_ptr<store::Store> store = store::NewMemoryStore();
  Api api{{.name = "bench", .store = store.get(), .clock = &base::SystemClock(), .random = base::Random(1), .logs = nullptr}};
  ApiHandler handler{api, {}};
};

void BM_CreatePod(benchmark::State& state) {
  Server server;
  int64_t number = 0;
  for (auto _ : state) server.CreatePod(number++);
  state.SetItemsProcessed(number);
}
BENCHMARK(BM_CreatePod)->Unit(benchmark::kMicrosecond);

void BM_CreatePodOfAnEpoch(benchmark::State& state) {
  Server server;
  const HttpResponse lease = server.Send("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", "",
                                         R"({"metadata":{"name":"evenkeel-owner","annotations":{"evenkeel.dev/epoch":"7"}}})");
  EVENKEEL_CHECK(lease.status == 201);
  server.epoch = "7";
  int64_t number = 0;
  for (auto _ : state) server.CreatePod(number++);
}
BENCHMARK(BM_CreatePodOfAnEpoch)->Unit(benchmark::kMicrosecond);

std::string ContinueToken(std::string_view page) {
  if (const auto envelope = kube::ReadProtobufEnvelope(page)) {
    return std::string(base::FindString(kube::ReadProtobufList(envelope->raw)->metadata, {"continue"}));
  }
  const std::string_view head = page.substr(0, 400);
  const size_t at = head.find("\"continue\":\"");
  return at == head.npos ? "" : std::string(head.substr(at + 12, head.find('"', at + 12) - at - 12));
}

void ListAll(benchmark::State& state, const std::string& selector, const std::string& accept = "application/json") {
  Server server;
  server.accept = accept;
  for (int64_t number = 0; number < state.range(0); ++number) server.CreatePod(number);
  int64_t bytes = 0;
  for (auto _ : state) {
    std::string token;
    do {
      std::string query = "limit=500" + selector + (token.empty() ? "" : "&continue=" + token);
      const HttpResponse page = server.Send("GET", "/api/v1/pods", query);
      EVENKEEL_CHECK(page.status == 200);
      for (const Chunk& chunk : page.body) bytes += static_cast<int64_t>(chunk->size());
      token = ContinueToken(*page.body[0]);
    } while (!token.empty());
  }
  state.SetBytesProcessed(bytes);
}

void BM_ListPodsInPages(benchmark::State& state) { ListAll(state, ""); }
BENCHMARK(BM_ListPodsInPages)->Arg(100'000)->Unit(benchmark::kMillisecond);

/// What has been listed before, as JSON always has been.
void BM_ListPodsInPagesInProtobuf(benchmark::State& state) { ListAll(state, "", "application/vnd.kubernetes.protobuf"); }
BENCHMARK(BM_ListPodsInPagesInProtobuf)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_ListPodsByLabel(benchmark::State& state) { ListAll(state, "&labelSelector=shard%3D3"); }
BENCHMARK(BM_ListPodsByLabel)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_WriteSeenByWatchers(benchmark::State& state) {
  Server server;
  std::vector<std::shared_ptr<NowhereStream>> streams;
  for (int64_t i = 0; i < state.range(0); ++i) {
    streams.push_back(std::make_shared<NowhereStream>());
    server.Send("GET", "/api/v1/pods", "watch=1", "", streams.back());
  }
  int64_t number = 0;
  for (auto _ : state) server.CreatePod(number++);
  EVENKEEL_CHECK(streams.front()->writes == number && streams.back()->writes == number);
}
BENCHMARK(BM_WriteSeenByWatchers)->Arg(2'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace evenkeel::embedded::apiserver
