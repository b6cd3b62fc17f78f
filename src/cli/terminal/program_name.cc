#include "cli/terminal/program_name.h"

#include <cstdlib>
#include <sstream>

namespace evenkeel::cli {

namespace fs = std::filesystem;

std::string ProgramName(const fs::path& program, const std::string& path, const fs::path& here) {
  const std::string name = program.filename().string();
  std::istringstream directories(path);
  std::error_code failed;
  for (std::string directory; std::getline(directories, directory, ':');) {
    const fs::path found = here / (directory.empty() ? "." : directory) / name;
    if (!fs::exists(found, failed)) continue;
    // A shell takes the first.
    if (fs::equivalent(found, program, failed)) return name;
    break;
  }
  const std::string relative = program.lexically_relative(here).string();
  // From the root both lead there, and the absolute one from anywhere.
  if (relative.empty() || relative.starts_with("..") || here == here.root_path()) return program.string();
  return relative.find('/') == std::string::npos ? "./" + relative : relative;
}

std::string OwnProgramName() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return "evenkeel";
  const char* path = std::getenv("PATH");
  return ProgramName(program, path == nullptr ? "" : path, fs::current_path(failed));
}

}  // namespace evenkeel::cli
