#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/process/process_metrics.h"
#include "cli/tree/reference.h"
#include "controllers/autoscaler/member/autoscaler_metrics.h"
#include "controllers/balancer/balancer_metrics.h"
#include "controllers/distribution/sharding/distribution_metrics.h"
#include "controllers/rollout/zookeeper/hub/rollout_metrics.h"
#include "controllers/rollout/zookeeper/member/member_metrics.h"
#include "controllers/runtime/controller_metrics.h"
#include "embedded/apiserver/api/metric_families.h"

namespace evenkeel::cli {
namespace {

/// With the values that are there from the start.
std::string WhatItIs(const base::MetricFamily& family) {
  std::string text = family.help;
  if (family.values == nullptr) return text;
  text += text.ends_with('.') ? "" : ".";
  text += " From the start:";
  std::string word;
  for (const char c : std::string_view(family.values)) {
    if (c == ' ') {
      text += " `" + std::exchange(word, {}) + "`,";
    } else {
      word += c;
    }
  }
  return text + " `" + word + "`.";
}

std::string MetricTable(std::span<const base::MetricFamily> families) {
  std::string text = MarkdownHeader({"name", "type", "labels", "what"});
  for (const base::MetricFamily& family : families) {
    std::string labels;
    for (const char c : std::string_view(family.labels)) labels += c == ' ' ? std::string(", ") : std::string(1, c);
    text += MarkdownRow({"`" + std::string(family.name) + "`", Name(family.type), labels, WhatItIs(family)});
  }
  return text;
}

}  // namespace

std::string MetricsReference() {
  std::string text =
      ReferenceTitle("Metrics", "metrics",
                     "A replica (`evenkeel run`) serves them at `/metrics` of `--metrics-port`, the embedded API server "
                     "at `/metrics` of its own port. A counter whose labels have known values is there from the start, at 0; "
                     "these values are named. Other counters appear when something is counted.");
  auto section = [&text](const std::string& title, std::span<const base::MetricFamily> families) {
    text += "\n## " + title + "\n\n" + MetricTable(families);
  };
  section("Distribution", controllers::distribution::metrics::kAll);
  section("Autoscaler", controllers::autoscaler::AutoscalerMetrics::Families());
  section("Balancer", controllers::balancer::BalancerMetrics::Families());
  section("Rollouts", controllers::rollout::zookeeper::RolloutMetrics::Families());
  section("ZooKeepers, in members", controllers::rollout::zookeeper::member::MemberMetrics::Families());
  section("Every controller", controllers::runtime::kControllerMetrics);
  section("Every replica's process", base::kProcessMetrics);
  section("Embedded API server", embedded::apiserver::MetricFamilies());
  return text;
}

}  // namespace evenkeel::cli
