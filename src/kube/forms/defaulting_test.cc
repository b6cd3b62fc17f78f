#include "kube/forms/defaulting.h"

#include <gtest/gtest.h>

namespace evenkeel::kube::defaulting_test {
namespace {

using base::Json;

Json Defaulted(const Resource& resource, std::string_view text) {
  Json object = *base::ParseJson(text, "test");
  ApplyKindDefaults(resource, object);
  const Json once = object;
  ApplyKindDefaults(resource, object);
  EXPECT_EQ(once, object) << "defaults are idempotent";
  return object;
}

TEST(DefaultingTest, WhatGoCannotTellFromAbsentGetsItsDefault) {
  const Json pod =
      Defaulted(resources::Pods(), R"({"metadata":{"name":"p"},"spec":{"restartPolicy":"","dnsPolicy":"","containers":[
      {"name":"a","image":"x","imagePullPolicy":"","ports":[{"containerPort":80,"protocol":""}],
       "livenessProbe":{"httpGet":{"port":80,"scheme":""},"periodSeconds":0,"successThreshold":0}}]}})");
  EXPECT_EQ(pod.at_pointer("/spec/restartPolicy"), "Always");
  EXPECT_EQ(pod.at_pointer("/spec/dnsPolicy"), "ClusterFirst");
  EXPECT_EQ(pod.at_pointer("/spec/containers/0/imagePullPolicy"), "Always");
  EXPECT_EQ(pod.at_pointer("/spec/containers/0/ports/0/protocol"), "TCP");
  EXPECT_EQ(pod.at_pointer("/spec/containers/0/livenessProbe/periodSeconds"), 10);
  EXPECT_EQ(pod.at_pointer("/spec/containers/0/livenessProbe/httpGet/scheme"), "HTTP");
  const Json binding = Defaulted(*FindBuiltIn("rbac.authorization.k8s.io", "v1", "clusterrolebindings"),
                                 R"({"metadata":{"name":"b"},"roleRef":{"apiGroup":"","kind":"ClusterRole","name":"view"}})");
  EXPECT_EQ(binding.at_pointer("/roleRef/apiGroup"), "rbac.authorization.k8s.io");
  const Json set = Defaulted(resources::StatefulSets(), R"({"spec":{"replicas":0,"updateStrategy":{"type":""}}})");
  EXPECT_EQ(set.at_pointer("/spec/updateStrategy/rollingUpdate/partition"), 0);
  EXPECT_EQ(set.at_pointer("/spec/replicas"), 0) << "a pointer";
}

TEST(DefaultingTest, APodGetsItsDefaults) {
  const Json pod = Defaulted(resources::Pods(), R"({"metadata":{"name":"p"},"spec":{"serviceAccountName":"s","containers":[
      {"name":"a","image":"nginx","ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"port":80}},"resources":{"limits":{"cpu":"1"}}},
      {"name":"b","image":"reg:5000/nginx:1.2"},{"name":"c","image":"x@sha256:00"},{"name":"d","image":"reg:5000/x"}],
      "volumes":[{"name":"v"},{"name":"c","configMap":{"name":"m"}}]}})");
  EXPECT_EQ(pod.at_pointer("/spec/restartPolicy"), "Always");
  EXPECT_EQ(pod.at_pointer("/spec/dnsPolicy"), "ClusterFirst");
  EXPECT_EQ(pod.at_pointer("/spec/terminationGracePeriodSeconds"), 30);
  EXPECT_EQ(pod.at_pointer("/spec/enableServiceLinks"), true);
  EXPECT_EQ(pod.at_pointer("/spec/serviceAccount"), "s");
  EXPECT_EQ(pod.at_pointer("/spec/containers/0/imagePullPolicy"), "Always");
  EXPECT_EQ(pod.at_pointer("/spec/containers/1/imagePullPolicy"), "IfNotPresent");
  EXPECT_EQ(pod.at_pointer("/spec/containers/2/imagePullPolicy"), "IfNotPresent");
  EXPECT_EQ(pod.at_pointer("/spec/containers/3/imagePullPolicy"), "Always");
  EXPECT_EQ(pod.at_pointer("/spec/containers/0/ports/0/protocol"), "TCP");
  EXPECT_EQ(pod.at_pointer("/spec/containers/0/livenessProbe/periodSeconds"), 10);
  EXPECT_EQ(pod.at_pointer("/spec/containers/0/livenessProbe/httpGet/scheme"), "HTTP");
  EXPECT_EQ(pod.at_pointer("/spec/containers/0/resources/requests/cpu"), "1");
  EXPECT_TRUE(pod.at_pointer("/spec/volumes/0/emptyDir").is_object());
  EXPECT_EQ(pod.at_pointer("/spec/volumes/1/configMap/defaultMode"), 420);
}

