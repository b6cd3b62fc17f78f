#include "base/json.h"
#include "base/text.h"
#include "kube/cel/syntax.h"

namespace evenkeel::kube::cel {
namespace {

bool IsLetter(char c) { return base::IsLetter(c) || c == '_'; }
bool IsHexDigit(char c) { return base::IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Lexer {
 public:
  Lexer(std::string_view text, std::vector<Issue>& issues) : text_(text), issues_(issues) {}

  std::vector<Lexeme> Run() {
    while (Skip()) {
      const size_t begin = at_;
      const uint32_t offset = offset_;
      const Token token = Next();
      for (size_t i = begin; i < at_; ++i) offset_ += (static_cast<unsigned char>(text_[i]) & 0xC0U) != 0x80U ? 1 : 0;
      const std::string_view part = text_.substr(begin, at_ - begin);
      if (token == Token::kBad) {
        issues_.push_back({offset, fmt::format("Syntax error: token recognition error at: '{}'", part)});
        lexemes_.push_back({Token::kBad, offset, part});
        return std::move(lexemes_);
      }
      lexemes_.push_back({token, offset, part});
    }
    lexemes_.push_back({Token::kEnd, offset_, "<EOF>"});
    return std::move(lexemes_);
  }

 private:
  char Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  /// Over white space and comments; false at the end.
  bool Skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f') {
        ++at_, ++offset_;
      } else if (c == '/' && Peek(1) == '/') {
        for (; at_ < text_.size() && text_[at_] != '\n'; ++at_)
          offset_ += (static_cast<unsigned char>(text_[at_]) & 0xC0U) != 0x80U ? 1 : 0;
      } else {
        return true;
      }
    }
    return false;
  }

  Token Next() {
    const char c = Peek();
    if (base::IsDigit(c) || (c == '.' && base::IsDigit(Peek(1)))) return Number();
    size_t prefix = 0;
    bool raw = false, bytes = false;
    for (; prefix < 2; ++prefix) {
      const char letter = static_cast<char>(Peek(prefix) | 0x20);
      if (letter == 'r' && !raw) {
        raw = true;
      } else if (letter == 'b' && !bytes) {
        bytes = true;
      } else {
        break;
      }
    }
    if (Peek(prefix) == '"' || Peek(prefix) == '\'') return Quoted(prefix, raw, bytes);
    if (IsLetter(c)) {
      while (IsLetter(Peek()) || base::IsDigit(Peek())) ++at_;
      return Token::kIdent;
    }
    if (c == '`') return QuotedIdent();
    for (const std::string_view two : {"==", "!=", "<=", ">=", "&&", "||"}) {
      if (!text_.substr(at_).starts_with(two)) continue;
      at_ += 2;
      return Token::kOperator;
    }
    ++at_;
    if (std::string_view("[]{}().,-!?:+*/%<>").find(c) != std::string_view::npos) return Token::kOperator;
    while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0U) == 0x80U) ++at_;
    return Token::kBad;
  }

  Token Number() {
    if (Peek() == '0' && (Peek(1) | 0x20) == 'x' && IsHexDigit(Peek(2))) {
      at_ += 2;
      while (IsHexDigit(Peek())) ++at_;
      return Suffix();
    }
    bool whole = true;
    while (base::IsDigit(Peek())) ++at_;
    if (Peek() == '.' && base::IsDigit(Peek(1))) {
      whole = false;
      ++at_;
      while (base::IsDigit(Peek())) ++at_;
    }
    const size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 2 : 1;
    if ((Peek() | 0x20) == 'e' && base::IsDigit(Peek(sign))) {
      whole = false;
      at_ += sign;
      while (base::IsDigit(Peek())) ++at_;
    }
    return whole ? Suffix() : Token::kDouble;
  }
  Token Suffix() {
    if ((Peek() | 0x20) != 'u') return Token::kInt;
    ++at_;
    return Token::kUint;
  }

  Token Quoted(size_t prefix, bool raw, bool bytes) {
    const Token token = bytes ? Token::kBytes : Token::kString;
    at_ += prefix;
    const char quote = Peek();
    const bool triple = Peek(1) == quote && Peek(2) == quote;
    at_ += triple ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = Peek();
      if (c == '\\' && !raw) {
        at_ += 2;
      } else if (c == quote && (!triple || (Peek(1) == quote && Peek(2) == quote))) {
        at_ += triple ? 3 : 1;
        return token;
      } else if (!triple && (c == '\n' || c == '\r')) {
        return Token::kBad;
      } else {
        ++at_;
      }
    }
    at_ = text_.size();
    return Token::kBad;
  }

  Token QuotedIdent() {
    const size_t begin = ++at_;
    while (IsLetter(Peek()) || base::IsDigit(Peek()) ||
           (Peek() != '\0' && std::string_view(".-/ ").find(Peek()) != std::string_view::npos))
      ++at_;
    if (Peek() != '`' || at_ == begin) return Token::kBad;
    ++at_;
    return Token::kQuotedIdent;
  }

  std::string_view text_;
  std::vector<Issue>& issues_;
  std::vector<Lexeme> lexemes_;
  size_t at_ = 0;
  uint32_t offset_ = 0;
};

