#include <boost/json.hpp>
#include <set>

#include "balancing/input/manifest_builder.h"
#include "balancing/model/messages.h"
#include "base/json.h"
#include "base/text.h"

namespace evenkeel::balancing {
namespace {

constexpr size_t kJsonDepthMax = 100;

/// The text with braces around it where they are missing.
struct JsonText {
  std::string text;
  size_t shift = 0;  ///< how much further back things stand than in the file

  size_t Original(size_t offset) const { return offset < shift ? 0 : offset - shift; }
};

JsonText WithBraces(std::string_view text) {
  if (text[text.find_first_not_of(base::kBlanks)] != '"') return {std::string(text), 0};
  return {"{" + std::string(text) + "}", 1};
}

/// Commas before a closing bracket become spaces, with a warning.
void DropTrailingCommas(JsonText& json, ManifestBuilder& builder) {
  size_t comma = std::string::npos;  // when it is the last thing that was seen
  bool after_value = false;
  bool in_string = false;
  for (size_t i = 0; i < json.text.size(); ++i) {
    const char c = json.text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    if (base::kBlanks.find(c) != std::string_view::npos) continue;
    if ((c == ']' || c == '}') && comma != std::string::npos) {
      json.text[comma] = ' ';
      builder.Warn(json.Original(comma), std::string("a comma before ") + c + " is left out");
    }
    comma = c == ',' && after_value ? i : std::string::npos;
    after_value = c != ',' && c != '[' && c != '{' && c != ':';
    in_string = c == '"';
  }
}

base::Result<base::Json> Parse(const JsonText& json, const ManifestBuilder& builder) {
  boost::json::parse_options options;
  options.max_depth = kJsonDepthMax;
  boost::json::parser parser({}, options);
  boost::json::error_code error;
  const size_t used = parser.write_some(json.text.data(), json.text.size(), error);
  if (error) {
    const bool too_deep = error == boost::json::error::too_deep;
    return builder.Refused(json.Original(used),
                           "invalid JSON: " + (too_deep ? "nested deeper than 100 levels" : error.message()));
  }
  const size_t rest = json.text.find_first_not_of(base::kBlanks, used);
  if (rest != std::string::npos) return builder.Refused(json.Original(rest), "invalid JSON: something follows the value");
  return parser.release();
}

// A value and where it stands.
struct Located {
  const base::Json* value = nullptr;
  const JsonSpot* spot = nullptr;
};

/// "[parameters('x')]" and the like, which a deployment evaluates.
bool IsExpression(std::string_view text) { return text.starts_with('[') && text.ends_with(']') && !text.starts_with("[["); }
bool IsExpression(const base::Json& value) { return value.is_string() && IsExpression(std::string_view(value.get_string())); }

class JsonReader {
 public:
  JsonReader(const JsonText& json, ManifestBuilder& builder) : json_(json), builder_(builder) {}

  /// Looks for settings and node types at any depth.
  base::Status Search(const Located& at);
  bool found() const { return found_; }

 private:
  base::Status ReadSettings(const Located& list);
  base::Status ReadNodeType(const Located& node_type);
  base::Status ReadNodeCount(const Located& count, std::string_view node_type);
  base::Status ReadNode(const Located& node);
  base::Status ReadOverrides(const Located& overrides, std::string_view node_type);
  base::Result<std::string_view> Name(const Located& object) const;
  base::Result<std::string> Scalar(const Located& value) const;
  base::Result<Located> Member(const Located& object, std::string_view key) const;

  template <typename Visit>
  base::Status ForEachItem(const Located& list, std::string_view what, Visit visit) const;
  template <typename Visit>
  base::Status ForEachMember(const Located& object, std::string_view what, Visit visit) const;

  size_t Offset(const Located& at) const { return json_.Original(at.spot->offset); }
  std::unexpected<base::Error> Refused(const Located& at, const std::string& what) const {
    return builder_.Refused(Offset(at), what);
  }

  void WarnOfExpression(const Located& at, std::string_view what) const {
    builder_.Warn(Offset(at), std::string(what) + ": expressions of a template are not evaluated; left out");
  }

