// Watches over HTTP: events encoded once for all streams of a kind and form, bookmarks, time-outs.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/executor.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/http/http_exchange.h"
#include "embedded/apiserver/tables/table.h"

namespace evenkeel::embedded::apiserver {

struct WatchForm {
  Form form = Form::kObject;
  TableRequest table;
  Encoding encoding = Encoding::kJson;  ///< JSON, a line an event, or protocol buffers, a frame an event
};

/// Thread-safe. All streams end when it is destroyed; those of a custom kind also when its definition says something else or
/// goes, so that whoever watches lists again.
class WatchStreams : public std::enable_shared_from_this<WatchStreams> {
 public:
  WatchStreams(Api& api, std::shared_ptr<Metrics> metrics, base::Executor* executor, base::Duration bookmark_interval);
  ~WatchStreams();

  /// Answers the exchange with a stream, or with an error where the watch cannot begin.
  void Start(ExchangePointer exchange, const Call& call, const WatchQuery& query, const WatchForm& form, bool bookmarks,
             base::Duration timeout);
  void Stop();

 private:
  struct Stream;
  void Deliver(const std::shared_ptr<Stream>& stream, EventType type, const std::shared_ptr<SharedEvent>& event,
               store::Revision revision, const base::Error* error);
  void Remove(uint64_t id);
  void Tick();

  Api& api_;
  std::shared_ptr<Metrics> metrics_;
  std::shared_ptr<base::Strand> strand_;
  base::Duration bookmark_interval_;
  std::mutex mutex_;
  uint64_t next_id_ = 1;
  bool stopped_ = false;
  bool ticking_ = false;
  uint64_t generation_ = 0;  // of the kinds that are served, at the last tick
  base::Timer timer_;
  std::map<uint64_t, std::shared_ptr<Stream>> streams_;
};

}  // namespace evenkeel::embedded::apiserver
