#include "balancing/model/settings.h"
#include "cli/tree/reference.h"

namespace evenkeel::cli {
namespace {

/// A group's parameters are named after metrics or node types and stand in a section of its name; an override's metrics are
/// elements below it.
std::string NameOf(const balancing::Parameter& parameter) {
  const std::string key = parameter.key == balancing::ParameterKey::kMetric ? "METRIC" : "NODE TYPE";
  if (parameter.key == balancing::ParameterKey::kNone) return "`" + parameter.name + "`";
  return "`" + parameter.name + "` / " + key;
}

}  // namespace

std::string SettingsReference() {
  std::string text = ReferenceTitle("Service Fabric's settings", "settings",
                                    "Parameters of Service Fabric's Cluster Resource Manager that `--manifest` reads, under "
                                    "their own names. All are checked; whoever "
                                    "sets one that has no effect is warned. METRIC and NODE TYPE: the parameters of a section "
                                    "of that name are named after them.");
  std::string topic;
  for (const balancing::Parameter& parameter : balancing::Parameters()) {
    if (parameter.topic != topic) {
      topic = parameter.topic;
      text += "\n## " + topic + "\n\n" + MarkdownHeader({"parameter", "section", "type", "range", "default", "seen", "effect"});
    }
    const std::string& why = parameter.no_effect;
    text += MarkdownRow({NameOf(parameter), parameter.section == parameter.name ? "" : parameter.section,
                         std::string(Name(parameter.type)), parameter.range,
                         parameter.default_text.empty() ? "" : "`" + parameter.default_text + "`",
                         std::string(Name(parameter.visibility)),
                         why.empty() ? parameter.help : "**none**: " + why + " (" + parameter.help + ")"});
  }
  return text;
}

}  // namespace evenkeel::cli
