// LimitRanges: what containers get that name no amounts, and what is refused.
#include "embedded/apiserver/admission/limit_ranges.h"

#include "base/hash.h"
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::limit_ranges_test {
namespace {

using base::FindString;
using base::Json;

std::string Range(const std::string& name, const std::string& limits) {
  return R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"name":")" + name +
         R"(","namespace":"default"},"spec":{"limits":[)" + limits + "]}}";
}

std::string Pod(const std::string& name, const std::string& containers, const std::string& more = "") {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
         R"(","namespace":"default"},"spec":{"containers":[)" + containers + "]" + more + "}}";
}

std::string Container(const std::string& name, const std::string& resources = "{}") {
  return R"({"name":")" + name + R"(","image":"x","resources":)" + resources + "}";
}

class LimitRangesTest : public ApiFixture {
 protected:
  /// Why a pod of these containers may not be made; "" when it may.
  std::string Refused(const std::string& containers, const std::string& more = "") {
    const TestReply reply = Send("POST", "/api/v1/namespaces/default/pods", Pod("p", containers, more));
    if (reply.status == 201) {
      EXPECT_EQ(Send("DELETE", "/api/v1/namespaces/default/pods/p").status, 200);
      return "";
    }
    EXPECT_EQ(reply.status, 403);
    EXPECT_EQ(FindString(reply.json(), {"reason"}), "Forbidden");
    const std::string prefix = "pods \"p\" is forbidden: ";
    EXPECT_TRUE(reply.message().starts_with(prefix)) << reply.message();
    return reply.message().substr(prefix.size());
  }
  std::string ClaimRefused(const std::string& method, const std::string& path, const std::string& storage) {
    return Send(
               method, "/api/v1/namespaces/default/persistentvolumeclaims" + path,
               R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],
                    "resources":{"requests":{"storage":")" +
                   storage + R"("}}}})")
        .message();
  }
};

TEST_F(LimitRangesTest, ContainersThatNameNoAmountsGetTheDefaults) {
  Create(Range("r", R"({"type":"Container","default":{"cpu":"500m","memory":"1Gi"},"defaultRequest":{"cpu":"100m"}})"));
  const Json pod =
      Create(Pod("p", Container("bare") + "," + Container("cpu", R"({"limits":{"cpu":"2"}})"),
                 R"(,"initContainers":[)" + Container("first", R"({"requests":{"cpu":"1m","memory":"1Mi"}})") + "]"));
  const Json& containers = pod.at("spec").at("containers");
  EXPECT_EQ(base::ToText(containers.at(0).at("resources")),
            R"({"limits":{"cpu":"500m","memory":"1Gi"},"requests":{"cpu":"100m","memory":"1Gi"}})");
  EXPECT_EQ(base::ToText(containers.at(1).at("resources")),
            R"({"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"2","memory":"1Gi"}})");
  EXPECT_EQ(FindString(pod, {"metadata", "annotations", "kubernetes.io/limit-ranger"}),
            "LimitRanger plugin set: cpu, memory request for container bare; cpu, memory limit for container bare; "
            "memory request for container cpu; memory limit for container cpu; cpu, memory limit for init container first");
  EXPECT_EQ(FindString(pod, {"status", "qosClass"}), "Burstable");
  // Nothing is missing, nothing is told.
  const Json whole =
      Create(Pod("whole", Container("c", R"({"limits":{"cpu":"1","memory":"1Mi"},"requests":{"cpu":"1","memory":"1Mi"}})")));
  EXPECT_EQ(base::Find(whole, {"metadata", "annotations"}), nullptr);
}

TEST_F(LimitRangesTest, OfOneNamespaceOnlyAndWhileTheyAreThere) {
  Create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}})");
  Create(
      R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"r","namespace":"other"},"spec":{"limits":[{"type":"Container",
      "max":{"cpu":"1"}}]}})");
  EXPECT_EQ(Refused(Container("c", R"({"limits":{"cpu":"2"}})")), "");
  Create(Range("r", R"({"type":"Container","max":{"cpu":"1"}})"));
  EXPECT_EQ(Refused(Container("c", R"({"limits":{"cpu":"2"}})")), "maximum cpu usage per Container is 1, but limit is 2");
  EXPECT_EQ(Send("PATCH", "/api/v1/namespaces/default/limitranges/r",
                 R"({"spec":{"limits":[{"type":"Container","max":{"cpu":"3"}}]}})",
                 {{"content-type", "application/merge-patch+json"}})
                .status,
            200);
  EXPECT_EQ(Refused(Container("c", R"({"limits":{"cpu":"2"}})")), "");
  EXPECT_EQ(Send("DELETE", "/api/v1/namespaces/default/limitranges/r").status, 200);
  EXPECT_EQ(Refused(Container("c", R"({"limits":{"cpu":"9"}})")), "");
}

