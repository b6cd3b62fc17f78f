#include "embedded/nodeagent/pod_logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "embedded/nodeagent/container_log.h"

namespace evenkeel::embedded::nodeagent {
namespace {

using base::Code;
using base::Fail;

constexpr base::Duration kFollowPeriod = std::chrono::milliseconds(250);
constexpr std::string_view kSimulatedText = "This container is simulated: it runs no program and writes no log.\n";

// Reads on from where it stopped, also across a rotation: the old file is read to its end before the new one is begun.
class LogTail {
 public:
  explicit LogTail(std::string path) : path_(std::move(path)) {}
  ~LogTail() { Close(); }
  LogTail(const LogTail&) = delete;
  LogTail& operator=(const LogTail&) = delete;

  /// The complete lines that have come since the last call.
  std::string Next() {
    std::string text = std::exchange(rest_, {});
    for (int pass = 0; pass < 2; ++pass) {
      if (file_ < 0) file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
      if (file_ < 0) break;
      Drain(text);
      if (!Rotated()) break;
      Drain(text);
      Close();
    }
    const size_t end = text.rfind('\n');
    rest_ = end == std::string::npos ? text : text.substr(end + 1);
    text.resize(end == std::string::npos ? 0 : end + 1);
    return text;
  }

 private:
  void Drain(std::string& text) const {
    char buffer[16 << 10];
    for (ssize_t got; (got = read(file_, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  }
  bool Rotated() const {
    struct stat mine{}, current{};
    return fstat(file_, &mine) == 0 && stat(path_.c_str(), &current) == 0 && mine.st_ino != current.st_ino;
  }
  void Close() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

  const std::string path_;
  int file_ = -1;
  std::string rest_;
};

// One `kubectl logs -f`: shared between its handle and the task that polls.
struct LogFollow : std::enable_shared_from_this<LogFollow> {
  explicit LogFollow(std::string path) : tail(std::move(path)) {}

  /// Held while the sink runs, so that none runs after the handle is gone; the sink itself may destroy the handle.
  std::recursive_mutex mutex;
  bool stopped = false;
  std::function<void(std::string_view, bool)> sink;
  std::function<bool()> running;
  LogView view;
  LogTail tail;
  std::shared_ptr<base::Strand> strand;
  base::Timer timer;

  void Poll() {
    const std::lock_guard lock(mutex);
    if (stopped) return;
    const bool more = running();
    const std::string text =
        RenderLog(tail.Next(), {.timestamps = view.timestamps, .tail_lines = {}, .limit_bytes = {}, .since = {}});
    if (!text.empty()) sink(text, false);
    if (stopped) return;
    if (!more) {
      stopped = true;
      sink("", true);
      return;
    }
    timer = strand->PostAfter(kFollowPeriod, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->Poll();
    });
  }
};

class PodLogFollower final : public apiserver::LogFollower {
 public:
  explicit PodLogFollower(std::shared_ptr<LogFollow> follow) : follow_(std::move(follow)) {}
  ~PodLogFollower() override {
    const std::lock_guard lock(follow_->mutex);
    follow_->stopped = true;
  }

 private:
  const std::shared_ptr<LogFollow> follow_;
};

}  // namespace

struct PodLogs::State {
  std::shared_ptr<base::Strand> strand;
  mutable std::mutex mutex;
  std::map<std::string, PodLogEntry> pods;

  struct Found {
    PodLogEntry::Container container;
    std::string uid;
    bool simulated = false;
  };

