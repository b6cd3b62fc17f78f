#include "embedded/nodeagent/simulated_runtime.h"

#include <charconv>

#include "base/log.h"

namespace evenkeel::embedded::nodeagent {
namespace {

using namespace std::chrono_literals;

constexpr char kStartAnnotation[] = "evenkeel.dev/simulate-start";
constexpr char kExitAnnotation[] = "evenkeel.dev/simulate-exit";
constexpr char kUnreadyAnnotation[] = "evenkeel.dev/simulate-unready";

const std::string* Annotation(const kube::Pod& pod, const char* name) {
  const auto found = pod.meta.annotations.find(name);
  return found == pod.meta.annotations.end() ? nullptr : &found->second;
}

class SimulatedContainer final : public RunningContainer {
 public:
  SimulatedContainer(std::shared_ptr<base::Strand> strand, std::string id, base::Duration stop_time,
                     std::function<void(ContainerExit)> exited)
      : strand_(std::move(strand)), id_(std::move(id)), stop_time_(stop_time), exited_(std::move(exited)) {}

  void ExitAfter(base::Duration delay, ContainerExit exit) {
    timer_ = strand_->PostAfter(delay, [exited = exited_, exit = std::move(exit)] { exited(exit); });
  }

  std::string id() const override { return id_; }
  void Signal(int signal) override {
    if (signal == SIGKILL) {
      ExitAfter(0ns, {137, SIGKILL, "", ""});
    } else if (signal == SIGTERM && !std::exchange(stopping_, true)) {
      ExitAfter(stop_time_, {});
    }
  }
  void Probe(const ProbeAction&, base::Duration, std::function<void(ProbeResult)> done) override {
    strand_->Post([done = std::move(done), weak = std::weak_ptr(alive_)] {
      if (!weak.expired()) done({true, ""});
    });
  }
  bool ProbesAreConstant() const override { return true; }

 private:
  const std::shared_ptr<base::Strand> strand_;
  const std::string id_;
  const base::Duration stop_time_;
  const std::function<void(ContainerExit)> exited_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool stopping_ = false;
  base::Timer timer_;
};

class SimulatedRuntime final : public ContainerRuntime {
 public:
  SimulatedRuntime(base::Clock& clock, base::Random random) : clock_(clock), random_(random) {}

  std::string_view name() const override { return "simulated"; }

  base::Duration StartDelay(const ContainerStart& start) const override {
    if (start.attempt > 0) return {};
    if (const std::string* given = Annotation(*start.spec, kStartAnnotation)) {
      if (auto delay = base::ParseDuration(*given)) return *delay;
      base::log::Warn("annotation ignored: not a duration such as 5s",
                      {{"pod", start.pod.Key()}, {"annotation", kStartAnnotation}, {"value", *given}});
    }
    return Draw(start, "start").Between(500ms, 2000ms);
  }

  base::Result<std::unique_ptr<RunningContainer>> Start(const ContainerStart& start, std::shared_ptr<base::Strand> strand,
                                                        std::function<void(ContainerExit)> exited) override {
    const base::Duration stop_time = Draw(start, "stop").Between(100ms, 1000ms);
    auto container = std::make_unique<SimulatedContainer>(
        std::move(strand), fmt::format("simulated://{}/{}/{}", start.pod.uid, start.container, start.attempt), stop_time,
        std::move(exited));
    if (const auto exit = PlannedExit(start)) {
      const base::Duration run = start.running_since ? clock_.Now() - *start.running_since : base::Duration::zero();
      ContainerExit end;
      end.exit_code = exit->code;
      container->ExitAfter(std::max(exit->after - run, base::Duration::zero()), std::move(end));
    }
    return container;
  }

  bool SurvivesAgent() const override { return true; }
  bool HoldsUnready(const kube::Pod& pod) const override {
    const std::string* held = Annotation(pod, kUnreadyAnnotation);
    return held != nullptr && *held == "true";
  }

 private:
  base::Random Draw(const ContainerStart& start, std::string_view what) const {
    return random_.Fork(fmt::format("{}/{}/{}/{}", start.pod.uid, start.container, start.attempt, what));
  }

  std::optional<SimulatedExit> PlannedExit(const ContainerStart& start) const {
    if (start.init) return SimulatedExit{0, Draw(start, "run").Between(500ms, 1000ms)};
    if (const std::string* given = Annotation(*start.spec, kExitAnnotation)) {
      auto exit = ParseSimulatedExit(*given);
      if (exit) return *exit;
      base::log::Warn("annotation ignored",
                      {{"pod", start.pod.Key()}, {"annotation", kExitAnnotation}, {"error", exit.error()}});
    }
    if (start.runs_to_completion) return SimulatedExit{0, Draw(start, "run").Between(1000ms, 3000ms)};
    return std::nullopt;
  }

  base::Clock& clock_;
  const base::Random random_;
};

}  // namespace

base::Result<SimulatedExit> ParseSimulatedExit(std::string_view text) {
  SimulatedExit exit;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (part.starts_with("code=")) {
      const auto parsed = std::from_chars(part.data() + 5, part.data() + part.size(), exit.code);
      if (parsed.ec == std::errc() && parsed.ptr == part.data() + part.size() && exit.code >= 0 && exit.code <= 255) continue;
    } else if (part.starts_with("after=")) {
      if (auto after = base::ParseDuration(part.substr(6)); after && *after >= base::Duration::zero()) {
        exit.after = *after;
        continue;
      }
    }
    return base::Fail(base::Code::kInvalid, fmt::format("\"{}\" is not of the form code=1,after=30s", part));
  }
  return exit;
}

std::unique_ptr<ContainerRuntime> NewSimulatedRuntime(base::Clock& clock, base::Random random) {
  return std::make_unique<SimulatedRuntime>(clock, random);
}

}  // namespace evenkeel::embedded::nodeagent
