#include "embedded/apiserver/http/http_testing.h"
#include "client/http/http_resolve.h"

namespace evenkeel::embedded::apiserver::testing {

using client::IoResult;

bool RawConnection::Write(std::string_view data) {
  while (!data.empty()) {
    const IoResult result = connection_->transport().Write(data);
    if (result.wants()) {
      const auto deadline = base::SystemClock().Monotonic() + base::Duration(60s);
      if (!client::WaitForSocket(connection_->fd(), result.kind == IoResult::Kind::kWantWrite, deadline, "test")) return false;
      continue;
    }
    if (!result.done()) return false;
    data.remove_prefix(result.bytes);
  }
  return true;
}

std::string RawConnection::ReadUntil(std::string_view end) {
  const auto deadline = base::SystemClock().Monotonic() + base::Duration(60s);
  char data[4096];
  while (true) {
    const size_t found = end.empty() ? std::string::npos : buffer_.find(end);
    if (found != std::string::npos) {
      std::string text = buffer_.substr(0, found + end.size());
      buffer_.erase(0, found + end.size());
      return text;
    }
    const IoResult result = connection_->transport().Read(data, sizeof data);
    if (result.done()) {
      buffer_.append(data, result.bytes);
      continue;
    }
    if (!result.wants() || !client::WaitForSocket(connection_->fd(), false, deadline, "test"))
      return std::exchange(buffer_, {});
  }
}

bool RawConnection::ClosedWithin(base::Duration limit) {
  const auto deadline = base::SystemClock().Monotonic() + limit;
  char data[4096];
  while (true) {
    const IoResult result = connection_->transport().Read(data, sizeof data);
    if (result.done()) continue;
    if (!result.wants()) return true;
    if (!client::WaitForSocket(connection_->fd(), false, deadline, "test")) return false;
  }
}

bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

}  // namespace evenkeel::embedded::apiserver::testing
