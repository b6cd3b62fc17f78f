// Types as the checker knows them.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "kube/cel/value.h"

namespace evenkeel::kube::cel {

struct Shape;

struct Type {
  enum class Kind : uint8_t {
    kDyn,
    kError,  ///< of what was found wrong: agrees with everything, so that one mistake is told once
    kNull,
    kBool,
    kInt,
    kUint,
    kDouble,
    kString,
    kBytes,
    kTimestamp,
    kDuration,
    kList,
    kMap,
    kObject,
    kType,
    kOpaque,  ///< by name: optional_type, kubernetes.Quantity
    kParameter,
  };
  Kind kind = Kind::kDyn;
  std::string name{};
  std::vector<const Type*> parameters{};
  const Shape* shape = nullptr;  ///< of an object
  /// The values that have it, one bit for each cel::Kind.
  uint32_t mask = 0;

  bool IsOptional() const;
};

/// "map(string, int)", as in upstream's messages.
std::string ToText(const Type& type);
bool SameType(const Type& a, const Type& b);

/// Types that live as long as the process.
namespace types {
extern const Type kDyn, kError, kNull, kBool, kInt, kUint, kDouble, kString, kBytes, kTimestamp, kDuration, kList, kMap, kType,
    kOptional;
extern const Type kQuantity, kIp, kCidr, kUrl, kSemver, kFormat;
/// Of the plain and opaque ones; null for a name that is none.
const Type* Named(std::string_view name);
/// What `type(x)` answers.
const Type* Of(const Value& value);
}  // namespace types

/// Makes types out of types; they live as long as it does.
class TypePool {
 public:
  const Type* List(const Type* item);
  const Type* Map(const Type* key, const Type* value);
  const Type* TypeOf(const Type* type);
  const Type* Optional(const Type* type);
  const Type* Opaque(std::string_view name, std::vector<const Type*> parameters);
  const Type* Parameter(std::string name);
  const Type* Object(std::string name, const Shape* shape);
  /// The same type of other parameters.
  const Type* With(const Type& type, std::vector<const Type*> parameters);
  /// "list(T)", "map(string, optional_type(int))"; one upper-case letter is a parameter. Null where it is none.
  const Type* Parse(std::string_view text);

 private:
  const Type* Add(Type type);
  const Type* ParseAt(std::string_view& rest, int depth);
  std::deque<Type> types_;
};

}  // namespace evenkeel::kube::cel
