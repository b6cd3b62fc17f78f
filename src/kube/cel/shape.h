// The shape of objects for expressions: which fields an object type has, under which names, and how its JSON is read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/cel/type.h"

namespace evenkeel::kube::cel {

/// A node of a structural schema. Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/cel/common/schemas.go
struct Shape {
  enum class Form : uint8_t { kPlain, kBytes, kDate, kDateTime, kDuration };
  struct Field {
    std::string json;  ///< its name there
    const Shape* shape = nullptr;
  };

  const Type* type = nullptr;
  Form form = Form::kPlain;
  std::map<std::string, Field, std::less<>> fields;          ///< of an object, by their names in expressions
  std::map<std::string, const Shape*, std::less<>> by_json;  ///< the same by their names in JSON
  const Shape* item = nullptr;                               ///< of a list or a map
  bool number = false;                                       ///< a JSON integer is a double
  std::unique_ptr<const ListRule> rule;
  uint64_t most = 0;  ///< elements, entries, or bytes of a text that there can be
};

/// Shapes and their types, which live as long as it does.
class Shapes {
 public:
  /// Of an OpenAPI v3 schema. Null where expressions cannot see such values at all. `resource`: a whole object, which always
  /// has apiVersion, kind and names.
  const Shape* Add(const base::JsonObject& schema, TypePool& types, bool resource);

 private:
  Shape* New();
  const Shape* OfObject(const base::JsonObject& schema, TypePool& types, bool resource);
  const Shape* OfScalar(std::string_view type, const base::JsonObject& schema);
  void AddField(Shape& shape, std::string_view json, const Shape* field);

  std::vector<std::unique_ptr<Shape>> shapes_;
  std::map<std::string, size_t> objects_;
};

/// Whether it is a word of the language.
bool IsReservedName(std::string_view name);
/// "a-b" is "a__dash__b". Empty for what expressions cannot name.
std::string EscapedName(std::string_view name);

/// A value as the shape has it; without a shape objects are maps, and numbers are what JSON has. The JSON must outlive the
/// value.
Value FromJson(const base::Json& json, const Shape* shape, Arena& arena);

}  // namespace evenkeel::kube::cel
