#include "balancing/input/text_position.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

namespace evenkeel::balancing {
namespace {

// Walks over JSON that is known to be well-formed.
class JsonScanner {
 public:
  JsonScanner(std::string_view text, size_t at) : text_(text), at_(at) {}

  size_t at() const { return at_; }
  char Peek() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  /// The string here, as it is written, without its quotes.
  std::string_view TakeString() {
    Peek();
    const size_t start = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_, text_.size());
    const std::string_view string = text_.substr(start, at_ - start);
    at_ = std::min(at_ + 1, text_.size());
    return string;
  }
  void SkipValue() {
    size_t depth = 0;
    do {
      const char c = Peek();
      if (c == '\0') return;
      if (c == '"') {
        TakeString();
      } else if (c == '{' || c == '[') {
        ++depth, ++at_;
      } else if (c == '}' || c == ']') {
        --depth, ++at_;
      } else if (c == ',' || c == ':') {
        ++at_;
      } else {
        at_ = std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size());
      }
    } while (depth > 0);
  }

 private:
  std::string_view text_;
  size_t at_;
};

JsonSpot ReadSpots(JsonScanner& scanner) {
  const char c = scanner.Peek();
  JsonSpot spot{.offset = scanner.at()};
  if (c != '{' && c != '[') {
    scanner.SkipValue();
    return spot;
  }
  scanner.Take(c);
  const char close = c == '{' ? '}' : ']';
  std::unordered_map<std::string_view, size_t> places;  // of members, by key
  while (!scanner.Take(close) && scanner.Peek() != '\0') {
    size_t place = spot.children.size();
    if (c == '{') {
      place = places.try_emplace(scanner.TakeString(), place).first->second;
      scanner.Take(':');
    }
    JsonSpot child = ReadSpots(scanner);
    if (place == spot.children.size()) {
      spot.children.push_back(std::move(child));
    } else {
      spot.repeated.push_back(child.offset);
      spot.children[place] = std::move(child);
    }
    scanner.Take(',');
  }
  return spot;
}

/// Goes to the member or item that the step names.
bool Step(JsonScanner& scanner, const std::variant<std::string, size_t>& step) {
  const std::string* key = std::get_if<std::string>(&step);
  const char close = key != nullptr ? '}' : ']';
  if (!scanner.Take(key != nullptr ? '{' : '[')) return false;
  for (size_t index = 0; !scanner.Take(close) && scanner.Peek() != '\0'; ++index) {
    bool found = key == nullptr && index == std::get<size_t>(step);
    if (key != nullptr) {
      found = scanner.TakeString() == *key;
      scanner.Take(':');
    }
    if (found) return true;
    scanner.SkipValue();
    scanner.Take(',');
  }
  return false;
}

std::optional<size_t> FindInJson(std::string_view text, const ValuePath& path) {
  JsonScanner scanner(text, 0);
  for (const auto& step : path) {
    if (!Step(scanner, step)) return std::nullopt;
  }
  scanner.Peek();
  return scanner.at();
}

// Leaves yaml-cpp's parser; caught in FindInYaml.
struct YamlFound {
  YAML::Mark mark;
};

// Follows yaml-cpp's events until a value has the path that is looked for.
class YamlFinder final : public YAML::EventHandler {
 public:
  explicit YamlFinder(const ValuePath& path) : path_(path) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Scalar(mark, ""); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Scalar(mark, ""); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string& text) override {
    Scalar(mark, text);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Open(mark, false);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    Open(mark, true);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    bool map = false;
    bool has_key = false;
    size_t index = 0;
    std::string key{};
  };

  void Scalar(const YAML::Mark& mark, const std::string& text) {
    if (!frames_.empty() && frames_.back().map && !frames_.back().has_key) {
      frames_.back().key = text;
      frames_.back().has_key = true;
      return;
    }
    Check(mark);
    Done();
  }
  void Open(const YAML::Mark& mark, bool map) {
    Check(mark);
    frames_.push_back({.map = map});
  }
  void Close() {
    frames_.pop_back();
    Done();
  }
  void Done() {
    if (frames_.empty()) return;
    frames_.back().has_key = false;
    ++frames_.back().index;
  }
  void Check(const YAML::Mark& mark) const {
    if (frames_.size() != path_.size()) return;
    for (size_t i = frames_.size(); i-- > 0;) {
      const std::string* key = std::get_if<std::string>(&path_[i]);
      if (frames_[i].map != (key != nullptr)) return;
      if (key != nullptr ? frames_[i].key != *key : frames_[i].index != std::get<size_t>(path_[i])) return;
    }
    throw YamlFound{mark};
  }

  const ValuePath& path_;
  std::vector<Frame> frames_;
};

std::optional<TextPosition> FindInYaml(std::string_view text, const ValuePath& path) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    YamlFinder finder(path);
    parser.HandleNextDocument(finder);
  } catch (const YamlFound& found) {
    return TextPosition{static_cast<size_t>(found.mark.line) + 1, static_cast<size_t>(found.mark.column) + 1};
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

LineIndex::LineIndex(std::string_view text) {
  starts_.push_back(0);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts_.push_back(i + 1);
  }
}

TextPosition LineIndex::At(size_t offset) const {
  const auto next = std::ranges::upper_bound(starts_, offset);
  const size_t line = static_cast<size_t>(next - starts_.begin());
  return {line, offset - starts_[line - 1] + 1};
}

JsonSpot JsonSpots(std::string_view json) {
  JsonScanner scanner(json, 0);
  return ReadSpots(scanner);
}

std::optional<TextPosition> Locate(std::string_view text, TextSyntax syntax, const ValuePath& path) {
  if (syntax == TextSyntax::kYaml) return FindInYaml(text, path);
  const auto offset = FindInJson(text, path);
  if (!offset) return std::nullopt;
  return LineIndex(text).At(*offset);
}

}  // namespace evenkeel::balancing
