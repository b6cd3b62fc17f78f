// Teaching an API a kind of its own.
#pragma once

#include "client/client.h"

namespace evenkeel::client {

/// Puts a CustomResourceDefinition into the API, or brings the one that is there up to date; nothing is written where it says
/// everything that `definition` says. The API may need a moment until it serves the kind. kForbidden: whoever may look for
/// definitions must have installed it.
Status InstallDefinition(Client& client, const Json& definition);

}  // namespace evenkeel::client