void AppendUtf8(std::string& out, uint32_t code) {
  const auto byte = [&out](uint32_t value) { out += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

/// One escape at the front of `rest`, behind its backslash.
bool ReadEscape(std::string_view& rest, bool bytes, std::string& out) {
  static constexpr std::string_view kNames = "abfnrtv\\'\"`?";
  static constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"`?";
  if (rest.empty()) return false;
  const char c = rest[0];
  if (const size_t known = kNames.find(c); known != std::string_view::npos) {
    out += kMeanings[known];
    rest.remove_prefix(1);
    return true;
  }
  size_t digits = 0, skip = 1;
  int base = 16;
  if (c == 'x' || c == 'X') digits = 2;
  if (c == 'u' && !bytes) digits = 4;
  if (c == 'U' && !bytes) digits = 8;
  if (c >= '0' && c <= '3') digits = 3, skip = 0, base = 8;
  if (digits == 0 || rest.size() < skip + digits) return false;
  uint32_t code = 0;
  const char* const first = rest.data() + skip;
  const auto [end, error] = std::from_chars(first, first + digits, code, base);
  if (error != std::errc() || end != first + digits) return false;
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
  if (bytes) {
    out += static_cast<char>(code);
  } else {
    AppendUtf8(out, code);
  }
  rest.remove_prefix(skip + digits);
  return true;
}

}  // namespace

std::vector<Lexeme> Tokenize(std::string_view text, std::vector<Issue>& issues) { return Lexer(text, issues).Run(); }

bool ReadText(const Lexeme& lexeme, std::string& out, std::string& problem) {
  std::string_view rest = lexeme.text;
  bool raw = false;
  while (rest[0] != '"' && rest[0] != '\'') {
    raw = raw || (rest[0] | 0x20) == 'r';
    rest.remove_prefix(1);
  }
  const size_t quotes = rest.size() >= 6 && rest[1] == rest[0] && rest[2] == rest[0] ? 3 : 1;
  rest = rest.substr(quotes, rest.size() - 2 * quotes);
  const bool bytes = lexeme.token == Token::kBytes;
  while (!rest.empty()) {
    const char c = rest[0];
    rest.remove_prefix(1);
    if (c == '\\' && !raw) {
      if (ReadEscape(rest, bytes, out)) continue;
      problem = "unable to unescape string";
      return false;
    }
    if (c == '\r') {  // as Go's reader of sources does: one kind of line end
      if (!rest.starts_with('\n')) out += '\n';
      continue;
    }
    out += c;
  }
  return true;
}

}  // namespace evenkeel::kube::cel
