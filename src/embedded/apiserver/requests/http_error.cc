#include "embedded/apiserver/requests/http_error.h"

#include "base/json.h"

namespace evenkeel::embedded::apiserver {

HttpResponse StatusResponse(int status, std::string_view reason, std::string_view message) {
  const base::JsonObject body{{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", base::JsonObject()},
                              {"status", "Failure"}, {"message", message}, {"reason", reason},
                              {"code", status}};
  HttpResponse response;
  response.status = status;
  response.body.push_back(std::make_shared<const std::string>(boost::json::serialize(body) + "\n"));
  return response;
}

}  // namespace evenkeel::embedded::apiserver
