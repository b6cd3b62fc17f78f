#include "kube/json_path.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/parse_number.h"
#include "base/text.h"

namespace evenkeel::kube {

namespace {
using base::Code;
using base::Fail;
using base::Json;
using Nodes = std::vector<std::shared_ptr<const JsonPath::Node>>;
using Values = std::vector<const Json*>;

constexpr size_t kPathMax = 8 << 10;
constexpr int kNestingMax = 16;
constexpr size_t kNodesMax = 512;
/// Values that one search may touch.
constexpr size_t kStepsMax = 100'000;
}  // namespace

struct JsonPath::Node {
  enum class Kind { kField, kWildcard, kRecursive, kSlice, kUnion, kFilter, kLiteral };
  struct Bound {
    int64_t value = 0;
    bool known = false, derived = false;
  };
  Kind kind = Kind::kField;
  std::string text{};          ///< the field, or the operator of a filter
  Bound bounds[3]{};           ///< kSlice: from, to, step
  std::vector<Nodes> lists{};  ///< kUnion: each; kFilter: left, right
  Json literal{};
};

namespace {

using Node = JsonPath::Node;
using Kind = Node::Kind;

bool IsSpace(char letter) { return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n'; }
bool IsWord(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }
bool IsTerminator(char letter) {
  return IsSpace(letter) || std::string_view(".,[]$@{}").find(letter) != std::string_view::npos;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  const auto number = base::ParseNumber<int64_t>(text);
  // Sums of two are computed with.
  if (number && (*number > (int64_t{1} << 40) || *number < -(int64_t{1} << 40))) return std::nullopt;
  return number;
}

class PathParser {
 public:
  base::Result<Nodes> Parse(std::string_view text, int depth) {
    if (depth > kNestingMax) return Fail(Code::kInvalid, "filters and unions are nested too deeply");
    Nodes nodes;
    size_t at = 0;
    while (at < text.size()) {
      if (++count_ > kNodesMax) return Fail(Code::kInvalid, "the path has too many parts");
      const char letter = text[at];
      if (letter == ' ' || letter == '@' || letter == '$') {
        ++at;
      } else if (text.substr(at).starts_with("[?(")) {
        EVENKEEL_TRY(ParseFilter(text, at, depth, nodes));
      } else if (letter == '[') {
        EVENKEEL_TRY(ParseArray(text, at, depth, nodes));
      } else if (text.substr(at).starts_with("..")) {
        Add(nodes, {.kind = Kind::kRecursive});
        at += 2;
        if (at < text.size() && !IsTerminator(text[at])) ParseField(text, at, nodes);
      } else if (letter == '.') {
        ++at;
        ParseField(text, at, nodes);
      } else if (letter == '"' || letter == '\'') {
        EVENKEEL_TRY(ParseQuote(text, at, nodes));
      } else if (letter == '+' || letter == '-' || std::isdigit(static_cast<unsigned char>(letter)) != 0) {
        EVENKEEL_TRY(ParseNumber(text, at, nodes));
      } else if (IsWord(letter)) {
        EVENKEEL_TRY(ParseWord(text, at, nodes));
      } else {
        return Fail(Code::kInvalid, std::string("unrecognized character in action: ") + letter);
      }
    }
    return nodes;
  }

 private:
  static void Add(Nodes& nodes, Node node) { nodes.push_back(std::make_shared<const Node>(std::move(node))); }

  static void ParseField(std::string_view text, size_t& at, Nodes& nodes) {
    const size_t begin = at;
    std::string name;
    while (at < text.size() && !IsTerminator(text[at])) {
      if (text[at] == '\\') {
        if (++at < text.size() && text[at] != '\\') name += text[at];
        at = std::min(at + 1, text.size());
      } else {
        name += text[at++];
      }
    }
    if (text.substr(begin, at - begin) == "*") return Add(nodes, {.kind = Kind::kWildcard});
    Add(nodes, {.kind = Kind::kField, .text = std::move(name)});
  }

  base::Status ParseArray(std::string_view text, size_t& at, int depth, Nodes& nodes) {
    const size_t end = text.find(']', at);
    if (end == text.npos) return Fail(Code::kInvalid, "unterminated array");
    std::string_view inside = text.substr(at + 1, end - at - 1);
    at = end + 1;
    if (inside == "*") inside = ":";
    if (inside.find(',') != inside.npos) {
      Node each{.kind = Kind::kUnion};
      while (true) {
        const size_t comma = inside.find(',');
        const std::string one = "[" + std::string(base::Trimmed(inside.substr(0, comma))) + "]";
        EVENKEEL_ASSIGN(Nodes list, Parse(one, depth + 1));
        each.lists.push_back(std::move(list));
        if (comma == inside.npos) break;
        inside.remove_prefix(comma + 1);
      }
      Add(nodes, std::move(each));
      return {};
    }
    if (inside.size() >= 2 && inside.front() == '\'' && inside.find('\'', 1) == inside.size() - 1) {
      const std::string field = "." + std::string(inside.substr(1, inside.size() - 2));
      EVENKEEL_ASSIGN(const Nodes list, Parse(field, depth + 1));
      nodes.insert(nodes.end(), list.begin(), list.end());
      return {};
    }
    return ParseSlice(inside, nodes);
  }

  static base::Status ParseSlice(std::string_view inside, Nodes& nodes) {
    const auto wrong = [inside] { return Fail(Code::kInvalid, "invalid array index " + std::string(inside)); };
    Node slice{.kind = Kind::kSlice};
    std::string_view rest = inside;
    for (int i = 0; i < 3; ++i) {
      Node::Bound& bound = slice.bounds[i];
      if (i > 0 && rest.empty()) {
        if (i == 1) bound = {.value = slice.bounds[0].value + 1, .known = true, .derived = true};
        continue;
      }
      if (i > 0) rest.remove_prefix(1);  // the colon
      const std::string_view number = rest.substr(0, rest.find(':'));
      rest.remove_prefix(number.size());
      if (number.empty()) continue;
      const auto value = ParseInteger(number);
      if (!value) return wrong();
      bound = {.value = *value, .known = true};
    }
    // An index that is not there at all would be a slice up to 1.
    if (!rest.empty() || inside.empty()) return wrong();
    Add(nodes, std::move(slice));
    return {};
  }

  base::Status ParseFilter(std::string_view text, size_t& at, int depth, Nodes& nodes) {
    at += 3;
    const size_t begin = at;
    bool opened = false, closed = false;
    char quote = 0;
    for (;; ++at) {
      if (at >= text.size() || text[at] == '\n') return Fail(Code::kInvalid, "unterminated filter");
      const char letter = text[at];
      if (letter == '"' || letter == '\'') {
        if (!opened) {
          opened = true;
          quote = letter;
        } else if (letter == quote && text[at - 1] != '\\') {
          closed = true;
        }
      } else if (letter == ')' && opened == closed) {
        break;
      }
    }
    const std::string_view inside = text.substr(begin, at - begin);
    if (++at >= text.size() || text[at] != ']') return Fail(Code::kInvalid, "unclosed array expect ]");
    ++at;
    Node filter{.kind = Kind::kFilter, .text = "exists"};
    std::string_view left = inside, right;
    constexpr std::string_view kOperators = "!<>=";
    const size_t first = inside.find_first_of(kOperators);
    if (first != inside.npos && first > 0) {
      size_t after = std::min(inside.find_first_not_of(kOperators, first), inside.size());
      // Something has to be left to compare with.
      if (after == inside.size() && after > first + 1) --after;
      if (after < inside.size()) {
        left = inside.substr(0, first);
        filter.text = inside.substr(first, after - first);
        right = inside.substr(after);
      }
    }
    for (const std::string_view side : {left, right}) {
      EVENKEEL_ASSIGN(Nodes list, Parse(side, depth + 1));
      filter.lists.push_back(std::move(list));
    }
    Add(nodes, std::move(filter));
    return {};
  }

  static base::Status ParseQuote(std::string_view text, size_t& at, Nodes& nodes) {
    const char quote = text[at++];
    std::string value;
    for (;; ++at) {
      if (at >= text.size()) return Fail(Code::kInvalid, "unterminated quoted string");
      if (text[at] == quote) break;
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      value += text[at];
    }
    ++at;
    Add(nodes, {.kind = Kind::kLiteral, .literal = Json(value)});
    return {};
  }

  static base::Status ParseNumber(std::string_view text, size_t& at, Nodes& nodes) {
    const size_t begin = at;
    if (text[at] == '+' || text[at] == '-') ++at;
    while (at < text.size() && (std::isdigit(static_cast<unsigned char>(text[at])) != 0 || text[at] == '.')) ++at;
    std::string_view number = text.substr(begin, at - begin);
    if (number.starts_with('+')) number.remove_prefix(1);
    auto value = base::ParseJson(number, "number");
    if (!value) return Fail(Code::kInvalid, "cannot parse number " + std::string(number));
    Add(nodes, {.kind = Kind::kLiteral, .literal = *std::move(value)});
    return {};
  }

  static base::Status ParseWord(std::string_view text, size_t& at, Nodes& nodes) {
    const size_t begin = at;
    while (at < text.size() && !IsTerminator(text[at])) ++at;
    const std::string_view word = text.substr(begin, at - begin);
    if (word != "true" && word != "false") return Fail(Code::kInvalid, "unrecognized identifier " + std::string(word));
    Add(nodes, {.kind = Kind::kLiteral, .literal = Json(word == "true")});
    return {};
  }

  size_t count_ = 0;
};

class PathSearch {
 public:
  base::Result<Values> Find(Values values, std::span<const std::shared_ptr<const Node>> nodes) {
    for (const auto& node : nodes) {
      Values found;
      EVENKEEL_TRY(Step(values, *node, found));
      values = std::move(found);
    }
    return values;
  }

 private:
  base::Status Count(size_t steps) {
    steps_ += steps;
    return steps_ <= kStepsMax ? base::Status() : Fail(Code::kInvalid, "the path leads to too many values");
  }

  base::Status Step(const Values& values, const Node& node, Values& found) {
    EVENKEEL_TRY(Count(values.size() + 1));
    switch (node.kind) {
      case Kind::kField:
        for (const Json* value : values) {
          const Json* field = value->is_object() ? value->get_object().if_contains(node.text) : nullptr;
          // Upstream's .. and field pass over what is no map.
          if (field != nullptr) found.push_back(field);
        }
        return {};
      case Kind::kWildcard:
        for (const Json* value : values) AddChildren(*value, found);
        return {};
      case Kind::kRecursive:
        for (const Json* value : values) EVENKEEL_TRY(Descend(*value, found));
        return {};
      case Kind::kSlice:
        for (const Json* value : values) EVENKEEL_TRY(Slice(*value, node, found));
        return {};
      case Kind::kUnion:
        for (const auto& list : node.lists) {
          EVENKEEL_ASSIGN(const Values some, Find(values, list));
          found.insert(found.end(), some.begin(), some.end());
        }
        return {};
      case Kind::kFilter:
        for (const Json* value : values) EVENKEEL_TRY(Filter(*value, node, found));
        return {};
      case Kind::kLiteral:
        found.push_back(&node.literal);
        return {};
    }
    return {};
  }

  static void AddChildren(const Json& value, Values& found) {
    if (const auto* array = value.if_array()) {
      for (const Json& item : *array) found.push_back(&item);
    } else if (const auto* object = value.if_object()) {
      for (const auto& field : *object) found.push_back(&field.value());
    }
  }

  // It and all lists and maps below it: values alone have no fields to find.
  base::Status Descend(const Json& value, Values& found) {
    if (!value.is_structured()) return {};
    EVENKEEL_TRY(Count(1));
    found.push_back(&value);
    Values children;
    AddChildren(value, children);
    for (const Json* child : children) EVENKEEL_TRY(Descend(*child, found));
    return {};
  }

  base::Status Slice(const Json& value, const Node& node, Values& found) {
    if (value.is_null()) return {};
    if (!value.is_array()) return Fail(Code::kInvalid, "it is not array or slice");
    const auto& array = value.get_array();
    const auto size = static_cast<int64_t>(array.size());
    int64_t from = node.bounds[0].known ? node.bounds[0].value : 0;
    if (from < 0) from += size;
    int64_t to = node.bounds[1].known ? node.bounds[1].value : size;
    if (to < 0 || (to == 0 && node.bounds[1].derived)) to += size;
    if (from == to) return {};
    const int64_t step = node.bounds[2].known ? node.bounds[2].value : 1;
    if (from < 0 || from >= size || to < 0 || to > size || from > to) return Fail(Code::kInvalid, "array index out of bounds");
    if (step <= 0) return Fail(Code::kInvalid, "step must be > 0");
    for (int64_t i = from; i < to; i += step) found.push_back(&array[static_cast<size_t>(i)]);
    return {};
  }

  base::Status Filter(const Json& value, const Node& node, Values& found) {
    if (value.is_null()) return {};
    if (!value.is_array()) return Fail(Code::kInvalid, "it is not array or slice and cannot be filtered");
    for (const Json& item : value.get_array()) {
      EVENKEEL_ASSIGN(const Values left, Find({&item}, node.lists[0]));
      if (node.text == "exists") {
        if (!left.empty()) found.push_back(&item);
        continue;
      }
      EVENKEEL_ASSIGN(const Values right, Find({&item}, node.lists[1]));
      if (left.empty() || right.empty()) continue;
      if (left.size() > 1 || right.size() > 1) return Fail(Code::kInvalid, "can only compare one element at a time");
      EVENKEEL_ASSIGN(const bool passes, Compare(*left[0], *right[0], node.text));
      if (passes) found.push_back(&item);
    }
    return {};
  }

  static base::Result<bool> Compare(const Json& left, const Json& right, std::string_view by) {
    const bool numbers = left.is_number() && right.is_number();
    const bool texts = left.is_string() && right.is_string();
    const bool booleans = left.is_bool() && right.is_bool();
    if (!numbers && !texts && !booleans) return Fail(Code::kInvalid, "incompatible types for comparison");
    if (by == "==") return base::Equal(left, right);
    if (by == "!=") return !base::Equal(left, right);
    if (booleans) return Fail(Code::kInvalid, "invalid type for comparison");
    const bool equal = base::Equal(left, right);
    const bool less = numbers ? left.to_number<double>() < right.to_number<double>()
                              : std::string_view(left.get_string()) < std::string_view(right.get_string());
    if (by == "<") return less && !equal;
    if (by == "<=") return less || equal;
    if (by == ">") return !less && !equal;
    if (by == ">=") return !less || equal;
    return Fail(Code::kInvalid, "unrecognized filter operator " + std::string(by));
  }

  size_t steps_ = 0;
};

}  // namespace

base::Result<JsonPath> JsonPath::Parse(std::string_view path) {
  if (path.size() > kPathMax) return Fail(Code::kInvalid, "the path is too long");
  EVENKEEL_ASSIGN(Nodes nodes, PathParser().Parse(path, 0));
  JsonPath parsed;
  parsed.nodes_ = std::move(nodes);
  return parsed;
}

base::Result<std::vector<const Json*>> JsonPath::Find(const Json& object) const { return PathSearch().Find({&object}, nodes_); }

}  // namespace evenkeel::kube
