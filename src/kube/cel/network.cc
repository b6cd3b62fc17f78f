// IP addresses and CIDRs. Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/cel/library/{ip,cidr}.go
#include <arpa/inet.h>

#include "kube/cel/library.h"
#include "kube/cel/library_values.h"

namespace evenkeel::kube::cel {
namespace {

using base::Code;
using base::Fail;
using base::Result;

bool IsMapped(const IpValue& ip) {
  static constexpr std::array<uint8_t, 12> kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  return ip.is_v6 && std::equal(kPrefix.begin(), kPrefix.end(), ip.bytes.begin());
}

bool ReadAddress(std::string_view text, IpValue& ip) {
  const std::string whole(text.substr(0, 64));
  ip.is_v6 = text.find(':') != std::string_view::npos;
  // A zero byte would end the text for the C library.
  if (text.size() > 45 || text.find('\0') != std::string_view::npos) return false;
  return inet_pton(ip.is_v6 ? AF_INET6 : AF_INET, whole.c_str(), ip.bytes.data()) == 1;
}

/// IPv4 that is written as IPv6: in Kubernetes never, in CEL's own extension only in hexadecimal digits.
bool Unmap(std::string_view text, bool network, IpValue& ip) {
  if (!IsMapped(ip)) return true;
  if (!network || text.find('.') != std::string_view::npos) return false;
  std::copy(ip.bytes.begin() + 12, ip.bytes.end(), ip.bytes.begin());
  std::fill(ip.bytes.begin() + 4, ip.bytes.end(), uint8_t{0});
  ip.is_v6 = false;
  return true;
}

IpValue Masked(IpValue cidr) {
  for (size_t i = 0; i < cidr.size(); ++i) {
    const int bits = std::clamp(cidr.prefix - static_cast<int>(8 * i), 0, 8);
    cidr.bytes[i] = static_cast<uint8_t>(cidr.bytes[i] & (0xFF00U >> static_cast<unsigned>(bits)));
  }
  return cidr;
}

bool IsUnspecified(const IpValue& ip) {
  return std::ranges::all_of(ip.bytes, [](uint8_t byte) { return byte == 0; });
}
bool IsLoopback(const IpValue& ip) {
  if (!ip.is_v6) return ip.bytes[0] == 127;
  return std::all_of(ip.bytes.begin(), ip.bytes.begin() + 15, [](uint8_t byte) { return byte == 0; }) && ip.bytes[15] == 1;
}
bool IsMulticast(const IpValue& ip) { return ip.is_v6 ? ip.bytes[0] == 0xFF : (ip.bytes[0] & 0xF0) == 0xE0; }
bool IsLinkLocalUnicast(const IpValue& ip) {
  return ip.is_v6 ? ip.bytes[0] == 0xFE && (ip.bytes[1] & 0xC0) == 0x80 : ip.bytes[0] == 169 && ip.bytes[1] == 254;
}
bool IsLinkLocalMulticast(const IpValue& ip) {
  if (ip.is_v6) return ip.bytes[0] == 0xFF && (ip.bytes[1] & 0x0F) == 0x02;
  return ip.bytes[0] == 224 && ip.bytes[1] == 0 && ip.bytes[2] == 0;
}
bool IsGlobalUnicast(const IpValue& ip) {
  const bool broadcast =
      !ip.is_v6 && std::all_of(ip.bytes.begin(), ip.bytes.begin() + 4, [](uint8_t byte) { return byte == 0xFF; });
  return !broadcast && !IsUnspecified(ip) && !IsLoopback(ip) && !IsMulticast(ip) && !IsLinkLocalUnicast(ip);
}

Value MakeIp(Kind kind, const IpValue& ip, Arena& arena) { return Value::Pointer(kind, arena.New<IpValue>(ip)); }

template <bool kNetwork>
Value ToIp(const Call& call) {
  const auto ip = ParseIp(call.args[0].text(), kNetwork);
  return ip ? MakeIp(Kind::kIp, *ip, call.arena) : MakeError(call.arena, ip.error().message());
}
template <bool kNetwork>
Value ToCidr(const Call& call) {
  const auto cidr = ParseCidr(call.args[0].text());
  return cidr ? MakeIp(Kind::kCidr, *cidr, call.arena) : MakeError(call.arena, cidr.error().message());
}

bool Contains(const IpValue& cidr, IpValue ip, int prefix) {
  if (cidr.is_v6 != ip.is_v6 || cidr.prefix > prefix) return false;
  ip.prefix = cidr.prefix;
  return Masked(cidr).bytes == Masked(ip).bytes;
}

template <bool kNetwork>
Value ContainsIp(const Call& call) {
  Value ip = call.args[1];
  if (ip.Is(Kind::kString)) ip = ToIp<kNetwork>({call.arena, call.args.subspan(1)});
  if (ip.IsError()) return ip;
  return Value::Bool(Contains(call.args[0].as<IpValue>(), ip.as<IpValue>(), 128));
}
template <bool kNetwork>
Value ContainsCidr(const Call& call) {
  Value cidr = call.args[1];
  if (cidr.Is(Kind::kString)) cidr = ToCidr<kNetwork>({call.arena, call.args.subspan(1)});
  if (cidr.IsError()) return cidr;
  return Value::Bool(Contains(call.args[0].as<IpValue>(), cidr.as<IpValue>(), cidr.as<IpValue>().prefix));
}

template <bool (*kTest)(const IpValue&)>
Value Test(const Call& call) {
  return Value::Bool(kTest(call.args[0].as<IpValue>()));
}

template <bool kNetwork>
void AddAddresses(Library& library) {
  library.AddFoldable("ip", "(string) net.IP", ToIp<kNetwork>, Cost::kTraverse);
  library.Add(
      "isIP", "(string) bool", [](const Call& call) { return Value::Bool(ParseIp(call.args[0].text(), kNetwork).has_value()); },
      Cost::kTraverse);
  library.Add(
      "ip.isCanonical", "(string) bool",
      [](const Call& call) {
        const auto ip = ParseIp(call.args[0].text(), kNetwork);
        return ip ? Value::Bool(ToText(*ip) == call.args[0].text()) : MakeError(call.arena, ip.error().message());
      },
      Cost::kTraverseTwice);
  library.AddFoldable("cidr", "(string) net.CIDR", ToCidr<kNetwork>, Cost::kTraverse);
  library.Add(
      "isCIDR", "(string) bool", [](const Call& call) { return Value::Bool(ParseCidr(call.args[0].text()).has_value()); },
      Cost::kTraverse);
  for (const std::string_view other : {"string", "net.IP"})
    library.Add("containsIP", fmt::format("net.CIDR.({}) bool", other), ContainsIp<kNetwork>, Cost::kParsedAndOne);
  for (const std::string_view other : {"string", "net.CIDR"})
    library.Add("containsCIDR", fmt::format("net.CIDR.({}) bool", other), ContainsCidr<kNetwork>, Cost::kParsedAndOne);
}

}  // namespace

Result<IpValue> ParseIp(std::string_view text, bool network) {
  IpValue ip;
  const size_t zone = text.find('%');
  if (!ReadAddress(text.substr(0, zone), ip) || (zone != std::string_view::npos && (!ip.is_v6 || zone + 1 == text.size())))
    return Fail(Code::kInvalid, fmt::format("IP Address \"{0}\" parse error during conversion from string: ParseAddr(\"{0}\"): "
                                            "unable to parse IP",
                                            text.substr(0, 100)));
  if (zone != std::string_view::npos)
    return Fail(Code::kInvalid, fmt::format("IP address \"{}\" with zone value is not allowed", text));
  if (!Unmap(text, network, ip))
    return Fail(Code::kInvalid, fmt::format("IPv4-mapped IPv6 address \"{}\" is not allowed", text));
  return ip;
}

Result<IpValue> ParseCidr(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    constexpr std::string_view kWhat = "network address parse error during conversion from string: ";
    return Fail(Code::kInvalid, fmt::format("{0}{0}netip.ParsePrefix(\"{1}\"): {2}", kWhat, text.substr(0, 100), why));
  };
  const size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return wrong("no '/'");
  const std::string_view address = text.substr(0, slash), bits = text.substr(slash + 1);
  IpValue cidr;
  if (address.find('%') != std::string_view::npos) return wrong("IPv6 zones cannot be present in a prefix");
  if (!ReadAddress(address, cidr)) return wrong("unable to parse IP");
  if (bits.empty() || bits.size() > 3 || bits.find_first_not_of("0123456789") != std::string_view::npos ||
      (bits.size() > 1 && bits[0] == '0'))
    return wrong("bad bits after slash");
  const int prefix = std::stoi(std::string(bits));
  if (prefix > static_cast<int>(8 * cidr.size())) return wrong("prefix length out of range");
  if (IsMapped(cidr)) return Fail(Code::kInvalid, fmt::format("IPv4-mapped IPv6 address \"{}\" is not allowed", text));
  cidr.prefix = prefix;
  return cidr;
}

