// Kubernetes quantities ("500m", "1536Mi", "12e6"), exactly.
// Follows: kubernetes@1.36 staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/input/field.h"

namespace evenkeel::kube {

/// An amount in billionths, with the family of suffixes that it is written in. As in Kubernetes, finer amounts are rounded
/// away from zero, and amounts beyond +-(2^63 - 1) units are cut there: parsing, adding and subtracting saturate, never wrap.
class Quantity {
 public:
  enum class Format {
    kDecimalSi,        ///< n u m "" k M G T P E
    kBinarySi,         ///< Ki Mi Gi Ti Pi Ei
    kDecimalExponent,  ///< e3, E-2
  };

  Quantity() = default;  ///< 0

  /// kBadRequest. Time linear in the text; ordinary quantities take the short way (no allocation).
  static base::Result<Quantity> Parse(std::string_view text);
  /// A string, or a number as people write "cpu: 2".
  static base::Result<Quantity> FromJson(const base::Json& value);
  static Quantity FromInt(int64_t value, Format format = Format::kDecimalSi);
  static Quantity FromMilli(int64_t milli, Format format = Format::kDecimalSi);

  /// The canonical form: no fraction, the largest suffix that leaves a whole number. Binary amounts below 1024 or with a
  /// fraction are written with decimal suffixes.
  std::string ToString() const;

  /// Rounded away from zero; saturates.
  int64_t MilliValue() const;
  int64_t Value() const;
  /// The nearest one.
  double ApproximateValue() const { return static_cast<double>(nanos_) / 1e9; }
  Format format() const { return format_; }
  bool IsZero() const { return nanos_ == 0; }

  /// The result keeps the left side's format, unless the left side is zero.
  Quantity operator+(const Quantity& other) const;
  Quantity operator-(const Quantity& other) const;
  Quantity operator-() const { return Quantity(-nanos_, format_); }
  Quantity& operator+=(const Quantity& other) { return *this = *this + other; }
  Quantity& operator-=(const Quantity& other) { return *this = *this - other; }

  /// By amount: 1000m == 1.
  bool operator==(const Quantity& other) const { return nanos_ == other.nanos_; }
  std::strong_ordering operator<=>(const Quantity& other) const { return nanos_ <=> other.nanos_; }

 private:
  Quantity(__int128 nanos, Format format);

  __int128 nanos_ = 0;
  Format format_ = Format::kDecimalSi;
};

/// A quantity of at least 0; `into` stays as it is where there is none.
base::Status ReadQuantity(const base::Field& field, Quantity& into);
/// An object of such, if there is one.
base::Status CheckQuantities(const base::Field& field);

}  // namespace evenkeel::kube
