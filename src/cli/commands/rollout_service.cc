#include "cli/commands/rollout_service.h"

#include <spdlog/fmt/fmt.h>

#include <future>

#include "base/input/file.h"
#include "base/log.h"
#include "controllers/rollout/zookeeper/hub/hub_controller.h"
#include "controllers/rollout/zookeeper/hub/installation.h"
#include "controllers/rollout/zookeeper/hub/webhooks.h"
#include "embedded/apiserver/access/certificates.h"
#include "embedded/apiserver/http/http_server.h"

namespace evenkeel::cli {
namespace {

namespace apiserver = embedded::apiserver;
namespace zookeeper = controllers::rollout::zookeeper;

/// Until the hub serves what was missing.
constexpr base::Duration kInstallAgain = std::chrono::seconds(30);
/// Somebody may have changed or deleted what is there, and without an interpreter Karmada knows of no replicas to schedule.
constexpr base::Duration kInstallRoutine = std::chrono::minutes(5);
/// Until the hub answers.
constexpr base::Duration kInstallRetry = std::chrono::seconds(2);
/// How often files with a certificate are read again: who renews them tells nobody.
constexpr base::Duration kCertificateLook = std::chrono::minutes(1);
/// A certificate of our own lasts a year.
constexpr base::Duration kCertificateAge = std::chrono::days(300);

/// Answers are worked out at once: they are pure, and take less than a millisecond.
class WebhookHandler final : public apiserver::HttpHandler {
 public:
  void Handle(apiserver::HttpRequest request, std::unique_ptr<apiserver::Responder> responder) override {
    const auto type = request.headers.find("content-type");
    const std::string_view content_type = type == request.headers.end() ? std::string_view() : type->second;
    zookeeper::WebhookAnswer answer = zookeeper::AnswerWebhook({request.method, request.path, content_type, request.body});
    apiserver::HttpResponse response;
    response.status = answer.http_status;
    response.content_type = answer.content_type;
    if (!answer.allow.empty()) response.headers.emplace_back("Allow", answer.allow);
    response.body.push_back(std::make_shared<const std::string>(std::move(answer.body)));
    responder->Send(std::move(response));
  }
};

/// HOST of "https://HOST:PORT/...".
std::string HostOf(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == std::string::npos) return "";
  const std::string rest = url.substr(begin + 3);
  return rest.substr(0, rest.find_first_of(":/"));
}

struct Certificate {
  apiserver::KeyPair pair;
  std::string ca_pem;
};

base::Result<Certificate> ReadOrMake(const RolloutRunOptions& options, const std::string& host, base::Time now) {
  Certificate certificate;
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return base::Fail(base::Code::kBadRequest, "--tls-cert-file and --tls-private-key-file go together");
  }
  if (!options.certificate_file.empty()) {
    EVENKEEL_ASSIGN(certificate.pair.certificate_pem, base::ReadFile(options.certificate_file));
    EVENKEEL_ASSIGN(certificate.pair.private_key_pem, base::ReadFile(options.key_file));
    certificate.ca_pem = certificate.pair.certificate_pem;
  } else {
    EVENKEEL_ASSIGN(const apiserver::KeyPair authority, apiserver::NewAuthority("evenkeel-rollout-ca", now));
    std::vector<std::string> names{"localhost", "127.0.0.1", host, options.address};
    if (const std::string given = HostOf(options.url); !given.empty()) names.push_back(given);
    EVENKEEL_ASSIGN(certificate.pair, apiserver::NewServerCertificate(authority, "evenkeel-rollout", names, now));
    certificate.ca_pem = authority.certificate_pem;
  }
  if (!options.ca_file.empty()) {
    EVENKEEL_ASSIGN(certificate.ca_pem, base::ReadFile(options.ca_file));
  }
  return certificate;
}

class Service final : public RolloutService {
 public:
  Service(client::Client& hub, base::Executor& executor)
      : hub_(hub), clock_(executor.clock()), strand_(executor.NewStrand("rollout/install")) {}
  ~Service() override {
    strand_->Close();
    server_.reset();
    controller_.reset();
  }

