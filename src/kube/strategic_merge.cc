#include "kube/strategic_merge.h"

#include <algorithm>
#include <string>
#include <vector>

namespace evenkeel::kube {
namespace {

using base::Code;
using base::Equal;
using base::Fail;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using base::Result;
using base::Status;

constexpr std::string_view kPatchDirective = "$patch";
constexpr std::string_view kRetainKeysDirective = "$retainKeys";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrderPrefix = "$setElementOrder/";

Status MergeObject(JsonObject& target, const JsonObject& patch, const MergeSchema* schema);

std::unexpected<base::Error> BadPatch(std::string message) { return Fail(Code::kBadRequest, std::move(message)); }

bool IsDirective(std::string_view key) {
  return key == kPatchDirective || key == kRetainKeysDirective || key.starts_with(kDeletePrefix) ||
         key.starts_with(kOrderPrefix);
}

// A value that the target did not have: taken over without directives, without members that are to be removed, and without
// list items that are to be deleted.
Json WithoutDirectives(const Json& patch) {
  if (const JsonObject* object = patch.if_object()) {
    JsonObject kept;
    for (const auto& member : *object) {
      if (!IsDirective(member.key()) && !member.value().is_null()) kept[member.key()] = WithoutDirectives(member.value());
    }
    return kept;
  }
  if (const JsonArray* array = patch.if_array()) {
    JsonArray kept;
    for (const Json& item : *array) {
      const std::string_view directive = base::FindString(item, {kPatchDirective});
      const bool only_directive = item.is_object() && item.get_object().size() == 1 && !directive.empty();
      if (directive != "delete" && !only_directive) kept.push_back(WithoutDirectives(item));
    }
    return kept;
  }
  return patch;
}

// Whether two list items are the same one: by the merge key, or by value.
bool SameItem(const Json& a, const Json& b, std::string_view merge_key) {
  if (merge_key.empty()) return Equal(a, b);
  const Json* left = base::Find(a, {merge_key});
  const Json* right = base::Find(b, {merge_key});
  return left && right && Equal(*left, *right);
}

size_t IndexOfItem(const JsonArray& list, const Json& item, std::string_view merge_key) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (SameItem(list[i], item, merge_key)) return i;
  }
  return list.size();
}

void EraseItem(JsonArray& list, const Json& item, std::string_view merge_key) {
  for (size_t i = IndexOfItem(list, item, merge_key); i < list.size(); i = IndexOfItem(list, item, merge_key)) {
    list.erase(list.begin() + static_cast<ptrdiff_t>(i));
  }
}

// Puts the items named in `order` into that order and weaves the others in: each keeps its place relative to the items it
// stood before in `original`; what is new in the order goes first.
void OrderItems(JsonArray& list, const JsonArray& order, const JsonArray& original, std::string_view merge_key) {
  struct Placed {
    size_t index;     ///< in list
    size_t order;     ///< in order
    size_t original;  ///< in original
  };
  std::vector<Placed> named;
  std::vector<Placed> others;
  for (size_t i = 0; i < list.size(); ++i) {
    const Placed placed{i, IndexOfItem(order, list[i], merge_key), IndexOfItem(original, list[i], merge_key)};
    (placed.order < order.size() ? named : others).push_back(placed);
  }
  std::stable_sort(named.begin(), named.end(), [](const Placed& a, const Placed& b) { return a.order < b.order; });
  std::stable_sort(others.begin(), others.end(), [](const Placed& a, const Placed& b) { return a.original < b.original; });
  JsonArray result;
  result.reserve(list.size());
  size_t next_named = 0;
  size_t next_other = 0;
  while (next_named < named.size() || next_other < others.size()) {
    const bool other_first =
        next_named == named.size() ||
        (next_other < others.size() && named[next_named].original < original.size() &&
         others[next_other].original < original.size() && others[next_other].original < named[next_named].original);
    const Placed& next = other_first ? others[next_other++] : named[next_named++];
    result.push_back(std::move(list[next.index]));
  }
  list = std::move(result);
}

