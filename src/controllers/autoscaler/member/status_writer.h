// Keeps the status ConfigMap current without writing it every few seconds: when something but its times has changed, or once a
// minute, so that people see that it is alive.
#pragma once

#include <optional>
#include <string>

#include "client/client.h"
#include "controllers/autoscaler/loop/status_report.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

class StatusWriter {
 public:
  StatusWriter(client::Client& client, const Options& options) : client_(client), options_(options) {}

  /// `explanation`: see explanation.h; written with the report, and by itself at most every 10 s. Null: there is none.
  base::Status Write(const StatusReport& report, const base::Json& explanation = nullptr);
  /// The explanation alone, where another autoscaler writes its status into the ConfigMap; when it has changed, at most every
  /// 10 s.
  base::Status WriteExplanation(const base::Json& explanation, base::Time now);

 private:
  client::Client& client_;
  const Options& options_;
  std::string written_;  // without times
  std::string explained_;
  std::optional<base::Time> at_;
};

}  // namespace evenkeel::controllers::autoscaler
