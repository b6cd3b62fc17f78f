// The values of Kubernetes' own libraries, and how they are read.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/cel/value.h"
#include "kube/quantity.h"

namespace evenkeel::kube::cel {

struct QuantityValue {
  Quantity amount;
  bool exact = true;  ///< false: it was cut at what a Quantity can hold
};

struct IpValue {
  std::array<uint8_t, 16> bytes{};  ///< the first four of an IPv4 address
  bool is_v6 = false;
  int prefix = -1;  ///< of a CIDR
  size_t size() const { return is_v6 ? 16 : 4; }
};

struct UrlValue {
  std::string_view scheme, host, escaped_path, query;
  std::string_view hostname() const;
  std::string_view port() const;
};

struct SemverValue {
  uint64_t major = 0, minor = 0, patch = 0;
  std::string_view pre_release;  ///< without the dash
  std::string_view build;
};

/// `network`: as the network extension of CEL itself has it, which takes IPv4 in hexadecimal IPv6.
base::Result<IpValue> ParseIp(std::string_view text, bool network);
base::Result<IpValue> ParseCidr(std::string_view text);
std::string ToText(const IpValue& ip);
/// The views point into the text, which the caller keeps, or into the arena.
base::Result<UrlValue> ParseUrl(std::string_view text, Arena& arena);
base::Result<SemverValue> ParseSemver(std::string_view text);
/// Of "v1.2" and "01.2.3": "1.2.0" and "1.2.3".
std::string NormalSemver(std::string_view text);
/// By precedence: -1, 0 or 1; the build does not count.
int CompareSemver(const SemverValue& a, const SemverValue& b);

/// One of the formats that `format.NAME()` names.
struct FormatValue {
  std::string_view name;
  /// What is wrong with the text, a line each.
  std::vector<std::string> (*check)(std::string_view text);
};
const FormatValue* FindNamedFormat(std::string_view name);

/// Two values of one of the kinds from kQuantity on.
bool SameLibraryValue(const Value& a, const Value& b);

}  // namespace evenkeel::kube::cel
