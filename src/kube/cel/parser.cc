#include <charconv>

#include "base/json.h"
#include "kube/cel/syntax.h"

namespace evenkeel::kube::cel {
namespace {

constexpr std::string_view kExpected =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

bool IsReserved(std::string_view word) {
  static constexpr std::array kWords = {"as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
                                        "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};
  return std::ranges::find(kWords, word) != kWords.end();
}

bool IsWordToken(std::string_view word) { return word == "true" || word == "false" || word == "null" || word == "in"; }

struct BinaryOperator {
  std::string_view text;
  int precedence;
  const char* function;
};

constexpr std::array kBinaryOperators = {
    BinaryOperator{"==", 3, "_==_"}, BinaryOperator{"!=", 3, "_!=_"}, BinaryOperator{"<", 3, "_<_"},
    BinaryOperator{"<=", 3, "_<=_"}, BinaryOperator{">", 3, "_>_"},   BinaryOperator{">=", 3, "_>=_"},
    BinaryOperator{"in", 3, "@in"},  BinaryOperator{"+", 4, "_+_"},   BinaryOperator{"-", 4, "_-_"},
    BinaryOperator{"*", 5, "_*_"},   BinaryOperator{"/", 5, "_/_"},   BinaryOperator{"%", 5, "_%_"},
};

/// By descent; null where it does not parse, and then there is an issue.
class Parser {
 public:
  Parser(std::vector<Lexeme> lexemes, const ParseOptions& options, Tree& tree, std::vector<Issue>& issues)
      : lexemes_(std::move(lexemes)), options_(options), tree_(tree), issues_(issues) {}

  Expr* Run() {
    Expr* const expr = Ternary();
    if (expr == nullptr) return nullptr;
    if (Now().token != Token::kEnd) return Mismatch("extraneous input", "<EOF>");
    return issues_.empty() ? expr : nullptr;
  }

 private:
  const Lexeme& Now() const { return lexemes_[at_]; }
  bool IsOperator(std::string_view text) const { return Now().token == Token::kOperator && Now().text == text; }
  bool Accept(std::string_view text) {
    if (!IsOperator(text)) return false;
    ++at_;
    return true;
  }
  Expr* Wrong(uint32_t offset, std::string message) {
    issues_.push_back({offset, std::move(message)});
    return nullptr;
  }
  Expr* Mismatch(std::string_view what, std::string_view expected) {
    return Wrong(Now().offset, fmt::format("Syntax error: {} '{}' expecting {}", what, Now().text, expected));
  }
  bool Expect(std::string_view text) {
    if (Accept(text)) return true;
    Mismatch("mismatched input", fmt::format("'{}'", text));
    return false;
  }

  /// Keeps the tree so low that it can be walked by recursion.
  Expr* Grown(Expr* expr) {
    uint16_t height = 0;
    for (const Expr* arg : expr->args)
      if (arg != nullptr) height = std::max(height, arg->height);
    expr->height = static_cast<uint16_t>(height + 1);
    if (expr->height > kHeightMax)
      return Wrong(expr->offset, fmt::format("expression recursion limit exceeded: {}", kHeightMax));
    return expr;
  }

  Expr* Ternary() {
    if (++depth_ > kHeightMax) return Wrong(Now().offset, fmt::format("expression recursion limit exceeded: {}", kHeightMax));
    Expr* condition = Logical(false);
    if (condition != nullptr && IsOperator("?")) {
      Expr* const expr = tree_.New(Expr::Kind::kConditional, Now().offset);
      ++at_;
      Expr* const yes = Logical(false);
      if (yes == nullptr || !Expect(":")) return nullptr;
      Expr* const no = Ternary();
      if (no == nullptr) return nullptr;
      expr->args = {condition, yes, no};
      condition = Grown(expr);
    }
    --depth_;
    return condition;
  }

  /// || where `conjunction` is false, and && below it. However many there are, they are one node.
  Expr* Logical(bool conjunction) {
    const auto next = [&] { return conjunction ? Binary(3) : Logical(true); };
    Expr* const first = next();
    const std::string_view text = conjunction ? "&&" : "||";
    if (first == nullptr || !IsOperator(text)) return first;
    Expr* const expr = tree_.New(conjunction ? Expr::Kind::kAnd : Expr::Kind::kOr, Now().offset);
    expr->args.push_back(first);
    while (Accept(text)) {
      expr->args.push_back(next());
      if (expr->args.back() == nullptr) return nullptr;
    }
    return Grown(expr);
  }

  const BinaryOperator* FindOperator(int precedence) const {
    if (Now().token != Token::kOperator && !(Now().token == Token::kIdent && Now().text == "in")) return nullptr;
    for (const BinaryOperator& candidate : kBinaryOperators)
      if (candidate.text == Now().text && candidate.precedence >= precedence) return &candidate;
    return nullptr;
  }

  Expr* Binary(int precedence) {
    Expr* left = Unary();
    while (left != nullptr) {
      const BinaryOperator* const found = FindOperator(precedence);
      if (found == nullptr) break;
      Expr* const expr = tree_.New(Expr::Kind::kCall, Now().offset);
      ++at_;
      expr->name = found->function;
      Expr* const right = Binary(found->precedence + 1);
      if (right == nullptr) return nullptr;
      expr->args = {left, right};
      left = Grown(expr);
    }
    return left;
  }

  Expr* Unary() {
    const uint32_t offset = Now().offset;
    if (IsOperator("-") && (lexemes_[at_ + 1].token == Token::kInt || lexemes_[at_ + 1].token == Token::kDouble)) {
      ++at_;
      return Postfix(Number(offset, true));
    }
    if (!IsOperator("-") && !IsOperator("!")) return Postfix(Primary());
    const std::string text(Now().text);
    size_t count = 0;
    while (IsOperator(text)) {
      // The last minus before a number is its sign.
      if (count > 0 && text == "-" && (lexemes_[at_ + 1].token == Token::kInt || lexemes_[at_ + 1].token == Token::kDouble))
        break;
      ++at_, ++count;
    }
    Expr* operand = nullptr;
    if (IsOperator("-")) {
      const uint32_t sign = Now().offset;
      ++at_;
      operand = Postfix(Number(sign, true));
    } else {
      operand = Postfix(Primary());
    }
    if (operand == nullptr || count % 2 == 0) return operand;
    Expr* const expr = tree_.New(Expr::Kind::kCall, offset);
    expr->name = text == "-" ? "-_" : "!_";
    expr->args = {operand};
    return Grown(expr);
  }

  Expr* Postfix(Expr* target) {
    while (target != nullptr) {
      const uint32_t offset = Now().offset;
      if (Accept(".")) {
        target = Member(target, offset);
      } else if (Accept("[")) {
        Expr* const expr = tree_.New(Expr::Kind::kCall, offset);
        expr->name = Accept("?") ? "_[?_]" : "_[_]";
        Expr* const index = Ternary();
        if (index == nullptr || !Expect("]")) return nullptr;
        expr->args = {target, index};
        target = Grown(expr);
      } else {
        break;
      }
    }
    return target;
  }

  Expr* Member(Expr* target, uint32_t dot) {
    const bool optional = Accept("?");
    const Lexeme name = Now();
    const bool quoted = name.token == Token::kQuotedIdent;
    if (!quoted && (name.token != Token::kIdent || IsWordToken(name.text))) return Mismatch("mismatched input", "IDENTIFIER");
    ++at_;
    if (!optional && !quoted && IsOperator("(")) {
      Expr* const call = tree_.New(Expr::Kind::kCall, Now().offset);
      call->name = name.text;
      call->member = true;
      call->args.push_back(target);
      return Arguments(call);
    }
    Expr* const expr = tree_.New(Expr::Kind::kSelect, dot);
    expr->name = quoted ? name.text.substr(1, name.text.size() - 2) : name.text;
    expr->optional = optional;
    expr->quoted = quoted;
    expr->args = {target};
    return Grown(expr);
  }

  /// Those of a call, behind its name.
  Expr* Arguments(Expr* call) {
    ++at_;
    while (!IsOperator(")")) {
      Expr* const argument = Ternary();
      if (argument == nullptr) return nullptr;
      call->args.push_back(argument);
      if (!Accept(",")) break;
      if (IsOperator(")")) return Mismatch("mismatched input", kExpected);
    }
    if (!Expect(")") || Grown(call) == nullptr) return nullptr;
    const size_t before = issues_.size();
    if (Expr* const expanded = ExpandMacro(*call, options_, tree_, issues_)) return Grown(expanded);
    return issues_.size() > before ? nullptr : call;
  }

  Expr* Primary() {
    const Lexeme lexeme = Now();
    switch (lexeme.token) {
      case Token::kInt:
      case Token::kUint:
      case Token::kDouble:
        return Number(lexeme.offset, false);
      case Token::kString:
      case Token::kBytes:
        return Text();
      case Token::kIdent:
        if (lexeme.text != "in") return Word(lexeme.offset, false);
        break;
      case Token::kOperator:
        if (Accept("(")) {
          Expr* const inner = Ternary();
          return inner != nullptr && Expect(")") ? inner : nullptr;
        }
        if (Accept("[")) return ListLiteral(lexeme.offset);
        if (Accept("{")) return MapLiteral(tree_.New(Expr::Kind::kMap, lexeme.offset));
        if (Accept(".")) {
          if (Now().token == Token::kIdent && !IsWordToken(Now().text)) return Word(lexeme.offset, true);
          return Mismatch("mismatched input", "IDENTIFIER");
        }
        break;
      default:
        break;
    }
    return Mismatch("mismatched input", kExpected);
  }

  Expr* Constant(uint32_t offset, Value value) {
    Expr* const expr = tree_.New(Expr::Kind::kConstant, offset);
    expr->constant = value;
    return expr;
  }

  Expr* Number(uint32_t offset, bool negative) {
    const Lexeme lexeme = Now();
    ++at_;
    std::string text = (negative ? "-" : "") + std::string(lexeme.text);
    if (lexeme.token == Token::kDouble) {
      const double value = std::strtod(text.c_str(), nullptr);
      return std::isfinite(value) ? Constant(offset, Value::Double(value)) : Wrong(offset, "invalid double literal");
    }
    const bool is_uint = lexeme.token == Token::kUint;
    if (is_uint) text.pop_back();
    int base = 10;
    if (const size_t hex = text.find_first_of("xX"); hex != std::string::npos) {
      text.erase(hex - 1, 2);
      base = 16;
    }
    const char* const end = text.data() + text.size();
    if (is_uint) {
      uint64_t value = 0;
      const auto result = std::from_chars(text.data(), end, value, base);
      if (result.ec != std::errc() || result.ptr != end) return Wrong(offset, "invalid uint literal");
      return Constant(offset, Value::Uint(value));
    }
    int64_t value = 0;
    const auto result = std::from_chars(text.data(), end, value, base);
    if (result.ec != std::errc() || result.ptr != end) return Wrong(offset, "invalid int literal");
    return Constant(offset, Value::Int(value));
  }

  Expr* Text() {
    const Lexeme lexeme = Now();
    ++at_;
    std::string text, problem;
    if (!ReadText(lexeme, text, problem)) return Wrong(lexeme.offset, "Syntax error: " + problem);
    const std::string_view kept = tree_.constants.Copy(text);
    return Constant(lexeme.offset, lexeme.token == Token::kBytes ? Value::Bytes(kept) : Value::String(kept));
  }

  Expr* Word(uint32_t offset, bool absolute) {
    const Lexeme lexeme = Now();
    ++at_;
    if (!absolute && lexeme.text == "true") return Constant(offset, Value::Bool(true));
    if (!absolute && lexeme.text == "false") return Constant(offset, Value::Bool(false));
    if (!absolute && lexeme.text == "null") return Constant(offset, Value::Null());
    if (IsReserved(lexeme.text)) return Wrong(offset, fmt::format("reserved identifier: {}", lexeme.text));
    if (IsOperator("(")) {
      Expr* const call = tree_.New(Expr::Kind::kCall, Now().offset);
      call->name = lexeme.text;
      call->absolute = absolute;
      return Arguments(call);
    }
    if (const size_t brace = StructBrace(); brace != 0) return StructLiteral(lexeme, absolute, brace);
    Expr* const expr = tree_.New(Expr::Kind::kIdent, offset);
    expr->name = lexeme.text;
    expr->absolute = absolute;
    return expr;
  }

  /// The place of the brace of `a.b.C{`, after the first name; 0 where there is none.
  size_t StructBrace() const {
    size_t at = at_;
    while (lexemes_[at].text == "." && lexemes_[at].token == Token::kOperator && lexemes_[at + 1].token == Token::kIdent)
      at += 2;
    return lexemes_[at].token == Token::kOperator && lexemes_[at].text == "{" ? at : 0;
  }
  Expr* StructLiteral(const Lexeme& first, bool absolute, size_t brace) {
    Expr* const expr = tree_.New(Expr::Kind::kStruct, lexemes_[brace].offset);
    expr->name = first.text;
    expr->absolute = absolute;
    for (; at_ < brace; ++at_) expr->name += lexemes_[at_].text;
    ++at_;
    while (!IsOperator("}")) {
      Accept("?");
      if (Now().token != Token::kIdent && Now().token != Token::kQuotedIdent)
        return Mismatch("mismatched input", "{'}', ',', IDENTIFIER}");
      ++at_;
      if (!Expect(":")) return nullptr;
      Expr* const value = Ternary();
      if (value == nullptr) return nullptr;
      expr->args.push_back(value);
      if (!Accept(",")) break;
    }
    return Expect("}") ? Grown(expr) : nullptr;
  }

  Expr* ListLiteral(uint32_t offset) {
    Expr* const expr = tree_.New(Expr::Kind::kList, offset);
    while (!IsOperator("]")) {
      expr->optional_args.push_back(Accept("?"));
      expr->args.push_back(Ternary());
      if (expr->args.back() == nullptr) return nullptr;
      if (!Accept(",")) break;
    }
    return Expect("]") ? Grown(expr) : nullptr;
  }

  Expr* MapLiteral(Expr* expr) {
    while (!IsOperator("}")) {
      expr->optional_args.push_back(Accept("?"));
      expr->args.push_back(Ternary());
      if (expr->args.back() == nullptr || !Expect(":")) return nullptr;
      expr->args.push_back(Ternary());
      if (expr->args.back() == nullptr) return nullptr;
      if (!Accept(",")) break;
    }
    return Expect("}") ? Grown(expr) : nullptr;
  }

  std::vector<Lexeme> lexemes_;
  const ParseOptions& options_;
  Tree& tree_;
  std::vector<Issue>& issues_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

bool Parse(std::string_view text, const ParseOptions& options, Tree& tree, std::vector<Issue>& issues) {
  if (!base::IsUtf8(text)) {
    issues.push_back({0, "Syntax error: the expression is not UTF-8"});
    return false;
  }
  if (const size_t size = CodePoints(text); size > kCodePointsMax) {
    issues.push_back({0, fmt::format("expression code point size exceeds limit: size: {}, limit {}", size, kCodePointsMax)});
    return false;
  }
  std::vector<Lexeme> lexemes = Tokenize(text, issues);
  if (!issues.empty()) return false;
  // Two tokens may be looked at ahead.
  for (int i = 0; i < 2; ++i) lexemes.push_back(lexemes.back());
  tree.root = Parser(std::move(lexemes), options, tree, issues).Run();
  return tree.root != nullptr;
}

std::string IssuesText(std::string_view text, const std::vector<Issue>& issues) {
  constexpr size_t kShownMax = 10;
  std::string out;
  for (size_t n = 0; n < issues.size() && n < kShownMax; ++n) {
    const Issue& issue = issues[n];
    size_t line = 1, column = 0, begin = 0, point = 0;
    for (size_t i = 0; i < text.size() && point < issue.offset; ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;
      ++point, ++column;
      if (text[i] == '\n') ++line, column = 0, begin = i + 1;
    }
    std::string_view shown = text.substr(begin, text.find('\n', begin) - begin);
    out += fmt::format("{}ERROR: <input>:{}:{}: {}", out.empty() ? "" : "\n", line, column + 1, issue.message);
    if (shown.size() > 1024) continue;
    out += fmt::format("\n | {}\n | {}^", shown, std::string(column, '.'));
  }
  if (issues.size() > kShownMax) out += fmt::format("\n{} more errors", issues.size() - kShownMax);
  return out;
}

std::string QualifiedName(const Expr& expr) {
  if (expr.kind == Expr::Kind::kIdent) return (expr.absolute ? "." : "") + expr.name;
  if (expr.kind != Expr::Kind::kSelect || expr.test || expr.optional || expr.quoted) return "";
  const std::string operand = QualifiedName(*expr.args[0]);
  return operand.empty() ? "" : operand + "." + expr.name;
}

}  // namespace evenkeel::kube::cel
