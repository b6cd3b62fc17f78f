// The shape of a kind: one source for defaults, validation, pruning, patch strategies, server-side apply, OpenAPI and protocol
// buffers. Built-in kinds come from the compact texts in kube/schemas/ (compiled in); kinds of CRDs from their openAPIV3Schema.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/pattern.h"
#include "kube/formats.h"
#include "kube/schema/protobuf_wire.h"
#include "kube/schema/strategic_merge.h"
#include "kube/schema/value_rules.h"

namespace evenkeel::kube {

class Schema final : public MergeSchema {
 public:
  enum class Type {
    kObject,  ///< fields
    kMap,     ///< any key, values of `item`
    kArray,   ///< items of `item`
    kString,
    kInteger,
    kNumber,
    kBoolean,
    kIntOrString,
    kQuantity,  ///< written back in canonical form
    kTime,      ///< RFC 3339
    kMicroTime,
    kBytes,  ///< base64
    kAny,    ///< anything, kept as it is
  };
  /// How server-side apply treats a list (a map or struct may be kAtomic too).
  enum class ListType { kAtomic, kSet, kMap };

  struct FieldSchema {
    std::string name;
    const Schema* schema = nullptr;
    bool required = false;
    bool zero_is_absent = false;       ///< built-in kinds: "" and [] count as absent
    bool documented_required = false;  ///< shown as required, but absent means the zero value
    std::string description;
    std::optional<base::Json> default_value;
    uint32_t number = 0;     ///< in protocol buffers; 0: not there
    uint32_t inner = 0;      ///< the number within message `number`, which JSON does not show; 0: `number` is the field itself
    uint32_t innermost = 0;  ///< likewise within `inner`
    bool written_when_absent = false;  ///< in protocol buffers, as zero: upstream's field is no pointer, list, map or bytes
  };
  /// What a value that need not be an object of `alternative_to` may be instead.
  enum class Alternative { kNone, kList, kBoolean, kStrings };

  Type type = Type::kAny;
  std::string name;        ///< of a definition, e.g. "PodSpec"; empty for inline ones
  std::string definition;  ///< its full OpenAPI name, e.g. "io.k8s.api.core.v1.PodSpec"; empty for inline ones
  std::string description;
  std::vector<FieldSchema> fields;  ///< sorted by name
  const Schema* item = nullptr;
  bool preserve_unknown = false;  ///< x-kubernetes-preserve-unknown-fields
  /// kAny only: what upstream makes of `additionalProperties: true`, where anything may stand but no field of an object is
  /// known.
  bool prunes_all = false;
  bool embedded_resource = false;
  bool nullable = false;
  bool raw = false;  ///< in protocol buffers: JSON text in field 1, as kAny is
  /// kAny only: an object of this schema, or what `alternative` says (a list of such objects, true or false, strings).
  const Schema* alternative_to = nullptr;
  Alternative alternative = Alternative::kNone;

  ListType list_type = ListType::kAtomic;
  std::vector<std::string> list_keys;
  bool atomic_struct = false;   ///< objects and maps that apply owns as a whole
  std::string patch_merge_key;  ///< strategic merge; with patch_merge and no key: a set of primitives
  bool patch_merge = false;
  bool patch_retain_keys = false;

  std::vector<base::Json> enum_values;
  std::optional<double> minimum, maximum;
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<double> multiple_of;
  std::optional<size_t> min_length, max_length, min_items, max_items, min_properties, max_properties;
  bool unique_items = false;
  std::shared_ptr<const base::Pattern> pattern;  ///< null: none
  std::string format;
  FormatCheck format_check = nullptr;                 ///< of texts; null: `format` has no effect on them
  std::vector<const Schema*> all_of, any_of, one_of;  ///< CRDs only: value validation without structure
  const Schema* not_schema = nullptr;
  /// Of a built-in kind: errors are worded as typed API servers do, which do not compare the keys of list items themselves.
  bool native = false;
  std::vector<std::string> required_keys;  ///< required ones that are not among `fields`
  /// Of the root of a CRD's: expressions; null where there are none, or nobody has set them.
  std::shared_ptr<const ValueRules> rules;

  /// Sorts `fields` and builds what makes FindField fast. Call once, when the fields are complete.
  void Seal();

