#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/http/http_message.h"
#include "client/http/http_watch.h"

namespace {

/// What a client makes of `text` when it comes in pieces of `step` bytes.
std::vector<std::string> ReadWatch(std::string_view text, size_t step) {
  evenkeel::client::HttpResponseReader reader(1 << 20);
  evenkeel::client::LineSplitter splitter(1 << 16);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size(); at += step) {
    const auto state = reader.Feed(text.substr(at, step));
    const bool go_on = splitter.Feed(reader.TakeBody(), [&](std::string_view line) {
      static_cast<void>(evenkeel::client::DecodeWatchLine(line));
      lines.emplace_back(line);
      return true;
    });
    if (!go_on || state != evenkeel::client::HttpReadState::kMore) break;
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Free bytes for the HTTP parser, and the same as the body of a well-formed answer, which must read alike however it is cut.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReadWatch(text, 7);
  const std::string answer =
      "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n" + std::string(text);
  EVENKEEL_CHECK(ReadWatch(answer, 1) == ReadWatch(answer, answer.size()));

  evenkeel::client::HttpRequestReader request(4096, 4096);
  std::string_view rest = text;
  size_t consumed = 0;
  while (!rest.empty()) {
    const auto state = request.Feed(rest, consumed);
    if (state == evenkeel::client::HttpReadState::kHeader) request.RefusedHeader();
    if (state != evenkeel::client::HttpReadState::kHeader &&
        (state != evenkeel::client::HttpReadState::kMore || consumed == 0)) {
      break;
    }
    rest.remove_prefix(consumed);
  }
  return 0;
}
