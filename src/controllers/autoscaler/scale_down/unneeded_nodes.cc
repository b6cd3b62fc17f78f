#include "controllers/autoscaler/scale_down/unneeded_nodes.h"

#include "controllers/autoscaler/facts/state_fields.h"

namespace evenkeel::controllers::autoscaler {

void UnneededNodes::Update(std::span<const std::string_view> names, base::Time now) {
  std::map<std::string, base::Time, std::less<>> next;
  for (const std::string_view name : names) {
    auto known = since_.find(name);
    if (known != since_.end()) {
      next.insert(since_.extract(known));
    } else {
      next.emplace(name, now);
    }
  }
  since_ = std::move(next);
}

void UnneededNodes::Seed(std::string_view name, base::Time since) { since_.try_emplace(std::string(name), since); }

std::optional<base::Time> UnneededNodes::Since(std::string_view name) const {
  const auto found = since_.find(name);
  if (found == since_.end()) return std::nullopt;
  return found->second;
}

base::Json UnneededNodes::ToJson() const {
  base::JsonObject object;
  for (const auto& [name, since] : since_) object[name] = base::FormatMicroTime(since);
  return object;
}

base::Result<UnneededNodes> UnneededNodes::Read(const base::Field& fields) {
  UnneededNodes nodes;
  EVENKEEL_TRY(fields.ForEachMember([&](std::string_view name, const base::Field& since) -> base::Status {
    return ReadTime(since, nodes.since_[std::string(name)]);
  }));
  return nodes;
}

}  // namespace evenkeel::controllers::autoscaler
