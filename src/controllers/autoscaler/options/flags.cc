#include "controllers/autoscaler/options/flags.h"

#include "base/text.h"
#include "base/utf8.h"
#include "controllers/autoscaler/options/flag_table.h"
#include "controllers/autoscaler/options/flag_values.h"

namespace evenkeel::controllers::autoscaler {
namespace {

std::unexpected<base::Error> Refused(std::string_view message) {
  return base::Fail(base::Code::kBadRequest, std::string(message));
}

/// What flags must not be together. `given`: names of those on the command line.
base::Status CheckTogether(const Options& options, const std::set<std::string_view>& given) {
  if (!options.balancing_labels.empty() && !options.balancing_ignore_labels.empty()) {
    return Refused(
        "--balancing-label and --balancing-ignore-label exclude each other: the first replaces the comparison that the "
        "second changes");
  }
  if (!options.drain_priority_config.empty() && given.contains("max-graceful-termination-sec")) {
    return Refused("--max-graceful-termination-sec and --drain-priority-config exclude each other: both say how long pods get");
  }
  if (!options.allowed_scheduler_names.empty()) {
    for (const std::string& name : options.bypassed_scheduler_names) {
      if (std::ranges::find(options.allowed_scheduler_names, name) == options.allowed_scheduler_names.end()) {
        return Refused("--bypassed-scheduler-names: \"" + name + "\" is not among --allowed-scheduler-names");
      }
    }
  }
  const bool grpc = std::ranges::find(options.expander, "grpc") != options.expander.end();
  if (grpc && options.grpc_expander_url.empty()) return Refused("--expander=grpc needs --grpc-expander-url");
  return {};
}

}  // namespace

const std::vector<Flag>& Flags() {
  static const std::vector<Flag> kFlags = MakeFlagTable();
  return kFlags;
}

const Flag* FindFlag(std::string_view name) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, const Flag*> by_name;
    for (const Flag& flag : Flags()) by_name.emplace(flag.name, &flag);
    return by_name;
  }();
  const auto found = kByName.find(name);
  return found == kByName.end() ? nullptr : found->second;
}

const Flag* FindTypedFlag(std::string_view name) {
  std::string dashed(name);
  std::ranges::replace(dashed, '_', '-');
  return FindFlag(dashed);
}

Options DefaultsFor(Compat compat) {
  Options options;
  options.compat = compat;
  options.max_groups_per_loop = 1;
  options.consolidate = false;
  options.upstream_placement = true;
  options.negative_namespaces_match_all = compat == Compat::k1_37;
  options.learn_devices = false;
  if (compat == Compat::k1_26) {
    options.expander = {"random"};
    options.cordon_node_before_terminating = false;
    options.frequent_loops_enabled = false;
  }
  return options;
}

base::Result<Compat> ParseCompat(std::string_view text) {
  if (text == "1.37") return Compat::k1_37;
  if (text == "1.26") return Compat::k1_26;
  return Refused("\"" + base::OneLine(text) + "\": the versions whose rules are known are 1.37 and 1.26");
}

base::Result<AppliedFlags> ApplyFlags(std::span<const FlagValue> values) {
  AppliedFlags applied;
  for (const FlagValue& value : values) {
    if (value.name != "compat") continue;
    const auto compat = ParseCompat(value.text);
    if (!compat) return base::Fail(compat.error().Wrap("--compat"));
    applied.options = DefaultsFor(*compat);
  }
  std::set<std::string_view> given;
  for (const FlagValue& value : values) {
    const Flag* flag = FindFlag(value.name);
    if (flag == nullptr) return Refused("--" + base::OneLine(value.name) + ": no such flag");
    EVENKEEL_TRY(flag->set(applied.options, value.text));
    given.insert(flag->name);
    if (flag->no_effect.empty() || value.text == flag->default_text) continue;
    std::string warning = "--" + flag->name + "=" + value.text + " has no effect: " + flag->no_effect;
    if (std::ranges::find(applied.warnings, warning) == applied.warnings.end()) applied.warnings.push_back(std::move(warning));
  }
  EVENKEEL_TRY(CheckTogether(applied.options, given));
  return applied;
}

base::Result<std::vector<FlagValue>> ParseMemberFlags(std::string_view text) {
  std::vector<FlagValue> flags;
  while (true) {
    const size_t begin = text.find_first_not_of(base::kBlanks);
    if (begin == std::string_view::npos) return flags;
    text.remove_prefix(begin);
    std::string_view word = text.substr(0, text.find_first_of(base::kBlanks));
    text.remove_prefix(word.size());
    if (!word.starts_with('-')) return Refused("\"" + std::string(word.substr(0, 100)) + "\" is not --NAME=VALUE");
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const size_t equals = word.find('=');
    const Flag* flag = FindTypedFlag(word.substr(0, equals));
    flags.push_back({flag == nullptr ? std::string(word.substr(0, equals)) : flag->name,
                     equals == std::string_view::npos ? "true" : std::string(word.substr(equals + 1))});
  }
}

std::vector<FlagValue> OverlayFlags(std::span<const FlagValue> under, std::span<const FlagValue> over) {
  std::vector<FlagValue> all;
  for (const FlagValue& value : under) {
    if (std::ranges::find(over, value.name, &FlagValue::name) == over.end()) all.push_back(value);
  }
  all.insert(all.end(), over.begin(), over.end());
  return all;
}

base::Result<AppliedFlags> ApplyMemberFlags(std::span<const FlagValue> fleet, std::string_view member) {
  EVENKEEL_ASSIGN(const std::vector<FlagValue> own, ParseMemberFlags(member));
  return ApplyFlags(OverlayFlags(fleet, own));
}

}  // namespace evenkeel::controllers::autoscaler
