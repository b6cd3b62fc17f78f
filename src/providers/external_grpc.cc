#include "providers/external_grpc.h"

#include <grpcpp/grpcpp.h>

#include <cmath>
#include <mutex>

#include "base/log.h"
#include "providers/external_grpc_messages.h"
#include "providers/object_bytes.h"
#include "providers/proto/external_grpc.grpc.pb.h"
#include "providers/warnings.h"

namespace evenkeel::providers {
namespace {

using base::Code;
using base::Fail;
using base::Json;
using external_grpc::CloudProvider;
using Stub = CloudProvider::Stub;

// Calls under way at a time: hides a round trip of milliseconds, without more than HTTP/2's usual 100 streams.
constexpr size_t kCallsAtOnce = 64;
// So many that got no answer, and none that did: the service is gone.
constexpr size_t kUnansweredMax = 8;

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

bool IsUnimplemented(const grpc::Status& status) { return status.error_code() == grpc::StatusCode::UNIMPLEMENTED; }

base::Result<int32_t> ToWire(int64_t number) {
  if (number < INT32_MIN || number > INT32_MAX)
    return Fail(Code::kBadRequest, "a size of " + std::to_string(number) + " is too large");
  return static_cast<int32_t>(number);
}

class GrpcProvider final : public ExternalGrpcProvider {
 public:
  GrpcProvider(const ExternalGrpcConfig& config, const NodeGroupOptions& defaults, base::Clock& clock,
               const std::shared_ptr<grpc::Channel>& channel, std::function<std::vector<std::string>()> rivals, bool prices)
      : config_(config),
        defaults_(OptionsMessage(defaults)),
        clock_(clock),
        rivals_(std::move(rivals)),
        prices_(prices),
        stub_(CloudProvider::NewStub(channel)) {}

  ~GrpcProvider() override {
    if (!answered_) return;
    const auto cleaned = Call("Cleanup", &Stub::Cleanup, external_grpc::CleanupRequest());
    if (!cleaned) base::log::Warn("external gRPC service was not cleaned up", {{"why", cleaned.error()}});
  }

  std::string_view name() const override { return "externalgrpc"; }

