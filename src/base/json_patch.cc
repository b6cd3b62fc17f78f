#include <algorithm>
#include <vector>

#include "base/json.h"
#include "base/parse_number.h"

namespace evenkeel::base {
namespace {

using Pointer = std::vector<std::string>;

constexpr size_t kOperationsMax = 10'000;
constexpr size_t kCopiedBytesMax = 3u << 20;

// RFC 6901.
Result<Pointer> ParsePointer(std::string_view text) {
  Pointer steps;
  if (text.empty()) return steps;
  if (text.front() != '/') return Fail(Code::kInvalid, "the path \"" + std::string(text) + "\" does not begin with /");
  std::string step;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '/') {
      steps.push_back(std::exchange(step, {}));
    } else if (text[i] != '~') {
      step += text[i];
    } else if (i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')) {
      step += text[++i] == '0' ? '~' : '/';
    } else {
      return Fail(Code::kInvalid, "the path \"" + std::string(text) + "\" has a ~ that is followed by neither 0 nor 1");
    }
  }
  steps.push_back(std::move(step));
  return steps;
}

// An index below `limit`, or nothing.
std::optional<size_t> ParseIndex(const std::string& step, size_t limit) {
  if (step.empty() || (step.size() > 1 && step[0] == '0')) return std::nullopt;
  const auto index = ParseNumber<size_t>(step);
  return index && *index < limit ? index : std::nullopt;
}

Json* StepInto(Json& value, const std::string& step) {
  if (JsonObject* object = value.if_object()) return object->if_contains(step);
  if (JsonArray* array = value.if_array()) {
    if (const auto index = ParseIndex(step, array->size())) return &(*array)[*index];
  }
  return nullptr;
}

Json* Resolve(Json& root, const Pointer& path, size_t steps) {
  Json* at = &root;
  for (size_t i = 0; i < steps && at; ++i) at = StepInto(*at, path[i]);
  return at;
}

Status MissingPath() { return Fail(Code::kInvalid, "the path does not exist"); }

Status AddAt(Json& root, const Pointer& path, Json value) {
  if (path.empty()) {
    root = std::move(value);
    return {};
  }
  Json* parent = Resolve(root, path, path.size() - 1);
  if (!parent) return MissingPath();
  if (JsonObject* object = parent->if_object()) {
    object->insert_or_assign(path.back(), std::move(value));
    return {};
  }
  JsonArray* array = parent->if_array();
  if (!array) return Fail(Code::kInvalid, "the parent is neither an object nor an array");
  const auto index = path.back() == "-" ? array->size() : ParseIndex(path.back(), array->size() + 1);
  if (!index) return Fail(Code::kInvalid, "\"" + path.back() + "\" is not an index of the array");
  array->insert(array->begin() + static_cast<ptrdiff_t>(*index), std::move(value));
  return {};
}

Status RemoveAt(Json& root, const Pointer& path) {
  if (path.empty()) {
    root = nullptr;
    return {};
  }
  Json* parent = Resolve(root, path, path.size() - 1);
  if (!parent || !StepInto(*parent, path.back())) return MissingPath();
  if (JsonObject* object = parent->if_object()) {
    object->erase(path.back());
  } else {
    JsonArray& array = parent->get_array();
    array.erase(array.begin() + static_cast<ptrdiff_t>(*ParseIndex(path.back(), array.size())));
  }
  return {};
}

/// `copied`: bytes so far, as text.
Status MoveOrCopy(Json& root, bool move, const Json& operation, const Pointer& path, size_t& copied) {
  const Json* from_text = Find(operation, {"from"});
  if (!from_text || !from_text->is_string()) return Fail(Code::kInvalid, "\"from\" is missing");
  EVENKEEL_ASSIGN(const Pointer from, ParsePointer(from_text->get_string()));
  Json* source = Resolve(root, from, from.size());
  if (!source) return Fail(Code::kInvalid, "the path in \"from\" does not exist");
  if (!move) {
    copied += ToText(*source).size();
    if (copied > kCopiedBytesMax) {
      return Fail(Code::kInvalid, "what is copied comes to more than " + std::to_string(kCopiedBytesMax) + " bytes");
    }
    return AddAt(root, path, *source);
  }
  if (from == path) return {};
  if (from.size() < path.size() && std::equal(from.begin(), from.end(), path.begin())) {
    return Fail(Code::kInvalid, "a value cannot move into itself");
  }
  Json value = std::move(*source);
  EVENKEEL_TRY(RemoveAt(root, from));
  return AddAt(root, path, std::move(value));
}

Status ApplyOperation(Json& root, const Json& operation, size_t& copied) {
  const Json* path_text = Find(operation, {"path"});
  if (!path_text || !path_text->is_string()) return Fail(Code::kInvalid, "\"path\" is missing");
  EVENKEEL_ASSIGN(const Pointer path, ParsePointer(path_text->get_string()));
  const std::string_view name = FindString(operation, {"op"});
  if (name == "remove") return RemoveAt(root, path);
  if (name == "move" || name == "copy") return MoveOrCopy(root, name == "move", operation, path, copied);
  if (name != "add" && name != "replace" && name != "test") return Fail(Code::kInvalid, "unknown operation");
  const Json* value = Find(operation, {"value"});
  if (!value) return Fail(Code::kInvalid, "\"value\" is missing");
  if (name == "add") return AddAt(root, path, *value);
  Json* at = Resolve(root, path, path.size());
  if (!at) return MissingPath();
  if (name == "replace") {
    *at = *value;
  } else if (!Equal(*at, *value)) {
    return Fail(Code::kInvalid, "the value is " + ToText(*at) + ", not " + ToText(*value));
  }
  return {};
}

}  // namespace

void ApplyMergePatch(Json& target, const Json& patch) {
  const JsonObject* changes = patch.if_object();
  if (!changes) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  JsonObject& object = target.get_object();
  for (const auto& [key, change] : *changes) {
    if (change.is_null()) {
      object.erase(key);
    } else {
      ApplyMergePatch(object[key], change);
    }
  }
}

Status ApplyJsonPatch(Json& target, const Json& patch) {
  const JsonArray* operations = patch.if_array();
  if (!operations) return Fail(Code::kInvalid, "a JSON patch is an array of operations");
  if (operations->size() > kOperationsMax) {
    return Fail(Code::kTooLarge, "a JSON patch may have " + std::to_string(kOperationsMax) + " operations, not " +
                                     std::to_string(operations->size()));
  }
  Json result = target;
  size_t copied = 0;
  for (size_t i = 0; i < operations->size(); ++i) {
    const Json& operation = (*operations)[i];
    if (auto applied = ApplyOperation(result, operation, copied); !applied) {
      return Fail(applied.error().Wrap("operation " + std::to_string(i) + " (" + std::string(FindString(operation, {"op"})) +
                                       " " + std::string(FindString(operation, {"path"})) + ")"));
    }
  }
  target = std::move(result);
  return {};
}

Json DiffMergePatch(const Json& from, const Json& to) {
  if (!from.is_object() || !to.is_object()) return to;
  JsonObject patch;
  for (const auto& member : from.get_object()) {
    if (!to.get_object().contains(member.key())) patch[member.key()] = nullptr;
  }
  for (const auto& member : to.get_object()) {
    const Json* old = from.get_object().if_contains(member.key());
    if (old && Equal(*old, member.value())) continue;
    if (old) {
      patch[member.key()] = DiffMergePatch(*old, member.value());
    } else {
      patch[member.key()] = member.value();
    }
  }
  return patch;
}

}  // namespace evenkeel::base
