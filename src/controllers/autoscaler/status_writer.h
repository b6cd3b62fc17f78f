// Keeps the status ConfigMap current without writing it every few seconds: when something but its times has changed, or once a
// minute, so that people see that it is alive.
#pragma once

#include <optional>
#include <string>

#include "client/client.h"
#include "controllers/autoscaler/options.h"
#include "controllers/autoscaler/status_report.h"

namespace evenkeel::controllers::autoscaler {

class StatusWriter {
 public:
  StatusWriter(client::Client& client, const Options& options) : client_(client), options_(options) {}

  base::Status Write(const StatusReport& report);

 private:
  client::Client& client_;
  const Options& options_;
  std::string written_;  // without times
  std::optional<base::Time> at_;
};

}  // namespace evenkeel::controllers::autoscaler
