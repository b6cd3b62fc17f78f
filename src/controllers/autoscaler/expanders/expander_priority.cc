// The expander "priority": an operator's own order of node groups, by patterns for their names.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/expander/priority/priority.go
#include <charconv>

#include "base/input/yaml.h"
#include "base/pattern.h"
#include "controllers/autoscaler/expanders/expander.h"
#include "controllers/autoscaler/options/event_kinds.h"

namespace evenkeel::controllers::autoscaler {
namespace {

using base::Code;
using base::Fail;

constexpr const char* kConfigMap = "cluster-autoscaler-priority-expander";

struct Level {
  int64_t priority;
  std::vector<std::shared_ptr<const base::Pattern>> patterns;
};

/// Highest first.
base::Result<std::vector<Level>> ParsePriorities(const std::string& text) {
  EVENKEEL_ASSIGN(const base::Json config, base::ParseYamlDocument(text, "priorities", base::YamlDuplicates::kLastCounts));
  if (!config.is_object() || config.as_object().empty()) {
    return Fail(Code::kInvalid, "priorities: expected a map of priorities to lists of patterns");
  }
  std::vector<Level> levels;
  for (const auto& [key, patterns] : config.as_object()) {
    Level level{};
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), level.priority);
    if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size()) {
      return Fail(Code::kInvalid, "priorities: \"" + std::string(key) + "\" is not a number");
    }
    if (!patterns.is_array()) return Fail(Code::kInvalid, "priorities: " + std::string(key) + " is not a list of patterns");
    for (const base::Json& pattern : patterns.as_array()) {
      if (!pattern.is_string())
        return Fail(Code::kInvalid, "priorities: " + std::string(key) + " has an entry that is no text");
      auto parsed_pattern = base::Pattern::Parse(pattern.get_string());
      if (!parsed_pattern) {
        return Fail(Code::kInvalid,
                    "pattern \"" + std::string(pattern.get_string()) + "\": " + parsed_pattern.error().message());
      }
      level.patterns.push_back(*std::move(parsed_pattern));
    }
    levels.push_back(std::move(level));
  }
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
