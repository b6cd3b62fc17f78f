// Placement constraints: `NodeType == Web && (ssd == 1 || !(Rack ^ r1))`, parsed once and asked of many nodes.
//
//   weakest to strongest:  ||   &&   == != >= <= > < ^ !^ ^P !^P ~   !      and parentheses
//
// To the left of a comparison stands the name of a node property, to the right a literal without quotes; both may contain
// anything but an operator, spaces around them do not count. Two numbers compare as numbers, two URIs (fd:/a/b) by segments,
// other texts by their bytes; < <= > >= want two numbers, ^ (begins with) and !^ two texts or URIs. A comparison that cannot be
// made, because the node lacks the property or the texts are of the wrong type, makes the node unsuitable whatever the rest of
// the expression says, also under || and !. Empty text suits every node.
//
// ^P and !^P are for primaries only: asking for primaries evaluates these and takes every other comparison for true, asking
// for all replicas does the reverse. Two terms are no comparisons but instructions, true on every node: `FDPolicy ~ Packing |
// Nonpacking | Ignore` and `PlacePolicy ~ NonPartially`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace evenkeel::balancing {

/// The properties of one node.
class PropertySource {
 public:
  virtual ~PropertySource() = default;
  /// Null when the node has no property of that name.
  virtual const std::string* Find(std::string_view name) const = 0;
};

enum class FaultDomainPolicy : uint8_t { kDefault, kPacking, kNonpacking, kIgnore };

enum class ConstraintPart {
  kEveryReplica,  ///< what any replica needs of a node
  kPrimaryOnly,   ///< what a primary needs besides
};

class Expression {
 public:
  enum class Operator : uint8_t { kEqual, kNotEqual, kAtLeast, kAtMost, kLess, kGreater, kPrefix, kNotPrefix, kPolicy };
  enum class Kind : uint8_t { kTrue, kFalse, kOr, kAnd, kNot, kCompare };

  /// One node of the tree; children stand before their parent, the root is last.
  struct Term {
    Kind kind = Kind::kTrue;
    Operator comparison = Operator::kEqual;
    bool primary_only = false;
    uint32_t left = 0, right = 0;  ///< indexes of the operands; Not has only `left`
    std::string name{}, literal{};
    bool operator==(const Term&) const = default;
  };

  /// Suits every node.
  Expression();

  /// kBadRequest: "column 7: what is wrong", counted in bytes from 1. `true` and `false` are constants; any other word that is
  /// not compared with anything is an error, as is nesting deeper than 100.
  static base::Result<Expression> Parse(std::string_view text);

  bool Suits(const PropertySource& node, ConstraintPart part) const;
  /// Why a node does not suit, one clause: "ssd is 0, not == 1", "the node has no property ssd". Empty when it suits.
  std::string WhyNot(const PropertySource& node, ConstraintPart part) const;

  bool IsTrue() const { return terms_.back().kind == Kind::kTrue; }
  /// Whether there is a ^P or !^P: else every node suits kPrimaryOnly.
  bool HasPrimaryPart() const { return has_primary_part_; }
  /// Of several policies the leftmost counts.
  FaultDomainPolicy fault_domain_policy() const { return fault_domain_policy_; }
  bool non_partially() const { return non_partially_; }
  /// Names of the properties that are compared, sorted, each once.
  std::vector<std::string> PropertyNames() const;

  /// The same expression with single spaces and no needless parentheses; parses back to an equal one.
  std::string ToText() const;
  const std::vector<Term>& terms() const { return terms_; }
  bool operator==(const Expression& other) const { return terms_ == other.terms_; }

 private:
  friend class ExpressionParser;
  std::vector<Term> terms_;
  bool has_primary_part_ = false;
  bool non_partially_ = false;
  FaultDomainPolicy fault_domain_policy_ = FaultDomainPolicy::kDefault;
};

/// Names that contain '-': Service Fabric never matches them, without saying so. One sentence for people, empty when there are
/// none.
std::string HyphenHint(const Expression& expression);

/// "/dc0/r1/" or "fd:/dc0/r1" as {"dc0", "r1"}.
std::vector<std::string> DomainSegments(std::string_view uri);

}  // namespace evenkeel::balancing
