// What `apiserver verify`, `repair`, `backup` and `restore` answer.
#pragma once

#include "base/json_field.h"

namespace evenkeel::cli {

inline constexpr base::JsonField kStoreJson[] = {
    {"store", "string", "the file"},
    {"revision", "integer", "that the store, or the copy, goes on above"},
    {"rows", "integer", "that were read"},
    {"whole", "boolean", "whether nothing is damaged"},
    {"damaged", "integer", "how much is"},
    {"damage[].kind", "string", "Checksum (nothing is lost), Value, Row, MissingRows, State, Pages, Log or LastCommits"},
    {"damage[].revision", "integer", "of the row, or the first of several; 0: not known"},
    {"damage[].key", "string", "empty: not known"},
    {"damage[].message", "string", ""},
    {"keptAs", "string", "of repair: where the damaged store is now", false},
    {"setBack[].key", "string", "of repair: whose newest version is lost", false},
    {"setBack[].revision", "integer", "of repair: the version that is there now; 0: none", false}};

}  // namespace evenkeel::cli
