#include "kube/cel/type.h"

namespace evenkeel::kube::cel {
namespace {

constexpr uint32_t Bit(Kind kind) { return 1U << static_cast<unsigned>(kind); }
constexpr uint32_t kAll = ~uint32_t{0};

Type Plain(Type::Kind kind, const char* name, uint32_t mask) { return {kind, name, {}, nullptr, mask}; }

}  // namespace

namespace types {
const Type kDyn = Plain(Type::Kind::kDyn, "dyn", kAll);
const Type kError = Plain(Type::Kind::kError, "!error!", kAll);
const Type kNull = Plain(Type::Kind::kNull, "null_type", Bit(Kind::kNull));
const Type kBool = Plain(Type::Kind::kBool, "bool", Bit(Kind::kBool));
const Type kInt = Plain(Type::Kind::kInt, "int", Bit(Kind::kInt));
const Type kUint = Plain(Type::Kind::kUint, "uint", Bit(Kind::kUint));
const Type kDouble = Plain(Type::Kind::kDouble, "double", Bit(Kind::kDouble));
const Type kString = Plain(Type::Kind::kString, "string", Bit(Kind::kString));
const Type kBytes = Plain(Type::Kind::kBytes, "bytes", Bit(Kind::kBytes));
const Type kTimestamp = Plain(Type::Kind::kTimestamp, "google.protobuf.Timestamp", Bit(Kind::kTimestamp));
const Type kDuration = Plain(Type::Kind::kDuration, "google.protobuf.Duration", Bit(Kind::kDuration));
const Type kList = {Type::Kind::kList, "list", {&kDyn}, nullptr, Bit(Kind::kList)};
const Type kMap = {Type::Kind::kMap, "map", {&kDyn, &kDyn}, nullptr, Bit(Kind::kMap)};
const Type kType = {Type::Kind::kType, "type", {&kDyn}, nullptr, Bit(Kind::kType)};
const Type kOptional = {Type::Kind::kOpaque, "optional_type", {&kDyn}, nullptr, Bit(Kind::kOptional)};
const Type kQuantity = Plain(Type::Kind::kOpaque, "kubernetes.Quantity", Bit(Kind::kQuantity));
const Type kIp = Plain(Type::Kind::kOpaque, "net.IP", Bit(Kind::kIp));
const Type kCidr = Plain(Type::Kind::kOpaque, "net.CIDR", Bit(Kind::kCidr));
const Type kUrl = Plain(Type::Kind::kOpaque, "kubernetes.URL", Bit(Kind::kUrl));
const Type kSemver = Plain(Type::Kind::kOpaque, "kubernetes.Semver", Bit(Kind::kSemver));
const Type kFormat = Plain(Type::Kind::kOpaque, "kubernetes.NamedFormat", Bit(Kind::kFormat));

const Type* Named(std::string_view name) {
  static const std::map<std::string, const Type*, std::less<>> kKnown = [] {
    std::map<std::string, const Type*, std::less<>> known;
    for (const Type* type :
         {&kDyn,  &kNull, &kBool, &kInt,      &kUint,     &kDouble, &kString, &kBytes, &kTimestamp, &kDuration,
          &kList, &kMap,  &kType, &kOptional, &kQuantity, &kIp,     &kCidr,   &kUrl,   &kSemver,    &kFormat})
      known.emplace(type->name, type);
    known.emplace("null", &kNull);
    known.emplace("timestamp", &kTimestamp);
    known.emplace("duration", &kDuration);
    return known;
  }();
  const auto found = kKnown.find(name);
  return found == kKnown.end() ? nullptr : found->second;
}

const Type* Of(const Value& value) {
  static const Type kObject = Plain(Type::Kind::kObject, "object", Bit(Kind::kObject));
  static const Type kAuthorizer = Plain(Type::Kind::kOpaque, "kubernetes.authorization.Authorizer", Bit(Kind::kAuthorizer));
  static constexpr std::array<const Type*, 22> kByKind = {
      &kError, &kNull,  &kBool, &kInt,      &kUint,     &kDouble, &kString, &kBytes, &kTimestamp, &kDuration, &kList,
      &kMap,   nullptr, &kType, &kOptional, &kQuantity, &kIp,     &kCidr,   &kUrl,   &kSemver,    &kFormat,   nullptr};
  if (value.Is(Kind::kObject)) return &kObject;
  if (value.Is(Kind::kAuthorizer)) return &kAuthorizer;
  return kByKind[static_cast<size_t>(value.kind())];
}
}  // namespace types

bool Type::IsOptional() const { return kind == Kind::kOpaque && name == "optional_type"; }

std::string ToText(const Type& type) {
  switch (type.kind) {
    case Type::Kind::kNull:
      return "null";
    case Type::Kind::kTimestamp:
      return "timestamp";
    case Type::Kind::kDuration:
      return "duration";
    default:
      break;
  }
  if (type.parameters.empty()) return type.name;
  std::string text = type.name + "(";
  for (size_t i = 0; i < type.parameters.size(); ++i) text += (i > 0 ? ", " : "") + ToText(*type.parameters[i]);
  return text + ")";
}

bool SameType(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.name != b.name || a.parameters.size() != b.parameters.size()) return false;
  for (size_t i = 0; i < a.parameters.size(); ++i)
    if (!SameType(*a.parameters[i], *b.parameters[i])) return false;
  return true;
}

