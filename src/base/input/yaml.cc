#include "base/input/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/input/yaml_scalar.h"
#include "base/utf8.h"

namespace evenkeel::base {
namespace {

constexpr size_t kExpansionBytesMax = 10u << 20;
constexpr size_t kWarningsMax = 100;

// Leaves yaml-cpp's parser; caught in ParseYaml.
struct YamlStop {
  YAML::Mark mark;
  std::string what;
};

// A finished value that an alias may repeat.
struct YamlAnchor {
  bool finished = false;
  Json value;
  size_t bytes = 0;
  size_t depth = 0;
};

struct YamlFrame {
  Json value;  ///< the object or array so far
  YAML::anchor_t anchor = 0;
  bool has_key = false;
  bool key_is_merge = false;
  std::string key{};
  std::vector<Json> merged{};  ///< the maps under <<, in their order
};

std::string TooDeep() { return "nested deeper than " + std::to_string(kJsonDepthMax) + " levels"; }

// Builds one document's JSON from the parser's events, which carry the position of every value.
class YamlBuilder final : public YAML::EventHandler {
 public:
  YamlBuilder(std::string_view source, YamlDuplicates duplicates) : source_(source), duplicates_(duplicates) {}

  std::vector<std::string> TakeWarnings() { return std::move(warnings_); }
  Json Take() { return std::move(root_); }
  int line() const { return line_; }
  const YAML::Mark& start() const { return start_; }

  void OnDocumentStart(const YAML::Mark& mark) override { start_ = mark; }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { Scalar(mark, anchor, Json(nullptr), "", true); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& text) override {
    const bool plain = tag == "?";
    const bool typed = tag == "tag:yaml.org,2002:int" || tag == "tag:yaml.org,2002:float" || tag == "tag:yaml.org,2002:bool" ||
                       tag == "tag:yaml.org,2002:null";
    if (!plain && !typed) return Scalar(mark, anchor, Json(boost::json::string(text)), text, false);
    std::optional<Json> value = ResolveYamlScalar(text);
    if (!value) throw YamlStop{mark, "\"" + text + "\" has no counterpart in JSON"};
    if (typed && value->is_string()) throw YamlStop{mark, "\"" + text + "\" is not of the type that its tag names"};
    Scalar(mark, anchor, *std::move(value), text, plain);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (anchor >= anchors_.size() || !anchors_[anchor].finished) throw YamlStop{mark, "the alias refers to itself"};
    const YamlAnchor& source = anchors_[anchor];
    expanded_bytes_ += source.bytes;
    if (expanded_bytes_ > kExpansionBytesMax) throw YamlStop{mark, "the aliases expand to more than 10 MB"};
    if (source.depth + frames_.size() > kJsonDepthMax) throw YamlStop{mark, TooDeep()};
    if (WantsKey()) {
      if (source.value.is_structured()) throw YamlStop{mark, "a key is neither a string nor a number"};
      return SetKey(mark, source.value, false);
    }
    Put(mark, source.value);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    Open(mark, anchor, JsonArray());
  }
  void OnSequenceEnd() override { Finish(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    Open(mark, anchor, JsonObject());
  }
  void OnMapEnd() override {
    YamlFrame& frame = frames_.back();
    // A map's own keys win wherever they stand, then the maps under << in their order.
    JsonObject& object = frame.value.get_object();
    for (const Json& source : frame.merged) {
      for (const auto& member : source.get_object()) {
        if (!object.contains(member.key())) object[member.key()] = member.value();
      }
    }
    Finish();
  }

 private:
  bool WantsKey() const { return !frames_.empty() && frames_.back().value.is_object() && !frames_.back().has_key; }

  void Note(const YAML::Mark& mark) {
    if (line_ == 0) line_ = mark.line + 1;
    last_mark_ = mark;
  }

  void Scalar(const YAML::Mark& mark, YAML::anchor_t anchor, Json value, const std::string& text, bool plain) {
    Note(mark);
    if (anchor != 0) Remember(anchor, value);
    if (WantsKey()) return SetKey(mark, value, plain && text == "<<");
    Put(mark, std::move(value));
  }

  void SetKey(const YAML::Mark& mark, const Json& value, bool is_merge) {
    YamlFrame& frame = frames_.back();
    if (value.is_null()) throw YamlStop{mark, "a key is null"};
    frame.key = value.is_string() ? std::string(value.get_string()) : ToText(value);
    frame.key_is_merge = is_merge;
    frame.has_key = true;
    if (is_merge || !frame.value.get_object().contains(frame.key)) return;
    if (duplicates_ == YamlDuplicates::kRefused) {
      throw YamlStop{mark, "the key \"" + frame.key + "\" is already set in this map"};
    }
    if (warnings_.size() >= kWarningsMax) return;
    if (duplicates_ == YamlDuplicates::kLastCountsAsServer) {
      warnings_.push_back(fmt::format("line {}: key \"{}\" already set in map", mark.line + 1, OneLine(frame.key)));
    } else {
      warnings_.push_back(fmt::format("{}:{}: the key \"{}\" is already set in this map: the last one counts", source_,
                                      mark.line + 1, OneLine(frame.key)));
    }
  }

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, Json empty) {
    Note(mark);
    if (WantsKey()) throw YamlStop{mark, "a key is neither a string nor a number"};
    if (frames_.size() >= kJsonDepthMax) throw YamlStop{mark, TooDeep()};
    frames_.push_back({.value = std::move(empty), .anchor = anchor});
  }

