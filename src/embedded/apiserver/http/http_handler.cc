#include "embedded/apiserver/http/http_handler.h"

#include "base/text.h"
#include "client/fenced_client.h"
#include "embedded/apiserver/api/epoch_gate.h"
#include "embedded/apiserver/http/http_handler_impl.h"
#include "embedded/apiserver/requests/errors.h"
#include "kube/field_path.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;

constexpr size_t kFieldManagerMax = 128;

bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) { return letter >= ' ' && letter <= '~'; });
}

// The first part of the user agent: the manager of fields that a request does not name.
std::string UserAgentManager(const std::string& user_agent) {
  std::string manager = user_agent.substr(0, user_agent.find('/'));
  if (!IsPrintable(manager)) return "unknown";
  return manager.empty() ? "unknown" : manager.substr(0, kFieldManagerMax);
}

// As upstream refuses a parameter of the query: an invalid object of options.
base::Error WrongOption(const std::string& method, base::Cause cause) {
  const char* kind = method == "POST" ? "CreateOptions" : method == "PUT" ? "UpdateOptions" : "PatchOptions";
  if (method == "DELETE") kind = "DeleteOptions";
  return InvalidError(NamedKind("meta.k8s.io", kind, ""), "", {std::move(cause)});
}

Status CheckFieldManager(const std::string& method, const std::string& manager) {
  const kube::FieldPath path("fieldManager");
  if (manager.size() > kFieldManagerMax) return base::Fail(WrongOption(method, kube::TooManyBytes(path, kFieldManagerMax)));
  if (IsPrintable(manager)) return {};
  return base::Fail(WrongOption(method, kube::InvalidText(path, manager, "should only contain printable characters")));
}

base::Result<FieldValidation> FieldValidationOf(const std::string& method, const Query& query) {
  const std::string text = query.Get("fieldValidation");
  if (text.empty() || text == "Warn") return FieldValidation::kWarn;
  if (text == "Ignore") return FieldValidation::kIgnore;
  if (text == "Strict") return FieldValidation::kStrict;
  return base::Fail(
      WrongOption(method, kube::UnsupportedText(kube::FieldPath("fieldValidation"), text, {"Ignore", "Strict", "Warn"})));
}

// Header names are in lower case here.
std::string EpochHeader() { return base::Lower(client::kEpochHeader); }

// What query and headers ask of the call.
Status ReadOptions(const Exchange& exchange, Call& call) {
  call.field_manager = exchange.query.Get("fieldManager");
  const std::string& method = exchange.request.method;
  if (method == "GET") return {};
  EVENKEEL_TRY(CheckFieldManager(method, call.field_manager));
  call.force = exchange.query.Flag("force");
  EVENKEEL_ASSIGN(call.field_validation, FieldValidationOf(method, exchange.query));
  if (const std::string dry_run = exchange.query.Get("dryRun"); !dry_run.empty()) {
    if (dry_run != "All") {
      const base::JsonArray given{Json(dry_run)};
      return base::Fail(WrongOption(method, kube::UnsupportedValue(kube::FieldPath("dryRun"), given, {"All"})));
    }
    call.dry_run = true;
  }
  static const std::string epoch_header = EpochHeader();
  const auto epoch = exchange.request.headers.find(epoch_header);
  if (epoch != exchange.request.headers.end()) {
    EVENKEEL_ASSIGN(call.epoch, ParseEpoch(epoch->second));
  }
  return {};
}

/// What reaches into a container, or through to one: of pods, nodes and services.
bool IsNotOffered(const ResourcePath& path) {
  const std::string& subresource = path.subresource;
  if (!path.group.empty() || path.name.empty()) return false;
  return subresource == "exec" || subresource == "attach" || subresource == "portforward" || subresource == "proxy" ||
         subresource == "ephemeralcontainers";
}

