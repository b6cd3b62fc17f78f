// Lists, sets and regular expressions. Follows: cel-go@v0.26.0 ext/lists.go, ext/sets.go and kubernetes@1.36
// staging/src/k8s.io/apiserver/pkg/cel/library/{lists,regex}.go
#include "base/pattern.h"
#include "kube/cel/library.h"

namespace evenkeel::kube::cel {
namespace {

Value IsSorted(const Call& call) {
  const List& list = call.args[0].list();
  for (size_t i = 1; i < list.size(); ++i) {
    int order = 0;
    if (!Compare(list.At(i - 1, call.arena), list.At(i, call.arena), order)) return NoSuchOverload();
    if (order > 0) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Value Sum(const Call& call) {
  const List& list = call.args[0].list();
  if (list.size() == 0) return Value::Int(0);
  static const Function* const plus = Library::Kubernetes()->Find("_+_");
  Value sum = list.At(0, call.arena);
  if (!sum.Is(Kind::kInt) && !sum.Is(Kind::kUint) && !sum.Is(Kind::kDouble) && !sum.Is(Kind::kDuration))
    return NoSuchOverload();
  for (size_t i = 1; i < list.size() && !sum.IsError(); ++i) {
    const Value pair[2] = {sum, list.At(i, call.arena)};
    sum = plus->overloads[0].run({call.arena, pair});
  }
  return sum;
}

Value Extreme(const Call& call, int sign, std::string_view name) {
  const List& list = call.args[0].list();
  if (list.size() == 0) return MakeError(call.arena, fmt::format("{} called on empty list", name));
  Value best = list.At(0, call.arena);
  int order = 0;
  if (!Compare(best, best, order)) return NoSuchOverload();
  for (size_t i = 1; i < list.size(); ++i) {
    const Value item = list.At(i, call.arena);
    if (!Compare(item, best, order)) return NoSuchOverload();
    if (order == sign) best = item;
  }
  return best;
}

Value FirstIndex(const Call& call) {
  const List& list = call.args[0].list();
  for (size_t i = 0; i < list.size(); ++i)
    if (IsEqual(list.At(i, call.arena), call.args[1], call.arena)) return Value::Int(static_cast<int64_t>(i));
  return Value::Int(-1);
}

Value LastIndex(const Call& call) {
  const List& list = call.args[0].list();
  for (size_t i = list.size(); i-- > 0;)
    if (IsEqual(list.At(i, call.arena), call.args[1], call.arena)) return Value::Int(static_cast<int64_t>(i));
  return Value::Int(-1);
}

Value Slice(const Call& call) {
  const List& list = call.args[0].list();
  const int64_t begin = call.args[1].int_value(), end = call.args[2].int_value();
  const auto wrong = [&](std::string_view why) {
    return MakeError(call.arena, fmt::format("cannot slice({}, {}), {}", begin, end, why));
  };
  if (begin < 0 || end < 0) return wrong("negative indexes not supported");
  if (begin > end) return wrong("start index must be less than or equal to end index");
  if (static_cast<uint64_t>(end) > list.size()) return wrong(fmt::format("list is length {}", list.size()));
  std::vector<Value> items;
  for (int64_t i = begin; i < end; ++i) items.push_back(list.At(static_cast<size_t>(i), call.arena));
  return MakeList(items, call.arena);
}

void FlattenInto(const List& list, int64_t levels, Arena& arena, std::vector<Value>& items) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Value item = list.At(i, arena);
    if (item.Is(Kind::kList) && levels > 0) {
      FlattenInto(item.list(), levels - 1, arena, items);
    } else {
      items.push_back(item);
    }
  }
}

Value Flatten(const Call& call) {
  const int64_t levels = call.args.size() > 1 ? call.args[1].int_value() : 1;
  if (levels < 0) return Value::Error("level must be non-negative");
  std::vector<Value> items;
  FlattenInto(call.args[0].list(), levels, call.arena, items);
  return MakeList(items, call.arena);
}

Value Sort(const Call& call) {
  const List& list = call.args[0].list();
  std::vector<Value> items;
  for (size_t i = 0; i < list.size(); ++i) {
    items.push_back(list.At(i, call.arena));
    int order = 0;
    if (!Compare(items.front(), items.back(), order)) return Value::Error("list elements must have the same type");
  }
  std::ranges::stable_sort(items, [](const Value& a, const Value& b) {
    int order = 0;
    return Compare(a, b, order) && order == -1;
  });
  return MakeList(items, call.arena);
}

Value Reverse(const Call& call) {
  const List& list = call.args[0].list();
  std::vector<Value> items;
  for (size_t i = list.size(); i-- > 0;) items.push_back(list.At(i, call.arena));
  return MakeList(items, call.arena);
}

Value Distinct(const Call& call) {
  const List& list = call.args[0].list();
  std::vector<Value> items;
  for (size_t i = 0; i < list.size(); ++i) {
    const Value item = list.At(i, call.arena);
    if (std::ranges::none_of(items, [&](const Value& other) { return IsEqual(other, item, call.arena); }))
      items.push_back(item);
  }
  return MakeList(items, call.arena);
}

Value Range(const Call& call) {
  const int64_t count = call.args[0].int_value();
  constexpr int64_t kRangeMax = 1'000'000;  // more than that could not be paid for
  if (count > kRangeMax) return Value::Error("lists.range: too many items");
  std::vector<Value> items;
  for (int64_t i = 0; i < count; ++i) items.push_back(Value::Int(i));
  return MakeList(items, call.arena);
}

bool ContainsItem(const List& list, const Value& item, Arena& arena) {
  for (size_t i = 0; i < list.size(); ++i)
    if (IsEqual(list.At(i, arena), item, arena)) return true;
  return false;
}

bool ContainsAll(const List& list, const List& other, Arena& arena) {
  for (size_t i = 0; i < other.size(); ++i)
    if (!ContainsItem(list, other.At(i, arena), arena)) return false;
  return true;
}

void AddSets(Library& library) {
  library.Add(
      "sets.contains", "(list(T), list(T)) bool",
      [](const Call& call) { return Value::Bool(ContainsAll(call.args[0].list(), call.args[1].list(), call.arena)); },
      Cost::kProduct);
  library.Add(
      "sets.equivalent", "(list(T), list(T)) bool",
      [](const Call& call) {
        const List &a = call.args[0].list(), &b = call.args[1].list();
        return Value::Bool(ContainsAll(a, b, call.arena) && ContainsAll(b, a, call.arena));
      },
      Cost::kProduct);
  library.Add(
      "sets.intersects", "(list(T), list(T)) bool",
      [](const Call& call) {
        const List &a = call.args[0].list(), &b = call.args[1].list();
        for (size_t i = 0; i < b.size(); ++i)
          if (ContainsItem(a, b.At(i, call.arena), call.arena)) return Value::Bool(true);
        return Value::Bool(false);
      },
      Cost::kProduct);
}

Value Find(const Call& call) {
  const auto pattern = base::Pattern::Parse(call.args[1].text());
  if (!pattern) return MakeError(call.arena, "program instantiation failed: " + pattern.error().message());
  const auto matches = (*pattern)->FindAll(call.args[0].text(), 1);
  return Value::String(matches.empty() ? std::string_view() : matches[0]);
}

Value FindAll(const Call& call) {
  const auto pattern = base::Pattern::Parse(call.args[1].text());
  if (!pattern) return MakeError(call.arena, "program instantiation failed: " + pattern.error().message());
  const int64_t most = call.args.size() > 2 ? call.args[2].int_value() : -1;
  std::vector<Value> items;
  const size_t bound = most < 0 ? SIZE_MAX : static_cast<size_t>(most);
  for (const std::string_view match : (*pattern)->FindAll(call.args[0].text(), bound)) items.push_back(Value::String(match));
  return MakeList(items, call.arena);
}

void AddKubernetesLists(Library& library) {
  for (const std::string_view item : {"int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"}) {
    const auto add = [&](std::string_view name, std::string_view result, Implementation run) {
      library.Add(name, fmt::format("list({}).() {}", item, result), run, Cost::kScan);
    };
    add("isSorted", "bool", IsSorted);
    add("min", item, [](const Call& call) { return Extreme(call, -1, "min"); });
    add("max", item, [](const Call& call) { return Extreme(call, 1, "max"); });
    if (item == "int" || item == "uint" || item == "double" || item == "duration") add("sum", item, Sum);
  }
  library.Add("indexOf", "list(T).(T) int", FirstIndex, Cost::kScan);
  library.Add("lastIndexOf", "list(T).(T) int", LastIndex, Cost::kScan);
}

}  // namespace

void AddLists(Library& library) {
  library.Add(
      "matches", "string.(string) bool",
      [](const Call& call) {
        const auto pattern = base::Pattern::Parse(call.args[1].text());
        if (!pattern) return MakeError(call.arena, pattern.error().message());
        return Value::Bool((*pattern)->Matches(call.args[0].text()));
      },
      Cost::kRegex);
  library.Add("matches", "(string, string) bool", library.Find("matches")->overloads[0].run, Cost::kRegex);
  if (library.Has(Extension::kRegex)) {
    library.Add("find", "string.(string) string", Find, Cost::kRegex);
    library.Add("findAll", "string.(string) list(string)", FindAll, Cost::kRegex);
    library.Add("findAll", "string.(string, int) list(string)", FindAll, Cost::kRegex);
  }
  if (library.Has(Extension::kSets)) AddSets(library);
  if (library.Has(Extension::kIncludes)) {
    library.AddAny("includes", {"dyn.(dyn) bool"}, [](const Call& call) {
      if (!call.args[0].Is(Kind::kList)) return Equal(call.args[0], call.args[1], call.arena);
      return Value::Bool(ContainsItem(call.args[0].list(), call.args[1], call.arena));
    });
  }
  if (!library.Has(Extension::kLists)) return;
  AddKubernetesLists(library);
  library.Add("slice", "list(T).(int, int) list(T)", Slice, Cost::kScan);
  library.Add("flatten", "list(list(T)).() list(T)", Flatten, Cost::kScan);
  library.Add("flatten", "list(dyn).(int) list(dyn)", Flatten, Cost::kScan);
  for (const std::string_view item : {"int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"})
    library.Add("sort", fmt::format("list({0}).() list({0})", item), Sort, Cost::kSort);
  library.Add("reverse", "list(T).() list(T)", Reverse, Cost::kScan);
  library.Add("distinct", "list(T).() list(T)", Distinct, Cost::kSort);
  library.Add("lists.range", "(int) list(int)", Range);
}

}  // namespace evenkeel::kube::cel
