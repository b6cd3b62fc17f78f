#include "embedded/federation/policies/services.h"

#include <gtest/gtest.h>

#include "base/input/yaml.h"
#include "embedded/federation/hub/dependencies.h"
#include "embedded/federation/policies/native_interpreter.h"
#include "kube/object.h"

namespace evenkeel::embedded::federation::services_test {
namespace {

using base::FindString;
using base::Json;

Json FromYaml(const std::string& text) {
  auto parsed = base::ParseYamlDocument(text, "test");
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed ? *parsed : Json();
}

const char* const kSlice = R"(
metadata:
  name: web-x
  namespace: shop
  uid: u1
  resourceVersion: "7"
  ownerReferences: [{kind: Service, name: web}]
  labels: {kubernetes.io/service-name: web, endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], hostname: web-0, conditions: {ready: true}}]
ports: [{name: http, port: 80}]
)";

TEST(ServicesTest, AMembersSliceIsCollectedAndComesOutUnderAnotherName) {
  const Json work = CollectedWork(FromYaml(kSlice), "m1");
  EXPECT_EQ(kube::NamespaceOf(work), "karmada-es-m1");
  EXPECT_TRUE(kube::NameOf(work).starts_with("web-x-"));
  EXPECT_EQ(ServiceOfCollected(work), "shop/web");
  EXPECT_EQ(
      base::ToText(*base::Find(work, {"metadata", "labels"})),
      R"({"endpointslice.karmada.io/namespace":"shop","endpointslice.karmada.io/name":"web","endpointslice.karmada.io/managed-by":"ServiceExport"})");
  EXPECT_EQ(base::ToText(*base::Find(work, {"metadata", "finalizers"})), R"(["karmada.io/endpointslice-controller"])");
  EXPECT_TRUE(base::FindBool(work, {"spec", "suspendDispatching"})) << "it only comes to the hub";
  Json stored = work;
  base::Ensure(stored, {"metadata", "uid"}) = "work-uid";
  const auto slice = ImportedSlice(stored);
  ASSERT_TRUE(slice) << slice.error().message();
  EXPECT_EQ(kube::KeyOf(*slice), "shop/imported-m1-web-x");
  EXPECT_EQ(
      base::ToText(*base::Find(*slice, {"metadata"})),
      R"({"name":"imported-m1-web-x","namespace":"shop","labels":{"kubernetes.io/service-name":"derived-web",)"
      R"("endpointslice.kubernetes.io/managed-by":"endpointslice-controller.karmada.io","work.karmada.io/permanent-id":"work-uid"}})");
  EXPECT_EQ(FindString(base::FindArray(*slice, {"endpoints"})[0], {"hostname"}), "web-0");
  Json own = FromYaml(kSlice);
  EXPECT_TRUE(IsOwnSlice(own));
  base::Ensure(own, {"metadata", "labels", "karmada.io/managed"}) = "true";
  EXPECT_TRUE(IsOwnSlice(own)) << "that is a label of its Service";
  EXPECT_FALSE(IsOwnSlice(*slice)) << "what was imported is not exported again";
}

TEST(ServicesTest, OtherWorksAreNotCollectedOnes) {
  EXPECT_EQ(ServiceOfCollected(FromYaml("{metadata: {labels: {endpointslice.karmada.io/name: web}}}")), "");
  EXPECT_FALSE(ImportedSlice(FromYaml("{metadata: {namespace: karmada-es-m1}, spec: {workload: {manifests: []}}}")));
}

TEST(ServicesTest, AnImportIsAServiceUnlessItIsHeadless) {
  const std::string ports = "ports: [{name: http, port: 80, protocol: TCP, targetPort: 8080}]}}";
  const Json service = DerivedService(FromYaml("{metadata: {name: web, namespace: shop}, spec: {type: ClusterSetIP, " + ports));
  EXPECT_EQ(kube::KeyOf(service), "shop/derived-web");
  EXPECT_EQ(base::ToText(*base::Find(service, {"spec"})),
            R"({"type":"ClusterIP","ports":[{"name":"http","protocol":"TCP","port":80}]})");
  EXPECT_TRUE(DerivedService(FromYaml("{metadata: {name: web}, spec: {type: Headless, " + ports)).is_null());
}

TEST(ServicesTest, AnImportDependsOnItsServiceAndSlices) {
  const auto dependencies = NativeDependencies(
      FromYaml("{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport, metadata: {name: web, namespace: shop}}"));
  ASSERT_EQ(dependencies.size(), 2U);
  EXPECT_EQ(FindString(dependencies[0], {"name"}), "derived-web");
  EXPECT_EQ(base::ToText(*base::Find(dependencies[1], {"labelSelector"})),
            R"({"matchLabels":{"kubernetes.io/service-name":"derived-web"}})");
  EXPECT_TRUE(NativeDependencies(FromYaml("{apiVersion: v1, kind: Service, metadata: {name: web}}")).empty());
}

TEST(DependenciesTest, ARequirementIsSaidOncePerRequirer) {
  const Json requirer = FromYaml("{metadata: {name: web-serviceimport, namespace: shop}}");
  const auto clusters = [](const char* text) { return base::FindArray(FromYaml(text), {"c"}); };
  Json binding = WithRequirement(FromYaml("{spec: {}}"), requirer, clusters("{c: [{name: m1}]}"));
  binding = WithRequirement(binding, FromYaml("{metadata: {name: other, namespace: shop}}"), clusters("{c: [{name: m3}]}"));
  binding = WithRequirement(binding, requirer, clusters("{c: [{name: m2}]}"));
  EXPECT_EQ(base::ToText(*base::Find(binding, {"spec", "requiredBy"})),
            R"([{"namespace":"shop","name":"other","clusters":[{"name":"m3"}]},)"
            R"({"namespace":"shop","name":"web-serviceimport","clusters":[{"name":"m2"}]}])");
  EXPECT_TRUE(IsAttached(binding));
  EXPECT_FALSE(IsAttached(FromYaml("{metadata: {labels: {propagationpolicy.karmada.io/permanent-id: p}}}")));
  binding = WithRequirement(WithRequirement(binding, requirer, {}), FromYaml("{metadata: {name: other, namespace: shop}}"), {});
  EXPECT_EQ(base::Find(binding, {"spec", "requiredBy"}), nullptr);
  EXPECT_TRUE(PropagatesDependencies(FromYaml("{spec: {propagateDeps: true}}")));
  EXPECT_TRUE(PropagatesDependencies(FromYaml("{spec: {resource: {kind: ServiceImport}}}")));
  EXPECT_FALSE(PropagatesDependencies(FromYaml("{spec: {resource: {kind: Service}}}")));
}

}  // namespace
}  // namespace evenkeel::embedded::federation::services_test
