// The public conformance suite of CEL and vectors of Kubernetes' libraries, which lie beside the tree where it is worked on.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "kube/cel/cel.h"
#include "kube/cel/shape.h"
#include "kube/rules/device_selector.h"

namespace evenkeel::kube::cel::cel_vectors_test {
namespace {

using base::Json;
using base::JsonArray;

constexpr std::string_view kFolder = "../shared/data/cel";

JsonArray ReadVectors(const std::string& name) {
  std::ifstream file(std::filesystem::path(kFolder) / name);
  std::stringstream text;
  text << file.rdbuf();
  return base::ParseJson(text.str(), name)->as_array();
}

std::string Text(const Json& vector, std::string_view key) { return std::string(base::FindString(vector, {key})); }

double ReadDouble(const Json& json) {
  if (json.is_number()) return json.to_number<double>();
  if (json == "NaN") return NAN;
  return json == "Infinity" ? INFINITY : -INFINITY;
}

/// {"int": "5"} and the like.
Value Typed(const Json& json, Arena& arena) {
  const auto& [key, value] = *json.as_object().begin();
  const std::string_view kind = key;
  const std::string text = value.is_string() ? std::string(value.get_string()) : "";
  if (kind == "int") return Value::Int(std::stoll(text));
  if (kind == "uint") return Value::Uint(std::stoull(text));
  if (kind == "double") return Value::Double(ReadDouble(value));
  if (kind == "string") return MakeString(arena, text);
  if (kind == "bool") return Value::Bool(value.as_bool());
  if (kind == "timestamp") return ParseTimestamp(text, arena);
  if (kind == "duration") return ParseDurationText(text, arena);
  if (kind == "error") return MakeError(arena, text);
  if (kind == "type") return Value::Of(types::Named(text));
  if (kind == "bytes") {
    std::string bytes;
    DecodeBase64(text, bytes);
    return Value::Bytes(arena.Copy(bytes));
  }
  std::vector<Value> items;
  if (kind == "list") {
    for (const Json& item : value.as_array()) items.push_back(Typed(item, arena));
    return MakeList(items, arena);
  }
  if (kind != "map") return Value::Null();
  for (const Json& entry : value.as_array())
    for (const Json& part : entry.as_array()) items.push_back(Typed(part, arena));
  return MakeMap(items, arena);
}

/// Of the same kind at every depth, too.
bool Same(const Value& a, const Value& b, Arena& arena) {
  if (a.kind() != b.kind()) return false;
  if (a.Is(Kind::kDouble) && std::isnan(a.double_value())) return std::isnan(b.double_value());
  if (a.Is(Kind::kList)) {
    if (a.list().size() != b.list().size()) return false;
    for (size_t i = 0; i < a.list().size(); ++i)
      if (!Same(a.list().At(i, arena), b.list().At(i, arena), arena)) return false;
    return true;
  }
  if (!a.Is(Kind::kMap)) return IsEqual(a, b, arena);
  if (a.map().size() != b.map().size()) return false;
  for (size_t i = 0; i < a.map().size(); ++i) {
    Value other;
    if (!b.map().Find(a.map().KeyAt(i, arena), arena, other) || !Same(a.map().ValueAt(i, arena), other, arena)) return false;
  }
  return true;
}

struct Outcome {
  std::shared_ptr<const Program> program{};  ///< which owns what is written out in it
  std::string compile_error{}, run_error{}, deduced{};
  Value value{};
};

Outcome RunProgram(std::string_view text, const std::shared_ptr<const Environment>& environment,
                   const std::map<std::string, Value>& bindings, Arena& arena, bool check_only = false) {
  Outcome outcome;
  const auto program = Program::Compile(text, environment);
  if (!program) {
    outcome.compile_error = program.error().message();
    return outcome;
  }
  outcome.program = *program;
  outcome.deduced = ToText((*program)->result_type());
  if (check_only) return outcome;
  Activation activation(*environment);
  for (const auto& [name, value] : bindings) activation.Set(static_cast<size_t>(environment->FindVariable(name)), value);
  const Evaluation evaluation = (*program)->Evaluate(activation, arena);
  if (evaluation.value.IsError()) outcome.run_error = evaluation.value.text();
  outcome.value = evaluation.value;
  return outcome;
}

std::string What(const Outcome& outcome) {
  if (!outcome.compile_error.empty()) return "does not compile: " + outcome.compile_error;
  if (!outcome.run_error.empty()) return "fails: " + outcome.run_error;
  return fmt::format("is a {}: {}", types::Of(outcome.value)->name, KeyText(outcome.value));
}

/// Empty where the outcome is what the vector expects.
std::string Judge(const Json& vector, const Outcome& outcome, Arena& arena) {
  if (vector.as_object().contains("error")) {
    const std::string expected = Text(vector, "error"), phase = Text(vector, "phase");
    const std::string& found = phase == "run" ? outcome.run_error : phase == "compile" ? outcome.compile_error : "";
    if (phase.empty()) return outcome.compile_error.empty() && outcome.run_error.empty() ? What(outcome) : "";
    return found.find(expected) == std::string::npos ? What(outcome) : "";
  }
  if (const std::string deduced = Text(vector, "deducedType"); !deduced.empty() && deduced != outcome.deduced)
    return outcome.compile_error.empty() ? "deduces " + outcome.deduced : What(outcome);
  const Json* const value = base::Find(vector, {"value"});
  if (value == nullptr) return outcome.compile_error;
  if (!outcome.compile_error.empty() || !outcome.run_error.empty()) return What(outcome);
  return Same(outcome.value, Typed(*value, arena), arena) ? "" : What(outcome);
}

void DeclareFunctions(const Json& vector, Library& library) {
  for (const auto& [name, declared] : base::FindObject(vector, {"typeEnv"})) {
    if (!declared.is_object()) continue;
    for (const Json& overload : base::FindArray(declared, {"overloads"})) {
      std::string parameters;
      for (const Json& parameter : base::FindArray(overload, {"params"}))
        parameters += (parameters.empty() ? "" : ", ") + std::string(parameter.as_string());
      library.Add(name, fmt::format("({}) {}", parameters, Text(overload, "result")), nullptr);
    }
  }
}

std::map<std::string, Value> DeclareVariables(const Json& vector, Environment& environment, Arena& arena) {
  std::map<std::string, Value> bindings;
  for (const auto& [name, type] : base::FindObject(vector, {"typeEnv"}))
    if (type.is_string()) environment.Declare(name, type.as_string());
  for (const auto& [name, value] : base::FindObject(vector, {"bindings"})) {
    bindings[std::string(name)] = Typed(value, arena);
    if (environment.FindVariable(name) < 0) environment.Declare(name, &types::kDyn);
  }
  return bindings;
}

std::string JudgeConformance(const Json& vector) {
  static constexpr uint32_t kAll = Extension::kOptional | Extension::kStringsLatest | Extension::kSets | Extension::kLists |
                                   Extension::kRegex | Extension::kNetworkLatest | Extension::kMath;
  Arena arena;
  auto library = std::make_shared<Library>(kAll);
  DeclareFunctions(vector, *library);
  Environment::Options options;
  options.container = Text(vector, "container");
  options.checked = !base::FindBool(vector, {"disableCheck"});
  options.homogeneous = options.check_literals = false;
  options.parse = {.macros = !base::FindBool(vector, {"disableMacros"}), .bind_macro = true, .block_macro = true};
  auto environment = std::make_shared<Environment>(library, options);
  const auto bindings = DeclareVariables(vector, *environment, arena);
  return Judge(vector, RunProgram(Text(vector, "expr"), environment, bindings, arena, base::FindBool(vector, {"checkOnly"})),
               arena);
}

std::string JudgeBase(const Json& vector) {
  Arena arena;
  auto environment = std::make_shared<Environment>(Library::Kubernetes());
  const auto bindings = DeclareVariables(vector, *environment, arena);
  return Judge(vector, RunProgram(Text(vector, "expr"), environment, bindings, arena), arena);
}

std::string JudgeRule(const Json& vector) {
  Arena arena;
  Shapes shapes;
  auto environment = std::make_shared<Environment>(Library::Kubernetes());
  const Shape* const shape = shapes.Add(vector.at("schema").as_object(), environment->types(), false);
  const Json* const old = base::Find(vector, {"oldSelf"});
  const bool optional = base::FindBool(vector, {"optionalOldSelf"});
  environment->Declare("self", shape->type);
  const size_t old_self = environment->Declare("oldSelf", optional ? environment->types().Optional(shape->type) : shape->type);
  std::map<std::string, Value> bindings = {{"self", FromJson(vector.at("self"), shape, arena)}};
  if (old != nullptr) {
    const Value value = FromJson(*old, shape, arena);
    bindings["oldSelf"] = optional ? Value::Some(value, arena) : value;
  } else if (optional) {
    bindings["oldSelf"] = Value::None();
  }
  if (base::FindBool(vector, {"skipped"})) {
    const auto program = Program::Compile(Text(vector, "expr"), environment);
    return program && (*program)->Mentions(old_self) ? "" : "is no transition rule";
  }
  Outcome outcome = RunProgram(Text(vector, "expr"), environment, bindings, arena);
  if (outcome.compile_error.empty() && outcome.deduced != "bool")
    outcome.compile_error = "cel expression must evaluate to a bool";
  return Judge(vector, outcome, arena);
}

std::string JudgeDevice(const Json& vector) {
  Arena arena;
  DeviceFeatures features;
  for (const Json& feature : base::FindArray(vector, {"features"}))
    features.list_attributes = features.list_attributes || feature == "DRAListTypeAttributes";
  Outcome outcome;
  const auto program = CompileDeviceSelector(Text(vector, "expr"), features);
  if (!program) {
    outcome.compile_error = program.error().message();
    return Judge(vector, outcome, arena);
  }
  const Json& device = vector.at("device");
  const auto value =
      MakeDevice(Text(device, "driver"), &base::FindObject(device, {"attributes"}), &base::FindObject(device, {"capacity"}),
                 base::FindBool(device, {"allowMultipleAllocations"}), arena, features);
  if (!value) {
    outcome.run_error = value.error().message();
    return Judge(vector, outcome, arena);
  }
  const auto selected = SelectsDevice(**program, *value, arena);
  if (!selected) outcome.run_error = selected.error().message();
  if (selected) outcome.value = Value::Bool(*selected);
  return Judge(vector, outcome, arena);
}

TEST(CelVectorsTest, ConformanceSuitePasses) {
  if (!std::filesystem::is_directory(kFolder)) GTEST_SKIP() << kFolder << " is not there";
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".json") || name == "kubernetes.json") continue;
    for (const Json& vector : ReadVectors(name)) {
      if (base::FindBool(vector, {"celGoSkips"})) continue;
      ++count;
      const std::string wrong = JudgeConformance(vector);
      EXPECT_EQ(wrong, "") << name << " " << Text(vector, "section") << " " << Text(vector, "name") << "\n"
                           << base::ToText(vector);
    }
  }
  EXPECT_GT(count, 1'700U);
}

TEST(CelVectorsTest, LibrariesOfKubernetesPass) {
  if (!std::filesystem::is_directory(kFolder)) GTEST_SKIP() << kFolder << " is not there";
  size_t count = 0;
  for (const Json& vector : ReadVectors("kubernetes.json")) {
    const std::string group = Text(vector, "group");
    ++count;
    const std::string wrong = group == "crd" ? JudgeRule(vector) : group == "device" ? JudgeDevice(vector) : JudgeBase(vector);
    EXPECT_EQ(wrong, "") << group << " " << Text(vector, "name") << "\n" << base::ToText(vector);
  }
  EXPECT_GT(count, 500U);
}

}  // namespace
}  // namespace evenkeel::kube::cel::cel_vectors_test
