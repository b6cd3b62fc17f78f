#include "embedded/apiserver/http/http_exchange.h"

#include <span>

#include "base/input/yaml.h"
#include "embedded/apiserver/http/gzip.h"
#include "embedded/apiserver/objects/protobuf_answer.h"
#include "embedded/apiserver/requests/errors.h"

namespace evenkeel::embedded::apiserver {

std::string Exchange::Header(const std::string& name) const {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

void Exchange::Count(int status) { metrics->CountRequest(verb, resource, status, clock->Monotonic() - started); }

void Exchange::AddWarnings(HttpHeaders& headers) const {
  // Clients bound the headers that they read, and print each of these.
  constexpr size_t kWarningsMax = 100;
  for (const std::string& warning : std::span(warnings).first(std::min(warnings.size(), kWarningsMax))) {
    std::string text;
    for (const char letter : warning) {
      if (letter == '"' || letter == '\\') text += '\\';
      text += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
    }
    headers.emplace_back("Warning", "299 - \"" + text + "\"");
  }
}

void Exchange::SendChunks(int status, std::string content_type, std::vector<Chunk> chunks,
                          std::vector<std::pair<std::string, std::string>> headers) {
  Count(status);
  AddWarnings(headers);
  if (AcceptsGzip(Header("accept-encoding")) && CompressLarge(chunks)) {
    headers.emplace_back("Content-Encoding", "gzip");
    headers.emplace_back("Vary", "Accept-Encoding");
  }
  responder->Send(
      {.status = status, .content_type = std::move(content_type), .headers = std::move(headers), .body = std::move(chunks)});
}

void Exchange::SendGzip(std::string content_type, const Chunk& gzip, HttpHeaders headers) {
  if (!AcceptsGzip(Header("accept-encoding"))) return SendChunks(200, std::move(content_type), Decompress(*gzip), headers);
  Count(200);
  AddWarnings(headers);
  headers.emplace_back("Content-Encoding", "gzip");
  responder->Send({.status = 200, .content_type = std::move(content_type), .headers = std::move(headers), .body = {gzip}});
}

void Exchange::SendText(int status, std::string content_type, std::string text,
                        std::vector<std::pair<std::string, std::string>> headers) {
  SendChunks(status, std::move(content_type), {std::make_shared<const std::string>(std::move(text))}, std::move(headers));
}

void Exchange::SendJsonText(int status, std::string text, HttpHeaders headers) {
  if (wanted.encoding == Encoding::kProtobuf) {
    auto bytes = ProtobufEnvelopeOf(text);
    return bytes ? SendText(status, std::string(kProtobufType), *std::move(bytes), std::move(headers))
                 : SendError(bytes.error());
  }
  if (wanted.encoding == Encoding::kYaml) {
    if (const auto json = base::ParseJson(text, "answer")) {
      return SendText(status, "application/yaml", base::ToYaml(*json), std::move(headers));
    }
  }
  SendText(status, "application/json", std::move(text), std::move(headers));
}

void Exchange::SendError(const base::Error& error) {
  // A Status has the encoding that is asked for, but no other form.
  wanted = error.code() == base::Code::kNotAcceptable
               ? Wanted{}
               : NegotiateForm(Header("accept"), {.protobuf = Offer::Protobuf::kAll}).value_or(Wanted{});
  std::vector<std::pair<std::string, std::string>> headers;
  if (error.details() != nullptr && error.details()->retry_after_seconds > 0) {
    headers.emplace_back("Retry-After", std::to_string(error.details()->retry_after_seconds));
  }
  SendJsonText(base::HttpStatus(error.code()), base::ToText(StatusOf(error)), std::move(headers));
}

std::shared_ptr<ResponseStream> Exchange::StartStream(std::string content_type) {
  Count(200);
  HttpHeaders headers;
  AddWarnings(headers);
  return responder->StartStream(200, std::move(content_type), std::move(headers));
}

}  // namespace evenkeel::embedded::apiserver
