// Values that may be errors. No exception leaves a file that wraps a throwing library: it becomes an Error here.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::base {

/// What went wrong, as far as code can react to it. One table (result.cc) gives each code its HTTP status, its Kubernetes
/// reason, the exit status of the command line and whether trying again can help.
enum class Code {
  kBadRequest,
  kUnauthorized,
  kForbidden,
  kNotFound,
  kMethodNotAllowed,
  kNotAcceptable,
  kAlreadyExists,
  kConflict,
  kExpired,  ///< The revision asked for has been compacted: list again.
  kTooLarge,
  kUnsupportedMediaType,
  kInvalid,  ///< Well-formed but not valid; details.causes says which fields.
  kTooManyRequests,
  kInternal,
  kUnavailable,
  kTimeout,
  kCancelled,
  kInfeasible,  ///< A plan that satisfies all constraints does not exist.
};

/// One field of an object that is wrong, as in a Kubernetes Status.
struct Cause {
  std::string reason;  ///< e.g. FieldValueInvalid
  std::string message;
  std::string field;  ///< e.g. spec.template.spec.containers[0].name
};

/// Machine-readable part of an API error (Status.details).
struct ErrorDetails {
  std::string name{};
  std::string group{};
  std::string kind{};  ///< upstream puts the plural resource name here for most errors
  std::string uid{};
  std::vector<Cause> causes{};
  int retry_after_seconds = 0;
  bool unspecified = false;  ///< the Status says neither a reason nor details, as upstream's of an error of no known kind
};

class Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  Error(Code code, std::string message, ErrorDetails details)
      : code_(code), message_(std::move(message)), details_(std::make_shared<const ErrorDetails>(std::move(details))) {}

  Code code() const { return code_; }
  /// One line for people: what was being done, to what, what to do.
  const std::string& message() const { return message_; }
  /// Null unless the error came from, or goes to, a Kubernetes API.
  const ErrorDetails* details() const { return details_.get(); }

  /// The same error with "`doing`: " before its message.
  Error Wrap(std::string_view doing) const;

 private:
  Code code_;
  std::string message_;
  std::shared_ptr<const ErrorDetails> details_;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

/// `return Fail(Code::kNotFound, "...")` from any function that returns a Result.
inline std::unexpected<Error> Fail(Code code, std::string message) { return std::unexpected(Error(code, std::move(message))); }
inline std::unexpected<Error> Fail(Error error) { return std::unexpected(std::move(error)); }

int HttpStatus(Code code);
std::string_view Reason(Code code);  ///< Kubernetes reason, e.g. "NotFound"
int ExitStatus(Code code);           ///< 1 failed, 2 bad usage or input, 3 infeasible
bool IsRetryable(Code code);         ///< the same request may succeed later
/// Inverse of Reason and HttpStatus for errors read off the wire; the reason wins where it is known.
Code CodeFromWire(int http_status, std::string_view reason);

/// Ends the process with a message when an invariant of our own is broken; also in release builds. Never for input, disk
/// or network.
[[noreturn]] void InvariantBroken(const char* condition, const char* file, int line);

}  // namespace evenkeel::base

#define EVENKEEL_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::evenkeel::base::InvariantBroken(#condition, __FILE__, __LINE__))

#define EVENKEEL_CONCAT_INNER(a, b) a##b
#define EVENKEEL_CONCAT(a, b) EVENKEEL_CONCAT_INNER(a, b)
/// EVENKEEL_ASSIGN(auto pod, client.Get(...)): returns the error to the caller, or binds the value.
#define EVENKEEL_ASSIGN(declaration, expression)                                                                          \
  auto EVENKEEL_CONCAT(result_, __LINE__) = (expression);                                                                 \
  if (!EVENKEEL_CONCAT(result_, __LINE__)) return std::unexpected(std::move(EVENKEEL_CONCAT(result_, __LINE__)).error()); \
  declaration = *std::move(EVENKEEL_CONCAT(result_, __LINE__))
/// EVENKEEL_TRY(store.Compact(revision)): returns the error to the caller, if any.
#define EVENKEEL_TRY(expression) \
  if (auto status_or_value = (expression); !status_or_value) return std::unexpected(std::move(status_or_value).error())
