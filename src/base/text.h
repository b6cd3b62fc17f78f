// Texts taken apart. Letters, digits and blanks are those of ASCII, whatever the process's locale is: bytes of other characters
// stay as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::base {

inline constexpr std::string_view kBlanks = " \t\r\n";

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool IsAlphanumeric(char c) { return IsLetter(c) || IsDigit(c); }
constexpr char LowerOf(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
/// The text in lower case.
std::string Lower(std::string_view text);
bool EqualIgnoringCase(std::string_view a, std::string_view b);
/// The text without the blanks around it: a view of `text`, empty where it has nothing else.
std::string_view Trimmed(std::string_view text, std::string_view blanks = kBlanks);

/// The parts, empty ones among them: one more than there are separators. They are views of `text`.
std::vector<std::string_view> Split(std::string_view text, char separator);
/// Those that are not empty.
std::vector<std::string_view> SplitWords(std::string_view text, char separator);

}  // namespace evenkeel::base
