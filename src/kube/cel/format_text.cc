// `format` of strings, in the form of version 2, which Kubernetes has, and in the newest one. Follows: cel-go@v0.26.0
// ext/formatting.go, ext/formatting_v2.go
#include <charconv>
#include <cmath>

#include "kube/cel/library.h"

namespace evenkeel::kube::cel {
namespace {

constexpr int kPrecisionMax = 1'000;

struct Clause {
  char letter = 0;
  int precision = 6;
};

/// Over one clause, behind its percent sign.
bool ReadClause(std::string_view format, size_t& at, Clause& clause, std::string& problem) {
  if (at < format.size() && format[at] == '.') {
    const size_t end = std::min(format.find_first_not_of("0123456789", at + 1), format.size());
    const auto [stop, error] = std::from_chars(format.data() + at + 1, format.data() + end, clause.precision);
    if (error != std::errc() || stop != format.data() + end || clause.precision > kPrecisionMax) {
      problem = "could not parse formatting clause: error while converting precision to integer";
      return false;
    }
    at = end;
  }
  if (at >= format.size()) {
    problem = "could not parse formatting clause: unexpected end of string";
    return false;
  }
  clause.letter = format[at++];
  if (std::string_view("sdfebxXo").find(clause.letter) != std::string_view::npos) return true;
  problem = fmt::format("could not parse formatting clause: unrecognized formatting clause \"{}\"",
                        std::string_view(&clause.letter, 1));
  return false;
}

std::string_view MessageOf(char letter) {
  switch (letter) {
    case 'd':
      return "decimal clause can only be used on integers";
    case 'f':
      return "fixed-point clause can only be used on doubles";
    case 'e':
      return "scientific clause can only be used on doubles";
    case 'b':
      return "only integers and bools can be formatted as binary";
    case 'o':
      return "octal clause can only be used on integers";
    case 's':
      return "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
             "timestamps";
    default:
      return "only integers, byte buffers, and strings can be formatted as hex";
  }
}

class Printer {
 public:
  Printer(Arena& arena, bool latest) : arena_(arena), latest_(latest) {}

  /// False where values of the kind cannot be printed so.
  bool Print(const Clause& clause, const Value& value, std::string& out) {
    switch (clause.letter) {
      case 's':
        return Text(value, out, false);
      case 'd':
        if (latest_ && Special(value, out)) return true;
        return Integer(value, 10, false, out);
      case 'f':
        return Fixed(clause, value, out);
      case 'e':
        return Scientific(clause, value, out);
      case 'b':
        if (!value.Is(Kind::kBool)) return Integer(value, 2, false, out);
        out += value.bool_value() ? '1' : '0';
        return true;
      case 'o':
        return Integer(value, 8, false, out);
      default:
        return Hex(value, clause.letter == 'X', out);
    }
  }

 private:
  bool Integer(const Value& value, int base, bool upper, std::string& out) {
    std::array<char, 80> buffer{};
    std::to_chars_result result{};
    if (value.Is(Kind::kInt)) {
      result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value.int_value(), base);
    } else if (value.Is(Kind::kUint)) {
      result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value.uint_value(), base);
    } else {
      return false;
    }
    for (const char* c = buffer.data(); c != result.ptr; ++c) out += upper ? static_cast<char>(std::toupper(*c)) : *c;
    return true;
  }

  bool Hex(const Value& value, bool upper, std::string& out) {
    if (!value.Is(Kind::kString) && !value.Is(Kind::kBytes)) return Integer(value, 16, upper, out);
    for (const char c : value.text()) {
      out +=
          upper ? fmt::format("{:02X}", static_cast<unsigned char>(c)) : fmt::format("{:02x}", static_cast<unsigned char>(c));
    }
    return true;
  }

  /// NaN and the infinities, which have the same text whatever the clause.
  bool Special(const Value& value, std::string& out) {
    if (!value.Is(Kind::kDouble) || std::isfinite(value.double_value())) return false;
    out += std::isnan(value.double_value()) ? "NaN"
           : value.double_value() < 0       ? (latest_ ? "-Infinity" : "-∞")
                                            : (latest_ ? "Infinity" : "∞");
    return true;
  }
  bool AsDouble(const Value& value, double& number) const {
    if (value.Is(Kind::kDouble)) {
      number = value.double_value();
    } else if (value.Is(Kind::kInt)) {
      number = static_cast<double>(value.int_value());
    } else if (value.Is(Kind::kUint)) {
      number = static_cast<double>(value.uint_value());
    } else {
      return false;
    }
    return latest_ || value.Is(Kind::kDouble);
  }

  bool Fixed(const Clause& clause, const Value& value, std::string& out) {
    if (Special(value, out)) return true;
    double number = 0;
    if (!AsDouble(value, number)) return !latest_ && NamedDouble(value, out);
    out += fmt::format("{:.{}f}", number, clause.precision);
    return true;
  }
  /// The old formatter takes the names of what is no number.
  bool NamedDouble(const Value& value, std::string& out) {
    if (!value.Is(Kind::kString)) return false;
    if (value.text() == "NaN") return out += "NaN", true;
    if (value.text() == "Infinity") return out += "∞", true;
    if (value.text() == "-Infinity") return out += "-∞", true;
    return false;
  }

  bool Scientific(const Clause& clause, const Value& value, std::string& out) {
    if (Special(value, out)) return true;
    double number = 0;
    if (!AsDouble(value, number)) return !latest_ && NamedDouble(value, out);
    const std::string plain = fmt::format("{:.{}e}", number, clause.precision);
    if (latest_) {
      out += plain;
      return true;
    }
    const size_t exponent = plain.find('e');
    out += plain.substr(0, exponent) + "\u202F×\u202F10";
    static constexpr std::array<std::string_view, 10> kRaised = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    for (const char c : plain.substr(exponent + 1)) {
      if (c == '-') out += "⁻";
      if (c >= '0' && c <= '9') out += kRaised[static_cast<size_t>(c - '0')];
    }
    return true;
  }

