#include "controllers/autoscaler/expanders/grpc_expander.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>

#include "base/input/file.h"
#include "base/json.h"
#include "controllers/autoscaler/scale_up/scale_up_testing.h"
#include "providers/certificates_testing.h"
#include "providers/object_bytes.h"
#include "providers/proto/expander.grpc.pb.h"

namespace evenkeel::controllers::autoscaler::grpc_expander_test {
namespace {

using base::Json;
using providers::testing::TestAuthority;
using testing::kMebibyte;
using testing::MakeNode;
using namespace std::chrono_literals;

class FakeExpander final : public grpcplugin::Expander::Service {
 public:
  grpc::Status BestOptions(grpc::ServerContext* context, const grpcplugin::BestOptionsRequest* asked,
                           grpcplugin::BestOptionsResponse* response) override {
    while (hang && !context->IsCancelled()) std::this_thread::sleep_for(5ms);
    const std::lock_guard lock(mutex);
    request = *asked;
    const auto names = context->auth_context()->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
    peer = names.empty() ? "" : std::string(names.front().data(), names.front().size());
    for (const std::string& id : best) response->add_options()->set_nodegroupid(id);
    return status;
  }
  std::mutex mutex;  // gRPC calls from threads of its own
  grpcplugin::BestOptionsRequest request;
  std::vector<std::string> best;
  grpc::Status status;
  std::atomic<bool> hang = false;
  std::string peer;
};

class GrpcExpanderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    directory = std::filesystem::temp_directory_path() / ("evenkeel-expander-" + name + "-" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory);
    options.certificate_file = Write("ca.pem", authority.pem());
    for (const char* id : {"a", "b", "c"}) Add(id);
  }
  void TearDown() override {
    service.hang = false;
    if (server != nullptr) server->Shutdown(std::chrono::system_clock::now());
    std::filesystem::remove_all(directory);
  }
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory / name;
    EXPECT_TRUE(base::WriteFile(path, text, 0600));
    return path;
  }
  void Add(const std::string& id) {
    groups.push_back({});
    groups.back().id = id;
    templates.push_back({});
    templates.back().node = MakeNode("template-node-for-" + id, 1500, 1000 * kMebibyte, {{"group", id}});
    templates.back().node.taints = {{"k", "v", "NoSchedule"}};
    ExpanderOption option;
    option.group = &groups.back();
    option.node = &templates.back();
    option.nodes = static_cast<int64_t>(groups.size());
    option.pods = {7, 8};
    option.debug = "about " + id;
    expander_options.push_back(std::move(option));
  }
  void Serve(bool ask_for_certificate = false) {
    const auto identity = authority.Issue("expander");
    grpc::SslServerCredentialsOptions tls(ask_for_certificate ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                              : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    tls.pem_key_cert_pairs.push_back({identity.key, identity.certificate});
    tls.pem_root_certs = authority.pem();
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &port);
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
    ASSERT_NE(server, nullptr);
    options.url = "127.0.0.1:" + std::to_string(port);
  }
  std::vector<size_t> Best(std::vector<size_t> candidates) {
    auto plugin = NewGrpcExpander(options, [](scheduling::PodId pod) -> std::optional<Json> {
      if (pod == 8) return std::nullopt;
      return testing::MakePod("pod-" + std::to_string(pod), 100, kMebibyte).json;
    });
    EXPECT_TRUE(plugin) << plugin.error().message();
    ExpanderContext context;
    return plugin ? (*plugin)->Best(expander_options, std::move(candidates), context) : std::vector<size_t>{99};
  }
  using Indices = std::vector<size_t>;

  std::filesystem::path directory;
  const TestAuthority authority{"expanders"};
  FakeExpander service;
  std::unique_ptr<grpc::Server> server;
  GrpcExpanderOptions options;
  std::deque<providers::NodeGroup> groups;
  std::deque<NodeTemplate> templates;
  std::vector<ExpanderOption> expander_options;
};

TEST_F(GrpcExpanderTest, TheServiceIsToldOfTheCandidatesAndChooses) {
  Serve();
  service.best = {"c", "a", "c"};
  EXPECT_EQ(Best({0, 2}), (Indices{0, 2}));
  const auto& request = service.request;
  ASSERT_EQ(request.options_size(), 2);
  EXPECT_EQ(request.options(0).nodegroupid(), "a");
  EXPECT_EQ(request.options(0).nodecount(), 1);
  EXPECT_EQ(request.options(0).debug(), "about a");
  EXPECT_EQ(request.options(1).nodegroupid(), "c");
  EXPECT_EQ(request.options(1).nodecount(), 3);
  ASSERT_EQ(request.options(0).podbytes_size(), 1) << "pod 8 is gone";
  EXPECT_EQ(request.options(0).legacy_pod_size(), 0);
  const auto pod = providers::DecodePod(request.options(0).podbytes(0));
  ASSERT_TRUE(pod) << pod.error().message();
  EXPECT_EQ(kube::NameOf(*pod), "pod-7");
  ASSERT_EQ(request.nodebytesmap_size(), 2);
  EXPECT_EQ(request.legacy_node_map_size(), 0);
  const auto node = providers::DecodeNode(request.nodebytesmap().at("c"));
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_EQ(kube::NameOf(*node), "template-node-for-c");
  EXPECT_EQ(base::FindString(*node, {"metadata", "labels", "group"}), "c");
  EXPECT_EQ(base::FindString(*node, {"status", "capacity", "cpu"}), "1500m");
  EXPECT_EQ(base::FindString(*node, {"status", "allocatable", "memory"}), "1000Mi");
  EXPECT_EQ(base::FindString(base::FindArray(*node, {"spec", "taints"})[0], {"effect"}), "NoSchedule");
  service.best = {"b"};
  EXPECT_EQ(Best({0, 1, 2}), Indices{1});
}