const Type* TypePool::Add(Type type) { return &types_.emplace_back(std::move(type)); }

const Type* TypePool::List(const Type* item) { return Add({Type::Kind::kList, "list", {item}, nullptr, types::kList.mask}); }
const Type* TypePool::Map(const Type* key, const Type* value) {
  return Add({Type::Kind::kMap, "map", {key, value}, nullptr, types::kMap.mask});
}
const Type* TypePool::TypeOf(const Type* type) { return Add({Type::Kind::kType, "type", {type}, nullptr, types::kType.mask}); }
const Type* TypePool::Optional(const Type* type) {
  return Add({Type::Kind::kOpaque, "optional_type", {type}, nullptr, types::kOptional.mask});
}
const Type* TypePool::Opaque(std::string_view name, std::vector<const Type*> parameters) {
  return Add({Type::Kind::kOpaque, std::string(name), std::move(parameters), nullptr,
              name.starts_with("kubernetes.authorization.") ? Bit(Kind::kAuthorizer) : kAll});
}
const Type* TypePool::Parameter(std::string name) { return Add({Type::Kind::kParameter, std::move(name), {}, nullptr, kAll}); }
const Type* TypePool::Object(std::string name, const Shape* shape) {
  return Add({Type::Kind::kObject, std::move(name), {}, shape, Bit(Kind::kObject)});
}

const Type* TypePool::With(const Type& type, std::vector<const Type*> parameters) {
  Type made = type;
  made.parameters = std::move(parameters);
  return Add(std::move(made));
}

const Type* TypePool::Parse(std::string_view text) {
  const Type* const type = ParseAt(text, 0);
  return text.empty() ? type : nullptr;
}

const Type* TypePool::ParseAt(std::string_view& rest, int depth) {
  if (depth > 20) return nullptr;
  const size_t end = std::min(rest.find_first_of("(), "), rest.size());
  const std::string_view name = rest.substr(0, end);
  rest.remove_prefix(end);
  std::vector<const Type*> parameters;
  if (rest.starts_with('(')) {
    do {
      rest.remove_prefix(std::min(rest.find_first_not_of("(, "), rest.size()));
      parameters.push_back(ParseAt(rest, depth + 1));
      if (parameters.back() == nullptr) return nullptr;
    } while (rest.starts_with(','));
    if (!rest.starts_with(')')) return nullptr;
    rest.remove_prefix(1);
  }
  if (name == "list" && parameters.size() == 1) return List(parameters[0]);
  if (name == "map" && parameters.size() == 2) return Map(parameters[0], parameters[1]);
  if (name == "type" && parameters.size() == 1) return TypeOf(parameters[0]);
  if (name == "optional_type" && parameters.size() == 1) return Optional(parameters[0]);
  if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') return Parameter(std::string(name));
  if (parameters.empty())
    if (const Type* const known = types::Named(name)) return known;
  return name.empty() ? nullptr : Opaque(name, std::move(parameters));
}

}  // namespace evenkeel::kube::cel
