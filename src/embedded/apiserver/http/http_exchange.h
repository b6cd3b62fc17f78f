// One request on its way through the handler, and how its answer leaves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "embedded/apiserver/api/metrics.h"
#include "embedded/apiserver/definitions/resource_table.h"
#include "embedded/apiserver/requests/http.h"
#include "embedded/apiserver/requests/request_info.h"

namespace evenkeel::embedded::apiserver {

struct Exchange {
  HttpRequest request;
  std::unique_ptr<Responder> responder;
  std::shared_ptr<Metrics> metrics;
  base::Clock* clock = nullptr;
  base::Instant started{};
  std::string verb;      ///< for metrics: GET, LIST, WATCH, POST ...
  std::string resource;  ///< for metrics: pods, deployments ..., "" for other paths
  Query query;
  bool watch = false;  ///< asked for by the query or by the path
  Wanted wanted;
  std::vector<std::string> warnings;

  std::string Header(const std::string& name) const;
  void SendText(int status, std::string content_type, std::string text,
                std::vector<std::pair<std::string, std::string>> headers = {});
  /// What is compressed already, as it is or decompressed for who does not take it so.
  void SendGzip(std::string content_type, const Chunk& gzip, HttpHeaders headers);
  void SendChunks(int status, std::string content_type, std::vector<Chunk> chunks,
                  std::vector<std::pair<std::string, std::string>> headers = {});
  /// JSON text, or the same as YAML or in protocol buffers when that is wanted.
  void SendJsonText(int status, std::string text, HttpHeaders headers = {});
  void SendJson(int status, const base::Json& json) { SendJsonText(status, base::ToText(json)); }
  void SendError(const base::Error& error);
  std::shared_ptr<ResponseStream> StartStream(std::string content_type);

 private:
  void Count(int status);
  void AddWarnings(HttpHeaders& headers) const;
};
using ExchangePointer = std::shared_ptr<Exchange>;

}  // namespace evenkeel::embedded::apiserver
