#include "providers/external_grpc.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>

#include "base/executor.h"
#include "base/input/file.h"
#include "base/input/yaml.h"
#include "base/port_testing.h"
#include "kube/object.h"
#include "providers/certificates_testing.h"
#include "providers/object_bytes.h"
#include "providers/proto/external_grpc.grpc.pb.h"

namespace evenkeel::providers::external_grpc_test {
namespace {

namespace wire = ::clusterautoscaler::cloudprovider::v1::externalgrpc;
using base::Code;
using base::Json;
using grpc::ServerContext;
using grpc::Status;
using grpc::StatusCode;
using namespace std::chrono_literals;

Json Yaml(std::string_view text) { return *base::ParseYamlDocument(text, "test"); }

/// A cloud of two groups: nodes called GROUP-N are of GROUP.
class FakeCloud final : public wire::CloudProvider::Service {
 public:
  std::mutex mutex;  // gRPC calls from threads of its own
  std::map<std::string, int> calls;
  std::map<std::string, Status> failures;        ///< by method
  std::map<std::string, Status> group_failures;  ///< by method and group or node: "NodeGroupNodes a"
  bool instances_of_all = false;                 ///< every group has them
  std::vector<std::tuple<std::string, int, int>> groups = {{"a", 1, 5}, {"b", 0, 3}};
  std::map<std::string, int> targets = {{"a", 2}, {"b", 0}};
  wire::NodeGroupNodesResponse instances;  ///< of group a
  std::string template_bytes, legacy_template;
  std::optional<wire::NodeGroupAutoscalingOptions> options;
  wire::NodeGroupAutoscalingOptions defaults;  ///< as asked for
  wire::PricingNodePriceRequest node_price;
  wire::PricingPodPriceRequest pod_price;
  double price = 1.5;
  wire::NodeGroupDeleteNodesRequest deleted;
  int increased = 0, decreased = 0;
  std::string stray;  ///< node that is said to be of group "nowhere"
  std::atomic<bool> hang = false;
  std::string peer;  ///< common name that the client's certificate has

#define EVENKEEL_METHOD(name)                                                                                        \
  Status name(ServerContext* context, const wire::name##Request* request, wire::name##Response* response) override { \
    if (const Status status = Begin(#name, context); !status.ok()) return status;                                    \
    const std::lock_guard lock(mutex);                                                                               \
    if (const auto failure = group_failures.find(#name " " + About(*request)); failure != group_failures.end())      \
      return failure->second;                                                                                        \
    Do(*request, *response);                                                                                         \
    return Status::OK;                                                                                               \
  }
  EVENKEEL_METHOD(NodeGroups)
  EVENKEEL_METHOD(NodeGroupForNode)
  EVENKEEL_METHOD(PricingNodePrice)
  EVENKEEL_METHOD(PricingPodPrice)
  EVENKEEL_METHOD(GPULabel)
  EVENKEEL_METHOD(GetAvailableGPUTypes)
  EVENKEEL_METHOD(Cleanup)
  EVENKEEL_METHOD(Refresh)
  EVENKEEL_METHOD(NodeGroupTargetSize)
  EVENKEEL_METHOD(NodeGroupIncreaseSize)
  EVENKEEL_METHOD(NodeGroupDeleteNodes)
  EVENKEEL_METHOD(NodeGroupDecreaseTargetSize)
  EVENKEEL_METHOD(NodeGroupNodes)
  EVENKEEL_METHOD(NodeGroupTemplateNodeInfo)
#undef EVENKEEL_METHOD
  Status NodeGroupGetOptions(ServerContext* context, const wire::NodeGroupAutoscalingOptionsRequest* request,
                             wire::NodeGroupAutoscalingOptionsResponse* response) override {
    if (const Status status = Begin("NodeGroupGetOptions", context); !status.ok()) return status;
    const std::lock_guard lock(mutex);
    defaults = request->defaults();
    if (options && request->id() == "a") *response->mutable_nodegroupautoscalingoptions() = *options;
    return Status::OK;
  }

  int Calls(const std::string& method) {
    const std::lock_guard lock(mutex);
    return calls[method];
  }

 private:
  Status Begin(const std::string& method, ServerContext* context) {
    while (hang && !context->IsCancelled()) std::this_thread::sleep_for(5ms);
    const std::lock_guard lock(mutex);
    ++calls[method];
    const auto names = context->auth_context()->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
    if (!names.empty()) peer = std::string(names.front().data(), names.front().size());
    const auto failure = failures.find(method);
    return failure == failures.end() ? Status::OK : failure->second;
  }

  template <typename Request>
  static std::string About(const Request& request) {
    if constexpr (requires { request.id(); }) return request.id();
    if constexpr (requires { request.node(); }) return request.node().name();
    return "";
  }

  void Do(const wire::NodeGroupsRequest&, wire::NodeGroupsResponse& response) {
    for (const auto& [id, min, max] : groups) {
      auto* group = response.add_nodegroups();
      group->set_id(id);
      group->set_minsize(min);
      group->set_maxsize(max);
      group->set_debug("group " + id);
    }
  }
  void Do(const wire::NodeGroupForNodeRequest& request, wire::NodeGroupForNodeResponse& response) {
    const std::string& name = request.node().name();
    const size_t dash = name.find('-');
    response.mutable_nodegroup()->set_id(name == stray ? "nowhere" : dash == std::string::npos ? "" : name.substr(0, dash));
  }
  void Do(const wire::PricingNodePriceRequest& request, wire::PricingNodePriceResponse& response) {
    node_price = request;
    response.set_price(price);
  }
  void Do(const wire::PricingPodPriceRequest& request, wire::PricingPodPriceResponse& response) {
    pod_price = request;
    response.set_price(0.25);
  }
  void Do(const wire::GPULabelRequest&, wire::GPULabelResponse& response) { response.set_label("gpu"); }
  void Do(const wire::GetAvailableGPUTypesRequest&, wire::GetAvailableGPUTypesResponse& response) {
    (*response.mutable_gputypes())["tesla"];
    (*response.mutable_gputypes())["ampere"];
  }
  void Do(const wire::CleanupRequest&, wire::CleanupResponse&) {}
  void Do(const wire::RefreshRequest&, wire::RefreshResponse&) {}
  void Do(const wire::NodeGroupTargetSizeRequest& request, wire::NodeGroupTargetSizeResponse& response) {
    response.set_targetsize(targets[request.id()]);
  }
  void Do(const wire::NodeGroupIncreaseSizeRequest& request, wire::NodeGroupIncreaseSizeResponse&) {
    increased = request.delta();
    targets[request.id()] += request.delta();
  }
  void Do(const wire::NodeGroupDeleteNodesRequest& request, wire::NodeGroupDeleteNodesResponse&) { deleted = request; }
  void Do(const wire::NodeGroupDecreaseTargetSizeRequest& request, wire::NodeGroupDecreaseTargetSizeResponse&) {
    decreased = request.delta();
  }
  void Do(const wire::NodeGroupNodesRequest& request, wire::NodeGroupNodesResponse& response) {
    if (request.id() == "a" || instances_of_all) response = instances;
  }
  void Do(const wire::NodeGroupTemplateNodeInfoRequest& request, wire::NodeGroupTemplateNodeInfoResponse& response) {
    if (request.id() != "a") return;
    response.set_nodebytes(template_bytes);
    response.set_legacy_node(legacy_template);
  }
};

class ExternalGrpcTest : public ::testing::Test {
 protected:
  void Serve(const std::shared_ptr<grpc::ServerCredentials>& credentials = grpc::InsecureServerCredentials()) {
    grpc::ServerBuilder builder;
    // A test starts it again there.
    config.address = "127.0.0.1:" + std::to_string(base::testing::ReservedPort());
    builder.AddListeningPort(config.address, credentials);
    builder.RegisterService(&cloud);
    server = builder.BuildAndStart();
    ASSERT_NE(server, nullptr);
  }
  void Connect() {
    NodeGroupOptions defaults;
    defaults.scale_down_utilization_threshold = 0.5;
    defaults.scale_down_gpu_utilization_threshold = 0.6;
    defaults.scale_down_unneeded_time = 10min;
    defaults.scale_down_unready_time = 20min;
    defaults.max_node_provision_time = 1500ms;
    defaults.ignore_daemonsets_utilization = true;
    auto made = NewExternalGrpcProvider(config, defaults, executor.clock(), [this] { return rivals; }, prices);
    ASSERT_TRUE(made) << made.error().message();
    provider = *std::move(made);
  }
  void Start() {
    Serve();
    Connect();
  }
  void TearDown() override {
    cloud.hang = false;
    provider.reset();
    if (server != nullptr) server->Shutdown(std::chrono::system_clock::now());
  }
  static wire::Instance MakeInstance(const std::string& id, int state, const std::string& code = "", int error_class = 0) {
    wire::Instance instance;
    instance.set_id(id);
    instance.mutable_status()->set_instancestate(static_cast<wire::InstanceStatus::InstanceState>(state));
    if (!code.empty()) {
      instance.mutable_status()->mutable_errorinfo()->set_errorcode(code);
      instance.mutable_status()->mutable_errorinfo()->set_errormessage("message");
      instance.mutable_status()->mutable_errorinfo()->set_instanceerrorclass(error_class);
    }
    return instance;
  }
  std::string RefreshError() {
    const auto groups = provider->Refresh({});
    return groups ? "" : groups.error().message();
  }
  std::string Service() const { return "external gRPC service " + config.address + ": "; }

  FakeCloud cloud;
  std::vector<std::string> rivals;
  bool prices = true;
  std::unique_ptr<grpc::Server> server;
  ExternalGrpcConfig config;
  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<ExternalGrpcProvider> provider;
};

TEST_F(ExternalGrpcTest, RefreshReadsEverything) {
  const Json node =
      Yaml(R"({apiVersion: v1, kind: Node, metadata: {name: t, labels: {a: b}}, status: {capacity: {cpu: "4"}}})");
  cloud.template_bytes = EncodeNode(node);
  *cloud.instances.add_instances() = MakeInstance("x://3", 3);
  *cloud.instances.add_instances() = MakeInstance("x://1", 1);
  *cloud.instances.add_instances() = MakeInstance("x://2", 2, "QUOTA", 1);
  *cloud.instances.add_instances() = MakeInstance("x://4", 2, "ODD", 99);
  *cloud.instances.add_instances() = MakeInstance("x://5", 0, "IGNORED", 1);
  Start();
  std::vector<Json> nodes;
  for (int i = 0; i < 300; ++i)
    nodes.push_back(Yaml("{metadata: {name: a-" + std::to_string(i) + "}, spec: {providerID: 'x://1'}}"));
  nodes.push_back(Yaml("{metadata: {name: master}}"));
  const auto groups = provider->Refresh(nodes);
  ASSERT_TRUE(groups) << groups.error().message();
  ASSERT_EQ(groups->groups.size(), 2u);
  const NodeGroup& a = groups->groups[0];
  EXPECT_EQ(a.id, "a");
  EXPECT_EQ(a.min_size, 1);
  EXPECT_EQ(a.max_size, 5);
  EXPECT_EQ(a.target_size, 2);
  EXPECT_EQ(a.debug, "group a");
  ASSERT_EQ(a.instances.size(), 5u);
  EXPECT_EQ(a.instances[0].state, Instance::State::kRunning);
  EXPECT_EQ(a.instances[1].state, Instance::State::kCreating);
  EXPECT_EQ(a.instances[1].error->error_class, Instance::ErrorClass::kOutOfResources);
  EXPECT_EQ(a.instances[1].error->code, "QUOTA");
  EXPECT_EQ(a.instances[1].error->message, "message");
  EXPECT_EQ(a.instances[2].state, Instance::State::kDeleting);
  EXPECT_EQ(a.instances[3].error->error_class, Instance::ErrorClass::kOther);
  EXPECT_FALSE(a.instances[4].error);
  EXPECT_EQ(base::FindString(*a.template_node, {"metadata", "labels", "a"}), "b");
  EXPECT_EQ(base::FindString(*a.template_node, {"status", "allocatable", "cpu"}), "4");
  EXPECT_EQ(a.price_per_hour, 1.5);
  EXPECT_FALSE(groups->groups[1].template_node);
  EXPECT_FALSE(groups->groups[1].price_per_hour);
  EXPECT_EQ(groups->group_of_node.size(), 300u);
  EXPECT_EQ(groups->group_of_node.at("a-299"), "a");
  EXPECT_EQ(groups->gpu_label, "gpu");
  EXPECT_EQ(groups->gpu_types, (std::vector<std::string>{"ampere", "tesla"}));
}

TEST_F(ExternalGrpcTest, AnswersAreKeptForOneLoopAndThoseAboutGpusForGood) {
  Start();
  ASSERT_TRUE(provider->Refresh({}));
  ASSERT_TRUE(provider->Refresh({}));
  for (const char* method : {"Refresh", "NodeGroups"}) EXPECT_EQ(cloud.Calls(method), 2) << method;
  for (const char* method : {"NodeGroupTargetSize", "NodeGroupNodes", "NodeGroupTemplateNodeInfo", "NodeGroupGetOptions"}) {
    EXPECT_EQ(cloud.Calls(method), 4) << method;
  }
  for (const char* method : {"GPULabel", "GetAvailableGPUTypes"}) EXPECT_EQ(cloud.Calls(method), 1) << method;
}

TEST_F(ExternalGrpcTest, OptionsAndTheirDefaultsGoBothWays) {
  cloud.options.emplace();
  cloud.options->set_scaledownutilizationthreshold(0.7);
  cloud.options->set_zeroormaxnodescaling(true);
  cloud.options->mutable_scaledownunneededduration()->set_seconds(90);
  cloud.options->mutable_scaledownunneededduration()->set_nanos(5);
  cloud.options->mutable_legacy_scale_down_unready()->set_duration(7'000'000'000);
  Start();
  const auto groups = provider->Refresh({});
  ASSERT_TRUE(groups);
  const NodeGroupOptions& options = groups->groups[0].options;
  EXPECT_EQ(options.scale_down_utilization_threshold, 0.7);
  EXPECT_EQ(options.scale_down_gpu_utilization_threshold, 0);
  EXPECT_EQ(options.zero_or_max_node_scaling, true);
  EXPECT_EQ(options.scale_down_unneeded_time, 90s + 5ns);
  EXPECT_EQ(options.scale_down_unready_time, 7s);
  EXPECT_EQ(options.max_node_provision_time, std::nullopt);
  EXPECT_EQ(options.max_node_startup_time, std::nullopt);
  EXPECT_FALSE(groups->groups[1].options.scale_down_utilization_threshold);
  EXPECT_EQ(cloud.defaults.scaledownutilizationthreshold(), 0.5);
  EXPECT_EQ(cloud.defaults.scaledowngpuutilizationthreshold(), 0.6);
  EXPECT_TRUE(cloud.defaults.ignoredaemonsetsutilization());
  EXPECT_EQ(cloud.defaults.scaledownunneededduration().seconds(), 600);
  EXPECT_EQ(cloud.defaults.legacy_scale_down_unneeded().duration(), 600'000'000'000);
  EXPECT_EQ(cloud.defaults.maxnodeprovisionduration().seconds(), 1);
  EXPECT_EQ(cloud.defaults.maxnodeprovisionduration().nanos(), 500'000'000);
}

TEST_F(ExternalGrpcTest, PricesThatNobodyGoesByAreNotAskedFor) {
  cloud.template_bytes = EncodeNode(Yaml("{metadata: {name: t}, status: {allocatable: {cpu: 1}}}"));
  prices = false;
  Start();
  const auto groups = provider->Refresh({});
  ASSERT_TRUE(groups);
  EXPECT_FALSE(groups->groups[0].price_per_hour);
  EXPECT_FALSE(cloud.node_price.has_node());
}

TEST_F(ExternalGrpcTest, PricesAreForTheHourFromNow) {
  cloud.template_bytes = EncodeNode(Yaml("{metadata: {name: t, labels: {a: b}}, status: {allocatable: {cpu: 1}}}"));
  Start();
  ASSERT_TRUE(provider->Refresh({}));
  EXPECT_EQ(cloud.node_price.node().name(), "t");
  EXPECT_EQ(cloud.node_price.node().labels().at("a"), "b");
  EXPECT_EQ(cloud.node_price.starttimestamp().seconds(), 1'700'000'000);
  EXPECT_EQ(cloud.node_price.endtimestamp().seconds(), 1'700'003'600);
  EXPECT_EQ(cloud.node_price.legacy_start().seconds(), 1'700'000'000);
  const Json pod = Yaml("{apiVersion: v1, kind: Pod, metadata: {name: p}}");
  const auto price = provider->PodPrice(pod);
  ASSERT_TRUE(price);
  EXPECT_EQ(*price, 0.25);
  EXPECT_EQ(cloud.pod_price.pod_bytes(), EncodePod(pod));
  EXPECT_EQ(cloud.pod_price.legacy_pod(), EncodePod(pod));
  EXPECT_EQ(cloud.pod_price.endtimestamp().seconds(), 1'700'003'600);
  cloud.template_bytes.clear();  // then that of the first node by name
  const std::vector<Json> nodes = {Yaml("{metadata: {name: a-2}}"), Yaml("{metadata: {name: a-1}}")};
  EXPECT_EQ(provider->Refresh(nodes)->groups[0].price_per_hour, 1.5);
  EXPECT_EQ(cloud.node_price.node().name(), "a-1");
}

TEST_F(ExternalGrpcTest, WhatIsOptionalMayBeUnimplemented) {
  for (const char* method : {"PricingNodePrice", "PricingPodPrice", "NodeGroupTemplateNodeInfo", "NodeGroupGetOptions",
                             "GPULabel", "GetAvailableGPUTypes"}) {
    cloud.failures[method] = Status(StatusCode::UNIMPLEMENTED, "");
  }
  Start();
  const auto groups = provider->Refresh({});
  ASSERT_TRUE(groups) << groups.error().message();
  EXPECT_FALSE(groups->groups[0].template_node);
  EXPECT_EQ(groups->gpu_label, "");
  const auto price = provider->PodPrice(Json());
  ASSERT_FALSE(price);
  EXPECT_EQ(price.error().code(), Code::kMethodNotAllowed);
  EXPECT_EQ(price.error().message(), Service() + "PricingPodPrice: the service does not implement it");
}

TEST_F(ExternalGrpcTest, WhatIsOptionalMayFail) {
  cloud.template_bytes = EncodeNode(Yaml("{metadata: {name: t}, status: {allocatable: {cpu: 1}}}"));
  cloud.failures["PricingNodePrice"] = Status(StatusCode::INTERNAL, "broken");
  Start();
  const auto groups = provider->Refresh({});
  ASSERT_TRUE(groups) << groups.error().message();
  EXPECT_TRUE(groups->groups[0].template_node);
  EXPECT_FALSE(groups->groups[0].price_per_hour);
}

TEST_F(ExternalGrpcTest, OldServicesSendTheTemplateAsANode) {
  cloud.legacy_template = EncodeNode(Yaml("{metadata: {name: t}, status: {allocatable: {cpu: 3}}}"));
  Start();
  const auto groups = provider->Refresh({});
  ASSERT_TRUE(groups);
  EXPECT_EQ(base::FindString(*groups->groups[0].template_node, {"status", "allocatable", "cpu"}), "3");
}

TEST_F(ExternalGrpcTest, WhatIsRequiredOfAllMustBeAnswered) {
  Start();
  for (const char* method : {"Refresh", "NodeGroups"}) {
    cloud.failures = {{method, Status(StatusCode::INTERNAL, "two\nlines")}};
    EXPECT_EQ(RefreshError(), Service() + method + ": two lines");
  }
  for (const auto& [method, text] : std::map<std::string, std::string>{{"NodeGroupTargetSize", "NodeGroupTargetSize of a"},
                                                                       {"NodeGroupNodes", "NodeGroupNodes of a"}}) {
    cloud.failures = {{method, Status(StatusCode::UNAVAILABLE, "gone")}};
    EXPECT_EQ(RefreshError(), Service() + text + ": gone");
  }
}

TEST_F(ExternalGrpcTest, AGroupThatRefusesIsSetAsideAsItWasAndTheOthersGoOn) {
  *cloud.instances.add_instances() = MakeInstance("x://1", 1);
  Start();
  ASSERT_TRUE(provider->Refresh({}));
  for (const char* method : {"NodeGroupTargetSize", "NodeGroupNodes"}) {
    cloud.group_failures = {{std::string(method) + " a", Status(StatusCode::INTERNAL, "two\nlines")}};
    const auto groups = provider->Refresh({});
    ASSERT_TRUE(groups) << groups.error().message();
    EXPECT_EQ(groups->groups[0].set_aside, std::string(method) + ": two lines");
    EXPECT_EQ(groups->groups[0].target_size, 2);
    ASSERT_EQ(groups->groups[0].instances.size(), 1u);
    EXPECT_EQ(groups->groups[0].instances[0].id, "x://1");
    EXPECT_EQ(groups->groups[1].set_aside, "");
  }
  cloud.group_failures.clear();
  EXPECT_EQ(provider->Refresh({})->groups[0].set_aside, "");
}

TEST_F(ExternalGrpcTest, ANodeThatTheServiceDoesNotKnowSetsItsGroupAside) {
  *cloud.instances.add_instances() = MakeInstance("x://1", 1);
  Start();
  const std::vector<Json> nodes = {Yaml("{metadata: {name: a-1}, spec: {providerID: 'x://1'}}"),
                                   Yaml("{metadata: {name: b-1}}"), Yaml("{metadata: {name: master}}")};
  cloud.group_failures = {{"NodeGroupForNode a-1", Status(StatusCode::NOT_FOUND, "no")},
                          {"NodeGroupForNode master", Status(StatusCode::NOT_FOUND, "no")}};
  const auto groups = provider->Refresh(nodes);
  ASSERT_TRUE(groups) << groups.error().message();
  EXPECT_EQ(groups->groups[0].set_aside,
            "the service does not say whose node a-1 is: " + Service() + "NodeGroupForNode of a-1: no");
  EXPECT_EQ(groups->groups[1].set_aside, "");
  EXPECT_EQ(groups->group_of_node.at("b-1"), "b");
  EXPECT_FALSE(groups->group_of_node.contains("master"));
  EXPECT_EQ(groups->warnings.size(), 2u);
}

TEST_F(ExternalGrpcTest, AServiceThatSeveralMembersAskIsLeftAlone) {
  Start();
  rivals = {"member-2"};
  const auto groups = provider->Refresh({});
  ASSERT_TRUE(groups);
  for (const NodeGroup& group : groups->groups) EXPECT_TRUE(group.set_aside.starts_with("member member-2 ")) << group.set_aside;
  rivals.clear();
  EXPECT_EQ(provider->Refresh({})->groups[0].set_aside, "");
}

TEST_F(ExternalGrpcTest, OptionsThatCannotBeReadAreThoseOfBefore) {
  cloud.options.emplace();
  cloud.options->mutable_scaledownunneededduration()->set_seconds(3600);
  cloud.options->set_zeroormaxnodescaling(true);
  Start();
  cloud.failures["NodeGroupGetOptions"] = Status(StatusCode::UNAVAILABLE, "busy");
  auto groups = provider->Refresh({});
  ASSERT_TRUE(groups);
  EXPECT_TRUE(groups->groups[0].set_aside.starts_with("its options are not known: ")) << groups->groups[0].set_aside;
  cloud.failures.clear();
  ASSERT_EQ(provider->Refresh({})->groups[0].set_aside, "");
  const auto kept = [&](const char* what) {
    groups = provider->Refresh({});
    ASSERT_TRUE(groups) << what;
    EXPECT_EQ(groups->groups[0].set_aside, "") << what;
    EXPECT_EQ(groups->groups[0].options.scale_down_unneeded_time, 1h) << what;
    EXPECT_EQ(groups->groups[0].options.zero_or_max_node_scaling, true) << what;
  };
  for (const StatusCode code : {StatusCode::UNAVAILABLE, StatusCode::INTERNAL, StatusCode::UNKNOWN}) {
    cloud.failures["NodeGroupGetOptions"] = Status(code, "busy");
    kept("fails");
  }
  cloud.failures.clear();
  cloud.options->mutable_scaledownunneededduration()->set_seconds(-1);
  kept("nonsense");
  cloud.failures["NodeGroupGetOptions"] = Status(StatusCode::UNIMPLEMENTED, "");
  groups = provider->Refresh({});
  EXPECT_EQ(groups->groups[0].options.scale_down_unneeded_time, std::nullopt) << "the flags hold";
  EXPECT_EQ(groups->groups[0].set_aside, "");
}

TEST_F(ExternalGrpcTest, NonsenseSetsItsGroupAsideAndNamesTheField) {
  Start();
  const auto with_groups = [&](std::vector<std::tuple<std::string, int, int>> groups) {
    cloud.groups = std::move(groups);
    cloud.groups.emplace_back("z", 0, 1);
    const auto read = provider->Refresh({});
    EXPECT_TRUE(read) << read.error().message();
    if (!read) return std::string();
    EXPECT_EQ(read->groups.back().id, "z");
    EXPECT_EQ(read->groups.back().set_aside, "");
    if (read->groups.size() == 1) return read->warnings.at(0);
    EXPECT_LE(read->groups[0].min_size, read->groups[0].max_size);
    return read->groups[0].set_aside;
  };
  EXPECT_EQ(with_groups({{"", 0, 1}}), "a node group of the external gRPC service: id: missing, so it is left out");
  EXPECT_EQ(with_groups({{"a", -1, 1}}), "minSize: -1 is less than 0");
  EXPECT_EQ(with_groups({{"a", 3, 1}}), "maxSize: 1 is less than minSize 3");
  EXPECT_EQ(with_groups({{"a", 0, 1}, {"a", 0, 1}}), "the service lists two groups of this id");
  cloud.targets["a"] = -1;
  EXPECT_EQ(with_groups({{"a", 0, 1}}), "NodeGroupTargetSize: -1 is less than 0");
  cloud.targets["a"] = 1;
  *cloud.instances.add_instances() = MakeInstance("", 1);
  EXPECT_EQ(with_groups({{"a", 0, 1}}), "NodeGroupNodes: an instance: id: missing");
  cloud.instances.clear_instances();
  for (int i = 0; i < 2; ++i) *cloud.instances.add_instances() = MakeInstance("x", 1);
  EXPECT_EQ(with_groups({{"a", 0, 1}}), "NodeGroupNodes: instance \"x\" is listed twice");
  cloud.instances.clear_instances();
  *cloud.instances.add_instances() = MakeInstance("x", 1);
  cloud.groups = {{"a", 0, 1}, {"b", 0, 1}};
  cloud.instances_of_all = true;
  const auto shared = provider->Refresh({});
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->groups[0].set_aside, "instance \"x\" is also listed in b");
  EXPECT_EQ(shared->groups[1].set_aside, "instance \"x\" is also listed in a");
}

TEST_F(ExternalGrpcTest, GarbageInWhatIsOptionalIsLeftOut) {
  cloud.template_bytes = "\x0a\x05n";
  cloud.stray = "a-1";
  Start();
  const auto groups = provider->Refresh(std::vector{Yaml("{metadata: {name: a-1}}"), Yaml("{metadata: {name: a-2}}")});
  ASSERT_TRUE(groups) << groups.error().message();
  EXPECT_FALSE(groups->groups[0].template_node);
  EXPECT_EQ(groups->group_of_node.size(), 1u);
  cloud.template_bytes = EncodeNode(Yaml("{metadata: {name: t}, status: {allocatable: {cpu: 1}}}"));
  cloud.price = -1;
  EXPECT_FALSE(provider->Refresh({})->groups[0].price_per_hour);
}

TEST_F(ExternalGrpcTest, SizesAndDeletionsAreSent) {
  Start();
  ASSERT_TRUE(provider->IncreaseSize("a", 3, false));
  EXPECT_EQ(cloud.increased, 3);
  ASSERT_TRUE(provider->DecreaseTargetSize("b", -2));
  EXPECT_EQ(cloud.decreased, -2);
  const Json node = Yaml("{metadata: {name: n, labels: {a: b}, annotations: {c: d}}, spec: {providerID: 'x://1'}}");
  ASSERT_TRUE(provider->DeleteNodes("a", std::vector<NodeReference>{{"n", "x://1", node}, {"", "x://2", {}}}, false));
  EXPECT_EQ(cloud.deleted.id(), "a");
  ASSERT_EQ(cloud.deleted.nodes_size(), 2);
  EXPECT_EQ(cloud.deleted.nodes(0).name(), "n");
  EXPECT_EQ(cloud.deleted.nodes(0).providerid(), "x://1");
  EXPECT_EQ(cloud.deleted.nodes(0).labels().at("a"), "b");
  EXPECT_EQ(cloud.deleted.nodes(0).annotations().at("c"), "d");
  EXPECT_EQ(cloud.deleted.nodes(1).name(), "x://2");
  cloud.failures["NodeGroupIncreaseSize"] = Status(StatusCode::RESOURCE_EXHAUSTED, "quota");
  const auto refused = provider->IncreaseSize("a", 1, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), Service() + "NodeGroupIncreaseSize of a: quota");
  EXPECT_FALSE(provider->IncreaseSize("a", int64_t{1} << 40, false));
  EXPECT_FALSE(provider->IncreaseSize("a", 0, false));
  EXPECT_FALSE(provider->DecreaseTargetSize("a", 1));
  EXPECT_EQ(provider->IncreaseSize("a", 1, true).error().code(), Code::kMethodNotAllowed);
  EXPECT_EQ(provider->DeleteNodes("a", {}, true).error().code(), Code::kMethodNotAllowed);
}

TEST_F(ExternalGrpcTest, ACallThatHangsEndsInTime) {
  config.timeout = 200ms;
  Start();
  ASSERT_TRUE(provider->Refresh({}));
  cloud.hang = true;
  const auto begin = std::chrono::steady_clock::now();
  const auto groups = provider->Refresh({});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 60s);
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().code(), Code::kTimeout) << groups.error().message();
}

TEST_F(ExternalGrpcTest, AServiceThatIsGoneIsNotWaitedForAgainAndAgain) {
  config.timeout = 300ms;
  Start();
  std::vector<Json> nodes;
  for (int i = 0; i < 2000; ++i) nodes.push_back(Yaml("{metadata: {name: a-" + std::to_string(i) + "}}"));
  cloud.failures["NodeGroupForNode"] = Status(StatusCode::UNAVAILABLE, "gone");
  ASSERT_FALSE(provider->Refresh(nodes));
  EXPECT_LT(cloud.Calls("NodeGroupForNode"), 200);
}

TEST_F(ExternalGrpcTest, AServiceThatIsNotThereIsUnavailableAndFoundAgain) {
  config.timeout = 10s;
  Start();
  server->Shutdown(std::chrono::system_clock::now());
  server.reset();
  const auto groups = provider->Refresh({});
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().code(), Code::kUnavailable) << groups.error().message();
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddListeningPort(config.address, grpc::InsecureServerCredentials(), &bound);
  builder.RegisterService(&cloud);
  server = builder.BuildAndStart();
  ASSERT_NE(bound, 0);
  bool found = false;
  for (int i = 0; i < 600 && !found; ++i) {
    found = provider->Refresh({}).has_value();
    if (!found) std::this_thread::sleep_for(100ms);
  }
  EXPECT_TRUE(found);
}

TEST_F(ExternalGrpcTest, TheServiceIsToldToCleanUpIfItHasEverAnswered) {
  Start();
  provider.reset();
  EXPECT_EQ(cloud.Calls("Cleanup"), 0);
  Connect();
  ASSERT_TRUE(provider->Refresh({}));
  provider.reset();
  EXPECT_EQ(cloud.Calls("Cleanup"), 1);
}

class ExternalGrpcTlsTest : public ExternalGrpcTest {
 protected:
  void SetUp() override {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    directory = std::filesystem::temp_directory_path() / ("evenkeel-grpc-" + name + "-" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory);
  }
  void TearDown() override {
    ExternalGrpcTest::TearDown();
    std::filesystem::remove_all(directory);
  }
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory / name;
    EXPECT_TRUE(base::WriteFile(path, text, 0600));
    return path;
  }
  void ServeTls(const testing::SignedPem& identity, const std::string& trusted) {
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_key_cert_pairs.push_back({identity.key, identity.certificate});
    options.pem_root_certs = trusted;
    Serve(grpc::SslServerCredentials(options));
  }
  void Use(const std::string& authority, const testing::SignedPem& identity) {
    config.tls = true;
    config.files = {Write("ca.pem", authority), Write("cert.pem", identity.certificate), Write("key.pem", identity.key)};
  }

  std::filesystem::path directory;
  const testing::TestAuthority servers{"servers"}, clients{"clients"}, strangers{"strangers"};
};

TEST_F(ExternalGrpcTlsTest, BothSidesShowCertificates) {
  ServeTls(servers.Issue("cloud"), clients.pem());
  Use(servers.pem(), clients.Issue("autoscaler"));
  Connect();
  const auto groups = provider->Refresh({});
  ASSERT_TRUE(groups) << groups.error().message();
  EXPECT_EQ(cloud.peer, "autoscaler");
}

TEST_F(ExternalGrpcTlsTest, AServiceOfAnotherAuthorityIsNotTrusted) {
  ServeTls(strangers.Issue("cloud"), clients.pem());
  Use(servers.pem(), clients.Issue("autoscaler"));
  Connect();
  EXPECT_EQ(provider->Refresh({}).error().code(), Code::kUnavailable);
  EXPECT_EQ(cloud.Calls("Refresh"), 0);
}

TEST_F(ExternalGrpcTlsTest, AClientOfAnotherAuthorityIsRefused) {
  ServeTls(servers.Issue("cloud"), clients.pem());
  Use(servers.pem(), strangers.Issue("autoscaler"));
  Connect();
  EXPECT_FALSE(provider->Refresh({}));
  EXPECT_EQ(cloud.Calls("Refresh"), 0);
}

TEST_F(ExternalGrpcTlsTest, FilesThatAreWrongAreNamedAndKeysAreNotShown) {
  Serve();
  const auto identity = clients.Issue("autoscaler");
  const auto error = [&] {
    const auto made = NewExternalGrpcProvider(config, {}, executor.clock());
    return made ? "" : made.error().message();
  };
  Use(servers.pem(), {identity.certificate, clients.Issue("other").key});
  EXPECT_EQ(error(), config.files.key + ": is not the key of the certificate in " + config.files.certificate);
  Use(servers.pem(), {identity.certificate, "secret rubbish"});
  EXPECT_EQ(error(), config.files.key + ": is no key in PEM form without a passphrase");
  Use(servers.pem(), {"rubbish", identity.key});
  EXPECT_EQ(error(), config.files.certificate + ": is no certificate in PEM form (certificate)");
  Use("rubbish", identity);
  EXPECT_EQ(error(), config.files.authority + ": is no certificate in PEM form (certificate authority)");
  config.files.authority = directory / "missing.pem";
  EXPECT_TRUE(error().starts_with("cannot read the certificate authority: ")) << error();
  EXPECT_NE(error().find("missing.pem"), std::string::npos);
}

TEST(ExternalGrpcConfig, KeysAreUpstreams) {
  const auto config =
      ParseExternalGrpcConfig("address: host:8086\nkey: /k\ncert: /c\ncacert: /ca\ngrpc_timeout: 2s\nmore: x\n", "f");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->address, "host:8086");
  EXPECT_TRUE(config->tls);
  EXPECT_EQ(config->files.key, "/k");
  EXPECT_EQ(config->files.certificate, "/c");
  EXPECT_EQ(config->files.authority, "/ca");
  EXPECT_EQ(config->timeout, 2s);
  const auto plain = ParseExternalGrpcConfig("address: '[::1]:1'", "f");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->tls);
  EXPECT_EQ(plain->timeout, 5s);
}

TEST(ExternalGrpcConfig, GarbageIsNamedByField) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[]", "f: keys address, key, cert, cacert and grpc_timeout are expected"},
      {"{}", "f: address: missing: HOST:PORT of the service is expected"},
      {"address: [1]", "f: address: not a text"},
      {"address: host", "f: address: \"host\" is not HOST:PORT"},
      {"address: '::1:80'", "f: address: \"::1:80\" is not HOST:PORT"},
      {"address: 'unix:///x:1'", "f: address: \"unix:///x:1\" is not HOST:PORT"},
      {"{address: 'h:1', cert: /c}", "f: key: missing: cert needs its key"},
      {"{address: 'h:1', cert: /c, key: /k}", "f: cacert: missing: with cert, the service's certificate is checked"},
      {"{address: 'h:1', grpc_timeout: soon}", "f: grpc_timeout: not a duration such as 5s"},
      {"{address: 'h:1', grpc_timeout: 0s}", "f: grpc_timeout: not a duration such as 5s"},
      {"{address: 'h:1', key: \"a\\nb\"}", "f: key: has more than one line"},
  };
  for (const auto& [text, message] : cases) {
    const auto config = ParseExternalGrpcConfig(text, "f");
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().message(), message);
  }
  EXPECT_TRUE(ReadExternalGrpcConfig("").error().message().starts_with("--cloud-provider=externalgrpc needs --cloud-config"));
  EXPECT_TRUE(ReadExternalGrpcConfig("/nonexistent/x").error().message().starts_with("--cloud-config: "));
}

}  // namespace
}  // namespace evenkeel::providers::external_grpc_test
