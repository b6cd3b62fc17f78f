// Kinds that release manifests bring along: stored, completed, checked and shown as upstream does.
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::platform_kinds_test {
namespace {

using base::Find;
using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;

class PlatformKindsTest : public ApiFixture {
 protected:
  std::string Cells(const std::string& path) {
    const Json table = Send("GET", path, "", {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}}).json();
    std::string text;
    for (const Json& row : FindArray(table, {"rows"})) text += base::ToText(*Find(row, {"cells"})) + "\n";
    return text;
  }
};

const char* const kScalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const char* const kOldScalers = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";

TEST_F(PlatformKindsTest, BothVersionsOfAnAutoscalerAreOneObject) {
  const TestReply made =
      Send("POST", kOldScalers,
           R"({"metadata":{"name":"a"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},
                                 "maxReplicas":5,"targetCPUUtilizationPercentage":70}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(FindInt(made.json(), {"spec", "targetCPUUtilizationPercentage"}), 70);
  EXPECT_EQ(FindInt(made.json(), {"spec", "minReplicas"}), 1);
  const Json newer = Send("GET", std::string(kScalers) + "/a").json();
  EXPECT_EQ(FindString(newer, {"apiVersion"}), "autoscaling/v2");
  EXPECT_EQ(base::ToText(*Find(newer, {"spec", "metrics"})),
            R"([{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":70,"type":"Utilization"}}}])");
  EXPECT_EQ(Find(newer, {"spec", "targetCPUUtilizationPercentage"}), nullptr);
  EXPECT_EQ(Cells(kScalers), "[\"a\",\"Deployment/web\",\"cpu: <unknown>/70%\",\"1\",5,0,\"0s\"]\n");
  EXPECT_EQ(Cells(kOldScalers), Cells(kScalers));
}

TEST_F(PlatformKindsTest, TheOldVersionOfAnAutoscalerLosesNothing) {
  const TestReply made =
      Send("POST", kScalers,
           R"({"metadata":{"name":"b"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"web"},"maxReplicas":3,
      "behavior":{"scaleDown":{"stabilizationWindowSeconds":60}},
      "metrics":[{"type":"Pods","pods":{"metric":{"name":"rate"},"target":{"type":"AverageValue","averageValue":"1k"}}},
                 {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(FindString(made.json(), {"spec", "behavior", "scaleUp", "selectPolicy"}), "Max");
  EXPECT_EQ(FindArray(made.json(), {"spec", "behavior", "scaleUp", "policies"}).size(), 2u);
  const Json old = Send("GET", std::string(kOldScalers) + "/b").json();
  EXPECT_EQ(FindInt(old, {"spec", "targetCPUUtilizationPercentage"}), 50);
  EXPECT_EQ(Find(old, {"spec", "metrics"}), nullptr);
  ASSERT_EQ(Send("PUT", std::string(kOldScalers) + "/b", base::ToText(old)).status, 200);
  const Json again = Send("GET", std::string(kScalers) + "/b").json();
  EXPECT_EQ(FindArray(again, {"spec", "metrics"}).size(), 2u) << base::ToText(again);
  EXPECT_TRUE(base::Equal(*Find(again, {"spec", "behavior"}), *Find(made.json(), {"spec", "behavior"})));
  EXPECT_EQ(Find(again, {"metadata", "annotations"}), nullptr);
}

TEST_F(PlatformKindsTest, NewObjectsHaveTheirFirstStatus) {
  const auto status = [&](const std::string& path, const std::string& body) {
    const TestReply made = Send("POST", path, body);
    EXPECT_EQ(made.status, 201) << path << " " << made.body;
    return base::ToText(*Find(made.json(), {"status"}));
  };
  EXPECT_EQ(
      status(
          "/api/v1/namespaces/default/persistentvolumeclaims",
          R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})"),
      R"({"phase":"Pending"})");
  EXPECT_EQ(
      status(
          "/api/v1/persistentvolumes",
          R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}})"),
      R"({"phase":"Pending"})");
  EXPECT_EQ(status("/apis/networking.k8s.io/v1/namespaces/default/ingresses",
                   R"({"metadata":{"name":"i"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}})"),
            R"({"loadBalancer":{}})");
  const Json job =
      Send(
          "POST", "/apis/batch/v1/namespaces/default/jobs",
          R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"x"}]}}}})")
          .json();
  EXPECT_EQ(FindString(job, {"metadata", "labels", "batch.kubernetes.io/job-name"}), "j");
}

