#include "cli/clusters/watch.h"

#include <mutex>
#include <optional>

#include "base/log.h"
#include "cli/clusters/hub.h"
#include "cli/terminal/signals.h"
#include "client/watched_client.h"

namespace evenkeel::cli {
namespace {

/// The least time between two answers, and how much longer than an answer takes it is.
constexpr base::Duration kAnswerGap = std::chrono::milliseconds(250);
constexpr int kAnswerGapShare = 4;
/// Before the first answer: what it rests on is read kind by kind.
constexpr base::Duration kReadGap = std::chrono::milliseconds(10);
/// Answers also change because time goes by: somebody is silent for too long.
constexpr base::Duration kAnswerTick = std::chrono::seconds(5);
/// Short, as the end waits for it.
constexpr base::Duration kWatchTimeout = std::chrono::seconds(10);
/// How late the end is noticed.
constexpr base::Duration kEndPoll = std::chrono::milliseconds(100);

class LiveAnswers {
 public:
  LiveAnswers(client::Client& cluster, GetOutput output, const GetOptions& options, const Question& question, std::ostream& out)
      : question_(question),
        out_(out),
        rows_(std::move(output), options.names, out),
        executor_(base::NewThreadPool(1)),
        strand_(executor_->NewStrand("watch")),
        client_(cluster, strand_, executor_->clock(), base::Random(base::EntropySeed()), [this] { Schedule(); }) {
    strand_->Post([this] { Answer(); });
  }
  ~LiveAnswers() { strand_->Close(); }
  LiveAnswers(const LiveAnswers&) = delete;
  LiveAnswers& operator=(const LiveAnswers&) = delete;

  /// Whether it is over, and how.
  std::optional<base::Status> ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  void Schedule() {
    if (std::exchange(due_, true)) return;
    const base::Duration gap = answered_ ? std::max(kAnswerGap, kAnswerGapShare * took_) : kReadGap;
    next_ = strand_->PostAfter(gap, [this] { Answer(); });
  }

  void Answer() {
    due_ = false;
    client_.TakeWaits();
    const base::Instant begin = executor_->clock().Monotonic();
    const base::Result<Shown> shown = question_(client_);
    took_ = executor_->clock().Monotonic() - begin;
    // What is still being read comes by itself.
    if (client_.TakeWaits()) return;
    const base::Status printed = shown ? rows_.Show(*shown) : base::Fail(shown.error());
    if (printed) {
      out_.flush();
      answered_ = true;
      if (!out_) End({});
    } else if (!answered_) {
      End(printed);
    }
    // Copies go on answering when the API does not.
    if (answered_) WarnOnce(printed ? client_.Outage() : std::optional(printed.error()));
    tick_ = strand_->PostAfter(kAnswerTick, [this] { Schedule(); });
  }

  /// Once for each error, and once for an outage, which has several, one after the other.
  void WarnOnce(std::optional<base::Error> error) {
    const bool again =
        error && told_ &&
        (error->message() == told_->message() || (base::IsRetryable(error->code()) && base::IsRetryable(told_->code())));
    if (error && !again) PrintWarning(error->message() + ": what is shown is as it was");
    told_ = std::move(error);
  }

  void End(base::Status status) {
    const std::lock_guard lock(mutex_);
    if (!ended_) ended_ = std::move(status);
  }

  const Question& question_;
  std::ostream& out_;
  RowWatch rows_;
  std::unique_ptr<base::Executor> executor_;
  std::shared_ptr<base::Strand> strand_;
  bool due_ = false, answered_ = false;
  base::Duration took_{};  ///< the last answer
  std::optional<base::Error> told_;
  base::Timer next_, tick_;
  std::mutex mutex_;
  std::optional<base::Status> ended_;
  client::WatchedClient client_;
};

}  // namespace

base::Status WatchLive(const HubOptions& cluster, const GetOptions& options, const Question& question, std::ostream& out) {
  SignalWaiter signals;
  // The command itself says what fails, once; followers would say it again and again.
  EVENKEEL_TRY(base::log::Configure(base::log::Level::kOff));
  EVENKEEL_ASSIGN(GetOutput output, GetOutput::Parse(options.output));
  client::HttpClientOptions http;
  http.request_timeout = http.connect_timeout = kWatchTimeout;
  EVENKEEL_ASSIGN(const auto client, ConnectToHub(cluster, http));
  LiveAnswers answers(*client, std::move(output), options, question, out);
  while (!signals.WaitFor(kEndPoll)) {
    if (const auto ended = answers.ended()) return *ended;
  }
  return {};
}

}  // namespace evenkeel::cli