  base::Status Start(const RolloutRunOptions& options, base::Executor& executor, const base::Random& random,
                     base::MetricRegistry& metrics, const std::string& ns, const std::string& host) {
    options_ = options;
    host_ = host;
    made_ = clock_.Now();
    EVENKEEL_ASSIGN(const Certificate certificate, ReadOrMake(options, host, made_));
    certificate_pem_ = certificate.pair.certificate_pem;
    apiserver::HttpServerOptions server;
    server.address = options.address;
    server.port = options.port;
    server.certificate_pem = certificate.pair.certificate_pem;
    server.private_key_pem = certificate.pair.private_key_pem;
    server.threads = 1;
    auto started = apiserver::HttpServer::Start(server, handler_);
    if (!started) return base::Fail(started.error().Wrap("webhooks"));
    server_ = *std::move(started);
    const bool anywhere = options.address == "0.0.0.0" || options.address == "::";
    target_.url =
        !options.url.empty() ? options.url : fmt::format("https://{}:{}", anywhere ? host : options.address, server_->port());
    target_.ca_pem = certificate.ca_pem;
    zookeeper::HubControllerContext context{
        .hub = hub_, .executor = executor, .random = random.Fork("rollout"), .metrics = metrics, .ns = ns, .host = host};
    if (options.install) {
      context.prepare = [this](std::function<void()> proceed) {
        strand_->Post([this, proceed = std::move(proceed)] {
          Install();
          // A hub that refuses it stops no rollout: it is tried again meanwhile.
          proceed();
        });
      };
    }
    controller_ = zookeeper::NewHubController(std::move(context));
    controller_->Start();
    strand_->Post([this] { LookAtCertificate(); });
    base::log::Info("rollouts are on", {{"webhooks", target_.url}});
    return {};
  }

  void Stop() override {
    std::promise<void> stopped;
    controller_->Stop([&] { stopped.set_value(); });
    stopped.get_future().wait();
  }
  void PublishMetrics() override { controller_->metrics().Publish(); }

 private:
  void LookAtCertificate() {
    if (const base::Status renewed = RenewCertificate(); !renewed) {
      base::log::Warn("cannot renew the certificate of the webhooks", {{"error", renewed.error()}});
    }
    certificate_timer_ = strand_->PostAfter(kCertificateLook, [this] { LookAtCertificate(); });
  }

  base::Status RenewCertificate() {
    const base::Time now = clock_.Now();
    if (options_.certificate_file.empty() && now - made_ < kCertificateAge) return {};
    EVENKEEL_ASSIGN(const Certificate certificate, ReadOrMake(options_, host_, now));
    if (certificate.pair.certificate_pem == certificate_pem_ && certificate.ca_pem == target_.ca_pem) return {};
    EVENKEEL_TRY(server_->UseCertificate(certificate.pair.certificate_pem, certificate.pair.private_key_pem));
    certificate_pem_ = certificate.pair.certificate_pem;
    target_.ca_pem = certificate.ca_pem;
    made_ = now;
    base::log::Info("renewed the certificate of the webhooks", {{"webhooks", target_.url}});
    if (options_.install) Install();
    return {};
  }

  void Install() {
    if (!controller_->leading()) return;
    auto again = [this](base::Duration wait) { timer_ = strand_->PostAfter(wait, [this] { Install(); }); };
    base::Status defined = zookeeper::InstallDefinitions(hub_);
    auto missing = defined ? zookeeper::InstallWebhooks(hub_, target_) : base::Result<std::string>(base::Fail(defined.error()));
    if (!missing) {
      base::log::Warn("cannot install what rollouts need", {{"error", missing.error()}});
      return again(kInstallRetry);
    }
    if (*missing != missing_ && !missing->empty()) {
      base::log::Info("the hub does not serve all kinds of webhook configurations", {{"missing", *missing}});
    }
    missing_ = *std::move(missing);
    again(missing_.empty() ? kInstallRoutine : kInstallAgain);
  }

  client::Client& hub_;
  base::Clock& clock_;
  const std::shared_ptr<base::Strand> strand_;
  RolloutRunOptions options_;
  std::string host_;
  std::string certificate_pem_;  ///< that the server shows
  base::Time made_{};            ///< when it was
  base::Timer certificate_timer_;
  WebhookHandler handler_;
  zookeeper::WebhookTarget target_;
  std::string missing_;
  base::Timer timer_;
  std::unique_ptr<apiserver::HttpServer> server_;
  std::unique_ptr<zookeeper::HubController> controller_;
};

}  // namespace

base::Result<std::unique_ptr<RolloutService>> StartRolloutService(const RolloutRunOptions& options, client::Client& hub,
                                                                  base::Executor& executor, const base::Random& random,
                                                                  base::MetricRegistry& metrics, const std::string& ns,
                                                                  const std::string& host) {
  auto service = std::make_unique<Service>(hub, executor);
  EVENKEEL_TRY(service->Start(options, executor, random, metrics, ns, host));
  return service;
}

}  // namespace evenkeel::cli
