// The compact text in which the shapes of the built-in kinds are written down (kube/schemas/*.schema), one line per thing:
//
//   package io.k8s.api.core.v1                 prefix of the OpenAPI names of what follows
//   api apps v1                                group ("core" for the empty one) and version of the kinds that follow
//   type PodSpec -- description                a struct; its fields follow, indented
//     containers []Container @2 ! map=name merge=name -- description
//   kind Pod pods short=po cat=all sub=status,log -- description     a type that is served; apiVersion, kind, metadata are
//   added
//
// Types of fields: string int32 int64 number bool intOrString quantity time microTime bytes any, a type's name, []T, map[T];
// T|[], T|bool and T|[]string are a T or a list of T, a boolean, a list of strings. After the type, in any order: @N the number
// of the field in protocol buffers, @N? the same where upstream has a pointer (so that a zero differs from what is absent),
// @N.M where it is field M of a message that JSON does not show and that is field N (@N.M.K: two such messages); `!` required
// and not empty, `*` required in the documentation only, `=JSON` default, enum(A|B), min=N max=N, list=atomic|set, map=KEY,KEY
// (list of structs with keys), atomic, merge or merge=KEY and retain (strategic merge), embedded (a whole object). Options of
// type: atomic, open (unknown fields are kept), raw (JSON text in protocol buffers), retain. Options of kind: short= cat= sub=
// storage= cluster (not namespaced) review (Resource::review). `#` starts a comment line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/resource.h"
#include "kube/schema/schema.h"

namespace evenkeel::kube {

struct SchemaText {
  std::string_view name;  ///< file name, for messages
  std::string_view text;
};

struct SchemaLibrary {
  SchemaSet schemas;
  std::map<std::string, Schema*, std::less<>> definitions;  ///< by OpenAPI name
  std::vector<Resource> resources;                          ///< in the order of the texts
};

/// Reads all texts together: types may be used before they are defined. A mistake ends the process with file and line, since
/// the texts are part of the program.
void ReadSchemaTexts(const std::vector<SchemaText>& texts, SchemaLibrary& library);

/// The texts compiled in (generated at build time).
const std::vector<SchemaText>& BuiltInSchemaTexts();
/// What they say. Read on the first call, a few milliseconds; lives for the whole process. Thread-safe.
const SchemaLibrary& BuiltInSchemas();
/// Tells programs with other texts apart.
uint64_t DigestOfBuiltInSchemas();

/// The shape of an object that says it is of this version and kind, also of one that is not served but sent: Status, Scale,
/// DeleteOptions, PartialObjectMetadata. Null for any that is not compiled in.
const Schema* FindKindSchema(std::string_view api_version, std::string_view kind);

}  // namespace evenkeel::kube