  const FieldSchema* FindField(std::string_view field) const;
  /// The messages which JSON does not show and in which a field is: none, `number`, or also the field `inner` of that.
  struct Hidden {
    uint32_t number = 0, inner = 0;
    bool operator==(const Hidden&) const = default;
    Hidden With(uint32_t next) const { return number == 0 ? Hidden{next, 0} : Hidden{number, next}; }
    bool Contains(const Hidden& other) const { return other.number == number && (inner == 0 || other.inner == inner); }
  };
  /// A field that has a number.
  struct WireEntry {
    uint32_t number, inner, innermost;
    Hidden hidden;       ///< where it is
    uint32_t own;        ///< its number there
    uint16_t index;      ///< in `fields`
    std::string absent;  ///< the bytes as which an absent value is written; empty: it is not written, or not in so few
    WireType type;       ///< of `absent`
  };
  /// By number, then inner, then innermost.
  const std::vector<WireEntry>& wire_order() const { return wire_order_; }
  /// Where fields of that number or a higher one begin in wire_order().
  size_t WirePlace(uint32_t number) const { return number < wire_places_.size() ? wire_places_[number] : wire_order_.size(); }

  // MergeSchema
  const MergeSchema* Field(std::string_view field) const override;
  const MergeSchema* Item() const override { return item; }
  bool merges() const override { return patch_merge; }
  std::string_view merge_key() const override { return patch_merge_key; }

  /// True when nothing below has a default: ApplyDefaults stops here. Kept by SchemaSet::Seal.
  bool free_of_defaults = false;

 private:
  std::vector<uint16_t> slots_;  ///< open addressing by a cheap hash of the name; index + 1, 0 is free
  std::vector<uint16_t> fields_with_default_;
  std::vector<WireEntry> wire_order_;
  std::vector<uint16_t> wire_places_;  // by number; as long as the highest one

  friend void ApplyDefaults(base::Json& value, const Schema& schema);
  friend class SchemaSet;
};

/// Owns schemas that refer to each other. Pointers stay valid for its lifetime.
class SchemaSet {
 public:
  Schema* New();
  /// Gives one of its schemas rules; before anybody validates with it.
  void SetRules(const Schema& schema, std::shared_ptr<const ValueRules> rules);
  /// Seals all schemas that were added since the last call; they must not change afterwards.
  void Seal();

 private:
  size_t sealed_ = 0;
  std::vector<std::unique_ptr<Schema>> schemas_;
};

/// The definition compiled in under that OpenAPI name, e.g. "io.k8s.api.core.v1.PodSpec"; null when there is none.
const Schema* FindBuiltInSchema(std::string_view definition);

/// Reads a CRD's openAPIV3Schema; the root gets apiVersion, kind and metadata. Errors (kInvalid, with causes) when it breaks a
/// rule (openapi_rules.h) or has a default that does not fit; the causes' fields start with `path`, e.g.
/// "properties[spec].type". Expressions (x-kubernetes-validations) are left to
/// kube/rules/schema_rules.h.
base::Result<const Schema*> SchemaFromOpenApi(const base::Json& open_api, SchemaSet& owner, const std::string& path = "");
/// The same for one that was checked when it was stored: what rules that came later refuse is read as well as can be. Null when
/// it is no object.
const Schema* SchemaOfStored(const base::Json& open_api, SchemaSet& owner);

/// Fills in defaults, at every depth, where the parent is present; a null for a field that has a default and is not nullable
/// takes it.
void ApplyDefaults(base::Json& value, const Schema& schema);
/// Removes fields the schema does not know; appends their paths ("spec.foo") to `unknown` if not null. metadata, apiVersion and
/// kind of the root and of embedded resources are kept.
void Prune(base::Json& value, const Schema& schema, std::vector<std::string>* unknown);
/// Types, required fields, enums, ranges, patterns, list-map keys unique. Causes in upstream's words, e.g. `Required value`,
/// `Invalid value: "x": must be ...`, `Unsupported value: "x": supported values: "a", "b"`.
/// `old`: what the value replaces; what was wrong with it and did not change is let pass (ratchet.h).
std::vector<base::Cause> Validate(const base::Json& value, const Schema& schema, const std::string& path = "",
                                  const base::Json* old = nullptr);
/// Rewrites quantities and the like in canonical form, as a typed decoder would: nulls of optional fields go; in maps and lists
/// they are the zero value in built-in kinds, and go in others.
void Normalize(base::Json& value, const Schema& schema);

}  // namespace evenkeel::kube