TEST_F(GrpcExpanderTest, OlderServicesAreToldInTheirFields) {
  Serve();
  service.best = {"a"};
  options.legacy_fields = true;
  Best({0});
  EXPECT_EQ(service.request.options(0).legacy_pod(0), service.request.options(0).podbytes(0));
  EXPECT_EQ(service.request.legacy_node_map().at("a"), service.request.nodebytesmap().at("a"));
}

TEST_F(GrpcExpanderTest, WhomTheServiceNamesAndWhomNot) {
  Serve();
  EXPECT_EQ(Best({0, 1}), Indices{}) << "none is any good";
  service.best = {"b", "stranger"};
  EXPECT_EQ(Best({0, 1}), Indices{1});
  service.best = {"stranger", "c"};
  EXPECT_EQ(Best({0, 1}), (Indices{0, 1})) << "c was not offered";
}

TEST_F(GrpcExpanderTest, AllStayWhenTheServiceFails) {
  Serve();
  service.best = {"a"};
  service.status = grpc::Status(grpc::StatusCode::INTERNAL, "broken");
  EXPECT_EQ(Best({0, 1}), (Indices{0, 1}));
  service.status = grpc::Status::OK;
  service.hang = true;
  options.timeout = 200ms;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Best({0, 1}), (Indices{0, 1}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 60s);
  service.hang = false;
  server->Shutdown(std::chrono::system_clock::now());
  EXPECT_EQ(Best({1, 2}), (Indices{1, 2}));
}

TEST_F(GrpcExpanderTest, AServiceOfAnotherAuthorityIsNotAsked) {
  Serve();
  service.best = {"a"};
  options.certificate_file = Write("other.pem", TestAuthority("others").pem());
  EXPECT_EQ(Best({0, 1}), (Indices{0, 1}));
  EXPECT_EQ(service.request.options_size(), 0);
}

TEST_F(GrpcExpanderTest, AKeyInTheFileMakesTlsMutual) {
  Serve(true);
  service.best = {"a"};
  EXPECT_EQ(Best({0, 1}), (Indices{0, 1})) << "refused without a certificate";
  const auto identity = authority.Issue("autoscaler");
  options.certificate_file = Write("both.pem", identity.certificate + authority.pem() + identity.key);
  EXPECT_EQ(Best({0, 1}), Indices{0});
  EXPECT_EQ(service.peer, "autoscaler");
}

TEST_F(GrpcExpanderTest, ItIsAStrategyOfTheChain) {
  Serve();
  service.best = {"b", "c"};
  auto plugin = NewGrpcExpander(options, [](scheduling::PodId) { return std::optional<Json>(); });
  ASSERT_TRUE(plugin);
  const std::vector<std::string> names = {"grpc", "least-nodes"};
  const auto chain = ExpanderChain::Make(names, *std::move(plugin));
  ASSERT_TRUE(chain);
  ExpanderContext context;
  base::Random random(1);
  EXPECT_EQ(chain->Best(expander_options, context, random), 1u);
}

TEST_F(GrpcExpanderTest, FlagsThatAreWrongAreNamed) {
  const auto error = [&] {
    const auto plugin = NewGrpcExpander(options, {});
    return plugin ? "" : plugin.error().message();
  };
  options.url = "nowhere";
  EXPECT_EQ(error(), "--grpc-expander-url: \"nowhere\" is not HOST:PORT");
  options.url = "dns:///localhost:7000";
  EXPECT_EQ(error(), "");
  options.certificate_file = Write("rubbish.pem", "rubbish");
  EXPECT_EQ(error(),
            "--grpc-expander-cert: " + options.certificate_file + ": is no certificate in PEM form (certificate authority)");
  options.certificate_file = directory / "missing.pem";
  EXPECT_TRUE(error().starts_with("--grpc-expander-cert: ")) << error();
  options.certificate_file = "";
  EXPECT_EQ(error(), "--grpc-expander-cert: missing: the gRPC expander is only asked over TLS");
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::grpc_expander_test
