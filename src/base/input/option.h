// Tables of options, as the autoscaler's flags and the balancer's parameters are: how one is called, of which type and range it
// is, what holds where nobody sets it, and why it has no effect where it has none. Each table adds what is special about it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "base/time.h"

namespace evenkeel::base {

enum class OptionType {
  kBool,
  kInteger,
  kNumber,
  kSeconds,
  kDuration,  ///< Go's syntax: 10m, 1h30m
  kText,
  kList,   ///< "a,b"; given again, it is added to
  kMulti,  ///< given once per value
};
/// "bool", "int", "float", "seconds", "duration", "string", "list", "string, repeatable".
std::string_view Name(OptionType type);

struct Option {
  std::string topic;  ///< heading in the documentation
  std::string name;
  OptionType type = OptionType::kText;
  std::string range;  ///< "0..1", "at least 0", "" when any value of the type is right
  std::string default_text;
  std::string help;
  std::string no_effect;  ///< why it is read and checked, and used by nothing; "": it has an effect
};

/// From `min` to `max`, both included.
template <typename T>
struct OptionRange {
  static constexpr T kHighest =
      std::is_integral_v<T> ? std::numeric_limits<T>::max() : static_cast<T>(1'000'000'000'000'000'000);
  static constexpr T kLowest = std::is_integral_v<T> ? std::numeric_limits<T>::min() : -kHighest;
  T min = kLowest, max = kHighest;
  std::string Text() const;  ///< as Option::range
};

/// What a text says. kBadRequest: `"TEXT": what it is not`. A boolean is true, t, 1, false, f or 0, in any case.
Status ReadOption(std::string_view text, bool& into);
Status ReadOption(std::string_view text, int64_t& into, OptionRange<int64_t> range = {});
Status ReadOption(std::string_view text, double& into, OptionRange<double> range = {});
Status ReadOption(std::string_view text, Duration& into);  ///< at least 0
Status ReadOption(std::string_view text, std::string& into);
/// Whether a text is a value of the type; the range is that of numbers.
Status CheckOption(std::string_view text, OptionType type, OptionRange<double> range = {});
std::unexpected<Error> WrongOption(std::string_view text, std::string_view what);

/// As a default is shown.
std::string OptionText(bool value);
std::string OptionText(int64_t value);
std::string OptionText(double value);
std::string OptionText(Duration value);
std::string OptionText(const std::string& value);

}  // namespace evenkeel::base
