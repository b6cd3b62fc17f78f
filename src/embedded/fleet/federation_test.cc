#include "embedded/federation/hub/federation.h"

#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "base/input/yaml.h"
#include "embedded/fleet/cluster.h"
#include "embedded/fleet/hub_objects.h"
#include "embedded/store/memory_store.h"
#include "kube/karmada.h"

namespace evenkeel::embedded::fleet::federation_test {
namespace {

using namespace std::chrono_literals;
using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;
namespace karmada = kube::karmada;

// Calls a member, unless it is down.
class FailingClient final : public client::Client {
 public:
  FailingClient(std::unique_ptr<client::Client> member, const std::set<std::string>& down, std::string name)
      : member_(std::move(member)), down_(down), name_(std::move(name)) {}

  base::Result<Json> Get(const kube::Resource& resource, std::string_view ns, std::string_view name,
                         std::string_view subresource) override {
    if (!Up()) return Down();
    return member_->Get(resource, ns, name, subresource);
  }
  base::Result<client::ListPage> List(const kube::Resource& resource, const client::ListOptions& options) override {
    if (!Up()) return Down();
    return member_->List(resource, options);
  }
  base::Result<Json> Create(const kube::Resource& resource, const Json& object, const client::WriteOptions& options) override {
    if (!Up()) return Down();
    return member_->Create(resource, object, options);
  }
  base::Result<Json> Update(const kube::Resource& resource, const Json& object, const client::WriteOptions& options) override {
    if (!Up()) return Down();
    return member_->Update(resource, object, options);
  }
  base::Result<Json> Patch(const kube::Resource& resource, std::string_view ns, std::string_view name, client::PatchType type,
                           const Json& patch, const client::PatchOptions& options) override {
    if (!Up()) return Down();
    return member_->Patch(resource, ns, name, type, patch, options);
  }
  base::Result<Json> Delete(const kube::Resource& resource, std::string_view ns, std::string_view name,
                            const client::DeleteOptions& options) override {
    if (!Up()) return Down();
    return member_->Delete(resource, ns, name, options);
  }
  base::Result<Json> Post(const kube::Resource& resource, std::string_view ns, std::string_view name,
                          std::string_view subresource, const Json& body) override {
    if (!Up()) return Down();
    return member_->Post(resource, ns, name, subresource, body);
  }
  base::Result<std::unique_ptr<client::Watch>> NewWatch(const kube::Resource& resource, const client::WatchOptions& options,
                                                        client::WatchHandler handler) override {
    if (!Up()) return Down();
    return member_->NewWatch(resource, options, std::move(handler));
  }
  base::Result<std::string> GetRaw(std::string_view path) override {
    if (!Up()) return Down();
    return member_->GetRaw(path);
  }
  std::string Describe() const override { return name_; }

 private:
  bool Up() const { return !down_.contains(name_); }
  std::unexpected<base::Error> Down() const { return base::Fail(base::Code::kUnavailable, name_ + " is down"); }

  const std::unique_ptr<client::Client> member_;
  const std::set<std::string>& down_;
  const std::string name_;
};

// A hub with three members, in virtual time.
class FederationTest : public ::testing::Test {
 protected:
  explicit FederationTest(const federation::Habits& habits = {}) {
    ClusterOptions hub;
    hub.name = "hub";
    hub.nodes = 0;
    hub.federation.emplace();
    hub.federation->connect = [this](const Json& cluster, const Json&) { return Connect(std::string(kube::NameOf(cluster))); };
    hub.federation->habits = habits;
    hub.federation->ask = [this](const Json& webhook, const Json& context) { return ask_(webhook, context); };
    for (int i = 1; i <= 3; ++i) {
      ClusterOptions member;
      member.name = "m" + std::to_string(i);
      member.index = i;
      member.nodes = 1;
      members_.push_back(
          std::make_unique<Cluster>(member, store::NewMemoryStore(), executor_, base::Random(static_cast<uint64_t>(i))));
      EXPECT_TRUE(members_.back()->Start());
      EXPECT_TRUE(members_.back()->StartNodes());
    }
    hub_ = std::make_unique<Cluster>(hub, store::NewMemoryStore(), executor_, base::Random(7));
    const auto started = hub_->Start();
    EXPECT_TRUE(started) << started.error().message();
    EXPECT_TRUE(hub_->StartNodes());
    const auto& namespaces = kube::resources::Namespaces();
    EXPECT_TRUE(api().Create(namespaces, kube::NewObject(namespaces, "", kNamespace)));
    for (const auto& member : members_) {
      EXPECT_TRUE(
          api().Create(kube::resources::Secrets(), ClusterSecret(member->name(), "https://" + member->name(), "token", "ca")));
    }
    executor_.RunFor(5s);
  }