TEST_F(PlatformKindsTest, PodsHaveThePriorityOfTheirClass) {
  Create(
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"high"},"value":7,"preemptionPolicy":"Never"})");
  const auto make = [&](const std::string& name, const std::string& spec) {
    return Send("POST", "/api/v1/namespaces/default/pods",
                R"({"metadata":{"name":")" + name + R"("},"spec":{"containers":[{"name":"c","image":"x"}],)" + spec + "}}");
  };
  const Json pod = make("a", R"("priorityClassName":"high")").json();
  EXPECT_EQ(FindInt(pod, {"spec", "priority"}), 7);
  EXPECT_EQ(FindString(pod, {"spec", "preemptionPolicy"}), "Never");
  const TestReply unknown = make("c", R"("priorityClassName":"low")");
  EXPECT_EQ(unknown.status, 403);
  EXPECT_EQ(unknown.message(), "pods \"c\" is forbidden: no PriorityClass with name low was found");
  EXPECT_EQ(make("d", R"("priorityClassName":"high","priority":8)").message(),
            "pods \"d\" is forbidden: the integer value of priority (8) must not be provided in pod spec; priority admission "
            "controller computed 7 from the given PriorityClass name");
}

TEST_F(PlatformKindsTest, ReplicationControllersHaveGenerations) {
  const std::string path = "/api/v1/namespaces/default/replicationcontrollers";
  const TestReply made = Send("POST", path, R"({"metadata":{"name":"r"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"c","image":"x"}]}}}})");
  EXPECT_EQ(FindInt(made.json(), {"metadata", "generation"}), 1) << made.body;
  EXPECT_EQ(FindInt(Patch(path + "/r", "application/merge-patch+json", R"({"spec":{"replicas":3}})").json(),
                    {"metadata", "generation"}),
            2);
}

TEST_F(PlatformKindsTest, EmptyTextsOfPointersAreValues) {
  const TestReply policy =
      Send("POST", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
           R"({"metadata":{"name":"p"},"spec":{"podSelector":{},"ingress":[{"ports":[{"port":80,"protocol":""}]}]}})");
  EXPECT_EQ(policy.status, 422) << policy.body;
  EXPECT_NE(policy.message().find(R"(spec.ingress[0].ports[0].protocol: Unsupported value: "")"), std::string::npos)
      << policy.message();
}

TEST_F(PlatformKindsTest, AutoscalersAreChecked) {
  const auto refusal = [&](const std::string& spec) {
    return Send("POST", kScalers, R"({"metadata":{"name":"x"},"spec":{"scaleTargetRef":{"kind":"D","name":"w"},)" + spec + "}}")
        .message();
  };
  EXPECT_NE(refusal(R"("minReplicas":3,"maxReplicas":2)").find("must be greater than or equal to `minReplicas`"),
            std::string::npos);
  EXPECT_NE(refusal(R"("maxReplicas":0)").find("spec.maxReplicas"), std::string::npos);
  EXPECT_NE(
      refusal(R"("maxReplicas":2,"metrics":[{"type":"Pods"}])").find("must populate information for the given metric source"),
      std::string::npos);
}

