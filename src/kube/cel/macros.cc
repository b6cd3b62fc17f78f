#include <optional>

#include "kube/cel/syntax.h"

namespace evenkeel::kube::cel {
namespace {

struct LoopMacro {
  std::string_view name;
  size_t arguments;
  Expr::Loop loop;
  int variables;
  bool filtered;  ///< the last but one of the arguments says what is kept
};

constexpr std::array kLoopMacros = {
    LoopMacro{"all", 2, Expr::Loop::kAll, 1, false},
    LoopMacro{"exists", 2, Expr::Loop::kExists, 1, false},
    LoopMacro{"exists_one", 2, Expr::Loop::kExistsOne, 1, false},
    LoopMacro{"existsOne", 2, Expr::Loop::kExistsOne, 1, false},
    LoopMacro{"map", 2, Expr::Loop::kMap, 1, false},
    LoopMacro{"map", 3, Expr::Loop::kMap, 1, true},
    LoopMacro{"filter", 2, Expr::Loop::kFilter, 1, false},
    LoopMacro{"sortBy", 2, Expr::Loop::kSortBy, 1, false},
    LoopMacro{"all", 3, Expr::Loop::kAll, 2, false},
    LoopMacro{"exists", 3, Expr::Loop::kExists, 2, false},
    LoopMacro{"existsOne", 3, Expr::Loop::kExistsOne, 2, false},
    LoopMacro{"transformList", 3, Expr::Loop::kTransformList, 2, false},
    LoopMacro{"transformList", 4, Expr::Loop::kTransformList, 2, true},
    LoopMacro{"transformMap", 3, Expr::Loop::kTransformMap, 2, false},
    LoopMacro{"transformMap", 4, Expr::Loop::kTransformMap, 2, true},
    LoopMacro{"transformMapEntry", 3, Expr::Loop::kTransformMapEntry, 2, false},
    LoopMacro{"transformMapEntry", 4, Expr::Loop::kTransformMapEntry, 2, true},
};

class Expander {
 public:
  Expander(Expr& call, const ParseOptions& options, Tree& tree, std::vector<Issue>& issues)
      : call_(call), options_(options), tree_(tree), issues_(issues) {}

  Expr* Run() {
    if (!options_.macros) return nullptr;
    if (!call_.member) return call_.name == "has" && call_.args.size() == 1 ? Has() : nullptr;
    if (Expr* const special = OfCel()) return special;
    const size_t arguments = call_.args.size() - 1;
    if (arguments == 2 && (call_.name == "optMap" || call_.name == "optFlatMap")) {
      return WithVariable(call_.name == "optMap" ? Expr::Kind::kOptMap : Expr::Kind::kOptFlatMap, call_.args[0], call_.args[1],
                          call_.args[2]);
    }
    for (const LoopMacro& macro : kLoopMacros) {
      if (macro.name != call_.name || macro.arguments != arguments) continue;
      if (!options_.two_variable_macros && (macro.variables == 2 || macro.name == "existsOne")) continue;
      return Loop(macro);
    }
    return nullptr;
  }

 private:
  Expr* Wrong(const Expr& at, std::string message) {
    issues_.push_back({at.offset, std::move(message)});
    return nullptr;
  }

  /// The name of a variable that a macro makes; nothing, with an issue, where the argument is none.
  std::optional<std::string> Variable(const Expr& argument) {
    if (argument.kind == Expr::Kind::kIdent && !argument.absolute) return argument.name;
    Wrong(argument, "argument must be a simple name");
    return std::nullopt;
  }

  Expr* Has() {
    Expr& argument = *call_.args[0];
    if (argument.kind != Expr::Kind::kSelect || argument.optional) return Wrong(argument, "invalid argument to has() macro");
    argument.test = true;
    return &argument;
  }

  Expr* OfCel() {
    const Expr& target = *call_.args[0];
    if (target.kind != Expr::Kind::kIdent || target.name != "cel") return nullptr;
    if (options_.bind_macro && call_.name == "bind" && call_.args.size() == 4)
      return WithVariable(Expr::Kind::kBind, call_.args[2], call_.args[1], call_.args[3]);
    if (!options_.block_macro) return nullptr;
    if (call_.name == "index" && call_.args.size() == 2) return Made("@index", {call_.args[1]});
    if ((call_.name == "iterVar" || call_.name == "accuVar") && call_.args.size() == 3)
      return Made("@" + call_.name, {call_.args[1], call_.args[2]});
    if (call_.name != "block" || call_.args.size() != 3 || call_.args[1]->kind != Expr::Kind::kList) return nullptr;
    Expr* body = call_.args[2];
    for (size_t i = call_.args[1]->args.size(); i-- > 0;) {
      Expr* const bind = tree_.New(Expr::Kind::kBind, call_.offset);
      bind->variables[0] = "@index" + std::to_string(i);
      bind->args = {call_.args[1]->args[i], body};
      bind->height = static_cast<uint16_t>(std::max(bind->args[0]->height, body->height) + 1);
      body = bind;
    }
    return body;
  }
  /// A name that no text can have, of numbers.
  Expr* Made(std::string name, std::initializer_list<Expr*> numbers) {
    for (const Expr* number : numbers) {
      if (number->kind != Expr::Kind::kConstant || !number->constant.Is(Kind::kInt)) return Wrong(*number, "not a number");
      name += (name.back() >= '0' && name.back() <= '9' ? ":" : "") + std::to_string(number->constant.int_value());
    }
    Expr* const ident = tree_.New(Expr::Kind::kIdent, call_.offset);
    ident->name = std::move(name);
    return ident;
  }

  Expr* WithVariable(Expr::Kind kind, Expr* value, const Expr* variable, Expr* body) {
    const std::optional<std::string> name = Variable(*variable);
    if (!name) return nullptr;
    Expr* const expr = tree_.New(kind, call_.offset);
    expr->variables[0] = *name;
    expr->args = {value, body};
    return expr;
  }

  Expr* Loop(const LoopMacro& macro) {
    Expr* const expr = tree_.New(Expr::Kind::kLoop, call_.offset);
    expr->loop = macro.loop;
    for (int i = 0; i < macro.variables; ++i) {
      const std::optional<std::string> name = Variable(*call_.args[static_cast<size_t>(i) + 1]);
      if (!name) return nullptr;
      expr->variables[i] = *name;
    }
    if (macro.variables == 2 && expr->variables[0] == expr->variables[1])
      return Wrong(*call_.args[2], "duplicate variable name: " + expr->variables[0]);
    expr->args = {call_.args[0], macro.filtered ? call_.args[call_.args.size() - 2] : nullptr, call_.args.back()};
    return expr;
  }

  Expr& call_;
  const ParseOptions& options_;
  Tree& tree_;
  std::vector<Issue>& issues_;
};

}  // namespace

Expr* ExpandMacro(Expr& call, const ParseOptions& options, Tree& tree, std::vector<Issue>& issues) {
  return Expander(call, options, tree, issues).Run();
}

}  // namespace evenkeel::kube::cel
