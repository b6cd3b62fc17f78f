#include "embedded/apiserver/objects/managed_fields.h"

#include "kube/object.h"

namespace evenkeel::embedded::apiserver {

using base::Json;
using base::JsonArray;
using base::JsonObject;
using kube::Schema;

std::string ItemElement(const Json& item, const Schema& list) {
  if (list.list_type == Schema::ListType::kSet) return "v:" + base::CanonicalText(item);
  JsonObject keys;
  for (const std::string& key : list.list_keys) {
    const Json* value = item.is_object() ? item.get_object().if_contains(key) : nullptr;
    if (value != nullptr) {
      keys[key] = *value;
    } else if (list.item != nullptr) {
      const Schema::FieldSchema* field = list.item->FindField(key);
      if (field != nullptr && field->default_value) keys[key] = *field->default_value;
    }
  }
  return "k:" + base::CanonicalText(Json(std::move(keys)));
}

std::string ElementText(std::string_view element) {
  const std::string_view body = element.substr(2);
  if (element.starts_with("f:")) return "." + std::string(body);
  if (!element.starts_with("k:")) return "[=" + std::string(body) + "]";
  std::string text;
  const auto keys = base::ParseJson(body, "managed fields");
  if (keys && keys->is_object()) {
    for (const auto& key : keys->get_object()) {
      text += (text.empty() ? "" : ",") + std::string(key.key()) + "=" + base::ToText(key.value());
    }
  }
  return "[" + text + "]";
}

namespace {

bool IsAtomic(const Json& value, const Schema* schema) {
  if (value.is_object()) return schema != nullptr && schema->atomic_struct;
  if (value.is_array())
    return schema == nullptr || schema->type != Schema::Type::kArray || schema->list_type == Schema::ListType::kAtomic;
  return true;
}

const Schema* FieldSchemaOf(const Schema* schema, std::string_view field) {
  if (schema == nullptr) return nullptr;
  if (schema->type == Schema::Type::kMap) return schema->item;
  const Schema::FieldSchema* found = schema->FindField(field);
  return found == nullptr ? nullptr : found->schema;
}

// Several of one key, which only what was written without apply can have, are one thing that belongs to somebody as a whole.
using Items = std::vector<const Json*>;
std::map<std::string, Items> ItemsByElement(const Json& list, const Schema& schema) {
  std::map<std::string, Items> items;
  for (const Json& item : list.get_array()) items[ItemElement(item, schema)].push_back(&item);
  return items;
}

std::string FieldElement(std::string_view name) { return "f:" + std::string(name); }

void Collect(const Json& value, const Schema* schema, bool root, FieldSet& set) {
  if (value.is_null()) {
    set.member = true;
    return;
  }
  if (IsAtomic(value, schema) && !root) {
    set.member = true;
    return;
  }
  if (value.is_object()) {
    if (value.get_object().empty() && !root) set.member = true;
    for (const auto& field : value.get_object()) {
      Collect(field.value(), FieldSchemaOf(schema, field.key()), false, set.children[FieldElement(field.key())]);
    }
    return;
  }
  if (value.get_array().empty()) set.member = true;
  for (const auto& [element, items] : ItemsByElement(value, *schema)) {
    FieldSet& child = set.children[element];
    child.member = true;
    if (schema->list_type == Schema::ListType::kMap && items.size() == 1) Collect(*items[0], schema->item, false, child);
  }
}

// Everything of `value` counts: used for what is new (or gone) as a whole, where maps themselves belong to it too.
void CollectWhole(const Json& value, const Schema* schema, FieldSet& set) {
  Collect(value, schema, false, set);
  const bool map = value.is_object() && (schema == nullptr || schema->type == Schema::Type::kMap);
  if (map) set.member = true;
}

void Compare(const Json& before, const Json& after, const Schema* schema, FieldSet& changed, FieldSet& removed);

void CompareObjects(const JsonObject& before, const JsonObject& after, const Schema* schema, FieldSet& changed,
                    FieldSet& removed) {
  for (const auto& field : after) {
    const std::string element = FieldElement(field.key());
    const Schema* field_schema = FieldSchemaOf(schema, field.key());
    if (const Json* other = before.if_contains(field.key())) {
      Compare(*other, field.value(), field_schema, changed.children[element], removed.children[element]);
    } else {
      CollectWhole(field.value(), field_schema, changed.children[element]);
    }
  }
  for (const auto& field : before) {
    if (!after.contains(field.key())) {
      CollectWhole(field.value(), FieldSchemaOf(schema, field.key()), removed.children[FieldElement(field.key())]);
    }
  }
}

void CompareLists(const Json& before, const Json& after, const Schema& schema, FieldSet& changed, FieldSet& removed) {
  const auto old_items = ItemsByElement(before, schema);
  const auto new_items = ItemsByElement(after, schema);
  const bool keyed = schema.list_type == Schema::ListType::kMap;
  const auto whole = [&](const Items& items, FieldSet& set) {
    if (keyed && items.size() == 1) Collect(*items[0], schema.item, false, set);
    set.member = true;
  };
  for (const auto& [element, items] : new_items) {
    const auto found = old_items.find(element);
    if (found == old_items.end()) {
      whole(items, changed.children[element]);
    } else if (items.size() == 1 && found->second.size() == 1) {
      if (keyed) Compare(*found->second[0], *items[0], schema.item, changed.children[element], removed.children[element]);
    } else if (!std::ranges::equal(items, found->second, [](const Json* a, const Json* b) { return base::Equal(*a, *b); })) {
      // Their fields, too: those who own one of a single item own it no longer once there are several, and the reverse.
      whole(found->second, removed.children[element]);
      whole(items, changed.children[element]);
    }
  }
  for (const auto& [element, items] : old_items) {
    if (!new_items.contains(element)) whole(items, removed.children[element]);
  }
}

void Compare(const Json& before, const Json& after, const Schema* schema, FieldSet& changed, FieldSet& removed) {
  if (before.is_object() && after.is_object() && !IsAtomic(after, schema)) {
    return CompareObjects(before.get_object(), after.get_object(), schema, changed, removed);
  }
  if (before.is_array() && after.is_array() && !IsAtomic(after, schema))
    return CompareLists(before, after, *schema, changed, removed);
  if (base::Equal(before, after)) return;
  Collect(after, schema, false, changed);
  if (changed.children.empty()) changed.member = true;
}

void Tidy(FieldSet& set) {
  for (auto it = set.children.begin(); it != set.children.end();) {
    Tidy(it->second);
    it = it->second.empty() ? set.children.erase(it) : std::next(it);
  }
}

// What belongs to the server or identifies the object is nobody's field.
void StripUnowned(FieldSet& set) {
  set.children.erase("f:apiVersion");
  set.children.erase("f:kind");
  const auto metadata = set.children.find("f:metadata");
  if (metadata == set.children.end()) return;
  for (const std::string_view name :
       {"name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion",
        "generateName", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    metadata->second.children.erase(FieldElement(name));
  }
  metadata->second.member = false;
  Tidy(set);
}

void AppendPaths(const FieldSet& set, const std::string& prefix, std::vector<std::string>& paths) {
  if (set.member) paths.push_back(prefix);
  for (const auto& [element, child] : set.children) {
    AppendPaths(child, prefix + ElementText(element), paths);
  }
}

}  // namespace

FieldSet FieldSet::FromJson(const Json& fields_v1) {
  FieldSet set;
  if (!fields_v1.is_object()) return set;
  for (const auto& field : fields_v1.get_object()) {
    if (field.key() == ".") {
      set.member = true;
      continue;
    }
    if (field.key().size() < 2 || field.key()[1] != ':') continue;
    FieldSet child = FromJson(field.value());
    if (child.children.empty()) child.member = true;
    std::string element(field.key());
    // Others may have written the keys in another order.
    if (element.starts_with("k:") || element.starts_with("v:")) {
      if (const auto keys = base::ParseJson(element.substr(2), "managed fields"))
        element = element.substr(0, 2) + base::CanonicalText(*keys);
    }
    set.children.emplace(std::move(element), std::move(child));
  }
  return set;
}

Json FieldSet::ToJson() const {
  JsonObject json;
  if (member && !children.empty()) json["."] = JsonObject();
  for (const auto& [element, child] : children) json[element] = child.ToJson();
  return json;
}

void FieldSet::Add(const FieldSet& other) {
  member = member || other.member;
  for (const auto& [element, child] : other.children) children[element].Add(child);
}

void FieldSet::Subtract(const FieldSet& other) {
  if (other.member) member = false;
  for (const auto& [element, child] : other.children) {
    const auto found = children.find(element);
    if (found == children.end()) continue;
    found->second.Subtract(child);
    if (found->second.empty()) children.erase(found);
  }
}

FieldSet FieldSet::Intersection(const FieldSet& other) const {
  FieldSet result;
  result.member = member && other.member;
  for (const auto& [element, child] : children) {
    const auto found = other.children.find(element);
    if (found == other.children.end()) continue;
    FieldSet common = child.Intersection(found->second);
    if (!common.empty()) result.children.emplace(element, std::move(common));
  }
  return result;
}

std::vector<std::string> FieldSet::Paths() const {
  std::vector<std::string> paths;
  AppendPaths(*this, "", paths);
  return paths;
}

FieldSet FieldsOf(const Json& value, const Schema* schema) {
  FieldSet set;
  Collect(value, schema, true, set);
  StripUnowned(set);
  return set;
}

void CompareFields(const Json& before, const Json& after, const Schema* schema, FieldSet& changed, FieldSet& removed) {
  Compare(before, after, schema, changed, removed);
  StripUnowned(changed);
  StripUnowned(removed);
  Tidy(changed);
  Tidy(removed);
}

Json MergeConfig(const Json& live, const Json& config, const Schema* schema) {
  if (config.is_object() && live.is_object() && !IsAtomic(config, schema)) {
    Json merged = live;
    for (const auto& field : config.get_object()) {
      const Json* present = live.get_object().if_contains(field.key());
      merged.get_object()[field.key()] =
          present == nullptr ? field.value() : MergeConfig(*present, field.value(), FieldSchemaOf(schema, field.key()));
    }
    return merged;
  }
  if (!config.is_array() || !live.is_array() || IsAtomic(config, schema)) return config;
  // Items that the config names come in its order where they stand among each other; what it does not name keeps its place,
  // and stays as often as it is there. What it names replaces all that there are, once they are several.
  const auto given = ItemsByElement(config, *schema);
  const auto present = ItemsByElement(live, *schema);
  JsonArray merged;
  std::set<std::string> done;
  for (const Json& item : live.get_array()) {
    const std::string element = ItemElement(item, *schema);
    const bool first = done.insert(element).second;
    const auto found = given.find(element);
    if (found == given.end()) {
      merged.push_back(item);
    } else if (first) {
      const Json& wanted = *found->second[0];
      merged.push_back(present.at(element).size() > 1 ? wanted : MergeConfig(item, wanted, schema->item));
    }
  }
  for (const Json& item : config.get_array()) {
    if (done.insert(ItemElement(item, *schema)).second) merged.push_back(item);
  }
  return merged;
}

void RemoveFields(Json& value, const Schema* schema, const FieldSet& gone) {
  if (value.is_object()) {
    for (const auto& [element, child] : gone.children) {
      if (!element.starts_with("f:")) continue;
      const std::string_view name = std::string_view(element).substr(2);
      Json* field = value.get_object().if_contains(name);
      if (field == nullptr) continue;
      const bool had_content =
          (field->is_object() && !field->get_object().empty()) || (field->is_array() && !field->get_array().empty());
      if (!child.children.empty()) RemoveFields(*field, FieldSchemaOf(schema, name), child);
      const bool emptied =
          (field->is_object() && field->get_object().empty()) || (field->is_array() && field->get_array().empty());
      // A container goes with its last field; one that still has the fields of others stays.
      const bool leaf = !field->is_object() && !field->is_array();
      const bool atomic = IsAtomic(*field, FieldSchemaOf(schema, name));
      if ((child.member && (leaf || atomic || emptied)) || (had_content && emptied)) value.get_object().erase(name);
    }
    return;
  }
  if (!value.is_array() || schema == nullptr) return;
  JsonArray kept;
  for (Json& item : value.get_array()) {
    const auto found = gone.children.find(ItemElement(item, *schema));
    if (found == gone.children.end()) {
      kept.push_back(std::move(item));
      continue;
    }
    if (found->second.member) continue;
    RemoveFields(item, schema->item, found->second);
    kept.push_back(std::move(item));
  }
  value = std::move(kept);
}

}  // namespace evenkeel::embedded::apiserver
