#include "controllers/autoscaler/options/flag_values.h"

#include "base/input/option.h"
#include "base/parse_number.h"

namespace evenkeel::controllers::autoscaler {
namespace {

constexpr std::array<std::string_view, 7> kExpanders = {"random", "most-pods", "least-waste", "least-nodes",
                                                        "price",  "priority",  "grpc"};

using base::WrongOption;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Both parts are numbers of at least `least`, the second not below the first.
base::Result<ResourceRange> Range(std::string_view text, std::string_view min, std::string_view max, int64_t least) {
  const auto low = base::ParseNumber<int64_t>(min), high = base::ParseNumber<int64_t>(max);
  if (!low) return WrongOption(text, "the minimum is not a whole number");
  if (!high) return WrongOption(text, "the maximum is not a whole number");
  if (*low < least) return WrongOption(text, "the minimum must be at least " + std::to_string(least));
  if (*high < *low) return WrongOption(text, "the maximum is less than the minimum");
  return ResourceRange{*low, *high};
}

}  // namespace

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (const std::string_view trimmed = Trim(item); !trimmed.empty()) items.emplace_back(trimmed);
  }
  return items;
}

base::Result<ResourceRange> ParseRange(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return WrongOption(text, "not of the form min:max");
  return Range(text, text.substr(0, colon), text.substr(colon + 1), 0);
}

base::Result<std::pair<std::string, ResourceRange>> ParseGpuRange(std::string_view text) {
  const size_t last = text.rfind(':');
  const size_t first = last == std::string_view::npos || last == 0 ? std::string_view::npos : text.rfind(':', last - 1);
  if (first == std::string_view::npos) return WrongOption(text, "not of the form type:min:max");
  if (Trim(text.substr(0, first)).empty()) return WrongOption(text, "the type is blank");
  EVENKEEL_ASSIGN(const ResourceRange range, Range(text, text.substr(first + 1, last - first - 1), text.substr(last + 1), 0));
  return std::pair{std::string(text.substr(0, first)), range};
}

base::Result<std::vector<std::pair<int64_t, int64_t>>> ParseDrainPriorities(std::string_view text) {
  std::vector<std::pair<int64_t, int64_t>> groups;
  for (const std::string& item : SplitList(text)) {
    const size_t colon = item.find(':');
    if (colon == std::string::npos) return WrongOption(item, "not of the form priority:seconds");
    const auto priority = base::ParseNumber<int64_t>(std::string_view(item).substr(0, colon));
    const auto seconds = base::ParseNumber<int64_t>(std::string_view(item).substr(colon + 1));
    if (!priority || *priority < INT32_MIN || *priority > INT32_MAX)
      return WrongOption(item, "the priority is not a 32 bit number");
    if (!seconds || *seconds < 0 || *seconds > INT32_MAX)
      return WrongOption(item, "the seconds are not a number of at least 0");
    groups.emplace_back(*priority, *seconds);
  }
  std::ranges::sort(groups);
  const auto twice = std::ranges::adjacent_find(groups, {}, &std::pair<int64_t, int64_t>::first);
  if (twice != groups.end()) return WrongOption(text, "priority " + std::to_string(twice->first) + " is there twice");
  return groups;
}

base::Result<std::vector<std::string>> ParseExpanders(std::string_view text) {
  std::vector<std::string> names = SplitList(text);
  if (names.empty()) return WrongOption(text, "no expander is named");
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::find(kExpanders, std::string_view(names[i])) == kExpanders.end()) {
      return WrongOption(names[i], "no such expander: random, most-pods, least-waste, least-nodes, price, priority, grpc");
    }
    if (std::ranges::count(names, names[i]) > 1) return WrongOption(text, names[i] + " is there twice");
    if (names[i] == "random" && i + 1 < names.size())
      return WrongOption(text, "random leaves nothing for those after it to choose");
  }
  return names;
}

}  // namespace evenkeel::controllers::autoscaler