TEST_F(LimitRangesTest, BoundsOfContainersInUpstreamsWords) {
  Create(Range("r", R"({"type":"Container","min":{"memory":"10Mi"},"max":{"memory":"1Gi"},"default":{"memory":"1Gi"},
      "defaultRequest":{"memory":"10Mi"},"maxLimitRequestRatio":{"memory":"4","cpu":"2500m"}})"));
  const std::string cpu = R"("cpu":"1")";
  const auto with = [&](const std::string& request, const std::string& limit) {
    return Container("c", R"({"requests":{)" + cpu + request + R"(},"limits":{)" + cpu + limit + "}}");
  };
  EXPECT_EQ(Refused(with(R"(,"memory":"256Mi")", R"(,"memory":"1Gi")")), "");
  EXPECT_EQ(Refused(with(R"(,"memory":"5Mi")", R"(,"memory":"20Mi")")),
            "minimum memory usage per Container is 10Mi, but request is 5Mi");
  EXPECT_EQ(Refused(with(R"(,"memory":"1Gi")", R"(,"memory":"2Gi")")),
            "maximum memory usage per Container is 1Gi, but limit is 2Gi");
  EXPECT_EQ(Refused(with(R"(,"memory":"100Mi")", R"(,"memory":"500Mi")")),
            "memory max limit to request ratio per Container is 4, but provided ratio is 5.000000");
  EXPECT_EQ(Refused(Container("c", R"({"requests":{"memory":"1Gi","cpu":"0"}})")),
            "cpu max limit to request ratio per Container is 2500m, but no request is specified or request is 0");
  // All that is wrong of one LimitRange, each once.
  EXPECT_EQ(
      Refused(with(R"(,"memory":"2Gi")", R"(,"memory":"20Gi")") + "," +
              Container("d", R"({"requests":{"cpu":"1","memory":"2Gi"},"limits":{"cpu":"3","memory":"20Gi"}})")),
      "[maximum memory usage per Container is 1Gi, but limit is 20Gi, memory max limit to request ratio per Container is 4, "
      "but "
      "provided ratio is 10.000000, cpu max limit to request ratio per Container is 2500m, but provided ratio is 3.000000]");
  EXPECT_EQ(Refused(with(R"(,"memory":"100Mi")", R"(,"memory":"100Mi")"),
                    R"(,"initContainers":[)" +
                        Container("i", R"({"requests":{"cpu":"1","memory":"1Mi"},"limits":{"cpu":"1","memory":"4Mi"}})") + "]"),
            "minimum memory usage per Container is 10Mi, but request is 1Mi");
}

TEST_F(LimitRangesTest, WhatIsNotNamedIsNotWithinBounds) {
  // Of type Pod there are no defaults.
  Create(Range("r", R"({"type":"Pod","min":{"cpu":"1"},"max":{"memory":"1Gi"}})"));
  EXPECT_EQ(Refused(Container("c")),
            "[minimum cpu usage per Pod is 1.  No request is specified, maximum memory usage per Pod is 1Gi.  No "
            "limit is specified]");
}

TEST_F(LimitRangesTest, PodsCountWhatTheirContainersTakeTogether) {
  Create(Range("r", R"({"type":"Pod","min":{"cpu":"1"},"max":{"cpu":"2"}})"));
  const auto cpu = [](const std::string& amount) { return R"({"limits":{"cpu":")" + amount + R"("}})"; };
  EXPECT_EQ(Refused(Container("a", cpu("1")) + "," + Container("b", cpu("1"))), "");
  EXPECT_EQ(Refused(Container("a", cpu("1")) + "," + Container("b", cpu("1001m"))),
            "maximum cpu usage per Pod is 2, but limit is 2001m");
  EXPECT_EQ(Refused(Container("a", cpu("999m"))), "minimum cpu usage per Pod is 1, but request is 999m");
  // An init container counts alone, one that goes on running beside the others.
  EXPECT_EQ(Refused(Container("a", cpu("1")), R"(,"initContainers":[)" + Container("i", cpu("2")) + "]"), "");
  EXPECT_EQ(Refused(Container("a", cpu("1")), R"(,"initContainers":[)" + Container("i", cpu("3")) + "]"),
            "maximum cpu usage per Pod is 2, but limit is 3");
  EXPECT_EQ(Refused(Container("a", cpu("1500m")),
                    R"(,"initContainers":[{"name":"i","image":"x","restartPolicy":"Always","resources":)" + cpu("1") + "}]"),
            "maximum cpu usage per Pod is 2, but limit is 2500m");
}

