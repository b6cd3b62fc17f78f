// Flags that several commands share, and what a value is: the name of its type says it to people in --help and to what is made
// from the tree of commands (command_tree.h), completions and documentation.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/clusters/hub.h"
#include "cli/terminal/get_output.h"
#include "cli/terminal/report_file.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace evenkeel::cli {

/// The command that the arguments chose; run after all of them have been read.
using Action = std::function<base::Status()>;

/// Names of types that shells complete: files, directories and contexts of the kubeconfig.
inline constexpr const char* kFileType = "FILE";
inline constexpr const char* kDirectoryType = "DIR";
inline constexpr const char* kContextType = "CONTEXT";
/// And of names that a shell asks the fleet for (names_of_fleet.h).
inline constexpr const char* kClusterType = "CLUSTER";
inline constexpr const char* kNodeType = "NODE";
inline constexpr const char* kPodType = "NAMESPACE/POD";
inline constexpr const char* kRolloutType = "NAMESPACE/ENSEMBLE";
inline constexpr const char* kNodeGroupType = "NODEGROUP";

/// One of these and nothing else; its type is "a|b|c".
CLI::Option* OneOf(CLI::Option* option, const std::vector<std::string>& values);
/// The name of a file. Not for -f, which is AddFilenameFlag.
CLI::Option* IsFile(CLI::Option* option);

/// A decimal whole number within these bounds. Numbers of flags are written in no other way: whatever else is given (nan, 0x10,
/// 1e3, nothing) is refused in one line that names the flag and the bounds.
CLI::Option* IsWhole(CLI::Option* option, int64_t min, int64_t max);
/// A decimal number, with a fraction or an exponent if need be.
CLI::Option* IsNumber(CLI::Option* option, double min, double max);
/// Any whole number from 0 that 64 bits hold.
CLI::Option* IsSeed(CLI::Option* option);

/// -o, --output.
void AddOutputFlag(CLI::App& command, std::string& output);
/// The same of commands with the forms of `get`.
void AddFormFlag(CLI::App& command, std::string& output);
/// What every `get` has: names, -o and --watch. `type`: of the names, as shells complete them.
void AddGetFlags(CLI::App& command, GetOptions& options, const char* type);
/// -f, --filename: repeatable, one file each time.
void AddFilenameFlag(CLI::App& command, std::vector<std::string>& files, const std::string& help);
/// --report. `what`: "the run".
void AddReportFlag(CLI::App& command, ReportOptions& report, const std::string& what);
/// --kubeconfig and --context. `what` they lead to: "the hub".
void AddKubeconfigFlags(CLI::App& command, HubOptions& options, const std::string& what);

}  // namespace evenkeel::cli
