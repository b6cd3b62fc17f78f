#include "controllers/autoscaler/options/flag_values.h"

#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace evenkeel::controllers::autoscaler {
namespace {

constexpr std::array<std::string_view, 7> kExpanders = {"random", "most-pods", "least-waste", "least-nodes",
                                                        "price",  "priority",  "grpc"};

std::unexpected<base::Error> Wrong(std::string_view text, std::string_view what) {
  return base::Fail(base::Code::kBadRequest, "\"" + base::OneLine(text) + "\": " + std::string(what));
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Both parts are numbers of at least `least`, the second not below the first.
base::Result<ResourceRange> Range(std::string_view text, std::string_view min, std::string_view max, int64_t least) {
  const auto low = ParseInteger(min), high = ParseInteger(max);
  if (!low) return Wrong(text, "the minimum is not a whole number");
  if (!high) return Wrong(text, "the maximum is not a whole number");
  if (*low < least) return Wrong(text, "the minimum must be at least " + std::to_string(least));
  if (*high < *low) return Wrong(text, "the maximum is less than the minimum");
  return ResourceRange{*low, *high};
}

}  // namespace

base::Result<bool> ParseBool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "true", "True", "TRUE"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "false", "False", "FALSE"}) {
    if (text == no) return false;
  }
  return Wrong(text, "not true or false");
}

base::Result<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return Wrong(text, "not a whole number");
  return value;
}

base::Result<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return Wrong(text, "not a number");
  }
  return value;
}

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
  if (colon == std::string_view::npos) return Wrong(text, "not of the form min:max");
  return Range(text, text.substr(0, colon), text.substr(colon + 1), 0);
}

base::Result<std::pair<std::string, ResourceRange>> ParseGpuRange(std::string_view text) {
  const size_t last = text.rfind(':');
  const size_t first = last == std::string_view::npos || last == 0 ? std::string_view::npos : text.rfind(':', last - 1);
  if (first == std::string_view::npos) return Wrong(text, "not of the form type:min:max");
  if (Trim(text.substr(0, first)).empty()) return Wrong(text, "the type is blank");
  EVENKEEL_ASSIGN(const ResourceRange range, Range(text, text.substr(first + 1, last - first - 1), text.substr(last + 1), 0));
  return std::pair{std::string(text.substr(0, first)), range};
}

base::Result<std::vector<std::pair<int64_t, int64_t>>> ParseDrainPriorities(std::string_view text) {
  std::vector<std::pair<int64_t, int64_t>> groups;
  for (const std::string& item : SplitList(text)) {
    const size_t colon = item.find(':');
    if (colon == std::string::npos) return Wrong(item, "not of the form priority:seconds");
    const auto priority = ParseInteger(std::string_view(item).substr(0, colon));
    const auto seconds = ParseInteger(std::string_view(item).substr(colon + 1));
    if (!priority || *priority < INT32_MIN || *priority > INT32_MAX) return Wrong(item, "the priority is not a 32 bit number");
    if (!seconds || *seconds < 0 || *seconds > INT32_MAX) return Wrong(item, "the seconds are not a number of at least 0");
    groups.emplace_back(*priority, *seconds);
  }
  std::ranges::sort(groups);
  const auto twice = std::ranges::adjacent_find(groups, {}, &std::pair<int64_t, int64_t>::first);
  if (twice != groups.end()) return Wrong(text, "priority " + std::to_string(twice->first) + " is there twice");
  return groups;
}

base::Result<std::vector<std::string>> ParseExpanders(std::string_view text) {
  std::vector<std::string> names = SplitList(text);
  if (names.empty()) return Wrong(text, "no expander is named");
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::find(kExpanders, std::string_view(names[i])) == kExpanders.end()) {
      return Wrong(names[i], "no such expander: random, most-pods, least-waste, least-nodes, price, priority, grpc");
    }
    if (std::ranges::count(names, names[i]) > 1) return Wrong(text, names[i] + " is there twice");
    if (names[i] == "random" && i + 1 < names.size()) return Wrong(text, "random leaves nothing for those after it to choose");
  }
  return names;
}

}  // namespace evenkeel::controllers::autoscaler
