#include <span>

#include "cli/tree/reference.h"
#include "controllers/autoscaler/options/event_kinds.h"
#include "controllers/balancer/event_kinds.h"
#include "controllers/distribution/sharding/distribution_events.h"
#include "controllers/rollout/zookeeper/member/event_kinds.h"
#include "controllers/rollout/zookeeper/spec/event_kinds.h"
#include "controllers/scheduler/event_kinds.h"
#include "dashboard/actions/event_kinds.h"
#include "embedded/cloud/event_kinds.h"
#include "embedded/federation/policies/event_kinds.h"

namespace evenkeel::cli {
namespace {

std::string EventTable(std::span<const client::EventKind> kinds) {
  std::string text = MarkdownHeader({"reason", "type", "about", "when"});
  for (const client::EventKind& kind : kinds) {
    text += MarkdownRow({"`" + std::string(kind.reason) + "`", kind.warning ? "Warning" : "Normal", kind.about, kind.when});
  }
  return text;
}

}  // namespace

std::string EventsReference() {
  std::string text = ReferenceTitle(
      "Events", "events",
      "The controllers write Events about the objects that they look after. What the embedded fleet brings in place of "
      "Kubernetes' and Karmada's own controllers writes Events with their reasons.");
  auto section = [&text](const std::string& title, std::span<const client::EventKind> kinds) {
    text += "\n## " + title + "\n\n" + EventTable(kinds);
  };
  section("Distribution", controllers::distribution::events::kAll);
  section("Autoscaler", controllers::autoscaler::events::kAll);
  section("Balancer", controllers::balancer::events::kAll);
  section("Scheduler", controllers::scheduler::events::kAll);
  section("Rollouts, on the hub", controllers::rollout::zookeeper::events::kAll);
  section("ZooKeepers, in members", controllers::rollout::zookeeper::member::events::kAll);
  section("People on the dashboard", dashboard::events::kAll);
  section("Embedded cloud", embedded::cloud::events::kAll);
  section("Embedded federation", embedded::federation::events::kAll);
  return text;
}

}  // namespace evenkeel::cli
