// How people call this program from where they are: for what it proposes to type.
#pragma once

#include <filesystem>
#include <string>

namespace evenkeel::cli {

/// `program`: its absolute file; `path`: what $PATH says; `here`: the working directory, absolute. Its name alone where a shell
/// finds it by that; else a path from `here`, or the absolute one where that is not below `here`.
std::string ProgramName(const std::filesystem::path& program, const std::string& path, const std::filesystem::path& here);

/// The same for this process.
std::string OwnProgramName();

}  // namespace evenkeel::cli
