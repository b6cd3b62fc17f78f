#include "cli/commands/apiserver.h"

#include <iostream>

#include "base/input/file.h"
#include "cli/clusters/hub.h"
#include "cli/terminal/signals.h"
#include "embedded/apiserver/access/audit_log.h"
#include "embedded/fleet/api_endpoint.h"
#include "embedded/fleet/store_location.h"

namespace evenkeel::cli {
namespace {

/// Watches' clocks, and reads that wait for etcd.
constexpr int kExecutorThreads = 8;
constexpr int64_t kAuditMegabytes = 100;

/// Null when none is wanted.
base::Result<std::unique_ptr<embedded::apiserver::AuditLog>> OpenAuditLog(const ApiServerOptions& options,
                                                                          base::Executor& executor) {
  if (options.audit_log.empty()) return nullptr;
  embedded::apiserver::AuditLogOptions audit;
  audit.path = options.audit_log;
  audit.bytes_max = (options.audit_log_megabytes == 0 ? kAuditMegabytes : options.audit_log_megabytes) << 20;
  audit.backups_max = options.audit_log_backups;
  return embedded::apiserver::AuditLog::Open(std::move(audit), executor);
}

}  // namespace

base::Status RunApiServer(const ApiServerOptions& options) {
  SignalWaiter signals;
  const std::string directory = options.data_dir.empty() ? EvenkeelHome() + "/apiserver" : options.data_dir;
  const base::Random random(base::EntropySeed());
  EVENKEEL_ASSIGN(auto credentials, embedded::fleet::Credentials::LoadOrMake(directory, base::SystemClock().Now()));
  EVENKEEL_ASSIGN(const auto store, embedded::fleet::OpenStore(options.store));
  const auto executor = base::NewThreadPool(kExecutorThreads);
  EVENKEEL_ASSIGN(const auto audit, OpenAuditLog(options, *executor));
  embedded::apiserver::ApiOptions api_options;
  api_options.name = "apiserver";
  api_options.store = store.get();
  api_options.clock = &executor->clock();
  api_options.random = random.Fork("api");
  api_options.executor = executor.get();
  api_options.audit = audit.get();
  api_options.default_policy = true;
  EVENKEEL_ASSIGN(api_options.account_key, credentials.AccountKey(api_options.name));
  api_options.account_ca_pem = credentials.authority().certificate_pem;
  embedded::apiserver::Api api(api_options);
  EVENKEEL_TRY(api.Start());
  EVENKEEL_ASSIGN(const auto endpoint, embedded::fleet::ApiEndpoint::Start({.name = "apiserver",
                                                                            .address = options.address,
                                                                            .port = options.port,
                                                                            .threads = options.threads,
                                                                            .token_file = options.token_file},
                                                                           api, credentials, *executor));
  const std::string kubeconfig = directory + "/kubeconfig";
  const auto write_kubeconfig = [&] {
    const client::ConnectionConfig connection = credentials.AdminConnection(endpoint->url());
    return base::WriteFile(kubeconfig, client::WriteKubeconfig({{"apiserver", connection}}, "apiserver"), 0600);
  };
  EVENKEEL_TRY(write_kubeconfig());
  const embedded::fleet::CertificateRenewal renewal(*executor, [&](base::Time now) -> base::Status {
    EVENKEEL_TRY(endpoint->Renew(credentials, now));
    EVENKEEL_ASSIGN(const bool renewed, credentials.Renew(now));
    return renewed ? write_kubeconfig() : base::Status();
  });
  std::cout << "serving " << endpoint->url() << " from " << options.store << "\n  export KUBECONFIG=" << kubeconfig
            << std::endl;
  signals.Wait();
  return {};
}

}  // namespace evenkeel::cli