Status CheckHasKey(const Json& item, std::string_view merge_key) {
  if (!item.is_object()) return BadPatch("a list merged by " + std::string(merge_key) + " holds " + base::ToText(item));
  if (base::Find(item, {merge_key})) return {};
  return BadPatch("map: " + base::ToText(item) + " does not contain declared merge key: " + std::string(merge_key));
}

// Items of a list merged by key.
Status MergeKeyedItems(JsonArray& target, const JsonArray& patch, const MergeSchema& schema) {
  const std::string_view merge_key = schema.merge_key();
  const auto replaces = [](const Json& item) { return base::FindString(item, {kPatchDirective}) == "replace"; };
  if (std::any_of(patch.begin(), patch.end(), replaces)) target.clear();
  // Deletions first, wherever they stand, so that the patch can delete an item and add another under the same key.
  for (const Json& item : patch) {
    if (base::FindString(item, {kPatchDirective}) != "delete") continue;
    EVENKEEL_TRY(CheckHasKey(item, merge_key));
    EraseItem(target, item, merge_key);
  }
  for (const Json& item : patch) {
    const std::string_view directive = base::FindString(item, {kPatchDirective});
    if (directive == "delete") continue;
    if (directive == "replace" || directive == "merge") {
      if (item.get_object().size() == 1) continue;
    } else if (base::Find(item, {kPatchDirective})) {
      return BadPatch("Unrecognized patch type: " + std::string(directive));
    }
    EVENKEEL_TRY(CheckHasKey(item, merge_key));
    const size_t index = IndexOfItem(target, item, merge_key);
    if (index == target.size()) {
      target.push_back(WithoutDirectives(item));
    } else {
      JsonObject change = item.get_object();
      change.erase(kPatchDirective);
      EVENKEEL_TRY(MergeObject(target[index].get_object(), change, schema.Item()));
    }
  }
  return {};
}

Status MergeList(JsonArray& target, const JsonArray& patch, const MergeSchema& schema) {
  const JsonArray original = target;
  if (schema.merge_key().empty()) {
    for (const Json& item : patch) {
      if (IndexOfItem(target, item, "") == target.size()) target.push_back(item);
    }
  } else {
    EVENKEEL_TRY(MergeKeyedItems(target, patch, schema));
  }
  OrderItems(target, patch, original, schema.merge_key());
  return {};
}

// The items that the patch sends must stand in the order that it asks for, or it contradicts itself.
Status CheckOrder(const JsonArray& patch, const JsonArray& order, std::string_view list_name, std::string_view merge_key) {
  size_t at = 0;
  for (const Json& item : patch) {
    if (base::Find(item, {kPatchDirective})) continue;
    while (at < order.size() && !SameItem(order[at], item, merge_key)) ++at;
    if (at++ == order.size()) {
      return BadPatch("The order in patch list:\n" + base::ToText(patch) + "\n doesn't match " + std::string(kOrderPrefix) +
                      std::string(list_name) + " list:\n" + base::ToText(order));
    }
  }
  return {};
}

Status MergeMember(JsonObject& target, std::string_view key, const Json& change, const MergeSchema* schema) {
  Json* present = target.if_contains(key);
  if (change.is_null()) {
    // Unlike erase, this keeps the order of the other members.
    if (present) target.stable_erase(key);
    return {};
  }
  if (present && present->is_object() && change.is_object()) {
    return MergeObject(present->get_object(), change.get_object(), schema);
  }
  if (present && present->is_array() && change.is_array() && schema && schema->merges()) {
    return MergeList(present->get_array(), change.get_array(), *schema);
  }
  target.insert_or_assign(key, WithoutDirectives(change));
  return {};
}

// $setElementOrder/LIST, together with the patch's LIST if it has one.
Status MergeOrdered(JsonObject& target, const JsonObject& patch, std::string_view list_name, const Json& order,
                    const MergeSchema* schema) {
  const Json* change = patch.if_contains(list_name);
  if (!order.is_array() || (change && !change->is_array() && !change->is_null())) {
    return BadPatch(std::string(kOrderPrefix) + std::string(list_name) + " and what it orders must be lists");
  }
  const std::string_view merge_key = schema ? schema->merge_key() : std::string_view();
  const Json* before = target.if_contains(list_name);
  const JsonArray original = before && before->is_array() ? before->get_array() : JsonArray();
  if (change) {
    if (change->is_array()) EVENKEEL_TRY(CheckOrder(change->get_array(), order.get_array(), list_name, merge_key));
    EVENKEEL_TRY(MergeMember(target, list_name, *change, schema));
  }
  Json* merged = target.if_contains(list_name);
  if (merged && merged->is_array()) OrderItems(merged->get_array(), order.get_array(), original, merge_key);
  return {};
}

