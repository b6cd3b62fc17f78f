#include "balancing/rules/throttles.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "balancing/model/amount_text.h"

namespace evenkeel::balancing {
namespace {

using base::Json;

// A share that stands for a whole number, as 0.07 of 100, must not become one more by the last bit of a double.
int64_t ShareOf(double share, int64_t whole) {
  return std::clamp(static_cast<int64_t>(std::ceil(share * static_cast<double>(whole) - 1e-9)), int64_t{0}, whole);
}

struct Limit {
  int64_t absolute;
  double share;
  std::string_view name, share_name;  // the parameters that set them
  int64_t used;
};

void Tighten(Allowance& allowance, const Limit& limit, int64_t existing_replicas, double window) {
  const int64_t most = MovementLimit(limit.absolute, limit.share, existing_replicas);
  if (most == kUnlimited || window <= 0) return;
  const int64_t remaining = std::max<int64_t>(most - limit.used, 0);
  if (remaining >= allowance.remaining) return;
  const bool by_number = most == limit.absolute;
  allowance = {remaining, fmt::format("{} of {} movements were made in the last {} ({})", limit.used, most, SecondsText(window),
                                      by_number ? limit.name : limit.share_name)};
}

}  // namespace

void SlidingCounter::Record(double now, int64_t events, double window) {
  now = std::max(now, latest());
  const int64_t before = entries_.empty() ? dropped_ : entries_.back().total;
  if (!entries_.empty() && entries_.back().at == now) {
    entries_.back().total += events;
  } else {
    entries_.push_back({now, before + events});
  }
  while (entries_.front().at <= now - window && entries_.size() > 1) {
    dropped_ = entries_.front().total;
    entries_.pop_front();
  }
}

int64_t SlidingCounter::Count(double now, double window) const {
  if (window <= 0) return 0;
  // Both ends by search: someone may ask about an instant before the latest one.
  const auto total_until = [&](double instant) {
    const auto after = std::ranges::upper_bound(entries_, instant, {}, &Entry::at);
    return after == entries_.begin() ? dropped_ : std::prev(after)->total;
  };
  return total_until(now) - total_until(now - window);
}

Json SlidingCounter::ToJson() const {
  base::JsonArray entries;
  int64_t before = dropped_;
  for (const Entry& entry : entries_) {
    entries.push_back(base::JsonArray{entry.at, entry.total - before});
    before = entry.total;
  }
  return entries;
}

base::Result<SlidingCounter> SlidingCounter::Read(const base::Field& of) {
  SlidingCounter counter;
  EVENKEEL_TRY(of.ForEach(
      [&](const base::Field& item) -> base::Status {
        const base::JsonArray* pair = item ? item.value().if_array() : nullptr;
        if (pair == nullptr || pair->size() != 2) return item.Wrong("not a pair of an instant and a whole number");
        double at = counter.latest();
        int64_t events = 0;
        EVENKEEL_TRY(item.Item(0).Number(at, std::numeric_limits<double>::lowest()));
        EVENKEEL_TRY(item.Item(1).Whole(events, 1, INT32_MAX));
        if (events == 0) return item.Item(1).Wrong("missing");
        if (at <= counter.latest()) return item.Wrong("not later than the one before");
        const int64_t before = counter.entries_.empty() ? 0 : counter.entries_.back().total;
        counter.entries_.push_back({at, before + events});
        return {};
      },
      "instants and numbers"));
  return counter;
}

bool SlidingCounter::operator==(const SlidingCounter& other) const {
  return std::ranges::equal(entries_, other.entries_, [&](const Entry& a, const Entry& b) {
    return a.at == b.at && a.total - dropped_ == b.total - other.dropped_;
  });
}

int64_t MovementLimit(int64_t absolute, double share, int64_t existing_replicas) {
  int64_t limit = absolute > 0 ? absolute : kUnlimited;
  if (share > 0) limit = std::min(limit, ShareOf(share, existing_replicas));
  return limit;
}

void MovementThrottles::Record(const Settings& settings, Movement::Phase phase, std::string_view partition, double now) {
  const double window = settings.global_movement_throttle_counting_interval;
  if (phase == Movement::Phase::kPlacement) placement_.Record(now, 1, window);
  if (phase != Movement::Phase::kBalancing) return;
  balancing_.Record(now, 1, window);
  const double own_window = settings.movement_per_partition_throttle_counting_interval;
  if (partition.empty() || own_window <= 0) return;
  partitions_[std::string(partition)].Record(now, 1, own_window);
  // Each time as many movements as there are partitions have been told, so that each pays for one look.
  if (--records_until_cleaning_ > 0) return;
  DropOldPartitions(now, own_window);
  records_until_cleaning_ = static_cast<int64_t>(partitions_.size());
}

void MovementThrottles::DropOldPartitions(double now, double window) {
  std::erase_if(partitions_, [&](const auto& item) { return item.second.latest() <= now - window; });
}

Allowance MovementThrottles::Allowed(const Settings& settings, Movement::Phase phase, int64_t existing_replicas,
                                     double now) const {
  Allowance allowance;
  if (phase == Movement::Phase::kConstraintCheck) return allowance;
  const double window = settings.global_movement_throttle_counting_interval;
  const int64_t placement = placement_.Count(now, window), balancing = balancing_.Count(now, window);
  const Limit total{settings.global_movement_throttle_threshold, settings.global_movement_throttle_threshold_percentage,
                    "GlobalMovementThrottleThreshold", "GlobalMovementThrottleThresholdPercentage", placement + balancing};
  Tighten(allowance, total, existing_replicas, window);
  const Limit own = phase == Movement::Phase::kPlacement
                        ? Limit{settings.global_movement_throttle_threshold_for_placement,
                                settings.global_movement_throttle_threshold_percentage_for_placement,
                                "GlobalMovementThrottleThresholdForPlacement",
                                "GlobalMovementThrottleThresholdPercentageForPlacement", placement}
                        : Limit{settings.global_movement_throttle_threshold_for_balancing,
                                settings.global_movement_throttle_threshold_percentage_for_balancing,
                                "GlobalMovementThrottleThresholdForBalancing",
                                "GlobalMovementThrottleThresholdPercentageForBalancing", balancing};
  Tighten(allowance, own, existing_replicas, window);
  return allowance;
}

bool MovementThrottles::PartitionThrottled(const Settings& settings, std::string_view partition, double now) const {
  const int64_t limit = settings.movement_per_partition_throttle_threshold;
  const auto found = partitions_.find(partition);
  return limit > 0 && found != partitions_.end() &&
         found->second.Count(now, settings.movement_per_partition_throttle_counting_interval) >= limit;
}

std::vector<std::string> MovementThrottles::ThrottledPartitions(const Settings& settings, double now) const {
  std::vector<std::string> throttled;
  for (const auto& [partition, counter] : partitions_) {
    if (PartitionThrottled(settings, partition, now)) throttled.push_back(partition);
  }
  return throttled;
}

Json MovementThrottles::ToJson() const {
  base::JsonObject partitions;
  for (const auto& [partition, counter] : partitions_) partitions[partition] = counter.ToJson();
  return base::JsonObject{
      {"placement", placement_.ToJson()}, {"balancing", balancing_.ToJson()}, {"partitions", std::move(partitions)}};
}

base::Result<MovementThrottles> MovementThrottles::Read(const base::Field& of) {
  EVENKEEL_TRY(of.IsObject());
  MovementThrottles throttles;
  EVENKEEL_ASSIGN(throttles.placement_, SlidingCounter::Read(of["placement"]));
  EVENKEEL_ASSIGN(throttles.balancing_, SlidingCounter::Read(of["balancing"]));
  EVENKEEL_TRY(of["partitions"].ForEachMember([&](std::string_view partition, const base::Field& counter) -> base::Status {
    EVENKEEL_ASSIGN(throttles.partitions_[std::string(partition)], SlidingCounter::Read(counter));
    return {};
  }));
  return throttles;
}

MovementThrottles ThrottlesOf(const Settings& settings, const Cluster& cluster) {
  std::vector<const Movement*> in_order;
  for (const Movement& movement : cluster.history.movements) in_order.push_back(&movement);
  std::ranges::stable_sort(in_order, {}, &Movement::at);
  MovementThrottles throttles;
  for (const Movement* movement : in_order) {
    const bool known = movement->partition != kNoId;
    throttles.Record(settings, movement->phase, known ? cluster.partitions[movement->partition].name : "", movement->at);
  }
  return throttles;
}

int64_t MovementSlots(const Settings& settings, const MovementThrottles& throttles, Movement::Phase phase,
                      const ReplicaCounts& replicas, double now) {
  if (phase == Movement::Phase::kConstraintCheck) return kUnlimited;
  const bool placement = phase == Movement::Phase::kPlacement;
  const double share = placement ? settings.max_percentage_to_move_for_placement : settings.max_percentage_to_move;
  return std::min(ShareOf(share, replicas.group), throttles.Allowed(settings, phase, replicas.cluster, now).remaining);
}

}  // namespace evenkeel::balancing