bool Serves(const Served& served, std::string_view subresource) {
  if (subresource.empty()) return true;
  if (subresource == "scale") return !served.spec_replicas.empty();
  if (subresource == "status") return served.status_subresource;
  const kube::Resource& resource = served.resource;
  const bool core = resource.group.empty();
  if (core && resource.plural == "namespaces") return subresource == "finalize";
  if (core && resource.plural == "serviceaccounts") return subresource == "token";
  return core && resource.plural == "pods" && (subresource == "log" || subresource == "binding" || subresource == "eviction");
}

}  // namespace

std::shared_ptr<const CallOrigin> OriginOf(const HttpRequest& request, const base::Clock& clock) {
  auto origin = std::make_shared<CallOrigin>();
  origin->uri = request.query.empty() ? request.path : request.path + "?" + request.query;
  if (const auto agent = request.headers.find("user-agent"); agent != request.headers.end()) origin->user_agent = agent->second;
  origin->address = request.remote.substr(0, request.remote.rfind(':'));
  if (origin->address.starts_with('[')) origin->address = origin->address.substr(1, origin->address.size() - 2);
  origin->impersonator = request.impersonator;
  origin->received = clock.Now();
  return origin;
}

ApiHandler::Impl::Impl(Api& served_api, ApiHandlerOptions handler_options)
    : api(served_api),
      options(std::move(handler_options)),
      watches(std::make_shared<WatchStreams>(api, metrics, options.executor, options.bookmark_interval)),
      queue(options.workers == nullptr ? nullptr : std::make_unique<RequestQueue>(*options.workers, options.queue)) {}

ApiHandler::ApiHandler(Api& api, ApiHandlerOptions options) : impl_(std::make_shared<Impl>(api, std::move(options))) {}

ApiHandler::~ApiHandler() {
  impl_->queue.reset();
  impl_->watches->Stop();
}

void ApiHandler::Handle(HttpRequest request, std::unique_ptr<Responder> responder) {
  auto exchange = std::make_shared<Exchange>();
  exchange->request = std::move(request);
  exchange->responder = std::move(responder);
  exchange->metrics = impl_->metrics;
  exchange->clock = impl_->api.options().clock;
  exchange->started = exchange->clock->Monotonic();
  exchange->verb = exchange->request.method;
  if (!exchange->request.decided) {
    const base::Status allowed = impl_->Decide(exchange->request);
    if (!allowed) return exchange->responder->Send(impl_->RefuseHead(exchange->request, allowed.error()));
  }
  if (exchange->request.body.size() > impl_->options.body_bytes_max) {
    return exchange->SendError(
        {Code::kTooLarge, "Request entity too large: limit is " + std::to_string(impl_->options.body_bytes_max)});
  }
  auto query = Query::Parse(exchange->request.query);
  if (!query) return exchange->SendError(query.error());
  exchange->query = *std::move(query);
  impl_->Route(exchange);
}

void ApiHandler::Impl::Route(const ExchangePointer& exchange) {
  const auto parts = PathParts(exchange->request.path);
  if (!parts) return exchange->SendError({Code::kBadRequest, "the path has a broken escape"});
  if (RouteDocument(exchange, *parts)) return;
  const auto path = ParseResourcePath(*parts);
  if (path && IsNotOffered(*path)) {
    return exchange->SendError(
        {Code::kMethodNotAllowed, path->plural + "/" + path->subresource +
                                      " is not offered by this API server: containers are simulated, or are "
                                      "processes of its machine"});
  }
  if (!path || !path->rest.empty()) return exchange->SendError(NoSuchResourceError());
  RouteResource(exchange, *path);
}

void ApiHandler::Impl::RunInTurn(const ExchangePointer& exchange, base::Task task) {
  if (queue == nullptr) return api.Run(std::move(task));
  if (queue->Run(exchange->request.user.name, task)) return;
  exchange->SendError({Code::kTooManyRequests,
                       "too many requests, please try again later",
                       {.name = {}, .group = {}, .kind = {}, .uid = {}, .causes = {}, .retry_after_seconds = 1}});
}

