#include <cmath>

#include "kube/cel/cel.h"

namespace evenkeel::kube::cel {
namespace {

uint64_t Tenth(uint64_t size) { return (size + 9) / 10; }

/// One walk over a tree. Follows: cel-go@v0.26.0 interpreter/interpretable.go, interpreter/runtimecost.go
class Evaluator {
 public:
  Evaluator(std::span<const Value> variables, std::span<Value> locals, Arena& arena, uint64_t cost_max)
      : variables_(variables), locals_(locals), arena_(arena), cost_max_(cost_max) {}

  Value Eval(const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::kConstant:
        cost_ += expr.folded_cost;
        return expr.constant;
      case Expr::Kind::kVariable:
        ++cost_;
        return variables_[static_cast<size_t>(expr.slot)];
      case Expr::Kind::kLocal:
        ++cost_;
        return locals_[static_cast<size_t>(expr.slot)];
      case Expr::Kind::kSelect:
        return Select(expr);
      case Expr::Kind::kCall:
        return Called(expr);
      case Expr::Kind::kList:
        return ListOf(expr);
      case Expr::Kind::kMap:
        return MapOf(expr);
      case Expr::Kind::kAnd:
        return Logical<false>(expr);
      case Expr::Kind::kOr:
        return Logical<true>(expr);
      case Expr::Kind::kConditional: {
        const Value condition = Eval(*expr.args[0]);
        if (condition.IsError()) return condition;
        if (!condition.Is(Kind::kBool)) return NoSuchOverload();
        return Eval(*expr.args[condition.bool_value() ? 1 : 2]);
      }
      case Expr::Kind::kLoop:
        return Loop(expr);
      case Expr::Kind::kBind: {
        locals_[static_cast<size_t>(expr.slot)] = Eval(*expr.args[0]);
        return over_ ? Over() : Eval(*expr.args[1]);
      }
      case Expr::Kind::kOptMap:
      case Expr::Kind::kOptFlatMap:
        return OptMap(expr);
      default:
        return expr.constant;
    }
  }

  uint64_t cost() const { return cost_; }
  bool over() const { return over_; }

 private:
  Value Over() {
    over_ = true;
    return Value::Error(arena_.exhausted() ? "operation cancelled: the expression takes too much memory" : kCostExceeded);
  }
  /// False where that was too much.
  bool Charge(uint64_t cost) {
    cost_ += cost;
    if (cost_ <= cost_max_ && !arena_.exhausted() && !over_) return true;
    over_ = true;
    return false;
  }

  static bool IsPlace(const Expr& expr) {
    return expr.kind == Expr::Kind::kVariable || expr.kind == Expr::Kind::kLocal || expr.kind == Expr::Kind::kSelect ||
           (expr.kind == Expr::Kind::kCall && (expr.name == "_[_]" || expr.name == "_[?_]"));
  }

  Value Select(const Expr& expr) {
    const Value target = Eval(*expr.args[0]);
    cost_ += (expr.test ? 0 : 1) + (IsPlace(*expr.args[0]) ? 0 : 1);
    if (target.IsError()) return target;
    const Value name = Value::String(expr.name);
    if (expr.test) return Has(target, name);
    if (expr.optional) return OptionalSelect(target, name, arena_);
    return SelectField(target, expr.name, arena_);
  }

  Value Has(const Value& target, const Value& name) {
    if (target.Is(Kind::kOptional)) return target.optional() == nullptr ? Value::Bool(false) : Has(*target.optional(), name);
    if (target.Is(Kind::kMap) || target.Is(Kind::kObject)) return Value::Bool(target.map().Has(name, arena_));
    return target.Is(Kind::kNull) ? NoSuchKey(name, arena_) : NoSuchOverload();
  }

