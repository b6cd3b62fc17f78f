#include "embedded/fleet/cluster.h"

#include <spdlog/fmt/fmt.h>

#include "client/definitions.h"
#include "controllers/balancer/kinds.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "embedded/cloud/node_group_definition.h"
#include "embedded/federation/policies/definitions.h"
#include "embedded/fleet/api_endpoint.h"
#include "embedded/nodeagent/simulated_runtime.h"

namespace evenkeel::embedded::fleet {
namespace {

apiserver::ApiOptions MakeApiOptions(const ClusterOptions& options, store::Store* store, base::Executor& executor,
                                     base::Random random, apiserver::LogSource* logs) {
  apiserver::ApiOptions api;
  api.name = options.name;
  api.store = store;
  api.clock = &executor.clock();
  api.random = random.Fork("api");
  api.logs = logs;
  api.audit = options.audit;
  api.executor = &executor;
  api.default_policy = options.default_policy;
  api.account_key = options.account_key;
  api.account_ca_pem = options.account_ca_pem;
  return api;
}

}  // namespace

Cluster::Cluster(ClusterOptions options, std::unique_ptr<store::Store> store, base::Executor& executor, base::Random random)
    : options_(std::move(options)),
      executor_(executor),
      random_(random.Fork(options_.name)),
      store_(std::move(store)),
      logs_strand_(executor.NewStrand(options_.name + "/logs")),
      agent_strand_(executor.NewStrand(options_.name + "/nodes")),
      logs_(logs_strand_),
      api_(MakeApiOptions(options_, store_.get(), executor, random_, &logs_)) {}

Cluster::~Cluster() {
  StopControllers();
  logs_strand_->Close();
}

std::unique_ptr<client::Client> Cluster::NewClient(const std::string& user, int64_t epoch) {
  return apiserver::NewInProcessClient(api_, {user, {kMasters, "system:authenticated"}}, epoch);
}

base::Status Cluster::Start() {
  EVENKEEL_TRY(api_.Start());
  client_ = NewClient("system:" + options_.name);
  if (options_.federation) {
    EVENKEEL_TRY(federation::InstallDefinitions(*client_));
    federation_ =
        std::make_unique<federation::Federation>(*client_, executor_, random_.Fork("federation"), *options_.federation);
    options_.workloads.is_template = [this](const base::Json& object) { return federation_->IsTemplate(object); };
    federation_->Start();
  }
  options_.workloads.root_ca_pem = options_.account_ca_pem;
  workloads_ = std::make_unique<workloads::Workloads>(*client_, executor_, random_.Fork("workloads"), options_.workloads);
  workloads_->Start();
  if (!options_.cloud) return {};
  EVENKEEL_TRY(cloud::InstallDefinition(*client_));
  EVENKEEL_TRY(controllers::balancer::InstallDefinitions(*client_));
  return client::InstallDefinition(*client_, controllers::rollout::zookeeper::ZooKeeperDefinition());
}

base::Status Cluster::StartNodes() {
  simulated_ = nodeagent::NewSimulatedRuntime(executor_.clock(), random_.Fork("containers"));
  nodeagent::NodeAgentOptions agent;
  agent.client = client_.get();
  agent.strand = agent_strand_;
  agent.clock = &executor_.clock();
  agent.random = random_.Fork("nodes");
  agent.simulated = simulated_.get();
  agent.logs = &logs_;
  // The embedded fleet's own nodes come back when somebody deletes them by mistake: nothing else would make them again.
  agent.reregister = true;
  for (int i = 1; i <= options_.nodes; ++i) {
    nodeagent::NodeConfig node;
    node.name = fmt::format("{}-node-{}", options_.name, i);
    node.zone = fmt::format("zone-{}", static_cast<char>('a' + (i - 1) % 3));
    node.pod_cidr = fmt::format("10.{}.{}.0/24", 128 + options_.index % 128, i % 256);
    node.loopback_cidr = fmt::format("127.{}.{}.0/24", options_.loopback_octet, (options_.index * 40 + i) % 256);
    agent.nodes.push_back(std::move(node));
  }
  if (options_.runtime != nullptr) agent.runtimes[std::string(options_.runtime->name())] = options_.runtime;
  agent_ = std::make_unique<nodeagent::NodeAgent>(std::move(agent));
  EVENKEEL_TRY(agent_->Start());
  if (options_.cloud) StartCloud();
  return {};
}

void Cluster::StartCloud() {
  cloud::CloudOptions options;
  options.client = client_.get();
  options.strand = agent_strand_;
  options.clock = &executor_.clock();
  options.random = random_.Fork("cloud");
  options.agent = agent_.get();
  options.cluster_index = options_.index;
  options.loopback_octet = options_.loopback_octet;
  cloud_ = std::make_unique<cloud::Cloud>(std::move(options));
  agent_strand_->Post([cloud = cloud_.get()] { cloud->Start(); });
}

void Cluster::StopControllers() {
  if (workloads_) workloads_->Stop();
  federation_.reset();
  agent_strand_->Close();
  cloud_.reset();
  agent_.reset();
  workloads_.reset();
}

}  // namespace evenkeel::embedded::fleet
