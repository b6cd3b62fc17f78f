#include "kube/formats.h"

#include <arpa/inet.h>

#include "base/json.h"
#include "base/pattern.h"
#include "base/text.h"
#include "base/time.h"
#include "kube/object.h"
#include "kube/quantity.h"

namespace evenkeel::kube {
namespace {

bool IsHex(char letter) { return std::isxdigit(static_cast<unsigned char>(letter)) != 0; }

/// The pattern of one place, compiled where it is first needed.
template <const char* kText>
bool Matches(std::string_view text) {
  static const auto* const pattern = new auto(base::Pattern::Parse(kText).value());
  return (*pattern)->Matches(text);
}

constexpr char kUuid[] = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
constexpr char kUuid3[] = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
constexpr char kUuid4[] = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
constexpr char kUuid5[] = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
constexpr char kBsonId[] = "^[0-9a-fA-F]{24}$";
constexpr char kCreditCard[] =
    "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|"
    "(?:2131|1800|35\\d{3})\\d{11})$";
constexpr char kSsn[] = "^\\d{3}[- ]?\\d{2}[- ]?\\d{4}$";
constexpr char kHexColor[] = "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
constexpr char kRgbColor[] =
    "^rgb\\(\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*,\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*,\\s*(0|[1-9]\\d?|"
    "1\\d\\d?|2[0-4]\\d|25[0-5])\\s*\\)$";
constexpr char kBase64[] = "^(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})$";
constexpr char kTimeOfDay[] = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
// The same twice: most names are of ASCII, for which the letters of all alphabets need not be compiled.
constexpr char kAsciiHostname[] =
    "^([a-zA-Z0-9$+<=>^`|~]((-?[a-zA-Z0-9$+<=>^`|~]{0,62})?)|([a-zA-Z0-9$+<=>^`|~](([a-zA-Z0-9$+<=>^`|~-]{0,61}[a-zA-Z0-9$+<=>"
    "^`|~])?)(\\.)){1,}([a-zA-Z0-9$+<=>^`|~])(-?[a-zA-Z0-9$+<=>^`|~]){1,62})$";
constexpr char kHostname[] =
    "^([a-zA-Z0-9\\p{S}\\p{L}]((-?[a-zA-Z0-9\\p{S}\\p{L}]{0,62})?)|([a-zA-Z0-9\\p{S}\\p{L}](([a-zA-Z0-9-\\p{S}\\p{L}]{0,61}"
    "[a-zA-Z0-9\\p{S}\\p{L}])?)(\\.)){1,}([a-zA-Z0-9\\p{S}\\p{L}])(-?[a-zA-Z0-9\\p{S}\\p{L}]){1,62})$";

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char letter) { return static_cast<unsigned char>(letter) < 0x80; });
}

bool IsDate(std::string_view text) {
  return text.size() == 10 && base::ParseCalendarTime(std::string(text) + "T00:00:00Z").has_value();
}

bool IsDateTime(std::string_view text) {
  const std::string lower = base::Lower(text);
  const size_t split = lower.find('t');
  if (split == lower.npos || !IsDate(std::string_view(lower).substr(0, split))) return false;
  std::string_view time = std::string_view(lower).substr(split + 1);
  time = time.substr(0, time.find('t'));
  return Matches<kTimeOfDay>(time) && time.substr(0, 2) <= "23" && time.substr(3, 2) <= "59" && time.substr(6, 2) <= "59";
}

bool IsHostname(std::string_view text) {
  if (!(IsAscii(text) ? Matches<kAsciiHostname>(text) : Matches<kHostname>(text)) || text.size() > 255) return false;
  while (true) {
    const size_t dot = text.find('.');
    if (text.substr(0, dot).size() > 63) return false;
    if (dot == text.npos) return true;
    text.remove_prefix(dot + 1);
  }
}