  Value Called(const Expr& expr) {
    constexpr size_t kUsual = 4;
    Value usual[kUsual];
    const size_t count = expr.args.size();
    const std::span<Value> args = count <= kUsual ? std::span<Value>(usual, count) : arena_.NewArray<Value>(count);
    for (size_t i = 0; i < count; ++i) {
      args[i] = Eval(*expr.args[i]);
      if (args[i].IsError()) return args[i];
      // The other side of `or` is only asked for where it is needed.
      if (i == 0 && expr.member && args[0].Is(Kind::kOptional) && args[0].optional() != nullptr && count == 2) {
        if (expr.name == "or") return args[0];
        if (expr.name == "orValue") return *args[0].optional();
      }
    }
    const Overload* const overload = Choose(expr, args);
    if (overload == nullptr) return NoSuchOverload();
    // Paid for beforehand, so that nothing is begun that costs too much.
    const bool by_result = expr.function->cost == Cost::kTraverseResult;
    if (!Charge(by_result ? 0 : CallCost(*expr.function, args, {}))) return Over();
    const Value result = overload->run({arena_, args});
    return !by_result || Charge(CallCost(*expr.function, args, result)) ? result : Over();
  }

  static const Overload* Choose(const Expr& expr, std::span<const Value> args) {
    if (expr.function->any) return &expr.function->overloads[0];
    for (const Overload* overload : expr.overloads) {
      bool fits = overload->parameters.size() == args.size();
      for (size_t i = 0; fits && i < args.size(); ++i)
        fits = (overload->parameters[i]->mask >> static_cast<unsigned>(args[i].kind()) & 1U) != 0;
      if (fits && overload->run != nullptr) return overload;
    }
    return nullptr;
  }

  Value ListOf(const Expr& expr) {
    if (!Charge(10)) return Over();
    const std::span<Value> items = arena_.NewArray<Value>(expr.args.size());
    size_t count = 0;
    for (size_t i = 0; i < expr.args.size(); ++i) {
      Value item = Eval(*expr.args[i]);
      if (item.IsError()) return item;
      if (expr.optional_args[i]) {
        if (!item.Is(Kind::kOptional)) return NoSuchOverload();
        if (item.optional() == nullptr) continue;
        item = *item.optional();
      }
      items[count++] = item;
    }
    return Value::Of(static_cast<const List*>(arena_.New<ArrayList>(items.subspan(0, count))));
  }

  Value MapOf(const Expr& expr) {
    if (!Charge(30)) return Over();
    std::vector<Value> entries;
    for (size_t i = 0; i < expr.args.size(); i += 2) {
      const Value key = Eval(*expr.args[i]);
      if (key.IsError()) return key;
      Value value = Eval(*expr.args[i + 1]);
      if (value.IsError()) return value;
      if (expr.optional_args[i / 2]) {
        if (!value.Is(Kind::kOptional)) return NoSuchOverload();
        if (value.optional() == nullptr) continue;
        value = *value.optional();
      }
      entries.push_back(key);
      entries.push_back(value);
    }
    return MakeMap(entries, arena_);
  }

  /// What decides ends it; else an error stays one.
  template <bool kDecides>
  Value Logical(const Expr& expr) {
    Value error;
    for (const Expr* arg : expr.args) {
      const Value value = Eval(*arg);
      if (over_) return value.IsError() ? value : Over();
      if (value.Is(Kind::kBool)) {
        if (value.bool_value() == kDecides) return value;
      } else if (!error.IsError()) {
        error = value.IsError() ? value : NoSuchOverload();
      }
    }
    return error.IsError() ? error : Value::Bool(!kDecides);
  }

  Value OptMap(const Expr& expr) {
    const Value target = Eval(*expr.args[0]);
    if (target.IsError()) return target;
    if (!target.Is(Kind::kOptional)) return NoSuchOverload();
    if (target.optional() == nullptr) return Value::None();
    locals_[static_cast<size_t>(expr.slot)] = *target.optional();
    const Value body = Eval(*expr.args[1]);
    if (body.IsError() || expr.kind == Expr::Kind::kOptFlatMap) return body;
    return Value::Some(body, arena_);
  }

