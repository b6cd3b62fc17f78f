// How URLs and semantic versions are read. Follows: Go's net/url (ParseRequestURI) and github.com/blang/semver@v4
#include <charconv>

#include "base/text.h"
#include "kube/cel/library_values.h"

namespace evenkeel::kube::cel {
namespace {

using base::Code;
using base::Fail;
using base::Result;

/// Whether each percent sign is followed by two hexadecimal digits.
bool HasValidEscapes(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    for (size_t k = 1; k <= 2; ++k)
      if (i + k >= text.size() || std::isxdigit(static_cast<unsigned char>(text[i + k])) == 0) return false;
  }
  return true;
}

/// A path as it goes over the wire: as it is where it could have been escaped so, else escaped anew.
std::string_view EscapedPath(std::string_view path, Arena& arena) {
  constexpr std::string_view kPlain = "-_.~$&+,/:;=@";
  constexpr std::string_view kAlsoValid = "!'()*[]%";
  const auto valid = [&](char c) {
    return base::IsAlphanumeric(c) || kPlain.find(c) != std::string_view::npos || kAlsoValid.find(c) != std::string_view::npos;
  };
  if (std::ranges::all_of(path, valid)) return path;
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    char c = path[i];
    if (c == '%') {
      int code = 0;
      std::from_chars(path.data() + i + 1, path.data() + i + 3, code, 16);
      c = static_cast<char>(code);
      i += 2;
    }
    if (base::IsAlphanumeric(c) || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return arena.Copy(out);
}

bool IsOptionalPort(std::string_view text) {
  return text.empty() || (text[0] == ':' && text.substr(1).find_first_not_of("0123456789") == std::string_view::npos);
}

base::Status CheckHost(std::string_view host) {
  std::string_view port;
  if (host.starts_with('[')) {
    const size_t end = host.rfind(']');
    if (end == std::string_view::npos) return Fail(Code::kInvalid, "missing ']' in host");
    port = host.substr(end + 1);
  } else if (const size_t colon = host.rfind(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
  }
  if (!IsOptionalPort(port)) return Fail(Code::kInvalid, fmt::format("invalid port \"{}\" after host", port));
  constexpr std::string_view kAllowed = "-_.~!$&'()*+,;=:[]<>\"%";
  for (const char c : host) {
    if (!base::IsAlphanumeric(c) && kAllowed.find(c) == std::string_view::npos && static_cast<unsigned char>(c) < 0x80)
      return Fail(Code::kInvalid, fmt::format("invalid character \"{}\" in host name", c));
  }
  if (!HasValidEscapes(host)) return Fail(Code::kInvalid, "invalid URL escape in host");
  return {};
}

/// The scheme, lower-cased; what is behind it stays in `rest`.
Result<std::string_view> TakeScheme(std::string_view& rest, Arena& arena) {
  for (size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (base::IsLetter(c)) continue;
    if (i > 0 && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')) continue;
    if (c != ':') break;
    if (i == 0) return Fail(Code::kInvalid, "missing protocol scheme");
    const std::string scheme = base::Lower(rest.substr(0, i));
    rest.remove_prefix(i + 1);
    return arena.Copy(scheme);
  }
  return std::string_view();
}

Result<uint64_t> VersionNumber(std::string_view text, std::string_view name) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos)
    return Fail(Code::kInvalid, fmt::format("Invalid character(s) found in {} number \"{}\"", name, text));
  if (text.size() > 1 && text[0] == '0')
    return Fail(Code::kInvalid, fmt::format("{} number must not contain leading zeroes \"{}\"", name, text));
  uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    return Fail(Code::kInvalid, fmt::format("{} number \"{}\": value out of range", name, text));
  return number;
}

bool IsNumeric(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

/// The identifiers between dots; `numbers`: those of digits must not begin with a zero.
base::Status CheckIdentifiers(std::string_view text, bool numbers, std::string_view what) {
  for (;;) {
    const size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty()) return Fail(Code::kInvalid, fmt::format("{} is empty", what));
    if (!std::ranges::all_of(part, [](char c) { return base::IsAlphanumeric(c) || c == '-'; }))
      return Fail(Code::kInvalid, fmt::format("Invalid character(s) found in {} \"{}\"", what, part));
    if (numbers && IsNumeric(part) && part.size() > 1 && part[0] == '0')
      return Fail(Code::kInvalid, fmt::format("Numeric PreRelease version must not contain leading zeroes \"{}\"", part));
    if (dot == std::string_view::npos) return {};
    text.remove_prefix(dot + 1);
  }
}

std::string_view TakeIdentifier(std::string_view& rest) {
  const size_t dot = rest.find('.');
  const std::string_view part = rest.substr(0, dot);
  rest.remove_prefix(dot == std::string_view::npos ? rest.size() : dot + 1);
  return part;
}

int ComparePreRelease(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return static_cast<int>(a.empty()) - static_cast<int>(b.empty());
  while (!a.empty() && !b.empty()) {
    const std::string_view x = TakeIdentifier(a), y = TakeIdentifier(b);
    const bool x_number = IsNumeric(x), y_number = IsNumeric(y);
    if (x_number != y_number) return x_number ? -1 : 1;
    if (x_number && x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
    if (const int order = x.compare(y); order != 0) return order < 0 ? -1 : 1;
  }
  return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
}

}  // namespace

std::string_view UrlValue::hostname() const {
  if (host.starts_with('[')) return host.substr(1, host.rfind(']') - 1);
  return host.substr(0, host.rfind(':'));
}

std::string_view UrlValue::port() const {
  const size_t from = host.starts_with('[') ? host.rfind(']') + 1 : 0;
  const size_t colon = host.rfind(':');
  return colon == std::string_view::npos || colon < from ? std::string_view() : host.substr(colon + 1);
}

Result<UrlValue> ParseUrl(std::string_view text, Arena& arena) {
  if (text.empty()) return Fail(Code::kInvalid, "empty url");
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return Fail(Code::kInvalid, "invalid control character in URL");
  UrlValue url;
  if (text == "*") {
    url.escaped_path = text;
    return url;
  }
  std::string_view rest = text;
  EVENKEEL_ASSIGN(url.scheme, TakeScheme(rest, arena));
  const size_t question = rest.find('?');
  if (question != std::string_view::npos) url.query = rest.substr(question + 1);
  rest = rest.substr(0, question);
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) return url;  // opaque
    return Fail(Code::kInvalid, "invalid URI for request");
  }
  if (!url.scheme.empty() && rest.starts_with("//")) {
    rest.remove_prefix(2);
    std::string_view authority = rest.substr(0, rest.find('/'));
    rest.remove_prefix(authority.size());
    if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
      const std::string_view user = authority.substr(0, at);
      if (user.find_first_of(" \"<>[]{}|\\^`/?#") != std::string_view::npos || !HasValidEscapes(user))
        return Fail(Code::kInvalid, "net/url: invalid userinfo");
      authority.remove_prefix(at + 1);
    }
    EVENKEEL_TRY(CheckHost(authority));
    url.host = authority;
  }
  if (!HasValidEscapes(rest)) return Fail(Code::kInvalid, "invalid URL escape");
  url.escaped_path = EscapedPath(rest, arena);
  return url;
}

