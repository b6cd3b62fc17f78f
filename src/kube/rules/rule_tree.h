// The rules of a schema, node by node.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "kube/cel/cel.h"
#include "kube/cel/shape.h"
#include "kube/field_path.h"

namespace evenkeel::kube::cel {

struct SchemaRule {
  std::string rule, message, reason;
  std::vector<std::pair<std::string, bool>> field_path;  ///< names, and whether they are keys of a map
  bool optional_old = false;
  bool transition = false;                            ///< it names oldSelf
  std::shared_ptr<const Program> program;             ///< null where it does not compile
  std::shared_ptr<const Program> message_expression;  ///< null where there is none
};

struct RuleNode {
  std::vector<SchemaRule> rules;
  const Shape* shape = nullptr;  ///< null where expressions see nothing of it
  std::map<std::string, std::unique_ptr<RuleNode>, std::less<>> properties;
  std::unique_ptr<RuleNode> items, additional;
  std::vector<std::string> keys;  ///< of a list of type map; empty: its items have no counterparts
};

/// Owns a tree and what it is typed with.
struct RuleTree {
  TypePool types;
  Shapes shapes;
  std::unique_ptr<RuleNode> root;  ///< null where there is no rule
};

/// `causes`: what is wrong is told there, if not null; `path` is the schema's.
std::unique_ptr<RuleTree> CompileRules(const base::JsonObject& open_api, const FieldPath& path,
                                       std::vector<base::Cause>* causes);

}  // namespace evenkeel::kube::cel
