// The opaque text with which a client asks for the next page.
#pragma once

#include <string>

#include "base/result.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

struct ContinueToken {
  store::Revision revision = 0;  ///< that all pages show
  std::string after;             ///< the last key of the page before, without the list's prefix

  std::string Encode() const;
  /// kBadRequest "continue key is not valid: ...".
  static base::Result<ContinueToken> Decode(const std::string& text);
};

}  // namespace evenkeel::embedded::apiserver
