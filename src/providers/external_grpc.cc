#include "providers/external_grpc.h"

#include <grpcpp/grpcpp.h>

#include <cmath>
#include <mutex>

#include "base/log.h"
#include "providers/complaints.h"
#include "providers/external_grpc_messages.h"
#include "providers/object_bytes.h"
#include "providers/proto/external_grpc.grpc.pb.h"

namespace evenkeel::providers {
namespace {

using base::Code;
using base::Fail;
using base::Json;
using external_grpc::CloudProvider;
using Stub = CloudProvider::Stub;

// Calls under way at a time: hides a round trip of milliseconds, without more than HTTP/2's usual 100 streams.
constexpr size_t kCallsAtOnce = 64;

template <typename Request, typename Response>
using SyncMethod = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);
template <typename Request, typename Response>
using AsyncMethod = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (Stub::*)(grpc::ClientContext*, const Request&,
                                                                                         grpc::CompletionQueue*);

template <typename Response>
struct Answer {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
  Response response;
  grpc::Status status{grpc::StatusCode::CANCELLED, "not asked"};
};

bool IsGone(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE || status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
}

base::Result<int32_t> ToWire(int64_t number) {
  if (number < INT32_MIN || number > INT32_MAX)
    return Fail(Code::kBadRequest, "a size of " + std::to_string(number) + " is too large");
  return static_cast<int32_t>(number);
}

class GrpcProvider final : public ExternalGrpcProvider {
 public:
  GrpcProvider(const ExternalGrpcConfig& config, const NodeGroupOptions& defaults, base::Clock& clock,
               const std::shared_ptr<grpc::Channel>& channel)
      : config_(config), defaults_(OptionsMessage(defaults)), clock_(clock), stub_(CloudProvider::NewStub(channel)) {}

  ~GrpcProvider() override {
    if (!answered_) return;
    const auto cleaned = Call("Cleanup", &Stub::Cleanup, external_grpc::CleanupRequest());
    if (!cleaned) base::log::Warn("external gRPC service was not cleaned up", {{"why", cleaned.error()}});
  }

  std::string_view name() const override { return "externalgrpc"; }

  base::Result<NodeGroups> Refresh(std::span<const Json> nodes) override {
    std::lock_guard lock(mutex_);
    complaints_.Begin();
    EVENKEEL_TRY(Call("Refresh", &Stub::Refresh, external_grpc::RefreshRequest()));
    EVENKEEL_ASSIGN(const auto listed, Call("NodeGroups", &Stub::NodeGroups, external_grpc::NodeGroupsRequest()));
    NodeGroups all;
    EVENKEEL_ASSIGN(all.groups, ReadNodeGroups(listed));
    EVENKEEL_TRY(FillSizes(all.groups));
    EVENKEEL_TRY(FillInstances(all.groups));
    FillTemplates(all.groups);
    FillOptions(all.groups);
    FillPrices(all.groups);
    EVENKEEL_TRY(FillNodes(nodes, all));
    LearnGpus();
    all.gpu_label = gpu_label_.value_or("");
    all.gpu_types = gpu_types_.value_or(std::vector<std::string>());
    return all;
  }

  base::Status IncreaseSize(std::string_view group, int64_t delta, bool atomically) override {
    if (atomically) return Fail(Code::kMethodNotAllowed, "the external gRPC provider cannot increase a size all or nothing");
    if (delta <= 0) return Fail(Code::kBadRequest, "node group " + std::string(group) + ": the increase must be more than 0");
    external_grpc::NodeGroupIncreaseSizeRequest request;
    request.set_id(std::string(group));
    EVENKEEL_ASSIGN(const int32_t size, ToWire(delta));
    request.set_delta(size);
    return Done(Call("NodeGroupIncreaseSize of " + request.id(), &Stub::NodeGroupIncreaseSize, request));
  }

  base::Status DeleteNodes(std::string_view group, std::span<const NodeReference> nodes, bool force) override {
    if (force) return Fail(Code::kMethodNotAllowed, "the external gRPC provider cannot delete nodes by force");
    if (nodes.empty()) return {};
    external_grpc::NodeGroupDeleteNodesRequest request;
    request.set_id(std::string(group));
    for (const NodeReference& node : nodes) *request.add_nodes() = NodeMessage(node);
    return Done(Call("NodeGroupDeleteNodes of " + request.id(), &Stub::NodeGroupDeleteNodes, request));
  }

  base::Status DecreaseTargetSize(std::string_view group, int64_t delta) override {
    if (delta >= 0) return Fail(Code::kBadRequest, "node group " + std::string(group) + ": the decrease must be less than 0");
    external_grpc::NodeGroupDecreaseTargetSizeRequest request;
    request.set_id(std::string(group));
    EVENKEEL_ASSIGN(const int32_t size, ToWire(delta));
    request.set_delta(size);
    return Done(Call("NodeGroupDecreaseTargetSize of " + request.id(), &Stub::NodeGroupDecreaseTargetSize, request));
  }

