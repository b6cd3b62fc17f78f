#include "sim/world/zookeeper_runtime.h"

#include <spdlog/fmt/fmt.h>

#include <csignal>

#include "base/parse_number.h"

namespace evenkeel::sim {

namespace nodeagent = embedded::nodeagent;
using base::Code;
using base::Fail;
using namespace std::chrono_literals;

namespace {

/// A virtual machine for Java takes its time.
constexpr base::Duration kStartMin = 1s;
constexpr base::Duration kStartMax = 4s;
constexpr base::Duration kStopMin = 100ms;
constexpr base::Duration kStopMax = 1s;

/// What follows "KEY=" on a line of its own; "" when there is none.
std::string Setting(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(key) && line.substr(key.size()).starts_with('=')) return std::string(line.substr(key.size() + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return "";
}

base::Result<int64_t> Number(std::string_view what, std::string_view text) {
  if (const auto number = base::ParseNumber<int64_t>(text)) return *number;
  return Fail(Code::kInvalid, fmt::format("{} is \"{}\", which is no number", what, text));
}

std::vector<std::string> ServerLines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string ValueOf(const nodeagent::Environment& environment, std::string_view name) {
  std::string value;
  for (const auto& [key, text] : environment) {
    if (key == name) value = text;
  }
  return value;
}

}  // namespace

class ZooKeeperRuntime::Container final : public nodeagent::RunningContainer {
 public:
  Container(ZooKeeperRuntime& runtime, std::string uid, base::Duration stop_time, std::shared_ptr<base::Strand> strand,
            std::function<void(nodeagent::ContainerExit)> exited)
      : runtime_(runtime),
        uid_(std::move(uid)),
        stop_time_(stop_time),
        strand_(std::move(strand)),
        exited_(std::move(exited)) {}

  ~Container() override {
    const auto process = runtime_.processes_.find(uid_);
    if (process == runtime_.processes_.end() || process->second.container != this) return;
    process->second.container = nullptr;
    if (!runtime_.leaving_alone_) runtime_.End(uid_);
  }

  std::string id() const override { return "zookeeper://" + uid_; }

  void Signal(int signal) override {
    if (signal == SIGKILL) return Exit({137, SIGKILL, "", ""});
    if (signal != SIGTERM || std::exchange(stopping_, true)) return;
    stop_ = strand_->PostAfter(stop_time_, [this] { Exit({143, SIGTERM, "", ""}); });
  }

  void Probe(const nodeagent::ProbeAction& action, base::Duration, std::function<void(nodeagent::ProbeResult)> done) override {
    const std::string verb = action.command.empty() ? "" : action.command.back();
    const bool alive = runtime_.processes_.contains(uid_);
    bool success = alive && verb.ends_with("alive");
    if (alive && verb.ends_with("ready")) {
      success = runtime_.model_.AnswerOf(runtime_.processes_.at(uid_).handle).mode != zookeeper::Mode::kNotServing;
    }
    strand_->Post([done = std::move(done), success, weak = std::weak_ptr(alive_)] {
      if (!weak.expired()) done({success, success ? "" : "this ZooKeeper instance is not currently serving requests"});
    });
  }

  /// The process ends now; the agent hears of it.
  void Exit(nodeagent::ContainerExit exit) {
    if (std::exchange(ended_, true)) return;
    runtime_.End(uid_);
    strand_->Post([exited = exited_, exit = std::move(exit), weak = std::weak_ptr(alive_)] {
      if (!weak.expired()) exited(exit);
    });
  }

