// Reads the text of a placement constraint; expression.h tells the language.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "balancing/model/expression.h"

namespace evenkeel::balancing {

/// "==", "^P", ...
std::string_view OperatorText(Expression::Operator comparison, bool primary_only);

class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) {}
  base::Result<Expression> Parse();

 private:
  using Term = Expression::Term;

  base::Result<uint32_t> ParseOr(int depth);
  base::Result<uint32_t> ParseAnd(int depth);
  base::Result<uint32_t> ParseUnary(int depth);
  base::Result<uint32_t> ParseComparison(bool after_not);
  base::Status CheckPolicy(const Term& term, size_t at);

  uint32_t Add(Term term);
  void SkipSpaces();
  /// The operator at `at`, "" when there is none.
  std::string_view OperatorAt(size_t at) const;
  bool Take(std::string_view symbol);
  /// What stands up to the next operator, without spaces around it.
  std::string_view TakeWord();
  /// What stands here, for messages.
  std::string Here() const;
  std::unexpected<base::Error> Refused(size_t at, const std::string& what) const;

  std::string_view text_;
  size_t at_ = 0;
  Expression expression_;
};

}  // namespace evenkeel::balancing
