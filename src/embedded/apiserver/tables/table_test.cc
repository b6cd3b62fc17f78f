#include "embedded/apiserver/tables/table.h"

#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::table_test {
namespace {

using base::FindArray;
using base::FindString;
using base::Json;

class TableTest : public ApiFixture {
 protected:
  Json Table(const std::string& path) {
    return Send("GET", path, "", {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}}).json();
  }
  static std::string Columns(const Json& table) {
    std::string text;
    for (const Json& column : base::FindArray(table, {"columnDefinitions"})) {
      text += std::string(base::FindString(column, {"name"})) + (base::FindInt(column, {"priority"}) > 0 ? "*" : "") + "|";
    }
    return text;
  }
  static std::string Cells(const Json& table, size_t row = 0) {
    return base::ToText(*base::Find(base::FindArray(table, {"rows"}).at(row), {"cells"}));
  }
};

TEST_F(TableTest, PrintsPodsAsUpstream) {
  CreatePod("web");
  executor.RunFor(std::chrono::minutes(5));
  const Json table = Table("/api/v1/namespaces/default/pods");
  EXPECT_EQ(Columns(table), "Name|Ready|Status|Restarts|Age|IP*|Node*|Nominated Node*|Readiness Gates*|");
  EXPECT_EQ(Cells(table), R"(["web","0/1","Pending","0","5m","<none>","<none>","<none>","<none>"])");
  EXPECT_EQ(base::FindString(base::FindArray(table, {"rows"})[0], {"object", "kind"}), "PartialObjectMetadata");
  const Json none = Table("/api/v1/namespaces/default/pods?includeObject=None");
  EXPECT_EQ(base::Find(base::FindArray(none, {"rows"})[0], {"object"}), nullptr);
  const Json object = Table("/api/v1/namespaces/default/pods?includeObject=Object");
  EXPECT_EQ(base::FindString(base::FindArray(object, {"rows"})[0], {"object", "kind"}), "Pod");
}

TEST_F(TableTest, PrintsDeploymentsServicesAndConfiguration) {
  Create(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},
    "spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}})");
  EXPECT_EQ(Cells(Table("/apis/apps/v1/deployments")), R"(["web","0/2",0,0,"0s","c","x","a=b"])");
  Create(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"default"},"spec":{"clusterIP":"None","selector":{"a":"b"},"ports":[{"port":80}]}})");
  EXPECT_EQ(Cells(Table("/api/v1/services")), R"(["s","ClusterIP","None","<none>","80/TCP","0s","a=b"])");
  Create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"default"},"data":{"a":"1","b":"2"}})");
  EXPECT_EQ(Cells(Table("/api/v1/configmaps")), R"(["m",2,"0s"])");
  EXPECT_EQ(Cells(Table("/api/v1/namespaces")), R"(["default","Active","0s"])");
}

TEST_F(TableTest, PrintsScales) {
  Create(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},
    "spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}})");
  const std::string path = "/apis/apps/v1/namespaces/default/deployments/web/scale";
  const Json table = Table(path);
  EXPECT_EQ(Columns(table), "Name|Desired|Available|Age|");
  EXPECT_EQ(Cells(table), R"(["web",2,0,"0s"])");
  EXPECT_EQ(FindString(FindArray(table, {"rows"})[0], {"object", "kind"}), "PartialObjectMetadata");
  EXPECT_EQ(FindString(FindArray(Table(path + "?includeObject=Object"), {"rows"})[0], {"object", "kind"}), "Scale");
}

TEST_F(TableTest, PrintsEventsWithTheirObject) {
  Create(
      R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"default"},"involvedObject":{"kind":"Pod","name":"web","namespace":"default"},
             "reason":"Started","message":"hello","type":"Normal","count":3,"lastTimestamp":"2023-11-14T22:13:10Z","firstTimestamp":"2023-11-14T22:12:20Z"})");
  const std::string expected = R"(["10s","Normal","Started","pod/web","","","hello","60s",3,"e"])";
  EXPECT_EQ(Cells(Table("/api/v1/events")), expected);
  EXPECT_EQ(Cells(Table("/apis/events.k8s.io/v1/events")), expected);
}

TEST_F(TableTest, KindsWithoutColumnsHaveNameAndTheTimeOfTheirCreation) {
  Create(R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l","namespace":"default"},"spec":{"limits":[]}})");
  const Json table = Table("/api/v1/limitranges");
  EXPECT_EQ(Columns(table), "Name|Created At|");
  EXPECT_EQ(FindString(FindArray(table, {"columnDefinitions"}).at(1), {"type"}), "date");
  EXPECT_EQ(Cells(table), R"(["l","2023-11-14T22:13:20Z"])");
  EXPECT_EQ(Columns(Table("/apis/rbac.authorization.k8s.io/v1/clusterroles")), "Name|Created At|");
  EXPECT_EQ(Columns(Table("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")), "Name|Created At|");
}

