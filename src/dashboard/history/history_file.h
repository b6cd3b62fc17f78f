// What is kept of the last days: events, and how large and loaded each member was, in a file of bounded size. A line each; the
// file FILE grows to half of the bound, becomes FILE.1, and begins anew, so that the oldest half goes.
//
//   2026-01-01T00:00:00Z event ID {...}        an entry of the view `events`
//   2026-01-01T00:00:00Z point MEMBER {...}    {"nodes", "pending", "cpu", "memory"}
//
// A line that is cut off (power went, the disk was full) is passed over.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "embedded/apiserver/requests/request_info.h"

namespace evenkeel::dashboard {

inline constexpr size_t kHistoryBytesMax = 32u << 20;
/// Of one answer: the latest events; points are thinned out.
inline constexpr size_t kHistoryEventsMax = 5000;
inline constexpr size_t kHistoryPointsMax = 1500;
/// Nobody asks for more.
inline constexpr base::Duration kHistoryAge = std::chrono::days(14);

struct HistoryRequest {
  std::string cluster;  ///< of events and points; "": events of all, and no points
  base::Time from{}, to{};
  /// Of ?cluster=&from=&to=, RFC 3339; `to` may be left out. kBadRequest in one sentence.
  static base::Result<HistoryRequest> Parse(const embedded::apiserver::Query& query, base::Time now);
};

/// Thread-safe; calls may wait for the disk.
class HistoryFile {
 public:
  explicit HistoryFile(std::string path, size_t bytes_max = kHistoryBytesMax) : path_(std::move(path)), bytes_max_(bytes_max) {}

  /// kInternal: it cannot be written; nothing of it may be there then.
  base::Status Append(const std::vector<std::string>& lines);
  /// {"events": {ID: entry}, "points": [[time, {...}]], "since": of the oldest line that there is}
  base::Result<base::Json> Read(const HistoryRequest& request);

  static std::string EventLine(base::Time time, std::string_view id, const base::Json& entry);
  static std::string PointLine(base::Time time, std::string_view member, const base::Json& values);

 private:
  const std::string path_;
  const size_t bytes_max_;
  std::mutex mutex_;
  bool torn_ = true;  ///< the file may end within a line
};

}  // namespace evenkeel::dashboard
