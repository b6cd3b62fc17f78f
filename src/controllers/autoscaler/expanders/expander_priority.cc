// The expander "priority": an operator's own order of node groups, by patterns for their names.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/expander/priority/priority.go
#include "base/input/field.h"
#include "base/input/yaml.h"
#include "base/parse_number.h"
#include "base/pattern.h"
#include "controllers/autoscaler/expanders/expander.h"
#include "controllers/autoscaler/options/event_kinds.h"

namespace evenkeel::controllers::autoscaler {
namespace {

constexpr const char* kConfigMap = "cluster-autoscaler-priority-expander";

struct Level {
  int64_t priority;
  std::vector<std::shared_ptr<const base::Pattern>> patterns;
};

/// Highest first.
base::Result<std::vector<Level>> ParsePriorities(const std::string& text) {
  EVENKEEL_ASSIGN(const base::Json config, base::ParseYamlDocument(text, "priorities", base::YamlDuplicates::kLastCounts));
  const base::Field fields(&config, "priorities", "", base::Code::kInvalid);
  std::vector<Level> levels;
  EVENKEEL_TRY(fields.ForEachMember([&](std::string_view key, const base::Field& patterns) -> base::Status {
    const auto priority = base::ParseNumber<int64_t>(key);
    if (!priority) return patterns.Wrong("its name is not a whole number");
    Level& level = levels.emplace_back(Level{*priority, {}});
    EVENKEEL_TRY(patterns.Required("a list of patterns is expected"));
    return patterns.ForEach([&](const base::Field& pattern) -> base::Status {
      std::string regex;
      EVENKEEL_TRY(pattern.Required());
      EVENKEEL_TRY(pattern.Text(regex));
      auto parsed = base::Pattern::Parse(regex);
      if (!parsed) return pattern.Wrong(parsed.error().message());
      level.patterns.push_back(*std::move(parsed));
      return {};
    });
  }));
  if (levels.empty()) return fields.Wrong("a map of priorities to lists of patterns is expected");
  std::ranges::sort(levels, std::greater<>(), &Level::priority);
  return levels;
}

class Priority final : public ExpanderStrategy {
 public:
  std::vector<size_t> Best(std::span<const ExpanderOption> options, std::vector<size_t> candidates,
                           ExpanderContext& context) const override {
    if (!context.priorities) {
      context.events.push_back(
          {events::kPriorityConfigMapNotFound.reason, std::string("Priority expander config map ") + context.ns + "/" +
                                                          kConfigMap + " not found: make it, or choose another expander"});
      return candidates;
    }
    const auto levels = ParsePriorities(*context.priorities);
    if (!levels) {
      context.events.push_back({events::kPriorityConfigMapInvalid.reason, "Wrong configuration for priority expander: " +
                                                                              levels.error().message() + ". Ignoring update."});
      return candidates;
    }
    std::vector<size_t> best;
    int64_t highest = 0;
    for (const size_t candidate : candidates) {
      const std::string& group = options[candidate].group->id;
      const Level* level = Find(*levels, group);
      if (level == nullptr) {
        context.events.push_back({events::kPriorityConfigMapNotMatchedGroup.reason,
                                  "Priority expander: node group " + group +
                                      " not found in priority expander configuration. The group won't be used."});
        continue;
      }
      if (!best.empty() && level->priority < highest) continue;
      if (!best.empty() && level->priority > highest) best.clear();
      highest = level->priority;
      best.push_back(candidate);
    }
    return best.empty() ? candidates : best;
  }

 private:
  static const Level* Find(const std::vector<Level>& levels, const std::string& group) {
    for (const Level& level : levels) {
      const auto matches = [&](const auto& pattern) { return pattern->Matches(group); };
      if (std::ranges::any_of(level.patterns, matches)) return &level;
    }
    return nullptr;
  }
};

}  // namespace

std::unique_ptr<ExpanderStrategy> MakePriority() { return std::make_unique<Priority>(); }

}  // namespace evenkeel::controllers::autoscaler