  client::Client& api() { return hub_->client(); }
  client::Client& member(int i) { return members_[static_cast<size_t>(i - 1)]->client(); }

  base::Result<std::unique_ptr<client::Client>> Connect(const std::string& name) {
    for (const auto& member : members_) {
      if (member->name() == name) return std::make_unique<FailingClient>(member->NewClient("federation"), down_, name);
    }
    return base::Fail(base::Code::kUnavailable, "no such member");
  }

  Json Apply(const kube::Resource& resource, const std::string& yaml) {
    auto object = base::ParseYamlDocument(yaml, "test");
    EXPECT_TRUE(object) << object.error().message();
    auto written = api().Patch(resource, kube::NamespaceOf(*object), kube::NameOf(*object), client::PatchType::kMerge, *object);
    if (!written && written.error().code() == base::Code::kNotFound) written = api().Create(resource, *object);
    EXPECT_TRUE(written) << written.error().message();
    return written ? *written : Json();
  }
  void Web(int replicas) {
    Apply(kube::resources::Deployments(), R"(
metadata: {name: web, namespace: default, labels: {app: web}}
spec:
  replicas: )" + std::to_string(replicas) + R"(
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: 'web:1'}]}}
)");
  }
  void Divide(const std::string& more = "") {
    Apply(karmada::PropagationPolicies(), R"(
metadata: {name: web, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    clusterAffinity: {clusterNames: [m1, m2, m3]}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [m1]}, weight: 2}
        - {targetCluster: {clusterNames: [m2]}, weight: 2}
        - {targetCluster: {clusterNames: [m3]}, weight: 1}
)" + more);
  }
  /// Replicas of the copies, -1 where there is none.
  std::vector<int64_t> Copies() {
    std::vector<int64_t> replicas;
    for (int i = 1; i <= 3; ++i) {
      const auto copy = member(i).Get(kube::resources::Deployments(), "default", "web");
      replicas.push_back(copy ? FindInt(*copy, {"spec", "replicas"}) : -1);
    }
    return replicas;
  }
  Json Binding() { return api().Get(karmada::ResourceBindings(), "default", "web-deployment").value_or(Json()); }

  base::VirtualExecutor executor_{base::Time(std::chrono::seconds(1'700'000'000))};
  std::function<base::Result<Json>(const Json&, const Json&)> ask_;
  std::set<std::string> down_;  // members that do not answer
  std::vector<std::unique_ptr<Cluster>> members_;
  std::unique_ptr<Cluster> hub_;
};

TEST_F(FederationTest, MembersAreClustersThatAreReadyUntilTheirSecretGoes) {
  for (const char* name : {"m1", "m2", "m3"}) {
    const auto cluster = api().Get(karmada::Clusters(), "", name);
    ASSERT_TRUE(cluster) << name;
    EXPECT_EQ(FindString(*kube::FindCondition(*cluster, "Ready"), {"status"}), "True");
    EXPECT_NE(FindString(*cluster, {"status", "kubernetesVersion"}), "");
    EXPECT_EQ(FindString(*cluster, {"spec", "apiEndpoint"}), std::string("https://") + name);
    EXPECT_TRUE(api().Get(kube::resources::Namespaces(), "", karmada::ExecutionNamespace(name)));
  }
  ASSERT_TRUE(api().Delete(kube::resources::Secrets(), kNamespace, "m3"));
  executor_.RunFor(2s);
  EXPECT_FALSE(api().Get(karmada::Clusters(), "", "m3"));
}

TEST_F(FederationTest, APolicyDividesADeploymentAndItsStatusComesBack) {
  Divide();
  Web(5);
  executor_.RunFor(30s);
  EXPECT_EQ(Copies(), (std::vector<int64_t>{2, 2, 1}));
  const Json binding = Binding();
  EXPECT_EQ(FindInt(binding, {"spec", "replicas"}), 5);
  EXPECT_EQ(FindInt(binding, {"status", "schedulerObservedGeneration"}), FindInt(binding, {"metadata", "generation"}));
  EXPECT_EQ(FindString(*kube::FindCondition(binding, "Scheduled"), {"status"}), "True");
  EXPECT_EQ(FindString(*kube::FindCondition(binding, "FullyApplied"), {"status"}), "True");
  const auto& items = FindArray(binding, {"status", "aggregatedStatus"});
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(FindString(items[0], {"clusterName"}), "m1");
  EXPECT_TRUE(base::FindBool(items[0], {"applied"}));
  EXPECT_EQ(FindString(items[0], {"health"}), "Healthy");
  EXPECT_EQ(FindInt(items[0], {"status", "readyReplicas"}), 2);
  const auto web = api().Get(kube::resources::Deployments(), "default", "web");
  ASSERT_TRUE(web);
  EXPECT_EQ(FindInt(*web, {"status", "readyReplicas"}), 5);
  EXPECT_EQ(FindInt(*web, {"status", "observedGeneration"}), FindInt(*web, {"metadata", "generation"}));
  client::ListOptions labelled;
  labelled.label_selector = "app=web";
  EXPECT_TRUE(api().List(kube::resources::Pods(), labelled)->items.empty()) << "a template runs nothing on the hub";

  Web(7);
  executor_.RunFor(30s);
  EXPECT_EQ(Copies(), (std::vector<int64_t>{3, 3, 1}));
}

TEST_F(FederationTest, WhatTheHubRanBeforeItWasATemplateIsRemoved) {
  Web(5);
  executor_.RunFor(5s);
  client::ListOptions labelled;
  labelled.label_selector = "app=web";
  ASSERT_EQ(api().List(kube::resources::Pods(), labelled)->items.size(), 5u);
  Divide();
  executor_.RunFor(60s);
  EXPECT_TRUE(api().List(kube::resources::Pods(), labelled)->items.empty());
  EXPECT_TRUE(api().List(kube::resources::ReplicaSets(), labelled)->items.empty());
  EXPECT_EQ(Copies(), (std::vector<int64_t>{2, 2, 1}));
  ASSERT_TRUE(api().Delete(karmada::PropagationPolicies(), "default", "web"));
  executor_.RunFor(20s);
  EXPECT_EQ(Copies(), (std::vector<int64_t>{2, 2, 1})) << "a policy that goes leaves what it has brought";
  EXPECT_TRUE(api().List(kube::resources::Pods(), labelled)->items.empty());
}

TEST_F(FederationTest, NothingIsWrittenOnceAllIsSettled) {
  Divide();
  Web(5);
  executor_.RunFor(60s);
  const auto version = [&] { return api().List(karmada::Works(), {})->items; };
  const auto works = version();
  const Json binding = Binding();
  executor_.RunFor(120s);
  EXPECT_EQ(version(), works);
  EXPECT_EQ(Binding(), binding);
}

TEST_F(FederationTest, OverridesChangeOneClusterAndAFailureStopsNoOther) {
  Divide();
  Web(5);
  Apply(karmada::OverridePolicies(), R"(
metadata: {name: m2-is-different, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  overrideRules:
  - targetCluster: {clusterNames: [m2]}
    overriders:
      imageOverrider: [{component: Tag, operator: replace, value: '2'}]
      plaintext: [{path: /spec/replicas, operator: replace, value: 4}]
)");
  executor_.RunFor(20s);
  EXPECT_EQ(Copies(), (std::vector<int64_t>{2, 4, 1}));
  const auto copy = member(2).Get(kube::resources::Deployments(), "default", "web");
  ASSERT_TRUE(copy);
  EXPECT_EQ(FindString(FindArray(*copy, {"spec", "template", "spec", "containers"})[0], {"image"}), "web:2");
  const auto work = api().Get(karmada::Works(), "karmada-es-m2", karmada::WorkName("Deployment", "web", "default"));
  ASSERT_TRUE(work);
  EXPECT_NE(FindString(*work, {"metadata", "annotations", "policy.karmada.io/applied-overrides"}).find("m2-is-different"),
            std::string_view::npos);

  Apply(karmada::OverridePolicies(), R"(
metadata: {name: m2-is-different, namespace: default}
spec:
  overrideRules:
  - targetCluster: {clusterNames: [m2]}
    overriders: {plaintext: [{path: /spec/missing, operator: replace, value: 4}]}
)");
  Web(10);
  executor_.RunFor(20s);
  EXPECT_EQ(Copies(), (std::vector<int64_t>{4, 4, 2})) << "m2 stays as it was";
  ASSERT_TRUE(api().Delete(karmada::OverridePolicies(), "default", "m2-is-different"));
  executor_.RunFor(90s);
  EXPECT_EQ(FindString(FindArray(*member(2).Get(kube::resources::Deployments(), "default", "web"),
                                 {"spec", "template", "spec", "containers"})[0],
                       {"image"}),
            "web:1");
}

TEST_F(FederationTest, NothingReachesASuspendedCluster) {
  Divide("  suspension: {dispatchingOnClusters: {clusterNames: [m3]}}\n");
  Web(5);
  executor_.RunFor(20s);
  EXPECT_EQ(Copies(), (std::vector<int64_t>{2, 2, -1}));
  EXPECT_EQ(FindString(*kube::FindCondition(Binding(), "FullyApplied"), {"status"}), "False");
  Divide("  suspension: null\n");
  executor_.RunFor(20s);
  EXPECT_EQ(Copies(), (std::vector<int64_t>{2, 2, 1}));
}

TEST_F(FederationTest, AClusterThatIsATargetNoMoreLosesItsCopyAndDeletionRemovesAll) {
  Divide();
  Web(6);
  executor_.RunFor(20s);
  Apply(karmada::PropagationPolicies(), R"(
metadata: {name: web, namespace: default}
spec: {placement: {clusterAffinity: {clusterNames: [m1, m2]}}}
)");
  executor_.RunFor(20s);
  EXPECT_EQ(Copies(), (std::vector<int64_t>{3, 3, -1}));
  client::DeleteOptions options;
  options.propagation_policy = "Background";
  ASSERT_TRUE(api().Delete(kube::resources::Deployments(), "default", "web", options));
  executor_.RunFor(30s);
  EXPECT_EQ(Copies(), (std::vector<int64_t>{-1, -1, -1}));
  EXPECT_TRUE(Binding().is_null());
  EXPECT_TRUE(api().List(karmada::Works(), {})->items.empty());
}

TEST_F(FederationTest, WhatAMemberHasAlreadyIsOverwrittenOnlyWhenThatIsAsked) {
  ASSERT_TRUE(
      member(1).Create(kube::resources::ConfigMaps(),
                       *base::ParseYamlDocument("{metadata: {name: c, namespace: default}, data: {a: theirs}}", "test")));
  Apply(kube::resources::ConfigMaps(), "{metadata: {name: c, namespace: default}, data: {a: ours}}");
  const std::string policy =
      "{metadata: {name: c, namespace: default}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: c}]";
  Apply(karmada::PropagationPolicies(), policy + "}}");
  executor_.RunFor(20s);
  const auto data = [&](int i) {
    const auto map = member(i).Get(kube::resources::ConfigMaps(), "default", "c");
    return map ? std::string(FindString(*map, {"data", "a"})) : "";
  };
  EXPECT_EQ(data(1), "theirs");
  EXPECT_EQ(data(2), "ours");
  const auto work = api().Get(karmada::Works(), "karmada-es-m1", karmada::WorkName("ConfigMap", "c", "default"));
  ASSERT_TRUE(work);
  EXPECT_EQ(FindString(*kube::FindCondition(*work, "Applied"), {"status"}), "False");
  Apply(karmada::PropagationPolicies(), policy + ", conflictResolution: Overwrite}}");
  executor_.RunFor(90s);
  EXPECT_EQ(data(1), "ours");
}

TEST_F(FederationTest, WhatMembersAddStaysAndWhatTheyChangeIsPutRight) {
  Divide();
  Web(5);
  executor_.RunFor(20s);
  const auto change = [&](const char* patch) {
    ASSERT_TRUE(member(1).Patch(kube::resources::Deployments(), "default", "web", client::PatchType::kMerge,
                                *base::ParseJson(patch, "test")));
  };
  change(R"({"metadata": {"labels": {"theirs": "x", "app": "changed"}}, "spec": {"replicas": 9}})");
  executor_.RunFor(10s);
  const auto copy = member(1).Get(kube::resources::Deployments(), "default", "web");
  ASSERT_TRUE(copy);
  EXPECT_EQ(FindInt(*copy, {"spec", "replicas"}), 2);
  EXPECT_EQ(FindString(*copy, {"metadata", "labels", "theirs"}), "x");
  EXPECT_EQ(FindString(*copy, {"metadata", "labels", "app"}), "web");
  Apply(kube::resources::Deployments(), "{metadata: {name: web, namespace: default, labels: {app: null}}}");
  executor_.RunFor(10s);
  EXPECT_EQ(base::FindObject(*member(1).Get(kube::resources::Deployments(), "default", "web"), {"metadata", "labels"})
                .contains("app"),
            false);
}

TEST_F(FederationTest, AMemberThatIsSilentIsNotReadyAfterTheGraceAndHoldsUpNobody) {
  Divide();
  Web(5);
  executor_.RunFor(20s);
  down_.insert("m3");
  const auto ready = [&] {
    return std::string(FindString(*kube::FindCondition(*api().Get(karmada::Clusters(), "", "m3"), "Ready"), {"status"}));
  };
  Web(10);
  executor_.RunFor(25s);
  EXPECT_EQ(ready(), "True") << "within the grace";
  EXPECT_EQ(Copies(), (std::vector<int64_t>{4, 4, 1}));
  EXPECT_EQ(FindArray(Binding(), {"spec", "clusters"}).size(), 3u) << "placement does not ask whether members are there";
  executor_.RunFor(30s);
  EXPECT_EQ(ready(), "False");
  EXPECT_EQ(FindString(*kube::FindCondition(*api().Get(karmada::Clusters(), "", "m3"), "Ready"), {"reason"}),
            "ClusterNotReachable");
  EXPECT_EQ(FindString(*kube::FindCondition(Binding(), "FullyApplied"), {"status"}), "False");
  down_.clear();
  executor_.RunFor(12s);
  EXPECT_EQ(ready(), "True");
  EXPECT_EQ(Copies(), (std::vector<int64_t>{4, 4, 2}));
}

constexpr char kEngineDefinition[] = R"(
metadata: {name: engines.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Engine, listKind: EngineList, plural: engines, singular: engine}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
)";

/// An interpreter of Engines: cylinders are replicas, members' paint is theirs.
base::Result<Json> Interpret(const Json& context) {
  const Json& request = *base::Find(context, {"request"});
  const std::string_view operation = FindString(request, {"operation"});
  base::JsonObject response{{"uid", FindString(request, {"uid"})}, {"successful", true}};
  const auto patch = [&](const std::string& text) {
    response["patchType"] = "JSONPatch";
    response["patch"] = base::Base64Encode(text);
  };
  const Json& object = *base::Find(request, {"object"});
  if (operation == "InterpretReplica") response["replicas"] = FindInt(object, {"spec", "cylinders"});
  if (operation == "ReviseReplica")
    patch(R"([{"op":"add","path":"/spec/cylinders","value":)" + std::to_string(FindInt(request, {"replicas"})) + "}]");
  if (operation == "Retain") {
    const std::string paint(FindString(request, {"observedObject", "spec", "paint"}));
    if (!paint.empty()) patch(R"([{"op":"add","path":"/spec/paint","value":")" + paint + "\"}]");
  }
  if (operation == "InterpretStatus")
    response["rawStatus"] = base::JsonObject{{"running", FindInt(object, {"status", "running"})}};
  if (operation == "InterpretHealth") response["healthy"] = FindInt(object, {"status", "running"}) > 0;
  if (operation == "AggregateStatus") {
    int64_t sum = 0;
    for (const Json& item : FindArray(request, {"aggregatedStatus"})) sum += FindInt(item, {"status", "running"});
    patch(R"([{"op":"add","path":"/status","value":{"running":)" + std::to_string(sum) + "}}]");
  }
  return base::JsonObject{{"response", std::move(response)}};
}

TEST_F(FederationTest, AWebhookExplainsAKindOfItsOwn) {
  Apply(kube::resources::CustomResourceDefinitions(), kEngineDefinition);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(
        member(i).Create(kube::resources::CustomResourceDefinitions(), *base::ParseYamlDocument(kEngineDefinition, "test")));
  }
  kube::Resource engines;
  engines.group = "example.org";
  engines.version = "v1";
  engines.kind = "Engine";
  engines.plural = "engines";
  Apply(karmada::ResourceInterpreterWebhookConfigurations(), R"(
metadata: {name: engines}
webhooks:
- name: engines.example.org
  rules: [{operations: ['*'], apiGroups: [example.org], apiVersions: [v1], kinds: [Engine]}]
  clientConfig: {url: 'https://nowhere.example.org/interpreter'}
  interpreterContextVersions: [v1alpha1]
)");
  ask_ = [](const Json&, const Json& context) { return Interpret(context); };
  Apply(karmada::ClusterPropagationPolicies(), R"(
metadata: {name: engines}
spec:
  resourceSelectors: [{apiVersion: example.org/v1, kind: Engine}]
  placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}}
)");
  Apply(engines, "{metadata: {name: v8, namespace: default}, spec: {cylinders: 9}}");
  executor_.RunFor(20s);
  const auto cylinders = [&](int i) {
    const auto copy = member(i).Get(engines, "default", "v8");
    return copy ? FindInt(*copy, {"spec", "cylinders"}) : -1;
  };
  EXPECT_EQ(cylinders(1) + cylinders(2) + cylinders(3), 9);
  EXPECT_EQ(cylinders(1), 3);
  for (int i = 1; i <= 2; ++i) {
    Json copy = *member(i).Get(engines, "default", "v8");
    base::Ensure(copy, {"spec", "paint"}) = "red";
    copy = *member(i).Update(engines, copy);
    base::Ensure(copy, {"status"}) = base::JsonObject{{"running", i}};
    ASSERT_TRUE(member(i).Update(engines, copy, {.subresource = "status"}));
  }
  executor_.RunFor(10s);
  EXPECT_EQ(FindInt(*api().Get(engines, "default", "v8"), {"status", "running"}), 3);
  const auto binding = api().Get(karmada::ResourceBindings(), "default", "v8-engine");
  ASSERT_TRUE(binding);
  const auto& items = FindArray(*binding, {"status", "aggregatedStatus"});
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(FindString(items[0], {"health"}), "Healthy");
  EXPECT_EQ(FindString(items[2], {"health"}), "Unhealthy");
  Apply(engines, "{metadata: {name: v8, namespace: default}, spec: {cylinders: 12}}");
  executor_.RunFor(20s);
  EXPECT_EQ(cylinders(1), 4);
  EXPECT_EQ(FindString(*member(1).Get(engines, "default", "v8"), {"spec", "paint"}), "red") << "what belongs to the member";

  ask_ = [](const Json&, const Json&) { return base::Fail(base::Code::kUnavailable, "the webhook is down"); };
  Apply(engines, "{metadata: {name: v8, namespace: default}, spec: {cylinders: 3}}");
  executor_.RunFor(20s);
  EXPECT_EQ(cylinders(1), 4) << "without an answer nothing is sent";
}

