// Any YAML as the objects of an ensemble: what is planned is sound and can be planned on, and errors are one line.
#include <cstddef>
#include <cstdint>

#include "controllers/rollout/zookeeper/hub/rollout_objects.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  namespace rollout = controllers::rollout;
  namespace zookeeper = controllers::rollout::zookeeper;
  auto objects = kube::ParseManifests({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!objects) return 0;
  auto input = zookeeper::PickObjects(*objects, base::Time{});
  if (!input) {
    EVENKEEL_CHECK(input.error().message().find('\n') == std::string::npos);
    return 0;
  }
  const auto plan = zookeeper::PlanRollout(*input);
  if (!plan) {
    EVENKEEL_CHECK(plan.error().message().find("MultiClusterZooKeeper ") != std::string::npos);
    EVENKEEL_CHECK(plan.error().message().find('\n') == std::string::npos);
    return 0;
  }
  const base::Json* before = base::Find(input->object.object, {"metadata", "deletionTimestamp"});
  if (before != nullptr) return 0;
  const auto records = rollout::ReadRecords(base::Field(base::Find(plan->status, {"records"}), "", "status.records"));
  EVENKEEL_CHECK(records.has_value());
  input->object.object.as_object()["status"] = plan->status;
  EVENKEEL_CHECK(zookeeper::PlanRollout(*input).has_value());
  return 0;
}
