#include "kube/quantity.h"

#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <limits>
#include <optional>

#include "base/parse_number.h"
#include "base/utf8.h"

namespace evenkeel::kube {
namespace {

using base::Code;
using base::Fail;
using base::Result;
using Format = Quantity::Format;
using WideInteger = boost::multiprecision::uint512_t;

constexpr __int128 kNano = 1'000'000'000;
constexpr __int128 kNanosMax = static_cast<__int128>(std::numeric_limits<int64_t>::max()) * kNano;

constexpr std::string_view kWrongForm =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr std::string_view kWrongSuffix = "unable to parse quantity's suffix";

struct QuantitySuffix {
  std::string_view text;
  Format format;
  int exponent;  ///< of 10, or of 2 for binary suffixes
};

constexpr std::array kQuantitySuffixes = {
    QuantitySuffix{"", Format::kDecimalSi, 0},   QuantitySuffix{"m", Format::kDecimalSi, -3},
    QuantitySuffix{"Mi", Format::kBinarySi, 20}, QuantitySuffix{"Gi", Format::kBinarySi, 30},
    QuantitySuffix{"Ki", Format::kBinarySi, 10}, QuantitySuffix{"k", Format::kDecimalSi, 3},
    QuantitySuffix{"M", Format::kDecimalSi, 6},  QuantitySuffix{"G", Format::kDecimalSi, 9},
    QuantitySuffix{"Ti", Format::kBinarySi, 40}, QuantitySuffix{"T", Format::kDecimalSi, 12},
    QuantitySuffix{"Pi", Format::kBinarySi, 50}, QuantitySuffix{"P", Format::kDecimalSi, 15},
    QuantitySuffix{"Ei", Format::kBinarySi, 60}, QuantitySuffix{"E", Format::kDecimalSi, 18},
    QuantitySuffix{"u", Format::kDecimalSi, -6}, QuantitySuffix{"n", Format::kDecimalSi, -9},
};

// "e3", "E-2", "M"; nothing where it is none of them. Exponents beyond four digits are as good as infinite.
std::optional<QuantitySuffix> ReadQuantitySuffix(std::string_view text) {
  for (const QuantitySuffix& suffix : kQuantitySuffixes) {
    if (suffix.text == text) return suffix;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  const auto exponent = base::ParseGoInteger(text.substr(1));
  if (!exponent) return std::nullopt;
  return QuantitySuffix{"", Format::kDecimalExponent, static_cast<int>(std::clamp<int64_t>(*exponent, -9999, 9999))};
}

// The number's text, without sign, split.
struct QuantityNumber {
  std::string_view whole;
  std::string_view fraction;
};

// Magnitude in billionths, rounded up, at most kNanosMax.
__int128 QuantityNanos(const QuantityNumber& number, const QuantitySuffix& suffix) {
  constexpr size_t kDigitsMax = 100;
  const int binary = suffix.format == Format::kBinarySi ? suffix.exponent : 0;
  int64_t decimal = 9 + (suffix.format == Format::kBinarySi ? 0 : suffix.exponent);
  const size_t whole_size = number.whole.size();
  const size_t size = whole_size + number.fraction.size();
  WideInteger mantissa = 0;
  bool remainder = false;
  size_t significant = 0;
  for (size_t i = 0; i < size; ++i) {
    const bool in_whole = i < whole_size;
    const char digit = in_whole ? number.whole[i] : number.fraction[i - whole_size];
    if (significant == kDigitsMax) {
      // More digits than these change the result only by rounding.
      remainder = remainder || digit != '0';
      if (in_whole) ++decimal;
      continue;
    }
    if (significant > 0 || digit != '0') ++significant;
    mantissa = mantissa * 10 + static_cast<unsigned>(digit - '0');
    if (!in_whole) --decimal;
  }
  if (mantissa == 0) return 0;
  mantissa <<= static_cast<unsigned>(binary);
  if (decimal > 30) return kNanosMax;
  if (decimal < -150) return 1;
  const WideInteger power =
      boost::multiprecision::pow(WideInteger(10), static_cast<unsigned>(decimal < 0 ? -decimal : decimal));
  if (decimal >= 0) {
    mantissa *= power;
  } else {
    remainder = remainder || mantissa % power != 0;
    mantissa /= power;
  }
  if (mantissa >= WideInteger(static_cast<unsigned __int128>(kNanosMax))) return kNanosMax;
  return static_cast<__int128>(static_cast<unsigned __int128>(mantissa)) + (remainder ? 1 : 0);
}

// The same for the few digits that nearly all quantities have; nothing where they do not fit.
std::optional<__int128> ShortQuantityNanos(const QuantityNumber& number, const QuantitySuffix& suffix) {
  const size_t digits = number.whole.size() + number.fraction.size();
  const bool binary = suffix.format == Format::kBinarySi;
  const int decimal = binary ? 9 : 9 + suffix.exponent - static_cast<int>(number.fraction.size());
  if (digits > (binary ? 9u : 18u) || decimal < 0 || decimal > 18 || (binary && !number.fraction.empty())) return std::nullopt;
  __int128 nanos = 0;
  for (const char digit : number.whole) nanos = nanos * 10 + (digit - '0');
  for (const char digit : number.fraction) nanos = nanos * 10 + (digit - '0');
  for (int i = 0; i < decimal; ++i) nanos *= 10;
  if (binary) nanos <<= suffix.exponent;
  return std::min(nanos, kNanosMax);
}

std::string_view TakeDigits(std::string_view& rest) {
  const size_t end = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const std::string_view digits = rest.substr(0, end);
  rest.remove_prefix(end);
  return digits;
}

bool HasSuffixForm(std::string_view text) {
  const size_t letters = std::min(text.find_first_not_of("eEinumkKMGTP"), text.size());
  text.remove_prefix(letters);
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string DecimalText(unsigned __int128 magnitude) {
  std::string reversed;
  do {
    reversed += static_cast<char>('0' + static_cast<int>(magnitude % 10));
    magnitude /= 10;
  } while (magnitude != 0);
  return std::string(reversed.rbegin(), reversed.rend());
}

int64_t RoundedAwayFromZero(__int128 nanos, __int128 unit) {
  __int128 value = nanos / unit;
  if (nanos % unit != 0) value += nanos < 0 ? -1 : 1;
  constexpr __int128 kMax = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::clamp(value, -kMax, kMax));
}

}  // namespace

Quantity::Quantity(__int128 nanos, Format format) : nanos_(std::clamp(nanos, -kNanosMax, kNanosMax)), format_(format) {}

Result<Quantity> Quantity::Parse(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  QuantityNumber number;
  number.whole = TakeDigits(rest);
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    number.fraction = TakeDigits(rest);
  }
  if (number.whole.empty() && number.fraction.empty()) return Fail(Code::kBadRequest, std::string(kWrongForm));
  if (!HasSuffixForm(rest)) return Fail(Code::kBadRequest, std::string(kWrongForm));
  const std::optional<QuantitySuffix> suffix = ReadQuantitySuffix(rest);
  if (!suffix) return Fail(Code::kBadRequest, std::string(kWrongSuffix));
  number.whole.remove_prefix(std::min(number.whole.find_first_not_of('0'), number.whole.size()));
  const std::optional<__int128> short_nanos = ShortQuantityNanos(number, *suffix);
  const __int128 nanos = short_nanos ? *short_nanos : QuantityNanos(number, *suffix);
  // Less than one byte has no binary suffix.
  const bool below_one = !negative && nanos > 0 && nanos < kNano;
  const Format format = suffix->format == Format::kBinarySi && below_one ? Format::kDecimalSi : suffix->format;
  return Quantity(negative ? -nanos : nanos, format);
}

Result<Quantity> Quantity::FromJson(const base::Json& value) {
  if (value.is_string()) return Parse(value.get_string());
  if (value.is_number()) return Parse(base::ToText(value));
  return Fail(Code::kBadRequest, std::string(kWrongForm));
}

Quantity Quantity::FromInt(int64_t value, Format format) { return Quantity(value * kNano, format); }
Quantity Quantity::FromMilli(int64_t milli, Format format) { return Quantity(milli * (kNano / 1000), format); }

std::string Quantity::ToString() const {
  if (nanos_ == 0) return "0";
  const std::string sign = nanos_ < 0 ? "-" : "";
  auto magnitude = static_cast<unsigned __int128>(nanos_ < 0 ? -nanos_ : nanos_);
  const auto unit = static_cast<unsigned __int128>(kNano);
  if (format_ == Format::kBinarySi && magnitude >= 1024 * unit && magnitude % unit == 0) {
    static constexpr std::array<std::string_view, 7> kBinary = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    magnitude /= unit;
    size_t step = 0;
    for (; step + 1 < kBinary.size() && magnitude % 1024 == 0; ++step) magnitude /= 1024;
    return sign + DecimalText(magnitude) + std::string(kBinary[step]);
  }
  static constexpr std::array<std::string_view, 10> kDecimal = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  size_t step = 0;
  for (; step + 1 < kDecimal.size() && magnitude % 1000 == 0; ++step) magnitude /= 1000;
  if (format_ != Format::kDecimalExponent) return sign + DecimalText(magnitude) + std::string(kDecimal[step]);
  const int exponent = 3 * static_cast<int>(step) - 9;
  return sign + DecimalText(magnitude) + (exponent == 0 ? "" : "e" + std::to_string(exponent));
}

int64_t Quantity::MilliValue() const { return RoundedAwayFromZero(nanos_, kNano / 1000); }
int64_t Quantity::Value() const { return RoundedAwayFromZero(nanos_, kNano); }

Quantity Quantity::operator+(const Quantity& other) const {
  return Quantity(nanos_ + other.nanos_, IsZero() ? other.format_ : format_);
}

Quantity Quantity::operator-(const Quantity& other) const {
  return Quantity(nanos_ - other.nanos_, IsZero() ? other.format_ : format_);
}

base::Status ReadQuantity(const base::Field& field, Quantity& into) {
  if (!field) return {};
  const auto quantity = Quantity::FromJson(field.value());
  if (!quantity)
    return field.Wrong(base::OneLine(base::ToText(field.value())) + " is not a quantity: " + quantity.error().message());
  if (*quantity < Quantity()) return field.Wrong("less than 0");
  into = *quantity;
  return {};
}

base::Status CheckQuantities(const base::Field& field) {
  return field.ForEachMember([](std::string_view, const base::Field& amount) {
    Quantity unused;
    return ReadQuantity(amount, unused);
  });
}

}  // namespace evenkeel::kube
