// Since when nodes have been found removable, without a break. By name, so that the times survive a restart and a hand-over to
// another replica.
// Follows: kubernetes/autoscaler@1.37 cluster-autoscaler/core/scaledown/unneeded/nodes.go
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/input/field.h"
#include "base/time.h"

namespace evenkeel::controllers::autoscaler {

class UnneededNodes {
 public:
  /// These are unneeded now: those that were already keep their time, others begin, and the rest is dropped.
  void Update(std::span<const std::string_view> names, base::Time now);
  /// A time known from elsewhere (a taint on the node); does nothing when the node has one.
  void Seed(std::string_view name, base::Time since);
  void Clear() { since_.clear(); }
  bool operator==(const UnneededNodes&) const = default;

  std::optional<base::Time> Since(std::string_view name) const;
  size_t size() const { return since_.size(); }
  const std::map<std::string, base::Time, std::less<>>& all() const { return since_; }

  /// {"node": "2024-12-15T01:13:04.000000Z"}
  base::Json ToJson() const;
  /// None where there is no value. kBadRequest names the node whose time cannot be read.
  static base::Result<UnneededNodes> Read(const base::Field& fields);

 private:
  std::map<std::string, base::Time, std::less<>> since_;
};

}  // namespace evenkeel::controllers::autoscaler
