#include "base/input/nearest_name.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace evenkeel::base {
namespace {

// What is longer is no slip of the pen, and the distance is quadratic.
constexpr size_t kWordBytesMax = 200;

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  // Of the first i letters of a: this row, and those of one and of two letters fewer.
  std::vector<size_t> row(b.size() + 1), above(b.size() + 1), second(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    second.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], second[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view NearestName(std::string_view word, std::span<const std::string_view> names) {
  if (word.size() > kWordBytesMax) return {};
  const std::string lower = Lower(word);
  std::string_view nearest;
  size_t best = word.size() / 3 + 1;
  for (const std::string_view name : names) {
    const size_t difference = name.size() > word.size() ? name.size() - word.size() : word.size() - name.size();
    if (difference >= best) continue;
    const size_t distance = EditDistance(lower, Lower(name));
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string NearestNameHint(std::string_view word, std::span<const std::string_view> names) {
  const std::string_view nearest = NearestName(word, names);
  return nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?";
}

}  // namespace evenkeel::base
