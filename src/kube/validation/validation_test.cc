#include "kube/validation/validation.h"

#include <gtest/gtest.h>

#include "kube/forms/defaulting.h"

namespace evenkeel::kube::validation_test {
namespace {

using base::Json;

Json ReadyObject(const Resource& resource, std::string_view text) {
  auto object = base::ParseJson(text, "test");
  EXPECT_TRUE(object.has_value()) << text;
  if (!object) return Json();
  ApplyKindDefaults(resource, *object);
  return *object;
}

std::string Joined(const std::vector<base::Cause>& causes) {
  std::string text;
  for (const base::Cause& cause : causes) text += (text.empty() ? "" : "\n") + cause.field + ": " + cause.message;
  return text;
}

std::string Problems(const Resource& resource, std::string_view text) {
  return Joined(ValidateObject(resource, ReadyObject(resource, text)));
}

std::string UpdateProblems(const Resource& resource, std::string_view text, std::string_view old) {
  return Joined(ValidateUpdate(resource, ReadyObject(resource, text), ReadyObject(resource, old)));
}

std::string Pod(std::string_view spec) {
  return R"({"metadata":{"name":"p","namespace":"d"},"spec":)" + std::string(spec) + "}";
}
std::string OneContainer(std::string_view more) {
  return Pod(R"({"containers":[{"name":"c","image":"i:1")" + std::string(more.empty() ? "" : ",") + std::string(more) + "}]}");
}

TEST(ValidationTest, AGoodPodHasNoProblems) {
  EXPECT_EQ(Problems(resources::Pods(), Pod(R"({"tolerations":[{"operator":"Exists"}],"volumes":[{"name":"v","emptyDir":{}}],
      "initContainers":[{"name":"i","image":"x","restartPolicy":"Always"}],
      "containers":[{"name":"c","image":"i:1","ports":[{"containerPort":80,"name":"http"}],"env":[{"name":"A","value":"1"}],
      "volumeMounts":[{"name":"v","mountPath":"/v"}],"resources":{"requests":{"cpu":"100m"},"limits":{"cpu":"1"}},
      "readinessProbe":{"httpGet":{"port":"http"}}}]})")),
            "");
}

TEST(ValidationTest, PodsAreCheckedInUpstreamsWords) {
  EXPECT_EQ(Problems(resources::Pods(), Pod("{}")), "spec.containers: Required value");
  EXPECT_EQ(Problems(resources::Pods(), Pod(R"({"containers":[{"name":"a"}]})")), "spec.containers[0].image: Required value");
  EXPECT_EQ(Problems(resources::Pods(), Pod(R"({"containers":[{"name":"a","image":"x"},{"name":"a","image":"x"}]})")),
            R"(spec.containers[1].name: Duplicate value: "a")");
  EXPECT_EQ(Problems(resources::Pods(), OneContainer(R"("ports":[{"containerPort":70000}])")),
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive");
  EXPECT_EQ(
      Problems(resources::Pods(), OneContainer(R"("imagePullPolicy":"Sometimes")")),
      R"(spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never")");
  EXPECT_EQ(Problems(resources::Pods(), OneContainer(R"("resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1500m"}})")),
            R"(spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1500m)");
  EXPECT_EQ(Problems(resources::Pods(), OneContainer(R"("resources":{"limits":{"cpu":"x"}})")).substr(0, 41),
            "spec.containers[0].resources.limits[cpu]:");
  EXPECT_EQ(Problems(resources::Pods(), OneContainer(R"("livenessProbe":{})")),
            "spec.containers[0].livenessProbe: Required value: must specify a handler type");
  EXPECT_EQ(Problems(resources::Pods(), OneContainer(R"("livenessProbe":{"exec":{"command":["x"]},"tcpSocket":{"port":1}})")),
            "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type");
  EXPECT_EQ(Problems(resources::Pods(), OneContainer(R"("volumeMounts":[{"name":"no","mountPath":"/x"}])")),
            R"(spec.containers[0].volumeMounts[0].name: Not found: "no")");
  EXPECT_EQ(
      Problems(resources::Pods(),
               Pod(R"({"tolerations":[{"key":"a","operator":"Exists","value":"b"}],"containers":[{"name":"c","image":"x"}]})")),
      R"(spec.tolerations[0].operator: Invalid value: "Exists": value must be empty when `operator` is 'Exists')");
  EXPECT_EQ(Problems(resources::Pods(), Pod(R"({"activeDeadlineSeconds":0,"containers":[{"name":"c","image":"x"}]})")),
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive");
}

TEST(ValidationTest, ItemsOfVolumesStayInThem) {
  const auto problems = [](const std::string& volume) {
    return Problems(resources::Pods(),
                    Pod(R"({"containers":[{"name":"c","image":"x"}],"volumes":[{"name":"v",)" + volume + "}]}"));
  };
  EXPECT_EQ(problems(R"("configMap":{"name":"m","items":[{"key":"k","path":"a/b"},{"key":"l","path":"c..d"}]})"), "");
  EXPECT_EQ(problems(R"("configMap":{"name":"m","items":[{"key":"k","path":"a"},{"key":"l","path":"../x"}]})"),
            R"(spec.volumes[0].configMap.items[1].path: Invalid value: "../x": must not contain '..')");
  EXPECT_EQ(problems(R"("secret":{"secretName":"s","items":[{"key":"k","path":"a/../../x"}]})"),
            R"(spec.volumes[0].secret.items[0].path: Invalid value: "a/../../x": must not contain '..')");
  EXPECT_EQ(problems(R"("secret":{"secretName":"s","items":[{"key":"k","path":"/etc/x"}]})"),
            R"(spec.volumes[0].secret.items[0].path: Invalid value: "/etc/x": must be a relative path)");
  EXPECT_EQ(problems(R"("downwardAPI":{"items":[{"path":"..data","fieldRef":{"fieldPath":"metadata.name"}}]})"),
            R"(spec.volumes[0].downwardAPI.items[0].path: Invalid value: "..data": must not start with '..')");
  EXPECT_EQ(
      problems(R"("projected":{"sources":[{"configMap":{"name":"m"}},{"serviceAccountToken":{"path":"../token"}}]})"),
      R"(spec.volumes[0].projected.sources[1].serviceAccountToken.path: Invalid value: "../token": must not contain '..')");
}

TEST(ValidationTest, MetadataIsChecked) {
  EXPECT_EQ(Problems(resources::ConfigMaps(), R"({"metadata":{}})"),
            "metadata.name: Required value: name or generateName is required");
  EXPECT_EQ(Problems(resources::ConfigMaps(), R"({"metadata":{"generateName":"a-"}})"), "");
  EXPECT_EQ(Problems(resources::ConfigMaps(), R"({"metadata":{"name":"A"}})").substr(0, 35),
            R"(metadata.name: Invalid value: "A": )");
  EXPECT_NE(Problems(resources::Namespaces(), R"({"metadata":{"name":"a.b"}})"), "");
  EXPECT_NE(Problems(resources::Services(), R"({"metadata":{"name":"1a"},"spec":{"clusterIP":"None"}})"), "");
  EXPECT_EQ(
      Problems(*FindBuiltIn("rbac.authorization.k8s.io", "v1", "roles"), R"({"metadata":{"name":"system:X"},"rules":[]})"), "");
  EXPECT_EQ(Problems(resources::ConfigMaps(), R"({"metadata":{"name":"a","labels":{"k":"a b"}}})").substr(0, 41),
            R"(metadata.labels: Invalid value: "a b": a )");
  const std::string large(300000, 'x');
  EXPECT_EQ(Problems(resources::ConfigMaps(), R"({"metadata":{"name":"a","annotations":{"k":")" + large + R"("}}})"),
            "metadata.annotations: Too long: must have at most 262144 bytes");
}

std::string Deployment(std::string_view selector, std::string_view pod_spec, std::string_view more = "") {
  return R"({"metadata":{"name":"d"},"spec":{"selector":)" + std::string(selector) +
         R"(,"template":{"metadata":{"labels":{"a":"b"}},"spec":)" + std::string(pod_spec) + "}" + std::string(more) + "}}";
}

constexpr std::string_view kGoodPodSpec = R"({"containers":[{"name":"c","image":"x"}]})";

TEST(ValidationTest, StatefulPodsMountTheirClaims) {
  const std::string pod = R"({"containers":[{"name":"c","image":"x","volumeMounts":[{"name":"data","mountPath":"/d"}]}]})";
  const auto problems = [&](std::string_view claim) {
    return Problems(resources::StatefulSets(),
                    Deployment(R"({"matchLabels":{"a":"b"}})", pod,
                               R"(,"serviceName":"s","volumeClaimTemplates":[{"metadata":{"name":")" + std::string(claim) +
                                   R"("},"spec":{}}])"));
  };
  EXPECT_EQ(problems("data"), "");
  EXPECT_EQ(problems("log"), R"(spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data")");
}

TEST(ValidationTest, WorkloadsMustSelectTheirPods) {
  const Resource& deployments = resources::Deployments();
  EXPECT_EQ(Problems(deployments, Deployment(R"({"matchLabels":{"a":"b"}})", kGoodPodSpec)), "");
  EXPECT_EQ(Problems(deployments, Deployment(R"({"matchLabels":{"a":"c"}})", kGoodPodSpec)),
            R"(spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`)");
  EXPECT_EQ(Problems(deployments, Deployment("null", kGoodPodSpec)), "spec.selector: Required value");
  EXPECT_EQ(Problems(deployments, Deployment("{}", kGoodPodSpec)),
            "spec.selector: Invalid value: {}: empty selector is invalid for deployment");
  EXPECT_EQ(Problems(deployments, Deployment(R"({"matchLabels":{"a":"b"}})",
                                             R"({"restartPolicy":"Never","containers":[{"name":"c","image":"x"}]})")),
            R"(spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always")");
  EXPECT_EQ(Problems(deployments, Deployment(R"({"matchLabels":{"a":"b"}})", kGoodPodSpec, R"(,"replicas":-1)")),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0");
  EXPECT_EQ(Problems(deployments, Deployment(R"({"matchLabels":{"a":"b"}})", kGoodPodSpec,
                                             R"(,"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":0}})")),
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0");
  EXPECT_EQ(Problems(resources::Jobs(),
                     R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"containers":[{"name":"c","image":"x"}]}}}})"),
            R"(spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never")");
}

