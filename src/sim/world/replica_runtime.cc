#include "sim/world/replica_runtime.h"

#include <csignal>

namespace evenkeel::sim {

namespace nodeagent = embedded::nodeagent;
namespace distribution = controllers::distribution;

class ReplicaRuntime::Container final : public nodeagent::RunningContainer {
 public:
  Container(ReplicaRuntime& runtime, std::string name, ReplicaSettings settings, base::Random random,
            std::shared_ptr<base::Strand> strand, std::function<void(nodeagent::ContainerExit)> exited)
      : runtime_(runtime),
        name_(std::move(name)),
        replica_(runtime.context_, std::move(settings), random),
        strand_(std::move(strand)),
        exited_(std::move(exited)) {
    replica_.Start();
  }

  ~Container() override {
    const auto place = runtime_.containers_.find(name_);
    if (place != runtime_.containers_.end() && place->second == this) runtime_.containers_.erase(place);
  }

  std::string id() const override { return "replica://" + name_; }

  void Signal(int signal) override {
    if (signal == SIGKILL) return End({137, SIGKILL, "", ""});
    if (signal != SIGTERM || !replica_.running() || replica_.stopping()) return;
    replica_.Stop([strand = strand_, weak = std::weak_ptr(here_)] {
      strand->Post([weak] {
        if (const auto here = weak.lock()) (*here)->End({0, 0, "", ""});
      });
    });
  }

  void Probe(const nodeagent::ProbeAction& action, base::Duration, std::function<void(nodeagent::ProbeResult)> done) override {
    const base::Status health = !replica_.running()       ? base::Fail(base::Code::kUnavailable, "connection refused")
                                : action.path == "/livez" ? base::Status{}
                                                          : replica_.Health();
    nodeagent::ProbeResult result{health.has_value(), health ? "" : "HTTP probe failed with statuscode: 503"};
    strand_->Post([done = std::move(done), result = std::move(result)] { done(result); });
  }

  void End(nodeagent::ContainerExit exit) {
    if (!replica_.running()) return;
    replica_.Kill();
    strand_->Post([exited = exited_, exit = std::move(exit)] { exited(exit); });
  }

  const Replica& replica() const { return replica_; }

 private:
  ReplicaRuntime& runtime_;
  const std::string name_;
  Replica replica_;
  const std::shared_ptr<base::Strand> strand_;
  const std::function<void(nodeagent::ContainerExit)> exited_;
  const std::shared_ptr<Container*> here_ = std::make_shared<Container*>(this);
};

ReplicaRuntime::ReplicaRuntime(ReplicaContext context, base::Random random) : context_(std::move(context)), random_(random) {}

ReplicaRuntime::~ReplicaRuntime() = default;

base::Result<std::unique_ptr<nodeagent::RunningContainer>> ReplicaRuntime::Start(
    const nodeagent::ContainerStart& start, std::shared_ptr<base::Strand> strand,
    std::function<void(nodeagent::ContainerExit)> exited) {
  std::map<std::string, std::string> environment;
  for (const auto& [name, value] : start.env) environment[name] = value;
  const std::string process = start.pod.name + "/" + std::to_string(start.attempt);
  ReplicaSettings settings{.user = process};
  settings.options.mode = distribution::Mode::kCompatible;
  settings.options.host_name = start.pod.name;
  distribution::ReadEnvironment(
      [&](const char* name) -> const char* {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
      },
      settings.options);
  auto container = std::make_unique<Container>(*this, start.pod.name, std::move(settings),
                                               random_.Fork(start.pod.uid + process), std::move(strand), std::move(exited));
  containers_[start.pod.name] = container.get();
  return container;
}

bool ReplicaRuntime::Crash(const std::string& replica) {
  const auto found = containers_.find(replica);
  if (found == containers_.end()) return false;
  found->second->Signal(SIGKILL);
  return true;
}

std::map<std::string, distribution::DistributorStatus> ReplicaRuntime::Replicas() const {
  std::map<std::string, distribution::DistributorStatus> all;
  for (const auto& [name, container] : containers_) {
    if (container->replica().running()) all.emplace(name, container->replica().status());
  }
  return all;
}

}  // namespace evenkeel::sim