std::string ToText(const IpValue& ip) {
  std::string text;
  if (!ip.is_v6) {
    text = fmt::format("{}.{}.{}.{}", ip.bytes[0], ip.bytes[1], ip.bytes[2], ip.bytes[3]);
  } else {
    // RFC 5952: the first of the longest runs of zeros, of two at least, is left out.
    std::array<unsigned, 8> groups{};
    for (size_t i = 0; i < 8; ++i) groups[i] = ip.bytes[2 * i] * 256U + ip.bytes[2 * i + 1];
    size_t begin = 8, length = 1;
    for (size_t i = 0; i < 8; ++i) {
      size_t end = i;
      while (end < 8 && groups[end] == 0) ++end;
      if (end - i > length) begin = i, length = end - i;
    }
    for (size_t i = 0; i < 8; ++i) {
      if (i == begin) {
        text += "::";
        i += length - 1;
        continue;
      }
      text += fmt::format("{}{:x}", text.empty() || text.ends_with(':') ? "" : ":", groups[i]);
    }
  }
  return ip.prefix < 0 ? text : fmt::format("{}/{}", text, ip.prefix);
}

void AddNetwork(Library& library) {
  if (library.Has(Extension::kNetworkLatest)) {
    AddAddresses<true>(library);
  } else {
    AddAddresses<false>(library);
  }
  library.Add("family", "net.IP.() int", [](const Call& call) { return Value::Int(call.args[0].as<IpValue>().is_v6 ? 6 : 4); });
  library.Add("isUnspecified", "net.IP.() bool", Test<IsUnspecified>);
  library.Add("isLoopback", "net.IP.() bool", Test<IsLoopback>);
  library.Add("isLinkLocalMulticast", "net.IP.() bool", Test<IsLinkLocalMulticast>);
  library.Add("isLinkLocalUnicast", "net.IP.() bool", Test<IsLinkLocalUnicast>);
  library.Add("isGlobalUnicast", "net.IP.() bool", Test<IsGlobalUnicast>);
  library.Add("ip", "net.CIDR.() net.IP", [](const Call& call) {
    IpValue ip = call.args[0].as<IpValue>();
    ip.prefix = -1;
    return MakeIp(Kind::kIp, ip, call.arena);
  });
  library.Add("masked", "net.CIDR.() net.CIDR",
              [](const Call& call) { return MakeIp(Kind::kCidr, Masked(call.args[0].as<IpValue>()), call.arena); });
  library.Add("prefixLength", "net.CIDR.() int",
              [](const Call& call) { return Value::Int(call.args[0].as<IpValue>().prefix); });
}

}  // namespace evenkeel::kube::cel
