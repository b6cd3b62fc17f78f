#include "kube/schema/schema.h"

#include "kube/schema/strategic_merge.h"

namespace evenkeel::kube {
namespace {

/// Cheap and good enough for the names of one struct: nearly all of them differ in length or in one of three letters.
uint32_t NameHash(std::string_view name) {
  if (name.empty()) return 0;
  const auto at = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(name[i])); };
  uint32_t hash = static_cast<uint32_t>(name.size()) * 0x9E3779B1u;
  hash = (hash ^ at(0)) * 0x85EBCA6Bu;
  hash = (hash ^ at(name.size() / 2)) * 0xC2B2AE35u;
  hash = (hash ^ at(name.size() - 1)) * 0x27D4EB2Fu;
  return hash ^ (hash >> 15);
}

}  // namespace

void Schema::Seal() {
  std::sort(fields.begin(), fields.end(), [](const FieldSchema& a, const FieldSchema& b) { return a.name < b.name; });
  fields_with_default_.clear();
  size_t size = 4;
  while (size < fields.size() * 2) size *= 2;
  slots_.assign(fields.empty() ? 0 : size, 0);
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].default_value) fields_with_default_.push_back(static_cast<uint16_t>(i));
    size_t slot = NameHash(fields[i].name) & (size - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (size - 1);
    slots_[slot] = static_cast<uint16_t>(i + 1);
  }
  wire_order_.clear();
  for (size_t i = 0; i < fields.size(); ++i) {
    const FieldSchema& field = fields[i];
    if (field.number == 0) continue;
    const Type of = field.schema->type;
    const bool varint = of == Type::kInteger || of == Type::kBoolean;
    const uint32_t own = field.innermost != 0 ? field.innermost : field.inner != 0 ? field.inner : field.number;
    WireEntry entry{.number = field.number,
                    .inner = field.inner,
                    .innermost = field.innermost,
                    .hidden = {field.inner == 0 ? 0 : field.number, field.innermost == 0 ? 0 : field.inner},
                    .own = own,
                    .index = static_cast<uint16_t>(i),
                    .absent = "",
                    .type = varint ? WireType::kVarint : WireType::kBytes};
    if (field.written_when_absent && !field.required && !field.documented_required && (varint || of == Type::kString)) {
      // The number 0, or the length of a text without bytes.
      AppendTag(entry.absent, own, entry.type);
      AppendVarint(entry.absent, 0);
    }
    wire_order_.push_back(std::move(entry));
  }
  std::ranges::sort(wire_order_, {},
                    [](const WireEntry& entry) { return std::tuple(entry.number, entry.inner, entry.innermost); });
  wire_places_.clear();
  for (size_t i = 0; i < wire_order_.size(); ++i) {
    while (wire_places_.size() <= wire_order_[i].number) wire_places_.push_back(static_cast<uint16_t>(i));
  }
}

const Schema::FieldSchema* Schema::FindField(std::string_view field) const {
  if (slots_.empty()) {
    if (fields.empty()) return nullptr;
    const auto found = std::lower_bound(fields.begin(), fields.end(), field,
                                        [](const FieldSchema& one, std::string_view wanted) { return one.name < wanted; });
    return found != fields.end() && found->name == field ? &*found : nullptr;
  }
  const size_t mask = slots_.size() - 1;
  for (size_t slot = NameHash(field) & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const FieldSchema& one = fields[slots_[slot] - 1];
    if (one.name == field) return &one;
  }
  return nullptr;
}

const MergeSchema* Schema::Field(std::string_view field) const {
  if (type == Type::kMap) return item;
  const FieldSchema* found = FindField(field);
  return found == nullptr ? nullptr : found->schema;
}

Schema* SchemaSet::New() {
  schemas_.push_back(std::make_unique<Schema>());
  return schemas_.back().get();
}

void SchemaSet::SetRules(const Schema& schema, std::shared_ptr<const ValueRules> rules) {
  const auto found = std::ranges::find(schemas_, &schema, [](const auto& one) { return one.get(); });
  EVENKEEL_CHECK(found != schemas_.end());
  (*found)->rules = std::move(rules);
}

void SchemaSet::Seal() {
  for (size_t i = sealed_; i < schemas_.size(); ++i) {
    schemas_[i]->Seal();
    schemas_[i]->free_of_defaults = true;
  }
  // Schemas may refer to themselves, so what has a default below it is found by repetition, not by recursion.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = sealed_; i < schemas_.size(); ++i) {
      Schema& schema = *schemas_[i];
      if (!schema.free_of_defaults) continue;
      bool found = !schema.fields_with_default_.empty() || (schema.item != nullptr && !schema.item->free_of_defaults);
      for (const Schema::FieldSchema& field : schema.fields) found = found || !field.schema->free_of_defaults;
      if (!found) continue;
      schema.free_of_defaults = false;
      changed = true;
    }
  }
  sealed_ = schemas_.size();
}

}  // namespace evenkeel::kube
