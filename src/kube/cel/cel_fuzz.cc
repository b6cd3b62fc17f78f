// Two lines: an expression, and JSON that it is asked about; whatever they are, it ends, and the answer is the same again.
#include <cstddef>
#include <cstdint>

#include "kube/cel/shape.h"
#include "kube/rules/device_selector.h"

namespace {

using namespace evenkeel::kube::cel;

std::shared_ptr<const Environment> FuzzedEnvironment(bool checked) {
  Environment::Options options;
  options.checked = checked;
  options.parse.bind_macro = true;
  auto environment = std::make_shared<Environment>(Library::Kubernetes(), options);
  environment->Declare("self", &types::kDyn);
  return environment;
}

void Ask(std::string_view expression, const evenkeel::base::Json& json, bool checked) {
  static const auto* const strict = new std::shared_ptr<const Environment>(FuzzedEnvironment(true));
  static const auto* const lenient = new std::shared_ptr<const Environment>(FuzzedEnvironment(false));
  const auto program = Program::Compile(expression, checked ? *strict : *lenient);
  if (!program) {
    EVENKEEL_CHECK(!program.error().message().empty());
    return;
  }
  Arena arena(size_t{4} << 20);
  const Value self = FromJson(json, nullptr, arena);
  constexpr uint64_t kCostMax = 20'000;
  const Evaluation first = (*program)->Evaluate({&self, 1}, arena, kCostMax);
  const Evaluation second = (*program)->Evaluate({&self, 1}, arena, kCostMax);
  if (arena.exhausted()) return;
  EVENKEEL_CHECK(first.cost == second.cost && first.value.kind() == second.value.kind());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find('\n');
  auto json = evenkeel::base::ParseJson(end == text.npos ? "{}" : text.substr(end + 1), "input");
  if (!json) json = nullptr;
  Ask(text.substr(0, end), *json, true);
  Ask(text.substr(0, end), *json, false);
  static_cast<void>(CompileDeviceSelector(text.substr(0, end)));
  return 0;
}
