#include "kube/selector.h"

#include <algorithm>

#include "base/parse_number.h"
#include "kube/object.h"

namespace evenkeel::kube {
namespace {

using base::Code;
using base::Fail;
using base::Json;
using base::JsonObject;
using base::Result;
using base::Status;
using Operator = LabelRequirement::Operator;

enum class SelectorToken { kEnd, kComma, kOpen, kClose, kNot, kEquals, kNotEquals, kGreater, kLess, kIn, kNotIn, kIdentifier };

class SelectorLexer {
 public:
  explicit SelectorLexer(std::string_view text) : rest_(text) { Advance(); }

  SelectorToken token() const { return token_; }
  /// Where a value is expected, "in" and "notin" are ordinary words.
  SelectorToken value_token() const {
    return token_ == SelectorToken::kIn || token_ == SelectorToken::kNotIn ? SelectorToken::kIdentifier : token_;
  }
  std::string text() const { return std::string(text_); }

  void Advance() {
    while (!rest_.empty() && IsSpace(rest_[0])) rest_.remove_prefix(1);
    if (rest_.empty()) return Take(0, SelectorToken::kEnd);
    switch (rest_[0]) {
      case ',':
        return Take(1, SelectorToken::kComma);
      case '(':
        return Take(1, SelectorToken::kOpen);
      case ')':
        return Take(1, SelectorToken::kClose);
      case '>':
        return Take(1, SelectorToken::kGreater);
      case '<':
        return Take(1, SelectorToken::kLess);
      case '!':
        return rest_.starts_with("!=") ? Take(2, SelectorToken::kNotEquals) : Take(1, SelectorToken::kNot);
      case '=':
        return Take(rest_.starts_with("==") ? 2 : 1, SelectorToken::kEquals);
      default:
        break;
    }
    size_t length = 0;
    while (length < rest_.size() && !IsSpace(rest_[length]) &&
           std::string_view("=!(),><").find(rest_[length]) == std::string_view::npos) {
      ++length;
    }
    const std::string_view word = rest_.substr(0, length);
    Take(length, word == "in" ? SelectorToken::kIn : word == "notin" ? SelectorToken::kNotIn : SelectorToken::kIdentifier);
  }

 private:
  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  void Take(size_t length, SelectorToken token) {
    text_ = rest_.substr(0, length);
    rest_.remove_prefix(length);
    token_ = token;
  }

