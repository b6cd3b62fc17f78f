// Expressions as trees: from text, with macros as nodes of their own.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "kube/cel/type.h"
#include "kube/cel/value.h"

namespace evenkeel::kube::cel {

struct Function;
struct Overload;

struct Expr {
  enum class Kind : uint8_t {
    kConstant,
    kIdent,   ///< `name`; becomes kVariable, kLocal or kConstant when it is checked
    kSelect,  ///< `args[0].name`; `optional`: .?name; `test`: of has()
    kCall,    ///< `args`, of which the first is the target where `member`
    kList,    ///< `args`; those in `optional_args` are left out where they are none
    kMap,     ///< keys and values in turns
    kStruct,  ///< `name{...}`: no environment of ours has one
    kAnd,     ///< of two or more
    kOr,
    kConditional,
    kLoop,    ///< a macro over `args[0]`; see Loop
    kBind,    ///< the first variable is args[0] in args[1]
    kOptMap,  ///< the first variable is what the optional args[0] has, in args[1]
    kOptFlatMap,
    kVariable,  ///< number `slot` of the environment
    kLocal,     ///< of a macro, in `slot`
    kFailure,   ///< `constant` is the error: what is not known, where nothing was checked
  };
  /// args: the range, what is kept or null, and what is made of it.
  enum class Loop : uint8_t {
    kAll,
    kExists,
    kExistsOne,
    kMap,
    kFilter,
    kTransformList,
    kTransformMap,
    kTransformMapEntry,
    kSortBy
  };

  Kind kind = Kind::kConstant;
  Loop loop = Loop::kAll;
  bool member = false;
  bool optional = false;
  bool test = false;
  bool absolute = false;  ///< a name that begins with a dot
  bool quoted = false;    ///< a field's name in backticks
  uint16_t height = 1;
  uint32_t offset = 0;  ///< in code points
  int slot = -1;        ///< of kLoop, kBind and the like: where their first variable is
  std::string name{};
  std::string variables[2]{};
  std::vector<Expr*> args{};
  std::vector<bool> optional_args{};
  Value constant{};

  // From the checker.
  const Type* type = nullptr;
  const Function* function = nullptr;
  std::vector<const Overload*> overloads{};  ///< those that may be meant
  uint64_t folded_cost = 0;                  ///< what a call has cost that is a constant now
};

/// Where something is wrong, and what.
struct Issue {
  uint32_t offset = 0;
  std::string message;
};

/// Owns the nodes of one expression.
struct Tree {
  std::deque<Expr> nodes;
  Arena constants;
  Expr* root = nullptr;

  Expr* New(Expr::Kind kind, uint32_t offset) {
    Expr& node = nodes.emplace_back();
    node.kind = kind;
    node.offset = offset;
    return &node;
  }
};

struct ParseOptions {
  bool macros = true;
  bool two_variable_macros = true;
  bool bind_macro = false;
  bool block_macro = false;  ///< cel.block, cel.index, cel.iterVar: what optimisers write
};

inline constexpr size_t kCodePointsMax = 100'000;
inline constexpr uint16_t kHeightMax = 250;

/// False where it does not parse; `issues` says why.
bool Parse(std::string_view text, const ParseOptions& options, Tree& tree, std::vector<Issue>& issues);
/// Issues as upstream prints them: "ERROR: <input>:1:5: ...", the line and a mark below it.
std::string IssuesText(std::string_view text, const std::vector<Issue>& issues);
/// "a.b.c" where the expression is that name alone; empty for another.
std::string QualifiedName(const Expr& expr);

/// Makes a node of a call that is a macro. Null where it is none; an issue where it is wrongly used.
Expr* ExpandMacro(Expr& call, const ParseOptions& options, Tree& tree, std::vector<Issue>& issues);

enum class Token : uint8_t {
  kEnd,
  kIdent,
  kQuotedIdent,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kOperator,
  kBad,
};

struct Lexeme {
  Token token = Token::kEnd;
  uint32_t offset = 0;  ///< in code points
  std::string_view text;
};

/// The tokens, the last of which is kEnd; kBad with an issue where there are none.
std::vector<Lexeme> Tokenize(std::string_view text, std::vector<Issue>& issues);
/// The value of a token of a string or bytes; an issue where an escape is wrong.
bool ReadText(const Lexeme& lexeme, std::string& out, std::string& problem);

}  // namespace evenkeel::kube::cel
