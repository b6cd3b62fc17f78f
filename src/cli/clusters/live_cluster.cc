#include "cli/clusters/live_cluster.h"

#include <set>

#include "controllers/autoscaler/member/cluster_cache.h"
#include "controllers/autoscaler/member/state_store.h"
#include "scheduling/reservations.h"

namespace evenkeel::cli {
namespace {

namespace autoscaler = controllers::autoscaler;
using base::FindString;
using base::Json;

base::Status ReadObjects(client::Client& cluster, autoscaler::ScaleInput& input, std::vector<Json>& nodes) {
  std::set<std::string, std::less<>> names;
  std::vector<controllers::runtime::ReadKind> kinds = autoscaler::ReadKinds(input.options);
  kinds.push_back({.resource = scheduling::BalancingPlans()});
  for (const controllers::runtime::ReadKind& kind : kinds) {
    const client::ListOptions which{.ns = kind.ns, .field_selector = kind.field_selector};
    auto page = client::ListAll(cluster, kind.resource, which);
    if (!page && page.error().code() == base::Code::kNotFound && kind.older) {
      page = client::ListAll(cluster, *kind.older, which);
    }
    if (!page && page.error().code() == base::Code::kNotFound) continue;
    if (!page) return base::Fail(page.error().Wrap("list " + kind.resource.QualifiedPlural()));
    for (Json& object : page->items) {
      if (FindString(object, {"kind"}).empty()) object.as_object()["kind"] = kind.resource.kind;
      if (kind.resource.kind == "Node") {
        names.emplace(kube::NameOf(object));
        nodes.push_back(object);
      }
      // The node may have gone between the two lists.
      const std::string_view node = FindString(object, {"spec", "nodeName"});
      if (kind.resource.kind == "Pod" && !node.empty() && !names.contains(node)) continue;
      input.objects.push_back({std::move(object), ""});
    }
  }
  return {};
}

}  // namespace

base::Status ReadLiveCluster(client::Client& cluster, providers::Provider& provider, autoscaler::ScaleInput& input,
                             std::string& warning) {
  std::vector<Json> nodes;
  EVENKEEL_TRY(ReadObjects(cluster, input, nodes));
  auto groups = provider.Refresh(nodes);
  if (!groups && groups.error().code() == base::Code::kNotFound) {
    return base::Fail(groups.error().Wrap(
        "node groups of " + cluster.Describe() +
        " cannot be read: is it a member (its hub is asked with --cluster), and --cloud-provider the right one?"));
  }
  if (!groups) return base::Fail(groups.error().Wrap("node groups of " + cluster.Describe()));
  input.live = *std::move(groups);
  EVENKEEL_ASSIGN(autoscaler::StoredState stored, autoscaler::ReadStoredState(cluster, input.options.ns));
  warning = std::move(stored.unreadable);
  if (stored.state.is_null()) return {};
  if (const auto readable = autoscaler::AutoscalerState::FromJson(stored.state, input.options); !readable) {
    warning = readable.error().message();
    return {};
  }
  input.state = std::move(stored.state);
  return {};
}

}  // namespace evenkeel::cli
