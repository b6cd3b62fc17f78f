// The type checker. Follows: cel-go@v0.26.0 checker/checker.go, checker/types.go
#include "base/pattern.h"
#include "kube/cel/cel.h"
#include "kube/cel/shape.h"
#include "kube/cel/type_relations.h"

namespace evenkeel::kube::cel {
namespace {

class Checker {
 public:
  Checker(const Environment& environment, Tree& tree, TypePool& types, std::vector<Issue>& issues)
      : environment_(environment),
        options_(environment.options()),
        tree_(tree),
        types_(types),
        issues_(issues),
        relations_(types) {}

  size_t Run() {
    CheckExpr(*tree_.root);
    for (Expr& node : tree_.nodes)
      if (node.type != nullptr) node.type = relations_.Settled(node.type, true);
    return static_cast<size_t>(slots_max_);
  }

 private:
  struct Local {
    std::string name;
    const Type* type;
    int slot;
  };

  const Type* Wrong(const Expr& at, std::string message) {
    if (options_.checked) issues_.push_back({at.offset, std::move(message)});
    return options_.checked ? &types::kError : &types::kDyn;
  }

  const Type* CheckExpr(Expr& expr) { return expr.type = TypeOf(expr); }

  const Type* TypeOf(Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::kConstant:
        return types::Of(expr.constant);
      case Expr::Kind::kIdent:
        return Ident(expr);
      case Expr::Kind::kSelect:
        return Select(expr);
      case Expr::Kind::kCall:
        return Called(expr);
      case Expr::Kind::kList:
        return ListOf(expr);
      case Expr::Kind::kMap:
        return MapOf(expr);
      case Expr::Kind::kAnd:
      case Expr::Kind::kOr:
        return Logical(expr);
      case Expr::Kind::kConditional:
        return Conditional(expr);
      case Expr::Kind::kLoop:
        return Loop(expr);
      case Expr::Kind::kBind:
      case Expr::Kind::kOptMap:
      case Expr::Kind::kOptFlatMap:
        return Bind(expr);
      case Expr::Kind::kStruct:
        Fail(expr, Undeclared(expr.name));
        return Wrong(expr, Undeclared(expr.name));
      default:
        return &types::kDyn;
    }
  }

  std::string Undeclared(std::string_view name) const {
    return fmt::format("undeclared reference to '{}' (in container '{}')", name, options_.container);
  }
  /// What is not known fails where it is evaluated.
  void Fail(Expr& expr, std::string_view message) {
    expr.kind = Expr::Kind::kFailure;
    expr.constant = MakeError(tree_.constants, message);
  }

  const Local* FindLocal(std::string_view name) const {
    const auto found = std::find_if(locals_.rbegin(), locals_.rend(), [&](const Local& local) { return local.name == name; });
    return found == locals_.rend() ? nullptr : &*found;
  }

  /// The names that one may stand for, the longest first.
  std::vector<std::string> Candidates(std::string_view name) const {
    if (name.starts_with('.')) return {std::string(name.substr(1))};
    std::vector<std::string> candidates;
    std::string_view container = options_.container;
    while (!container.empty()) {
      candidates.push_back(fmt::format("{}.{}", container, name));
      const size_t dot = container.rfind('.');
      container = container.substr(0, dot == std::string_view::npos ? 0 : dot);
    }
    candidates.emplace_back(name);
    return candidates;
  }

  /// A variable or the name of a type; null, with nothing done, where the name is neither.
  const Type* Resolve(Expr& expr, std::string_view name) {
    for (const std::string& candidate : Candidates(name)) {
      if (const int variable = environment_.FindVariable(candidate); variable >= 0) {
        expr.kind = Expr::Kind::kVariable;
        expr.slot = variable;
        return environment_.variables()[static_cast<size_t>(variable)].type;
      }
      const Type* const type = types::Named(candidate);
      if (type == nullptr || candidate != type->name || type == &types::kDyn) continue;
      expr.kind = Expr::Kind::kConstant;
      expr.constant = Value::Of(type);
      return types_.TypeOf(type);
    }
    return nullptr;
  }

