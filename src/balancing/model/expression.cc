#include "balancing/model/expression.h"

#include <boost/container/small_vector.hpp>
#include <charconv>
#include <cmath>
#include <optional>

#include "balancing/model/expression_parser.h"
#include "balancing/model/messages.h"
#include "base/text.h"

namespace evenkeel::balancing {
namespace {

using Operator = Expression::Operator;
using Kind = Expression::Kind;
using Term = Expression::Term;

enum class Truth : uint8_t { kFalse, kTrue, kMissing, kWrongType };

Truth TruthOf(bool value) { return value ? Truth::kTrue : Truth::kFalse; }

template <typename T>
std::optional<T> Number(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(number)) return std::nullopt;
  }
  return number;
}

std::optional<std::partial_ordering> CompareNumbers(std::string_view a, std::string_view b) {
  const auto a_whole = Number<int64_t>(a), b_whole = Number<int64_t>(b);
  if (a_whole && b_whole) return *a_whole <=> *b_whole;
  const auto a_real = Number<double>(a), b_real = Number<double>(b);
  if (a_real && b_real) return *a_real <=> *b_real;
  return std::nullopt;
}

struct Uri {
  std::string_view scheme;
  std::vector<std::string> segments;
};

std::optional<Uri> ParseUri(std::string_view text) {
  const size_t colon = text.find(":/");
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto in_scheme = [](char c) { return base::IsAlphanumeric(c) || c == '+' || c == '.' || c == '-'; };
  if (!std::ranges::all_of(text.substr(0, colon), in_scheme)) return std::nullopt;
  return Uri{text.substr(0, colon), DomainSegments(text)};
}

bool BeginsWith(const Uri& uri, const Uri& prefix) {
  return uri.scheme == prefix.scheme && uri.segments.size() >= prefix.segments.size() &&
         std::equal(prefix.segments.begin(), prefix.segments.end(), uri.segments.begin());
}

Truth CompareTexts(Operator comparison, std::string_view value, std::string_view literal) {
  const auto value_uri = ParseUri(value), literal_uri = ParseUri(literal);
  const bool uris = value_uri && literal_uri;
  const bool prefix = uris ? BeginsWith(*value_uri, *literal_uri) : value.starts_with(literal);
  const bool equal = uris ? prefix && value_uri->segments.size() == literal_uri->segments.size() : value == literal;
  switch (comparison) {
    case Operator::kEqual:
      return TruthOf(equal);
    case Operator::kNotEqual:
      return TruthOf(!equal);
    case Operator::kPrefix:
      return TruthOf(prefix);
    case Operator::kNotPrefix:
      return TruthOf(!prefix);
    default:
      return Truth::kWrongType;
  }
}

Truth CompareValues(Operator comparison, std::string_view value, std::string_view literal) {
  const auto order = CompareNumbers(value, literal);
  if (!order) return CompareTexts(comparison, value, literal);
  switch (comparison) {
    case Operator::kEqual:
      return TruthOf(*order == 0);
    case Operator::kNotEqual:
      return TruthOf(*order != 0);
    case Operator::kAtLeast:
      return TruthOf(*order >= 0);
    case Operator::kAtMost:
      return TruthOf(*order <= 0);
    case Operator::kLess:
      return TruthOf(*order < 0);
    case Operator::kGreater:
      return TruthOf(*order > 0);
    default:
      return Truth::kWrongType;
  }
}

Truth Evaluate(const Term& term, const PropertySource& node, ConstraintPart part) {
  if (term.comparison == Operator::kPolicy) return Truth::kTrue;
  if (term.primary_only != (part == ConstraintPart::kPrimaryOnly)) return Truth::kTrue;
  const std::string* value = node.Find(term.name);
  return value == nullptr ? Truth::kMissing : CompareValues(term.comparison, *value, term.literal);
}

using Values = boost::container::small_vector<bool, 64>;

/// The value of every term, or the index of the first comparison that cannot be made.
std::optional<size_t> EvaluateAll(const std::vector<Term>& terms, const PropertySource& node, ConstraintPart part,
                                  Values& values) {
  values.reserve(terms.size());
  for (size_t i = 0; i < terms.size(); ++i) {
    const Term& term = terms[i];
    bool value = false;
    switch (term.kind) {
      case Kind::kTrue:
        value = true;
        break;
      case Kind::kFalse:
        break;
      case Kind::kOr:
        value = values[term.left] || values[term.right];
        break;
      case Kind::kAnd:
        value = values[term.left] && values[term.right];
        break;
      case Kind::kNot:
        value = !values[term.left];
        break;
      case Kind::kCompare: {
        const Truth truth = Evaluate(term, node, part);
        if (truth == Truth::kMissing || truth == Truth::kWrongType) return i;
        value = truth == Truth::kTrue;
        break;
      }
    }
    values.push_back(value);
  }
  return std::nullopt;
}

