#include "embedded/federation/policies/definitions.h"

#include <gtest/gtest.h>

#include "base/executor.h"
#include "base/input/yaml.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/store/memory_store.h"
#include "kube/karmada.h"

namespace evenkeel::embedded::federation::definitions_test {
namespace {

using base::Json;
namespace karmada = kube::karmada;

class DefinitionsTest : public ::testing::Test {
 protected:
  DefinitionsTest() : store_(store::NewMemoryStore()), api_(Options()) {
    EXPECT_TRUE(api_.Start());
    client_ = apiserver::NewInProcessClient(api_, {"admin", {"system:masters"}});
    const auto installed = InstallDefinitions(*client_);
    EXPECT_TRUE(installed) << installed.error().message();
    EXPECT_TRUE(client_->Create(kube::resources::Namespaces(), kube::NewObject(kube::resources::Namespaces(), "", "data")));
  }
  apiserver::ApiOptions Options() {
    apiserver::ApiOptions options;
    options.store = store_.get();
    options.clock = &executor_.clock();
    return options;
  }
  base::Result<Json> Create(const kube::Resource& resource, const char* text) {
    auto object = base::ParseYamlDocument(text, "test");
    EXPECT_TRUE(object) << object.error().message();
    return client_->Create(resource, *object);
  }

  base::VirtualExecutor executor_{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<store::Store> store_;
  apiserver::Api api_;
  std::unique_ptr<client::Client> client_;
};

TEST_F(DefinitionsTest, EveryKindIsServedAsItsResourceSays) {
  const std::vector<const kube::Resource*> kinds{&karmada::Clusters(),
                                                 &karmada::PropagationPolicies(),
                                                 &karmada::ClusterPropagationPolicies(),
                                                 &karmada::OverridePolicies(),
                                                 &karmada::ClusterOverridePolicies(),
                                                 &karmada::ResourceBindings(),
                                                 &karmada::ClusterResourceBindings(),
                                                 &karmada::Works(),
                                                 &karmada::ResourceInterpreterWebhookConfigurations(),
                                                 &karmada::ServiceExports(),
                                                 &karmada::ServiceImports()};
  EXPECT_EQ(kinds.size(), Definitions().size());
  for (const kube::Resource* kind : kinds) {
    EXPECT_TRUE(client_->List(*kind, {})) << kind->kind;
    const auto definition = client_->Get(kube::resources::CustomResourceDefinitions(), "", kind->QualifiedPlural());
    ASSERT_TRUE(definition) << kind->kind;
    EXPECT_EQ(base::FindString(*definition, {"spec", "names", "kind"}), kind->kind);
    EXPECT_EQ(base::FindString(*definition, {"spec", "names", "singular"}), kind->singular);
    EXPECT_EQ(base::FindString(*definition, {"spec", "scope"}), kind->namespaced ? "Namespaced" : "Cluster");
  }
}

TEST_F(DefinitionsTest, InstallingAgainWritesNothing) {
  const auto& kind = kube::resources::CustomResourceDefinitions();
  const auto before = client_->List(kind, {});
  ASSERT_TRUE(InstallDefinitions(*client_));
  EXPECT_EQ(client_->List(kind, {})->resource_version, before->resource_version);
}

TEST_F(DefinitionsTest, APolicyGetsItsDefaultsAndKeepsItsFields) {
  const auto policy = Create(karmada::PropagationPolicies(), R"(
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: zk, namespace: data}
spec:
  resourceSelectors:
  - {apiVersion: evenkeel.dev/v1alpha1, kind: ZooKeeper, namespace: data, name: zk}
  placement:
    clusterAffinity: {clusterNames: [m1, m2]}
    replicaScheduling:
      replicaDivisionPreference: Weighted
      weightPreference: {staticWeightList: [{targetCluster: {clusterNames: [m1]}, weight: 2}]}
  suspension: {dispatchingOnClusters: {clusterNames: [m2]}}
)");
  ASSERT_TRUE(policy) << policy.error().message();
  EXPECT_EQ(base::FindString(*policy, {"spec", "conflictResolution"}), "Abort");
  EXPECT_EQ(base::FindString(*policy, {"spec", "placement", "replicaScheduling", "replicaSchedulingType"}), "Divided");
  EXPECT_EQ(base::FindArray(*policy, {"spec", "suspension", "dispatchingOnClusters", "clusterNames"}).size(), 1u);
}

TEST_F(DefinitionsTest, WhatASchemaCanRefuseIsRefused) {
  const auto none =
      Create(karmada::PropagationPolicies(), "{metadata: {name: none, namespace: data}, spec: {resourceSelectors: []}}");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), base::Code::kInvalid);
  const auto weight = Create(karmada::PropagationPolicies(), R"(
metadata: {name: weight, namespace: data}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]
  placement: {replicaScheduling: {weightPreference: {staticWeightList: [{targetCluster: {}, weight: 0}]}}}
)");
  ASSERT_FALSE(weight);
  EXPECT_NE(weight.error().message().find("weight"), std::string::npos);
  const auto operation = Create(karmada::OverridePolicies(), R"(
metadata: {name: bad, namespace: data}
spec: {overrideRules: [{overriders: {plaintext: [{path: /spec/replicas, operator: set, value: 2}]}}]}
)");
  ASSERT_FALSE(operation);
  EXPECT_NE(operation.error().message().find("operator"), std::string::npos);
}

TEST_F(DefinitionsTest, PlaintextValuesMayBeAnything) {
  const auto policy = Create(karmada::OverridePolicies(), R"(
metadata: {name: any, namespace: data}
spec:
  overrideRules:
  - targetCluster: {clusterNames: [m1]}
    overriders:
      plaintext:
      - {path: /spec, operator: add, value: {servers: [a, b], nested: {deep: 1}}}
      - {path: /spec/replicas, operator: add, value: 2}
)");
  ASSERT_TRUE(policy) << policy.error().message();
  const auto& rules = base::FindArray(*policy, {"spec", "overrideRules"});
  const auto& plaintext = base::FindArray(rules[0], {"overriders", "plaintext"});
  EXPECT_EQ(base::FindArray(plaintext[0], {"value", "servers"}).size(), 2u);
  EXPECT_EQ(base::FindInt(plaintext[1], {"value"}), 2);
}

}  // namespace
}  // namespace evenkeel::embedded::federation::definitions_test
