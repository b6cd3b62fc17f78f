// The command line of the autoscaler: cluster-autoscaler's flags by name, as a table. A command line registers it,
// documentation is made from it, and ApplyFlags turns what was given into Options.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/config/flags/flags.go
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/input/option.h"
#include "controllers/autoscaler/options/options.h"

namespace evenkeel::controllers::autoscaler {

struct Flag : base::Option {  ///< named without dashes; one without effect is accepted so that upstream's command lines work
  std::string default_text_1_26;
  /// Reads the text into the options; that of a flag without effect is only checked. The error names the flag.
  std::function<base::Status(Options&, std::string_view)> set;
};

/// All of them, in the order in which they are documented. Made once.
const std::vector<Flag>& Flags();
/// Null when there is none of that name.
const Flag* FindFlag(std::string_view name);
/// The same with underscores for dashes, as cluster-autoscaler takes them.
const Flag* FindTypedFlag(std::string_view name);

/// Defaults of --compat; with k1_26 those of 1.26. Without a --compat use Options{}: 1.37 and our own extras.
Options DefaultsFor(Compat compat);
base::Result<Compat> ParseCompat(std::string_view text);

struct FlagValue {
  std::string name, text;
};
struct AppliedFlags {
  Options options;
  std::vector<std::string>
      warnings;  ///< one line each: flags without effect that were set to something else than their default
};

/// --compat counts first, wherever it stands; the others in their order, the last one wins. Then what they must not be
/// together. kBadRequest names the flag.
base::Result<AppliedFlags> ApplyFlags(std::span<const FlagValue> values);

/// "--NAME=VALUE" and "--NAME", separated by spaces, as the annotation of a member has them; one dash and underscores will do.
/// kBadRequest names the word.
base::Result<std::vector<FlagValue>> ParseMemberFlags(std::string_view text);
/// All flags of `under`, but for those that `over` has, and then those.
std::vector<FlagValue> OverlayFlags(std::span<const FlagValue> under, std::span<const FlagValue> over);

/// The flags of a fleet, and after them those of one member: "--NAME=VALUE" and "--NAME", separated by spaces. What the member
/// says replaces all that the fleet says of a flag, also of one that can be given several times. kBadRequest names the word.
base::Result<AppliedFlags> ApplyMemberFlags(std::span<const FlagValue> fleet, std::string_view member);

}  // namespace evenkeel::controllers::autoscaler
