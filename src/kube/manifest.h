// Objects from files, as people and `kubectl get -o json` write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/input/field.h"

namespace evenkeel::kube {

struct ManifestObject {
  base::Json object;
  std::string where;  ///< "FILE:LINE" of its document, for messages
};

/// YAML or JSON: one object, several documents, or a List of any kind (flattened). kBadRequest names file and line of what is
/// no Kubernetes object (apiVersion, kind and metadata.name are required).
/// `warnings` null: a key that a map has twice is an error, too; else the last one counts, and a warning with its line is
/// added.
base::Result<std::vector<ManifestObject>> ParseManifests(std::string_view text, std::string_view source,
                                                         std::vector<std::string>* warnings = nullptr);
/// The same for files, "-" being standard input. A file that cannot be read is kBadRequest, too: somebody named it.
base::Result<std::vector<ManifestObject>> ReadManifests(const std::vector<std::string>& files,
                                                        std::vector<std::string>* warnings = nullptr);

/// The object's fields; messages name file, line, kind and object.
base::Field FieldsOf(const ManifestObject& object);

}  // namespace evenkeel::kube
