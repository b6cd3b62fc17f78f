// The dashboard as a part of `up` and `run`: a feed, a server, and the tokens that let people in.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "client/client.h"
#include "controllers/distribution/sharding/options.h"
#include "dashboard/feed.h"
#include "dashboard/history/recorder.h"
#include "dashboard/server.h"
#include "embedded/apiserver/http/http_server.h"

namespace evenkeel::cli {

struct DashboardRunOptions {
  bool enabled = false;
  std::string address = "127.0.0.1";
  int port = 8083;                         ///< 0: any free one
  int fallback_port = -1;                  ///< tried when the port is taken; 0: any free one; -1: none
  std::string token_file;                  ///< made when it is not there
  std::string read_token_file;             ///< of a token that may only look; "": there is none
  std::string certificate_file, key_file;  ///< of its own; "": plain HTTP
  std::string history_file;                ///< what is kept of the last days; "": nothing
  std::vector<std::string> host_names;
  std::string version;
};

class DashboardService {
 public:
  using Connect = std::function<base::Result<std::unique_ptr<client::Client>>(const controllers::distribution::Cluster&)>;

  /// `hub_name`: for people. `autoscaler`: as the members' autoscalers run, whose words are shown.
  ~DashboardService();
  static base::Result<std::unique_ptr<DashboardService>> Start(const DashboardRunOptions& options,
                                                               std::unique_ptr<client::Client> hub, std::string hub_name,
                                                               controllers::distribution::Options distribution,
                                                               controllers::autoscaler::Options autoscaler, Connect connect);
  int port() const { return http_->port(); }
  std::string url() const;
  /// With the token: not for logs.
  std::string login_url() const;

 private:
  DashboardService() = default;
  /// Shows another certificate once the files have another one.
  void LookAtCertificate();
  base::Status RenewCertificate();

  std::string address_, token_;
  std::string certificate_file_, key_file_, certificate_pem_;
  std::unique_ptr<client::Client> hub_;
  std::unique_ptr<base::Executor> executor_, sources_;
  std::unique_ptr<dashboard::Feed> feed_;
  std::shared_ptr<dashboard::HistoryFile> history_;
  std::unique_ptr<dashboard::Recorder> recorder_;
  std::unique_ptr<dashboard::Server> server_;
  std::unique_ptr<embedded::apiserver::HttpServer> http_;
  std::shared_ptr<base::Strand> strand_;
  base::Timer certificate_timer_;
};

}  // namespace evenkeel::cli
