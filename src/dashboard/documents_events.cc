#include <array>
#include <utility>

#include "dashboard/documents.h"

namespace evenkeel::dashboard {
namespace {

/// Whoever decides something. What only carries things out (kubelets, controllers of workloads) would drown them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kControllers = {{
    {"cluster-autoscaler", "autoscaler"},
    {"evenkeel-balancer", "balancer"},
    {"evenkeel-distribution", "distribution"},
    {"evenkeel-rollout", "rollout"},
    {"evenkeel-zookeeper", "zookeeper"},
    {"evenkeel", "scheduler"},
    {"scheduler", "scheduler"},
    {"default-scheduler", "scheduler"},
    {"embedded-cloud", "cloud"},
    {"evenkeel-dashboard", "people"},
}};

}  // namespace

base::Time EventTime(const Json& object) {
  for (const auto& path : {std::initializer_list<std::string_view>{"series", "lastObservedTime"},
                           {"lastTimestamp"},
                           {"eventTime"},
                           {"metadata", "creationTimestamp"}}) {
    const auto time = base::ParseTime(FindString(object, path));
    if (time) return *time;
  }
  return {};
}

EventRow EventRow::Decode(const Json& object) {
  EventRow row;
  row.meta = RowMeta::Decode(object);
  std::string_view component = FindString(object, {"source", "component"});
  if (component.empty()) component = FindString(object, {"reportingComponent"});
  for (const auto& [known, name] : kControllers) {
    if (known == component) row.controller = name;
  }
  if (row.controller.empty()) return row;
  row.time = EventTime(object);
  row.name = kube::KeyOf(object);
  row.type = FindString(object, {"type"}, "Normal");
  row.reason = FindString(object, {"reason"});
  row.message = FindString(object, {"message"});
  row.count = std::max<int64_t>(1, base::FindInt(object, {"count"}, base::FindInt(object, {"series", "count"}, 1)));
  row.object = FindString(object, {"involvedObject", "kind"});
  row.object += " ";
  if (const std::string_view ns = FindString(object, {"involvedObject", "namespace"}); !ns.empty()) {
    row.object += std::string(ns) + "/";
  }
  row.object += FindString(object, {"involvedObject", "name"});
  return row;
}

std::string EventId(const EventRow& event, const std::string& cluster) {
  return base::FormatMicroTime(event.time) + " " + cluster + " " + event.name;
}

Json EventEntry(const EventRow& event, const std::string& cluster) {
  return JsonObject{{"time", base::FormatTime(event.time)},
                    {"cluster", cluster},
                    {"controller", event.controller},
                    {"type", event.type},
                    {"reason", event.reason},
                    {"object", event.object},
                    {"message", event.message},
                    {"count", event.count}};
}

}  // namespace evenkeel::dashboard
