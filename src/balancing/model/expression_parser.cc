#include "balancing/model/expression_parser.h"

#include "balancing/model/messages.h"
#include "base/text.h"

namespace evenkeel::balancing {
namespace {

constexpr int kExpressionDepthMax = 100;
// A constraint is a line that a person wrote.
constexpr size_t kBytesMax = 64u << 10;

// The longer ones first where one begins with another.
constexpr std::string_view kSymbols[] = {
    "(", ")", "||", "&&", "==", "!=", ">=", "<=", "<", ">", "^P", "!^P", "^", "!^", "~", "!"};

struct Comparator {
  Expression::Operator comparison;
  bool primary_only = false;
};

std::optional<Comparator> ComparatorOf(std::string_view symbol) {
  using enum Expression::Operator;
  for (const auto comparison : {kEqual, kNotEqual, kAtLeast, kAtMost, kLess, kGreater, kPrefix, kNotPrefix, kPolicy}) {
    for (const bool primary_only : {false, true}) {
      if (OperatorText(comparison, primary_only) == symbol) return Comparator{comparison, primary_only};
    }
  }
  return std::nullopt;
}

}  // namespace

base::Result<Expression> Expression::Parse(std::string_view text) { return ExpressionParser(text).Parse(); }

base::Result<Expression> ExpressionParser::Parse() {
  if (text_.size() > kBytesMax) return Refused(0, "longer than 64 KiB");
  SkipSpaces();
  if (at_ == text_.size()) return Expression();
  expression_.terms_.clear();
  EVENKEEL_TRY(ParseOr(0));
  if (at_ < text_.size()) return Refused(at_, "unexpected " + Here());
  return std::move(expression_);
}

base::Result<uint32_t> ExpressionParser::ParseOr(int depth) {
  EVENKEEL_ASSIGN(uint32_t left, ParseAnd(depth));
  while (Take("||")) {
    EVENKEEL_ASSIGN(const uint32_t right, ParseAnd(depth));
    left = Add({.kind = Expression::Kind::kOr, .left = left, .right = right});
  }
  return left;
}

base::Result<uint32_t> ExpressionParser::ParseAnd(int depth) {
  EVENKEEL_ASSIGN(uint32_t left, ParseUnary(depth));
  while (Take("&&")) {
    EVENKEEL_ASSIGN(const uint32_t right, ParseUnary(depth));
    left = Add({.kind = Expression::Kind::kAnd, .left = left, .right = right});
  }
  return left;
}

base::Result<uint32_t> ExpressionParser::ParseUnary(int depth) {
  int negations = 0;
  while (Take("!")) ++negations;
  if (depth + negations > kExpressionDepthMax) return Refused(at_, "nested deeper than 100 levels");
  uint32_t operand = 0;
  const size_t open = at_;
  if (Take("(")) {
    EVENKEEL_ASSIGN(operand, ParseOr(depth + 1));
    if (!Take(")")) return Refused(at_, "expected ) for the ( in column " + std::to_string(open + 1) + ", found " + Here());
    if (const auto comparator = ComparatorOf(OperatorAt(at_))) {
      return Refused(at_, "to the left of a comparison stands the name of a property, not parentheses");
    }
  } else {
    EVENKEEL_ASSIGN(operand, ParseComparison(negations > 0));
  }
  for (; negations > 0; --negations) operand = Add({.kind = Expression::Kind::kNot, .left = operand});
  return operand;
}

base::Result<uint32_t> ExpressionParser::ParseComparison(bool after_not) {
  const size_t start = at_;
  const std::string_view name = TakeWord();
  if (name.empty()) return Refused(at_, "expected the name of a property, found " + Here());
  const size_t operator_at = at_;
  const std::string_view symbol = OperatorAt(at_);
  const auto comparator = ComparatorOf(symbol);
  if (!comparator) {
    if (name == "true") return Add({.kind = Expression::Kind::kTrue});
    if (name == "false") return Add({.kind = Expression::Kind::kFalse});
    return Refused(start, "\"" + OneLine(name) + "\" is not compared with anything; expected == or another comparison");
  }
  if (after_not) {
    return Refused(start, "! binds more strongly than " + std::string(symbol) + ": write !(" + OneLine(name) + " " +
                              std::string(symbol) + " ...)");
  }
  at_ += symbol.size();
  if (comparator->primary_only && at_ < text_.size() && base::IsAlphanumeric(text_[at_])) {
    return Refused(operator_at, "^ followed by a word with P, or ^P? write a space between them");
  }
  SkipSpaces();
  const size_t literal_at = at_;
  const std::string_view literal = TakeWord();
  if (literal.empty()) {
    return Refused(literal_at, "expected what " + OneLine(name) + " is compared with, found " + Here());
  }
  Term term;
  term.kind = Expression::Kind::kCompare;
  term.comparison = comparator->comparison;
  term.primary_only = comparator->primary_only;
  term.name = name;
  term.literal = literal;
  if (term.comparison == Expression::Operator::kPolicy) EVENKEEL_TRY(CheckPolicy(term, start));
  if (term.primary_only) expression_.has_primary_part_ = true;
  return Add(std::move(term));
}

base::Status ExpressionParser::CheckPolicy(const Term& term, size_t at) {
  if (term.name == "PlacePolicy") {
    if (!base::EqualIgnoringCase(term.literal, "NonPartially")) {
      return Refused(at, "PlacePolicy ~ " + OneLine(term.literal) + ": expected NonPartially");
    }
    expression_.non_partially_ = true;
    return {};
  }
  if (term.name != "FDPolicy") {
    return Refused(at, OneLine(term.name) + " is no policy: to the left of ~ stands FDPolicy or PlacePolicy");
  }
  FaultDomainPolicy policy = FaultDomainPolicy::kDefault;
  if (base::EqualIgnoringCase(term.literal, "Packing")) policy = FaultDomainPolicy::kPacking;
  if (base::EqualIgnoringCase(term.literal, "Nonpacking")) policy = FaultDomainPolicy::kNonpacking;
  if (base::EqualIgnoringCase(term.literal, "Ignore")) policy = FaultDomainPolicy::kIgnore;
  if (policy == FaultDomainPolicy::kDefault) {
    return Refused(at, "FDPolicy ~ " + OneLine(term.literal) + ": expected Packing, Nonpacking or Ignore");
  }
  if (expression_.fault_domain_policy_ == FaultDomainPolicy::kDefault) expression_.fault_domain_policy_ = policy;
  return {};
}

uint32_t ExpressionParser::Add(Term term) {
  expression_.terms_.push_back(std::move(term));
  return static_cast<uint32_t>(expression_.terms_.size() - 1);
}

void ExpressionParser::SkipSpaces() {
  const size_t next = text_.find_first_not_of(base::kBlanks, at_);
  at_ = next == std::string_view::npos ? text_.size() : next;
}

std::string_view ExpressionParser::OperatorAt(size_t at) const {
  const std::string_view rest = text_.substr(at);
  for (const std::string_view symbol : kSymbols) {
    if (rest.starts_with(symbol)) return symbol;
  }
  return {};
}

bool ExpressionParser::Take(std::string_view symbol) {
  if (OperatorAt(at_) != symbol) return false;
  at_ += symbol.size();
  SkipSpaces();
  return true;
}

std::string_view ExpressionParser::TakeWord() {
  const size_t start = at_;
  while (at_ < text_.size() && (base::IsAlphanumeric(text_[at_]) || OperatorAt(at_).empty())) ++at_;
  const std::string_view word = text_.substr(start, at_ - start);
  const size_t last = word.find_last_not_of(base::kBlanks);
  return last == std::string_view::npos ? std::string_view() : word.substr(0, last + 1);
}

std::string ExpressionParser::Here() const {
  if (at_ >= text_.size()) return "the end";
  const std::string_view symbol = OperatorAt(at_);
  return "\"" + OneLine(symbol.empty() ? text_.substr(at_) : symbol) + "\"";
}

std::unexpected<base::Error> ExpressionParser::Refused(size_t at, const std::string& what) const {
  return base::Fail(base::Code::kBadRequest, "column " + std::to_string(at + 1) + ": " + what);
}

}  // namespace evenkeel::balancing