TEST(DefaultingTest, ADeploymentRollsByQuartersUnlessItRecreates) {
  const Json rolling =
      Defaulted(resources::Deployments(), R"({"spec":{"template":{"spec":{"containers":[{"name":"a","image":"x:1"}]}}}})");
  EXPECT_EQ(rolling.at_pointer("/spec/replicas"), 1);
  EXPECT_EQ(rolling.at_pointer("/spec/strategy/rollingUpdate/maxSurge"), "25%");
  EXPECT_EQ(rolling.at_pointer("/spec/progressDeadlineSeconds"), 600);
  EXPECT_EQ(rolling.at_pointer("/spec/template/spec/schedulerName"), "default-scheduler");
  EXPECT_EQ(rolling.at_pointer("/spec/template/spec/containers/0/imagePullPolicy"), "IfNotPresent");
  EXPECT_FALSE(rolling.at_pointer("/spec/template/spec").as_object().contains("enableServiceLinks")) << "only pods themselves";
  const Json recreate = Defaulted(resources::Deployments(), R"({"spec":{"strategy":{"type":"Recreate"}}})");
  EXPECT_FALSE(recreate.at_pointer("/spec/strategy").as_object().contains("rollingUpdate"));
}

TEST(DefaultingTest, SetsGetTheirUpdateStrategies) {
  const Json set =
      Defaulted(resources::StatefulSets(), R"({"spec":{"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{}}]}})");
  EXPECT_EQ(set.at_pointer("/spec/podManagementPolicy"), "OrderedReady");
  EXPECT_EQ(set.at_pointer("/spec/updateStrategy/rollingUpdate/partition"), 0);
  EXPECT_EQ(set.at_pointer("/spec/volumeClaimTemplates/0/kind"), "PersistentVolumeClaim");
  EXPECT_EQ(set.at_pointer("/spec/volumeClaimTemplates/0/spec/volumeMode"), "Filesystem");
  const Json daemons = Defaulted(resources::DaemonSets(), R"({"spec":{}})");
  EXPECT_EQ(daemons.at_pointer("/spec/updateStrategy/rollingUpdate/maxUnavailable"), 1);
  EXPECT_EQ(daemons.at_pointer("/spec/updateStrategy/rollingUpdate/maxSurge"), 0);
}

TEST(DefaultingTest, AJobRunsOnceUnlessItSaysOtherwise) {
  const Json job = Defaulted(resources::Jobs(),
                             R"({"metadata":{"name":"j"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{}}}})");
  EXPECT_EQ(job.at_pointer("/spec/completions"), 1);
  EXPECT_EQ(job.at_pointer("/spec/parallelism"), 1);
  EXPECT_EQ(job.at_pointer("/spec/backoffLimit"), 6);
  EXPECT_EQ(job.at_pointer("/metadata/labels/a"), "b");
  const Json queue = Defaulted(resources::Jobs(), R"({"spec":{"parallelism":3}})");
  EXPECT_FALSE(queue.at("spec").as_object().contains("completions"));
}

TEST(DefaultingTest, ServicesAndNamespacesFillWhatFollowsFromOtherFields) {
  const Json service =
      Defaulted(resources::Services(), R"({"spec":{"type":"NodePort","ports":[{"port":80},{"port":81,"targetPort":"web"}]}})");
  EXPECT_EQ(service.at_pointer("/spec/ports/0/targetPort"), 80);
  EXPECT_EQ(service.at_pointer("/spec/ports/1/targetPort"), "web");
  EXPECT_EQ(service.at_pointer("/spec/externalTrafficPolicy"), "Cluster");
  EXPECT_EQ(service.at_pointer("/spec/sessionAffinity"), "None");
  const Json ns = Defaulted(resources::Namespaces(), R"({"metadata":{"name":"n"}})");
  EXPECT_EQ(ns.at_pointer("/status/phase"), "Active");
  EXPECT_EQ(ns.at("metadata").at("labels").at("kubernetes.io/metadata.name"), "n");
  const Json node = Defaulted(resources::Nodes(), R"({"status":{"capacity":{"cpu":"4"}}})");
  EXPECT_EQ(node.at_pointer("/status/allocatable/cpu"), "4");
}

TEST(DefaultingTest, ValuesOfTheWrongTypeAreLeftAlone) {
  for (const Resource& resource : BuiltInResources()) {
    for (const char* text :
         {R"({"spec":5,"metadata":[]})",
          R"({"spec":{"template":{"spec":{"containers":{"a":1},"volumes":"x"}},"ports":[1,null]}})",
          R"({"spec":{"strategy":"x","updateStrategy":[],"names":5,"limits":[[]]},"subjects":{}})", "[]", "null"}) {
      Json object = *base::ParseJson(text, "test");
      ApplyKindDefaults(resource, object);
    }
  }
  SUCCEED();
}

}  // namespace
}  // namespace evenkeel::kube::defaulting_test