struct RowCase {
  const char* name;
  const char* collection;
  const char* object;
  const char* status;  // merged into it afterwards; "": nothing
  const char* columns;
  const char* cells;
};

class RowTest : public TableTest, public ::testing::WithParamInterface<RowCase> {};

TEST_P(RowTest, IsUpstreams) {
  const RowCase& row = GetParam();
  const TestReply made = Send("POST", row.collection, row.object);
  ASSERT_EQ(made.status, 201) << made.body;
  if (*row.status != 0) {
    const std::string path = std::string(row.collection) + "/" + std::string(kube::NameOf(made.json())) + "/status";
    const TestReply patched = Patch(path, "application/merge-patch+json", row.status);
    ASSERT_EQ(patched.status, 200) << patched.body;
  }
  const Json table = Table(row.collection);
  EXPECT_EQ(Columns(table), row.columns);
  EXPECT_EQ(Cells(table), row.cells);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RowTest,
    ::testing::Values(
        RowCase{"ResourceQuota", "/api/v1/namespaces/default/resourcequotas", R"({"metadata":{"name":"q"}})",
                R"({"status":{"hard":{"requests.cpu":"2","pods":"4","limits.memory":"1Gi","limits.cpu":"3","cpu":"1500m"},
                              "used":{"requests.cpu":"500m","pods":"1","limits.cpu":"1","cpu":"500m"}}})",
                "Name|Request|Limit|Age|",
                R"(["q","cpu: 500m/1500m, pods: 1/4, requests.cpu: 500m/2","limits.cpu: 1/3, limits.memory: 0/1Gi","0s"])"},
        RowCase{
            "PersistentVolume", "/api/v1/persistentvolumes",
            R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":"10Gi"},"accessModes":["ReadWriteMany","ReadWriteOnce"],
                    "storageClassName":"fast","hostPath":{"path":"/x"},"claimRef":{"namespace":"a","name":"b"}}})",
            R"({"status":{"phase":"Released","reason":"why"}})",
            "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|VolumeAttributesClass|Reason|Age|VolumeMode*|",
            R"(["v","10Gi","RWO,RWX","Retain","Released","a/b","fast","<unset>","why","0s","Filesystem"])"},
        RowCase{
            "UnboundClaim", "/api/v1/namespaces/default/persistentvolumeclaims",
            R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})",
            "", "Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode*|",
            R"(["c","Pending","","","","","<unset>","0s","Filesystem"])"},
        RowCase{
            "BoundClaim", "/api/v1/namespaces/default/persistentvolumeclaims",
            R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOncePod"],"volumeName":"v","storageClassName":"fast",
                    "volumeMode":"Block","resources":{"requests":{"storage":"1Gi"}}}})",
            R"({"status":{"phase":"Bound","accessModes":["ReadWriteOncePod"],"capacity":{"storage":"2Gi"}}})",
            "Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|VolumeMode*|",
            R"(["c","Bound","v","2Gi","RWOP","fast","<unset>","0s","Block"])"},
        RowCase{"StorageClass", "/apis/storage.k8s.io/v1/storageclasses",
                R"({"metadata":{"name":"s","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},
                    "provisioner":"d.example.org","volumeBindingMode":"WaitForFirstConsumer"})",
                "", "Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age|",
                R"x(["s (default)","d.example.org","Delete","WaitForFirstConsumer",false,"0s"])x"},
        RowCase{"CSINode", "/apis/storage.k8s.io/v1/csinodes",
                R"({"metadata":{"name":"n"},"spec":{"drivers":[{"name":"d.example.org","nodeID":"1"}]}})", "",
                "Name|Drivers|Age|", R"(["n",1,"0s"])"},
        RowCase{
            "CSIDriver", "/apis/storage.k8s.io/v1/csidrivers",
            R"({"metadata":{"name":"d.example.org"},"spec":{"attachRequired":false,"tokenRequests":[{"audience":"a"},{"audience":"b"}]}})",
            "", "Name|AttachRequired|PodInfoOnMount|StorageCapacity|TokenRequests|RequiresRepublish|Modes|Age|",
            R"(["d.example.org",false,false,false,"a,b",false,"Persistent","0s"])"},
        RowCase{"CSIStorageCapacity", "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
                R"({"metadata":{"name":"c"},"storageClassName":"fast","capacity":"3Gi"})", "",
                "Name|StorageClassName|Capacity|", R"(["c","fast","3Gi"])"},
        RowCase{
            "ReplicationController", "/api/v1/namespaces/default/replicationcontrollers",
            R"({"metadata":{"name":"r"},"spec":{"replicas":2,"selector":{"b":"2","a":"1"},"template":{"metadata":{"labels":{"b":"2","a":"1"}},
                    "spec":{"containers":[{"name":"c","image":"x"},{"name":"d","image":"y"}]}}}})",
            R"({"status":{"replicas":1}})", "Name|Desired|Current|Ready|Age|Containers*|Images*|Selector*|",
            R"(["r",2,1,0,"0s","c,d","x,y","a=1,b=2"])"},
        RowCase{
            "PodTemplate", "/api/v1/namespaces/default/podtemplates",
            R"({"metadata":{"name":"t"},"template":{"metadata":{"labels":{"a":"1"}},"spec":{"containers":[{"name":"c","image":"x"}]}}})",
            "", "Name|Containers|Images|Pod Labels|", R"(["t","c","x","a=1"])"},
        RowCase{
            "Endpoints", "/api/v1/namespaces/default/endpoints",
            R"({"metadata":{"name":"e"},"subsets":[{"addresses":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}],"ports":[{"name":"a","port":1},{"name":"b","port":2}]}]})",
            "", "Name|Endpoints|Age|", R"(["e","10.0.0.1:1,[fd00::1]:1,10.0.0.1:2 + 1 more...","0s"])"},
        RowCase{"EndpointSlice", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
                R"({"metadata":{"name":"e"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],
                    "ports":[{"name":"a","port":1},{"name":"b"},{"name":"c","port":3},{"name":"d","port":4}]})",
                "", "Name|AddressType|Ports|Endpoints|Age|", R"(["e","IPv4","1,b,3 + 1 more...","10.0.0.1","0s"])"},
        RowCase{
            "LoadBalancer", "/api/v1/namespaces/default/services",
            R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer","clusterIP":"10.96.7.7","selector":{"b":"2","a":"1"},"externalIPs":["192.0.2.9"],
                    "allocateLoadBalancerNodePorts":false,"ports":[{"port":80}]}})",
            R"({"status":{"loadBalancer":{"ingress":[{"hostname":"z.example.org"},{"ip":"192.0.2.1"},{"ip":"192.0.2.1"}]}}})",
            "Name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector*|",
            R"(["s","LoadBalancer","10.96.7.7","192.0.2.1,z.example.org,192.0.2.9","80/TCP","0s","a=1,b=2"])"},
        RowCase{"Ingress", "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
                R"({"metadata":{"name":"i"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}},
                    "rules":[{"host":"a.example"},{"host":"b.example"},{"host":"c.example"},{}]}})",
                R"({"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.2"},{"ip":"192.0.2.1"}]}}})",
                "Name|Class|Hosts|Address|Ports|Age|",
                R"(["i","<none>","a.example,b.example,c.example + 1 more...","192.0.2.1,192.0.2.2","80","0s"])"},
        RowCase{
            "RoleBinding", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
            R"({"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},
                    "subjects":[{"kind":"User","name":"u"},{"kind":"User","name":"v"},{"kind":"ServiceAccount","namespace":"n","name":"s"}]})",
            "", "Name|Role|Age|Users*|Groups*|ServiceAccounts*|", R"(["b","ClusterRole/view","0s","u, v","","n/s"])"},
        RowCase{
            "Autoscaler", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            R"({"metadata":{"name":"a"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":3,"metrics":[
                    {"type":"External","external":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"5"}}},
                    {"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"7"}}}]}})",
            R"({"status":{"currentReplicas":1,"desiredReplicas":1,"currentMetrics":[{"type":"External","external":{"metric":{"name":"m"},"current":{"averageValue":"4"}}},
                    {"type":"Pods","pods":{"metric":{"name":"m"},"current":{"averageValue":"6"}}}]}})",
            "Name|Reference|Targets|MinPods|MaxPods|Replicas|Age|", R"x(["a","Deployment/d","4/5 (avg), 6/7","1",3,1,"0s"])x"},
        RowCase{
            "SigningRequest", "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            R"({"metadata":{"name":"c"},"spec":{"request":"YQ==","signerName":"example.org/s","usages":["client auth"],"expirationSeconds":7200}})",
            R"({"status":{"conditions":[{"type":"Failed","status":"True"}]}})",
            "Name|Age|SignerName|Requestor|RequestedDuration|Condition|",
            R"(["c","0s","example.org/s","admin","120m","Pending,Failed"])"},
        RowCase{
            "PriorityLevel", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
            R"({"metadata":{"name":"l"},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Queue","queuing":{"queues":8}}}}})",
            "", "Name|Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age|",
            R"(["l","Limited",30,8,8,50,"0s"])"}),
    [](const auto& one) { return std::string(one.param.name); });

