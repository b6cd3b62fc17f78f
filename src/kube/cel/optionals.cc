// Optional values. Follows: cel-go@v0.26.0 cel/library.go
#include "kube/cel/library.h"

namespace evenkeel::kube::cel {
namespace {

Value SelectIn(const Value& target, const Value& key, Arena& arena) {
  Value value;
  if (target.Is(Kind::kMap) || target.Is(Kind::kObject)) {
    return target.map().Find(key, arena, value) ? Value::Some(value, arena) : Value::None();
  }
  if (!target.Is(Kind::kList)) return NoSuchOverload();
  value = Index(target, key, arena);
  if (!value.IsError()) return Value::Some(value, arena);
  const bool number = key.Is(Kind::kInt) || key.Is(Kind::kUint) || key.Is(Kind::kDouble);
  return number ? Value::None() : value;
}

}  // namespace

Value OptionalSelect(const Value& target, const Value& key, Arena& arena) {
  if (!target.Is(Kind::kOptional)) return SelectIn(target, key, arena);
  return target.optional() == nullptr ? target : SelectIn(*target.optional(), key, arena);
}

bool IsZeroValue(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDuration:
      return value.int_value() == 0;
    case Kind::kDouble:
      return value.double_value() == 0;
    case Kind::kString:
    case Kind::kBytes:
      return value.text().empty();
    case Kind::kList:
      return value.list().size() == 0;
    case Kind::kMap:
    case Kind::kObject:
      return value.map().size() == 0;
    case Kind::kTimestamp:
      return value.instant().seconds == -62135596800 && value.instant().nanos == 0;
    case Kind::kOptional:
      return value.optional() == nullptr || IsZeroValue(*value.optional());
    default:
      return false;
  }
}

void AddOptionals(Library& library) {
  library.Add("optional.of", "(V) optional_type(V)", [](const Call& call) { return Value::Some(call.args[0], call.arena); });
  library.Add("optional.ofNonZeroValue", "(V) optional_type(V)", [](const Call& call) {
    return IsZeroValue(call.args[0]) ? Value::None() : Value::Some(call.args[0], call.arena);
  });
  library.Add("optional.none", "() optional_type(V)", [](const Call&) { return Value::None(); });
  library.Add("value", "optional_type(V).() V", [](const Call& call) {
    return call.args[0].optional() != nullptr ? *call.args[0].optional() : Value::Error("optional.none() dereference");
  });
  library.Add("hasValue", "optional_type(V).() bool",
              [](const Call& call) { return Value::Bool(call.args[0].optional() != nullptr); });
  // The evaluator does not ask for the second one where the first has a value.
  library.Add("or", "optional_type(V).(optional_type(V)) optional_type(V)",
              [](const Call& call) { return call.args[0].optional() != nullptr ? call.args[0] : call.args[1]; });
  library.Add("orValue", "optional_type(V).(V) V",
              [](const Call& call) { return call.args[0].optional() != nullptr ? *call.args[0].optional() : call.args[1]; });
  library.AddAny("_[?_]",
                 {"(list(V), int) optional_type(V)", "(optional_type(list(V)), int) optional_type(V)",
                  "(map(K, V), K) optional_type(V)", "(optional_type(map(K, V)), K) optional_type(V)"},
                 [](const Call& call) { return OptionalSelect(call.args[0], call.args[1], call.arena); });
}

}  // namespace evenkeel::kube::cel
