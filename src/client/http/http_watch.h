// Watches over HTTP: answers without an end, read on one I/O thread that all clients of the process share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "client/client.h"
#include "client/http/http_connection.h"

namespace evenkeel::client {

/// Puts lines together from pieces.
class LineSplitter {
 public:
  explicit LineSplitter(size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}
  /// Calls `visit` with each line that is complete now, without its end (LF or CRLF), empty ones left out, until it returns
  /// false. False: stopped by `visit`, or a line is too long.
  bool Feed(std::string_view data, const std::function<bool(std::string_view line)>& visit);
  bool too_long() const { return too_long_; }

 private:
  const size_t line_bytes_max_;
  std::string partial_;
  bool too_long_ = false;
};

/// One line of a watch: an event, or the error that an ERROR event carries. kInternal when it is neither.
Result<WatchEvent> DecodeWatchLine(std::string_view line);

/// What a Status object says went wrong; `http_status` fills in for a missing code. `text` is not a Status: nullopt.
std::optional<base::Error> DecodeStatusObject(const Json& value, int http_status);

/// Delivers what `connection` (header read, in `reader`) goes on to send, until the stream ends, is silent for longer than
/// `silence_max`, or the Watch is destroyed.
std::unique_ptr<Watch> StartHttpWatch(std::unique_ptr<HttpConnection> connection, std::unique_ptr<HttpResponseReader> reader,
                                      base::Duration silence_max, size_t line_bytes_max, WatchHandler handler);

}  // namespace evenkeel::client
