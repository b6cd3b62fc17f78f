#include "kube/cel/type_relations.h"

namespace evenkeel::kube::cel {
namespace {

bool IsAnything(const Type& type) { return type.kind == Type::Kind::kDyn || type.kind == Type::Kind::kError; }

bool IsEqualOrMoreGeneral(const Type& a, const Type& b) {
  if (IsAnything(a) || a.kind == Type::Kind::kParameter) return true;
  if (IsAnything(b) || b.kind == Type::Kind::kParameter) return false;
  if (a.kind != b.kind || a.name != b.name || a.parameters.size() != b.parameters.size()) return false;
  if (a.kind == Type::Kind::kType) return true;
  for (size_t i = 0; i < a.parameters.size(); ++i)
    if (!IsEqualOrMoreGeneral(*a.parameters[i], *b.parameters[i])) return false;
  return true;
}

/// What null may stand for.
bool IsNullable(const Type& type) {
  switch (type.kind) {
    case Type::Kind::kNull:
    case Type::Kind::kTimestamp:
    case Type::Kind::kDuration:
    case Type::Kind::kObject:
    case Type::Kind::kOpaque:
      return true;
    default:
      return false;
  }
}

}  // namespace

const Type* TypeRelations::Instantiate(const Type* type, Instance& instance) {
  if (type->kind == Type::Kind::kParameter) {
    const Type*& fresh = instance[type->name];
    if (fresh == nullptr) fresh = NewParameter();
    return fresh;
  }
  if (type->parameters.empty()) return type;
  std::vector<const Type*> parameters;
  bool changed = false;
  for (const Type* parameter : type->parameters) {
    parameters.push_back(Instantiate(parameter, instance));
    changed = changed || parameters.back() != parameter;
  }
  return changed ? types_.With(*type, std::move(parameters)) : type;
}

const Type* TypeRelations::Find(const Type* parameter) const {
  const auto found = known_.find(parameter->name);
  return found == known_.end() ? nullptr : found->second;
}

const Type* TypeRelations::Settled(const Type* type, bool dynamic) {
  if (type->kind == Type::Kind::kParameter) {
    const Type* const known = Find(type);
    if (known != nullptr) return Settled(known, dynamic);
    return dynamic ? &types::kDyn : type;
  }
  if (type->parameters.empty()) return type;
  std::vector<const Type*> parameters;
  bool changed = false;
  for (const Type* parameter : type->parameters) {
    parameters.push_back(Settled(parameter, dynamic));
    changed = changed || parameters.back() != parameter;
  }
  return changed ? types_.With(*type, std::move(parameters)) : type;
}

const Type* TypeRelations::MostGeneral(const Type* a, const Type* b) { return IsEqualOrMoreGeneral(*a, *b) ? a : b; }

bool TypeRelations::Mentions(const Type* type, const Type* parameter) const {
  if (type->kind == Type::Kind::kParameter) {
    if (type->name == parameter->name) return true;
    const Type* const known = Find(type);
    return known != nullptr && Mentions(known, parameter);
  }
  return std::ranges::any_of(type->parameters, [&](const Type* inner) { return Mentions(inner, parameter); });
}

bool TypeRelations::Substitute(const Type* type, const Type* parameter, bool& had) {
  had = true;
  if (type->kind == Type::Kind::kParameter && type->name == parameter->name) return true;
  if (const Type* const known = Find(parameter)) {
    if (!Agree(type, known)) return false;
    const Type* const general = MostGeneral(type, known);
    if (!Mentions(general, parameter)) known_[parameter->name] = general;
    return true;
  }
  had = false;
  if (Mentions(type, parameter)) return false;
  known_[parameter->name] = type;
  return true;
}

bool TypeRelations::Agree(const Type* a, const Type* b) {
  bool had = false;
  if (b->kind == Type::Kind::kParameter) {
    if (Substitute(a, b, had)) return true;
    if (had) return false;
  }
  if (a->kind == Type::Kind::kParameter) return Substitute(b, a, had);
  if (IsAnything(*a) || IsAnything(*b)) return true;
  if (a->kind == Type::Kind::kNull) return IsNullable(*b);
  if (b->kind == Type::Kind::kNull) return IsNullable(*a);
  if (a->kind != b->kind || a->name != b->name || a->parameters.size() != b->parameters.size()) return false;
  if (a->kind == Type::Kind::kType) return true;
  for (size_t i = 0; i < a->parameters.size(); ++i)
    if (!Agree(a->parameters[i], b->parameters[i])) return false;
  return true;
}

bool TypeRelations::Assignable(const Type* a, const Type* b) {
  auto before = known_;
  if (Agree(a, b)) return true;
  known_ = std::move(before);
  return false;
}

bool TypeRelations::AllAssignable(std::span<const Type* const> a, std::span<const Type* const> b) {
  auto before = known_;
  bool agree = a.size() == b.size();
  for (size_t i = 0; agree && i < a.size(); ++i) agree = Agree(a[i], b[i]);
  if (!agree) known_ = std::move(before);
  return agree;
}

}  // namespace evenkeel::kube::cel
