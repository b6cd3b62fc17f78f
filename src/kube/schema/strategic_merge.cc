#include "kube/schema/strategic_merge.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
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

// What tells an item from others of its list, as text: nullopt for an object without its list's merge key. Numbers that are
// equal are written alike.
std::optional<std::string> IdentityOf(const Json& item, std::string_view merge_key) {
  if (merge_key.empty()) return base::CanonicalText(item);
  const Json* key = base::Find(item, {merge_key});
  return key == nullptr ? std::nullopt : std::optional(base::CanonicalText(*key));
}

/// Where the items of a list stand, the first of those that are the same: lists of tens of thousands are merged in one pass.
class ItemIndex {
 public:
  ItemIndex(const JsonArray& list, std::string_view merge_key) : merge_key_(merge_key) {
    for (const Json& item : list) Append(item);
  }
  void Append(const Json& item) {
    if (auto identity = IdentityOf(item, merge_key_)) places_.try_emplace(*std::move(identity), size_);
    ++size_;
  }
  std::optional<size_t> Find(const Json& item) const {
    const auto identity = IdentityOf(item, merge_key_);
    const auto found = identity ? places_.find(*identity) : places_.end();
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const std::string_view merge_key_;
  std::unordered_map<std::string, size_t> places_;
  size_t size_ = 0;
};

void EraseItems(JsonArray& list, const ItemIndex& erased) {
  const auto end = std::remove_if(list.begin(), list.end(), [&](const Json& item) { return erased.Find(item).has_value(); });
  list.erase(end, list.end());
}

/// The order of the others stays.
void EraseMembers(JsonObject& object, const std::unordered_set<std::string>& names) {
  if (names.empty()) return;
  JsonObject kept;
  kept.reserve(object.size());
  for (auto& member : object) {
    if (!names.contains(std::string(member.key()))) kept.emplace(member.key(), std::move(member.value()));
  }
  object = std::move(kept);
}

// Puts the items named in `order` into that order and weaves the others in: each keeps its place relative to the items it
// stood before in `original`; what is new in the order goes first.
void OrderItems(JsonArray& list, const JsonArray& order, const JsonArray& original, std::string_view merge_key) {
  struct Placed {
    size_t index;     ///< in list
    size_t order;     ///< in order, or its size
    size_t original;  ///< in original, or its size
  };
  const ItemIndex in_order(order, merge_key), in_original(original, merge_key);
  std::vector<Placed> named;
  std::vector<Placed> others;
  for (size_t i = 0; i < list.size(); ++i) {
    const Placed placed{i, in_order.Find(list[i]).value_or(order.size()), in_original.Find(list[i]).value_or(original.size())};
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
  ItemIndex deleted({}, merge_key);
  for (const Json& item : patch) {
    if (base::FindString(item, {kPatchDirective}) != "delete") continue;
    EVENKEEL_TRY(CheckHasKey(item, merge_key));
    deleted.Append(item);
  }
  EraseItems(target, deleted);
  ItemIndex present(target, merge_key);
  for (const Json& item : patch) {
    const std::string_view directive = base::FindString(item, {kPatchDirective});
    if (directive == "delete") continue;
    if (directive == "replace" || directive == "merge") {
      if (item.get_object().size() == 1) continue;
    } else if (base::Find(item, {kPatchDirective})) {
      return BadPatch("Unrecognized patch type: " + std::string(directive));
    }
    EVENKEEL_TRY(CheckHasKey(item, merge_key));
    if (const auto index = present.Find(item)) {
      JsonObject change = item.get_object();
      change.erase(kPatchDirective);
      EVENKEEL_TRY(MergeObject(target[*index].get_object(), change, schema.Item()));
    } else {
      target.push_back(WithoutDirectives(item));
      present.Append(item);
    }
  }
  return {};
}

Status MergeList(JsonArray& target, const JsonArray& patch, const MergeSchema& schema) {
  const JsonArray original = target;
  if (schema.merge_key().empty()) {
    ItemIndex present(target, "");
    for (const Json& item : patch) {
      if (present.Find(item)) continue;
      target.push_back(item);
      present.Append(item);
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

/// `removed`: members that are to go, all at once, when the whole object has been merged.
Status MergeMember(JsonObject& target, std::string_view key, const Json& change, const MergeSchema* schema,
                   std::unordered_set<std::string>& removed) {
  Json* present = target.if_contains(key);
  if (change.is_null()) {
    if (present) removed.emplace(key);
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
                    const MergeSchema* schema, std::unordered_set<std::string>& removed) {
  const Json* change = patch.if_contains(list_name);
  if (!order.is_array() || (change && !change->is_array() && !change->is_null())) {
    return BadPatch(std::string(kOrderPrefix) + std::string(list_name) + " and what it orders must be lists");
  }
  const std::string_view merge_key = schema ? schema->merge_key() : std::string_view();
  const Json* before = target.if_contains(list_name);
  const JsonArray original = before && before->is_array() ? before->get_array() : JsonArray();
  if (change) {
    if (change->is_array()) EVENKEEL_TRY(CheckOrder(change->get_array(), order.get_array(), list_name, merge_key));
    EVENKEEL_TRY(MergeMember(target, list_name, *change, schema, removed));
  }
  Json* merged = target.if_contains(list_name);
  if (merged && merged->is_array()) OrderItems(merged->get_array(), order.get_array(), original, merge_key);
  return {};
}

Status RetainKeys(JsonObject& target, const JsonObject& patch, const Json& directive) {
  if (!directive.is_array()) return BadPatch("$retainKeys must be a list");
  std::unordered_set<std::string> names;
  for (const Json& name : directive.get_array()) {
    if (name.is_string()) names.emplace(std::string_view(name.get_string()));
  }
  const auto retained = [&](std::string_view key) { return names.contains(std::string(key)); };
  for (const auto& member : patch) {
    if (!IsDirective(member.key()) && !member.value().is_null() && !retained(member.key())) {
      return BadPatch("$retainKeys lacks \"" + std::string(member.key()) + "\", which the patch sets");
    }
  }
  std::unordered_set<std::string> dropped;
  for (const auto& member : target) {
    if (!retained(member.key())) dropped.emplace(member.key());
  }
  EraseMembers(target, dropped);
  return {};
}

Status DeleteFromPrimitiveList(JsonObject& target, std::string_view list_name, const Json& items) {
  if (!items.is_array()) return BadPatch(std::string(kDeletePrefix) + std::string(list_name) + " must be a list");
  Json* list = target.if_contains(list_name);
  if (!list || !list->is_array()) return {};
  EraseItems(list->get_array(), ItemIndex(items.get_array(), ""));
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
  std::unordered_set<std::string> removed;
  for (const auto& member : patch) {
    const std::string_view key = member.key();
    if (key.starts_with(kOrderPrefix)) {
      const std::string_view list_name = key.substr(kOrderPrefix.size());
      EVENKEEL_TRY(MergeOrdered(target, patch, list_name, member.value(), field(list_name), removed));
    } else if (!IsDirective(key) && !patch.contains(std::string(kOrderPrefix) + std::string(key))) {
      EVENKEEL_TRY(MergeMember(target, key, member.value(), field(key), removed));
    }
  }
  EraseMembers(target, removed);
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
