// What people can do on the dashboard, each in two steps: what would happen, and then, if things are still as they were, it.
#pragma once

#include <string>

#include "base/json.h"
#include "client/client.h"
#include "dashboard/actions/action_request.h"

namespace evenkeel::dashboard {

struct ActionContext {
  client::Client& client;  ///< of the member, or of the hub (ActionRequest::on_hub)
  std::string user;        ///< who asks, for events and logs
  base::Time now{};
};

/// Of what the plan would do: another one when its spec is another, but for the approval itself.
std::string PlanHash(const base::Json& plan);

/// {"title", "effects": [texts], "warnings": [texts], "seen"}. Changes nothing. kNotFound; kConflict when there is nothing to
/// do.
base::Result<base::Json> PreviewAction(const ActionContext& context, const ActionRequest& request);

/// {"message"}. kConflict when it would be another thing than what was looked at. Writes an Event about the object that says
/// who did it; where that fails, a log line says so.
base::Result<base::Json> CarryOutAction(const ActionContext& context, const ActionRequest& request);

}  // namespace evenkeel::dashboard
