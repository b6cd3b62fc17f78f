// May this be? Asked of each request before it is carried out, and before its body is read where it may have one.
#include "embedded/access/authorizer.h"
#include "embedded/apiserver/access/access_control.h"
#include "embedded/apiserver/access/request_attributes.h"
#include "embedded/apiserver/http/http_handler_impl.h"

namespace evenkeel::embedded::apiserver {
namespace {

bool HasNoBody(const HttpRequest& request) {
  if (request.headers.contains("content-length") || request.headers.contains("transfer-encoding")) return false;
  return request.method == "GET" || request.method == "HEAD";
}

}  // namespace

std::optional<HttpResponse> ApiHandler::Admit(HttpRequest& head) {
  // Without a body there is none to be spared, and the refusal need not end the connection.
  if (HasNoBody(head)) return std::nullopt;
  const base::Status allowed = impl_->Decide(head);
  if (allowed) return std::nullopt;
  return impl_->RefuseHead(head, allowed.error());
}

base::Status ApiHandler::Impl::Decide(HttpRequest& head) {
  head.decided = true;
  if (head.user.name.empty()) head.user = access::AnonymousUser();
  const access::Authorizer& authorizer = api.access().authorizer();
  EVENKEEL_ASSIGN(std::optional<UserInfo> impersonated, ImpersonatedUser(head, authorizer));
  if (impersonated) head.impersonator = std::exchange(head.user, *std::move(impersonated));
  if (access::InGroup(head.user, access::kMasters)) return {};
  const access::Attributes attributes = AttributesOf(head);
  const access::Decision decision = authorizer.Authorize(head.user, attributes);
  if (decision.allowed) return {};
  return base::Fail(ForbiddenFor(head.user, attributes, decision.reason));
}

HttpResponse ApiHandler::Impl::RefuseHead(const HttpRequest& head, const base::Error& error) {
  const auto parts = PathParts(head.path);
  const auto path = parts ? ParseResourcePath(*parts) : std::nullopt;
  metrics->CountRequest(head.method, path ? path->plural : "", base::HttpStatus(error.code()), {});
  Call call;
  if (path) call.served = api.resources().Find(path->group, path->version, path->plural);
  if (call.served != nullptr && api.options().audit != nullptr) {
    call.ns = path->ns;
    call.name = path->name;
    call.subresource = path->subresource;
    call.user = head.user;
    call.origin = OriginOf(head, *api.options().clock);
    RecordRefusal(head.method, call, error);
  }
  HttpResponse response;
  response.status = base::HttpStatus(error.code());
  response.headers = {{"X-Content-Type-Options", "nosniff"}};
  response.body.push_back(std::make_shared<const std::string>(base::ToText(StatusOf(error))));
  return response;
}

}  // namespace evenkeel::embedded::apiserver
