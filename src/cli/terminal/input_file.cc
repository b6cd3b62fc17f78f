#include "cli/terminal/input_file.h"

#include "base/input/file.h"
#include "cli/terminal/output.h"

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

base::Result<std::vector<kube::ManifestObject>> ReadManifestFiles(const std::vector<std::string>& files) {
  std::vector<std::string> warnings;
  auto objects = kube::ReadManifests(files, &warnings);
  for (const std::string& warning : warnings) PrintWarning(warning);
  return objects;
}

}  // namespace evenkeel::cli
