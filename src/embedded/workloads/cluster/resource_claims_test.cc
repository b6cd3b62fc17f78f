#include "embedded/workloads/cluster/resource_claims.h"

#include "embedded/workloads/cluster/cluster_testing.h"

namespace evenkeel::embedded::workloads::resource_claims_test {
namespace {

class ResourceClaimsTest : public ClusterTest {
 protected:
  void MakeTemplate(const std::string& name) {
    Create(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":")" + name +
           R"(","namespace":"default"},"spec":{"metadata":{"labels":{"team":"a"},"annotations":{"note":"b"}},
              "spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu"}}]}}}})");
  }
  void MakeClaim(const std::string& name) {
    Create(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":")" + name +
           R"(","namespace":"default"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu"}}]}}})");
  }
  Json MakePod(const std::string& name, const std::string& source, const std::string& more = "") {
    return Create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                  R"(","namespace":"default"},"spec":{"schedulerName":"nobody","restartPolicy":"Never",
                     "containers":[{"name":"c","image":"x","resources":{"claims":[{"name":"gpu"}]}}],
                     "resourceClaims":[{"name":"gpu",)" +
                  source + "}]" + more + "}}");
  }
  std::string ClaimOf(const std::string& pod) {
    const Json object = Get("pods", pod);
    const JsonArray& statuses = FindArray(object, {"status", "resourceClaimStatuses"});
    return statuses.empty() ? "" : std::string(FindString(statuses[0], {"resourceClaimName"}));
  }
  /// As a scheduler does for these pods.
  void Allocate(const std::string& claim, const std::vector<std::string>& for_pods) {
    Merge("resourceclaims", claim, R"({"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"]}})");
    JsonArray consumers;
    for (const std::string& pod : for_pods) {
      consumers.push_back(
          JsonObject{{"resource", "pods"}, {"name", pod}, {"uid", FindString(Get("pods", pod), {"metadata", "uid"})}});
    }
    const JsonObject status{
        {"allocation",
         JsonObject{
             {"devices",
              JsonObject{{"results", JsonArray{JsonObject{
                                         {"request", "gpu"}, {"driver", "d.org"}, {"pool", "n"}, {"device", "gpu-0"}}}}}}}},
        {"reservedFor", consumers}};
    Write("resourceclaims", claim, JsonObject{{"status", status}});
  }
  void Write(const std::string& plural, const std::string& name, const Json& patch) {
    client::PatchOptions options;
    options.subresource = "status";
    const auto written = admin->Patch(Kind(plural), "default", name, client::PatchType::kMerge, patch, options);
    EXPECT_TRUE(written.has_value()) << (written ? "" : written.error().message());
  }
  void Finish(const std::string& pod) { Write("pods", pod, JsonObject{{"status", JsonObject{{"phase", "Succeeded"}}}}); }
  size_t ReservationsOf(const std::string& claim) {
    return FindArray(Get("resourceclaims", claim), {"status", "reservedFor"}).size();
  }
  bool IsAllocated(const std::string& claim) {
    return base::Find(Get("resourceclaims", claim), {"status", "allocation"}) != nullptr;
  }
};

TEST_F(ResourceClaimsTest, ClaimsAreMadeFromTemplatesAndToldOf) {
  MakeTemplate("one");
  const Json pod = MakePod("p", R"("resourceClaimTemplateName":"one")");
  RunFor(2s);
  const std::string name = ClaimOf("p");
  ASSERT_TRUE(name.starts_with("p-gpu-")) << name;
  ASSERT_EQ(Names("resourceclaims"), std::vector<std::string>{name});
  const Json claim = Get("resourceclaims", name);
  EXPECT_EQ(FindString(claim, {"metadata", "generateName"}), "p-gpu-");
  EXPECT_EQ(FindString(claim, {"metadata", "labels", "team"}), "a");
  EXPECT_EQ(FindString(claim, {"metadata", "annotations", "note"}), "b");
  EXPECT_EQ(FindString(claim, {"metadata", "annotations", "resource.kubernetes.io/pod-claim-name"}), "gpu");
  const Json& owner = FindArray(claim, {"metadata", "ownerReferences"})[0];
  EXPECT_EQ(FindString(owner, {"uid"}), FindString(pod, {"metadata", "uid"}));
  EXPECT_TRUE(base::FindBool(owner, {"controller"}));
  EXPECT_TRUE(base::FindBool(owner, {"blockOwnerDeletion"}));
  counting->writes.clear();
  RunFor(1min);
  EXPECT_EQ(counting->writes, std::vector<std::string>{});
}

TEST_F(ResourceClaimsTest, LongNamesAreCutInProportion) {
  MakeTemplate("one");
  const std::string name(100, 'p');
  MakePod(name, R"("resourceClaimTemplateName":"one")");
  RunFor(2s);
  EXPECT_EQ(FindString(Get("resourceclaims", ClaimOf(name)), {"metadata", "generateName"}), std::string(54, 'p') + "-g");
}

