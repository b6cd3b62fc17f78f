// GET of a path as it is, without a socket: through the HTTP handler.
#include "embedded/apiserver/http/in_process_raw.h"

#include <condition_variable>

#include "embedded/apiserver/http/http_handler.h"

namespace evenkeel::embedded::apiserver {
namespace {

struct RawAnswer {
  std::mutex mutex;
  std::condition_variable ready;
  std::optional<HttpResponse> response;
};

class RawResponder : public Responder {
 public:
  explicit RawResponder(std::shared_ptr<RawAnswer> answer) : answer_(std::move(answer)) {}
  ~RawResponder() override { Set({.status = 500, .content_type = "", .headers = {}, .body = {}}); }
  void Send(HttpResponse response) override { Set(std::move(response)); }
  std::shared_ptr<ResponseStream> StartStream(int, std::string, HttpHeaders) override {
    Set({.status = 400,
         .content_type = "",
         .headers = {},
         .body = {std::make_shared<const std::string>("the answer of this path has no end")}});
    return std::make_shared<Nowhere>();
  }

 private:
  class Nowhere : public ResponseStream {
   public:
    bool Write(Chunk) override { return false; }
    void Close() override {}
    void OnClosed(std::function<void()> callback) override { callback(); }
  };
  void Set(HttpResponse response) {
    std::lock_guard lock(answer_->mutex);
    if (answer_->response) return;
    answer_->response = std::move(response);
    answer_->ready.notify_all();
  }
  std::shared_ptr<RawAnswer> answer_;
};

}  // namespace

base::Result<std::string> GetRawInProcess(Api& api, const UserInfo& user, std::string_view path) {
  ApiHandler handler(api, {});
  HttpRequest request;
  request.method = "GET";
  const size_t mark = path.find('?');
  request.path = path.substr(0, mark);
  if (mark != path.npos) request.query = path.substr(mark + 1);
  request.user = user;
  auto answer = std::make_shared<RawAnswer>();
  handler.Handle(std::move(request), std::make_unique<RawResponder>(answer));
  std::unique_lock lock(answer->mutex);
  answer->ready.wait(lock, [&] { return answer->response.has_value(); });
  std::string body;
  for (const Chunk& chunk : answer->response->body) body += *chunk;
  if (answer->response->status < 300) return body;
  const auto status = base::ParseJson(body, "answer");
  const bool is_status = status && status->is_object() && base::FindString(*status, {"kind"}) == "Status";
  return base::Fail(base::CodeFromWire(answer->response->status, is_status ? base::FindString(*status, {"reason"}) : ""),
                    is_status ? std::string(base::FindString(*status, {"message"})) : body);
}

}  // namespace evenkeel::embedded::apiserver