  base::Result<Found> Find(const apiserver::LogRequest& request) const {
    const std::lock_guard lock(mutex);
    const auto pod = pods.find(request.ns + "/" + request.pod);
    if (pod == pods.end())
      return Fail(Code::kNotFound, fmt::format("pods \"{}\" not found on a node of this cluster", request.pod));
    for (const PodLogEntry::Container& container : pod->second.containers) {
      if (container.name != request.container) continue;
      if (request.previous && !container.has_previous) {
        return Fail(Code::kBadRequest,
                    fmt::format("previous terminated container \"{}\" in pod \"{}\" not found", container.name, request.pod));
      }
      if (!container.waiting_reason.empty()) {
        return Fail(Code::kBadRequest, fmt::format("container \"{}\" in pod \"{}\" is waiting to start: {}", container.name,
                                                   request.pod, container.waiting_reason));
      }
      return Found{container, pod->second.uid, pod->second.simulated};
    }
    return Fail(Code::kBadRequest, fmt::format("container {} is not valid for pod {}", request.container, request.pod));
  }

  /// Whether the very container that `path` belongs to is still running.
  bool IsRunning(const std::string& key, const std::string& uid, const std::string& name, const std::string& path) const {
    const std::lock_guard lock(mutex);
    const auto pod = pods.find(key);
    if (pod == pods.end() || pod->second.uid != uid) return false;
    for (const PodLogEntry::Container& container : pod->second.containers) {
      if (container.name == name) return container.running && (path.empty() || container.path == path);
    }
    return false;
  }
};

PodLogs::PodLogs(std::shared_ptr<base::Strand> strand) : state_(std::make_shared<State>()) {
  state_->strand = std::move(strand);
}

PodLogs::~PodLogs() = default;

void PodLogs::Record(const std::string& pod_key, PodLogEntry entry) {
  const std::lock_guard lock(state_->mutex);
  state_->pods[pod_key] = std::move(entry);
}

void PodLogs::Forget(const std::string& pod_key, const std::string& uid) {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->pods.find(pod_key);
  if (found != state_->pods.end() && found->second.uid == uid) state_->pods.erase(found);
}

base::Result<std::string> PodLogs::ReadLog(const apiserver::LogRequest& request) {
  EVENKEEL_ASSIGN(const State::Found found, state_->Find(request));
  const LogView view{request.timestamps, request.tail_lines, request.limit_bytes, request.since};
  if (found.simulated) {
    std::string text(kSimulatedText);
    if (request.tail_lines == 0) text.clear();
    if (request.limit_bytes && *request.limit_bytes >= 0)
      text.resize(std::min(text.size(), static_cast<size_t>(*request.limit_bytes)));
    return text;
  }
  return ReadContainerLog(request.previous ? found.container.previous_path : found.container.path, view);
}

base::Result<std::unique_ptr<apiserver::LogFollower>> PodLogs::FollowLog(
    const apiserver::LogRequest& request, std::function<void(std::string_view chunk, bool end)> sink) {
  EVENKEEL_ASSIGN(const State::Found found, state_->Find(request));
  const std::string path = found.simulated ? "" : request.previous ? found.container.previous_path : found.container.path;
  auto follow = std::make_shared<LogFollow>(path);
  follow->view = {request.timestamps, request.tail_lines, request.limit_bytes, request.since};
  follow->strand = state_->strand;
  follow->running = [weak = std::weak_ptr(state_), key = request.ns + "/" + request.pod, uid = found.uid,
                     name = request.container, path] {
    const auto state = weak.lock();
    return state && state->IsRunning(key, uid, name, path);
  };
  std::string first(kSimulatedText);
  if (!found.simulated) {
    // What was rotated away, then the current file from its start, through the same reader that goes on from there.
    std::string text;
    if (LogTail rotated(path + ".1"); true) text = rotated.Next();
    text += follow->tail.Next();
    first = RenderLog(text, follow->view);
  }
  follow->sink = std::move(sink);
  state_->strand->Post([follow, first = std::move(first)] {
    {
      const std::lock_guard lock(follow->mutex);
      if (follow->stopped) return;
      if (!first.empty()) follow->sink(first, false);
    }
    follow->Poll();
  });
  return std::make_unique<PodLogFollower>(std::move(follow));
}

}  // namespace evenkeel::embedded::nodeagent