  const Type* Ident(Expr& expr) {
    if (const Local* const local = expr.absolute ? nullptr : FindLocal(expr.name); local != nullptr) {
      expr.kind = Expr::Kind::kLocal;
      expr.slot = local->slot;
      return local->type;
    }
    if (const Type* const type = Resolve(expr, (expr.absolute ? "." : "") + expr.name)) return type;
    Fail(expr, Undeclared(expr.name));
    return Wrong(expr, Undeclared(expr.name));
  }

  /// Whether the first part of a qualified name is a variable of a macro, which goes before all others.
  bool BeginsWithLocal(std::string_view qualified) const {
    return !qualified.starts_with('.') && FindLocal(qualified.substr(0, qualified.find('.'))) != nullptr;
  }

  const Type* Select(Expr& expr) {
    if (const std::string qualified = QualifiedName(expr); !qualified.empty() && !BeginsWithLocal(qualified))
      if (const Type* const type = Resolve(expr, qualified)) return type;
    const Type* target = relations_.Settled(CheckExpr(*expr.args[0]), false);
    const bool wrapped = target->IsOptional();
    const Type* result = FieldOf(expr, wrapped ? relations_.Settled(target->parameters[0], false) : target);
    if (expr.test) return &types::kBool;
    return wrapped || expr.optional ? types_.Optional(result) : result;
  }

  const Type* FieldOf(Expr& expr, const Type* target) {
    switch (target->kind) {
      case Type::Kind::kDyn:
      case Type::Kind::kError:
        return &types::kDyn;
      case Type::Kind::kParameter:
        relations_.Assignable(&types::kDyn, target);
        return &types::kDyn;
      case Type::Kind::kMap:
        return target->parameters[1];
      case Type::Kind::kObject: {
        const auto found = target->shape->fields.find(expr.name);
        if (found == target->shape->fields.end() || expr.quoted)
          return Wrong(expr, fmt::format("undefined field '{}'", expr.name));
        expr.name = found->second.json;
        return found->second.shape->type;
      }
      default:
        return Wrong(expr, fmt::format("type '{}' does not support field selection", ToText(*target)));
    }
  }

  std::string Signature(const Expr& expr, std::span<const Type* const> types) {
    std::string text;
    for (size_t i = 0; i < types.size(); ++i) {
      const std::string type = ToText(*relations_.Settled(types[i], true));
      const bool target = expr.member && i == 0;
      text += target ? type + ".(" : (i > (expr.member ? 1 : 0) ? ", " : "") + type;
    }
    return expr.member ? text + ")" : "(" + text + ")";
  }
  const Type* NoOverload(const Expr& expr, std::string_view name, std::span<const Type* const> types) {
    return Wrong(expr, fmt::format("found no matching overload for '{}' applied to '{}'", name, Signature(expr, types)));
  }

  const Type* Called(Expr& expr) {
    const Function* function = Qualified(expr);
    std::vector<const Type*> arguments;
    const int format = expr.member && expr.name == "format" ? 1 : 0;
    within_format_ += format;
    for (Expr* arg : expr.args) arguments.push_back(CheckExpr(*arg));
    within_format_ -= format;
    if (function == nullptr) function = FindFunction(expr.name, expr.absolute);
    if (function == nullptr) {
      Fail(expr, fmt::format("unbound function: {}", expr.name));
      return Wrong(expr, Undeclared(expr.name));
    }
    expr.function = function;
    const Type* const result = options_.checked ? Overloaded(expr, *function, arguments) : Unchecked(expr, *function);
    if (options_.check_literals && options_.checked) CheckLiterals(expr);
    if (function->foldable) Fold(expr);
    return result;
  }

  const Function* FindFunction(std::string_view name, bool absolute) const {
    for (const std::string& candidate : Candidates((absolute ? "." : "") + std::string(name)))
      if (const Function* const function = environment_.library().Find(candidate)) return function;
    return nullptr;
  }

  /// The function that `a.b.c(x)` names; null where `a.b` is a value.
  const Function* Qualified(Expr& expr) {
    if (!expr.member) return nullptr;
    const std::string target = QualifiedName(*expr.args[0]);
    if (target.empty() || BeginsWithLocal(target)) return nullptr;
    const Function* const function = FindFunction(target + "." + expr.name, false);
    if (function == nullptr) return nullptr;
    expr.member = false;
    expr.name = function->name;
    expr.args.erase(expr.args.begin());
    return function;
  }