  base::Result<double> PodPrice(const Json& pod) override {
    external_grpc::PricingPodPriceRequest request;
    request.set_pod_bytes(EncodePod(pod));
    request.set_legacy_pod(request.pod_bytes());
    SetHour(request);
    EVENKEEL_ASSIGN(const auto response, Call("PricingPodPrice", &Stub::PricingPodPrice, request));
    return response.price();
  }

 private:
  std::string Doing(const std::string& call) const { return "external gRPC service " + config_.address + ": " + call; }

  template <typename Request, typename Response>
  base::Result<Response> Call(const std::string& name, SyncMethod<Request, Response> method, const Request& request) {
    grpc::ClientContext context;
    SetTimeout(context, config_.timeout);
    Response response;
    const grpc::Status status = (*stub_.*method)(&context, request, &response);
    if (!status.ok()) return Fail(ErrorFromGrpc(status, Doing(name)));
    answered_ = true;
    return response;
  }

  template <typename Response>
  static base::Status Done(const base::Result<Response>& answer) {
    if (!answer) return Fail(answer.error());
    return {};
  }

  /// Many calls of one method, some at a time. Begins no more once one has failed: all that is required is in vain then, and a
  /// service that is gone would be waited for again and again. `optional`: only in the second case.
  template <typename Request, typename Response>
  std::deque<Answer<Response>> CallAll(AsyncMethod<Request, Response> method, const std::vector<Request>& requests,
                                       bool optional) {
    std::deque<Answer<Response>> answers(requests.size());
    grpc::CompletionQueue queue;
    size_t begun = 0, ended = 0;
    const grpc::Status* failed = nullptr;
    while (ended < begun || (begun < requests.size() && failed == nullptr)) {
      for (; failed == nullptr && begun < requests.size() && begun - ended < kCallsAtOnce; ++begun) {
        Answer<Response>& answer = answers[begun];
        SetTimeout(answer.context, config_.timeout);
        answer.reader = (*stub_.*method)(&answer.context, requests[begun], &queue);
        answer.reader->Finish(&answer.response, &answer.status, &answer);
      }
      void* tag = nullptr;
      bool ok = false;
      if (!queue.Next(&tag, &ok)) break;
      ++ended;
      const grpc::Status& status = static_cast<Answer<Response>*>(tag)->status;
      if (!status.ok() && failed == nullptr && (!optional || IsGone(status))) failed = &status;
    }
    if (failed != nullptr) {
      for (size_t i = begun; i < answers.size(); ++i) answers[i].status = *failed;
    }
    queue.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
    }
    return answers;
  }

  /// One request with the id of each group.
  template <typename Request>
  static std::vector<Request> ForGroups(const std::vector<NodeGroup>& groups) {
    std::vector<Request> requests(groups.size());
    for (size_t i = 0; i < groups.size(); ++i) requests[i].set_id(groups[i].id);
    return requests;
  }

  base::Status FillSizes(std::vector<NodeGroup>& groups) {
    const auto requests = ForGroups<external_grpc::NodeGroupTargetSizeRequest>(groups);
    const auto answers = CallAll(&Stub::AsyncNodeGroupTargetSize, requests, false);
    for (size_t i = 0; i < groups.size(); ++i) {
      const std::string doing = "NodeGroupTargetSize of " + groups[i].id;
      if (!answers[i].status.ok()) return Fail(ErrorFromGrpc(answers[i].status, Doing(doing)));
      groups[i].target_size = answers[i].response.targetsize();
      if (groups[i].target_size < 0) return Fail(Code::kBadRequest, Doing(doing) + ": targetSize: is less than 0");
    }
    return {};
  }

