#include "kube/rules/device_selector.h"

#include <map>

#include "kube/cel/library_values.h"
#include "kube/cel/shape.h"
#include "kube/rules/estimate.h"

namespace evenkeel::kube::cel {
namespace {

using base::Code;
using base::Fail;
using base::Json;
using base::JsonObject;
using base::Result;

/// By domain. One that is not there has no names, but it is not `in` the map.
class DomainMap final : public Map {
 public:
  DomainMap(const Map& domains, Value none) : domains_(domains), none_(none) {}
  size_t size() const override { return domains_.size(); }
  bool Find(const Value& key, Arena& arena, Value& value) const override {
    if (!domains_.Find(key, arena, value)) value = none_;
    return true;
  }
  bool Has(const Value& key, Arena& arena) const override { return domains_.Has(key, arena); }
  Value KeyAt(size_t index, Arena& arena) const override { return domains_.KeyAt(index, arena); }
  Value ValueAt(size_t index, Arena& arena) const override { return domains_.ValueAt(index, arena); }

 private:
  const Map& domains_;
  Value none_;
};

/// What a slice lets a device have: attributes and capacities, bytes of one's value, bytes of a domain.
constexpr uint64_t kEntriesMax = 32, kValueBytesMax = 64, kDomainBytesMax = 63;

/// An environment in which `device` is the only variable.
struct DeviceWorld {
  explicit DeviceWorld(bool lists) {
    const uint32_t extensions = lists ? Library::kKubernetes | Extension::kIncludes : Library::kKubernetes;
    Environment::Options options;
    options.parse.bind_macro = true;
    environment = std::make_shared<Environment>(std::make_shared<const Library>(extensions), options);
    TypePool& types = environment->types();
    text.type = &types::kString;
    flag.type = &types::kBool;
    text.most = kDomainBytesMax;
    value.type = types.Parse("dyn");
    value.most = kValueBytesMax;
    amount.type = types.Parse("kubernetes.Quantity");
    attributes_of_domain.type = types.Parse("map(string, dyn)");
    attributes_of_domain.item = &value;
    attributes.type = types.Parse("map(string, map(string, dyn))");
    attributes.item = &attributes_of_domain;
    capacity_of_domain.type = types.Parse("map(string, kubernetes.Quantity)");
    capacity_of_domain.item = &amount;
    capacity.type = types.Parse("map(string, map(string, kubernetes.Quantity))");
    capacity.item = &capacity_of_domain;
    for (Shape* map : {&attributes, &attributes_of_domain, &capacity, &capacity_of_domain}) map->most = kEntriesMax;
    device.fields = {{"driver", {"driver", &text}},
                     {"attributes", {"attributes", &attributes}},
                     {"capacity", {"capacity", &capacity}},
                     {"allowMultipleAllocations", {"allowMultipleAllocations", &flag}}};
    for (const auto& [name, field] : device.fields) device.by_json.emplace(name, field.shape);
    device.type = types.Object("kubernetes.DRADevice", &device);
    environment->Declare("device", device.type);
  }
  Shape text, flag, value, amount, attributes_of_domain, attributes, capacity_of_domain, capacity, device;
  std::shared_ptr<Environment> environment;
};

const DeviceWorld& WorldOf(DeviceFeatures features) {
  static const auto* const plain = new DeviceWorld(false);
  static const auto* const lists = new DeviceWorld(true);
  return features.list_attributes ? *lists : *plain;
}

std::optional<Value> AttributeItem(std::string_view kind, const Json& json, Arena& arena) {
  if (kind == "bool" && json.is_bool()) return Value::Bool(json.get_bool());
  if (kind == "int" && json.is_int64()) return Value::Int(json.get_int64());
  if (kind == "string" && json.is_string()) return Value::String(json.get_string());
  if (kind != "version" || !json.is_string()) return std::nullopt;
  const auto version = ParseSemver(json.get_string());
  if (!version) return std::nullopt;
  return Value::Pointer(Kind::kSemver, arena.New<SemverValue>(*version));
}

/// One of {"bool": true}, {"ints": [1, 2]} and the like; nothing where it is none.
std::optional<Value> AttributeValue(const Json& json, Arena& arena, DeviceFeatures features) {
  if (!json.is_object()) return std::nullopt;
  for (const auto& [kind, value] : json.get_object()) {
    if (auto single = AttributeItem(kind, value, arena)) return single;
    if (!features.list_attributes || !value.is_array() || !std::string_view(kind).ends_with('s')) continue;
    const std::string_view of = std::string_view(kind).substr(0, kind.size() - 1);
    std::vector<Value> items;
    for (const Json& item : value.get_array())
      if (auto read = AttributeItem(of, item, arena)) items.push_back(*read);
    if (items.size() == value.get_array().size()) return MakeList(items, arena);
  }
  return std::nullopt;
}

std::optional<Value> CapacityValue(const Json& json, Arena& arena) {
  const Json* const amount = json.is_object() ? base::Find(json.get_object(), "value") : &json;
  if (amount == nullptr) return std::nullopt;
  const auto quantity = Quantity::FromJson(*amount);
  if (!quantity) return std::nullopt;
  return Value::Pointer(Kind::kQuantity, arena.New<QuantityValue>(QuantityValue{*quantity}));
}

using Domains = std::map<std::string_view, std::vector<Value>>;

/// "example.com/name" is of that domain, a name alone of the driver's.
void AddNamed(Domains& domains, std::string_view driver, std::string_view name, Value value) {
  const size_t slash = name.find('/');
  const std::string_view domain = slash == std::string_view::npos ? driver : name.substr(0, slash);
  std::vector<Value>& entries = domains[domain];
  entries.push_back(Value::String(slash == std::string_view::npos ? name : name.substr(slash + 1)));
  entries.push_back(value);
}

Value MapOfDomains(const Domains& domains, Arena& arena) {
  std::vector<Value> entries;
  for (const auto& [domain, names] : domains) {
    entries.push_back(Value::String(domain));
    entries.push_back(MakeMap(names, arena));
    if (entries.back().IsError()) return entries.back();
  }
  const Value all = MakeMap(entries, arena);
  return Value::Of(static_cast<const Map*>(arena.New<DomainMap>(all.map(), MakeMap({}, arena))));
}

}  // namespace

Result<std::shared_ptr<const Program>> CompileDeviceSelector(std::string_view expression, DeviceFeatures features) {
  EVENKEEL_ASSIGN(auto program, Program::Compile(expression, WorldOf(features).environment));
  const Type& type = program->result_type();
  if (type.kind != Type::Kind::kBool && type.kind != Type::Kind::kDyn)
    return Fail(Code::kInvalid, fmt::format("must evaluate to bool or the unknown type, not {}", ToText(type)));
  return program;
}

uint64_t EstimateDeviceSelectorCost(const Program& selector, DeviceFeatures features) {
  return EstimateCost(selector, &WorldOf(features).device);
}

Result<Value> MakeDevice(std::string_view driver, const JsonObject* attributes, const JsonObject* capacity,
                         bool allow_multiple_allocations, Arena& arena, DeviceFeatures features) {
  driver = arena.Copy(driver);
  Domains named, amounts;
  if (attributes != nullptr) {
    for (const auto& [name, json] : *attributes) {
      const auto value = AttributeValue(json, arena, features);
      if (!value) return Fail(Code::kInvalid, fmt::format("attribute {}: unsupported attribute value", std::string_view(name)));
      AddNamed(named, driver, name, *value);
    }
  }
  if (capacity != nullptr) {
    for (const auto& [name, json] : *capacity) {
      const auto value = CapacityValue(json, arena);
      if (!value) return Fail(Code::kInvalid, fmt::format("capacity {}: not a quantity", std::string_view(name)));
      AddNamed(amounts, driver, name, *value);
    }
  }
  const Value attribute_map = MapOfDomains(named, arena), capacity_map = MapOfDomains(amounts, arena);
  if (attribute_map.IsError()) return Fail(Code::kInvalid, std::string(attribute_map.text()));
  if (capacity_map.IsError()) return Fail(Code::kInvalid, std::string(capacity_map.text()));
  const Value fields[] = {Value::String("driver"),
                          Value::String(driver),
                          Value::String("attributes"),
                          attribute_map,
                          Value::String("capacity"),
                          capacity_map,
                          Value::String("allowMultipleAllocations"),
                          Value::Bool(allow_multiple_allocations)};
  return Value::Of(&MakeMap(fields, arena).map(), Kind::kObject);
}

Result<bool> SelectsDevice(const Program& selector, const Value& device, Arena& arena) {
  const Evaluation evaluation = selector.Evaluate({&device, 1}, arena);
  if (evaluation.value.IsError()) return Fail(Code::kInvalid, std::string(evaluation.value.text()));
  if (!evaluation.value.Is(Kind::kBool)) {
    return Fail(Code::kInvalid,
                fmt::format("CEL result of type {} could not be converted to bool", types::Of(evaluation.value)->name));
  }
  return evaluation.value.bool_value();
}

}  // namespace evenkeel::kube::cel
