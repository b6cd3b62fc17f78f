#include "scheduling/cluster_mirror.h"

#include <gtest/gtest.h>

#include "scheduling/objects_testing.h"

namespace evenkeel::scheduling::cluster_mirror_test {
namespace {

using testing::NodeMaker;
using testing::PodMaker;

base::Json OfKind(const char* kind, base::Json object) {
  base::Ensure(object, {"kind"}) = kind;
  return object;
}
base::Json Node(const std::string& name, const std::string& cpu = "4") { return OfKind("Node", NodeMaker(name, cpu).json); }
base::Json Pod(const PodMaker& pod) { return OfKind("Pod", pod.json); }
base::Json Ended(const PodMaker& pod) {
  base::Json object = Pod(pod);
  base::Ensure(object, {"status", "phase"}) = "Succeeded";
  return object;
}

/// Writes down what it is told, and where the pod was and is.
class Listener final : public ClusterListener {
 public:
  Listener(std::string name, ClusterMirror& mirror, std::vector<std::string>& log)
      : name_(std::move(name)), mirror_(mirror), log_(log) {
    mirror.AddListener(*this);
  }
  void BeforeChange(const ObjectEvent& event) override { Note("before", event); }
  void AfterChange(const ObjectEvent& event) override { Note("after", event); }

 private:
  void Note(const std::string& when, const ObjectEvent& event) {
    const PodId pod = mirror_.snapshot().FindPod(event.key);
    const bool on_node = pod != kNone && mirror_.snapshot().NodeOf(pod) != kNone;
    log_.push_back(name_ + " " + when + " " + std::string(event.kind) + " " + event.key +
                   (event.object == nullptr ? " gone" : "") + (on_node ? " placed" : ""));
  }
  const std::string name_;
  ClusterMirror& mirror_;
  std::vector<std::string>& log_;
};

TEST(ClusterMirrorTest, TellsEverybodyBeforeAndAfterInTheirOrder) {
  ClusterMirror mirror;
  std::vector<std::string> log;
  const Listener first("1", mirror, log), second("2", mirror, log);
  mirror.Upsert(Node("n1"));
  log.clear();
  mirror.Upsert(Pod(PodMaker("p").On("n1")));
  mirror.Remove("Pod", "default/p");
  EXPECT_EQ(log, (std::vector<std::string>{"1 before Pod default/p", "2 before Pod default/p", "1 after Pod default/p placed",
                                           "2 after Pod default/p placed", "1 before Pod default/p gone placed",
                                           "2 before Pod default/p gone placed", "1 after Pod default/p gone",
                                           "2 after Pod default/p gone"}));
}

TEST(ClusterMirrorTest, APodThatHasEndedIsGone) {
  ClusterMirror mirror;
  std::vector<std::string> log;
  const Listener listener("1", mirror, log);
  mirror.Upsert(Node("n1"));
  mirror.Upsert(Pod(PodMaker("p").On("n1")));
  log.clear();
  mirror.Upsert(Ended(PodMaker("p").On("n1")));
  EXPECT_EQ(log, (std::vector<std::string>{"1 before Pod default/p gone placed", "1 after Pod default/p gone"}));
  EXPECT_EQ(mirror.snapshot().pod_count(), 0U);
}

struct LastEvent final : ClusterListener {
  explicit LastEvent(ClusterMirror& mirror) { mirror.AddListener(*this); }
  void AfterChange(const ObjectEvent& event) override {
    pod = event.pod;
    node = event.node;
    node_changed = event.node_changed;
    volume = event.volume;
    if (event.kind == "Node" && event.object != nullptr) name = event.DecodedNode().meta.name;
    if (event.kind == "Pod" && event.object != nullptr) name = event.DecodedPod().meta.name;
  }
  PodId pod = kNone;
  NodeId node = kNone;
  bool node_changed = false;
  std::optional<VolumeKind> volume;
  std::string name;
};

TEST(ClusterMirrorTest, SaysWhichRowsItIsAbout) {
  ClusterMirror mirror;
  LastEvent last(mirror);
  mirror.Upsert(Node("n1"));
  EXPECT_EQ(last.node, mirror.snapshot().FindNodeByName("n1"));
  EXPECT_EQ(last.name, "n1");
  EXPECT_TRUE(last.node_changed);
  base::Json again = Node("n1");
  base::Ensure(again, {"status", "nodeInfo", "kubeletVersion"}) = "v1.36.0";
  mirror.Upsert(again);
  EXPECT_FALSE(last.node_changed) << "no filter looks at that";
  mirror.Upsert(Node("n1", "8"));
  EXPECT_TRUE(last.node_changed);
  mirror.Upsert(Pod(PodMaker("p")));
  const PodId pod = mirror.snapshot().FindPod("default/p");
  EXPECT_EQ(last.pod, pod);
  EXPECT_EQ(last.name, "p");
  mirror.Remove("Pod", "default/p");
  EXPECT_EQ(last.pod, pod) << "whoever keeps something by row has to know which";
  mirror.Upsert("CSINode", base::Json{{"metadata", {{"name", "n1"}}}});
  EXPECT_EQ(last.volume, VolumeKind::kCsiNode);
}

TEST(ClusterMirrorTest, KindsThatTheSnapshotDoesNotKnowAreOnlyToldOf) {
  ClusterMirror mirror;
  std::vector<std::string> log;
  const Listener listener("1", mirror, log);
  mirror.Upsert(base::Json{{"kind", "Gadget"}, {"metadata", {{"name", "g"}, {"namespace", "n"}}}});
  mirror.Upsert(base::Json{{"metadata", {{"name", "of no kind"}}}});
  EXPECT_EQ(log, (std::vector<std::string>{"1 before Gadget n/g", "1 after Gadget n/g", "1 before  of no kind",
                                           "1 after  of no kind"}));
}

}  // namespace
}  // namespace evenkeel::scheduling::cluster_mirror_test
