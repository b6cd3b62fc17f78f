#include "controllers/autoscaler/expanders/grpc_expander.h"

#include <algorithm>

#include "base/input/file.h"
#include "base/json.h"
#include "base/log.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "providers/grpc_channel.h"
#include "providers/object_bytes.h"
#include "providers/proto/expander.grpc.pb.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Code;
using base::Fail;
using base::Json;
using base::JsonArray;
using base::JsonObject;

JsonObject ToJson(const kube::ResourceList& amounts) {
  using Format = kube::Quantity::Format;
  JsonObject json;
  for (const auto& [name, amount] : amounts) {
    const Format format = name == "memory" || name == "ephemeral-storage" ? Format::kBinarySi : Format::kDecimalSi;
    json[name] = (name == "cpu" ? kube::Quantity::FromMilli(amount) : kube::Quantity::FromInt(amount, format)).ToString();
  }
  return json;
}

JsonObject ToJson(const kube::Labels& texts) {
  JsonObject json;
  for (const auto& [key, value] : texts) json[key] = value;
  return json;
}

Json ToJson(const kube::Node& node) {
  Json json = kube::NewObject(kube::resources::Nodes(), "", node.meta.name);
  base::Ensure(json, {"metadata", "labels"}) = ToJson(node.meta.labels);
  base::Ensure(json, {"metadata", "annotations"}) = ToJson(node.meta.annotations);
  base::Ensure(json, {"spec", "providerID"}) = node.provider_id;
  if (node.unschedulable) base::Ensure(json, {"spec", "unschedulable"}) = true;
  JsonArray taints;
  for (const kube::Taint& taint : node.taints) {
    taints.push_back({{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  }
  base::Ensure(json, {"spec", "taints"}) = std::move(taints);
  base::Ensure(json, {"status", "capacity"}) = ToJson(node.capacity);
  base::Ensure(json, {"status", "allocatable"}) = ToJson(node.allocatable);
  base::Ensure(json, {"status", "conditions"}) = JsonArray{{{"type", "Ready"}, {"status", node.ready ? "True" : "False"}}};
  return json;
}

class GrpcExpander final : public ExpanderPlugin {
 public:
  GrpcExpander(const GrpcExpanderOptions& options, PodSource pods, const std::shared_ptr<grpc::Channel>& channel)
      : options_(options), pods_(std::move(pods)), stub_(grpcplugin::Expander::NewStub(channel)) {}

  std::vector<size_t> Best(std::span<const ExpanderOption> options, std::vector<size_t> candidates,
                           ExpanderContext&) const override {
    const grpcplugin::BestOptionsRequest request = MakeRequest(options, candidates);
    grpc::ClientContext context;
    providers::SetTimeout(context, options_.timeout);
    grpcplugin::BestOptionsResponse response;
    const grpc::Status status = stub_->BestOptions(&context, request, &response);
    if (!status.ok()) {
      const base::Error error = providers::ErrorFromGrpc(status, "gRPC expander " + options_.url);
      base::log::Warn("the gRPC expander was not asked, all options stay", {{"why", error}});
      return candidates;
    }
    if (response.options().empty()) return {};
    std::set<std::string_view> named;
    for (const auto& option : response.options()) named.insert(option.nodegroupid());
    std::vector<size_t> best;
    for (const size_t candidate : candidates) {
      if (named.erase(options[candidate].group->id) > 0) best.push_back(candidate);
    }
    if (!named.empty()) {
      base::log::Warn("the gRPC expander named a node group that was not offered",
                      {{"group", named.begin()->substr(0, 200)}, {"of them", named.size()}});
    }
    return best.empty() ? candidates : best;
  }

 private:
  grpcplugin::BestOptionsRequest MakeRequest(std::span<const ExpanderOption> options,
                                             const std::vector<size_t>& candidates) const {
    grpcplugin::BestOptionsRequest request;
    std::map<scheduling::PodId, std::string> encoded;  // most pods are in many options
    for (const size_t candidate : candidates) {
      const ExpanderOption& option = options[candidate];
      grpcplugin::Option& message = *request.add_options();
      message.set_nodegroupid(option.group->id);
      message.set_nodecount(static_cast<int32_t>(std::clamp<int64_t>(option.nodes, 0, INT32_MAX)));
      message.set_debug(option.debug);
      for (const scheduling::PodId pod : option.pods) {
        const auto [entry, fresh] = encoded.try_emplace(pod);
        if (fresh) {
          const std::optional<Json> object = pods_(pod);
          if (object) entry->second = providers::EncodePod(*object);
        }
        if (entry->second.empty()) continue;
        *message.add_podbytes() = entry->second;
        if (options_.legacy_fields) *message.add_legacy_pod() = entry->second;
      }
      if (option.node == nullptr) continue;
      const std::string node = providers::EncodeNode(ToJson(option.node->node));
      (*request.mutable_nodebytesmap())[option.group->id] = node;
      if (options_.legacy_fields) (*request.mutable_legacy_node_map())[option.group->id] = node;
    }
    return request;
  }

  const GrpcExpanderOptions options_;
  const PodSource pods_;
  const std::unique_ptr<grpcplugin::Expander::Stub> stub_;
};

}  // namespace

base::Result<std::unique_ptr<ExpanderPlugin>> NewGrpcExpander(const GrpcExpanderOptions& options, PodSource pods) {
  constexpr std::string_view kScheme = "dns:///";
  const std::string address = options.url.starts_with(kScheme) ? options.url.substr(kScheme.size()) : options.url;
  if (const auto sound = providers::CheckGrpcAddress(address); !sound) {
    return Fail(sound.error().Wrap("--grpc-expander-url"));
  }
  if (options.certificate_file.empty()) {
    return Fail(Code::kBadRequest, "--grpc-expander-cert: missing: the gRPC expander is only asked over TLS");
  }
  constexpr size_t kPemBytesMax = 1 << 20;
  const auto text = base::ReadFile(options.certificate_file, kPemBytesMax);
  if (!text) return Fail(Code::kBadRequest, "--grpc-expander-cert: " + text.error().message());
  providers::GrpcFiles files{options.certificate_file, "", ""};
  if (text->find("PRIVATE KEY-----") != std::string::npos) files.certificate = files.key = options.certificate_file;
  auto channel = providers::NewGrpcChannel(address, &files);
  if (!channel) return Fail(channel.error().Wrap("--grpc-expander-cert"));
  return std::make_unique<GrpcExpander>(options, std::move(pods), *channel);
}

}  // namespace evenkeel::controllers::autoscaler
