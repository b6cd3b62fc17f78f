// Any method, path, query, headers and body through the handler: it must answer every request exactly once and keep its store
// readable.
#include <cstdint>

#include "base/executor.h"
#include "embedded/apiserver/api.h"
#include "embedded/apiserver/http_handler.h"
#include "embedded/store/memory_store.h"

namespace {

using namespace evenkeel;
using namespace evenkeel::embedded;
using namespace evenkeel::embedded::apiserver;

class IgnoredStream : public ResponseStream {
 public:
  bool Write(Chunk) override { return !closed_; }
  void Close() override {
    if (std::exchange(closed_, true)) return;
    for (const auto& callback : std::exchange(callbacks_, {})) callback();
  }
  void OnClosed(std::function<void()> callback) override {
    if (closed_) return callback();
    callbacks_.push_back(std::move(callback));
  }

 private:
  bool closed_ = false;
  std::vector<std::function<void()>> callbacks_;
};

class CountingResponder : public Responder {
 public:
  explicit CountingResponder(int& answers) : answers_(answers) {}
  void Send(HttpResponse) override { ++answers_; }
  std::shared_ptr<ResponseStream> StartStream(int, std::string, HttpHeaders) override {
    ++answers_;
    stream_ = std::make_shared<IgnoredStream>();
    return stream_;
  }
  ~CountingResponder() override {
    if (stream_ != nullptr) stream_->Close();
  }

 private:
  int& answers_;
  std::shared_ptr<IgnoredStream> stream_;
};

// Lines: method, path, query, accept, content type; the rest is the body. An empty line between requests starts the next.
void Feed(ApiHandler& handler, std::string_view input) {
  const auto line = [&]() -> std::string {
    const size_t end = input.find('\n');
    std::string text(input.substr(0, end));
    input = end == input.npos ? "" : input.substr(end + 1);
    return text;
  };
  HttpRequest request;
  request.method = line();
  request.path = line();
  request.query = line();
  request.headers["accept"] = line();
  request.headers["content-type"] = line();
  request.body = std::string(input);
  request.user = {.name = "fuzz", .groups = {access::kMasters}};
  int answers = 0;
  handler.Handle(std::move(request), std::make_unique<CountingResponder>(answers));
  EVENKEEL_CHECK(answers == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  const auto store = store::NewMemoryStore();
  Api api({.name = "fuzz", .store = store.get(), .clock = &executor.clock(), .random = base::Random(1), .logs = nullptr});
  EVENKEEL_CHECK(api.Start().has_value());
  ApiHandler handler(api, {});
  std::string_view input(reinterpret_cast<const char*>(data), size);
  while (!input.empty()) {
    const size_t end = input.find("\n\n\n");
    Feed(handler, input.substr(0, end));
    input = end == input.npos ? "" : input.substr(end + 3);
  }
  return 0;
}
