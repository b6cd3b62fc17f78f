// The filters that look at volumes.
#include <gtest/gtest.h>

#include "scheduling/objects_testing.h"

namespace evenkeel::scheduling::volumes_test {
namespace {

using testing::Cluster;
using testing::NodeMaker;
using testing::Parse;
using testing::PodMaker;

class VolumesTest : public ::testing::Test {
 protected:
  VolumesTest() { cluster_.Add(NodeMaker("a").Zone("1")).Add(NodeMaker("b").Zone("2")); }

  void Add(VolumeKind kind, std::string_view json) { cluster_.snapshot.UpsertVolume(kind, Parse(json)); }
  void Claim(std::string_view name, std::string_view spec, std::string_view phase = "Bound") {
    const bool bound = phase == "Bound";
    Add(VolumeKind::kPersistentVolumeClaim, R"({"metadata":{"name":")" + std::string(name) + R"(","namespace":"default")" +
                                                (bound ? R"(,"annotations":{"pv.kubernetes.io/bind-completed":"yes"})" : "") +
                                                R"(},"spec":)" + std::string(spec) + R"(,"status":{"phase":")" +
                                                std::string(phase) + "\"}}");
  }
  void Class(std::string_view name, std::string_view provisioner, std::string_view more = "") {
    Add(VolumeKind::kStorageClass, R"({"metadata":{"name":")" + std::string(name) + R"("},"provisioner":")" +
                                       std::string(provisioner) + R"(","volumeBindingMode":"WaitForFirstConsumer")" +
                                       std::string(more) + "}");
  }
  void LocalVolume(std::string_view name, std::string_view node, std::string_view size, std::string_view more = "") {
    Add(VolumeKind::kPersistentVolume,
        R"({"metadata":{"name":")" + std::string(name) +
            R"("},"spec":{"storageClassName":"local","accessModes":["ReadWriteOnce"],)" + R"("capacity":{"storage":")" +
            std::string(size) + R"("},"nodeAffinity":{"required":{"nodeSelectorTerms":[)" +
            R"({"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":[")" + std::string(node) +
            R"("]}]}]}})" + std::string(more) + R"(},"status":{"phase":"Available"}})");
  }

  Cluster cluster_;
};

TEST_F(VolumesTest, AClaimThatIsNotThereRejectsThePodEverywhere) {
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("data"), "a"), "VolumeRestrictions: persistentvolumeclaim \"data\" not found");
  EXPECT_TRUE(cluster_.Check(PodMaker("p").Claim("data"), "a").anywhere);
  PodMaker ephemeral("p");
  ephemeral.Volume(R"({"name":"scratch","ephemeral":{}})");
  EXPECT_EQ(cluster_.Why(ephemeral, "a"),
            "VolumeBinding: waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-scratch\"");
}

TEST_F(VolumesTest, AnUnboundClaimOfAnImmediateClassRejectsThePod) {
  Add(VolumeKind::kStorageClass, R"({"metadata":{"name":"fast"},"provisioner":"x","volumeBindingMode":"Immediate"})");
  Claim("data", R"({"storageClassName":"fast"})", "Pending");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("data"), "a"), "VolumeBinding: pod has unbound immediate PersistentVolumeClaims");
  Claim("data", R"({"storageClassName":"fast","volumeName":"gone"})");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("data"), "a"), "VolumeZone: persistentvolume \"gone\" not found");
}

TEST_F(VolumesTest, OfSeveralRejectionsUpstreamsFirstIsTold) {
  Claim("unbound", "{}", "Pending");
  Add(VolumeKind::kPersistentVolumeClaim,
      R"({"metadata":{"name":"leaving","namespace":"default","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{}})");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("unbound").Claim("leaving"), "a"),
            "VolumeBinding: persistentvolumeclaim \"leaving\" is being deleted");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("unbound").Claim("leaving").Claim("none"), "a"),
            "VolumeRestrictions: persistentvolumeclaim \"none\" not found");
}

TEST_F(VolumesTest, ClaimsOnTheirWayOutRejectThePod) {
  Add(VolumeKind::kPersistentVolumeClaim,
      R"({"metadata":{"name":"data","namespace":"default","deletionTimestamp":"2026-01-01T00:00:00Z"},)"
      R"("spec":{"volumeName":"v"},"status":{"phase":"Bound"}})");
  LocalVolume("v", "a", "1Gi");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("data"), "a"), "VolumeBinding: persistentvolumeclaim \"data\" is being deleted");
  Claim("data", R"({"volumeName":"v"})", "Lost");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("data"), "a"),
            "VolumeBinding: persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"v\"");
}

