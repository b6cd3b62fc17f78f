// The Service default/kubernetes: what it is, and that it stays.
#include "embedded/apiserver/api/kubernetes_service.h"

#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::kubernetes_service_test {
namespace {

using base::FindInt;
using base::FindString;
using base::Json;

class KubernetesServiceTest : public ApiFixture {
 protected:
  Json Get(const std::string& plural) {
    const std::string group = plural == "endpointslices" ? "/apis/discovery.k8s.io/v1" : "/api/v1";
    const TestReply reply = Send("GET", group + "/namespaces/default/" + plural + "/kubernetes");
    return reply.status == 200 ? reply.json() : Json();
  }
  void Delete(const std::string& plural) {
    const std::string group = plural == "endpointslices" ? "/apis/discovery.k8s.io/v1" : "/api/v1";
    EXPECT_EQ(Send("DELETE", group + "/namespaces/default/" + plural + "/kubernetes").status, 200);
  }
};

TEST_F(KubernetesServiceTest, IsWhereTheServerListens) {
  const KubernetesService service(api, executor, "127.0.0.1", 6443);
  executor.RunFor(std::chrono::seconds(1));
  const Json made = Get("services");
  EXPECT_EQ(base::ToText(made.at("metadata").at("labels")), R"({"component":"apiserver","provider":"kubernetes"})");
  EXPECT_EQ(FindString(made, {"spec", "clusterIP"}), "10.96.0.1");
  EXPECT_EQ(FindString(made, {"spec", "type"}), "ClusterIP");
  EXPECT_EQ(base::ToText(made.at("spec").at("ports")), R"([{"name":"https","protocol":"TCP","port":443,"targetPort":6443}])");
  EXPECT_EQ(base::Find(made, {"spec", "selector"}), nullptr);
  const Json endpoints = Get("endpoints");
  EXPECT_EQ(base::ToText(endpoints.at("subsets")),
            R"([{"addresses":[{"ip":"127.0.0.1"}],"ports":[{"name":"https","port":6443,"protocol":"TCP"}]}])");
  EXPECT_EQ(base::ToText(endpoints.at("metadata").at("labels")), R"({"endpointslice.kubernetes.io/skip-mirror":"true"})");
  const Json slice = Get("endpointslices");
  EXPECT_EQ(FindString(slice, {"addressType"}), "IPv4");
  EXPECT_EQ(base::ToText(slice.at("endpoints")), R"([{"addresses":["127.0.0.1"],"conditions":{"ready":true}}])");
  EXPECT_EQ(base::ToText(slice.at("ports")), R"([{"name":"https","port":6443,"protocol":"TCP"}])");
  EXPECT_EQ(base::ToText(slice.at("metadata").at("labels")), R"({"kubernetes.io/service-name":"kubernetes"})");
  // Nobody else gets its address, unless he asks for it: then it is taken.
  EXPECT_EQ(Send("POST", "/api/v1/namespaces/default/services",
                 R"({"metadata":{"name":"thief"},"spec":{"clusterIP":"10.96.0.1","ports":[{"port":80}]}})")
                .status,
            422);
}

TEST_F(KubernetesServiceTest, ComesAgainAndIsPutRight) {
  const KubernetesService service(api, executor, "0.0.0.0", 6443);
  executor.RunFor(std::chrono::seconds(1));
  const std::string version(kube::ResourceVersionOf(Get("services")));
  const auto revision = store->current_revision();
  executor.RunFor(std::chrono::minutes(1));
  EXPECT_EQ(store->current_revision(), revision) << "nothing is written while all is right";
  for (const char* plural : {"services", "endpoints", "endpointslices"}) Delete(plural);
  EXPECT_TRUE(Get("services").is_null());
  executor.RunFor(KubernetesService::kInterval);
  EXPECT_EQ(FindString(Get("services"), {"spec", "clusterIP"}), "10.96.0.1");
  EXPECT_EQ(FindString(Get("endpoints").at("subsets").at(0).at("addresses").at(0), {"ip"}), "127.0.0.1");
  EXPECT_EQ(FindInt(Get("endpointslices").at("ports").at(0), {"port"}), 6443);
  const std::string path = "/api/v1/namespaces/default/";
  const std::string merge = "application/merge-patch+json";
  EXPECT_EQ(Patch(path + "endpoints/kubernetes", merge, R"({"subsets":null,"metadata":{"labels":{"mine":"stays"}}})").status,
            200);
  EXPECT_EQ(
      Patch(path + "services/kubernetes", merge, R"({"spec":{"ports":[{"name":"x","port":1}],"sessionAffinity":"ClientIP"}})")
          .status,
      200);
  executor.RunFor(KubernetesService::kInterval);
  EXPECT_EQ(FindString(Get("endpoints"), {"metadata", "labels", "mine"}), "stays");
  EXPECT_EQ(base::FindArray(Get("endpoints"), {"subsets"}).size(), 1u);
  EXPECT_EQ(FindInt(Get("services").at("spec").at("ports").at(0), {"port"}), 443);
  EXPECT_EQ(FindString(Get("services"), {"spec", "sessionAffinity"}), "ClientIP") << "the rest is left alone";
}

TEST_F(KubernetesServiceTest, AServerElsewhereIsNamedInstead) {
  {
    const KubernetesService first(api, executor, "127.0.0.1", 1111);
    executor.RunFor(std::chrono::seconds(1));
  }
  const KubernetesService second(api, executor, "::1", 2222);
  executor.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(FindInt(Get("services").at("spec").at("ports").at(0), {"targetPort"}), 2222);
  EXPECT_EQ(FindString(Get("endpointslices"), {"addressType"}), "IPv6");
  EXPECT_EQ(FindString(Get("endpoints").at("subsets").at(0).at("addresses").at(0), {"ip"}), "::1");
}

TEST_F(KubernetesServiceTest, ServersOfOneStoreAreNamedTogether) {
  constexpr auto kShared = KubernetesService::Store::kShared;
  const auto endpoints = [&] { return base::ToText(Get("endpoints").at("subsets")); };
  const auto slices = [&] {
    std::string text;
    const Json list = Send("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices").json();
    for (const Json& slice : base::FindArray(list, {"items"})) {
      text += std::string(kube::NameOf(slice)) + ":";
      for (const Json& one : base::FindArray(slice, {"endpoints"})) text += " " + base::ToText(one.at("addresses"));
      text += " " + std::to_string(FindInt(base::FindArray(slice, {"ports"}).at(0), {"port"})) + "\n";
    }
    return text;
  };
  const std::string first_alone =
      R"([{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"name":"https","port":6443,"protocol":"TCP"}]}])";
  const KubernetesService first(api, executor, "10.0.0.1", 6443, kShared);
  executor.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(endpoints(), first_alone);
  {
    const KubernetesService second(api, executor, "10.0.0.2", 6443, kShared);
    executor.RunFor(KubernetesService::kInterval);
    EXPECT_EQ(
        endpoints(),
        R"([{"addresses":[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}],"ports":[{"name":"https","port":6443,"protocol":"TCP"}]}])");
    EXPECT_EQ(slices(), "kubernetes: [\"10.0.0.1\"] [\"10.0.0.2\"] 6443\n");
    std::string versions;
    for (const char* plural : {"services", "endpoints", "endpointslices"}) versions += kube::ResourceVersionOf(Get(plural));
    executor.RunFor(std::chrono::minutes(5));
    for (const char* plural : {"services", "endpoints", "endpointslices"}) {
      const std::string version(kube::ResourceVersionOf(Get(plural)));
      EXPECT_TRUE(versions.starts_with(version)) << "nobody hears of servers that go on";
      versions.erase(0, version.size());
    }
    const KubernetesService third(api, executor, "fd00::3", 7443, kShared);
    executor.RunFor(KubernetesService::kInterval);
    EXPECT_EQ(slices(), "kubernetes: [\"10.0.0.1\"] [\"10.0.0.2\"] 6443\nkubernetes-ipv6-7443: [\"fd00::3\"] 7443\n");
    EXPECT_EQ(base::FindArray(Get("endpoints"), {"subsets"}).size(), 2u);
    EXPECT_EQ(FindInt(Get("services").at("spec").at("ports").at(0), {"targetPort"}), 6443);
  }
  EXPECT_EQ(endpoints(), first_alone) << "who ends is named no longer, at once";
  EXPECT_EQ(slices(), "kubernetes: [\"10.0.0.1\"] 6443\n");
}

TEST_F(KubernetesServiceTest, AServerThatWasKilledIsForgotten) {
  const auto put = [&](const std::string& name, const std::string& record) {
    EXPECT_TRUE(
        store->CommitAndWait({.key = ServerRecords::kPrefix + name, .value = std::make_shared<const std::string>(record)}));
  };
  put("killed", R"({"address":"10.0.0.9","port":6443})");
  put("broken", R"({"address":"10.0.0.9)");
  put("foreign", R"({"address":"nowhere","port":0})");
  const KubernetesService service(api, executor, "10.0.0.1", 6443, KubernetesService::Store::kShared);
  executor.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(base::FindArray(Get("endpoints").at("subsets").at(0), {"addresses"}).size(), 2u) << "it may be there";
  executor.RunFor(ServerRecords::kLife + KubernetesService::kInterval);
  EXPECT_EQ(base::ToText(Get("endpoints").at("subsets").at(0).at("addresses")), R"([{"ip":"10.0.0.1"}])");
  EXPECT_EQ(store->List({.prefix = ServerRecords::kPrefix})->items.size(), 1u) << "and leaves nothing behind";
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::kubernetes_service_test