/// A hub that brings namespaces to members, and empties those whose Cluster goes.
class NamespacesTest : public FederationTest {
 protected:
  NamespacesTest() : FederationTest({.syncs_namespaces = true, .empties_members = true}) {}

  bool Has(int i, const std::string& ns) { return member(i).Get(kube::resources::Namespaces(), "", ns, "").has_value(); }
  Json Namespace(const std::string& name) { return kube::NewObject(kube::resources::Namespaces(), "", name); }
};

TEST_F(NamespacesTest, ComeToEveryMemberAndGoWithIt) {
  Json own = Namespace("own");
  base::Ensure(own, {"metadata", "labels", "namespace.karmada.io/skip-auto-propagation"}) = "true";
  for (const Json& ns : {Namespace("team"), Namespace("karmada-own"), own}) {
    ASSERT_TRUE(api().Create(kube::resources::Namespaces(), ns));
  }
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(member(i).Create(kube::resources::Namespaces(), Namespace("own")));
  executor_.RunFor(10s);
  EXPECT_FALSE(Has(1, "karmada-own"));
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(Has(i, "team")) << i;

  ASSERT_TRUE(api().Delete(kube::resources::Secrets(), kNamespace, "m2"));
  executor_.RunFor(60s);
  EXPECT_EQ(api().Get(karmada::Clusters(), "", "m2", "").error().code(), base::Code::kNotFound);
  EXPECT_FALSE(Has(2, "team"));
  EXPECT_TRUE(Has(2, "own")) << "Karmada has not brought it";
  EXPECT_TRUE(Has(2, "default"));
  EXPECT_TRUE(Has(1, "team"));

  ASSERT_TRUE(api().Delete(kube::resources::Namespaces(), "", "team"));
  executor_.RunFor(60s);
  EXPECT_FALSE(Has(1, "team"));
  EXPECT_TRUE(Has(1, "own"));
}

