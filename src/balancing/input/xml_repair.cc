#include "balancing/input/xml_repair.h"

#include <algorithm>

#include "balancing/model/messages.h"
#include "base/text.h"

namespace evenkeel::balancing {
namespace {

// Longer than any reference, "&#x10FFFF;" with some zeros.
constexpr size_t kReferenceMax = 40;

bool EndsName(char c) { return base::kBlanks.find(c) != std::string_view::npos || c == '>' || c == '/'; }

class XmlScanner {
 public:
  XmlScanner(std::string_view text, ManifestBuilder& builder) : text_(text), builder_(builder) {}

  base::Result<RepairedXml> Scan();

 private:
  base::Status ScanText();
  base::Status ScanTag();
  base::Status CheckReferences(size_t from, size_t to) const;
  /// The offset after a comment, CDATA section, declaration or processing instruction at `at`; `at` when there is none.
  size_t AfterMisc(size_t at) const;
  bool IsClosedNext(size_t at, std::string_view name) const;
  void Copy(size_t to) {
    fixed_.text += text_.substr(copied_, to - copied_);
    copied_ = to;
  }

  std::string_view text_;
  ManifestBuilder& builder_;
  size_t at_ = 0;
  size_t copied_ = 0;
  size_t depth_ = 0;
  RepairedXml fixed_;
};

size_t XmlScanner::AfterMisc(size_t at) const {
  constexpr std::pair<std::string_view, std::string_view> kMisc[] = {
      {"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}, {"<!", ">"}};
  const std::string_view rest = text_.substr(at);
  for (const auto& [open, close] : kMisc) {
    if (!rest.starts_with(open)) continue;
    const size_t end = rest.find(close, open.size());
    return end == std::string_view::npos ? text_.size() : at + end + close.size();
  }
  return at;
}

base::Status XmlScanner::CheckReferences(size_t from, size_t to) const {
  // Only this piece is searched: each element would otherwise cost the rest of the text.
  const std::string_view piece = text_.substr(0, to);
  for (size_t at = piece.find('&', from); at < to; at = piece.find('&', at + 1)) {
    const size_t end = piece.substr(0, std::min(to, at + kReferenceMax)).find(';', at);
    const std::string_view name = end < to ? text_.substr(at + 1, end - at - 1) : std::string_view();
    constexpr std::string_view kNames[] = {"amp", "lt", "gt", "quot", "apos"};
    const bool hexadecimal = name.starts_with("#x");
    const std::string_view digits = name.substr(std::min<size_t>(name.size(), hexadecimal ? 2 : 1));
    const bool numeric =
        name.starts_with("#") && !digits.empty() &&
        digits.find_first_not_of(hexadecimal ? "0123456789abcdefABCDEF" : "0123456789") == std::string_view::npos;
    if (!numeric && std::ranges::find(kNames, name) == std::end(kNames)) {
      return builder_.Refused(at, "invalid XML: & that begins no reference; write &amp;");
    }
  }
  return {};
}

base::Status XmlScanner::ScanText() {
  const size_t end = std::min(text_.find('<', at_), text_.size());
  if (depth_ == 0) {
    const size_t first = text_.find_first_not_of(base::kBlanks, at_);
    if (first < end) return builder_.Refused(first, "invalid XML: text outside of all elements");
  }
  EVENKEEL_TRY(CheckReferences(at_, end));
  at_ = end;
  return {};
}

bool XmlScanner::IsClosedNext(size_t at, std::string_view name) const {
  for (;;) {
    at = std::min(text_.find_first_not_of(base::kBlanks, at), text_.size());
    if (at == text_.size()) return false;
    // Text in between is for the reader to refuse.
    if (text_[at] != '<') return true;
    const size_t after = AfterMisc(at);
    if (after == at) break;
    at = after;
  }
  const std::string_view rest = text_.substr(at);
  return rest.starts_with("</") && rest.substr(2).starts_with(name) && rest.size() > 2 + name.size() &&
         EndsName(rest[2 + name.size()]);
}

base::Status XmlScanner::ScanTag() {
  const size_t start = at_;
  const bool is_end = text_.substr(at_).starts_with("</");
  const size_t name_at = at_ + (is_end ? 2 : 1);
  size_t end = name_at;
  while (end < text_.size() && !EndsName(text_[end])) ++end;
  const std::string_view name = text_.substr(name_at, end - name_at);
  char quote = '\0';
  for (at_ = end; at_ < text_.size() && (quote != '\0' || text_[at_] != '>'); ++at_) {
    const char c = text_[at_];
    if (c == '<') {
      return builder_.Refused(start, "invalid XML: <" + OneLine(name) + "> is not closed by > before the next <");
    }
    if (quote != '\0' ? c == quote : c == '"' || c == '\'') quote = quote == '\0' ? c : '\0';
  }
  EVENKEEL_TRY(CheckReferences(start, at_));
  if (at_ == text_.size()) return {};
  ++at_;
  if (is_end) {
    if (depth_ > 0) --depth_;
    return {};
  }
  if (text_[at_ - 2] == '/') return {};
  const std::string_view local = name.substr(std::min(name.find(':') + 1, name.size()));
  const bool may_be_open = local == "BalancingThreshold" || local == "ActivityThreshold";
  if (!may_be_open || IsClosedNext(at_, name)) {
    ++depth_;
    return {};
  }
  builder_.Warn(start, "<" + std::string(name) + "> is never closed; read as <" + std::string(name) + " .../>");
  Copy(at_ - 1);
  fixed_.inserted.push_back(fixed_.text.size());
  fixed_.text += '/';
  return {};
}

base::Result<RepairedXml> XmlScanner::Scan() {
  fixed_.text.reserve(text_.size());
  while (at_ < text_.size()) {
    const size_t after = AfterMisc(at_);
    if (after != at_) {
      at_ = after;
    } else if (text_[at_] == '<') {
      EVENKEEL_TRY(ScanTag());
    } else {
      EVENKEEL_TRY(ScanText());
    }
  }
  Copy(text_.size());
  return std::move(fixed_);
}

}  // namespace

size_t RepairedXml::Original(size_t offset) const {
  const auto before = std::ranges::lower_bound(inserted, offset) - inserted.begin();
  return offset - static_cast<size_t>(before);
}

base::Result<RepairedXml> RepairXml(std::string_view text, ManifestBuilder& builder) {
  return XmlScanner(text, builder).Scan();
}

}  // namespace evenkeel::balancing
