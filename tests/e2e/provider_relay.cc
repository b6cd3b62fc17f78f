// A provider of nodes whose answers somebody else thinks of: cluster-autoscaler's external gRPC service for tests.
//
// Prints {"port"} first, then a line of JSON for each call, {"id", "method", "request"}, and takes a line for each answer,
// {"id", "response"} or {"id", "code"} (a status of gRPC). Messages are in protobuf's JSON, but for nodeBytes of an answer,
// which is a Node in JSON. Ends with its standard input.
#include <google/protobuf/util/json_util.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <mutex>

#include "base/hash.h"
#include "base/json.h"
#include "providers/object_bytes.h"
#include "providers/proto/external_grpc.grpc.pb.h"

namespace evenkeel::tests {
namespace {

using base::Json;
using google::protobuf::Message;

class Call;

/// The calls that are not answered yet.
struct Calls {
  std::mutex mutex;
  int64_t last_id = 0;
  std::map<int64_t, Call*> open;
};

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor* type) {
  return std::unique_ptr<Message>(google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
}

const google::protobuf::MethodDescriptor* FindMethod(std::string_view path) {
  std::string name(path.substr(1));  // "/package.Service/Method"
  std::ranges::replace(name, '/', '.');
  return google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
}

class Call : public grpc::ServerGenericBidiReactor {
 public:
  Call(Calls& calls, std::string_view path) : calls_(calls), method_(FindMethod(path)) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (method_ == nullptr) return Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no such method"));
    std::vector<grpc::Slice> slices;
    std::string bytes, text;
    static_cast<void>(request_.Dump(&slices));
    for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    const auto request = NewMessage(method_->input_type());
    if (!request->ParseFromString(bytes) || !google::protobuf::util::MessageToJsonString(*request, &text).ok()) {
      return Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "not such a request"));
    }
    const std::lock_guard lock(calls_.mutex);
    id_ = ++calls_.last_id;
    calls_.open[id_] = this;
    const base::JsonObject line{{"id", id_}, {"method", method_->name()}, {"request", *base::ParseJson(text, "request")}};
    std::cout << base::ToText(line) << std::endl;
  }
  /// Whoever has called does not wait any more.
  void OnCancel() override {
    const std::lock_guard lock(calls_.mutex);
    if (calls_.open.erase(id_) != 0) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

  /// With the lock of the calls held, and no longer among them.
  void Answer(Json answer) {
    const int64_t code = base::FindInt(answer, {"code"});
    if (code != 0) return Finish(grpc::Status(static_cast<grpc::StatusCode>(code), "played"));
    if (const Json* node = base::Find(answer, {"response", "nodeBytes"})) {
      const std::string bytes = providers::EncodeNode(*node);
      base::Ensure(answer, {"response", "nodeBytes"}) = base::Base64Encode(bytes);
    }
    const auto response = NewMessage(method_->output_type());
    const Json* given = base::Find(answer, {"response"});
    const std::string text = given == nullptr ? "{}" : base::ToText(*given);
    const auto read = google::protobuf::util::JsonStringToMessage(text, response.get());
    if (!read.ok()) {
      std::cerr << method_->name() << ": " << text << ": " << read.ToString() << std::endl;
      return Finish(grpc::Status(grpc::StatusCode::INTERNAL, "the test's answer is none"));
    }
    const grpc::Slice slice(response->SerializeAsString());
    response_ = grpc::ByteBuffer(&slice, 1);
    StartWriteAndFinish(&response_, {}, grpc::Status::OK);
  }

 private:
  Calls& calls_;
  const google::protobuf::MethodDescriptor* const method_;
  int64_t id_ = 0;
  grpc::ByteBuffer request_, response_;
};

class Relay : public grpc::CallbackGenericService {
 public:
  explicit Relay(Calls& calls) : calls_(calls) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Call(calls_, context->method());
  }

 private:
  Calls& calls_;
};

int Run() {
  Calls calls;
  Relay relay(calls);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&relay);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::cout << base::ToText(base::JsonObject{{"port", port}}) << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    auto answer = base::ParseJson(line, "standard input");
    if (!answer) {
      std::cerr << answer.error().message() << std::endl;
      return 1;
    }
    const std::lock_guard lock(calls.mutex);
    const auto found = calls.open.find(base::FindInt(*answer, {"id"}));
    if (found == calls.open.end()) continue;
    Call* call = found->second;
    calls.open.erase(found);
    call->Answer(*std::move(answer));
  }
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

}  // namespace
}  // namespace evenkeel::tests

int main() {
  // Its messages would be left out of a program that names none of them.
  clusterautoscaler::cloudprovider::v1::externalgrpc::NodeGroupsRequest::descriptor();
  return evenkeel::tests::Run();
}
