#include "cli/commands/scale.h"

#include <CLI/CLI.hpp>

#include <filesystem>

#include "base/input/yaml.h"
#include "cli/clusters/cloud_provider.h"
#include "cli/clusters/command_flags.h"
#include "cli/clusters/hub.h"
#include "cli/clusters/live_cluster.h"
#include "cli/clusters/plan_report.h"
#include "cli/commands/scale_tables.h"
#include "cli/terminal/input_file.h"
#include "cli/terminal/output.h"
#include "controllers/autoscaler/loop/plan_scale.h"

namespace evenkeel::cli {
namespace {

namespace autoscaler = controllers::autoscaler;
using base::Json;

base::Result<Json> ReadState(const std::string& file) {
  std::error_code error;
  if (file.empty() || (!std::filesystem::exists(file, error) && !error)) return Json();
  EVENKEEL_ASSIGN(const std::string text, ReadInputFile(file, "--state"));
  return base::ParseJson(text, file);
}

base::Status ReadLive(const ScaleOptions& options, autoscaler::ScaleInput& input) {
  if (!options.state.empty()) {
    return base::Fail(base::Code::kBadRequest, "--state goes with -f: a live cluster keeps what its autoscaler remembers");
  }
  if (input.options.cloud_provider.empty()) input.options.cloud_provider = "embedded";
  EVENKEEL_ASSIGN(const ProviderMaker make, MakeProviderMaker(input.options, {}, base::SystemClock(), base::Random(1)));
  EVENKEEL_ASSIGN(const std::unique_ptr<client::Client> cluster, ConnectToHub(options.cluster));
  EVENKEEL_ASSIGN(const std::unique_ptr<providers::Provider> provider, make(*cluster, [](auto other) { return other; }));
  std::string warning;
  EVENKEEL_TRY(ReadLiveCluster(*cluster, *provider, input, warning));
  if (!warning.empty()) PrintWarning("the autoscaler's memory cannot be read: " + warning);
  return {};
}

base::Result<autoscaler::ScaleInput> ReadInput(const ScaleOptions& options) {
  autoscaler::ScaleInput input;
  EVENKEEL_ASSIGN(autoscaler::AppliedFlags applied, autoscaler::ApplyFlags(options.flags));
  for (const std::string& warning : applied.warnings) PrintWarning(warning);
  input.options = std::move(applied.options);
  input.clock = &base::SystemClock();
  input.now = input.clock->Now();
  if (!options.now.empty()) {
    const auto now = base::ParseTime(options.now);
    if (!now) return base::Fail(now.error().Wrap("--now"));
    input.now = *now;
  }
  if (options.files.empty()) {
    EVENKEEL_TRY(ReadLive(options, input));
    return input;
  }
  EVENKEEL_ASSIGN(input.state, ReadState(options.state));
  EVENKEEL_ASSIGN(input.objects, ReadManifestFiles(options.files));
  return input;
}

/// Errors of the state's content name its file.
template <typename T>
base::Result<T> Named(base::Result<T> result, const ScaleOptions& options) {
  if (result || !result.error().message().starts_with("state:")) return result;
  return base::Fail(result.error().Wrap(options.state));
}

void AddFlag(CLI::App& command, const autoscaler::Flag& flag,
             std::vector<std::pair<std::string, const CLI::Option*>>& registered) {
  const std::string name = "--" + flag.name;
  if (command.get_option_no_throw(name) != nullptr) return;
  CLI::Option* option = nullptr;
  if (flag.type == base::OptionType::kBool) {
    option = command.add_flag(name, flag.help);
  } else {
    const std::string help = flag.help + " (default \"" + flag.default_text + "\")";
    option = command.add_option(name, help);
    option->expected(1)->allow_extra_args(false)->type_name(std::string(Name(flag.type)));
  }
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->group("Autoscaler: " + flag.topic);
  registered.emplace_back(flag.name, option);
}

}  // namespace

std::function<void()> AddAutoscalerFlags(CLI::App& command, std::vector<autoscaler::FlagValue>& values) {
  std::vector<std::pair<std::string, const CLI::Option*>> registered;
  for (const autoscaler::Flag& flag : autoscaler::Flags()) AddFlag(command, flag, registered);
  return [&values, registered = std::move(registered)] {
    for (const auto& [name, option] : registered) {
      for (const std::string& text : option->results()) values.push_back({name, text});
    }
  };
}

std::function<void()> AddScaleFlags(CLI::App& command, ScaleOptions& options) {
  AddFilenameFlag(command, options.files,
                  "NodeGroups, Nodes, Pods, PodDisruptionBudgets and so on; - is standard input (default: the live cluster)");
  AddKubeconfigFlags(command, options.cluster, "the live cluster");
  IsFile(command.add_option("--state", options.state,
                            "What the last call remembered; written by plan scale, which may begin without"));
  command.add_option("--now", options.now, "The time of the loop, RFC 3339 (default: the system's clock)");
  return AddAutoscalerFlags(command, options.flags);
}

base::Status PlanScale(const ScaleOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  EVENKEEL_TRY(CheckReport(options.report));
  EVENKEEL_ASSIGN(autoscaler::ScaleInput input, ReadInput(options));
  EVENKEEL_ASSIGN(const autoscaler::ScaleOutput output, Named(autoscaler::PlanScale(std::move(input)), options));
  if (!options.state.empty()) EVENKEEL_TRY(base::WriteFile(options.state, base::ToPrettyText(output.state) + "\n"));
  if (!options.report.file.empty()) {
    EVENKEEL_TRY(WriteReport(options.report, ScaleReport(output.result), base::SystemClock().Now()));
  }
  format == Format::kTable ? PrintScalePlan(out, output) : PrintValue(out, format, output.result);
  return {};
}

base::Status ExplainPod(const ScaleOptions& options, const std::string& pod, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  EVENKEEL_ASSIGN(autoscaler::ScaleInput input, ReadInput(options));
  EVENKEEL_ASSIGN(const autoscaler::PodExplanation explained,
                  Named(autoscaler::ExplainPodScale(std::move(input), pod), options));
  format == Format::kTable ? PrintPodExplanation(out, explained) : PrintValue(out, format, explained.json);
  return {};
}

base::Status ExplainNode(const ScaleOptions& options, const std::string& node, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  EVENKEEL_ASSIGN(autoscaler::ScaleInput input, ReadInput(options));
  EVENKEEL_ASSIGN(const Json json, Named(autoscaler::ExplainNodeScale(std::move(input), node), options));
  format == Format::kTable ? PrintNodeExplanation(out, json) : PrintValue(out, format, json);
  return {};
}

}  // namespace evenkeel::cli