  base::Result<NodeGroups> Refresh(std::span<const Json> nodes) override {
    std::lock_guard lock(mutex_);
    warnings_.Begin();
    EVENKEEL_TRY(Call("Refresh", &Stub::Refresh, external_grpc::RefreshRequest()));
    EVENKEEL_ASSIGN(const auto listed, Call("NodeGroups", &Stub::NodeGroups, external_grpc::NodeGroupsRequest()));
    NodeGroups all;
    all.groups = ReadNodeGroups(listed, warnings_);
    if (const auto rivals = rivals_ ? rivals_() : std::vector<std::string>(); !rivals.empty()) {
      for (NodeGroup& group : all.groups) SetAside(group, ClaimedBy(rivals.front()));
    }
    EVENKEEL_TRY(FillSizes(all.groups));
    EVENKEEL_TRY(FillInstances(all.groups));
    FillTemplates(all.groups);
    FillOptions(all.groups);
    EVENKEEL_TRY(FillNodes(nodes, all));
    if (prices_) FillPrices(nodes, all);
    LearnGpus();
    all.gpu_label = gpu_label_.value_or("");
    all.gpu_types = gpu_types_.value_or(std::vector<std::string>());
    Remember(all);
    all.warnings.assign(warnings_.now().begin(), warnings_.now().end());
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

  /// Many calls of one method, some at a time. Begins no more once the service is gone: it would be waited for again and again.
  template <typename Request, typename Response>
  std::deque<Answer<Response>> CallAll(AsyncMethod<Request, Response> method, const std::vector<Request>& requests) {
    std::deque<Answer<Response>> answers(requests.size());
    grpc::CompletionQueue queue;
    size_t begun = 0, ended = 0, answered = 0, unanswered = 0;
    const grpc::Status* gone = nullptr;
    const auto go_on = [&] { return unanswered < (answered == 0 ? kUnansweredMax : kCallsAtOnce); };
    while (ended < begun || (begun < requests.size() && go_on())) {
      for (; go_on() && begun < requests.size() && begun - ended < kCallsAtOnce; ++begun) {
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
      if (IsGone(status)) gone = &status;
      ++(IsGone(status) ? unanswered : answered);
    }
    for (size_t i = begun; i < answers.size(); ++i) answers[i].status = *gone;
    queue.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
    }
    return answers;
  }

  /// Whether the service has answered any of the calls, be it with a refusal. `doing(i)` names the call.
  template <typename Answers>
  base::Status AnsweredAny(const Answers& answers, const std::function<std::string(size_t)>& doing) const {
    const auto first = std::ranges::find_if(answers, [](const auto& answer) { return !IsGone(answer.status); });
    if (answers.empty() || first != answers.end()) return {};
    return Fail(ErrorFromGrpc(answers.front().status, Doing(doing(0))));
  }

  /// One request with the id of each group.
  template <typename Request>
  static std::vector<Request> ForGroups(const std::vector<NodeGroup>& groups) {
    std::vector<Request> requests(groups.size());
    for (size_t i = 0; i < groups.size(); ++i) requests[i].set_id(groups[i].id);
    return requests;
  }

  /// As it was when it could be read; null: it never could.
  const NodeGroup* Known(const NodeGroup& group) const {
    const auto known = known_.find(group.id);
    return known == known_.end() ? nullptr : &known->second;
  }

  void Remember(const NodeGroups& all) {
    std::map<std::string, NodeGroup> known;
    for (const NodeGroup& group : all.groups) {
      const NodeGroup* before = Known(group);
      if (group.set_aside.empty() || before != nullptr) known.emplace(group.id, group.set_aside.empty() ? group : *before);
    }
    known_ = std::move(known);
    group_of_node_ = all.group_of_node;
  }

  base::Status FillSizes(std::vector<NodeGroup>& groups) {
    const auto requests = ForGroups<external_grpc::NodeGroupTargetSizeRequest>(groups);
    const auto answers = CallAll(&Stub::AsyncNodeGroupTargetSize, requests);
    EVENKEEL_TRY(AnsweredAny(answers, [&](size_t i) { return "NodeGroupTargetSize of " + groups[i].id; }));
    for (size_t i = 0; i < groups.size(); ++i) {
      NodeGroup& group = groups[i];
      const NodeGroup* known = Known(group);
      if (!answers[i].status.ok()) {
        SetAside(group, ErrorFromGrpc(answers[i].status, "NodeGroupTargetSize").message());
      } else if (answers[i].response.targetsize() < 0) {
        SetAside(group, "NodeGroupTargetSize: " + std::to_string(answers[i].response.targetsize()) + " is less than 0");
      } else {
        group.target_size = answers[i].response.targetsize();
        continue;
      }
      if (known != nullptr) group.target_size = known->target_size;
    }
    return {};
  }

  base::Status FillInstances(std::vector<NodeGroup>& groups) {
    const auto requests = ForGroups<external_grpc::NodeGroupNodesRequest>(groups);
    const auto answers = CallAll(&Stub::AsyncNodeGroupNodes, requests);
    EVENKEEL_TRY(AnsweredAny(answers, [&](size_t i) { return "NodeGroupNodes of " + groups[i].id; }));
    std::map<std::string_view, NodeGroup*> group_of;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (answers[i].status.ok()) {
        ReadInstances(answers[i].response, groups[i]);
      } else {
        SetAside(groups[i], ErrorFromGrpc(answers[i].status, "NodeGroupNodes").message());
        if (const NodeGroup* known = Known(groups[i])) groups[i].instances = known->instances;
      }
      for (const Instance& instance : groups[i].instances) {
        const auto [other, fresh] = group_of.emplace(instance.id, &groups[i]);
        if (fresh) continue;
        SetAside(groups[i], "instance \"" + instance.id + "\" is also listed in " + other->second->id);
        SetAside(*other->second, "instance \"" + instance.id + "\" is also listed in " + groups[i].id);
      }
    }
    return {};
  }

