// Fields of the autoscaler's memory that are always there, since the process before this one wrote them.
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/input/field.h"

namespace evenkeel::controllers::autoscaler {

/// kBadRequest, also where it is absent.
inline base::Status ReadTime(const base::Field& field, base::Time& into) {
  std::optional<base::Time> time;
  EVENKEEL_TRY(field.Required());
  EVENKEEL_TRY(field.Instant(time));
  into = *time;
  return {};
}

/// From `least` to `most`, both included; kBadRequest, also where it is absent.
inline base::Status ReadCount(const base::Field& field, int64_t& into, int64_t least = 0,
                              int64_t most = std::numeric_limits<int64_t>::max()) {
  EVENKEEL_TRY(field.Required());
  return field.Whole(into, least, most);
}

/// Adds them; none where it is absent.
inline base::Status ReadTexts(const base::Field& field, std::set<std::string, std::less<>>& into) {
  std::vector<std::string> texts;
  EVENKEEL_TRY(field.Texts(texts));
  into.insert(texts.begin(), texts.end());
  return {};
}

}  // namespace evenkeel::controllers::autoscaler
