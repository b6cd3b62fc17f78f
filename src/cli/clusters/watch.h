// What `get ... --watch` does: asks again whenever something has changed that the question rests on, until SIGINT or SIGTERM.
#pragma once

#include <functional>
#include <ostream>

#include "cli/clusters/hub.h"
#include "cli/terminal/watch_rows.h"
#include "client/client.h"

namespace evenkeel::cli {

/// Asks a cluster. Whatever it reads is followed from then on.
using Question = std::function<base::Result<Shown>(client::Client& cluster)>;

/// `options`: the form and the names. Returns when a signal comes or nobody reads `out` any more. An error of the first answer
/// is returned; later ones, and outages of some seconds, go to standard error, once each, and the watch goes on.
base::Status WatchLive(const HubOptions& cluster, const GetOptions& options, const Question& question, std::ostream& out);

}  // namespace evenkeel::cli