  std::string_view rest_;
  std::string_view text_;
  SelectorToken token_ = SelectorToken::kEnd;
};

std::unexpected<base::Error> Unexpected(const SelectorLexer& lexer, std::string_view expected) {
  return Fail(Code::kBadRequest, "found '" + lexer.text() + "', expected: " + std::string(expected));
}

// "(x,y)", where an empty place is the empty value.
Result<std::vector<std::string>> ReadValueList(SelectorLexer& lexer) {
  if (lexer.value_token() != SelectorToken::kOpen) {
    return Fail(Code::kBadRequest, "found '" + lexer.text() + "' expected: '('");
  }
  lexer.Advance();
  std::vector<std::string> values;
  if (lexer.token() == SelectorToken::kClose) {
    lexer.Advance();
    return values;
  }
  for (;;) {
    const bool has_word = lexer.value_token() == SelectorToken::kIdentifier;
    values.push_back(has_word ? lexer.text() : "");
    if (has_word) lexer.Advance();
    if (lexer.token() == SelectorToken::kClose) {
      lexer.Advance();
      return values;
    }
    if (lexer.token() != SelectorToken::kComma) return Unexpected(lexer, has_word ? "',' or ')'" : "',', ')' or identifier");
    lexer.Advance();
  }
}

// The single word after = != > <; nothing there is the empty value.
Result<std::vector<std::string>> ReadExactValue(SelectorLexer& lexer) {
  if (lexer.token() == SelectorToken::kEnd || lexer.token() == SelectorToken::kComma) return std::vector<std::string>{""};
  if (lexer.value_token() != SelectorToken::kIdentifier) return Unexpected(lexer, "identifier");
  std::vector<std::string> values = {lexer.text()};
  lexer.Advance();
  return values;
}

Result<LabelRequirement> ReadRequirement(SelectorLexer& lexer) {
  LabelRequirement requirement;
  const bool negated = lexer.token() == SelectorToken::kNot;
  if (negated) lexer.Advance();
  if (lexer.value_token() != SelectorToken::kIdentifier) return Unexpected(lexer, "identifier");
  requirement.key = lexer.text();
  lexer.Advance();
  requirement.op = negated ? Operator::kDoesNotExist : Operator::kExists;
  if (negated || lexer.token() == SelectorToken::kEnd || lexer.token() == SelectorToken::kComma) return requirement;
  const SelectorToken operator_token = lexer.token();
  switch (operator_token) {
    case SelectorToken::kIn:
    case SelectorToken::kEquals:
      requirement.op = Operator::kIn;
      break;
    case SelectorToken::kNotIn:
    case SelectorToken::kNotEquals:
      requirement.op = Operator::kNotIn;
      break;
    case SelectorToken::kGreater:
      requirement.op = Operator::kGreaterThan;
      break;
    case SelectorToken::kLess:
      requirement.op = Operator::kLessThan;
      break;
    default:
      return Unexpected(lexer, "in, notin, =, ==, !=, gt, lt");
  }
  lexer.Advance();
  const bool list = operator_token == SelectorToken::kIn || operator_token == SelectorToken::kNotIn;
  EVENKEEL_ASSIGN(requirement.values, list ? ReadValueList(lexer) : ReadExactValue(lexer));
  return requirement;
}

// As Go prints a list of strings.
std::string GoList(const std::vector<std::string>& values, std::string_view quote) {
  std::string text = "[";
  for (const std::string& value : values) {
    if (text.size() > 1) text += quote.empty() ? " " : ", ";
    text += std::string(quote) + value + std::string(quote);
  }
  return text + "]";
}

Status CheckRequirement(const LabelRequirement& requirement) {
  const auto invalid = [](const std::string& field, const std::string& value, std::string_view why) {
    return Fail(Code::kBadRequest, field + ": Invalid value: " + value + ": " + std::string(why));
  };
  if (const std::string problem = CheckQualifiedName(requirement.key); !problem.empty()) {
    return invalid("key", "\"" + requirement.key + "\"", problem);
  }
  const std::vector<std::string>& values = requirement.values;
  switch (requirement.op) {
    case Operator::kIn:
    case Operator::kNotIn:
      if (values.empty()) return invalid("values", "[]", "for 'in', 'notin' operators, values set can't be empty");
      break;
    case Operator::kExists:
    case Operator::kDoesNotExist:
      if (!values.empty()) {
        return invalid("values", GoList(values, "\""), "values set must be empty for exists and does not exist");
      }
      break;
    case Operator::kGreaterThan:
    case Operator::kLessThan:
      if (values.size() != 1) {
        return invalid("values", GoList(values, "\""), "for 'Gt', 'Lt' operators, exactly one value is required");
      }
      if (!base::ParseGoInteger(values[0])) {
        return invalid("values[0]", "\"" + values[0] + "\"", "for 'Gt', 'Lt' operators, the value must be an integer");
      }
      break;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (const std::string problem = CheckLabelValue(values[i]); !problem.empty()) {
      return invalid("values[" + std::to_string(i) + "][" + requirement.key + "]", "\"" + values[i] + "\"", problem);
    }
  }
  return {};
}

Result<LabelRequirement> ExpressionFromJson(const Json& expression) {
  LabelRequirement requirement;
  requirement.key = base::FindString(expression, {"key"});
  const std::string_view op = base::FindString(expression, {"operator"});
  if (op == "In") {
    requirement.op = Operator::kIn;
  } else if (op == "NotIn") {
    requirement.op = Operator::kNotIn;
  } else if (op == "Exists") {
    requirement.op = Operator::kExists;
  } else if (op == "DoesNotExist") {
    requirement.op = Operator::kDoesNotExist;
  } else {
    return Fail(Code::kInvalid, "\"" + std::string(op) + "\" is not a valid label selector operator");
  }
  for (const Json& value : base::FindArray(expression, {"values"})) {
    if (!value.is_string())
      return Fail(Code::kInvalid, "matchExpressions: a value of \"" + requirement.key + "\" is not a string");
    requirement.values.emplace_back(value.get_string());
  }
  return requirement;
}

std::string RequirementText(const LabelRequirement& requirement) {
  const std::vector<std::string>& values = requirement.values;
  switch (requirement.op) {
    case Operator::kExists:
      return requirement.key;
    case Operator::kDoesNotExist:
      return "!" + requirement.key;
    case Operator::kGreaterThan:
      return requirement.key + ">" + values[0];
    case Operator::kLessThan:
      return requirement.key + "<" + values[0];
    case Operator::kIn:
    case Operator::kNotIn:
      break;
  }
  const bool in = requirement.op == Operator::kIn;
  if (values.size() == 1) return requirement.key + (in ? "=" : "!=") + values[0];
  std::string text = requirement.key + (in ? " in (" : " notin (");
  for (size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ",") + values[i];
  return text + ")";
}

}  // namespace

bool LabelRequirement::Matches(const std::string_view* value) const {
  switch (op) {
    case Operator::kIn:
      return value && std::binary_search(values.begin(), values.end(), *value);
    case Operator::kNotIn:
      return !value || !std::binary_search(values.begin(), values.end(), *value);
    case Operator::kExists:
      return value != nullptr;
    case Operator::kDoesNotExist:
      return value == nullptr;
    case Operator::kGreaterThan:
    case Operator::kLessThan: {
      const auto number = value ? base::ParseGoInteger(*value) : std::nullopt;
      const auto limit = base::ParseGoInteger(values[0]);
      return number && limit && (op == Operator::kGreaterThan ? *number > *limit : *number < *limit);
    }
  }
  return false;
}

Status LabelSelector::Add(LabelRequirement requirement) {
  EVENKEEL_TRY(CheckRequirement(requirement));
  auto& values = requirement.values;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const auto at = std::upper_bound(requirements_.begin(), requirements_.end(), requirement.key,
                                   [](const std::string& key, const LabelRequirement& other) { return key < other.key; });
  requirements_.insert(at, std::move(requirement));
  return {};
}

LabelSelector LabelSelector::With(LabelRequirement requirement) const {
  LabelSelector selector = *this;
  return selector.Add(std::move(requirement)) ? selector : Nothing();
}

Result<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  SelectorLexer lexer(text);
  if (lexer.token() == SelectorToken::kEnd) return selector;
  for (;;) {
    auto requirement = ReadRequirement(lexer);
    if (!requirement) return Fail(requirement.error().Wrap("unable to parse requirement"));
    if (auto added = selector.Add(*std::move(requirement)); !added) {
      return Fail(added.error().Wrap("unable to parse requirement"));
    }
    if (lexer.token() == SelectorToken::kEnd) return selector;
    if (lexer.token() != SelectorToken::kComma) return Unexpected(lexer, "',' or 'end of string'");
    lexer.Advance();
    if (lexer.token() != SelectorToken::kNot && lexer.value_token() != SelectorToken::kIdentifier) {
      return Unexpected(lexer, "identifier after ','");
    }
  }
}

