// Names to addresses to connected sockets, with a deadline.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "client/http/http_tls.h"

namespace evenkeel::client {

/// A non-blocking socket connected to the first address of `host` that answers. kUnavailable or kTimeout say why not.
base::Result<UniqueFd> ConnectSocket(const std::string& host, const std::string& port, base::Instant deadline);

/// poll(2) for one descriptor until `deadline`: kTimeout when that passes first.
base::Status WaitForSocket(int fd, bool for_writing, base::Instant deadline, std::string_view doing);

}  // namespace evenkeel::client