TEST_F(ResourceClaimsTest, AMissingTemplateIsToldAndWaitedFor) {
  MakePod("p", R"("resourceClaimTemplateName":"one")");
  RunFor(5s);
  std::string told;
  for (const Json& event : List("events")) {
    if (FindString(event, {"reason"}) == "FailedResourceClaimCreation") told = FindString(event, {"message"});
  }
  EXPECT_EQ(told,
            "PodResourceClaim gpu: resource claim template \"one\": resourceclaimtemplate.resource.k8s.io \"one\" not found");
  MakeTemplate("one");
  RunFor(2min);
  EXPECT_FALSE(ClaimOf("p").empty());
}

TEST_F(ResourceClaimsTest, ClaimsOfFinishedPodsAreFreedAndGo) {
  MakeTemplate("one");
  MakePod("p", R"("resourceClaimTemplateName":"one")");
  RunFor(2s);
  Allocate(ClaimOf("p"), {"p"});
  RunFor(2s);
  EXPECT_TRUE(IsAllocated(ClaimOf("p")));
  Finish("p");
  RunFor(2s);
  EXPECT_EQ(Names("resourceclaims"), std::vector<std::string>{});
  EXPECT_EQ(Names("pods"), std::vector<std::string>{"p"});
}

TEST_F(ResourceClaimsTest, AClaimThatItsPodDoesNotNameIsFreedWithIt) {
  const Json pod = Create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},
      "spec":{"schedulerName":"nobody","restartPolicy":"Never","containers":[{"name":"c","image":"x"}]}})");
  // Of extended resources: a scheduler made it, and could not tell the pod.
  MakeClaim("left");
  Json owner = kube::ControllerReference(kube::resources::Pods(), "p", FindString(pod, {"metadata", "uid"}));
  Merge("resourceclaims", "left", base::ToText(JsonObject{{"metadata", JsonObject{{"ownerReferences", JsonArray{owner}}}}}));
  Allocate("left", {"p"});
  RunFor(10s);
  EXPECT_TRUE(IsAllocated("left"));
  Finish("p");
  RunFor(2s);
  EXPECT_TRUE(Get("resourceclaims", "left").is_null());
}

TEST_F(ResourceClaimsTest, ClaimsOfDeletedPodsGoWithThem) {
  MakeTemplate("one");
  MakePod("p", R"("resourceClaimTemplateName":"one")");
  RunFor(2s);
  Allocate(ClaimOf("p"), {"p"});
  RunFor(2s);
  Delete("pods", "p");
  RunFor(40s);
  EXPECT_EQ(Names("pods"), std::vector<std::string>{});
  EXPECT_EQ(Names("resourceclaims"), std::vector<std::string>{});
}

TEST_F(ResourceClaimsTest, ASharedClaimIsFreedWithItsLastPod) {
  MakeClaim("shared");
  for (const char* pod : {"a", "b"}) MakePod(pod, R"("resourceClaimName":"shared")");
  RunFor(2s);
  Allocate("shared", {"a", "b"});
  RunFor(2s);
  EXPECT_EQ(ReservationsOf("shared"), 2u);
  Finish("a");
  RunFor(2s);
  EXPECT_EQ(ReservationsOf("shared"), 1u);
  EXPECT_TRUE(IsAllocated("shared"));
  Finish("b");
  RunFor(2s);
  const Json claim = Get("resourceclaims", "shared");
  EXPECT_EQ(base::ToText(*base::Find(claim, {"status"})), "{}");
  EXPECT_TRUE(FindArray(claim, {"metadata", "finalizers"}).empty());
}

TEST_F(ResourceClaimsTest, ReservationsOfReplacedPodsAreTakenAway) {
  MakeClaim("shared");
  MakePod("a", R"("resourceClaimName":"shared")");
  RunFor(2s);
  Allocate("shared", {"a"});
  Delete("pods", "a");
  MakePod("a", R"("resourceClaimName":"shared")");
  RunFor(2s);
  EXPECT_FALSE(IsAllocated("shared"));
}

TEST_F(ResourceClaimsTest, PodsBoundByHandAreReservedFor) {
  AddNode("n");
  MakeClaim("shared");
  MakePod("a", R"("resourceClaimName":"shared")");
  MakePod("b", R"("resourceClaimName":"shared")", R"(,"nodeName":"n")");
  RunFor(3s);
  EXPECT_EQ(ReservationsOf("shared"), 0u);
  Allocate("shared", {"a"});
  RunFor(3s);
  EXPECT_EQ(ReservationsOf("shared"), 2u);
}

TEST_F(ResourceClaimsTest, AClaimInUseStaysUntilItIsUsedNoMore) {
  MakeClaim("shared");
  MakePod("a", R"("resourceClaimName":"shared")");
  RunFor(2s);
  Allocate("shared", {"a"});
  Delete("resourceclaims", "shared");
  RunFor(2s);
  EXPECT_EQ(Names("resourceclaims"), std::vector<std::string>{"shared"});
  Finish("a");
  RunFor(2s);
  EXPECT_EQ(Names("resourceclaims"), std::vector<std::string>{});
}

}  // namespace
}  // namespace evenkeel::embedded::workloads::resource_claims_test
