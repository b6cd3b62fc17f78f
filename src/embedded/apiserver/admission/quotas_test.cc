// ResourceQuotas: what they let in, what they say, and what their status tells.
#include "embedded/apiserver/admission/quotas.h"

#include <filesystem>
#include <thread>

#include "embedded/apiserver/api/api_testing.h"
#include "embedded/store/sqlite_store.h"

namespace evenkeel::embedded::apiserver::quotas_test {
namespace {

using base::FindString;
using base::Json;

std::string Quota(const std::string& hard, const std::string& more = "", const std::string& name = "q") {
  return R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":")" + name +
         R"(","namespace":"default"},"spec":{"hard":)" + hard + more + "}}";
}

std::string PodText(const std::string& name, const std::string& resources = "{}", const std::string& more = "") {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
         R"(","namespace":"default"},"spec":{"containers":[{"name":"c","image":"x","resources":)" + resources + "}]" + more +
         "}}";
}

std::string Asks(const std::string& cpu) { return R"({"requests":{"cpu":")" + cpu + R"("}})"; }

class QuotasTest : public ApiFixture {
 protected:
  /// Why the object may not be made; "" when it was.
  std::string Refused(const std::string& plural, const std::string& text, const std::string& query = "",
                      const std::string& group = "/api/v1") {
    const TestReply reply = Send("POST", group + "/namespaces/default/" + plural + query, text);
    if (reply.status == 201) return "";
    EXPECT_EQ(reply.status, 403) << reply.body;
    const std::string message = reply.message();
    const size_t at = message.find(" is forbidden: ");
    EXPECT_NE(at, message.npos) << message;
    return at == message.npos ? message : message.substr(at + std::string_view(" is forbidden: ").size());
  }
  std::string PodRefused(const std::string& name, const std::string& resources = "{}", const std::string& more = "") {
    return Refused("pods", PodText(name, resources, more));
  }
  void Remove(const std::string& plural, const std::string& name) {
    EXPECT_EQ(Send("DELETE", "/api/v1/namespaces/default/" + plural + "/" + name).status, 200);
  }
  void SetPhase(const std::string& pod, const std::string& phase) {
    EXPECT_EQ(Patch("/api/v1/namespaces/default/pods/" + pod + "/status", "application/merge-patch+json",
                    R"({"status":{"phase":")" + phase + R"("}})")
                  .status,
              200);
  }
};

TEST_F(QuotasTest, WhatExceedsIsRefusedInUpstreamsWords) {
  Create(Quota(R"({"pods":"2","requests.cpu":"1"})"));
  EXPECT_EQ(PodRefused("a", Asks("600m")), "");
  EXPECT_EQ(PodRefused("b", Asks("500m")),
            "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1");
  EXPECT_EQ(PodRefused("b", Asks("400m")), "");
  EXPECT_EQ(PodRefused("d", Asks("1")),
            "exceeded quota: q, requested: pods=1,requests.cpu=1, used: pods=2,requests.cpu=1, limited: pods=2,requests.cpu=1");
  const TestReply reply = Send("POST", "/api/v1/namespaces/default/pods", PodText("d", Asks("0")));
  EXPECT_EQ(reply.message(), "pods \"d\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2");
  EXPECT_EQ(FindString(reply.json(), {"reason"}), "Forbidden");
  // What goes makes room.
  Remove("pods", "a");
  EXPECT_EQ(PodRefused("d", Asks("600m")), "");
  // Other namespaces are none of its business, nor are other kinds.
  Create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}})");
  Create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"other"},"spec":{"containers":[{"name":"c","image":"x"}]}})");
  EXPECT_EQ(Refused("configmaps", R"({"metadata":{"name":"c"}})"), "");
}

TEST_F(QuotasTest, CountsWhatWasThereBefore) {
  CreatePod("a");
  CreatePod("b");
  Create(Quota(R"({"pods":"3"})"));
  EXPECT_EQ(PodRefused("c"), "");
  EXPECT_EQ(PodRefused("d"), "exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3");
  // Quotas come and go, and change.
  EXPECT_EQ(
      Patch("/api/v1/namespaces/default/resourcequotas/q", "application/merge-patch+json", R"({"spec":{"hard":{"pods":"4"}}})")
          .status,
      200);
  EXPECT_EQ(PodRefused("d"), "");
  EXPECT_EQ(PodRefused("e"), "exceeded quota: q, requested: pods=1, used: pods=4, limited: pods=4");
  Remove("resourcequotas", "q");
  EXPECT_EQ(PodRefused("e"), "");
  Create(Quota(R"({"pods":"1","secrets":"1"})"));
  EXPECT_EQ(PodRefused("f"), "exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=1");
}