  const JsonText& json_;
  ManifestBuilder& builder_;
  mutable std::set<size_t> told_;  // offsets: objects are looked at more than once
  bool found_ = false;
};

template <typename Visit>
base::Status JsonReader::ForEachItem(const Located& list, std::string_view what, Visit visit) const {
  const base::JsonArray* array = list.value->if_array();
  if (IsExpression(*list.value)) {
    WarnOfExpression(list, what);
    return {};
  }
  if (array == nullptr) return Refused(list, std::string(what) + ": expected a list");
  for (size_t i = 0; i < array->size(); ++i) EVENKEEL_TRY(visit(Located{&(*array)[i], &list.spot->children[i]}));
  return {};
}

template <typename Visit>
base::Status JsonReader::ForEachMember(const Located& object, std::string_view what, Visit visit) const {
  const base::JsonObject* members = object.value->if_object();
  if (members == nullptr) return Refused(object, std::string(what) + ": expected an object");
  if (members->size() != object.spot->children.size()) return Refused(object, "a key stands twice in this object");
  for (const size_t repeated : object.spot->repeated) {
    if (!told_.insert(repeated).second) continue;
    builder_.Warn(json_.Original(repeated), "the key stands twice in its object; the last one counts");
  }
  size_t i = 0;
  for (const auto& member : *members) {
    EVENKEEL_TRY(visit(std::string_view(member.key()), Located{&member.value(), &object.spot->children[i++]}));
  }
  return {};
}

base::Result<Located> JsonReader::Member(const Located& object, std::string_view key) const {
  Located found;
  EVENKEEL_TRY(ForEachMember(object, "a setting", [&](std::string_view name, const Located& value) -> base::Status {
    if (name == key) found = value;
    return {};
  }));
  if (found.value == nullptr) return Refused(object, "\"" + std::string(key) + "\" is missing");
  return found;
}

base::Result<std::string_view> JsonReader::Name(const Located& object) const {
  EVENKEEL_ASSIGN(const Located name, Member(object, "name"));
  if (!name.value->is_string()) return Refused(name, "\"name\" is not a string");
  return std::string_view(name.value->get_string());
}

base::Result<std::string> JsonReader::Scalar(const Located& at) const {
  const base::Json& value = *at.value;
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_structured() || value.is_null()) return Refused(at, "expected a string, a number or a boolean");
  return value.is_double() ? fmt::format("{}", value.get_double()) : base::ToText(value);
}

base::Status JsonReader::ReadSettings(const Located& list) {
  found_ = true;
  return ForEachItem(list, "fabricSettings", [&](const Located& section) -> base::Status {
    EVENKEEL_ASSIGN(const std::string_view name, Name(section));
    EVENKEEL_ASSIGN(const Located parameters, Member(section, "parameters"));
    return ForEachItem(parameters, "parameters", [&](const Located& parameter) -> base::Status {
      EVENKEEL_ASSIGN(const std::string_view parameter_name, Name(parameter));
      EVENKEEL_ASSIGN(const Located at, Member(parameter, "value"));
      // Sections of other subsystems may hold whatever they like.
      if (!KnowsSection(name) && at.value->is_structured()) return {};
      if (KnowsSection(name) && IsExpression(*at.value)) {
        WarnOfExpression(at, std::string(name) + "/" + OneLine(parameter_name));
        return {};
      }
      EVENKEEL_ASSIGN(const std::string value, Scalar(at));
      return builder_.Set(name, parameter_name, value, Offset(parameter));
    });
  });
}

base::Status JsonReader::ReadOverrides(const Located& overrides, std::string_view node_type) {
  return ForEachMember(overrides, "overrides", [&](std::string_view key, const Located& group) -> base::Status {
    std::string name(key);
    if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
    if (!group.value->is_structured()) {
      EVENKEEL_ASSIGN(const std::string value, Scalar(group));
      return builder_.SetOverride(node_type, name, {}, value, Offset(group));
    }
    return ForEachItem(group, key, [&](const Located& entry) -> base::Status {
      EVENKEEL_ASSIGN(const std::string_view metric, Name(entry));
      EVENKEEL_ASSIGN(const Located at, Member(entry, "value"));
      EVENKEEL_ASSIGN(const std::string value, Scalar(at));
      return builder_.SetOverride(node_type, name, metric, value, Offset(entry));
    });
  });
}

base::Status JsonReader::ReadNodeCount(const Located& at, std::string_view node_type) {
  if (at.value->is_null()) return {};
  if (IsExpression(*at.value) || IsExpression(node_type)) {
    WarnOfExpression(at, "node type " + OneLine(node_type) + ": vmInstanceCount");
    return {};
  }
  EVENKEEL_ASSIGN(const std::string count, Scalar(at));
  return builder_.SetNodeCount(node_type, count, Offset(at));
}

base::Status JsonReader::ReadNodeType(const Located& node_type) {
  if (!node_type.value->is_object()) return {};
  EVENKEEL_ASSIGN(const std::string_view type, Name(node_type));
  builder_.AddNodeType(type);
  return ForEachMember(node_type, "a node type", [&](std::string_view key, const Located& at) -> base::Status {
    if (base::EqualIgnoringCase(key, kOverridesSection)) return ReadOverrides(at, type);
    if (key == "vmInstanceCount") return ReadNodeCount(at, type);
    const bool capacities = key == "capacities";
    if ((!capacities && key != "placementProperties") || at.value->is_null()) return {};
    return ForEachMember(at, key, [&](std::string_view name, const Located& entry) -> base::Status {
      EVENKEEL_ASSIGN(const std::string value, Scalar(entry));
      return capacities ? builder_.SetCapacity(type, name, value, Offset(entry))
                        : builder_.SetProperty(type, name, value, Offset(entry));
    });
  });
}

// Other lists of this name may hold something else.
base::Status JsonReader::ReadNode(const Located& at) {
  const base::JsonObject* object = at.value->if_object();
  if (object == nullptr || !object->contains("nodeName")) return Search(at);
  found_ = true;
  NodeDescription node;
  EVENKEEL_TRY(ForEachMember(at, "a node", [&](std::string_view key, const Located& value) -> base::Status {
    constexpr std::pair<std::string_view, std::string NodeDescription::*> kTexts[] = {
        {"nodeName", &NodeDescription::name},
        {"nodeTypeRef", &NodeDescription::node_type},
        {"faultDomain", &NodeDescription::fault_domain},
        {"upgradeDomain", &NodeDescription::upgrade_domain}};
    const auto* text = std::ranges::find(kTexts, key, &std::pair<std::string_view, std::string NodeDescription::*>::first);
    if (text == std::end(kTexts)) return {};
    EVENKEEL_ASSIGN(node.*(text->second), Scalar(value));
    return {};
  }));
  return builder_.AddNode(std::move(node), Offset(at));
}

base::Status JsonReader::Search(const Located& at) {
  if (at.value->is_array()) {
    return ForEachItem(at, "", [&](const Located& item) { return Search(item); });
  }
  if (!at.value->is_object()) return {};
  return ForEachMember(at, "", [&](std::string_view key, const Located& value) -> base::Status {
    if (key == "fabricSettings") return ReadSettings(value);
    if (key == "nodes" && value.value->is_array()) {
      return ForEachItem(value, key, [&](const Located& node) { return ReadNode(node); });
    }
    if (key != "nodeTypes" || !value.value->is_array()) return Search(value);
    found_ = true;
    return ForEachItem(value, key, [&](const Located& node_type) { return ReadNodeType(node_type); });
  });
}

}  // namespace

base::Status ReadJsonManifest(std::string_view text, ManifestBuilder& builder) {
  JsonText json = WithBraces(text);
  DropTrailingCommas(json, builder);
  EVENKEEL_ASSIGN(const base::Json value, Parse(json, builder));
  const JsonSpot spots = JsonSpots(json.text);
  JsonReader reader(json, builder);
  EVENKEEL_TRY(reader.Search({&value, &spots}));
  if (!reader.found()) builder.Warn(0, "neither fabricSettings nor nodeTypes: every setting has its default");
  return {};
}

}  // namespace evenkeel::balancing
