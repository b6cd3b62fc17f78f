// The Common Expression Language: Compile(expression, environment) gives a program or an error, program.Evaluate(activation)
// a value, which may be an error. A program is immutable and may be used by many threads at once. However an expression or its
// data look, both end: text, depth, cost and memory are bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/cel/library.h"
#include "kube/cel/syntax.h"
#include "kube/cel/type.h"
#include "kube/cel/value.h"

namespace evenkeel::kube::cel {

/// What may be charged at most: of one evaluation, and of all rules of one object. Source:
/// kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/apis/cel/config.go
inline constexpr uint64_t kCallCostMax = 1'000'000;
inline constexpr uint64_t kObjectCostMax = 10'000'000;

/// What an expression may name. Immutable once something is compiled with it.
class Environment {
 public:
  struct Options {
    std::string container;       ///< names are looked for in it and in what it is in
    bool checked = true;         ///< false: types are not looked at, and what is unknown fails when it is evaluated
    bool homogeneous = true;     ///< literals of lists and maps have items of one type
    bool check_literals = true;  ///< durations, timestamps, patterns and formats that are written out
    ParseOptions parse;
  };
  struct Variable {
    std::string name;
    const Type* type;
  };

  explicit Environment(std::shared_ptr<const Library> library);
  Environment(std::shared_ptr<const Library> library, Options options);

  /// The types of variables may be made here.
  TypePool& types() { return types_; }
  /// Its number.
  size_t Declare(std::string_view name, const Type* type);
  size_t Declare(std::string_view name, std::string_view type);

  const Library& library() const { return *library_; }
  const Options& options() const { return options_; }
  const std::vector<Variable>& variables() const { return variables_; }
  /// -1 where there is none.
  int FindVariable(std::string_view name) const;

 private:
  std::shared_ptr<const Library> library_;
  Options options_;
  TypePool types_;
  std::vector<Variable> variables_;
  std::map<std::string, int, std::less<>> numbers_;
};

/// What the variables of an environment are worth; those that were not set fail where they are used.
class Activation {
 public:
  explicit Activation(const Environment& environment)
      : values_(environment.variables().size(), Value::Error("no such attribute")) {}
  void Set(size_t variable, Value value) { values_[variable] = value; }
  std::span<const Value> values() const { return values_; }

 private:
  std::vector<Value> values_;
};

struct Evaluation {
  Value value;        ///< lives as long as the arena, the program and what was activated
  uint64_t cost = 0;  ///< as Kubernetes counts it
  bool over = false;  ///< the cost limit was met; `value` says so
};

struct CostEstimate {
  uint64_t min = 0, max = 0;
};

class Program {
 public:
  /// An error's message is what upstream says: "ERROR: <input>:1:5: undeclared reference to ...".
  static base::Result<std::shared_ptr<const Program>> Compile(std::string_view expression,
                                                              std::shared_ptr<const Environment> environment);

  Evaluation Evaluate(const Activation& activation, Arena& arena, uint64_t cost_max = kCallCostMax) const;
  /// The same of values in the order in which the environment declares them.
  Evaluation Evaluate(std::span<const Value> variables, Arena& arena, uint64_t cost_max = kCallCostMax) const;

  const std::string& text() const { return text_; }
  const Type& result_type() const { return *result_type_; }
  /// Whether the variable occurs.
  bool Mentions(size_t variable) const { return mentioned_[variable]; }
  const Expr& root() const { return *tree_.root; }

 private:
  explicit Program(std::string_view text, std::shared_ptr<const Environment> environment)
      : text_(text), environment_(std::move(environment)) {}

  std::string text_;
  std::shared_ptr<const Environment> environment_;
  Tree tree_;
  TypePool types_;
  const Type* result_type_ = nullptr;
  std::vector<bool> mentioned_;
  size_t slots_ = 0;
};

inline constexpr std::string_view kCostExceeded = "operation cancelled: actual cost limit exceeded";

/// Gives each node its type and its meaning; how many slots for variables of macros are needed. Issues where something is
/// wrong.
size_t Check(const Environment& environment, Tree& tree, TypePool& types, std::vector<Issue>& issues);

/// What a function costs with such arguments and such a result.
uint64_t CallCost(const Function& function, std::span<const Value> args, const Value& result);

/// Evaluates a checked tree.
Evaluation Run(const Expr& root, std::span<const Value> variables, size_t slots, Arena& arena, uint64_t cost_max);

}  // namespace evenkeel::kube::cel
