// Which types agree, while parameters find what they stand for. Follows: cel-go@v0.26.0 checker/types.go
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>

#include "kube/cel/type.h"

namespace evenkeel::kube::cel {

/// The parameters of one use of a signature.
using Instance = std::map<std::string, const Type*>;

class TypeRelations {
 public:
  explicit TypeRelations(TypePool& types) : types_(types) {}

  const Type* NewParameter() { return types_.Parameter("_var" + std::to_string(made_++)); }
  Instance NewInstance() const { return {}; }
  /// The type with parameters that nobody else has.
  const Type* Instantiate(const Type* type, Instance& instance);

  /// Whether a value of the one type may be where the other is expected; if so, parameters of both now stand for that.
  bool Assignable(const Type* a, const Type* b);
  /// All of them, or none.
  bool AllAssignable(std::span<const Type* const> a, std::span<const Type* const> b);
  bool AllAssignable(std::span<const Type* const> a, std::initializer_list<const Type*> b) {
    return AllAssignable(a, std::span<const Type* const>(b.begin(), b.size()));
  }
  /// The type with what is known of its parameters; what is not known is dyn where `dynamic`.
  const Type* Settled(const Type* type, bool dynamic);

  static const Type* MostGeneral(const Type* a, const Type* b);

 private:
  bool Agree(const Type* a, const Type* b);
  bool Substitute(const Type* type, const Type* parameter, bool& had);
  bool Mentions(const Type* type, const Type* parameter) const;
  const Type* Find(const Type* parameter) const;

  TypePool& types_;
  std::map<std::string, const Type*> known_;
  size_t made_ = 0;
};

}  // namespace evenkeel::kube::cel
