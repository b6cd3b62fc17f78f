#include "kube/rules/estimate.h"

#include <limits>

namespace evenkeel::kube::cel {
namespace {

constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();
constexpr std::string_view kAdvice =
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

uint64_t SaturatedSum(uint64_t a, uint64_t b) { return a > kUnknown - b ? kUnknown : a + b; }
uint64_t TenthOf(uint64_t size) { return size == kUnknown ? kUnknown : size / 10 + (size % 10 == 0 ? 0 : 1); }

/// What is known of a value: how large it can be, and what is in it.
struct Extent {
  uint64_t size = 1;
  uint64_t item_size = kUnknown;
  const Shape* shape = nullptr;
};

bool HasSize(const Type& type) {
  switch (type.kind) {
    case Type::Kind::kString:
    case Type::Kind::kBytes:
    case Type::Kind::kList:
    case Type::Kind::kMap:
    case Type::Kind::kDyn:
      return true;
    default:
      return false;
  }
}

Extent ExtentOf(const Shape* shape, const Type* type) {
  if (shape != nullptr) return {HasSize(*shape->type) ? shape->most : 1, kUnknown, shape};
  return {type == nullptr || HasSize(*type) ? kUnknown : 1, kUnknown, nullptr};
}

class Estimator {
 public:
  explicit Estimator(const Shape* self) : self_(self) {}

  uint64_t Cost(const Expr& expr) {
    Extent unused;
    return Walk(expr, unused);
  }

 private:
  uint64_t Walk(const Expr& expr, Extent& extent) {
    extent = ExtentOf(nullptr, expr.type);
    switch (expr.kind) {
      case Expr::Kind::kConstant:
        extent.size = SizeOf(expr.constant);
        return expr.folded_cost;
      case Expr::Kind::kVariable:
        extent = ExtentOf(self_, expr.type);
        return 1;
      case Expr::Kind::kLocal:
        extent = locals_[static_cast<size_t>(expr.slot)];
        return 1;
      case Expr::Kind::kSelect:
        return Select(expr, extent);
      case Expr::Kind::kCall:
        return Called(expr, extent);
      case Expr::Kind::kList:
      case Expr::Kind::kMap:
        return Literal(expr, extent);
      case Expr::Kind::kConditional: {
        Extent no, unused;
        const uint64_t condition = Walk(*expr.args[0], unused);
        const uint64_t yes_cost = Walk(*expr.args[1], extent);
        const uint64_t no_cost = Walk(*expr.args[2], no);
        extent.size = std::max(extent.size, no.size);
        if (extent.shape != no.shape) extent.shape = nullptr;
        return SaturatedSum(condition, std::max(yes_cost, no_cost));
      }
      case Expr::Kind::kLoop:
        return Loop(expr, extent);
      case Expr::Kind::kBind:
      case Expr::Kind::kOptMap:
      case Expr::Kind::kOptFlatMap: {
        Extent value;
        const uint64_t cost = Walk(*expr.args[0], value);
        SetLocal(expr.slot, value);
        return SaturatedSum(cost, Walk(*expr.args[1], extent));
      }
      default: {
        uint64_t cost = 0;
        Extent unused;
        for (const Expr* arg : expr.args) cost = SaturatedSum(cost, Walk(*arg, unused));
        return cost;
      }
    }
  }

  void SetLocal(int slot, const Extent& extent) {
    if (locals_.size() <= static_cast<size_t>(slot)) locals_.resize(static_cast<size_t>(slot) + 1);
    locals_[static_cast<size_t>(slot)] = extent;
  }

  static Extent ItemOf(const Extent& extent, const Type* type) {
    if (extent.shape != nullptr && extent.shape->item != nullptr) return ExtentOf(extent.shape->item, nullptr);
    Extent item = ExtentOf(nullptr, type);
    item.size = std::min(item.size, extent.item_size);
    return item;
  }