Status RetainKeys(JsonObject& target, const JsonObject& patch, const Json& directive) {
  if (!directive.is_array()) return BadPatch("$retainKeys must be a list");
  const auto retained = [&](std::string_view key) {
    const JsonArray& keys = directive.get_array();
    return std::any_of(keys.begin(), keys.end(),
                       [&](const Json& name) { return name.is_string() && name.get_string() == key; });
  };
  for (const auto& member : patch) {
    if (!IsDirective(member.key()) && !member.value().is_null() && !retained(member.key())) {
      return BadPatch("$retainKeys lacks \"" + std::string(member.key()) + "\", which the patch sets");
    }
  }
  std::vector<std::string> dropped;
  for (const auto& member : target) {
    if (!retained(member.key())) dropped.emplace_back(member.key());
  }
  for (const std::string& key : dropped) target.stable_erase(key);
  return {};
}

Status DeleteFromPrimitiveList(JsonObject& target, std::string_view list_name, const Json& items) {
  if (!items.is_array()) return BadPatch(std::string(kDeletePrefix) + std::string(list_name) + " must be a list");
  Json* list = target.if_contains(list_name);
  if (!list || !list->is_array()) return {};
  for (const Json& item : items.get_array()) EraseItem(list->get_array(), item, "");
  return {};
}

// $patch in an object; false where the rest of the patch remains to be merged.
Result<bool> ApplyPatchDirective(JsonObject& target, const JsonObject& patch) {
  const Json* directive = patch.if_contains(kPatchDirective);
  if (!directive) return false;
  const std::string_view type = directive->is_string() ? std::string_view(directive->get_string()) : "";
  if (type == "merge") return false;
  if (type == "delete") {
    target.clear();
    return true;
  }
  if (type != "replace") return BadPatch("Unrecognized patch type: " + base::ToText(*directive));
  target = WithoutDirectives(patch).get_object();
  return true;
}

Status MergeObject(JsonObject& target, const JsonObject& patch, const MergeSchema* schema) {
  EVENKEEL_ASSIGN(const bool finished, ApplyPatchDirective(target, patch));
  if (finished) return {};
  if (const Json* directive = patch.if_contains(kRetainKeysDirective)) EVENKEEL_TRY(RetainKeys(target, patch, *directive));
  const auto field = [&](std::string_view name) { return schema ? schema->Field(name) : nullptr; };
  // Before additions, so that the directives mean what stood there, whatever the order of the patch's members.
  for (const auto& member : patch) {
    const std::string_view key = member.key();
    if (key.starts_with(kDeletePrefix)) {
      EVENKEEL_TRY(DeleteFromPrimitiveList(target, key.substr(kDeletePrefix.size()), member.value()));
    }
  }
  for (const auto& member : patch) {
    const std::string_view key = member.key();
    if (key.starts_with(kOrderPrefix)) {
      const std::string_view list_name = key.substr(kOrderPrefix.size());
      EVENKEEL_TRY(MergeOrdered(target, patch, list_name, member.value(), field(list_name)));
    } else if (!IsDirective(key) && !patch.contains(std::string(kOrderPrefix) + std::string(key))) {
      EVENKEEL_TRY(MergeMember(target, key, member.value(), field(key)));
    }
  }
  return {};
}

}  // namespace

Status ApplyStrategicMergePatch(Json& target, const Json& patch, const MergeSchema* schema) {
  if (!patch.is_object()) return BadPatch("a strategic merge patch is an object");
  if (!target.is_object() && !target.is_null()) return BadPatch("a strategic merge patch applies to an object");
  JsonObject result = target.is_object() ? target.get_object() : JsonObject();
  EVENKEEL_TRY(MergeObject(result, patch.get_object(), schema));
  target = std::move(result);
  return {};
}

}  // namespace evenkeel::kube
