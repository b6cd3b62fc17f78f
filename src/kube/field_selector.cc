#include "kube/selector.h"

namespace evenkeel::kube {
namespace {

using base::Code;
using base::Fail;
using base::Result;

// Splits at the commas that no backslash precedes.
std::vector<std::string_view> SplitFieldTerms(std::string_view text) {
  std::vector<std::string_view> terms;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  terms.push_back(text.substr(begin));
  return terms;
}

Result<std::string> UnescapeFieldValue(std::string_view text) {
  std::string value;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      const std::string_view escape = text.substr(i, 2);
      if (escape != "\\\\" && escape != "\\," && escape != "\\=") {
        return Fail(Code::kBadRequest, "invalid field selector: invalid escape sequence: " + std::string(escape));
      }
      value += text[++i];
    } else if (c == ',' || c == '=') {
      return Fail(Code::kBadRequest, std::string("invalid field selector: unescaped character in value: ") + c);
    } else {
      value += c;
    }
  }
  return value;
}

std::string EscapeFieldValue(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == ',' || c == '=') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

Result<FieldSelector> FieldSelector::Parse(std::string_view text) {
  FieldSelector selector;
  for (const std::string_view term : SplitFieldTerms(text)) {
    if (term.empty()) continue;
    size_t at = 0;
    while (at < term.size() && term[at] != '=' && !term.substr(at).starts_with("!=")) at += term[at] == '\\' ? 2 : 1;
    if (at >= term.size()) {
      return Fail(Code::kBadRequest,
                  "invalid selector: '" + std::string(text) + "'; can't understand '" + std::string(term) + "'");
    }
    const bool equal = term[at] == '=';
    const std::string_view rest = term.substr(at + (equal && !term.substr(at).starts_with("==") ? 1 : 2));
    EVENKEEL_ASSIGN(std::string value, UnescapeFieldValue(rest));
    selector.terms_.push_back({std::string(term.substr(0, at)), equal, std::move(value)});
  }
  return selector;
}

bool FieldSelector::Matches(const Lookup& lookup) const {
  for (const Term& term : terms_) {
    if ((lookup(term.path).value_or("") == term.value) != term.equal) return false;
  }
  return true;
}

std::optional<std::string_view> FieldSelector::Required(std::string_view path) const {
  for (const Term& term : terms_) {
    if (term.equal && term.path == path) return term.value;
  }
  return std::nullopt;
}

std::string FieldSelector::ToString() const {
  std::string text;
  for (const Term& term : terms_) {
    if (!text.empty()) text += ',';
    text += term.path + (term.equal ? "=" : "!=") + EscapeFieldValue(term.value);
  }
  return text;
}

}  // namespace evenkeel::kube