TEST_F(PlatformKindsTest, OtherKindsAreStoredCompletedAndShown) {
  const auto make = [&](const std::string& path, const std::string& body) {
    const TestReply made = Send("POST", path, body);
    EXPECT_EQ(made.status, 201) << path << " " << made.body;
    return made.json();
  };
  make(
      "/apis/apiregistration.k8s.io/v1/apiservices",
      R"({"metadata":{"name":"v1beta1.metrics.k8s.io"},"spec":{"group":"metrics.k8s.io","version":"v1beta1","groupPriorityMinimum":100,
           "versionPriority":100,"service":{"namespace":"kube-system","name":"metrics-server"},"insecureSkipTLSVerify":true}})");
  EXPECT_EQ(Cells("/apis/apiregistration.k8s.io/v1/apiservices"),
            "[\"v1beta1.metrics.k8s.io\",\"kube-system/metrics-server\",\"Unknown\",\"0s\"]\n");
  make("/apis/node.k8s.io/v1/runtimeclasses", R"({"metadata":{"name":"gvisor"},"handler":"runsc"})");
  EXPECT_EQ(Cells("/apis/node.k8s.io/v1/runtimeclasses"), "[\"gvisor\",\"runsc\",\"0s\"]\n");
  const Json level =
      make("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
           R"({"metadata":{"name":"l"},"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}})");
  EXPECT_EQ(FindInt(level, {"spec", "limited", "nominalConcurrencyShares"}), 30);
  make("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
       R"({"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":"l"}}})");
  EXPECT_EQ(Cells("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"), "[\"f\",\"l\",1000,\"<none>\",\"0s\",\"?\"]\n");
  const Json request = make(
      "/apis/certificates.k8s.io/v1/certificatesigningrequests",
      R"({"metadata":{"name":"c"},"spec":{"request":"YQ==","signerName":"example.org/s","usages":["client auth"],"username":"eve"}})");
  EXPECT_EQ(FindString(request, {"spec", "username"}), "admin");
  make("/apis/networking.k8s.io/v1/servicecidrs", R"({"metadata":{"name":"c"},"spec":{"cidrs":["10.0.0.0/24"]}})");
  make("/apis/networking.k8s.io/v1/ipaddresses",
       R"({"metadata":{"name":"10.0.0.1"},"spec":{"parentRef":{"resource":"services","name":"s","namespace":"default"}}})");
  EXPECT_EQ(Cells("/apis/networking.k8s.io/v1/ipaddresses"), "[\"10.0.0.1\",\"services/default/s\"]\n");
  make("/apis/storage.k8s.io/v1/volumeattributesclasses", R"({"metadata":{"name":"v"},"driverName":"d.example.org"})");
  make(
      "/apis/storage.k8s.io/v1/volumeattachments",
      R"({"metadata":{"name":"v"},"spec":{"attacher":"d.example.org","nodeName":"n","source":{"persistentVolumeName":"pv"}}})");
  make("/apis/resource.k8s.io/v1/deviceclasses",
       R"({"metadata":{"name":"gpu"},"spec":{"selectors":[{"cel":{"expression":"device.driver == 'x'"}}]}})");
  const Json claim =
      make("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
           R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}})");
  EXPECT_EQ(FindString(FindArray(claim, {"spec", "devices", "requests"})[0], {"exactly", "allocationMode"}), "ExactCount");
  const Json hooks = make(
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
      R"({"metadata":{"name":"m"},"webhooks":[{"name":"a.example.org","sideEffects":"None","admissionReviewVersions":["v1"],
                              "clientConfig":{"service":{"namespace":"n","name":"s"}},
                              "rules":[{"operations":["CREATE"],"apiGroups":["x.example.org"],"apiVersions":["v1"],"resources":["xs"]}]}]})");
  const Json& hook = FindArray(hooks, {"webhooks"})[0];
  EXPECT_EQ(FindString(hook, {"reinvocationPolicy"}), "Never");
  EXPECT_EQ(FindInt(hook, {"clientConfig", "service", "port"}), 443);
  EXPECT_EQ(base::ToText(*Find(hook, {"namespaceSelector"})), "{}");
  EXPECT_EQ(FindString(FindArray(hook, {"rules"})[0], {"scope"}), "*");
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::platform_kinds_test
