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

/// Annotation of a CustomResourceDefinition of ours: which form of it this is. Raised with each change.
inline constexpr char kDefinitionNumber[] = "evenkeel.dev/definition";

/// Why a CustomResourceDefinition that an API has is not brought to the form of `wanted`: that is an older one, by its number
/// (kDefinitionNumber), or, where no number says so, because the API's has fields or versions that it lacks. Objects would
/// lose what they have there. "": nothing speaks against it. Pure.
std::string WhyOlder(const Json& present, const Json& wanted);

/// As CreateOrUpdate for a CustomResourceDefinition, but none is set back to an older form: it is left as it is then, with a
/// line in the log. The API may need a moment until it serves the kind. kForbidden: whoever may look for definitions must have
/// installed it.
Status InstallDefinition(Client& client, const Json& definition);

}  // namespace evenkeel::client