  /// Whether there is an answer; warns where the service has the method and it failed.
  bool Answered(const grpc::Status& status, const std::string& call) {
    if (status.ok()) return true;
    if (!IsUnimplemented(status)) warnings_.Add(ErrorFromGrpc(status, Doing(call)).message());
    return false;
  }

  void FillTemplates(std::vector<NodeGroup>& groups) {
    const auto requests = ForGroups<external_grpc::NodeGroupTemplateNodeInfoRequest>(groups);
    const auto answers = CallAll(&Stub::AsyncNodeGroupTemplateNodeInfo, requests);
    for (size_t i = 0; i < groups.size(); ++i) {
      const grpc::Status& status = answers[i].status;
      if (Answered(status, "NodeGroupTemplateNodeInfo of " + groups[i].id)) {
        groups[i].template_node = ReadTemplate(groups[i].id, answers[i].response, warnings_);
      } else if (const NodeGroup* known = Known(groups[i]); known != nullptr && !IsUnimplemented(status)) {
        groups[i].template_node = known->template_node;
      }
    }
  }

  /// Flags hold for a group only where the service has no options of its own: one that cannot say them now may keep its nodes
  /// for longer, or whole, and then what it said last counts.
  void FillOptions(std::vector<NodeGroup>& groups) {
    auto requests = ForGroups<external_grpc::NodeGroupAutoscalingOptionsRequest>(groups);
    for (auto& request : requests) *request.mutable_defaults() = defaults_;
    const auto answers = CallAll(&Stub::AsyncNodeGroupGetOptions, requests);
    std::map<std::string, NodeGroupOptions> said;
    for (size_t i = 0; i < groups.size(); ++i) {
      const auto& [status, response] = std::tie(answers[i].status, answers[i].response);
      base::Result<NodeGroupOptions> options = NodeGroupOptions();
      if (!status.ok() && !IsUnimplemented(status)) {
        options = Fail(ErrorFromGrpc(status, "NodeGroupGetOptions"));
      } else if (response.has_nodegroupautoscalingoptions()) {
        options = ReadGroupOptions(response.nodegroupautoscalingoptions());
        if (!options) options = Fail(options.error().Wrap("NodeGroupGetOptions"));
      }
      if (!options) {
        const auto last = options_.find(groups[i].id);
        warnings_.Add("node group " + OneLine(groups[i].id) + ": " + OneLine(options.error().message()) +
                      (last == options_.end() ? "" : ", so what it said last holds"));
        if (last == options_.end()) {
          SetAside(groups[i], "its options are not known: " + options.error().message());
          continue;
        }
        options = last->second;
      }
      groups[i].options = *options;
      said[groups[i].id] = *std::move(options);
    }
    options_ = std::move(said);
  }

  /// What a node of the group costs is asked with its template, or else with one of its nodes.
  void FillPrices(std::span<const Json> nodes, NodeGroups& all) {
    std::map<std::string_view, const Json*> node_of;  // by group; the first by name
    for (const Json& node : nodes) {
      const std::string_view name = base::FindString(node, {"metadata", "name"});
      const auto group = all.group_of_node.find(name);
      if (group == all.group_of_node.end()) continue;
      const Json*& first = node_of[group->second];
      if (first == nullptr || name < base::FindString(*first, {"metadata", "name"})) first = &node;
    }
    std::vector<external_grpc::PricingNodePriceRequest> requests;
    std::vector<NodeGroup*> asked;
    for (NodeGroup& group : all.groups) {
      const auto known = node_of.find(group.id);
      const Json* node = group.template_node ? &*group.template_node : known == node_of.end() ? nullptr : known->second;
      if (node == nullptr) continue;
      asked.push_back(&group);
      *requests.emplace_back().mutable_node() = NodeMessage(*node);
      SetHour(requests.back());
    }
    const auto answers = CallAll(&Stub::AsyncPricingNodePrice, requests);
    for (size_t i = 0; i < asked.size(); ++i) {
      const std::string call = "PricingNodePrice of " + asked[i]->id;
      if (!Answered(answers[i].status, call)) continue;
      const double price = answers[i].response.price();
      if (std::isfinite(price) && price >= 0) {
        asked[i]->price_per_hour = price;
      } else {
        warnings_.Add(Doing(call) + ": price: is not a number of at least 0");
      }
    }
  }