Result<LabelSelector> LabelSelector::FromJson(const Json& selector) {
  if (selector.is_null()) return Nothing();
  if (!selector.is_object()) return Fail(Code::kInvalid, "a label selector is an object with matchLabels and matchExpressions");
  LabelSelector result;
  const auto add = [&](LabelRequirement requirement) -> Status {
    auto added = result.Add(std::move(requirement));
    if (!added) return Fail(Code::kInvalid, added.error().message());
    return {};
  };
  for (const auto& label : base::FindObject(selector, {"matchLabels"})) {
    if (!label.value().is_string()) {
      return Fail(Code::kInvalid, "matchLabels: the value of \"" + std::string(label.key()) + "\" is not a string");
    }
    EVENKEEL_TRY(add({label.key(), Operator::kIn, {std::string(label.value().get_string())}}));
  }
  for (const Json& expression : base::FindArray(selector, {"matchExpressions"})) {
    EVENKEEL_ASSIGN(LabelRequirement requirement, ExpressionFromJson(expression));
    EVENKEEL_TRY(add(std::move(requirement)));
  }
  return result;
}

LabelSelector LabelSelector::FromLabels(const std::map<std::string, std::string>& labels) {
  LabelSelector selector;
  for (const auto& [key, value] : labels) selector.requirements_.push_back({key, Operator::kIn, {value}});
  return selector;
}

LabelSelector LabelSelector::Nothing() {
  LabelSelector selector;
  selector.nothing_ = true;
  return selector;
}

bool LabelSelector::Matches(const JsonObject& labels) const {
  return MatchesAll([&](const std::string& key) -> std::optional<std::string_view> {
    const Json* value = labels.if_contains(key);
    if (!value || !value->is_string()) return std::nullopt;
    return std::string_view(value->get_string());
  });
}

std::string LabelSelector::ToString() const {
  std::string text;
  for (const LabelRequirement& requirement : requirements_) {
    if (!text.empty()) text += ',';
    text += RequirementText(requirement);
  }
  return text;
}

base::Status ReadSelector(const base::Field& field, LabelSelector& into) {
  if (!field) return {};
  auto selector = LabelSelector::FromJson(field.value());
  if (!selector) return field.Wrong(selector.error().message());
  into = *std::move(selector);
  return {};
}

}  // namespace evenkeel::kube