TEST_F(QuotasTest, PodsMustSayWhatIsBounded) {
  Create(Quota(R"({"requests.cpu":"1","limits.memory":"1Gi","cpu":"1"})"));
  EXPECT_EQ(PodRefused("p"), "failed quota: q: must specify cpu for: c; limits.memory for: c; requests.cpu for: c");
  EXPECT_EQ(PodRefused("p", Asks("1m"), R"(,"initContainers":[{"name":"i","image":"x"}])"),
            "failed quota: q: must specify cpu for: i; limits.memory for: c,i; requests.cpu for: i");
  EXPECT_EQ(PodRefused("p", R"({"limits":{"cpu":"1","memory":"1Gi"}})"), "");
  Remove("resourcequotas", "q");
  // Of devices and disks nobody need say anything.
  Create(Quota(R"({"requests.nvidia.com/gpu":"2","requests.ephemeral-storage":"1Gi"})"));
  EXPECT_EQ(PodRefused("silent"), "");
  const auto devices = [](int count) {
    const std::string text = std::to_string(count);
    return R"({"requests":{"nvidia.com/gpu":")" + text + R"("},"limits":{"nvidia.com/gpu":")" + text + R"("}})";
  };
  EXPECT_EQ(PodRefused("two", devices(2)), "");
  EXPECT_EQ(PodRefused("one", devices(1)),
            "exceeded quota: q, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=2, "
            "limited: requests.nvidia.com/gpu=2");
}

TEST_F(QuotasTest, PodsThatAskAsAWholeCountAsAWhole) {
  Create(Quota(R"({"requests.cpu":"2","limits.cpu":"4","requests.memory":"1Gi"})"));
  // Containers say nothing, and need not.
  EXPECT_EQ(PodRefused("a", "{}", R"(,"resources":{"requests":{"cpu":"500m","memory":"1Mi"},"limits":{"cpu":"3"}})"), "");
  EXPECT_EQ(PodRefused("b", Asks("100m"), R"(,"resources":{"requests":{"cpu":"1600m"},"limits":{"cpu":"2"}})"),
            "exceeded quota: q, requested: limits.cpu=2,requests.cpu=1600m, used: limits.cpu=3,requests.cpu=500m, "
            "limited: limits.cpu=4,requests.cpu=2");
  // Requests that are not given are those of the containers, else the limits.
  const TestReply made = Send("POST", "/api/v1/namespaces/default/pods",
                              PodText("c", Asks("100m"), R"(,"resources":{"limits":{"cpu":"1","memory":"2Mi"}})"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(base::ToText(*base::Find(made.json(), {"spec", "resources", "requests"})), R"({"cpu":"100m","memory":"2Mi"})");
  EXPECT_EQ(FindString(made.json(), {"status", "qosClass"}), "Burstable");
}

TEST_F(QuotasTest, ClaimsOfDevicesCountByTheirClass) {
  const std::string group = "/apis/resource.k8s.io/v1";
  Create(Quota(R"({"gpu.deviceclass.resource.k8s.io/devices":"5","count/resourceclaims.resource.k8s.io":"3"})"));
  const auto claim = [](const std::string& name, const std::string& requests) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"devices":{"requests":[)" + requests + "]}}}";
  };
  const std::string two = R"({"name":"r","exactly":{"deviceClassName":"gpu","count":2}})";
  EXPECT_EQ(Refused("resourceclaims", claim("a", two), "", group), "");
  // Of alternatives the most counts, each class by itself.
  const std::string either = R"({"name":"r","firstAvailable":[{"name":"x","deviceClassName":"gpu","count":2},
      {"name":"y","deviceClassName":"gpu"},{"name":"z","deviceClassName":"nic","count":9}]})";
  EXPECT_EQ(Refused("resourceclaims", claim("b", either), "", group), "");
  EXPECT_EQ(Refused("resourceclaims", claim("c", two), "", group),
            "exceeded quota: q, requested: gpu.deviceclass.resource.k8s.io/devices=2, "
            "used: gpu.deviceclass.resource.k8s.io/devices=4, limited: gpu.deviceclass.resource.k8s.io/devices=5");
  EXPECT_EQ(Refused("resourceclaims", claim("c", R"({"name":"r","exactly":{"deviceClassName":"gpu","allocationMode":"All"}})"),
                    "", group),
            "exceeded quota: q, requested: gpu.deviceclass.resource.k8s.io/devices=32, "
            "used: gpu.deviceclass.resource.k8s.io/devices=4, limited: gpu.deviceclass.resource.k8s.io/devices=5");
  EXPECT_EQ(Refused("resourceclaims", claim("c", R"({"name":"r","exactly":{"deviceClassName":"nic"}})"), "", group), "");
  EXPECT_EQ(Refused("resourceclaims", claim("d", R"({"name":"r","exactly":{"deviceClassName":"nic"}})"), "", group),
            "exceeded quota: q, requested: count/resourceclaims.resource.k8s.io=1, "
            "used: count/resourceclaims.resource.k8s.io=3, limited: count/resourceclaims.resource.k8s.io=3");
}