  base::Status FillNodes(std::span<const Json> nodes, NodeGroups& all) {
    std::vector<external_grpc::NodeGroupForNodeRequest> requests(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) *requests[i].mutable_node() = NodeMessage(nodes[i]);
    const auto answers = CallAll(&Stub::AsyncNodeGroupForNode, requests);
    EVENKEEL_TRY(AnsweredAny(answers, [&](size_t i) { return "NodeGroupForNode of " + requests[i].node().name(); }));
    for (size_t i = 0; i < nodes.size(); ++i) {
      const std::string& node = requests[i].node().name();
      if (!answers[i].status.ok()) {
        LeaveNode(requests[i].node(), ErrorFromGrpc(answers[i].status, Doing("NodeGroupForNode of " + node)), all);
        continue;
      }
      const std::string& group = answers[i].response.nodegroup().id();
      if (group.empty()) continue;
      if (all.Find(group) == nullptr) {
        warnings_.Add(Doing("NodeGroupForNode of " + node) + ": nodeGroup: \"" + OneLine(group) +
                      "\" is not among NodeGroups, so the node is not managed");
        continue;
      }
      all.group_of_node.emplace(node, group);
    }
    return {};
  }

  /// The service cannot say whose the node is: the group that has it as an instance, or had it the last time, cannot be
  /// counted.
  void LeaveNode(const external_grpc::ExternalGrpcNode& node, const base::Error& error, NodeGroups& all) {
    warnings_.Add(error.message() + ", so the node is not managed");
    const auto before = group_of_node_.find(node.name());
    for (NodeGroup& group : all.groups) {
      const bool has = !node.providerid().empty() &&
                       std::ranges::find(group.instances, node.providerid(), &Instance::id) != group.instances.end();
      if (!has && (before == group_of_node_.end() || before->second != group.id)) continue;
      SetAside(group, "the service does not say whose node " + node.name() + " is: " + error.message());
      all.group_of_node.emplace(node.name(), group.id);
    }
  }

  void LearnGpus() {
    if (!gpu_label_) {
      const auto label = Call("GPULabel", &Stub::GPULabel, external_grpc::GPULabelRequest());
      if (label || label.error().code() == Code::kMethodNotAllowed)
        gpu_label_ = label ? label->label() : "";
      else
        warnings_.Add(label.error().message());
    }
    if (!gpu_types_) {
      const auto types =
          Call("GetAvailableGPUTypes", &Stub::GetAvailableGPUTypes, external_grpc::GetAvailableGPUTypesRequest());
      if (!types && types.error().code() != Code::kMethodNotAllowed) return warnings_.Add(types.error().message());
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
  const std::function<std::vector<std::string>()> rivals_;
  const bool prices_;
  const std::unique_ptr<Stub> stub_;
  std::atomic<bool> answered_ = false;

  std::mutex mutex_;  // one Refresh at a time; guards what follows
  Warnings warnings_;
  std::map<std::string, NodeGroup> known_;           // as they were when nothing was wrong with them
  std::map<std::string, NodeGroupOptions> options_;  // as last said, by group
  std::map<std::string, std::string, std::less<>> group_of_node_;
  std::optional<std::string> gpu_label_;
  std::optional<std::vector<std::string>> gpu_types_;
};

}  // namespace

base::Result<std::unique_ptr<ExternalGrpcProvider>> NewExternalGrpcProvider(const ExternalGrpcConfig& config,
                                                                            const NodeGroupOptions& defaults,
                                                                            base::Clock& clock,
                                                                            std::function<std::vector<std::string>()> rivals,
                                                                            bool prices) {
  EVENKEEL_ASSIGN(const auto channel, NewGrpcChannel(config.address, config.tls ? &config.files : nullptr));
  return std::make_unique<GrpcProvider>(config, defaults, clock, channel, std::move(rivals), prices);
}

}  // namespace evenkeel::providers