struct PodCase {
  const char* name;
  const char* pod;
  const char* expected;
};

class PodStatusTest : public ::testing::TestWithParam<PodCase> {};

TEST_P(PodStatusTest, SaysWhatItsContainersAreUpTo) {
  EXPECT_EQ(SummaryOf(ParseOrFail(GetParam().pod)).status, GetParam().expected);
}

TEST(PodSummaryTest, InitContainersThatGoOnRunningCount) {
  const PodSummary summary = SummaryOf(ParseOrFail(
      R"({"spec":{"initContainers":[{"name":"once"},{"name":"beside","restartPolicy":"Always"}],"containers":[{"name":"c"}]},
          "status":{"phase":"Running","initContainerStatuses":[{"name":"once","restartCount":4,"state":{"terminated":{"exitCode":0}}},
            {"name":"beside","restartCount":2,"ready":true,"started":true,"state":{"running":{}},
             "lastState":{"terminated":{"exitCode":1,"finishedAt":"2024-01-01T00:00:00Z"}}}],
           "containerStatuses":[{"name":"c","restartCount":1,"ready":true,"state":{"running":{}}}]}})"));
  EXPECT_EQ(summary.ready, 2);
  EXPECT_EQ(summary.total, 2);
  EXPECT_EQ(summary.restarts, 3) << "those of what is over do not count";
  EXPECT_TRUE(summary.last_restart.has_value());
  EXPECT_EQ(summary.status, "Running");
  const PodSummary starting = SummaryOf(ParseOrFail(
      R"({"spec":{"initContainers":[{"name":"once"}],"containers":[{"name":"c"}]},"status":{"phase":"Pending",
          "initContainerStatuses":[{"name":"once","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}],
          "containerStatuses":[{"name":"c","restartCount":0,"state":{"waiting":{"reason":"PodInitializing"}}}]}})"));
  EXPECT_EQ(starting.status, "Init:CrashLoopBackOff");
  EXPECT_EQ(starting.restarts, 4);
}

INSTANTIATE_TEST_SUITE_P(
    Pods, PodStatusTest,
    ::testing::Values(
        PodCase{"Running", R"({"status":{"phase":"Running","containerStatuses":[{"ready":true,"state":{"running":{}}}]}})",
                "Running"},
        PodCase{"Creating",
                R"({"status":{"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ContainerCreating"}}}]}})",
                "ContainerCreating"},
        PodCase{"Crash",
                R"({"status":{"phase":"Running","containerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}})",
                "CrashLoopBackOff"},
        PodCase{
            "Completed",
            R"({"status":{"phase":"Succeeded","containerStatuses":[{"state":{"terminated":{"reason":"Completed","exitCode":0}}}]}})",
            "Completed"},
        PodCase{
            "Error",
            R"({"status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"reason":"Error","exitCode":1}}}]}})",
            "Error"},
        PodCase{"ExitCode", R"({"status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":3}}}]}})",
                "ExitCode:3"},
        PodCase{"Signal", R"({"status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"signal":9}}}]}})",
                "Signal:9"},
        PodCase{"Init",
                R"({"spec":{"initContainers":[{"name":"i"},{"name":"j"}]},"status":{"phase":"Pending","initContainerStatuses":[
            {"name":"i","state":{"terminated":{"exitCode":0}}},{"name":"j","state":{"running":{}}}]}})",
                "Init:1/2"},
        PodCase{"InitError",
                R"({"spec":{"initContainers":[{"name":"i"}]},"status":{"phase":"Pending","initContainerStatuses":[
            {"name":"i","state":{"terminated":{"reason":"Error","exitCode":1}}}]}})",
                "Init:Error"},
        PodCase{"Terminating", R"({"metadata":{"deletionTimestamp":"2024-01-01T00:00:00Z"},"status":{"phase":"Running"}})",
                "Terminating"},
        PodCase{"Evicted", R"({"status":{"phase":"Failed","reason":"Evicted"}})", "Evicted"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace evenkeel::embedded::apiserver::table_test