TEST_F(QuotasTest, PodsThatHaveEndedKeepOnlyTheirCount) {
  Create(Quota(R"({"pods":"1","count/pods":"2"})"));
  EXPECT_EQ(PodRefused("a"), "");
  EXPECT_EQ(PodRefused("b"), "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1");
  SetPhase("a", "Succeeded");
  EXPECT_EQ(PodRefused("b"), "");
  SetPhase("b", "Failed");
  EXPECT_EQ(PodRefused("d"), "exceeded quota: q, requested: count/pods=1, used: count/pods=2, limited: count/pods=2");
}

TEST_F(QuotasTest, PodsThatShouldBeGoneTakeNothing) {
  Create(Quota(R"({"pods":"1"})"));
  EXPECT_EQ(PodRefused("a", "{}", R"(,"nodeName":"n","terminationGracePeriodSeconds":30)"), "");
  EXPECT_EQ(Send("DELETE", "/api/v1/namespaces/default/pods/a").status, 200);
  EXPECT_EQ(PodRefused("b"), "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1");
  executor.RunFor(std::chrono::seconds(61));
  EXPECT_EQ(PodRefused("b"), "");
}

TEST_F(QuotasTest, ScopesChooseThePodsThatCount) {
  Create(Quota(R"({"pods":"0"})", R"(,"scopes":["BestEffort"])", "best-effort"));
  Create(Quota(R"({"pods":"0"})", R"(,"scopes":["NotBestEffort","Terminating"])", "deadline"));
  Create(Quota(R"({"pods":"0"})",
               R"(,"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high"]}]})",
               "priority"));
  Create(Quota(R"({"pods":"0"})", R"(,"scopes":["CrossNamespacePodAffinity"])", "affinity"));
  Create(R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"high"},"value":5})");
  const std::string ends = ", requested: pods=1, used: pods=0, limited: pods=0";
  EXPECT_EQ(PodRefused("p"), "exceeded quota: best-effort" + ends);
  EXPECT_EQ(PodRefused("p", Asks("1"), R"(,"activeDeadlineSeconds":5)"), "exceeded quota: deadline" + ends);
  EXPECT_EQ(PodRefused("p", Asks("1"), R"(,"priorityClassName":"high")"), "exceeded quota: priority" + ends);
  EXPECT_EQ(PodRefused("p", Asks("1"), R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
      {"topologyKey":"z","namespaces":["other"],"labelSelector":{}}]}})"),
            "exceeded quota: affinity" + ends);
  EXPECT_EQ(PodRefused("p", Asks("1"), R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
      {"topologyKey":"z","labelSelector":{}}]}})"),
            "");
}

