#include "kube/cel/cel.h"

namespace evenkeel::kube::cel {

Environment::Environment(std::shared_ptr<const Library> library) : Environment(std::move(library), {}) {}

Environment::Environment(std::shared_ptr<const Library> library, Options options)
    : library_(std::move(library)), options_(std::move(options)) {}

size_t Environment::Declare(std::string_view name, const Type* type) {
  variables_.push_back({std::string(name), type});
  numbers_[std::string(name)] = static_cast<int>(variables_.size()) - 1;
  return variables_.size() - 1;
}

size_t Environment::Declare(std::string_view name, std::string_view type) {
  const Type* const parsed = types_.Parse(type);
  return Declare(name, parsed == nullptr ? &types::kDyn : parsed);
}

int Environment::FindVariable(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? -1 : found->second;
}

base::Result<std::shared_ptr<const Program>> Program::Compile(std::string_view expression,
                                                              std::shared_ptr<const Environment> environment) {
  std::shared_ptr<Program> program(new Program(expression, std::move(environment)));
  std::vector<Issue> issues;
  if (Parse(program->text_, program->environment_->options().parse, program->tree_, issues))
    program->slots_ = Check(*program->environment_, program->tree_, program->types_, issues);
  if (!issues.empty()) return base::Fail(base::Code::kInvalid, IssuesText(expression, issues));
  program->result_type_ = program->tree_.root->type;
  program->mentioned_.resize(program->environment_->variables().size());
  for (const Expr& node : program->tree_.nodes)
    if (node.kind == Expr::Kind::kVariable) program->mentioned_[static_cast<size_t>(node.slot)] = true;
  return program;
}

Evaluation Program::Evaluate(const Activation& activation, Arena& arena, uint64_t cost_max) const {
  return Evaluate(activation.values(), arena, cost_max);
}

Evaluation Program::Evaluate(std::span<const Value> variables, Arena& arena, uint64_t cost_max) const {
  return Run(*tree_.root, variables, slots_, arena, cost_max);
}

}  // namespace evenkeel::kube::cel