TEST(ValidationTest, SmallKindsHaveTheirRules) {
  EXPECT_EQ(Problems(resources::ConfigMaps(), R"({"metadata":{"name":"a"},"data":{"a b":"c"}})").substr(0, 41),
            R"(data[a b]: Invalid value: "a b": a valid )");
  EXPECT_EQ(Problems(resources::Secrets(), R"({"metadata":{"name":"a"},"type":"kubernetes.io/tls","data":{"tls.crt":"eA=="}})"),
            "data[tls.key]: Required value");
  EXPECT_NE(Problems(resources::Secrets(), R"({"metadata":{"name":"a"},"data":{"k":"***"}})"), "");
  EXPECT_EQ(
      Problems(resources::PodDisruptionBudgets(), R"({"metadata":{"name":"a"},"spec":{"minAvailable":1,"maxUnavailable":1}})"),
      R"(spec: Invalid value: {"minAvailable":1,"maxUnavailable":1}: minAvailable and maxUnavailable cannot be both set)");
  EXPECT_EQ(Problems(resources::Leases(), R"({"metadata":{"name":"a"},"spec":{"leaseDurationSeconds":0}})"),
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0");
  EXPECT_EQ(Problems(resources::Services(), R"({"metadata":{"name":"a"},"spec":{}})"), "spec.ports: Required value");
  EXPECT_EQ(
      Problems(resources::Services(), R"({"metadata":{"name":"a"},"spec":{"ports":[{"port":80,"name":"a"},{"port":81}]}})"),
      "spec.ports[1].name: Required value");
}

TEST(ValidationTest, APodsSpecHardlyChanges) {
  const std::string old = OneContainer("");
  EXPECT_EQ(UpdateProblems(
                resources::Pods(),
                Pod(R"({"containers":[{"name":"c","image":"i:2"}],"tolerations":[{"key":"a","operator":"Exists"}]})"), old),
            "");
  EXPECT_EQ(UpdateProblems(resources::Pods(), OneContainer(R"("command":["x"])"), old).substr(0, 65),
            "spec: Forbidden: pod updates may not change fields other than `sp");
  EXPECT_EQ(
      UpdateProblems(resources::Pods(), Pod(R"({"containers":[{"name":"c","image":"i:1"},{"name":"d","image":"i:1"}]})"), old),
      "spec.containers: Forbidden: pod updates may not add or remove containers");
  EXPECT_EQ(
      UpdateProblems(resources::Pods(), old,
                     Pod(R"({"containers":[{"name":"c","image":"i:1"}],"tolerations":[{"key":"a","operator":"Exists"}]})")),
      "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds");
}

TEST(ValidationTest, ImmutableFieldsStay) {
  const std::string old = Deployment(R"({"matchLabels":{"a":"b"}})", kGoodPodSpec);
  EXPECT_EQ(UpdateProblems(resources::Deployments(), Deployment(R"({"matchLabels":{"a":"c"}})", kGoodPodSpec), old),
            R"(spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable)");
  EXPECT_EQ(UpdateProblems(resources::ConfigMaps(), R"({"metadata":{"name":"a"},"immutable":true,"data":{"k":"2"}})",
                           R"({"metadata":{"name":"a"},"immutable":true,"data":{"k":"1"}})"),
            "data: Forbidden: field is immutable when `immutable` is set");
  EXPECT_EQ(UpdateProblems(resources::StatefulSets(), R"({"metadata":{"name":"a"},"spec":{"replicas":3,"serviceName":"x"}})",
                           R"({"metadata":{"name":"a"},"spec":{"serviceName":"y"}})")
                .substr(0, 50),
            "spec: Forbidden: updates to statefulset spec for f");
  EXPECT_EQ(UpdateProblems(resources::StatefulSets(), R"({"metadata":{"name":"a"},"spec":{"replicas":3}})",
                           R"({"metadata":{"name":"a"},"spec":{"replicas":1}})"),
            "");
  EXPECT_EQ(UpdateProblems(resources::ConfigMaps(), R"({"metadata":{"name":"a","uid":"1"}})",
                           R"({"metadata":{"name":"a","uid":"2"}})"),
            R"(metadata.uid: Invalid value: "1": field is immutable)");
  EXPECT_EQ(
      UpdateProblems(resources::ConfigMaps(),
                     R"({"metadata":{"name":"a","deletionTimestamp":"2024-01-01T00:00:00Z","finalizers":["x/a","x/b"]}})",
                     R"({"metadata":{"name":"a","deletionTimestamp":"2024-01-01T00:00:00Z","finalizers":["x/a"]}})"),
      "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
      "[]string{\"x/b\"}");
}

TEST(ValidationTest, NothingThatPeopleSendCrashes) {
  for (const Resource& resource : BuiltInResources()) {
    for (const char* text :
         {R"({"metadata":5,"spec":[],"data":7})",
          R"({"metadata":{"name":1},"spec":{"containers":[1,{"ports":5}],"ports":[null]}})",
          R"({"spec":{"template":{"spec":{"containers":{"a":[]},"volumes":[[]]}},"selector":[],"versions":[5]}})"}) {
      const Json object = *base::ParseJson(text, "test");
      // Of some reviews nothing is required.
      EXPECT_TRUE(resource.review || !ValidateObject(resource, object).empty());
      ValidateObject(resource, object);
      ValidateUpdate(resource, object, *base::ParseJson("{}", "test"));
    }
  }
}

}  // namespace
}  // namespace evenkeel::kube::validation_test