TEST_F(QuotasTest, ObjectsAreCounted) {
  Create(Quota(R"({"count/deployments.apps":"1","configmaps":"1","secrets":"0","count/secrets":"5"})"));
  const std::string deployment = R"({"metadata":{"name":"NAME"},"spec":{"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}})";
  const auto make = [&](const std::string& name) {
    std::string text = deployment;
    return Refused("deployments", text.replace(text.find("NAME"), 4, name), "", "/apis/apps/v1");
  };
  EXPECT_EQ(make("a"), "");
  EXPECT_EQ(make("b"),
            "exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=1, limited: "
            "count/deployments.apps=1");
  EXPECT_EQ(Refused("configmaps", R"({"metadata":{"name":"a"}})"), "");
  EXPECT_EQ(Refused("configmaps", R"({"metadata":{"name":"b"}})"),
            "exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1");
  EXPECT_EQ(Refused("secrets", R"({"metadata":{"name":"b"}})"),
            "exceeded quota: q, requested: secrets=1, used: secrets=0, limited: secrets=0");
  // A name is tried again with other letters, a refusal is not.
  EXPECT_EQ(Refused("configmaps", R"({"metadata":{"generateName":"b-"}})"),
            "exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1");
  // What is there already takes nothing when it is made in vain.
  Remove("configmaps", "a");
  EXPECT_EQ(Refused("configmaps", R"({"metadata":{"name":"a"}})", "?dryRun=All"), "");
  EXPECT_EQ(Refused("configmaps", R"({"metadata":{"name":"a"}})"), "");
  EXPECT_EQ(Patch("/api/v1/namespaces/default/configmaps/a", "application/merge-patch+json", R"({"data":{"a":"b"}})").status,
            200);
}

TEST_F(QuotasTest, ACreationInVainGivesBackWhatItTook) {
  Create(Quota(R"({"configmaps":"2"})"));
  EXPECT_EQ(Refused("configmaps", R"({"metadata":{"name":"a"}})"), "");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Send("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"a"}})").status, 409);
  }
  EXPECT_EQ(Refused("configmaps", R"({"metadata":{"name":"b"}})"), "");
}

TEST_F(QuotasTest, CustomKindsAreCountedOnceTheyAreThere) {
  Create(Quota(R"({"count/widgets.example.org":"1"})"));
  EXPECT_EQ(Refused("configmaps", R"({"metadata":{"name":"a"}})"), "");
  Create(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.org"},
      "spec":{"group":"example.org","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[
      {"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  const std::string group = "/apis/example.org/v1";
  EXPECT_EQ(Refused("widgets", R"({"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"a"}})", "", group), "");
  EXPECT_EQ(Refused("widgets", R"({"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"b"}})", "", group),
            "exceeded quota: q, requested: count/widgets.example.org=1, used: count/widgets.example.org=1, limited: "
            "count/widgets.example.org=1");
}

TEST_F(QuotasTest, ServicesAlsoWhenTheyChange) {
  Create(Quota(R"({"services":"2","services.nodeports":"2","services.loadbalancers":"1"})"));
  const auto service = [](const std::string& name, const std::string& more) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"ports":[{"name":"a","port":80},{"name":"b","port":81}])" + more +
           "}}";
  };
  EXPECT_EQ(Refused("services", service("a", R"(,"type":"NodePort")")), "");
  EXPECT_EQ(Refused("services", service("b", R"(,"type":"NodePort")")),
            "exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=2, limited: services.nodeports=2");
  EXPECT_EQ(Refused("services", service("b", R"(,"type":"LoadBalancer","allocateLoadBalancerNodePorts":false)")), "");
  const std::string path = "/api/v1/namespaces/default/services/";
  const TestReply grown = Patch(path + "b", "application/merge-patch+json", R"({"spec":{"type":"NodePort"}})");
  EXPECT_EQ(grown.status, 403);
  EXPECT_EQ(grown.message(),
            "services \"b\" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=2, "
            "limited: services.nodeports=2");
  // What takes less may always be written, and makes room.
  EXPECT_EQ(Patch("/api/v1/namespaces/default/resourcequotas/q", "application/merge-patch+json",
                  R"({"spec":{"hard":{"services":"0","services.loadbalancers":"0"}}})")
                .status,
            200);
  EXPECT_EQ(Patch(path + "a", "application/merge-patch+json", R"({"spec":{"type":"ClusterIP","ports":null}})").status, 422);
  EXPECT_EQ(Patch(path + "b", "application/merge-patch+json", R"({"spec":{"type":"ClusterIP"}})").status, 200);
  EXPECT_EQ(Refused("services", service("d", "")),
            "exceeded quota: q, requested: services=1, used: services=2, limited: services=0");
}