  const Type* Unchecked(Expr& expr, const Function& function) {
    for (const Overload& overload : function.overloads)
      if (overload.member == expr.member) expr.overloads.push_back(&overload);
    return &types::kDyn;
  }

  const Type* Overloaded(Expr& expr, const Function& function, const std::vector<const Type*>& arguments) {
    const Type* result = nullptr;
    for (const Overload& overload : function.overloads) {
      if (overload.member != expr.member || overload.parameters.size() != arguments.size()) continue;
      Instance fresh = relations_.NewInstance();
      std::vector<const Type*> parameters;
      for (const Type* parameter : overload.parameters) parameters.push_back(relations_.Instantiate(parameter, fresh));
      if (!relations_.AllAssignable(arguments, parameters)) continue;
      expr.overloads.push_back(&overload);
      const Type* const made = relations_.Settled(relations_.Instantiate(overload.result, fresh), false);
      result = result == nullptr || SameType(*result, *made) ? made : &types::kDyn;
    }
    return result != nullptr ? result : NoOverload(expr, function.name, arguments);
  }

  /// What can be said of arguments that are written out.
  void CheckLiterals(const Expr& expr) {
    if (expr.overloads.empty() || expr.args.empty()) return;
    const Expr& last = *expr.args.back();
    if (expr.name == "duration" || expr.name == "timestamp") {
      if (last.kind != Expr::Kind::kConstant) return;
      if (expr.function->overloads[0].run({tree_.constants, {&last.constant, 1}}).IsError())
        Wrong(last, fmt::format("invalid {} argument", expr.name));
      return;
    }
    const bool find = expr.name == "find" || expr.name == "findAll";
    if ((find || expr.name == "matches") && expr.args.size() >= 2) {
      const Expr& pattern = *expr.args[1];
      if (pattern.kind != Expr::Kind::kConstant || !pattern.constant.Is(Kind::kString)) return;
      const auto compiled = base::Pattern::Parse(pattern.constant.text());
      if (!compiled)
        Wrong(pattern, find ? "program instantiation failed: " + compiled.error().message() : "invalid matches argument");
      return;
    }
    if (expr.name == "format" && expr.args.size() == 2 && expr.args[0]->kind == Expr::Kind::kConstant &&
        last.kind == Expr::Kind::kList) {
      std::vector<const Type*> items;
      for (const Expr* item : last.args) items.push_back(relations_.Settled(item->type, true));
      if (std::string problem = CheckFormatText(expr.args[0]->constant.text(), items); !problem.empty())
        Wrong(last, std::move(problem));
    }
  }

  /// A value that is always the same is made once.
  void Fold(Expr& expr) {
    std::vector<Value> args;
    for (const Expr* arg : expr.args) {
      if (arg->kind != Expr::Kind::kConstant) return;
      args.push_back(arg->constant);
    }
    if (expr.overloads.empty()) return;
    for (const Overload* overload : expr.overloads) {
      bool fits = overload->parameters.size() == args.size();
      for (size_t i = 0; fits && i < args.size(); ++i)
        fits = (overload->parameters[i]->mask >> static_cast<unsigned>(args[i].kind()) & 1U) != 0;
      if (!fits) continue;
      const Value value = overload->run({tree_.constants, args});
      if (value.IsError()) return;
      expr.folded_cost = CallCost(*expr.function, args, value);
      expr.kind = Expr::Kind::kConstant;
      expr.constant = value;
      return;
    }
  }

  /// The common type of two items, and what a list of both has; an issue where they must be alike.
  const Type* Joined(const Type* previous, const Type* current, const Expr& at) {
    if (previous == nullptr) return current;
    if (relations_.Assignable(previous, current)) return TypeRelations::MostGeneral(previous, current);
    if (!options_.homogeneous || !options_.checked || within_format_ > 0) return &types::kDyn;
    return Wrong(at, fmt::format("expected type '{}' but found '{}'", ToText(*relations_.Settled(previous, true)),
                                 ToText(*relations_.Settled(current, true))));
  }

