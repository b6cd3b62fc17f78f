// A JSON document that changes a little at a time. A merge patch (RFC 7386) leads from the state that was sent last to the
// present one, however many changes lie in between.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace evenkeel::dashboard {

/// A field is set either as a whole or entry by entry, never both.
class LiveDocument {
 public:
  /// A field of the document. Costs O(value).
  void Set(std::string_view field, base::Json value);
  /// An entry of a field that is an object. Costs O(value), whatever else the field holds.
  void Set(std::string_view field, std::string_view key, base::Json value);
  void Erase(std::string_view field, std::string_view key);

  const base::Json& value() const { return document_; }
  /// The entry as it is; null when there is none.
  const base::Json* Find(std::string_view field, std::string_view key) const;
  /// From the document at the last call (or when it was made) to what it is now; an empty object when nothing differs. Costs
  /// O(entries that were set).
  base::Json TakePatch();

 private:
  base::JsonObject& Entries(std::string_view field);
  void Remember(std::string_view field, std::string_view key, const base::Json* before);

  base::Json document_ = base::JsonObject{};
  /// By field and key ("" is the field itself): what was there when the last patch was taken; nullopt: nothing was.
  std::map<std::pair<std::string, std::string>, std::optional<base::Json>> before_;
};

}  // namespace evenkeel::dashboard