TEST_F(QuotasTest, ClaimsByTheirClass) {
  Create(Quota(R"({"requests.storage":"10Gi","gold.storageclass.storage.k8s.io/requests.storage":"3Gi",
      "gold.storageclass.storage.k8s.io/persistentvolumeclaims":"2"})"));
  const auto claim = [](const std::string& name, const std::string& storage, const std::string& kind) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":")" + kind +
           R"(","resources":{"requests":{"storage":")" + storage + R"("}}}})";
  };
  EXPECT_EQ(Refused("persistentvolumeclaims", claim("a", "2Gi", "gold")), "");
  EXPECT_EQ(
      Refused("persistentvolumeclaims", claim("b", "2Gi", "gold")),
      "exceeded quota: q, requested: gold.storageclass.storage.k8s.io/requests.storage=2Gi, used: "
      "gold.storageclass.storage.k8s.io/requests.storage=2Gi, limited: gold.storageclass.storage.k8s.io/requests.storage=3Gi");
  EXPECT_EQ(Refused("persistentvolumeclaims", claim("b", "8Gi", "tin")), "");
  EXPECT_EQ(Refused("persistentvolumeclaims", claim("d", "1", "tin")),
            "exceeded quota: q, requested: requests.storage=1, used: requests.storage=10Gi, limited: requests.storage=10Gi");
}

TEST_F(QuotasTest, ClaimsByTheirAttributes) {
  Create(Quota(R"({"persistentvolumeclaims":"0"})", R"(,"scopeSelector":{"matchExpressions":[
      {"scopeName":"VolumeAttributesClass","operator":"In","values":["fast"]}]})"));
  const auto claim = [](const std::string& name, const std::string& more) {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}})" + more + "}}";
  };
  EXPECT_EQ(Refused("persistentvolumeclaims", claim("a", "")), "");
  EXPECT_EQ(Refused("persistentvolumeclaims", claim("b", R"(,"volumeAttributesClassName":"slow")")), "");
  EXPECT_EQ(Refused("persistentvolumeclaims", claim("c", R"(,"volumeAttributesClassName":"fast")")),
            "exceeded quota: q, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=0, limited: "
            "persistentvolumeclaims=0");
}

TEST_F(QuotasTest, LimitRangesComeFirst) {
  Create(Quota(R"({"limits.cpu":"1"})"));
  Create(R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"r","namespace":"default"},"spec":{"limits":[
      {"type":"Container","default":{"cpu":"600m"}}]}})");
  EXPECT_EQ(PodRefused("a"), "");
  EXPECT_EQ(PodRefused("b"), "exceeded quota: q, requested: limits.cpu=600m, used: limits.cpu=600m, limited: limits.cpu=1");
}

TEST_F(QuotasTest, HoweverManyComeAtOnce) {
  Create(Quota(R"({"pods":"37","requests.cpu":"1"})"));
  std::atomic<int> made = 0, refused = 0;
  const auto round = [&](const std::string& prefix) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 6; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 10; ++i) {
          const auto created = client->Create(kube::resources::Pods(),
                                              ParseOrFail(PodText(prefix + std::to_string(thread * 100 + i), Asks("10m"))));
          ++(created ? made : refused);
          EXPECT_TRUE(created || created.error().message().contains("exceeded quota: q")) << created.error().message();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  round("a");
  EXPECT_EQ(made, 37);
  EXPECT_EQ(refused, 23);
  int removed = 0;
  const auto page = client->List(kube::resources::Pods(), {});
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->items.size(), 37u);
  for (const Json& pod : page->items) {
    if (++removed > 12) break;
    EXPECT_TRUE(client->Delete(kube::resources::Pods(), "default", kube::NameOf(pod), {}).has_value());
  }
  round("b");
  EXPECT_EQ(made, 37 + 12);
}

// Where a write takes its time: many are let in before the first one is there.
TEST(QuotasOnDiskTest, HoweverManyAreOnTheirWay) {
  std::string directory = (std::filesystem::temp_directory_path() / "evenkeel-quotas-XXXXXX").string();
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  auto opened = store::OpenSqliteStore(directory + "/store.db");
  ASSERT_TRUE(opened.has_value()) << opened.error().message();
  const auto store = *std::move(opened);
  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  Api api({.name = "disk", .store = store.get(), .clock = &executor.clock(), .random = base::Random(7)});
  ASSERT_TRUE(api.Start().has_value());
  const auto client = NewInProcessClient(api, {.name = "tester", .groups = {}});
  ASSERT_TRUE(
      client->Create(*kube::FindBuiltIn("", "v1", "resourcequotas"), ParseOrFail(Quota(R"({"configmaps":"100"})")), {}));
  std::atomic<int> made = 0, refused = 0, answered = 0;
  for (int i = 0; i < 300; ++i) {
    Call call;
    call.served = api.resources().Find("", "v1", "configmaps");
    call.ns = "default";
    api.Create(call, ParseOrFail(R"({"metadata":{"generateName":"c-"}})"), [&](const Result<Answer>& answer) {
      ++(answer ? made : refused);
      ++answered;
    });
  }
  while (answered < 300) std::this_thread::yield();
  EXPECT_EQ(made, 100);
  EXPECT_EQ(refused, 200);
  const auto list = store->List({.prefix = "/registry/configmaps/"});
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(list->items.size(), 100u);
  std::filesystem::remove_all(directory);
}