TEST_F(VolumesTest, ABoundVolumeIsWhereItIs) {
  LocalVolume("v", "b", "1Gi");
  Claim("data", R"({"volumeName":"v","storageClassName":"local"})");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("data"), "a"),
            "VolumeBinding: node(s) didn't match PersistentVolume's node affinity");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "b");
}

TEST_F(VolumesTest, AClaimThatWaitsTakesAFreeVolumeOfItsClassThatIsBigEnough) {
  Class("local", "kubernetes.io/no-provisioner");
  LocalVolume("small", "a", "1Gi");
  LocalVolume("big", "b", "10Gi");
  Claim("data", R"({"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}}})",
        "Pending");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "b");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("data"), "a"),
            "VolumeBinding: node(s) didn't find available persistent volumes to bind");
  Claim("second", R"({"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}}})",
        "Pending");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data").Claim("second")), "") << "one volume is not enough for two claims";
  LocalVolume("big", "b", "10Gi", R"(,"claimRef":{"namespace":"default","name":"second"})");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "") << "kept for another claim";
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("second")), "b");
  LocalVolume("big", "b", "10Gi");
  Claim("data", R"({"storageClassName":"local","accessModes":["ReadWriteMany"],"resources":{"requests":{"storage":"5Gi"}}})",
        "Pending");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "");
}

TEST_F(VolumesTest, AClaimThatWaitsCanBeMadeWhereItsClassMay) {
  Class("csi", "csi.example.com",
        R"(,"allowedTopologies":[{"matchLabelExpressions":[{"key":"topology.kubernetes.io/zone","values":["2","3"]}]}])");
  Claim("data", R"({"storageClassName":"csi","resources":{"requests":{"storage":"5Gi"}}})", "Pending");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "b");
  Class("csi", "csi.example.com");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "a b");
}

TEST_F(VolumesTest, ADriverThatTellsItsRoomMustHaveIt) {
  Class("csi", "csi.example.com");
  Claim("data", R"({"storageClassName":"csi","resources":{"requests":{"storage":"5Gi"}}})", "Pending");
  Add(VolumeKind::kCsiDriver, R"({"metadata":{"name":"csi.example.com"},"spec":{"storageCapacity":true}})");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("data"), "a"), "VolumeBinding: node(s) did not have enough free storage");
  Add(VolumeKind::kCsiStorageCapacity,
      R"({"metadata":{"name":"c","namespace":"default"},"storageClassName":"csi","capacity":"6Gi",)"
      R"("nodeTopology":{"matchLabels":{"topology.kubernetes.io/zone":"2"}}})");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "b");
}

TEST_F(VolumesTest, AClaimThatHasChosenItsNodeStaysThere) {
  Class("csi", "csi.example.com");
  Add(VolumeKind::kPersistentVolumeClaim,
      R"({"metadata":{"name":"data","namespace":"default","annotations":{"volume.kubernetes.io/selected-node":"a"}},)"
      R"("spec":{"storageClassName":"csi"},"status":{"phase":"Pending"}})");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "a");
}

TEST_F(VolumesTest, ZonesOfAVolumeMustMatchTheNodes) {
  Add(VolumeKind::kPersistentVolume,
      R"({"metadata":{"name":"v","labels":{"failure-domain.beta.kubernetes.io/zone":"2__3"}},"spec":{}})");
  Claim("data", R"({"volumeName":"v"})");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("data"), "a"), "VolumeZone: node(s) had no available volume zone");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "b");
  cluster_.Add(NodeMaker("unzoned"));
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "b unzoned");
}

TEST_F(VolumesTest, AReadWriteOncePodClaimIsForOnePodInTheCluster) {
  Add(VolumeKind::kPersistentVolume, R"({"metadata":{"name":"v"},"spec":{}})");
  Claim("data", R"({"volumeName":"v","accessModes":["ReadWriteOncePod"]})");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "a b");
  cluster_.Add(PodMaker("user").Claim("data").On("a"));
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("data"), "b"),
            "VolumeRestrictions: node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode");
  EXPECT_TRUE(cluster_.Check(PodMaker("p").Claim("data"), "b").resolvable);
  cluster_.snapshot.RemovePod("default/user");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "a b");
}