TEST_F(LimitRangesTest, PodsThatAreThereMayBeWritten) {
  CreatePod("p");
  Create(Range("r", R"({"type":"Container","max":{"cpu":"1"},"default":{"cpu":"1"}})"));
  EXPECT_EQ(
      Patch("/api/v1/namespaces/default/pods/p", "application/merge-patch+json", R"({"metadata":{"labels":{"a":"b"}}})").status,
      200);
  const Json pod = Send("GET", "/api/v1/namespaces/default/pods/p").json();
  EXPECT_EQ(base::FindObject(pod, {"spec", "containers"}).size(), 0u);
  EXPECT_EQ(base::ToText(pod.at("spec").at("containers").at(0).at("resources")), "{}");
}

TEST_F(LimitRangesTest, ClaimsAreBoundedByWhatTheyRequest) {
  Create(Range("r", R"({"type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"2Gi"}})"));
  EXPECT_EQ(
      ClaimRefused("POST", "", "3Gi"),
      "persistentvolumeclaims \"c\" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi");
  EXPECT_EQ(
      ClaimRefused("POST", "", "1Mi"),
      "persistentvolumeclaims \"c\" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi");
  EXPECT_EQ(ClaimRefused("POST", "", "2Gi"), "");
  // Also when it is to grow.
  EXPECT_EQ(Patch("/api/v1/namespaces/default/persistentvolumeclaims/c/status", "application/merge-patch+json",
                  R"({"status":{"phase":"Bound"}})")
                .status,
            200);
  EXPECT_EQ(
      ClaimRefused("PUT", "/c", "4Gi"),
      "persistentvolumeclaims \"c\" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 4Gi");
}

TEST_F(LimitRangesTest, WebhooksSeeTheDefaultsAndAreHeldToTheBounds) {
  Json seen;
  Api hooked({.name = "hooked",
              .store = store.get(),
              .clock = &executor.clock(),
              .random = base::Random(9),
              .webhook_poster = [&seen](const WebhookPost& post) -> base::Result<std::string> {
                const Json review = ParseOrFail(post.body);
                seen = review.at("request").at("object");
                return R"({"response":{"allowed":true,"patchType":"JSONPatch","uid":")" +
                       std::string(FindString(review, {"request", "uid"})) + R"(","patch":")" +
                       base::Base64Encode(
                           R"([{"op":"replace","path":"/spec/containers/0/resources/limits/cpu","value":"2"}])") +
                       "\"}}";
              }});
  ASSERT_TRUE(hooked.Start().has_value());
  const auto other = NewInProcessClient(hooked, {.name = "tester", .groups = {}});
  Create(Range("r", R"({"type":"Container","max":{"cpu":"1"}})"));
  Create(R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":"m"},
      "webhooks":[{"name":"m.example.org","clientConfig":{"url":"https://hook/m"},"sideEffects":"None",
      "admissionReviewVersions":["v1"],"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],
      "resources":["pods"]}]}]})");
  const auto created = other->Create(kube::resources::Pods(), ParseOrFail(Pod("p", Container("c"))));
  ASSERT_FALSE(created.has_value());
  EXPECT_EQ(created.error().message(), "pods \"p\" is forbidden: maximum cpu usage per Container is 1, but limit is 2");
  EXPECT_EQ(base::ToText(seen.at("spec").at("containers").at(0).at("resources")),
            R"({"limits":{"cpu":"1"},"requests":{"cpu":"1"}})");
}

TEST_F(LimitRangesTest, ServersThatStartKnowThoseThatThereAre) {
  Create(Range("r", R"({"type":"Container","max":{"cpu":"1"}})"));
  Api second({.name = "second", .store = store.get(), .clock = &executor.clock(), .random = base::Random(8)});
  ASSERT_TRUE(second.Start().has_value());
  const auto other = NewInProcessClient(second, {.name = "tester", .groups = {}});
  const auto created =
      other->Create(kube::resources::Pods(), ParseOrFail(Pod("p", Container("c", R"({"limits":{"cpu":"2"}})"))));
  ASSERT_FALSE(created.has_value());
  EXPECT_EQ(created.error().message(), "pods \"p\" is forbidden: maximum cpu usage per Container is 1, but limit is 2");
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::limit_ranges_test
