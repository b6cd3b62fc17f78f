// Random clusters for property tests: objects drawn from few values, so that they meet.
#pragma once

#include <map>
#include <string>

#include "base/random.h"
#include "scheduling/objects_testing.h"

namespace evenkeel::scheduling::testing {

class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {}

  std::string Pick(std::initializer_list<const char*> values) {
    return *(values.begin() + static_cast<ptrdiff_t>(random_.Below(values.size())));
  }
  int Below(int bound) { return static_cast<int>(random_.Below(static_cast<uint64_t>(bound))); }

  NodeMaker Node(const std::string& name) {
    NodeMaker node(name, Pick({"1", "2", "4"}), "8Gi", 3 + Below(8));
    if (Below(5) > 0) node.Zone(Pick({"1", "2", "3"}));
    if (Below(4) == 0) node.Label("pool", Pick({"x", "y"}));
    if (Below(6) == 0) node.Taint("dedicated", Pick({"a", "b"}));
    if (Below(8) == 0) node.Cordon();
    if (Below(4) == 0) node.Has("example.com/gpu", "2");
    return node;
  }

  PodMaker Pod(const std::string& name) {
    PodMaker pod(name, Pick({"", "100m", "500m", "1"}));
    pod.Namespace(Pick({"default", "blue"})).Labels("app=" + Pick({"a", "b", "c"}));
    pod.json.at("metadata").as_object()["name"] = name;
    if (Below(6) == 0) pod.Spec("nodeSelector", R"({"pool":"x"})");
    if (Below(5) == 0) pod.Tolerates("dedicated", "Exists");
    if (Below(8) == 0) pod.HostPort(80 + Below(2));
    if (Below(8) == 0) pod.Request("example.com/gpu", "1");
    if (Below(10) == 0) pod.Terminating();
    if (Below(12) == 0) pod.Claim("once");
    const std::string key = Pick({kHost, kZone});
    const std::string app = "app=" + Pick({"a", "b", "c"});
    switch (Below(8)) {
      case 0:
        pod.Affinity(key, app, Pick({"{}", R"({"namespaceSelector":{"matchLabels":{"team":"t"}}})"}));
        break;
      case 1:
      case 2:
        pod.AntiAffinity(key, app, Pick({"{}", R"({"namespaces":["blue"]})", R"({"namespaceSelector":{}})"}));
        break;
      case 3:
      case 4:
        pod.Spread(1 + Below(2), key, app, Pick({"{}", R"({"nodeTaintsPolicy":"Honor"})", R"({"minDomains":3})"}));
        break;
      default:
        break;
    }
    return pod;
  }

 private:
  base::Random random_;
};

/// The objects that were told of, to build another snapshot from.
struct Told {
  std::map<std::string, base::Json> nodes, pods;
  kube::Labels blue;

  void Feed(Snapshot& snapshot) const {
    snapshot.UpsertNamespace("blue", blue);
    snapshot.UpsertVolume(VolumeKind::kPersistentVolume, Parse(R"({"metadata":{"name":"v"},"spec":{}})"));
    for (const char* ns : {"default", "blue"}) {
      snapshot.UpsertVolume(
          VolumeKind::kPersistentVolumeClaim,
          Parse(
              R"({"metadata":{"name":"once","namespace":")" + std::string(ns) +
              R"(","annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"v","accessModes":["ReadWriteOncePod"]},)"
              R"("status":{"phase":"Bound"}})"));
    }
    for (const auto& [key, pod] : pods) snapshot.UpsertPod(pod);
    for (const auto& [name, node] : nodes) snapshot.UpsertNode(node);
  }
};

/// One event at random, told to the snapshot and noted down.
inline void Shake(World& world, Snapshot& snapshot, Told& told) {
  const std::string node = "n" + std::to_string(world.Below(8));
  const std::string pod = "p" + std::to_string(world.Below(40));
  switch (world.Below(10)) {
    case 0:
    case 1:
      snapshot.UpsertNode(told.nodes[node] = world.Node(node).json);
      break;
    case 2:
      told.nodes.erase(node);
      snapshot.RemoveNode(node);
      break;
    case 3: {
      for (const char* ns : {"default/", "blue/"}) {
        told.pods.erase(ns + pod);
        snapshot.RemovePod(ns + pod);
      }
      break;
    }
    case 4:
      told.blue = {{"team", world.Pick({"t", "u"})}};
      snapshot.UpsertNamespace("blue", told.blue);
      break;
    default: {
      PodMaker made = world.Pod(pod);
      if (world.Below(4) > 0) made.On(node);
      snapshot.UpsertPod(told.pods[kube::KeyOf(made.json)] = made.json);
    }
  }
}

}  // namespace evenkeel::scheduling::testing
