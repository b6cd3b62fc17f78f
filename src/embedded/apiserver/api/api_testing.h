// A memory-backed API and an in-process HTTP client, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/http/http_handler.h"
#include "embedded/store/memory_store.h"

namespace evenkeel::embedded::apiserver {

inline base::Json ParseOrFail(std::string_view text) {
  auto json = base::ParseJson(text, "test");
  EXPECT_TRUE(json.has_value()) << text << (json ? "" : ": " + json.error().message());
  return json ? *std::move(json) : base::Json();
}

/// What a stream was sent.
class TestStream : public ResponseStream {
 public:
  bool Write(Chunk chunk) override {
    if (closed) return false;
    text += *chunk;
    chunks.push_back(std::move(chunk));
    return true;
  }
  void Close() override {
    if (std::exchange(closed, true)) return;
    for (const auto& callback : std::exchange(callbacks, {})) callback();
  }
  void OnClosed(std::function<void()> callback) override {
    if (closed) return callback();
    callbacks.push_back(std::move(callback));
  }
  /// The events so far, and forgets them.
  std::vector<base::Json> TakeEvents() {
    std::vector<base::Json> events;
    size_t at = 0;
    while (at < text.size()) {
      const size_t end = text.find('\n', at);
      events.push_back(ParseOrFail(std::string_view(text).substr(at, end - at)));
      at = end + 1;
    }
    text.clear();
    chunks.clear();
    return events;
  }

  std::string text;
  std::vector<Chunk> chunks;
  bool closed = false;
  std::vector<std::function<void()>> callbacks;
};

struct TestReply {
  int status = 0;
  std::string content_type;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::shared_ptr<TestStream> stream;

  base::Json json() const { return ParseOrFail(body); }
  std::string message() const { return std::string(base::FindString(json(), {"message"})); }
  std::string Header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return "";
  }
};

class TestResponder : public Responder {
 public:
  explicit TestResponder(std::shared_ptr<TestReply> reply) : reply_(std::move(reply)) {}
  void Send(HttpResponse response) override {
    EXPECT_EQ(reply_->status, 0) << "answered twice";
    reply_->status = response.status;
    reply_->content_type = response.content_type;
    reply_->headers = response.headers;
    for (const Chunk& chunk : response.body) reply_->body += *chunk;
  }
  std::shared_ptr<ResponseStream> StartStream(int status, std::string content_type, HttpHeaders headers) override {
    EXPECT_EQ(reply_->status, 0) << "answered twice";
    reply_->status = status;
    reply_->content_type = std::move(content_type);
    reply_->headers = std::move(headers);
    reply_->stream = std::make_shared<TestStream>();
    return reply_->stream;
  }

 private:
  std::shared_ptr<TestReply> reply_;
};

/// `target`: the path, and the query where there is one. JSON unless the headers say otherwise.
inline HttpRequest NewTestRequest(const std::string& method, const std::string& target, const std::string& body = "",
                                  std::map<std::string, std::string> headers = {}) {
  HttpRequest request;
  request.method = method;
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != target.npos) request.query = target.substr(mark + 1);
  request.headers = std::move(headers);
  request.headers.try_emplace("content-type", "application/json");
  request.body = body;
  return request;
}

class ApiFixture : public ::testing::Test {
 protected:
  ApiFixture() {
    EXPECT_TRUE(api.Start().has_value());
    client = NewInProcessClient(api, {.name = "tester", .groups = {}});
  }

  TestReply Send(const std::string& method, const std::string& target, const std::string& body = "",
                 std::map<std::string, std::string> headers = {}) {
    headers.try_emplace("user-agent", "kubectl/v1.32.0 (linux/amd64)");
    HttpRequest request = NewTestRequest(method, target, body, std::move(headers));
    request.user = user;
    auto reply = std::make_shared<TestReply>();
    handler.Handle(std::move(request), std::make_unique<TestResponder>(reply));
    return *reply;
  }
  TestReply Patch(const std::string& target, const std::string& type, const std::string& body) {
    return Send("PATCH", target, body, {{"content-type", type}});
  }

  /// Creates, or fails the test.
  base::Json Create(std::string_view text) {
    const base::Json object = ParseOrFail(text);
    const ServedPointer served =
        api.resources().FindKind(base::FindString(object, {"apiVersion"}), base::FindString(object, {"kind"}));
    EXPECT_NE(served, nullptr) << text;
    if (served == nullptr) return {};
    auto created = client->Create(served->resource, object);
    EXPECT_TRUE(created.has_value()) << (created ? "" : created.error().message());
    return created ? *created : base::Json();
  }
  base::Json CreatePod(const std::string& name, const std::string& extra_spec = "", const std::string& labels = "{}") {
    return Create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"default","labels":)" +
                  labels + R"(},"spec":{"containers":[{"name":"main","image":"nginx"}])" + extra_spec + "}}");
  }

  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<store::Store> store = store::NewMemoryStore();
  Api api{{.name = "test", .store = store.get(), .clock = &executor.clock(), .random = base::Random(7), .logs = nullptr}};
  ApiHandler handler{api, {.executor = &executor, .git_version = "v1.36.0+evenkeel"}};
  std::unique_ptr<client::Client> client;
  UserInfo user{.name = "admin", .groups = {"system:masters"}};
};

}  // namespace evenkeel::embedded::apiserver
