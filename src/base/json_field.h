// Keys of a JSON answer that other programs rely on, beside the code that writes it: `evenkeel docs json` prints them, and a
// test holds real answers against them.
#pragma once

namespace evenkeel::base {

/// `path`: keys joined by dots, [] for the items of an array and * for keys that are names of things: "nodes[].loads.*".
struct JsonField {
  const char* path;
  const char* type;  ///< "string", "integer", "number", "boolean", "object" of Kubernetes, which is not described further
  const char* what;
  bool always = true;  ///< whether it is there whenever the object that it belongs to is
};

}  // namespace evenkeel::base