  base::Status FillInstances(std::vector<NodeGroup>& groups) {
    const auto requests = ForGroups<external_grpc::NodeGroupNodesRequest>(groups);
    const auto answers = CallAll(&Stub::AsyncNodeGroupNodes, requests, false);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (!answers[i].status.ok()) return Fail(ErrorFromGrpc(answers[i].status, Doing("NodeGroupNodes of " + groups[i].id)));
      EVENKEEL_ASSIGN(groups[i].instances, ReadInstances(groups[i].id, answers[i].response));
    }
    return {};
  }

  /// Whether there is an answer; complains where the service has the method and it failed.
  bool Answered(const grpc::Status& status, const std::string& call) {
    if (status.ok()) return true;
    if (status.error_code() != grpc::StatusCode::UNIMPLEMENTED) complaints_.Add(ErrorFromGrpc(status, Doing(call)).message());
    return false;
  }

  void FillTemplates(std::vector<NodeGroup>& groups) {
    const auto requests = ForGroups<external_grpc::NodeGroupTemplateNodeInfoRequest>(groups);
    const auto answers = CallAll(&Stub::AsyncNodeGroupTemplateNodeInfo, requests, true);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (!Answered(answers[i].status, "NodeGroupTemplateNodeInfo of " + groups[i].id)) continue;
      groups[i].template_node = ReadTemplate(groups[i].id, answers[i].response, complaints_);
    }
  }

  void FillOptions(std::vector<NodeGroup>& groups) {
    auto requests = ForGroups<external_grpc::NodeGroupAutoscalingOptionsRequest>(groups);
    for (auto& request : requests) *request.mutable_defaults() = defaults_;
    const auto answers = CallAll(&Stub::AsyncNodeGroupGetOptions, requests, true);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (!Answered(answers[i].status, "NodeGroupGetOptions of " + groups[i].id)) continue;
      if (!answers[i].response.has_nodegroupautoscalingoptions()) continue;
      groups[i].options = ReadOptions(groups[i].id, answers[i].response.nodegroupautoscalingoptions(), complaints_);
    }
  }

  void FillPrices(std::vector<NodeGroup>& groups) {
    std::vector<external_grpc::PricingNodePriceRequest> requests;
    std::vector<NodeGroup*> asked;
    for (NodeGroup& group : groups) {
      if (!group.template_node) continue;
      asked.push_back(&group);
      *requests.emplace_back().mutable_node() = NodeMessage(*group.template_node);
      SetHour(requests.back());
    }
    const auto answers = CallAll(&Stub::AsyncPricingNodePrice, requests, true);
    for (size_t i = 0; i < asked.size(); ++i) {
      const std::string call = "PricingNodePrice of " + asked[i]->id;
      if (!Answered(answers[i].status, call)) continue;
      const double price = answers[i].response.price();
      if (std::isfinite(price) && price >= 0) {
        asked[i]->price_per_hour = price;
      } else {
        complaints_.Add(Doing(call) + ": price: is not a number of at least 0");
      }
    }
  }

  base::Status FillNodes(std::span<const Json> nodes, NodeGroups& all) {
    std::vector<external_grpc::NodeGroupForNodeRequest> requests(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) *requests[i].mutable_node() = NodeMessage(nodes[i]);
    const auto answers = CallAll(&Stub::AsyncNodeGroupForNode, requests, false);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const std::string& node = requests[i].node().name();
      if (!answers[i].status.ok()) return Fail(ErrorFromGrpc(answers[i].status, Doing("NodeGroupForNode of " + node)));
      const std::string& group = answers[i].response.nodegroup().id();
      if (group.empty()) continue;
      if (all.Find(group) == nullptr) {
        complaints_.Add(Doing("NodeGroupForNode of " + node) + ": nodeGroup: \"" + OneLine(group) +
                        "\" is not among NodeGroups, so the node is not managed");
        continue;
      }
      all.group_of_node.emplace(node, group);
    }
    return {};
  }

  void LearnGpus() {
    if (!gpu_label_) {
      const auto label = Call("GPULabel", &Stub::GPULabel, external_grpc::GPULabelRequest());
      if (label || label.error().code() == Code::kMethodNotAllowed)
        gpu_label_ = label ? label->label() : "";
      else
        complaints_.Add(label.error().message());
    }
    if (!gpu_types_) {
      const auto types =
          Call("GetAvailableGPUTypes", &Stub::GetAvailableGPUTypes, external_grpc::GetAvailableGPUTypesRequest());
      if (!types && types.error().code() != Code::kMethodNotAllowed) return complaints_.Add(types.error().message());
      gpu_types_.emplace();
      if (!types) return;
      for (const auto& [type, unused] : types->gputypes()) gpu_types_->push_back(type);
      std::ranges::sort(*gpu_types_);
    }
  }

  /// The hour from now on, to which prices refer.
  template <typename Request>
  void SetHour(Request& request) const {
    const auto now = std::chrono::floor<std::chrono::seconds>(clock_.Now()).time_since_epoch().count();
    for (auto* start : {request.mutable_starttimestamp(), request.mutable_legacy_start()}) start->set_seconds(now);
    for (auto* end : {request.mutable_endtimestamp(), request.mutable_legacy_end()}) end->set_seconds(now + 3600);
  }

  const ExternalGrpcConfig config_;
  const external_grpc::NodeGroupAutoscalingOptions defaults_;
  base::Clock& clock_;
  const std::unique_ptr<Stub> stub_;
  std::atomic<bool> answered_ = false;

  std::mutex mutex_;  // one Refresh at a time; guards what follows
  Complaints complaints_;
  std::optional<std::string> gpu_label_;
  std::optional<std::vector<std::string>> gpu_types_;
};

}  // namespace

base::Result<std::unique_ptr<ExternalGrpcProvider>> NewExternalGrpcProvider(const ExternalGrpcConfig& config,
                                                                            const NodeGroupOptions& defaults,
                                                                            base::Clock& clock) {
  EVENKEEL_ASSIGN(const auto channel, NewGrpcChannel(config.address, config.tls ? &config.files : nullptr));
  return std::make_unique<GrpcProvider>(config, defaults, clock, channel);
}

}  // namespace evenkeel::providers
