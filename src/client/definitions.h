// Bringing an API to where somebody wants it: comparing, and teaching it a kind of its own.
#pragma once

#include "client/client.h"

namespace evenkeel::client {

/// Whether an object as an API keeps it says everything that `wanted` says; what it says besides (defaults, status) does not
/// count. Arrays must have the same elements.
bool SaysAll(const Json& present, const Json& wanted);

/// Puts the object into the API, or brings the one that is there up to date; nothing is written where that says everything that
/// `object` says.
Status CreateOrUpdate(Client& client, const Resource& kind, const Json& object);

/// The same for a CustomResourceDefinition. The API may need a moment until it serves the kind. kForbidden: whoever may look
/// for definitions must have installed it.
Status InstallDefinition(Client& client, const Json& definition);

}  // namespace evenkeel::client
