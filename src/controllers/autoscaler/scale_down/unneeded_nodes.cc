#include "controllers/autoscaler/scale_down/unneeded_nodes.h"

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

base::Result<UnneededNodes> UnneededNodes::FromJson(const base::Json& json) {
  UnneededNodes nodes;
  if (!json.is_object()) return base::Fail(base::Code::kBadRequest, "unneeded nodes: not an object of times by node");
  for (const auto& [name, value] : json.get_object()) {
    const auto since = base::ParseTime(value.is_string() ? std::string_view(value.get_string()) : std::string_view());
    if (!since) return base::Fail(since.error().Wrap("unneeded nodes: node " + std::string(name)));
    nodes.since_.emplace(name, *since);
  }
  return nodes;
}

}  // namespace evenkeel::controllers::autoscaler
