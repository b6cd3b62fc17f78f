#include "kube/json_template.h"

#include <utility>

namespace evenkeel::kube {

namespace {
using base::Code;
using base::Fail;
using base::Json;

constexpr size_t kTemplateMax = 16 << 10;
constexpr size_t kRangesMax = 8;
/// Parts that may be printed, those within a range each time.
constexpr size_t kPartsMax = 100'000;
constexpr size_t kPrintedMax = 16 << 20;
}  // namespace

struct JsonTemplate::Part {
  enum class Kind { kText, kPath, kRange };
  Kind kind = Kind::kText;
  std::string text{};
  JsonPath path{};
  std::vector<std::shared_ptr<const Part>> inside{};  ///< kRange
};

namespace {

using Part = JsonTemplate::Part;
using Parts = std::vector<std::shared_ptr<const Part>>;

std::string_view WithoutSpaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

class TemplateParser {
 public:
  explicit TemplateParser(std::string_view text) : text_(text) {}

  /// Up to {end}, if `depth` is not 0.
  base::Result<Parts> Parse(size_t depth) {
    Parts parts;
    while (at_ < text_.size()) {
      const size_t brace = std::min(text_.find('{', at_), text_.size());
      if (brace > at_) Add(parts, {.text = std::string(text_.substr(at_, brace - at_))});
      at_ = brace;
      if (at_ == text_.size()) break;
      EVENKEEL_ASSIGN(const std::string_view action, TakeAction());
      if (action == "end") {
        if (depth == 0) return Fail(Code::kInvalid, "{end} without {range ...}");
        return parts;
      }
      EVENKEEL_TRY(AddAction(action, depth, parts));
    }
    if (depth > 0) return Fail(Code::kInvalid, "{range ...} without {end}");
    return parts;
  }

 private:
  static void Add(Parts& parts, Part part) { parts.push_back(std::make_shared<const Part>(std::move(part))); }

  /// What is between the braces. Those within quotes are text.
  base::Result<std::string_view> TakeAction() {
    const size_t begin = at_ + 1;
    char quote = 0;
    for (size_t i = begin; i < text_.size(); ++i) {
      const char letter = text_[i];
      if (letter == '\\') {
        ++i;
      } else if (quote != 0) {
        if (letter == quote) quote = 0;
      } else if (letter == '"' || letter == '\'') {
        quote = letter;
      } else if (letter == '}') {
        at_ = i + 1;
        return WithoutSpaces(text_.substr(begin, i - begin));
      }
    }
    return Fail(Code::kInvalid, "a { without its }");
  }

  base::Status AddAction(std::string_view action, size_t depth, Parts& parts) {
    constexpr std::string_view kRange = "range ";
    if (action.starts_with(kRange)) {
      if (depth >= kRangesMax) return Fail(Code::kInvalid, "ranges are nested too deeply");
      EVENKEEL_ASSIGN(JsonPath path, JsonPath::Parse(WithoutSpaces(action.substr(kRange.size()))));
      EVENKEEL_ASSIGN(Parts inside, Parse(depth + 1));
      Add(parts, {.kind = Part::Kind::kRange, .path = std::move(path), .inside = std::move(inside)});
      return {};
    }
    if (action.size() >= 2 && (action.front() == '"' || action.front() == '\'') && action.back() == action.front()) {
      Add(parts, {.text = Unescaped(action.substr(1, action.size() - 2))});
      return {};
    }
    EVENKEEL_ASSIGN(JsonPath path, JsonPath::Parse(action));
    Add(parts, {.kind = Part::Kind::kPath, .path = std::move(path)});
    return {};
  }

  static std::string Unescaped(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\' || i + 1 == text.size()) {
        out += text[i];
        continue;
      }
      const char letter = text[++i];
      out += letter == 'n' ? '\n' : letter == 't' ? '\t' : letter == 'r' ? '\r' : letter;
    }
    return out;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

class Printer {
 public:
  base::Status Print(const Parts& parts, const Json& object) {
    for (const auto& part : parts) {
      if (++printed_ > kPartsMax || out_.size() > kPrintedMax) return Fail(Code::kInvalid, "the template prints too much");
      if (part->kind == Part::Kind::kText) {
        out_ += part->text;
        continue;
      }
      EVENKEEL_ASSIGN(const std::vector<const Json*> found, part->path.Find(object));
      if (part->kind == Part::Kind::kPath) {
        out_ += TextOfValues(found, " ");
        continue;
      }
      for (const Json* item : found) EVENKEEL_TRY(Print(part->inside, *item));
    }
    return {};
  }
  std::string Take() { return std::move(out_); }

 private:
  size_t printed_ = 0;
  std::string out_;
};

}  // namespace

base::Result<JsonTemplate> JsonTemplate::Parse(std::string_view text) {
  if (text.size() > kTemplateMax) return Fail(Code::kInvalid, "the template is too long");
  JsonTemplate parsed;
  if (!text.contains('{')) {
    EVENKEEL_ASSIGN(JsonPath path, ParseColumnPath(text));
    parsed.parts_.push_back(std::make_shared<const Part>(Part{.kind = Part::Kind::kPath, .path = std::move(path)}));
    return parsed;
  }
  EVENKEEL_ASSIGN(parsed.parts_, TemplateParser(text).Parse(0));
  return parsed;
}

base::Result<std::string> JsonTemplate::Print(const Json& object) const {
  Printer printer;
  EVENKEEL_TRY(printer.Print(parts_, object));
  return printer.Take();
}

base::Result<JsonPath> ParseColumnPath(std::string_view text) {
  text = WithoutSpaces(text);
  if (text.starts_with('{') && text.ends_with('}')) text = WithoutSpaces(text.substr(1, text.size() - 2));
  if (text.empty()) return Fail(Code::kInvalid, "there is no path");
  const bool is_whole = text.starts_with('.') || text.starts_with('[') || text.starts_with('$') || text.starts_with('@');
  return JsonPath::Parse(is_whole ? std::string(text) : "." + std::string(text));
}

std::string TextOfValues(const std::vector<const Json*>& values, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const Json* value : values) {
    if (!std::exchange(first, false)) out += separator;
    out += value->is_string() ? std::string(value->get_string()) : base::ToText(*value);
  }
  return out;
}

}  // namespace evenkeel::kube
