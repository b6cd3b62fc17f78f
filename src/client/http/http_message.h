// Reads HTTP/1.1 messages piece by piece as they come from a socket. The only place that knows Beast.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace evenkeel::client {

/// "OK", "Not Found"; "" when there is no such status.
std::string_view HttpReasonPhrase(int status);

enum class HttpReadState { kMore, kHeader, kDone, kMalformed, kHeaderTooLarge, kBodyTooLarge };

/// One request.
class HttpRequestReader {
 public:
  HttpRequestReader(size_t header_bytes_max, size_t body_bytes_max);
  ~HttpRequestReader();

  /// Takes what it can of `data` and says how much; the rest must come again, followed by more. kHeader comes once, when the
  /// header is complete and nothing of the body has been taken. After kDone what is left belongs to the next request.
  HttpReadState Feed(std::string_view data, size_t& consumed);
  /// Why a server must not go on after kHeader, since somebody else may see the message end elsewhere, or go elsewhere; status
  /// 0: it may. 501: a transfer coding besides chunked. 400: other than one Host, or chunked in HTTP/1.0. Source: RFC 9112, 3.2
  /// and 6.1.
  struct Refusal {
    int status = 0;
    std::string_view why;
  };
  Refusal RefusedHeader() const;
  /// The header is complete, the body is not, and the client waits to be told to go on.
  bool wants_continue() const;
  bool keep_alive() const;
  bool http10() const;
  std::string_view method() const;
  std::string_view target() const;
  /// Each header as it was sent, in order. After the body what stood behind it (trailers) is among them, which nobody should
  /// trust.
  void ForEachHeader(const std::function<void(std::string_view name, std::string_view value)>& visit) const;
  /// How much of the body has been taken.
  size_t body_size() const;
  std::string TakeBody();
  /// What is wrong, after kMalformed.
  const std::string& error() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// One response; interim responses (100 Continue) before it are skipped.
class HttpResponseReader {
 public:
  explicit HttpResponseReader(size_t body_bytes_max);
  ~HttpResponseReader();

  /// Takes all of `data`.
  HttpReadState Feed(std::string_view data);
  /// The connection ended: kDone if that completes the message, kMalformed otherwise.
  HttpReadState Finish();
  bool header_done() const;
  bool keep_alive() const;
  int status() const;
  /// "" when absent.
  std::string_view header(std::string_view name) const;
  /// What TakeBody would give.
  size_t body_size() const;
  /// What has come of the body since the last call.
  std::string TakeBody();
  const std::string& error() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace evenkeel::client
