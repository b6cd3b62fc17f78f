// What lets a person in: random tokens, kept in files that only their owner reads.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace evenkeel::dashboard {

/// 256 random bits in hexadecimal.
std::string NewToken();
/// Takes the same time wherever they differ. Nothing equals an empty one.
bool SameToken(std::string_view given, std::string_view expected);
/// The first line of the file. Where there is no file, one with a new token is made (mode 0600). kBadRequest for a token of
/// less than 16 characters.
base::Result<std::string> ReadOrMakeToken(const std::string& path);

/// "login?token=" with the token as a query has it: in one, + is a space.
std::string LoginPath(std::string_view token);

}  // namespace evenkeel::dashboard