  void Finish() {
    YamlFrame frame = std::move(frames_.back());
    frames_.pop_back();
    if (frame.anchor != 0) Remember(frame.anchor, frame.value);
    Put(last_mark_, std::move(frame.value));
  }

  void Remember(YAML::anchor_t anchor, const Json& value) {
    if (anchor >= anchors_.size()) anchors_.resize(anchor + 1);
    YamlAnchor& kept = anchors_[anchor];
    kept = {.finished = true, .value = value, .bytes = ToText(value).size(), .depth = DepthOf(value)};
    // An anchor keeps a copy, so nested ones count like aliases.
    expanded_bytes_ += kept.bytes;
    if (expanded_bytes_ > kExpansionBytesMax) throw YamlStop{last_mark_, "the anchors hold more than 10 MB"};
  }

  void Put(const YAML::Mark& mark, Json value) {
    if (frames_.empty()) {
      root_ = std::move(value);
      return;
    }
    YamlFrame& frame = frames_.back();
    if (JsonArray* array = frame.value.if_array()) {
      array->push_back(std::move(value));
      return;
    }
    frame.has_key = false;
    if (!frame.key_is_merge) {
      frame.value.get_object()[frame.key] = std::move(value);
      return;
    }
    const auto merge = [&](Json map) {
      if (!map.is_object()) throw YamlStop{mark, "<< wants a map or a list of maps"};
      frame.merged.push_back(std::move(map));
    };
    if (JsonArray* array = value.if_array()) {
      for (Json& map : *array) merge(std::move(map));
    } else {
      merge(std::move(value));
    }
  }

  const std::string_view source_;
  const YamlDuplicates duplicates_;
  std::vector<std::string> warnings_;
  Json root_;
  int line_ = 0;
  YAML::Mark start_;
  YAML::Mark last_mark_;
  size_t expanded_bytes_ = 0;
  std::vector<YamlFrame> frames_;
  std::vector<YamlAnchor> anchors_;
};

std::unexpected<Error> YamlError(std::string_view source, const YAML::Mark& mark, const std::string& what) {
  std::string where(source);
  if (!mark.is_null()) where += ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
  // yaml-cpp quotes the input, whatever it is; an error is one line.
  std::string line = what;
  std::ranges::replace_if(line, [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
  return Fail(Code::kBadRequest, where + ": invalid YAML: " + line);
}

/// The first character that YAML does not allow in a document; npos when there is none. Source: YAML 1.2.2, 5.1 (c-printable).
size_t FindControl(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) return i;
    // U+0080 to U+009F, without the line break U+0085.
    if (c == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0 && static_cast<unsigned char>(text[i + 1]) != 0x85)
      return i;
  }
  return std::string_view::npos;
}

}  // namespace

Result<std::vector<YamlDocument>> ParseYaml(std::string_view text, std::string_view source, YamlDuplicates duplicates) {
  std::vector<YamlDocument> documents;
  if (const size_t wrong = FindNotUtf8(text); wrong != std::string_view::npos) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(wrong), '\n');
    return Fail(Code::kBadRequest, std::string(source) + ":" + std::to_string(line) + ": not UTF-8");
  }
  const size_t first = text.find_first_not_of(" \t\r\n");
  std::optional<Error> json_error;
  if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) {
    Result<Json> json = ParseJson(text, source);
    if (json) {
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(first), '\n');
      documents.push_back({*std::move(json), static_cast<int>(line), {}});
      return documents;
    }
    json_error = std::move(json).error();
  }
  const auto error = [&](const YAML::Mark& mark, const std::string& what) -> std::unexpected<Error> {
    // What begins like JSON and is not YAML either was most likely meant to be JSON.
    if (json_error) return Fail(*json_error);
    return YamlError(source, mark, what);
  };
  if (const size_t control = FindControl(text); control != std::string_view::npos) {
    const auto before = text.substr(0, control);
    YAML::Mark mark;
    mark.line = static_cast<int>(std::ranges::count(before, '\n'));
    mark.column = static_cast<int>(control - (before.rfind('\n') + 1));
    return error(mark, "control characters are not allowed");
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    int last_start = -1;
    for (;;) {
      YamlBuilder builder(source, duplicates);
      if (!parser.HandleNextDocument(builder)) return documents;
      // A stray comma or bracket between documents is not consumed: yaml-cpp would report empty documents there for ever.
      if (builder.start().pos <= last_start) return error(builder.start(), "unexpected text at the start of a document");
      last_start = builder.start().pos;
      Json value = builder.Take();
      if (!value.is_null()) documents.push_back({std::move(value), builder.line(), builder.TakeWarnings()});
    }
  } catch (const YamlStop& stop) {
    return error(stop.mark, stop.what);
  } catch (const YAML::Exception& exception) {
    return error(exception.mark, exception.msg);
  } catch (const std::exception& exception) {
    return error(YAML::Mark::null_mark(), exception.what());
  }
}

Result<Json> ParseYamlDocument(std::string_view text, std::string_view source, YamlDuplicates duplicates) {
  EVENKEEL_ASSIGN(auto documents, ParseYaml(text, source, duplicates));
  if (documents.size() != 1) {
    return Fail(Code::kBadRequest,
                std::string(source) + ": expected one YAML document, found " + std::to_string(documents.size()));
  }
  return std::move(documents[0].value);
}

}  // namespace evenkeel::base
