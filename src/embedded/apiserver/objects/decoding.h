// What a typed server checks first in an object of a request: that it is of the kind, that its fields have their types, and
// which fields the schema does not have.
#pragma once

#include <string>
#include <vector>

#include "embedded/apiserver/objects/call.h"
#include "embedded/apiserver/objects/managed_fields.h"

namespace evenkeel::embedded::apiserver {

/// Whether it says that it is of the path's kind; what it leaves open is filled in. kBadRequest.
Status CheckKind(const Served& served, Json& object);
/// A value of another type than its field's, which a typed server cannot even read: in upstream's words. Of a custom resource
/// that is metadata alone.
std::optional<std::string> FindWrongType(const Served& served, const Json& object);
/// Takes out what the schema does not know. What is wrong with it: to be refused where the call asks for it (`strict decoding
/// error: ...`), else its warnings are appended.
std::optional<std::string> PruneUnknown(const Call& call, Json& object, std::vector<std::string>& warnings);
/// Both, as a body is refused: kBadRequest.
Status DecodeBody(const Call& call, Json& object, std::vector<std::string>& warnings);

/// Who makes the call's changes.
ManagerIdentity ManagerOf(const Call& call, base::Time now);

}  // namespace evenkeel::embedded::apiserver