  bool Number(const Value& value, std::string& out, bool nested) {
    if (!value.Is(Kind::kDouble)) return Integer(value, 10, false, out);
    if (latest_) {
      if (!Special(value, out)) out += DoubleText(value.double_value());
    } else if (nested && std::isfinite(value.double_value())) {
      out += fmt::format("{:.6f}", value.double_value());
    } else if (nested) {
      out += std::isnan(value.double_value()) ? "\"NaN\"" : value.double_value() < 0 ? "\"-Infinity\"" : "\"Infinity\"";
    } else {
      out += DoubleText(value.double_value());
    }
    return true;
  }

  bool Text(const Value& value, std::string& out, bool nested) {
    const bool literal = nested && !latest_;
    switch (value.kind()) {
      case Kind::kString:
        out += literal ? Quoted(value.text()) : std::string(value.text());
        return true;
      case Kind::kBytes:
        out += literal ? "b" + Quoted(value.text()) : std::string(value.text());
        return true;
      case Kind::kNull:
        out += "null";
        return true;
      case Kind::kBool:
        out += value.bool_value() ? "true" : "false";
        return true;
      case Kind::kInt:
      case Kind::kUint:
      case Kind::kDouble:
        return Number(value, out, nested);
      case Kind::kTimestamp:
        out += literal ? "timestamp(\"" + TimestampText(value) + "\")" : TimestampText(value);
        return true;
      case Kind::kDuration:
        out += literal ? "duration(\"" + DurationText(value.int_value()) + "\")" : DurationText(value.int_value());
        return true;
      case Kind::kType:
        out += value.type()->name;
        return true;
      case Kind::kList:
        return Items(value.list(), out);
      case Kind::kMap:
        return Entries(value.map(), out);
      default:
        return false;
    }
  }

  std::string Quoted(std::string_view text) {
    static const Function* const quote = Library::Kubernetes()->Find("strings.quote");
    const Value argument = Value::String(text);
    return std::string(quote->overloads[0].run({arena_, {&argument, 1}}).text());
  }

  bool Items(const List& list, std::string& out) {
    out += '[';
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out += ", ";
      if (!Text(list.At(i, arena_), out, true) || arena_.TooMuch(out.size())) return false;
    }
    out += ']';
    return true;
  }
  bool Entries(const Map& map, std::string& out) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (size_t i = 0; i < map.size(); ++i) {
      auto& [key, value] = entries.emplace_back();
      if (!Text(map.KeyAt(i, arena_), key, true) || !Text(map.ValueAt(i, arena_), value, true)) return false;
    }
    std::ranges::sort(entries);
    out += '{';
    for (size_t i = 0; i < entries.size(); ++i)
      out += (i > 0 ? ", " : "") + entries[i].first + (latest_ ? ": " : ":") + entries[i].second;
    out += '}';
    return !arena_.TooMuch(out.size());
  }

  Arena& arena_;
  bool latest_;
};

}  // namespace

Value FormatText(const Call& call, bool latest) {
  const std::string_view format = call.args[0].text();
  const List& list = call.args[1].list();
  Printer printer(call.arena, latest);
  std::string out;
  size_t used = 0;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    if (++at < format.size() && format[at] == '%') {
      out += format[at++];
      continue;
    }
    Clause clause;
    std::string problem;
    if (!ReadClause(format, at, clause, problem)) return MakeError(call.arena, problem);
    if (used >= list.size()) return MakeError(call.arena, fmt::format("index {} out of range", used));
    const Value value = list.At(used++, call.arena);
    if (!printer.Print(clause, value, out)) {
      return MakeError(call.arena, fmt::format("error during formatting: {}, was given {}", MessageOf(clause.letter),
                                               types::Of(value)->name));
    }
    if (call.arena.TooMuch(out.size())) return Value::Error("the text is too long");
  }
  return MakeString(call.arena, out);
}

std::string CheckFormatText(std::string_view format, std::span<const Type* const> arguments) {
  size_t used = 0;
  for (size_t at = 0; at < format.size();) {
    if (format[at++] != '%') continue;
    if (at < format.size() && format[at] == '%') {
      ++at;
      continue;
    }
    Clause clause;
    std::string problem;
    if (!ReadClause(format, at, clause, problem)) return problem;
    if (used >= arguments.size()) return fmt::format("index {} out of range", used);
    const Type& type = *arguments[used++];
    using K = Type::Kind;
    const bool integer = type.kind == K::kInt || type.kind == K::kUint;
    bool fits = type.kind == K::kDyn || type.kind == K::kError || type.kind == K::kParameter;
    switch (clause.letter) {
      case 's':
        fits = fits || type.kind != K::kOpaque;
        break;
      case 'd':
      case 'o':
        fits = fits || integer;
        break;
      case 'b':
        fits = fits || integer || type.kind == K::kBool;
        break;
      case 'e':
      case 'f':
        fits = fits || type.kind == K::kDouble || type.kind == K::kString;
        break;
      default:
        fits = fits || integer || type.kind == K::kString || type.kind == K::kBytes;
    }
    if (!fits) return fmt::format("error during formatting: {}, was given {}", MessageOf(clause.letter), ToText(type));
  }
  if (used < arguments.size())
    return fmt::format("too many arguments supplied to string.format (expected {}, got {})", used, arguments.size());
  return "";
}

}  // namespace evenkeel::kube::cel
