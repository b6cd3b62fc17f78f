#include "client/http/http_message.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace evenkeel::client {
namespace {

namespace beast_http = boost::beast::http;

HttpReadState StateOf(const boost::beast::error_code& error) {
  if (error == beast_http::error::body_limit) return HttpReadState::kBodyTooLarge;
  if (error == beast_http::error::header_limit) return HttpReadState::kHeaderTooLarge;
  return HttpReadState::kMalformed;
}

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

uint32_t HeaderLimit(size_t bytes) {
  return static_cast<uint32_t>(std::min<size_t>(bytes, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

std::string_view HttpReasonPhrase(int status) {
  return View(beast_http::obsolete_reason(beast_http::int_to_status(static_cast<unsigned>(status))));
}

struct HttpRequestReader::Body {
  beast_http::request_parser<beast_http::string_body> parser;
  bool told_header = false;
  std::string error;
};

HttpRequestReader::HttpRequestReader(size_t header_bytes_max, size_t body_bytes_max) : body_(std::make_unique<Body>()) {
  body_->parser.header_limit(HeaderLimit(header_bytes_max));
  body_->parser.body_limit(body_bytes_max);
}

HttpRequestReader::~HttpRequestReader() = default;

HttpReadState HttpRequestReader::Feed(std::string_view data, size_t& consumed) {
  consumed = 0;
  if (body_->parser.is_done()) return HttpReadState::kDone;
  boost::beast::error_code error;
  consumed = body_->parser.put(boost::asio::const_buffer(data.data(), data.size()), error);
  if (error && error != beast_http::error::need_more) {
    body_->error = error.message();
    return StateOf(error);
  }
  if (body_->parser.is_header_done() && !std::exchange(body_->told_header, true)) {
    body_->parser.eager(true);
    return HttpReadState::kHeader;
  }
  return body_->parser.is_done() ? HttpReadState::kDone : HttpReadState::kMore;
}

HttpRequestReader::Refusal HttpRequestReader::RefusedHeader() const {
  const auto& header = body_->parser.get();
  const auto codings = header.equal_range(beast_http::field::transfer_encoding);
  for (auto coding = codings.first; coding != codings.second; ++coding) {
    if (coding != codings.first || !boost::beast::iequals(coding->value(), "chunked")) {
      return {501, "the only transfer coding that is understood is chunked"};
    }
    if (http10()) return {400, "HTTP/1.0 knows no transfer coding"};
  }
  const size_t hosts = header.count(beast_http::field::host);
  if (hosts > 1 || (hosts == 0 && !http10())) return {400, "there must be one Host header"};
  return {};
}

bool HttpRequestReader::wants_continue() const {
  if (!body_->parser.is_header_done() || body_->parser.is_done()) return false;
  return boost::beast::iequals(body_->parser.get()[beast_http::field::expect], "100-continue");
}

bool HttpRequestReader::keep_alive() const { return body_->parser.is_header_done() && body_->parser.get().keep_alive(); }
bool HttpRequestReader::http10() const { return body_->parser.get().version() < 11; }
std::string_view HttpRequestReader::method() const { return View(body_->parser.get().method_string()); }
std::string_view HttpRequestReader::target() const { return View(body_->parser.get().target()); }

void HttpRequestReader::ForEachHeader(const std::function<void(std::string_view, std::string_view)>& visit) const {
  for (const auto& field : body_->parser.get()) visit(View(field.name_string()), View(field.value()));
}

size_t HttpRequestReader::body_size() const { return body_->parser.get().body().size(); }
std::string HttpRequestReader::TakeBody() { return std::move(body_->parser.get().body()); }
const std::string& HttpRequestReader::error() const { return body_->error; }

struct HttpResponseReader::Body {
  using Parser = beast_http::response_parser<beast_http::string_body>;
  size_t body_bytes_max;
  std::optional<Parser> parser;
  std::string input;  // what the parser could not use yet
  std::string error;

  void Begin() {
    parser.emplace();
    parser->eager(true);
    parser->header_limit(64 << 10);
    parser->body_limit(body_bytes_max);
  }
};

HttpResponseReader::HttpResponseReader(size_t body_bytes_max) : body_(std::make_unique<Body>()) {
  body_->body_bytes_max = body_bytes_max;
  body_->Begin();
}

HttpResponseReader::~HttpResponseReader() = default;

HttpReadState HttpResponseReader::Feed(std::string_view data) {
  const bool buffered = !body_->input.empty();
  if (buffered) {
    body_->input.append(data);
    data = body_->input;
  }
  HttpReadState state = HttpReadState::kMore;
  while (true) {
    boost::beast::error_code error;
    const size_t consumed = body_->parser->put(boost::asio::const_buffer(data.data(), data.size()), error);
    data.remove_prefix(consumed);
    if (error && error != beast_http::error::need_more) {
      body_->error = error.message();
      return StateOf(error);
    }
    if (!body_->parser->is_done()) break;
    if (body_->parser->get().result_int() >= 200 || body_->parser->get().result_int() == 101) {
      state = HttpReadState::kDone;
      break;
    }
    body_->Begin();
    if (data.empty()) break;
  }
  std::string rest(data);
  body_->input = std::move(rest);
  return state;
}

HttpReadState HttpResponseReader::Finish() {
  boost::beast::error_code error;
  if (body_->parser->got_some()) body_->parser->put_eof(error);
  if (!error && body_->parser->is_done()) return HttpReadState::kDone;
  body_->error = body_->parser->got_some() ? "the connection ended in the middle of the answer" : "the connection was closed";
  return HttpReadState::kMalformed;
}

bool HttpResponseReader::header_done() const { return body_->parser->is_header_done(); }
bool HttpResponseReader::keep_alive() const { return body_->parser->keep_alive() && body_->input.empty(); }
int HttpResponseReader::status() const { return static_cast<int>(body_->parser->get().result_int()); }

std::string_view HttpResponseReader::header(std::string_view name) const {
  return View(body_->parser->get()[boost::beast::string_view(name.data(), name.size())]);
}

size_t HttpResponseReader::body_size() const { return body_->parser->get().body().size(); }

std::string HttpResponseReader::TakeBody() {
  std::string taken;
  taken.swap(body_->parser->get().body());
  return taken;
}

const std::string& HttpResponseReader::error() const { return body_->error; }

}  // namespace evenkeel::client
