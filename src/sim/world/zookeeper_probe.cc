#include "sim/world/zookeeper_probe.h"

#include <spdlog/fmt/fmt.h>

#include <map>
#include <optional>

namespace evenkeel::sim {
namespace {

using base::Code;
using base::Fail;
using base::Status;
using namespace std::chrono_literals;
using zookeeper::Answer;
using zookeeper::Endpoint;

constexpr base::Duration kRoundTripMin = 500us;
constexpr base::Duration kRoundTripMax = 20ms;
constexpr base::Duration kAskTimeout = 1s;
constexpr base::Duration kChangeTimeout = 5s;
/// A collection of garbage, a slow disk: shorter than after what a leader or a kubelet gives a server up.
constexpr base::Duration kSilenceMin = 100ms;
constexpr base::Duration kSilenceMax = 3s;

class SimulatedProbe final : public zookeeper::Probe {
 public:
  explicit SimulatedProbe(ZooKeeperProbeContext context)
      : context_(std::move(context)), strand_(context_.executor.NewStrand("probe " + context_.host)) {}

  std::vector<base::Result<Answer>> Ask(const std::vector<Endpoint>& servers) override {
    std::vector<bool> silent;
    for (const Endpoint& server : servers) silent.push_back(IsCut(server) || StandsStill(server));
    Pass(std::ranges::find(silent, true) == silent.end() ? RoundTrip() : kAskTimeout);
    std::vector<base::Result<Answer>> answers;
    for (size_t i = 0; i < servers.size(); ++i) {
      const Endpoint& server = servers[i];
      const ZooKeeperModel::Handle handle = context_.model.Find(server.host, server.port);
      if (handle == 0 || !context_.process.alive() || silent[i] || IsCut(server)) {
        answers.push_back(Fail(Code::kUnavailable, fmt::format("ask {}:{}: no answer", server.host, server.port)));
      } else {
        answers.push_back(context_.model.AnswerOf(handle));
      }
    }
    return answers;
  }

  Status Reconfigure(const Endpoint& via, const zookeeper::Reconfiguration& change) override {
    Pass(RoundTrip());
    const ZooKeeperModel::Handle handle = context_.model.Find(via.host, via.port);
    if (!context_.process.alive() || handle == 0 || IsCut(via)) return Fail(Code::kUnavailable, "no session in time");
    Wait wait(context_.process);
    const auto answer = std::make_shared<std::optional<Status>>();
    context_.model.Reconfigure(handle, change, [answer, wait](Status status) mutable {
      *answer = std::move(status);
      wait.Done();
    });
    const base::Timer timeout = strand_->PostAfter(kChangeTimeout, [wait]() mutable { wait.Done(); });
    wait.Block();
    const bool lost = context_.random.Chance(context_.network.conditions().lost_answer);
    if (!answer->has_value() || lost || IsCut(via)) return Fail(Code::kUnavailable, "ZooKeeper has not answered in time");
    return **answer;
  }

 private:
  base::Duration RoundTrip() { return context_.random.Between(kRoundTripMin, kRoundTripMax); }

  bool IsCut(const Endpoint& server) const {
    const ZooKeeperModel::Handle handle = context_.model.Find(server.host, server.port);
    return handle != 0 && context_.network.IsCut(context_.host, context_.model.ViewOf(handle).place);
  }

  bool StandsStill(const Endpoint& server) {
    const double chance = context_.network.conditions().silent_server;
    if (chance == 0) return false;
    const base::Instant now = context_.executor.clock().Monotonic();
    base::Instant& until = still_until_[server.id];
    if (now >= until && context_.random.Chance(chance)) {
      until = now + context_.random.Between(kSilenceMin, kSilenceMax);
      const auto& told = context_.network.on_fault;
      if (told)
        told("server-silent", context_.host, fmt::format("server {} for {}", server.id, base::FormatDuration(until - now)));
    }
    return now < until;
  }

  void Pass(base::Duration time) {
    Wait wait(context_.process);
    const base::Timer timer = strand_->PostAfter(time, [wait]() mutable { wait.Done(); });
    wait.Block();
  }

  ZooKeeperProbeContext context_;
  const std::shared_ptr<base::Strand> strand_;
  std::map<int64_t, base::Instant> still_until_;
};

}  // namespace

std::unique_ptr<zookeeper::Probe> NewSimulatedProbe(ZooKeeperProbeContext context) {
  return std::make_unique<SimulatedProbe>(std::move(context));
}

}  // namespace evenkeel::sim