TEST_F(VolumesTest, DisksThatCannotBeMountedTwiceAreNot) {
  const auto with = [](std::string_view volume) { return PodMaker("p").Volume(volume); };
  const char* gce = R"({"name":"v","gcePersistentDisk":{"pdName":"d"}})";
  const char* gce_read = R"({"name":"v","gcePersistentDisk":{"pdName":"d","readOnly":true}})";
  cluster_.Add(PodMaker("1").Volume(gce_read).On("a"));
  EXPECT_EQ(cluster_.Why(with(gce), "a"), "VolumeRestrictions: node(s) had no available disk");
  EXPECT_EQ(cluster_.Why(with(gce_read), "a"), "");
  EXPECT_EQ(cluster_.Why(with(gce), "b"), "");
  const char* aws = R"({"name":"v","awsElasticBlockStore":{"volumeID":"d","readOnly":true}})";
  cluster_.Add(PodMaker("2").Volume(aws).On("a"));
  EXPECT_NE(cluster_.Why(with(aws), "a"), "") << "even when both only read";
  cluster_.Add(PodMaker("3").Volume(R"({"name":"v","iscsi":{"iqn":"i"}})").On("a"));
  EXPECT_NE(cluster_.Why(with(R"({"name":"v","iscsi":{"iqn":"i","readOnly":true}})"), "a"), "");
  cluster_.Add(PodMaker("4").Volume(R"({"name":"v","rbd":{"image":"i","pool":"q","monitors":["m1","m2"]}})").On("a"));
  EXPECT_NE(cluster_.Why(with(R"({"name":"v","rbd":{"image":"i","pool":"q","monitors":["m2"]}})"), "a"), "");
  EXPECT_EQ(cluster_.Why(with(R"({"name":"v","rbd":{"image":"i","pool":"q","monitors":["m3"]}})"), "a"), "");
  EXPECT_EQ(cluster_.Why(with(R"({"name":"v","rbd":{"image":"i","pool":"r","monitors":["m2"]}})"), "a"), "");
}

TEST_F(VolumesTest, ANodeTakesAsManyVolumesAsItsDriverSays) {
  Add(VolumeKind::kCsiNode,
      R"({"metadata":{"name":"a"},"spec":{"drivers":[{"name":"ebs.csi.aws.com","allocatable":{"count":2}}]}})");
  for (const char* name : {"v1", "v2", "v3"}) {
    Add(VolumeKind::kPersistentVolume, R"({"metadata":{"name":")" + std::string(name) +
                                           R"("},"spec":{"csi":{"driver":"ebs.csi.aws.com","volumeHandle":")" + name + "\"}}}");
    Claim(name, R"({"volumeName":")" + std::string(name) + "\"}");
  }
  cluster_.Add(PodMaker("1").Claim("v1").On("a"));
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("v2"), "a"), "");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("v2").Claim("v3"), "a"), "NodeVolumeLimits: node(s) exceed max volume count");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("v2").Claim("v1"), "a"), "") << "v1 is there already";
  cluster_.Add(PodMaker("2").Claim("v2").On("a"));
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("v3")), "b") << "b says nothing of a limit";
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("v1")), "a b");
  Class("ebs", "ebs.csi.aws.com");
  Claim("new", R"({"storageClassName":"ebs"})", "Pending");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("new")), "b") << "a volume that is still to be made counts too";
  Add(VolumeKind::kPersistentVolume, R"({"metadata":{"name":"v3"},"spec":{"awsElasticBlockStore":{"volumeID":"v3"}}})");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("v3")), "b") << "the built-in kind has moved to the driver";
}

