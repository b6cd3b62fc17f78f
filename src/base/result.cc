#include "base/result.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace evenkeel::base {
namespace {

struct CodeRow {
  Code code;
  int http_status;
  std::string_view reason;
  int exit_status;
  bool retryable;
};

constexpr std::array kCodes = {
    CodeRow{Code::kBadRequest, 400, "BadRequest", 2, false},
    CodeRow{Code::kUnauthorized, 401, "Unauthorized", 1, false},
    CodeRow{Code::kForbidden, 403, "Forbidden", 1, false},
    CodeRow{Code::kNotFound, 404, "NotFound", 1, false},
    CodeRow{Code::kMethodNotAllowed, 405, "MethodNotAllowed", 1, false},
    CodeRow{Code::kNotAcceptable, 406, "NotAcceptable", 1, false},
    CodeRow{Code::kAlreadyExists, 409, "AlreadyExists", 1, false},
    CodeRow{Code::kConflict, 409, "Conflict", 1, true},
    CodeRow{Code::kExpired, 410, "Expired", 1, true},
    CodeRow{Code::kTooLarge, 413, "RequestEntityTooLarge", 2, false},
    CodeRow{Code::kUnsupportedMediaType, 415, "UnsupportedMediaType", 1, false},
    CodeRow{Code::kInvalid, 422, "Invalid", 2, false},
    CodeRow{Code::kTooManyRequests, 429, "TooManyRequests", 1, true},
    CodeRow{Code::kInternal, 500, "InternalError", 1, true},
    CodeRow{Code::kUnavailable, 503, "ServiceUnavailable", 1, true},
    CodeRow{Code::kTimeout, 504, "Timeout", 1, true},
    CodeRow{Code::kCancelled, 499, "Cancelled", 1, false},
    CodeRow{Code::kInfeasible, 422, "Infeasible", 3, false},
};

const CodeRow& Row(Code code) {
  for (const CodeRow& row : kCodes) {
    if (row.code == code) return row;
  }
  InvariantBroken("every code has a row", __FILE__, __LINE__);
}

}  // namespace

Error Error::Wrap(std::string_view doing) const {
  Error wrapped = *this;
  wrapped.message_ = std::string(doing) + ": " + message_;
  return wrapped;
}

int HttpStatus(Code code) { return Row(code).http_status; }
std::string_view Reason(Code code) { return Row(code).reason; }
int ExitStatus(Code code) { return Row(code).exit_status; }
bool IsRetryable(Code code) { return Row(code).retryable; }

Code CodeFromWire(int http_status, std::string_view reason) {
  for (const CodeRow& row : kCodes) {
    if (row.reason == reason) return row.code;
  }
  if (reason == "Gone") return Code::kExpired;
  if (reason == "ServerTimeout") return Code::kUnavailable;
  for (const CodeRow& row : kCodes) {
    // 409 without a reason is a conflict: the caller reads again, which is right for both.
    if (row.http_status == http_status && row.code != Code::kAlreadyExists) return row.code;
  }
  if (http_status == 502) return Code::kUnavailable;
  return http_status >= 500 ? Code::kInternal : Code::kBadRequest;
}

void InvariantBroken(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "evenkeel: invariant broken: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace evenkeel::base