 private:
  ZooKeeperRuntime& runtime_;
  const std::string uid_;
  const base::Duration stop_time_;
  const std::shared_ptr<base::Strand> strand_;
  const std::function<void(nodeagent::ContainerExit)> exited_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool stopping_ = false, ended_ = false;
  base::Timer stop_;
};

ZooKeeperRuntime::ZooKeeperRuntime(ZooKeeperModel& model, std::string member, base::Random random)
    : model_(model), member_(std::move(member)), random_(random) {}

ZooKeeperRuntime::~ZooKeeperRuntime() = default;

base::Duration ZooKeeperRuntime::StartDelay(const nodeagent::ContainerStart& start) const {
  return random_.Fork(fmt::format("start {} {}", start.pod.uid, start.attempt)).Between(kStartMin, kStartMax);
}

base::Status ZooKeeperRuntime::SyncVolumes(const nodeagent::PodIdentity& pod, const std::vector<nodeagent::Volume>& volumes) {
  volumes_[pod.uid] = volumes;
  return {};
}

std::shared_ptr<ZooKeeperDisk> ZooKeeperRuntime::DiskOf(const nodeagent::PodIdentity& pod) {
  for (const nodeagent::Volume& volume : volumes_[pod.uid]) {
    if (volume.kind == nodeagent::Volume::Kind::kFiles) continue;
    std::shared_ptr<ZooKeeperDisk>& disk =
        volume.kind == nodeagent::Volume::Kind::kClaim ? claims_[pod.ns + "/" + volume.claim] : scratch_[pod.uid];
    if (!disk) disk = std::make_shared<ZooKeeperDisk>();
    return disk;
  }
  // In the container itself.
  return std::make_shared<ZooKeeperDisk>();
}

base::Result<ZooKeeperStart> ZooKeeperRuntime::Configure(const nodeagent::ContainerStart& start) {
  std::map<std::string, std::string> files;
  for (const nodeagent::Volume& volume : volumes_[start.pod.uid]) {
    for (const nodeagent::VolumeFile& file : volume.files) files[file.path] = file.content;
  }
  if (start.image.ends_with(":" + std::string(kBrokenTag))) return Fail(Code::kInvalid, "the program ends with an error");
  if (start.command.empty() || !start.command.back().ends_with("server.sh\" start")) {
    return Fail(Code::kInvalid, "the command does not start a server");
  }
  const std::string pod_name = ValueOf(start.env, "POD_NAME");
  EVENKEEL_ASSIGN(const int64_t offset, Number("offset", Setting(files["server.sh"], "offset")));
  EVENKEEL_ASSIGN(const int64_t first, Number("first", Setting(files["server.sh"], "first")));
  EVENKEEL_ASSIGN(const int64_t ordinal, Number("the ordinal", std::string_view(pod_name).substr(pod_name.rfind('-') + 1)));
  EVENKEEL_ASSIGN(std::vector<zookeeper::ServerLine> given, zookeeper::ParseServerLines(ServerLines(files["zoo.cfg.dynamic"])));
  const std::string_view service = base::FindString(*start.spec->json, {"spec", "subdomain"});
  return ZooKeeperStart{.place = member_,
                        .name = start.pod.name,
                        .host = fmt::format("{}.{}.{}.{}.svc.clusterset.local", pod_name, member_, service, start.pod.ns),
                        .uid = start.pod.uid,
                        .address = start.pod.ip,
                        .id = offset + ordinal - first + 1,
                        .given = std::move(given),
                        .reconfigurable = Setting(files["zoo.cfg"], "reconfigEnabled") == "true",
                        .super_digest = Setting(files["zoo.cfg"], "DigestAuthenticationProvider.superDigest"),
                        .disk = DiskOf(start.pod)};
}

base::Result<std::unique_ptr<nodeagent::RunningContainer>> ZooKeeperRuntime::Start(
    const nodeagent::ContainerStart& start, std::shared_ptr<base::Strand> strand,
    std::function<void(nodeagent::ContainerExit)> exited) {
  const std::string& uid = start.pod.uid;
  const base::Duration stop_time = random_.Fork(fmt::format("stop {} {}", uid, start.attempt)).Between(kStopMin, kStopMax);
  auto container = std::make_unique<Container>(*this, uid, stop_time, std::move(strand), std::move(exited));
  if (start.running_since) {
    // Adopted, unless it has ended meanwhile.
    const auto process = processes_.find(uid);
    if (process == processes_.end()) {
      container->Exit({137, SIGKILL, "", ""});
    } else {
      process->second.container = container.get();
    }
    return container;
  }
  auto configured = Configure(start);
  auto handle = configured ? model_.Run(*std::move(configured)) : Fail(configured.error());
  if (!handle) {
    container->Exit({1, 0, "", handle.error().message()});
    return container;
  }
  processes_[uid] = {*handle, container.get()};
  return container;
}

void ZooKeeperRuntime::End(const std::string& uid) {
  const auto process = processes_.extract(uid);
  if (!process.empty()) model_.Stop(process.mapped().handle);
}

void ZooKeeperRuntime::RemovePod(const nodeagent::PodIdentity& pod) {
  End(pod.uid);
  volumes_.erase(pod.uid);
  scratch_.erase(pod.uid);
}

void ZooKeeperRuntime::RetainPods(const std::set<std::string>& uids) {
  for (const std::string& uid : Running()) {
    if (!uids.contains(uid)) End(uid);
  }
  std::erase_if(volumes_, [&](const auto& item) { return !uids.contains(item.first); });
  std::erase_if(scratch_, [&](const auto& item) { return !uids.contains(item.first); });
  leaving_alone_ = false;
}

void ZooKeeperRuntime::LeaveAlone() { leaving_alone_ = true; }

bool ZooKeeperRuntime::Crash(const std::string& uid) {
  const auto process = processes_.find(uid);
  if (process == processes_.end()) return false;
  if (process->second.container != nullptr) {
    process->second.container->Exit({137, SIGKILL, "", ""});
  } else {
    End(uid);
  }
  return true;
}

void ZooKeeperRuntime::CrashAll() {
  for (const std::string& uid : Running()) Crash(uid);
}

std::vector<std::string> ZooKeeperRuntime::Running() const {
  std::vector<std::string> uids;
  for (const auto& [uid, process] : processes_) uids.push_back(uid);
  return uids;
}

}  // namespace evenkeel::sim
