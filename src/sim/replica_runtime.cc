#include "sim/replica_runtime.h"

#include <csignal>

#include "sim/severable_client.h"

namespace evenkeel::sim {

namespace nodeagent = embedded::nodeagent;
namespace distribution = controllers::distribution;

class ReplicaRuntime::Replica final : public nodeagent::RunningContainer {
 public:
  Replica(ReplicaRuntime& runtime, std::string name, std::shared_ptr<base::Strand> strand,
          std::function<void(nodeagent::ContainerExit)> exited)
      : runtime_(runtime), name_(std::move(name)), strand_(std::move(strand)), exited_(std::move(exited)) {}

  ~Replica() override {
    link_->up = false;
    distributor_.reset();
    auto place = runtime_.replicas_.find(name_);
    if (place != runtime_.replicas_.end() && place->second == this) runtime_.replicas_.erase(place);
  }

  base::Status Run(distribution::Options options, base::Random random) {
    auto hub = runtime_.clients_("hub", name_);
    if (!hub) return base::Fail(hub.error());
    hub_ = std::make_unique<SeverableClient>(*std::move(hub), link_);
    auto connect = [this](const client::ConnectionConfig& config) -> base::Result<std::unique_ptr<client::Client>> {
      auto member = runtime_.clients_(config.server, name_);
      if (!member) return base::Fail(member.error());
      return std::make_unique<SeverableClient>(*std::move(member), link_);
    };
    distributor_ =
        std::make_unique<distribution::Distributor>(*hub_, runtime_.executor_, random, std::move(options), connect, metrics_);
    distributor_->Start();
    return {};
  }

  std::string id() const override { return "replica://" + name_; }

  void Signal(int signal) override {
    if (signal == SIGKILL) return End({137, SIGKILL, "", ""});
    if (signal == SIGTERM && distributor_) distributor_->Stop();
    End({0, 0, "", ""});
  }

  void Probe(const nodeagent::ProbeAction& action, base::Duration, std::function<void(nodeagent::ProbeResult)> done) override {
    const base::Status health = !distributor_             ? base::Fail(base::Code::kUnavailable, "connection refused")
                                : action.path == "/livez" ? base::Status{}
                                                          : distributor_->Health();
    nodeagent::ProbeResult result{health.has_value(), health ? "" : "HTTP probe failed with statuscode: 503"};
    strand_->Post([done = std::move(done), result = std::move(result)] { done(result); });
  }

  void End(nodeagent::ContainerExit exit) {
    if (ended_) return;
    ended_ = true;
    link_->up = false;
    distributor_.reset();
    strand_->Post([exited = exited_, exit = std::move(exit)] { exited(exit); });
  }

  std::optional<distribution::DistributorStatus> status() const {
    if (!distributor_) return std::nullopt;
    return distributor_->status();
  }

 private:
  ReplicaRuntime& runtime_;
  const std::string name_;
  const std::shared_ptr<base::Strand> strand_;
  const std::function<void(nodeagent::ContainerExit)> exited_;
  const std::shared_ptr<Link> link_ = std::make_shared<Link>();
  bool ended_ = false;
  base::MetricRegistry metrics_;
  std::unique_ptr<client::Client> hub_;
  std::unique_ptr<distribution::Distributor> distributor_;
};

ReplicaRuntime::ReplicaRuntime(base::Executor& executor, base::Random random, ClientMaker clients)
    : executor_(executor), random_(random), clients_(std::move(clients)) {}

ReplicaRuntime::~ReplicaRuntime() = default;

base::Result<std::unique_ptr<nodeagent::RunningContainer>> ReplicaRuntime::Start(
    const nodeagent::ContainerStart& start, std::shared_ptr<base::Strand> strand,
    std::function<void(nodeagent::ContainerExit)> exited) {
  std::map<std::string, std::string> environment;
  for (const auto& [name, value] : start.env) environment[name] = value;
  distribution::Options options;
  options.host_name = start.pod.name;
  distribution::ReadEnvironment(
      [&](const char* name) -> const char* {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
      },
      options);
  auto replica = std::make_unique<Replica>(*this, start.pod.name, std::move(strand), std::move(exited));
  EVENKEEL_TRY(replica->Run(std::move(options), random_.Fork(start.pod.uid + "/" + std::to_string(start.attempt))));
  replicas_[start.pod.name] = replica.get();
  return replica;
}

bool ReplicaRuntime::Crash(const std::string& replica) {
  const auto found = replicas_.find(replica);
  if (found == replicas_.end()) return false;
  found->second->Signal(SIGKILL);
  return true;
}

std::map<std::string, distribution::DistributorStatus> ReplicaRuntime::Replicas() const {
  std::map<std::string, distribution::DistributorStatus> all;
  for (const auto& [name, replica] : replicas_) {
    if (auto status = replica->status()) all.emplace(name, *std::move(status));
  }
  return all;
}

}  // namespace evenkeel::sim
