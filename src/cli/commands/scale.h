// `evenkeel plan scale`, `explain pod` and `explain node`: the autoscaler's decisions for a cluster that is given as files, or
// for a live one, in which they change nothing.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/clusters/hub_members.h"
#include "cli/terminal/report_file.h"
#include "controllers/autoscaler/options/flags.h"

namespace CLI {
class App;
}

namespace evenkeel::cli {

struct ScaleOptions {
  std::vector<std::string> files;  ///< none: the live cluster
  MemberOptions member;            ///< how to reach that
  std::string state;               ///< with files: a file to read, and for plan to write; "": none
  std::string now;                 ///< RFC 3339; "": the system's clock
  std::string output = "table";
  std::vector<controllers::autoscaler::FlagValue> flags;
  ReportOptions report{};  ///< of plan
};

/// Registers the autoscaler's flags that the command has no flag of that name for yet. What was given is added to `values` when
/// the returned function is called, after parsing.
std::function<void()> AddAutoscalerFlags(CLI::App& command, std::vector<controllers::autoscaler::FlagValue>& values);

/// Registers -f, --kubeconfig, --context, --cluster, --hub-namespace, --state, --now and the autoscaler's own flags. What was
/// given of the latter is read when the returned function is called, after parsing.
std::function<void()> AddScaleFlags(CLI::App& command, ScaleOptions& options);

base::Status PlanScale(const ScaleOptions& options, std::ostream& out);
/// `pod`: namespace/name. It is looked for in all members where the API is a hub and no cluster is named; so is `node`.
base::Status ExplainPod(const ScaleOptions& options, const std::string& pod, std::ostream& out);
base::Status ExplainNode(const ScaleOptions& options, const std::string& node, std::ostream& out);

}  // namespace evenkeel::cli