Result<SemverValue> ParseSemver(std::string_view text) {
  if (text.empty()) return Fail(Code::kInvalid, "Version string empty");
  const size_t first = text.find('.');
  const size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos) return Fail(Code::kInvalid, "No Major.Minor.Patch elements found");
  SemverValue version;
  EVENKEEL_ASSIGN(version.major, VersionNumber(text.substr(0, first), "Major"));
  EVENKEEL_ASSIGN(version.minor, VersionNumber(text.substr(first + 1, second - first - 1), "Minor"));
  std::string_view patch = text.substr(second + 1);
  if (const size_t plus = patch.find('+'); plus != std::string_view::npos) {
    version.build = patch.substr(plus + 1);
    EVENKEEL_TRY(CheckIdentifiers(version.build, false, "Build meta data"));
    patch = patch.substr(0, plus);
  }
  if (const size_t dash = patch.find('-'); dash != std::string_view::npos) {
    version.pre_release = patch.substr(dash + 1);
    EVENKEEL_TRY(CheckIdentifiers(version.pre_release, true, "PreRelease"));
    patch = patch.substr(0, dash);
  }
  EVENKEEL_ASSIGN(version.patch, VersionNumber(patch, "Patch"));
  return version;
}

std::string NormalSemver(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::vector<std::string> parts;
  while (parts.size() < 2 && text.find('.') != std::string_view::npos) {
    parts.emplace_back(text.substr(0, text.find('.')));
    text.remove_prefix(text.find('.') + 1);
  }
  parts.emplace_back(text);
  for (std::string& part : parts) {
    if (part.size() <= 1) continue;
    part.erase(0, part.find_first_not_of('0'));
    if (part.empty() || part[0] < '0' || part[0] > '9') part.insert(0, "0");
  }
  // A short one with more behind it is none, whichever way.
  const bool plain = parts.back().find_first_of("+-") == std::string::npos;
  while (plain && parts.size() < 3) parts.emplace_back("0");
  std::string out;
  for (const std::string& part : parts) out += (out.empty() && &part == &parts.front() ? "" : ".") + part;
  return out;
}

int CompareSemver(const SemverValue& a, const SemverValue& b) {
  const auto numbers = [](const SemverValue& version) { return std::tuple(version.major, version.minor, version.patch); };
  if (numbers(a) != numbers(b)) return numbers(a) < numbers(b) ? -1 : 1;
  return ComparePreRelease(a.pre_release, b.pre_release);
}

}  // namespace evenkeel::kube::cel
