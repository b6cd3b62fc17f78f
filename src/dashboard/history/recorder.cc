#include "dashboard/history/recorder.h"

#include <set>

#include "base/log.h"

namespace evenkeel::dashboard {
namespace {

using base::Json;
using base::JsonObject;

}  // namespace

struct Recorder::State : std::enable_shared_from_this<State> {
  State(Feed& f, HistoryFile& h, base::Executor& e)
      : feed(f), history(h), clock(e.clock()), strand(e.NewStrand("dashboard-history")) {}

  Feed& feed;
  HistoryFile& history;
  base::Clock& clock;
  const std::shared_ptr<base::Strand> strand;

  // On the strand.
  base::Timer timer;
  std::set<std::string, std::less<>> seen;  // events that the last look has shown
  std::optional<base::Instant> noted;
  bool failing = false;

  void Look() {
    feed.Read("events", [weak = weak_from_this()](const base::Result<Json>& document) {
      if (document) Later(weak, &State::TakeEvents, *document);
    });
    feed.Read("fleet", [weak = weak_from_this()](const base::Result<Json>& document) {
      if (document) Later(weak, &State::TakeFleet, *document);
    });
    timer = strand->PostAfter(kRecordEvery, [self = shared_from_this()] { self->Look(); });
  }

  /// Called on the feed's strand, which is not to wait for a disk.
  static void Later(const std::weak_ptr<State>& weak, void (State::*take)(const Json&), const Json& document) {
    if (const auto self = weak.lock()) self->strand->Post([self, take, document] { (*self.*take)(document); });
  }

  void TakeEvents(const Json& document) {
    std::vector<std::string> lines;
    std::set<std::string, std::less<>> present;
    for (const auto& [id, entry] : base::FindObject(document, {"events"})) {
      present.emplace(id);
      if (seen.contains(id)) continue;
      if (const auto time = base::ParseTime(base::FindString(entry, {"time"})))
        lines.push_back(HistoryFile::EventLine(*time, id, entry));
    }
    if (Write(lines)) seen = std::move(present);
  }

  void TakeFleet(const Json& document) {
    const base::Instant now = clock.Monotonic();
    if (noted && now - *noted < kPointEvery) return;
    std::vector<std::string> lines;
    for (const auto& [name, cluster] : base::FindObject(document, {"clusters"})) {
      // What is from before is no point of now.
      if (!base::FindString(cluster, {"unknownSince"}).empty() || base::FindString(cluster, {"health"}) == "Unknown") continue;
      JsonObject values{{"nodes", base::FindInt(cluster, {"nodes", "total"})},
                        {"pending", base::FindInt(cluster, {"pods", "pending"})}};
      for (const char* metric : {"cpu", "memory"}) {
        if (const Json* load = base::Find(cluster, {"load", metric})) values[metric] = *load;
      }
      lines.push_back(HistoryFile::PointLine(clock.Now(), name, values));
    }
    if (!lines.empty() && Write(lines)) noted = now;
  }

  bool Write(const std::vector<std::string>& lines) {
    const base::Status written = history.Append(lines);
    if (!written && !failing) base::log::Warn("the history of the dashboard cannot be kept", {{"error", written.error()}});
    if (written && failing) base::log::Info("the history of the dashboard is kept again");
    failing = !written;
    return written.has_value();
  }
};

Recorder::Recorder(Feed& feed, HistoryFile& history, base::Executor& executor)
    : state_(std::make_shared<State>(feed, history, executor)) {
  state_->strand->Post([state = state_] { state->Look(); });
}

Recorder::~Recorder() {
  state_->strand->Post([state = state_] { state->timer.Cancel(); });
  state_->strand->Close();
}

}  // namespace evenkeel::dashboard