/// As net.ParseIP: no zones, no leading zeros.
bool IsIp(std::string_view text) {
  if (text.size() > INET6_ADDRSTRLEN || text.find('\0') != text.npos) return false;
  const std::string copy(text);
  std::array<unsigned char, 16> bytes{};
  if (text.find(':') != text.npos) return inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1;
  return inet_pton(AF_INET, copy.c_str(), bytes.data()) == 1;
}

bool IsIpv4(std::string_view text) { return text.find('.') != text.npos && IsIp(text); }
bool IsIpv6(std::string_view text) { return text.find(':') != text.npos && IsIp(text); }

bool IsCidr(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == text.npos || !IsIp(text.substr(0, slash))) return false;
  const std::string_view bits = text.substr(slash + 1);
  if (bits.empty() || bits.size() > 3 || !std::all_of(bits.begin(), bits.end(), base::IsDigit)) return false;
  // Of an IPv4 address within IPv6 it is 128, too.
  return std::stoi(std::string(bits)) <= (text.substr(0, slash).find(':') == text.npos ? 32 : 128);
}

/// As net.ParseMAC: 6, 8 or 20 bytes, by ones with : or -, by twos with dots.
bool IsMac(std::string_view text) {
  if (text.size() < 14) return false;
  const size_t group = text[2] == ':' || text[2] == '-' ? 2 : text[4] == '.' ? 4 : 0;
  if (group == 0 || (text.size() + 1) % (group + 1) != 0) return false;
  const size_t bytes = (text.size() + 1) / (group + 1) * (group / 2);
  if (bytes != 6 && bytes != 8 && bytes != 20) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i % (group + 1) == group ? text[i] != text[group] : !IsHex(text[i])) return false;
  }
  return true;
}

/// Without what stands between the digits.
std::string Without(std::string_view text, bool (*dropped)(char)) {
  std::string kept;
  for (const char letter : text) {
    if (!dropped(letter)) kept += letter;
  }
  return kept;
}

bool IsSpaceOrDash(char letter) {
  return letter == '-' || letter == ' ' || (letter >= '\t' && letter <= '\r' && letter != '\v');
}

bool IsIsbn10(std::string_view text) {
  const std::string digits = Without(text, IsSpaceOrDash);
  if (digits.size() != 10 || !std::all_of(digits.begin(), digits.end() - 1, base::IsDigit)) return false;
  if (!base::IsDigit(digits[9]) && digits[9] != 'X') return false;
  int sum = 10 * (digits[9] == 'X' ? 10 : digits[9] - '0');
  for (int i = 0; i < 9; ++i) sum += (i + 1) * (digits[static_cast<size_t>(i)] - '0');
  return sum % 11 == 0;
}

bool IsIsbn13(std::string_view text) {
  const std::string digits = Without(text, IsSpaceOrDash);
  if (digits.size() != 13 || !std::all_of(digits.begin(), digits.end(), base::IsDigit)) return false;
  int sum = 0;
  for (size_t i = 0; i < 13; ++i) sum += (i % 2 == 0 ? 1 : 3) * (digits[i] - '0');
  return sum % 10 == 0;
}

bool IsIsbn(std::string_view text) { return IsIsbn10(text) || IsIsbn13(text); }

bool IsCreditCard(std::string_view text) {
  const std::string digits = Without(text, [](char letter) { return !base::IsDigit(letter); });
  if (!Matches<kCreditCard>(digits)) return false;
  int sum = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    int digit = digits[digits.size() - 1 - i] - '0';
    if (i % 2 == 1) digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
    sum += digit;
  }
  return sum % 10 == 0;
}

bool IsSsn(std::string_view text) { return text.size() == 11 && Matches<kSsn>(text); }

bool KnowsUnit(std::string_view unit) {
  static constexpr std::array<std::string_view, 18> kExact = {"ns", "nano", "us", "µs", "micro", "ms", "milli", "s", "sec",
                                                              "m",  "min",  "h",  "hr", "hour",  "d",  "day",   "w", "wk"};
  // The last name of each unit may go on ("seconds").
  static constexpr std::array<std::string_view, 8> kBeginnings = {"nano", "micro", "milli", "sec",
                                                                  "min",  "hour",  "day",   "week"};
  const std::string lower = base::Lower(unit);
  return std::ranges::find(kExact, lower) != kExact.end() ||
         std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return lower.starts_with(beginning); });
}