  /// What an optional item adds.
  const Type* ItemType(Expr& item, bool optional) {
    const Type* const type = CheckExpr(item);
    if (!optional || !options_.checked) return optional ? &types::kDyn : type;
    const Type* const settled = relations_.Settled(type, false);
    if (settled->IsOptional()) return settled->parameters[0];
    if (settled->kind == Type::Kind::kDyn || settled->kind == Type::Kind::kError) return &types::kDyn;
    return Wrong(item, fmt::format("expected type 'optional_type({0})' but found '{0}'", ToText(*settled)));
  }

  const Type* ListOf(Expr& expr) {
    const Type* item = nullptr;
    for (size_t i = 0; i < expr.args.size(); ++i)
      item = Joined(item, ItemType(*expr.args[i], expr.optional_args[i]), *expr.args[i]);
    return types_.List(item != nullptr ? item : relations_.NewParameter());
  }

  const Type* MapOf(Expr& expr) {
    const Type *key = nullptr, *value = nullptr;
    for (size_t i = 0; i < expr.args.size(); i += 2) {
      key = Joined(key, CheckExpr(*expr.args[i]), *expr.args[i]);
      value = Joined(value, ItemType(*expr.args[i + 1], expr.optional_args[i / 2]), *expr.args[i + 1]);
    }
    return types_.Map(key != nullptr ? key : relations_.NewParameter(), value != nullptr ? value : relations_.NewParameter());
  }

  const Type* Logical(Expr& expr) {
    std::vector<const Type*> types;
    bool fits = true;
    for (Expr* arg : expr.args) {
      types.push_back(CheckExpr(*arg));
      fits = relations_.Assignable(&types::kBool, types.back()) && fits;
    }
    if (!fits && options_.checked) return NoOverload(expr, expr.kind == Expr::Kind::kAnd ? "_&&_" : "_||_", types);
    return &types::kBool;
  }

  const Type* Conditional(Expr& expr) {
    std::vector<const Type*> types;
    for (Expr* arg : expr.args) types.push_back(CheckExpr(*arg));
    if (!options_.checked) return &types::kDyn;
    const Type* const both = relations_.NewParameter();
    if (!relations_.AllAssignable(types, {&types::kBool, both, both})) return NoOverload(expr, "_?_:_", types);
    return relations_.Settled(both, false);
  }

  /// `body` with a variable more.
  const Type* Within(std::initializer_list<Local> locals, Expr& body) {
    locals_.insert(locals_.end(), locals);
    const Type* const type = CheckExpr(body);
    locals_.resize(locals_.size() - locals.size());
    return type;
  }
  int NewSlots(int count) {
    const int first = slots_;
    slots_ += count;
    slots_max_ = std::max(slots_max_, slots_);
    return first;
  }

  const Type* Bind(Expr& expr) {
    const Type* value = CheckExpr(*expr.args[0]);
    const bool optional = expr.kind != Expr::Kind::kBind;
    if (optional) {
      const Type* const inner = relations_.NewParameter();
      if (options_.checked && !relations_.Assignable(types_.Optional(inner), value)) {
        const Type* const types[] = {value};
        return Wrong(expr, fmt::format("found no matching overload for 'hasValue' applied to '{}.()'",
                                       ToText(*relations_.Settled(types[0], true))));
      }
      value = relations_.Settled(inner, false);
    }
    expr.slot = NewSlots(1);
    const Type* const body = Within({{expr.variables[0], value, expr.slot}}, *expr.args[1]);
    --slots_;
    if (expr.kind != Expr::Kind::kOptFlatMap) return optional ? types_.Optional(body) : body;
    const Type* const made = types_.Optional(relations_.NewParameter());
    if (options_.checked && !relations_.Assignable(made, body))
      return Wrong(expr, fmt::format("found no matching overload for '_?_:_' applied to '(bool, {}, optional_type(dyn))'",
                                     ToText(*relations_.Settled(body, true))));
    return relations_.Settled(made, false);
  }

