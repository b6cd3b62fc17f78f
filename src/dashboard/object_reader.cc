#include "dashboard/object_reader.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/input/yaml.h"
#include "base/utf8.h"
#include "controllers/balancer/kinds.h"
#include "controllers/rollout/zookeeper/spec/definitions.h"
#include "dashboard/actions/action_request.h"
#include "dashboard/documents.h"
#include "embedded/cloud/node_group_definition.h"

namespace evenkeel::dashboard {
namespace {

using base::Code;
using embedded::apiserver::Query;

/// Null: no such kind is shown.
const kube::Resource* ShownKind(std::string_view kind) {
  for (const kube::Resource* each : {&kube::resources::Nodes(), &kube::resources::Pods(), &embedded::cloud::NodeGroups(),
                                     &controllers::balancer::BalancingPlans(), &controllers::balancer::BalancingPolicies(),
                                     &controllers::rollout::zookeeper::MultiClusterZooKeepers()}) {
    if (each->kind == kind) return each;
  }
  return nullptr;
}

std::unexpected<base::Error> Bad(const std::string& what) { return base::Fail(Code::kBadRequest, what); }

/// Bytes that belong to no character are replaced: JSON cannot hold them.
std::string AsText(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (size_t wrong = base::FindNotUtf8(bytes); wrong != bytes.npos; wrong = base::FindNotUtf8(bytes)) {
    text.append(bytes.substr(0, wrong)).append("\xEF\xBF\xBD");
    bytes.remove_prefix(wrong + 1);
  }
  return text.append(bytes);
}

JsonArray EventsOf(client::Client& client, const ObjectRequest& request, std::string_view uid, std::string& unread) {
  client::ListOptions which;
  // Those about objects of the whole cluster lie in a namespace all the same.
  which.ns = request.ns;
  which.field_selector = fmt::format("involvedObject.name={},involvedObject.kind={}", request.name, request.kind.kind);
  auto page = client::ListAll(client, kube::resources::Events(), which);
  if (!page) {
    unread = page.error().message();
    return {};
  }
  struct Row {
    std::string time;
    JsonObject entry;
  };
  std::vector<Row> rows;
  for (const Json& object : page->items) {
    const std::string_view about = FindString(object, {"involvedObject", "uid"});
    // A node's kubelet names its node as the uid.
    if (FindString(object, {"involvedObject", "name"}) != request.name ||
        (!about.empty() && about != uid && about != request.name)) {
      continue;
    }
    const base::Time time = EventTime(object);
    std::string_view by = FindString(object, {"source", "component"});
    if (by.empty()) by = FindString(object, {"reportingComponent"});
    rows.push_back({base::FormatMicroTime(time), JsonObject{{"time", base::FormatTime(time)},
                                                            {"type", FindString(object, {"type"}, "Normal")},
                                                            {"reason", FindString(object, {"reason"})},
                                                            {"message", FindString(object, {"message"})},
                                                            {"by", by},
                                                            {"count", std::max<int64_t>(1, FindInt(object, {"count"}, 1))}}});
  }
  std::ranges::sort(rows, std::greater{}, &Row::time);
  if (rows.size() > kObjectEventsMax) rows.resize(kObjectEventsMax);
  JsonArray events;
  for (Row& row : rows) events.push_back(std::move(row.entry));
  return events;
}

}  // namespace

base::Result<ObjectRequest> ObjectRequest::Parse(const Query& query) {
  ObjectRequest request;
  const kube::Resource* kind = ShownKind(query.Get("kind"));
  if (kind == nullptr) {
    return Bad("kind: there are Node, Pod, NodeGroup, BalancingPlan, BalancingPolicy and MultiClusterZooKeeper");
  }
  request.kind = *kind;
  request.cluster = query.Get("cluster");
  request.ns = query.Get("namespace");
  request.name = query.Get("name");
  if (!request.cluster.empty() && !IsPlainName(request.cluster)) return Bad("cluster: not the name of a member");
  if (kind->namespaced ? !IsPlainName(request.ns) : !request.ns.empty()) {
    return Bad(kind->namespaced ? "namespace: it is missing" : "namespace: objects of this kind have none");
  }
  if (!IsPlainName(request.name)) return Bad("name: the name of an object is missing");
  return request;
}

base::Result<LogsRequest> LogsRequest::Parse(const Query& query) {
  LogsRequest request{.cluster = query.Get("cluster"),
                      .ns = query.Get("namespace"),
                      .pod = query.Get("pod"),
                      .container = query.Get("container")};
  if (!IsPlainName(request.cluster)) return Bad("cluster: the name of a member is missing");
  if (!IsPlainName(request.ns)) return Bad("namespace: it is missing");
  if (!IsPlainName(request.pod)) return Bad("pod: its name is missing");
  if (!request.container.empty() && !IsPlainName(request.container)) return Bad("container: not the name of one");
  EVENKEEL_ASSIGN(const std::optional<int64_t> lines, query.Integer("lines"));
  request.lines = lines.value_or(request.lines);
  if (request.lines < 1 || request.lines > kLogLinesMax) {
    return Bad(fmt::format("lines: not a number from 1 to {}", kLogLinesMax));
  }
  request.previous = query.Flag("previous");
  return request;
}

base::Result<Json> ReadObject(client::Client& client, const ObjectRequest& request) {
  auto found = client.Get(request.kind, request.ns, request.name);
  if (!found && found.error().code() == Code::kNotFound) {
    return base::Fail(Code::kNotFound, fmt::format("there is no {} {} any more", request.kind.kind, request.name));
  }
  EVENKEEL_ASSIGN(Json object, std::move(found));
  object.as_object()["apiVersion"] = request.kind.ApiVersion();
  object.as_object()["kind"] = request.kind.kind;
  base::Erase(object, {"metadata", "managedFields"});
  base::Erase(object, {"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"});
  JsonArray containers;
  for (const char* field : {"containers", "initContainers"}) {
    for (const Json& container : FindArray(object, {"spec", field})) containers.emplace_back(FindString(container, {"name"}));
  }
  std::string unread;
  JsonArray events = EventsOf(client, request, kube::UidOf(object), unread);
  return Json(JsonObject{{"kind", request.kind.kind},
                         {"namespace", OrNull(request.ns)},
                         {"name", request.name},
                         {"uid", kube::UidOf(object)},
                         {"unschedulable", FindBool(object, {"spec", "unschedulable"})},
                         {"yaml", base::ToYaml(object)},
                         {"containers", request.kind.kind == "Pod" ? std::move(containers) : JsonArray()},
                         {"events", std::move(events)},
                         {"eventsUnread", OrNull(unread)}});
}

base::Result<Json> ReadLogs(client::Client& client, const LogsRequest& request) {
  std::string container = request.container;
  if (container.empty()) {
    EVENKEEL_ASSIGN(const Json pod, client.Get(kube::resources::Pods(), request.ns, request.pod));
    const base::JsonArray& containers = FindArray(pod, {"spec", "containers"});
    if (!containers.empty()) container = FindString(containers.front(), {"name"});
  }
  const std::string path =
      fmt::format("{}?container={}&tailLines={}&limitBytes={}{}", kube::resources::Pods().Path(request.ns, request.pod, "log"),
                  container, request.lines, kLogBytesMax, request.previous ? "&previous=true" : "");
  EVENKEEL_ASSIGN(std::string text, client.GetRaw(path));
  // What a container writes need not be text, nor is every server bound by what it is asked.
  if (text.size() > static_cast<size_t>(kLogBytesMax)) text = text.substr(text.size() - static_cast<size_t>(kLogBytesMax));
  return Json(JsonObject{{"container", container}, {"text", AsText(text)}});
}

}  // namespace evenkeel::dashboard
