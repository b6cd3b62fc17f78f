// What this server serves, as clients ask for it: /api, /apis, and the lists below them.
#pragma once

#include <string_view>

#include "base/json.h"
#include "embedded/apiserver/definitions/resource_table.h"

namespace evenkeel::embedded::apiserver {

base::Json ApiVersions();
base::Json ApiGroupList(const ResourceTable& table);
/// Null when there is no such group.
base::Json ApiGroup(const ResourceTable& table, std::string_view group);
/// APIResourceList; null when nothing is served there.
base::Json ApiResourceList(const ResourceTable& table, std::string_view group, std::string_view version);
/// APIGroupDiscoveryList in apidiscovery.k8s.io/VERSION: the core group, or all others.
base::Json AggregatedDiscovery(const ResourceTable& table, bool core, std::string_view version);
/// Whether all of its objects may be deleted with one request. Namespaces may not: nobody empties a cluster by a slip.
bool DeletesCollections(const kube::Resource& resource);
/// RootPaths of "/".
base::Json RootPaths(const ResourceTable& table);

}  // namespace evenkeel::embedded::apiserver