TEST_F(NamespacesTest, AClusterThatCannotBeReachedGoesWithoutThem) {
  ASSERT_TRUE(api().Create(kube::resources::Namespaces(), Namespace("team")));
  executor_.RunFor(10s);
  down_.insert("m2");
  executor_.RunFor(60s);
  ASSERT_TRUE(api().Delete(kube::resources::Secrets(), kNamespace, "m2"));
  executor_.RunFor(20s);
  EXPECT_EQ(api().Get(karmada::Clusters(), "", "m2", "").error().code(), base::Code::kNotFound);
  down_.clear();
  EXPECT_TRUE(Has(2, "team"));
}

TEST_F(NamespacesTest, StayWhereAPolicyThatPreservesHasBroughtThem) {
  Json kept = Namespace("kept");
  base::Ensure(kept, {"metadata", "labels", "namespace.karmada.io/skip-auto-propagation"}) = "true";
  ASSERT_TRUE(api().Create(kube::resources::Namespaces(), kept));
  Apply(karmada::ClusterPropagationPolicies(),
        "{metadata: {name: kept}, spec: {resourceSelectors: [{apiVersion: v1, kind: Namespace, name: kept}], "
        "preserveResourcesOnDeletion: true, placement: {}}}");
  executor_.RunFor(10s);
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(Has(i, "kept")) << i;
  ASSERT_TRUE(api().Delete(kube::resources::Secrets(), kNamespace, "m2"));
  executor_.RunFor(60s);
  EXPECT_EQ(api().Get(karmada::Clusters(), "", "m2", "").error().code(), base::Code::kNotFound);
  EXPECT_TRUE(Has(2, "kept"));
}

}  // namespace
}  // namespace evenkeel::embedded::fleet::federation_test