  uint64_t Select(const Expr& expr, Extent& extent) {
    Extent target;
    const uint64_t cost = Walk(*expr.args[0], target);
    if (target.shape != nullptr) {
      const auto field = target.shape->by_json.find(expr.name);
      extent = field != target.shape->by_json.end() ? ExtentOf(field->second, nullptr) : ItemOf(target, expr.type);
    }
    if (expr.test) extent = Extent();
    return SaturatedSum(cost, expr.test ? 0 : 1);
  }

  uint64_t Literal(const Expr& expr, Extent& extent) {
    const bool map = expr.kind == Expr::Kind::kMap;
    uint64_t cost = map ? 30 : 10;
    extent = {map ? expr.args.size() / 2 : expr.args.size(), 0, nullptr};
    for (const Expr* arg : expr.args) {
      Extent item;
      cost = SaturatedSum(cost, Walk(*arg, item));
      extent.item_size = std::max(extent.item_size, item.size);
    }
    return cost;
  }

  uint64_t Called(const Expr& expr, Extent& extent) {
    uint64_t cost = 0;
    std::vector<Extent> args(expr.args.size());
    for (size_t i = 0; i < args.size(); ++i) cost = SaturatedSum(cost, Walk(*expr.args[i], args[i]));
    if (expr.function == nullptr) return cost;
    cost = SaturatedSum(cost, FunctionCost(*expr.function, args));
    if (!args.empty()) ResultExtent(expr, args, extent);
    return cost;
  }

  /// What comes out of functions whose results are no larger than what goes in.
  static void ResultExtent(const Expr& expr, const std::vector<Extent>& args, Extent& extent) {
    const std::string& name = expr.name;
    if (name == "_[_]" || name == "_[?_]") {
      extent = ItemOf(args[0], expr.type);
    } else if (name == "_+_" && args.size() == 2) {
      extent.size = expr.type != nullptr && HasSize(*expr.type) ? SaturatedSum(args[0].size, args[1].size) : 1;
      extent.item_size = std::max(args[0].item_size, args[1].item_size);
      if (args[0].shape == args[1].shape) extent.shape = args[0].shape;
    } else if (name == "split" || name == "findAll") {
      extent = {args[0].size, args[0].size, nullptr};
    } else if (name == "lowerAscii" || name == "upperAscii" || name == "substring" || name == "trim" || name == "find" ||
               name == "charAt" || name == "bytes" || name == "reverse" || name == "sort" || name == "distinct" ||
               name == "slice") {
      extent = {args[0].size, args[0].item_size, args[0].shape};
    } else if (name == "replace" && args.size() > 2) {
      extent.size = SaturatedProduct(args[0].size, std::max<uint64_t>(args[2].size, 1));
    } else if (name == "value" || name == "orValue" || name == "or" || name == "dyn") {
      extent = args[0];
    } else if (name == "string" && expr.args[0]->type != nullptr && !HasSize(*expr.args[0]->type)) {
      extent.size = 64;
    }
  }

  static uint64_t FunctionCost(const Function& function, const std::vector<Extent>& args) {
    const auto size = [&](size_t i) { return i < args.size() ? args[i].size : 1; };
    switch (function.cost) {
      case Cost::kOne:
        return 1;
      case Cost::kTraverse:
        return TenthOf(size(0));
      case Cost::kTraverseTwice:
      case Cost::kTraverseResult:
        return TenthOf(SaturatedSum(size(0), size(0)));
      case Cost::kEquality:
        return TenthOf(std::min(size(0), size(1)));
      case Cost::kConcatenation:
        return TenthOf(SaturatedSum(size(0), size(1)));
      case Cost::kContains:
        return SaturatedProduct(TenthOf(size(0)), TenthOf(size(1)));
      case Cost::kRegex:
        return SaturatedProduct(TenthOf(SaturatedSum(size(0), 1)), SaturatedSum(size(1), 3) / 4);
      case Cost::kMembership:
        return size(1);
      case Cost::kScan:
        return size(0);
      case Cost::kProduct:
        return SaturatedProduct(size(0), size(1));
      case Cost::kSort:
        return SaturatedProduct(size(0), size(0));
      case Cost::kParsedAndOne:
        return SaturatedSum(4, TenthOf(size(1)));
      case Cost::kAccessCheck:
        return 350'000;
    }
    return 1;
  }