  // Loops. What each turn costs besides its body is what the steps of upstream's comprehension cost.
  Value Loop(const Expr& expr) {
    const Value range = Eval(*expr.args[0]);
    if (range.IsError()) return range;
    if (!range.Is(Kind::kList) && !range.Is(Kind::kMap))
      return MakeError(arena_, fmt::format("got '{}', expected iterable type", types::Of(range)->name));
    switch (expr.loop) {
      case Expr::Loop::kAll:
        return Quantified<false>(expr, range);
      case Expr::Loop::kExists:
        return Quantified<true>(expr, range);
      case Expr::Loop::kExistsOne:
        return ExistsOne(expr, range);
      default:
        return Collected(expr, range);
    }
  }

  size_t Turns(const Value& range) const { return range.Is(Kind::kList) ? range.list().size() : range.map().size(); }

  void SetVariables(const Expr& expr, const Value& range, size_t turn) {
    const auto slot = static_cast<size_t>(expr.slot);
    const bool two = !expr.variables[1].empty();
    if (range.Is(Kind::kList)) {
      if (two) locals_[slot] = Value::Int(static_cast<int64_t>(turn));
      locals_[slot + (two ? 1 : 0)] = range.list().At(turn, arena_);
    } else {
      locals_[slot] = range.map().KeyAt(turn, arena_);
      if (two) locals_[slot + 1] = range.map().ValueAt(turn, arena_);
    }
  }

  template <bool kDecides>
  Value Quantified(const Expr& expr, const Value& range) {
    Value error;
    for (size_t turn = 0; turn < Turns(range); ++turn) {
      if (!Charge(kDecides ? 4 : 3)) return Over();
      SetVariables(expr, range, turn);
      const Value value = Eval(*expr.args[2]);
      if (over_) return Over();
      if (value.Is(Kind::kBool)) {
        if (value.bool_value() == kDecides) {
          cost_ += 1 + (turn + 1 < Turns(range) ? (kDecides ? 3 : 2) : 0);
          return value;
        }
      } else if (!error.IsError()) {
        error = value.IsError() ? value : NoSuchOverload();
      }
    }
    ++cost_;
    return error.IsError() ? error : Value::Bool(!kDecides);
  }

  Value ExistsOne(const Expr& expr, const Value& range) {
    size_t count = 0;
    for (size_t turn = 0; turn < Turns(range); ++turn) {
      if (!Charge(1)) return Over();
      SetVariables(expr, range, turn);
      const Value value = Eval(*expr.args[2]);
      if (value.IsError()) return value;
      if (!value.Is(Kind::kBool)) return NoSuchOverload();
      if (value.bool_value()) ++count, ++cost_;
    }
    cost_ += 2;
    return Value::Bool(count == 1);
  }

  /// What is left of a turn: false where it is to be left out, an error where that is one.
  Value Kept(const Expr& expr) {
    if (expr.args[1] == nullptr) return Value::Bool(true);
    const Value kept = Eval(*expr.args[1]);
    return kept.IsError() || kept.Is(Kind::kBool) ? kept : NoSuchOverload();
  }

  Value Collected(const Expr& expr, const Value& range) {
    const bool to_map = expr.loop == Expr::Loop::kTransformMap || expr.loop == Expr::Loop::kTransformMapEntry;
    std::vector<Value> items, keys;
    // What it begins with, and the name of what comes out.
    cost_ += to_map ? 31 : 11;
    for (size_t turn = 0; turn < Turns(range); ++turn) {
      if (!Charge(1) || arena_.TooMuch(items.size() * sizeof(Value))) return Over();
      SetVariables(expr, range, turn);
      const Value kept = Kept(expr);
      if (kept.IsError()) return kept;
      if (!kept.bool_value()) continue;
      const Value item = Eval(*expr.args[2]);
      if (item.IsError()) return item;
      const bool left_out = expr.loop == Expr::Loop::kFilter && item.IsFalse();
      if (!left_out && !Charge(to_map ? 1 : expr.loop == Expr::Loop::kFilter ? 12 : 11)) return Over();
      const Value wrong = Collect(expr, item, items, keys);
      if (wrong.IsError()) return wrong;
    }
    if (to_map) return MakeMap(items, arena_);
    return expr.loop == Expr::Loop::kSortBy ? Sorted(items, keys) : MakeList(items, arena_);
  }

