// Letters and blanks of ASCII, whatever the process's locale is. Bytes of other characters stay as they are.
#pragma once

#include <string>
#include <string_view>

namespace evenkeel::base {

inline constexpr std::string_view kBlanks = " \t\r\n";

constexpr char LowerOf(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
/// The text in lower case.
std::string Lower(std::string_view text);
/// The text without the blanks around it: a view of `text`, empty where it has nothing else.
std::string_view Trimmed(std::string_view text, std::string_view blanks = kBlanks);

}  // namespace evenkeel::base
