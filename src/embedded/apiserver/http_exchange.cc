#include "embedded/apiserver/http_exchange.h"

#include <span>

#include "base/yaml.h"
#include "embedded/apiserver/errors.h"

namespace evenkeel::embedded::apiserver {

std::string Exchange::Header(const std::string& name) const {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

void Exchange::Count(int status) { metrics->CountRequest(verb, resource, status, clock->Monotonic() - started); }

void Exchange::SendChunks(int status, std::string content_type, std::vector<Chunk> chunks,
                          std::vector<std::pair<std::string, std::string>> headers) {
  Count(status);
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
  responder->Send(
      {.status = status, .content_type = std::move(content_type), .headers = std::move(headers), .body = std::move(chunks)});
}

void Exchange::SendText(int status, std::string content_type, std::string text,
                        std::vector<std::pair<std::string, std::string>> headers) {
  SendChunks(status, std::move(content_type), {std::make_shared<const std::string>(std::move(text))}, std::move(headers));
}

void Exchange::SendJsonText(int status, std::string text) {
  if (wanted.yaml) {
    if (const auto json = base::ParseJson(text, "answer")) return SendText(status, "application/yaml", base::ToYaml(*json));
  }
  SendText(status, "application/json", std::move(text));
}

void Exchange::SendError(const base::Error& error) {
  wanted = {};
  std::vector<std::pair<std::string, std::string>> headers;
  if (error.details() != nullptr && error.details()->retry_after_seconds > 0) {
    headers.emplace_back("Retry-After", std::to_string(error.details()->retry_after_seconds));
  }
  SendText(base::HttpStatus(error.code()), "application/json", base::ToText(StatusOf(error)), std::move(headers));
}

std::shared_ptr<ResponseStream> Exchange::StartStream(std::string content_type) {
  Count(200);
  return responder->StartStream(200, std::move(content_type), {});
}

}  // namespace evenkeel::embedded::apiserver