  uint64_t Loop(const Expr& expr, Extent& extent) {
    Extent range;
    const uint64_t before = Walk(*expr.args[0], range);
    const bool two = !expr.variables[1].empty();
    const Type* const type = expr.args[0]->type;
    const bool map = type != nullptr && type->kind == Type::Kind::kMap;
    // Keys of a map are texts of unknown length, but all of them are within the object.
    const Extent item = ItemOf(range, nullptr);
    const Extent key = {map ? range.item_size : 1, kUnknown, nullptr};
    SetLocal(expr.slot, map || two ? key : item);
    if (two) SetLocal(expr.slot + 1, item);
    Extent kept, body;
    uint64_t turn = expr.loop == Expr::Loop::kAll         ? 3
                    : expr.loop == Expr::Loop::kExists    ? 4
                    : expr.loop == Expr::Loop::kExistsOne ? 2
                                                          : 13;
    if (expr.args[1] != nullptr) turn = SaturatedSum(turn, Walk(*expr.args[1], kept));
    turn = SaturatedSum(turn, Walk(*expr.args[2], body));
    extent = Extent();
    if (expr.type != nullptr && HasSize(*expr.type)) {
      extent = {range.size, body.size, nullptr};
      if (expr.loop == Expr::Loop::kFilter || expr.loop == Expr::Loop::kSortBy)
        extent = map ? Extent{range.size, kUnknown, nullptr} : range;
    }
    const uint64_t around = turn == 13 ? 11 : 1;
    return SaturatedSum(SaturatedSum(before, around), SaturatedProduct(range.size, turn));
  }

  const Shape* self_;
  std::vector<Extent> locals_;
};

/// "3.4x", "1.234567x", "more than 100x".
std::string FactorText(uint64_t cost, uint64_t most) {
  const double factor = static_cast<double>(cost) / static_cast<double>(most);
  if (factor > 100) return "more than 100x";
  return factor < 1.5 ? fmt::format("{:.6f}x", factor) : fmt::format("{:.1f}x", factor);
}

}  // namespace

uint64_t SaturatedProduct(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kUnknown : product;
}

uint64_t EstimateCost(const Program& program, const Shape* self) { return Estimator(self).Cost(program.root()); }

void RuleBudget::Add(const Program& program, const Shape* self, uint64_t cardinality, const FieldPath& path) {
  if (causes_ == nullptr) return;
  const uint64_t cost = SaturatedProduct(EstimateCost(program, self), cardinality);
  if (cost > kRuleMax)
    causes_->push_back(ForbiddenValue(
        path, fmt::format("estimated rule cost exceeds budget by factor of {} {}", FactorText(cost, kRuleMax), kAdvice)));
  total_ = SaturatedSum(total_, cost);
  rules_.emplace_back(cost, path.Text());
}

void RuleBudget::Close(const FieldPath& schema) {
  if (causes_ == nullptr || total_ <= kSchemaMax) return;
  constexpr size_t kShownMax = 4;
  std::ranges::stable_sort(rules_, [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t i = 0; i < rules_.size() && i < kShownMax; ++i) {
    if (rules_[i].first < kSchemaMax / 100) break;
    causes_->push_back(
        ForbiddenValue(FieldPath(rules_[i].second),
                       "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"));
  }
  causes_->push_back(ForbiddenValue(
      schema, fmt::format("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by "
                          "factor of {} {}",
                          FactorText(total_, kSchemaMax), kAdvice)));
}

}  // namespace evenkeel::kube::cel
