// What the API server counts about itself, in Prometheus' text format.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"

namespace evenkeel::embedded::apiserver {

/// Thread-safe. A request costs one look-up in a small table.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  void CountRequest(std::string_view verb, std::string_view resource, int status, base::Duration took);
  void AddWatches(std::string_view resource, int change);
  /// The page. `revision`: of the store, now.
  std::string Text(int64_t revision);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace evenkeel::embedded::apiserver