std::string ComparisonText(const Term& term) {
  return std::string(OperatorText(term.comparison, term.primary_only)) + " " + term.literal;
}

int Strength(Kind kind) {
  if (kind == Kind::kOr) return 1;
  if (kind == Kind::kAnd) return 2;
  return kind == Kind::kCompare ? 3 : 4;
}

/// The text of the first `count` terms' last one.
std::string TextOf(const std::vector<Term>& terms, size_t count) {
  std::vector<std::string> texts(count);
  const auto operand = [&](uint32_t index, int strength_min) {
    std::string text = std::move(texts[index]);
    if (Strength(terms[index].kind) < strength_min) text = "(" + text + ")";
    return text;
  };
  for (size_t i = 0; i < count; ++i) {
    const Term& term = terms[i];
    switch (term.kind) {
      case Kind::kTrue:
        texts[i] = "true";
        break;
      case Kind::kFalse:
        texts[i] = "false";
        break;
      case Kind::kOr:
        texts[i] = operand(term.left, 1);
        texts[i] += " || " + operand(term.right, 2);
        break;
      case Kind::kAnd:
        texts[i] = operand(term.left, 2);
        texts[i] += " && " + operand(term.right, 3);
        break;
      case Kind::kNot:
        texts[i] = "!" + operand(term.left, 4);
        break;
      case Kind::kCompare:
        texts[i] = term.name + " " + ComparisonText(term);
        break;
    }
  }
  return std::move(texts.back());
}

std::string WhyFalse(const Term& term, const PropertySource& node) {
  return term.name + " is " + *node.Find(term.name) + ", not " + ComparisonText(term);
}

}  // namespace

std::string_view OperatorText(Operator comparison, bool primary_only) {
  switch (comparison) {
    case Operator::kEqual:
      return "==";
    case Operator::kNotEqual:
      return "!=";
    case Operator::kAtLeast:
      return ">=";
    case Operator::kAtMost:
      return "<=";
    case Operator::kLess:
      return "<";
    case Operator::kGreater:
      return ">";
    case Operator::kPrefix:
      return primary_only ? "^P" : "^";
    case Operator::kNotPrefix:
      return primary_only ? "!^P" : "!^";
    case Operator::kPolicy:
      return "~";
  }
  return "==";
}

Expression::Expression() : terms_(1) {}

bool Expression::Suits(const PropertySource& node, ConstraintPart part) const {
  Values values;
  return !EvaluateAll(terms_, node, part, values) && values.back();
}

std::string Expression::WhyNot(const PropertySource& node, ConstraintPart part) const {
  Values values;
  if (const auto failed = EvaluateAll(terms_, node, part, values)) {
    const Term& term = terms_[*failed];
    const std::string* value = node.Find(term.name);
    if (value == nullptr) return "the node has no property " + term.name;
    return term.name + " is " + *value + ", which cannot be compared by " + ComparisonText(term);
  }
  if (values.back()) return {};
  constexpr size_t kClausesMax = 4;
  std::string why;
  size_t clauses = 0;
  std::vector<uint32_t> open = {static_cast<uint32_t>(terms_.size() - 1)};
  while (!open.empty()) {
    const uint32_t index = open.back();
    const Term& term = terms_[index];
    open.pop_back();
    if (term.kind == Kind::kAnd) {
      open.push_back(values[term.left] ? term.right : term.left);
    } else if (term.kind == Kind::kOr) {
      open.push_back(term.right);
      open.push_back(term.left);
    } else if (clauses++ == kClausesMax) {
      return why + ", ...";
    } else {
      if (!why.empty()) why += ", and ";
      why += term.kind == Kind::kCompare ? WhyFalse(term, node)
                                         : TextOf(terms_, index + 1) + (term.kind == Kind::kNot ? " does not hold" : "");
    }
  }
  return why;
}

std::vector<std::string> Expression::PropertyNames() const {
  std::vector<std::string> names;
  for (const Term& term : terms_) {
    if (term.kind == Kind::kCompare && term.comparison != Operator::kPolicy) names.push_back(term.name);
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

std::string Expression::ToText() const { return TextOf(terms_, terms_.size()); }

std::string HyphenHint(const Expression& expression) {
  std::string listed;
  for (const std::string& name : expression.PropertyNames()) {
    if (name.find('-') == std::string::npos) continue;
    if (!listed.empty()) listed += ", ";
    listed += OneLine(name);
  }
  if (listed.empty()) return {};
  return "Service Fabric never matches properties whose names contain '-': " + listed;
}

std::vector<std::string> DomainSegments(std::string_view uri) {
  const size_t colon = uri.find(":/");
  std::string_view path = colon == std::string_view::npos ? uri : uri.substr(colon + 1);
  std::vector<std::string> segments;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    if (!segment.empty()) segments.emplace_back(segment);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return segments;
}

}  // namespace evenkeel::balancing
