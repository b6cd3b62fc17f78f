#include "kube/schema/ratchet.h"

namespace evenkeel::kube {
namespace {

using base::Json;

bool SameKeys(const Json& a, const Json& b, const Schema& list) {
  if (!a.is_object() || !b.is_object()) return false;
  for (const std::string& key : list.list_keys) {
    const Json* left = OldValueOf(&a, key);
    const Json* right = OldValueOf(&b, key);
    // A key that is absent counts as its default.
    const Schema::FieldSchema* field = list.item->FindField(key);
    const Json* standard = field != nullptr && field->default_value ? &*field->default_value : nullptr;
    if (left == nullptr) left = standard;
    if (right == nullptr) right = standard;
    if ((left == nullptr) != (right == nullptr)) return false;
    if (left != nullptr && !base::Equal(*left, *right)) return false;
  }
  return true;
}

}  // namespace

const Json* OldValueOf(const Json* old, std::string_view key) {
  return old != nullptr && old->is_object() ? old->get_object().if_contains(key) : nullptr;
}

const Json* OldItemOf(const Json* old, const base::JsonArray& now, size_t index, const Schema& list) {
  if (old == nullptr || !old->is_array() || list.list_type != Schema::ListType::kMap || list.item == nullptr) return nullptr;
  const base::JsonArray& before = old->get_array();
  if (index < before.size() && SameKeys(now[index], before[index], list)) return &before[index];
  const auto found = std::ranges::find_if(before, [&](const Json& one) { return SameKeys(now[index], one, list); });
  return found == before.end() ? nullptr : &*found;
}

bool SameAsBefore(const Json& now, const Json& old, const Schema& schema) {
  // Also what cannot be told apart by keys: items that are no objects, or have those of another.
  if (base::Equal(now, old)) return true;
  if (now.is_object() && old.is_object()) {
    if (now.get_object().size() != old.get_object().size()) return false;
    return std::ranges::all_of(now.get_object(), [&](const auto& member) {
      const Json* before = OldValueOf(&old, member.key());
      if (before == nullptr) return false;
      const Schema::FieldSchema* field = schema.FindField(member.key());
      const Schema* below = field != nullptr ? field->schema : schema.item;
      return below != nullptr ? SameAsBefore(member.value(), *before, *below) : base::Equal(member.value(), *before);
    });
  }
  if (now.is_array() && old.is_array() && schema.list_type == Schema::ListType::kMap && schema.item != nullptr) {
    const base::JsonArray& items = now.get_array();
    if (items.size() != old.get_array().size()) return false;
    for (size_t i = 0; i < items.size(); ++i) {
      const Json* before = OldItemOf(&old, items, i, schema);
      if (before == nullptr || !SameAsBefore(items[i], *before, *schema.item)) return false;
    }
    return true;
  }
  return false;
}

}  // namespace evenkeel::kube