void ApiHandler::Impl::RouteResource(const ExchangePointer& exchange, const ResourcePath& path) {
  const HttpRequest& request = exchange->request;
  Call call;
  call.served = api.resources().Find(path.group, path.version, path.plural);
  if (call.served == nullptr || !Serves(*call.served, path.subresource)) return exchange->SendError(NoSuchResourceError());
  const kube::Resource& resource = call.served->resource;
  if (!resource.namespaced && !path.ns.empty()) return exchange->SendError(NoSuchResourceError());
  exchange->resource = resource.plural;
  if (!call.served->deprecation.empty()) exchange->warnings.push_back(call.served->deprecation);
  exchange->watch = path.watch || exchange->query.Flag("watch");
  if (path.watch && request.method != "GET") return exchange->SendError(MethodNotAllowedError());
  call.ns = path.ns;
  call.name = path.name;
  call.subresource = path.subresource;
  call.user = request.user;
  const bool is_told_of = api.options().audit != nullptr || !access::InGroup(request.user, access::kMasters);
  if (is_told_of && request.method != "GET") call.origin = OriginOf(request, *exchange->clock);
  if (const auto read = ReadOptions(*exchange, call); !read) return Refuse(exchange, call, read.error());
  if (resource.review && (request.method != "POST" || !call.name.empty())) {
    return Refuse(exchange, call, MethodNotAllowedError());
  }
  // One object of a namespaced kind is never addressed without its namespace.
  if (resource.namespaced && call.ns.empty() &&
      (!call.name.empty() || request.method == "POST" || request.method == "DELETE")) {
    return Refuse(exchange, call, call.name.empty() ? MethodNotAllowedError() : NoSuchResourceError());
  }
  Offer offer{.protobuf = call.served->custom ? Offer::Protobuf::kPartial : Offer::Protobuf::kAll, .watch = exchange->watch};
  if (request.method == "GET") offer.forms = {Form::kTable, Form::kPartial};
  auto wanted = NegotiateForm(exchange->Header("accept"), offer);
  if (!wanted && request.method != "GET") {
    // A client that would take a Table of what it writes takes the object as well.
    offer.forms = {Form::kTable, Form::kPartial};
    wanted = NegotiateForm(exchange->Header("accept"), offer);
    if (wanted) *wanted = {.form = Form::kObject};
  }
  if (!wanted) return Refuse(exchange, call, wanted.error());
  exchange->wanted = *wanted;
  if (request.method == "GET") {
    // The bytes of one object, as they are stored.
    const bool cheap = !call.name.empty() && call.subresource.empty() && !exchange->watch &&
                       call.served->conversion == nullptr && wanted->encoding != Encoding::kYaml &&
                       wanted->form == Form::kObject && !api.store().reads_block();
    if (cheap) return Read(exchange, call);
    return RunInTurn(exchange, [self = shared_from_this(), exchange, call = std::move(call)] {
      self->api.RunFor(*call.served, [self, exchange, call] { self->Read(exchange, call); });
    });
  }
  if (call.field_manager.empty() && exchange->Header("content-type").find("apply-patch") == std::string::npos) {
    call.field_manager = UserAgentManager(exchange->Header("user-agent"));
  }
  RunInTurn(exchange, [self = shared_from_this(), exchange, call = std::move(call)]() mutable {
    const ServedPointer served = call.served;
    self->api.RunFor(*served, [self, exchange, call = std::move(call)]() mutable { self->Change(exchange, std::move(call)); });
  });
}

void ApiHandler::Impl::Change(const ExchangePointer& exchange, Call call) {
  const std::string& method = exchange->request.method;
  if (method == "PATCH") return Patch(exchange, std::move(call));
  if (method == "DELETE") return Delete(exchange, std::move(call));
  if (method == "POST" || method == "PUT") return Write(exchange, std::move(call));
  exchange->SendError(MethodNotAllowedError());
}

}  // namespace evenkeel::embedded::apiserver
