// `evenkeel run --print-definitions`: the kinds that a hub or a member needs, for people who install them beforehand.
#pragma once

#include <ostream>
#include <string>

#include "base/result.h"

namespace evenkeel::cli {

/// The CustomResourceDefinitions of a "hub" or a "member" as YAML documents, as the controllers themselves would install them.
/// deploy/kustomize/crds is what this prints.
base::Status PrintDefinitions(const std::string& where, std::ostream& out);

}  // namespace evenkeel::cli