TEST_F(VolumesTest, DisksThatThePodNamesItselfCountForTheDriverThatTookThemOver) {
  Add(VolumeKind::kCsiNode,
      R"({"metadata":{"name":"a"},"spec":{"drivers":[{"name":"ebs.csi.aws.com","allocatable":{"count":1}},
          {"name":"disk.csi.azure.com","allocatable":{"count":0}}]}})");
  const auto with = [](std::string_view name, std::string_view disk) {
    return PodMaker(name).Volume(R"({"name":"v","awsElasticBlockStore":{"volumeID":")" + std::string(disk) + "\"}}");
  };
  EXPECT_EQ(cluster_.Where(with("p", "vol-2")), "a b");
  cluster_.Add(with("there", "vol-1").On("a"));
  EXPECT_EQ(cluster_.Why(with("p", "vol-2"), "a"), "NodeVolumeLimits: node(s) exceed max volume count");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Volume(R"({"name":"v","azureDisk":{"diskURI":"d"}})")), "b");
  Add(VolumeKind::kPersistentVolume,
      R"({"metadata":{"name":"same"},"spec":{"csi":{"driver":"ebs.csi.aws.com","volumeHandle":"vol-1"}}})");
  Claim("same", R"({"volumeName":"same"})");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("same")), "a b") << "the same disk is attached once";
}

TEST_F(VolumesTest, TheZoneOfADiskThatWasTakenOverIsItsDrivers) {
  cluster_.Add(NodeMaker("c").Zone("1").Label("topology.ebs.csi.aws.com/zone", "1"));
  cluster_.Add(NodeMaker("d").Zone("1").Label("topology.ebs.csi.aws.com/zone", "2"));
  Add(VolumeKind::kPersistentVolume, R"({"metadata":{"name":"v","labels":{"topology.kubernetes.io/zone":"1"}},
      "spec":{"awsElasticBlockStore":{"volumeID":"vol-1"}}})");
  Claim("data", R"({"volumeName":"v"})");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "a c d") << "without a CSINode nothing is translated";
  for (const char* node : {"a", "c", "d"}) {
    Add(VolumeKind::kCsiNode, R"({"metadata":{"name":")" + std::string(node) + R"("},"spec":{"drivers":[]}})");
  }
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "c");
  Add(VolumeKind::kPersistentVolume, R"({"metadata":{"name":"v","labels":{"topology.kubernetes.io/zone":"1"}},
      "spec":{"awsElasticBlockStore":{"volumeID":"vol-1"},"nodeAffinity":{"required":{"nodeSelectorTerms":[
      {"matchExpressions":[{"key":"topology.kubernetes.io/zone","operator":"In","values":["2","1"]}]}]}}}})");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "c d") << "of the affinity's zones, which stand before the label";
}

TEST_F(VolumesTest, AnEphemeralClaimIsItsOwnPods) {
  PodMaker pod("p");
  pod.Volume(R"({"name":"scratch","ephemeral":{}})");
  const auto claim = [&](std::string_view owners) {
    Add(VolumeKind::kPersistentVolumeClaim, R"({"metadata":{"name":"p-scratch","namespace":"default",
        "annotations":{"pv.kubernetes.io/bind-completed":"yes"})" +
                                                std::string(owners) + R"(},"spec":{"volumeName":"v"}})");
  };
  Add(VolumeKind::kPersistentVolume, R"({"metadata":{"name":"v"},"spec":{}})");
  const std::string refusal = "VolumeBinding: PVC default/p-scratch was not created for pod default/p (pod is not owner)";
  claim("");
  EXPECT_EQ(cluster_.Why(pod, "a"), refusal);
  claim(R"(,"ownerReferences":[{"uid":"p"}])");
  EXPECT_EQ(cluster_.Why(pod, "a"), refusal) << "an owner, but not the controller";
  claim(R"(,"ownerReferences":[{"uid":"other","controller":true}])");
  EXPECT_EQ(cluster_.Why(pod, "a"), refusal);
  claim(R"(,"ownerReferences":[{"uid":"p","controller":true}])");
  EXPECT_EQ(cluster_.Where(pod), "a b");
}

TEST_F(VolumesTest, AClaimIsBoundWhenItsBindingIsCompleted) {
  Add(VolumeKind::kPersistentVolume, R"({"metadata":{"name":"v"},"spec":{}})");
  Add(VolumeKind::kPersistentVolumeClaim,
      R"({"metadata":{"name":"data","namespace":"default"},"spec":{"volumeName":"v"},"status":{"phase":"Bound"}})");
  EXPECT_EQ(cluster_.Why(PodMaker("p").Claim("data"), "a"), "VolumeBinding: pod has unbound immediate PersistentVolumeClaims");
  Claim("data", R"({"volumeName":"v"})");
  EXPECT_EQ(cluster_.Where(PodMaker("p").Claim("data")), "a b");
}

}  // namespace
}  // namespace evenkeel::scheduling::volumes_test