/// Go's, or anything that has a number with a unit in it ("1 day and 2 hours").
bool IsDuration(std::string_view text) {
  if (base::ParseDuration(text)) return true;
  bool found = false;
  for (size_t i = 0; i < text.size();) {
    if (!base::IsDigit(text[i])) {
      ++i;
      continue;
    }
    const size_t digits = i;
    while (i < text.size() && base::IsDigit(text[i])) ++i;
    const std::string_view number = text.substr(digits, i - digits);
    while (i < text.size() && (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r' && text[i] != '\v'))) ++i;
    const size_t unit = i;
    while (i < text.size() && (base::IsLetter(text[i]) || text.substr(i).starts_with("µ")))
      i += base::IsLetter(text[i]) ? 1 : 2;
    if (i == unit) continue;
    if (number.size() > 18) return false;  // more than an int holds
    found = found || KnowsUnit(text.substr(unit, i - unit));
  }
  return found;
}

/// Every % is followed by two digits.
bool IsPercentEncoded(std::string_view text) {
  for (size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1)) {
    if (at + 2 >= text.size() || !IsHex(text[at + 1]) || !IsHex(text[at + 2])) return false;
  }
  return true;
}

bool IsPort(std::string_view text) {
  return text.empty() || (text[0] == ':' && std::all_of(text.begin() + 1, text.end(), base::IsDigit));
}

bool IsAuthority(std::string_view text) {
  if (const size_t at = text.rfind('@'); at != text.npos) {
    const std::string_view user = text.substr(0, at);
    for (const char letter : user) {
      if (!base::IsLetter(letter) && !base::IsDigit(letter) &&
          std::string_view("-._:~!$&'()*+,;=%@").find(letter) == std::string_view::npos)
        return false;
    }
    if (!IsPercentEncoded(user)) return false;
    text.remove_prefix(at + 1);
  }
  if (text.starts_with('[')) {
    const size_t end = text.rfind(']');
    if (end == text.npos || !IsPort(text.substr(end + 1))) return false;
    text = text.substr(0, end);
  } else if (const size_t colon = text.rfind(':'); colon != text.npos && !IsPort(text.substr(colon))) {
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      // Only bytes that are no ASCII, and the sign itself.
      if (i + 2 >= text.size() || !IsHex(text[i + 1]) || !IsHex(text[i + 2])) return false;
      if (text[i + 1] < '8' && text.substr(i, 3) != "%25") return false;
    } else if (static_cast<unsigned char>(text[i]) < 0x80 && !base::IsLetter(text[i]) && !base::IsDigit(text[i]) &&
               std::string_view("-_.~!$&'()*+,;=:[]<>\"").find(text[i]) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

/// As url.ParseRequestURI: with a scheme, or a path from the root.
bool IsUri(std::string_view text) {
  if (text.empty()) return false;
  if (std::ranges::any_of(text, [](char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f; })) {
    return false;
  }
  if (text == "*") return true;
  bool scheme = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (base::IsLetter(letter)) continue;
    if (letter == ':') {
      if (i == 0) return false;
      scheme = true;
      text.remove_prefix(i + 1);
    } else if (i > 0 && (base::IsDigit(letter) || letter == '+' || letter == '-' || letter == '.')) {
      continue;
    }
    break;
  }
  text = text.substr(0, text.find('?'));
  if (!text.starts_with('/')) return scheme;
  if (scheme && text.starts_with("//")) {
    text.remove_prefix(2);
    const size_t slash = text.find('/');
    if (!IsAuthority(text.substr(0, slash))) return false;
    text = slash == text.npos ? std::string_view() : text.substr(slash);
  }
  return IsPercentEncoded(text);
}

bool IsAtomLetter(char letter) {
  return static_cast<unsigned char>(letter) >= 0x80 || base::IsLetter(letter) || base::IsDigit(letter) ||
         std::string_view("!#$%&'*+-/=?^_`{|}~").find(letter) != std::string_view::npos;
}

void SkipBlanks(std::string_view& text) {
  while (!text.empty() && (text[0] == ' ' || text[0] == '\t' || text[0] == '\r' || text[0] == '\n')) text.remove_prefix(1);
}

bool TakeAtoms(std::string_view& text) {
  size_t length = 0;
  while (length < text.size() && (IsAtomLetter(text[length]) || text[length] == '.')) ++length;
  const std::string_view atoms = text.substr(0, length);
  if (atoms.empty() || atoms.starts_with('.') || atoms.ends_with('.') || atoms.find("..") != atoms.npos) return false;
  text.remove_prefix(length);
  return true;
}

bool TakeQuoted(std::string_view& text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

bool TakeAddress(std::string_view& text) {
  SkipBlanks(text);
  if (text.starts_with('"') ? !TakeQuoted(text) : !TakeAtoms(text)) return false;
  SkipBlanks(text);
  if (!text.starts_with('@')) return false;
  text.remove_prefix(1);
  SkipBlanks(text);
  if (!text.starts_with('[')) return TakeAtoms(text);
  const size_t end = text.find(']');
  if (end == text.npos || !IsIp(text.substr(1, end - 1))) return false;
  text.remove_prefix(end + 1);
  return true;
}

/// As mail.ParseAddress, but for encoded words and comments within: a@b, or Name <a@b>.
bool IsEmail(std::string_view text) {
  std::string_view rest = text;
  if (TakeAddress(rest)) {
    SkipBlanks(rest);
    return rest.empty();
  }
  rest = text;
  SkipBlanks(rest);
  while (!rest.empty() && rest[0] != '<') {
    if (rest[0] == '"' ? !TakeQuoted(rest) : !IsAtomLetter(rest[0]) && rest[0] != '.') return false;
    if (!rest.empty() && rest[0] != '<' && rest[0] != '"' && rest[0] != ' ') rest.remove_prefix(1);
    SkipBlanks(rest);
  }
  if (rest.empty()) return false;
  rest.remove_prefix(1);
  if (!TakeAddress(rest)) return false;
  SkipBlanks(rest);
  if (!rest.starts_with('>')) return false;
  rest.remove_prefix(1);
  SkipBlanks(rest);
  return rest.empty();
}

}  // namespace

FormatCheck FindFormat(std::string_view format) {
  static const std::map<std::string, FormatCheck, std::less<>> kFormats = {
      {"bsonobjectid", Matches<kBsonId>},
      {"byte", Matches<kBase64>},
      {"cidr", IsCidr},
      {"creditcard", IsCreditCard},
      {"date", IsDate},
      {"datetime", IsDateTime},
      {"duration", IsDuration},
      {"email", IsEmail},
      {"hexcolor", Matches<kHexColor>},
      {"hostname", IsHostname},
      {"ipv4", IsIpv4},
      {"ipv6", IsIpv6},
      {"isbn", IsIsbn},
      {"isbn10", IsIsbn10},
      {"isbn13", IsIsbn13},
      {"k8slongname", [](std::string_view text) { return CheckDnsSubdomain(text).empty(); }},
      {"k8sshortname", [](std::string_view text) { return CheckDnsLabel(text).empty(); }},
      {"mac", IsMac},
      {"password", [](std::string_view) { return true; }},
      {"quantity", [](std::string_view text) { return Quantity::Parse(text).has_value(); }},
      {"rgbcolor", Matches<kRgbColor>},
      {"ssn", IsSsn},
      {"uri", IsUri},
      {"uuid", Matches<kUuid>},
      {"uuid3", Matches<kUuid3>},
      {"uuid4", Matches<kUuid4>},
      {"uuid5", Matches<kUuid5>},
  };
  std::string name(format);
  std::erase(name, '-');
  const auto found = kFormats.find(name);
  return found == kFormats.end() ? nullptr : found->second;
}

}  // namespace evenkeel::kube
