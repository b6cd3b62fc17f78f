#include "dashboard/live_document.h"

namespace evenkeel::dashboard {

using base::Json;
using base::JsonObject;

JsonObject& LiveDocument::Entries(std::string_view field) {
  Json& entries = document_.get_object()[field];
  if (entries.is_object()) return entries.get_object();
  Remember(field, "", entries.is_null() ? nullptr : &entries);
  entries = JsonObject{};
  return entries.get_object();
}

void LiveDocument::Remember(std::string_view field, std::string_view key, const Json* before) {
  before_.try_emplace(std::pair(std::string(field), std::string(key)),
                      before == nullptr ? std::nullopt : std::optional(*before));
}

void LiveDocument::Set(std::string_view field, Json value) {
  const Json* present = document_.get_object().if_contains(field);
  if (present != nullptr && base::Equal(*present, value)) return;
  Remember(field, "", present);
  document_.get_object()[field] = std::move(value);
}

void LiveDocument::Set(std::string_view field, std::string_view key, Json value) {
  JsonObject& entries = Entries(field);
  const Json* present = entries.if_contains(key);
  if (present != nullptr && base::Equal(*present, value)) return;
  Remember(field, key, present);
  entries[key] = std::move(value);
}

void LiveDocument::Erase(std::string_view field, std::string_view key) {
  JsonObject& entries = Entries(field);
  const Json* present = entries.if_contains(key);
  if (present == nullptr) return;
  Remember(field, key, present);
  entries.erase(key);
}

const Json* LiveDocument::Find(std::string_view field, std::string_view key) const {
  return base::Find(document_, {field, key});
}

Json LiveDocument::TakePatch() {
  JsonObject patch;
  // A field's own entry comes before those of its keys, which it then covers.
  const std::string* whole = nullptr;
  for (const auto& [where, before] : before_) {
    const auto& [field, key] = where;
    if (whole != nullptr && *whole == field) continue;
    const Json* after = base::Find(document_.get_object(), field);
    if (key.empty()) {
      whole = &field;
    } else if (after != nullptr) {
      after = base::Find(*after, {key});
    }
    const JsonObject from = before ? JsonObject{{key, *before}} : JsonObject{};
    const JsonObject to = after != nullptr ? JsonObject{{key, *after}} : JsonObject{};
    Json difference = base::DiffMergePatch(from, to);
    if (difference.get_object().empty()) continue;
    if (key.empty()) {
      patch[field] = std::move(difference.get_object()[key]);
    } else {
      Json& entries = patch[field];
      if (!entries.is_object()) entries = JsonObject{};
      entries.get_object()[key] = std::move(difference.get_object()[key]);
    }
  }
  before_.clear();
  return patch;
}

}  // namespace evenkeel::dashboard
