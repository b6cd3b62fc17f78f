// Any method, path, query, headers and body through the handler, on a server that knows custom kinds: it answers every request
// exactly once, and whatever it stored can be read again, also by the server that is started next.
#include <algorithm>
#include <cstdint>

#include "base/executor.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/http/http_handler.h"
#include "embedded/store/memory_store.h"
#include "kube/manifest.h"

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

struct Answers {
  int count = 0;
  int status = 0;  ///< of the last one
  std::string body;
};

class CountingResponder : public Responder {
 public:
  explicit CountingResponder(Answers& answers) : answers_(answers) {}
  void Send(HttpResponse response) override {
    ++answers_.count;
    answers_.status = response.status;
    for (const Chunk& chunk : response.body) answers_.body += *chunk;
  }
  std::shared_ptr<ResponseStream> StartStream(int, std::string, HttpHeaders) override {
    ++answers_.count;
    stream_ = std::make_shared<IgnoredStream>();
    return stream_;
  }
  ~CountingResponder() override {
    if (stream_ != nullptr) stream_->Close();
  }

 private:
  Answers& answers_;
  std::shared_ptr<IgnoredStream> stream_;
};

Answers Ask(ApiHandler& handler, HttpRequest request) {
  request.user = {.name = "fuzz", .groups = {access::kMasters}};
  Answers answers;
  handler.Handle(std::move(request), std::make_unique<CountingResponder>(answers));
  EVENKEEL_CHECK(answers.count == 1);
  return answers;
}

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
  Ask(handler, std::move(request));
}

// One kind whose fields are checked, with subresources; one that keeps whatever it is given.
constexpr char kDefinitions[] = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: oars.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Oar, plural: oars, singular: oar}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.count, statusReplicasPath: .status.count}}
    additionalPrinterColumns: [{name: Count, type: integer, jsonPath: .spec.count}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              count: {type: integer, default: 1, maximum: 9}
              names: {type: array, items: {type: string, maxLength: 9}, x-kubernetes-list-type: set}
              any: {x-kubernetes-int-or-string: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Boat, plural: boats, singular: boat}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
)";

void Define(Api& api) {
  const auto client = NewInProcessClient(api, {.name = "admin", .groups = {access::kMasters}});
  static const auto* const kObjects = new auto(*kube::ParseManifests(kDefinitions, "definitions"));
  for (const kube::ManifestObject& item : *kObjects) {
    const auto created = client->Create(kube::resources::CustomResourceDefinitions(), item.object);
    EVENKEEL_CHECK(created.has_value());
  }
}

// All objects of all kinds, as a client lists them. An object that only a later server cannot read would be a lost one.
void ReadAll(ApiHandler& handler) {
  const auto get = [&](const std::string& path) {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    const Answers answer = Ask(handler, std::move(request));
    auto parsed = base::ParseJson(answer.body, path);
    EVENKEEL_CHECK(answer.status == 200 && parsed.has_value());
    return *std::move(parsed);
  };
  std::vector<std::string> versions{"/api/v1"};
  const base::Json groups = get("/apis");
  for (const base::Json& group : base::FindArray(groups, {"groups"})) {
    versions.push_back("/apis/" + std::string(base::FindString(group, {"preferredVersion", "groupVersion"})));
  }
  for (const std::string& version : versions) {
    const base::Json resources = get(version);
    for (const base::Json& resource : base::FindArray(resources, {"resources"})) {
      const bool lists =
          std::ranges::any_of(base::FindArray(resource, {"verbs"}), [](const base::Json& verb) { return verb == "list"; });
      if (lists) static_cast<void>(get(version + "/" + std::string(base::FindString(resource, {"name"}))));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  const auto store = store::NewMemoryStore();
  const ApiOptions options{
      .name = "fuzz", .store = store.get(), .clock = &executor.clock(), .random = base::Random(1), .logs = nullptr};
  std::string_view input(reinterpret_cast<const char*>(data), size);
  {
    Api api(options);
    EVENKEEL_CHECK(api.Start().has_value());
    Define(api);
    ApiHandler handler(api, {});
    while (!input.empty()) {
      const size_t end = input.find("\n\n\n");
      Feed(handler, input.substr(0, end));
      input = end == input.npos ? "" : input.substr(end + 3);
    }
    ReadAll(handler);
  }
  Api next(options);
  EVENKEEL_CHECK(next.Start().has_value());
  ApiHandler handler(next, {});
  ReadAll(handler);
  return 0;
}
