#include "balancing/search/search_levels.h"

#include <functional>
#include <set>

namespace evenkeel::balancing {

SearchLevels::SearchLevels(const Arrangement& arrangement, Purpose purpose, bool light, bool relax)
    : arrangement_(arrangement), purpose_(purpose), light_(light) {
  std::set<int64_t, std::greater<>> priorities = {0};
  for (size_t i = 0; i < kConstraints; ++i) {
    const int64_t priority = balancing::PriorityOf(arrangement.settings(), static_cast<Constraint>(i));
    if (priority > 0) priorities.insert(priority);
  }
  priorities_.assign(priorities.begin(), priorities.end());
  if (!relax) priorities_.resize(1);
  made_.resize(priorities_.size());
  ignored_.resize(priorities_.size());
}

void SearchLevels::AddWithout(Constraint constraint) {
  priorities_.push_back(priorities_.back());
  ignored_.push_back(static_cast<uint16_t>(1 << static_cast<int>(constraint)));
  made_.emplace_back();
}

const Constraints& SearchLevels::operator[](size_t level) {
  if (made_[level] == nullptr) {
    const ConstraintOptions options{
        .purpose = purpose_, .max_priority = priorities_[level], .light = light_, .ignored = ignored_[level]};
    made_[level] = std::make_unique<Constraints>(arrangement_, options);
  }
  return *made_[level];
}

}  // namespace evenkeel::balancing