class QuotaStatusTest : public ::testing::Test {
 protected:
  QuotaStatusTest() {
    EXPECT_TRUE(api.Start().has_value());
    client = NewInProcessClient(api, {.name = "tester", .groups = {}});
  }
  void Create(const kube::Resource& kind, const std::string& text) {
    const auto created = client->Create(kind, ParseOrFail(text));
    EXPECT_TRUE(created.has_value()) << (created ? "" : created.error().message());
  }
  std::string Status(const std::string& name = "q") {
    executor.RunFor(std::chrono::milliseconds(100));
    const auto quota = client->Get(quotas, "default", name);
    EXPECT_TRUE(quota.has_value());
    const Json* status = quota ? base::Find(*quota, {"status"}) : nullptr;
    return status == nullptr ? "" : base::ToText(*status);
  }

  const kube::Resource& quotas = *kube::FindBuiltIn("", "v1", "resourcequotas");
  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<store::Store> store = store::NewMemoryStore();
  Api api{{.name = "test", .store = store.get(), .clock = &executor.clock(), .random = base::Random(7), .executor = &executor}};
  std::unique_ptr<client::Client> client;
};

TEST_F(QuotaStatusTest, TellsWhatIsUsed) {
  Create(kube::resources::Pods(), PodText("a", Asks("100m")));
  Create(quotas, Quota(R"({"pods":"5","cpu":"2","secrets":"3","unknown.example.org/thing":"4"})"));
  EXPECT_EQ(
      Status(),
      R"({"hard":{"cpu":"2","pods":"5","secrets":"3","unknown.example.org/thing":"4"},"used":{"cpu":"100m","pods":"1","secrets":"0"}})");
  Create(kube::resources::Pods(), PodText("b", Asks("1")));
  EXPECT_EQ(
      Status(),
      R"({"hard":{"cpu":"2","pods":"5","secrets":"3","unknown.example.org/thing":"4"},"used":{"cpu":"1100m","pods":"2","secrets":"0"}})");
  ASSERT_TRUE(client->Delete(kube::resources::Pods(), "default", "a", {}).has_value());
  ASSERT_TRUE(client->Patch(quotas, "default", "q", client::PatchType::kMerge,
                            ParseOrFail(R"({"spec":{"hard":{"pods":"7","secrets":null,"unknown.example.org/thing":null}}})"),
                            {}));
  EXPECT_EQ(Status(), R"({"hard":{"cpu":"2","pods":"7"},"used":{"cpu":"1","pods":"1"}})");
}

TEST_F(QuotaStatusTest, SetRightWhenSomebodyWritesIt) {
  Create(quotas, Quota(R"({"pods":"5"})", R"(,"scopes":["BestEffort"])"));
  Create(kube::resources::Pods(), PodText("a"));
  Create(kube::resources::Pods(), PodText("b", Asks("1")));
  const std::string right = R"({"hard":{"pods":"5"},"used":{"pods":"1"}})";
  EXPECT_EQ(Status(), right);
  client::PatchOptions options;
  options.subresource = "status";
  ASSERT_TRUE(client->Patch(quotas, "default", "q", client::PatchType::kMerge,
                            ParseOrFail(R"({"status":{"used":{"pods":"0"}}})"), options));
  EXPECT_EQ(Status(), right);
}

TEST_F(QuotaStatusTest, APodThatShouldBeGoneIsNotCounted) {
  Create(quotas, Quota(R"({"pods":"5"})"));
  Create(kube::resources::Pods(), PodText("a", "{}", R"(,"nodeName":"n","terminationGracePeriodSeconds":10)"));
  ASSERT_TRUE(client->Delete(kube::resources::Pods(), "default", "a", {}).has_value());
  EXPECT_EQ(Status(), R"({"hard":{"pods":"5"},"used":{"pods":"1"}})");
  executor.RunFor(std::chrono::seconds(25));
  EXPECT_EQ(Status(), R"({"hard":{"pods":"5"},"used":{"pods":"0"}})");
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::quotas_test
