// autoscaling/v1 Scale: the view of anything with replicas.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "embedded/apiserver/definitions/resource_table.h"

namespace evenkeel::embedded::apiserver {

base::Json ScaleOf(const Served& served, const base::Json& object);
/// Takes spec.replicas of `scale` into the object. kInvalid when it is negative or not a number.
base::Status SetScale(const Served& served, base::Json& object, const base::Json& scale);

/// A value below a dotted path, null when absent.
const base::Json* FindDotted(const base::Json& object, std::string_view path);

}  // namespace evenkeel::embedded::apiserver