  Value Collect(const Expr& expr, const Value& item, std::vector<Value>& items, std::vector<Value>& keys) {
    const Value& first = locals_[static_cast<size_t>(expr.slot)];
    switch (expr.loop) {
      case Expr::Loop::kFilter:
        if (!item.Is(Kind::kBool)) return NoSuchOverload();
        if (item.bool_value()) items.push_back(first);
        break;
      case Expr::Loop::kSortBy:
        keys.push_back(item);
        items.push_back(first);
        break;
      case Expr::Loop::kTransformMap:
        items.push_back(first);
        items.push_back(item);
        break;
      case Expr::Loop::kTransformMapEntry:
        if (!item.Is(Kind::kMap)) return NoSuchOverload();
        for (size_t i = 0; i < item.map().size(); ++i) {
          items.push_back(item.map().KeyAt(i, arena_));
          items.push_back(item.map().ValueAt(i, arena_));
        }
        break;
      default:
        items.push_back(item);
    }
    return {};
  }

  Value Sorted(const std::vector<Value>& items, const std::vector<Value>& keys) {
    std::vector<size_t> order(items.size());
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
      int unused = 0;
      if (!Compare(keys[0], keys[i], unused)) return Value::Error("list elements must have the same type");
    }
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
      int result = 0;
      return Compare(keys[a], keys[b], result) && result == -1;
    });
    std::vector<Value> sorted;
    for (const size_t place : order) sorted.push_back(items[place]);
    return Charge(items.size()) ? MakeList(sorted, arena_) : Over();
  }

  std::span<const Value> variables_;
  std::span<Value> locals_;
  Arena& arena_;
  uint64_t cost_max_;
  uint64_t cost_ = 0;
  bool over_ = false;
};

}  // namespace

uint64_t CallCost(const Function& function, std::span<const Value> args, const Value& result) {
  switch (function.cost) {
    case Cost::kOne:
      return 1;
    case Cost::kTraverse:
      return args[0].Is(Kind::kString) || args[0].Is(Kind::kBytes) ? Tenth(SizeOf(args[0])) : 1;
    case Cost::kTraverseTwice:
      return Tenth(2 * SizeOf(args[0].Is(Kind::kFormat) ? args[1] : args[0]));
    case Cost::kTraverseResult:
      return Tenth(2 * SizeOf(result));
    case Cost::kEquality:
      return Tenth(std::min(SizeOf(args[0]), SizeOf(args[1])));
    case Cost::kConcatenation:
      if (!args[0].Is(Kind::kString) && !args[0].Is(Kind::kBytes)) return 1;
      return Tenth(SizeOf(args[0]) + SizeOf(args[1]));
    case Cost::kContains:
      return Tenth(SizeOf(args[0])) * Tenth(SizeOf(args[1]));
    case Cost::kRegex:
      return Tenth(SizeOf(args[0]) + 1) * ((SizeOf(args[1]) + 3) / 4);
    case Cost::kMembership:
      return args[1].Is(Kind::kList) ? SizeOf(args[1]) : 1;
    case Cost::kScan:
      return SizeOf(args[0]);
    case Cost::kProduct:
      return SizeOf(args[0]) * SizeOf(args[1]);
    case Cost::kSort:
      return SizeOf(args[0]) * SizeOf(args[0]);
    case Cost::kParsedAndOne:
      return 4 + (args[1].Is(Kind::kString) ? Tenth(SizeOf(args[1])) : 0);
    case Cost::kAccessCheck:
      return 350'000;
  }
  return 1;
}

Evaluation Run(const Expr& root, std::span<const Value> variables, size_t slots, Arena& arena, uint64_t cost_max) {
  Evaluator evaluator(variables, slots == 0 ? std::span<Value>() : arena.NewArray<Value>(slots), arena, cost_max);
  Evaluation evaluation;
  evaluation.value = evaluator.Eval(root);
  evaluation.cost = evaluator.cost();
  evaluation.over = evaluator.over() || evaluation.cost > cost_max;
  if (evaluation.over && !evaluation.value.IsError()) evaluation.value = Value::Error(kCostExceeded);
  return evaluation;
}

}  // namespace evenkeel::kube::cel
