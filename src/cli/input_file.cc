#include "cli/input_file.h"

#include "base/yaml.h"

namespace evenkeel::cli {
namespace {

/// 100,000 partitions of three replicas are 30 MB as JSON; instances of thousands of machines have a cost of moving between any
/// two.
constexpr size_t kInputMax = size_t{1} << 30;

}  // namespace

base::Result<std::string> ReadInputFile(const std::string& file, const std::string& flag) {
  auto text = base::ReadFile(file, kInputMax);
  if (!text) return base::Fail(base::Code::kBadRequest, (flag.empty() ? "" : flag + ": ") + text.error().message());
  return text;
}

}  // namespace evenkeel::cli
