#include "cli/commands/scale.h"

#include <CLI/CLI.hpp>

#include <filesystem>

#include "base/input/file.h"
#include "base/json.h"
#include "cli/clusters/cloud_provider.h"
#include "cli/clusters/command_flags.h"
#include "cli/clusters/live_cluster.h"
#include "cli/clusters/plan_report.h"
#include "cli/commands/scale_tables.h"
#include "cli/terminal/input_file.h"
#include "cli/terminal/output.h"
#include "cli/terminal/printable.h"
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

/// The member that a question goes to, and the flags that count there: those of the command line go before those of the
/// member's annotation.
struct LiveMember {
  AskedMember asked;
  std::vector<autoscaler::FlagValue> flags;
};

base::Result<LiveMember> FindLive(const ScaleOptions& options, const Wanted* wanted) {
  if (!options.state.empty()) {
    return base::Fail(base::Code::kBadRequest, "--state goes with -f: a live cluster keeps what its autoscaler remembers");
  }
  LiveMember live;
  EVENKEEL_ASSIGN(live.asked, AskMember(options.member, wanted));
  auto flags = autoscaler::ParseMemberFlags(live.asked.autoscaler_args);
  if (!flags) {
    return base::Fail(flags.error().Wrap(live.asked.name + ": annotation " +
                                         std::string(controllers::distribution::kAutoscalerArgsAnnotation)));
  }
  live.flags = OverlayFlags(*flags, options.flags);
  return live;
}

base::Status ReadLive(const HubOptions& api, autoscaler::ScaleInput& input) {
  if (input.options.cloud_provider.empty()) input.options.cloud_provider = "embedded";
  EVENKEEL_ASSIGN(const ProviderMaker make, MakeProviderMaker(input.options, {}, base::SystemClock(), base::Random(1)));
  EVENKEEL_ASSIGN(const std::unique_ptr<client::Client> cluster, ConnectToHub(api));
  EVENKEEL_ASSIGN(const std::unique_ptr<providers::Provider> provider, make(*cluster, [](auto other) { return other; }));
  std::string warning;
  EVENKEEL_TRY(ReadLiveCluster(*cluster, *provider, input, warning));
  if (!warning.empty()) PrintWarning("the autoscaler's memory cannot be read: " + warning);
  return {};
}

struct Input {
  autoscaler::ScaleInput scale;
  std::string member;  ///< label of the member that the hub was asked about; "": it was not
  bool found = false;  ///< the member was looked for
};

/// `wanted`: what the question is about; null: the cluster as a whole.
base::Result<Input> ReadInput(const ScaleOptions& options, const Wanted* wanted) {
  Input input;
  LiveMember live{{}, options.flags};
  if (options.files.empty()) {
    EVENKEEL_ASSIGN(live, FindLive(options, wanted));
    input.member = live.asked.name;
    input.found = live.asked.found;
  } else if (!options.member.cluster.empty()) {
    return base::Fail(base::Code::kBadRequest, "--cluster goes with a live hub, not with -f");
  }
  EVENKEEL_ASSIGN(autoscaler::AppliedFlags applied, autoscaler::ApplyFlags(live.flags));
  for (const std::string& warning : applied.warnings) PrintWarning(warning);
  autoscaler::ScaleInput& scale = input.scale;
  scale.options = std::move(applied.options);
  scale.clock = &base::SystemClock();
  scale.now = scale.clock->Now();
  if (!options.now.empty()) {
    const auto now = base::ParseTime(options.now);
    if (!now) return base::Fail(now.error().Wrap("--now"));
    scale.now = *now;
  }
  if (options.files.empty()) {
    EVENKEEL_TRY(ReadLive(live.asked.api, scale));
    return input;
  }
  EVENKEEL_ASSIGN(scale.state, ReadState(options.state));
  EVENKEEL_ASSIGN(scale.objects, ReadManifestFiles(options.files));
  return input;
}

/// People hear where it was found, programs the member that was asked.
void PrintMember(const Input& input, Format format, Json& json, std::ostream& out) {
  if (input.member.empty()) return;
  json.as_object()["cluster"] = input.member;
  if (format == Format::kTable && input.found) out << "found in " << Printable(input.member) << '\n';
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
  AddMemberFlags(command, options.member, "the live cluster");
  IsFile(command.add_option("--state", options.state,
                            "What the last call remembered; written by plan scale, which may begin without"));
  command.add_option("--now", options.now, "The time of the loop, RFC 3339 (default: the system's clock)");
  return AddAutoscalerFlags(command, options.flags);
}

base::Status PlanScale(const ScaleOptions& options, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  EVENKEEL_TRY(CheckReport(options.report));
  EVENKEEL_ASSIGN(Input input, ReadInput(options, nullptr));
  EVENKEEL_ASSIGN(const autoscaler::ScaleOutput output, Named(autoscaler::PlanScale(std::move(input.scale)), options));
  if (!options.state.empty()) EVENKEEL_TRY(base::WriteFile(options.state, base::ToPrettyText(output.state) + "\n"));
  if (!options.report.file.empty()) {
    EVENKEEL_TRY(WriteReport(options.report, ScaleReport(output.result), base::SystemClock().Now()));
  }
  format == Format::kTable ? PrintScalePlan(out, output) : PrintValue(out, format, output.result);
  return {};
}

base::Status ExplainPod(const ScaleOptions& options, const std::string& pod, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  const std::string key = pod.contains('/') ? pod : "default/" + pod;
  const size_t slash = key.find('/');
  const Wanted wanted{kube::resources::Pods(), key.substr(0, slash), key.substr(slash + 1), "pod " + key};
  EVENKEEL_ASSIGN(Input input, ReadInput(options, &wanted));
  EVENKEEL_ASSIGN(autoscaler::PodExplanation explained,
                  Named(autoscaler::ExplainPodScale(std::move(input.scale), key), options));
  PrintMember(input, format, explained.json, out);
  format == Format::kTable ? PrintPodExplanation(out, explained) : PrintValue(out, format, explained.json);
  return {};
}

base::Status ExplainNode(const ScaleOptions& options, const std::string& node, std::ostream& out) {
  EVENKEEL_ASSIGN(const Format format, ParseFormat(options.output));
  const Wanted wanted{kube::resources::Nodes(), "", node, "node " + node};
  EVENKEEL_ASSIGN(Input input, ReadInput(options, &wanted));
  EVENKEEL_ASSIGN(Json json, Named(autoscaler::ExplainNodeScale(std::move(input.scale), node), options));
  PrintMember(input, format, json, out);
  format == Format::kTable ? PrintNodeExplanation(out, json) : PrintValue(out, format, json);
  return {};
}

}  // namespace evenkeel::cli
