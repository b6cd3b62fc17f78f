#include "embedded/nodeagent/device_driver.h"

#include <spdlog/fmt/fmt.h>

#include <map>

#include "base/hash.h"
#include "kube/object.h"

namespace evenkeel::embedded::nodeagent {
namespace {

using base::FindString;
using base::Json;
using base::JsonArray;

/// What the slice was written from, so that it is known by whom, and whether that has changed.
constexpr std::string_view kWrittenFrom = "evenkeel.dev/devices";

std::string Fingerprint(const Json& slice) {
  return fmt::format("{:016x}", base::Fnv1a64(base::ToText(*base::Find(slice, {"spec"}))));
}

std::string PoolOf(const Json& slice) {
  return std::string(FindString(slice, {"spec", "driver"})) + "/" + std::string(FindString(slice, {"spec", "pool", "name"}));
}

bool IsCurrent(const Json& there, const Json& wanted, const std::string& node_uid) {
  const JsonArray& owners = base::FindArray(there, {"metadata", "ownerReferences"});
  return FindString(there, {"metadata", "annotations", kWrittenFrom}) == Fingerprint(wanted) && owners.size() == 1 &&
         FindString(owners[0], {"uid"}) == node_uid;
}

struct Pool {
  std::vector<const Json*> wanted, there;
};

base::Status WritePool(client::Client& client, const std::string& node, const std::string& node_uid, const Pool& pool) {
  std::map<std::string, const Json*> there;
  int64_t generation = 0;
  for (const Json* slice : pool.there) {
    there[std::string(kube::NameOf(*slice))] = slice;
    generation = std::max(generation, base::FindInt(*slice, {"spec", "pool", "generation"}));
  }
  const bool current = pool.there.size() == pool.wanted.size() && std::ranges::all_of(pool.wanted, [&](const Json* slice) {
                         const auto found = there.find(std::string(kube::NameOf(*slice)));
                         return found != there.end() && IsCurrent(*found->second, *slice, node_uid);
                       });
  if (current) return {};
  for (const Json* wanted : pool.wanted) {
    Json slice = *wanted;
    base::Ensure(slice, {"spec", "pool", "generation"}) = generation + 1;
    base::Ensure(slice, {"metadata", "annotations", kWrittenFrom}) = Fingerprint(*wanted);
    base::Ensure(slice, {"metadata", "ownerReferences"}) =
        JsonArray{kube::ControllerReference(kube::resources::Nodes(), node, node_uid)};
    const auto found = there.find(std::string(kube::NameOf(*wanted)));
    if (found == there.end()) {
      EVENKEEL_TRY(client.Create(kube::resources::ResourceSlices(), slice));
      continue;
    }
    base::Ensure(slice, {"metadata", "resourceVersion"}) = kube::ResourceVersionOf(*found->second);
    there.erase(found);
    EVENKEEL_TRY(client.Update(kube::resources::ResourceSlices(), slice));
  }
  for (const auto& [name, slice] : there) {
    const auto deleted = client.Delete(kube::resources::ResourceSlices(), "", name);
    if (!deleted && deleted.error().code() != base::Code::kNotFound) return base::Fail(deleted.error());
  }
  return {};
}

}  // namespace

base::Status PublishDevices(client::Client& client, const std::string& node, const std::string& node_uid,
                            const std::vector<Json>& slices) {
  client::ListOptions of_node;
  of_node.field_selector = "spec.nodeName=" + node;
  EVENKEEL_ASSIGN(const client::ListPage listed, client.List(kube::resources::ResourceSlices(), of_node));
  std::map<std::string, Pool> pools;
  for (const Json& slice : slices) pools[PoolOf(slice)].wanted.push_back(&slice);
  for (const Json& slice : listed.items) {
    if (base::Find(slice, {"metadata", "annotations", kWrittenFrom}) != nullptr) pools[PoolOf(slice)].there.push_back(&slice);
  }
  for (const auto& [name, pool] : pools) EVENKEEL_TRY(WritePool(client, node, node_uid, pool));
  return {};
}

}  // namespace evenkeel::embedded::nodeagent