  /// What the variables of a loop are; false, with an issue, where there is nothing to go over.
  bool RangeTypes(const Expr& expr, const Type*& first, const Type*& second) {
    const bool two = !expr.variables[1].empty();
    const Type* const range = relations_.Settled(expr.args[0]->type, false);
    switch (range->kind) {
      case Type::Kind::kList:
        first = two ? &types::kInt : range->parameters[0];
        second = range->parameters[0];
        return true;
      case Type::Kind::kMap:
        first = range->parameters[0];
        second = range->parameters[1];
        return true;
      case Type::Kind::kParameter:
        relations_.Assignable(&types::kDyn, range);
        [[fallthrough]];
      case Type::Kind::kDyn:
      case Type::Kind::kError:
        first = second = &types::kDyn;
        return true;
      default:
        Wrong(*expr.args[0],
              fmt::format("expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                          ToText(*range)));
        first = second = &types::kDyn;
        return !options_.checked;
    }
  }

  const Type* Loop(Expr& expr) {
    CheckExpr(*expr.args[0]);
    const Type *first = nullptr, *second = nullptr;
    if (!RangeTypes(expr, first, second)) return &types::kError;
    const int count = expr.variables[1].empty() ? 1 : 2;
    expr.slot = NewSlots(count);
    const auto within = [&](Expr& body) {
      if (count == 1) return Within({{expr.variables[0], first, expr.slot}}, body);
      return Within({{expr.variables[0], first, expr.slot}, {expr.variables[1], second, expr.slot + 1}}, body);
    };
    if (expr.args[1] != nullptr) MustBeBool(*expr.args[1], within(*expr.args[1]), "_?_:_");
    const Type* const body = within(*expr.args[2]);
    slots_ -= count;
    return LoopResult(expr, first, body);
  }

  void MustBeBool(const Expr& expr, const Type* type, std::string_view function) {
    if (!options_.checked || relations_.Assignable(&types::kBool, type)) return;
    Wrong(expr, fmt::format("found no matching overload for '{}' applied to '(bool, {})'", function,
                            ToText(*relations_.Settled(type, true))));
  }

  const Type* LoopResult(const Expr& expr, const Type* first, const Type* body) {
    switch (expr.loop) {
      case Expr::Loop::kAll:
        MustBeBool(*expr.args[2], body, "_&&_");
        return &types::kBool;
      case Expr::Loop::kExists:
        MustBeBool(*expr.args[2], body, "_||_");
        return &types::kBool;
      case Expr::Loop::kExistsOne:
        MustBeBool(*expr.args[2], body, "_?_:_");
        return &types::kBool;
      case Expr::Loop::kFilter:
        MustBeBool(*expr.args[2], body, "_?_:_");
        return types_.List(first);
      case Expr::Loop::kTransformMap:
        return types_.Map(first, body);
      case Expr::Loop::kTransformMapEntry: {
        const Type* const made = types_.Map(relations_.NewParameter(), relations_.NewParameter());
        if (options_.checked && !relations_.Assignable(made, body))
          return Wrong(*expr.args[2],
                       fmt::format("expected a map of one entry, but found '{}'", ToText(*relations_.Settled(body, true))));
        return relations_.Settled(made, false);
      }
      case Expr::Loop::kSortBy: {
        constexpr uint32_t kOrdered =
            (1U << static_cast<unsigned>(Kind::kBool)) | (1U << static_cast<unsigned>(Kind::kInt)) |
            (1U << static_cast<unsigned>(Kind::kUint)) | (1U << static_cast<unsigned>(Kind::kDouble)) |
            (1U << static_cast<unsigned>(Kind::kString)) | (1U << static_cast<unsigned>(Kind::kBytes)) |
            (1U << static_cast<unsigned>(Kind::kTimestamp)) | (1U << static_cast<unsigned>(Kind::kDuration));
        const Type* const key = relations_.Settled(body, true);
        if ((key->mask & kOrdered) == 0 && key->kind != Type::Kind::kError)
          Wrong(*expr.args[2],
                fmt::format("found no matching overload for '@sortByAssociatedKeys' applied to 'list({})'", ToText(*key)));
        return types_.List(first);
      }
      default:
        return types_.List(body);
    }
  }

  const Environment& environment_;
  const Environment::Options& options_;
  Tree& tree_;
  TypePool& types_;
  std::vector<Issue>& issues_;
  TypeRelations relations_;
  std::vector<Local> locals_;
  int slots_ = 0, slots_max_ = 0;
  int within_format_ = 0;  ///< whose arguments may be of any types
};

}  // namespace

size_t Check(const Environment& environment, Tree& tree, TypePool& types, std::vector<Issue>& issues) {
  return Checker(environment, tree, types, issues).Run();
}

}  // namespace evenkeel::kube::cel
