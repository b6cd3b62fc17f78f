// Rules of ResourceQuota and LimitRange, and what amounts of pods come to.
#include <gtest/gtest.h>

#include "kube/amounts.h"
#include "kube/forms/defaulting.h"
#include "kube/types.h"
#include "kube/validation/validation.h"

namespace evenkeel::kube::validation_limits_test {
namespace {

using base::Json;

Json Ready(const Resource& resource, const std::string& text) {
  auto object = base::ParseJson(text, "test");
  EXPECT_TRUE(object.has_value()) << text;
  if (!object) return Json();
  ApplyKindDefaults(resource, *object);
  return *object;
}

std::string Told(const std::vector<base::Cause>& causes) {
  std::string text;
  for (const base::Cause& cause : causes) text += (text.empty() ? "" : "\n") + cause.field + ": " + cause.message;
  return text;
}

std::string QuotaText(const std::string& spec) { return R"({"metadata":{"name":"q","namespace":"d"},"spec":)" + spec + "}"; }

std::string QuotaProblems(const std::string& spec) {
  const Resource& quotas = *FindBuiltIn("", "v1", "resourcequotas");
  return Told(ValidateObject(quotas, Ready(quotas, QuotaText(spec))));
}

std::string LimitProblems(const std::string& item) {
  const Resource& ranges = *FindBuiltIn("", "v1", "limitranges");
  const std::string text = R"({"metadata":{"name":"r","namespace":"d"},"spec":{"limits":[)" + item + "]}}";
  return Told(ValidateObject(ranges, Ready(ranges, text)));
}

TEST(ValidationLimitsTest, NamesThatAQuotaMayBound) {
  EXPECT_EQ(QuotaProblems(R"({"hard":{"pods":"3","cpu":"1500m","requests.nvidia.com/gpu":"2","count/deployments.apps":"1",
      "gold.storageclass.storage.k8s.io/requests.storage":"1Gi","services.nodeports":"0","hugepages-2Mi":"4Mi"}})"),
            "");
  EXPECT_EQ(QuotaProblems(R"({"hard":{"podz":"3"}})"),
            "spec.hard[podz]: Invalid value: \"podz\": must be a standard resource type or fully qualified\n"
            "spec.hard[podz]: Invalid value: \"podz\": must be a standard resource for quota");
  EXPECT_EQ(QuotaProblems(R"({"hard":{"storage":"3"}})"),
            "spec.hard[storage]: Invalid value: \"storage\": must be a standard resource for quota");
  EXPECT_EQ(QuotaProblems(R"({"hard":{"pods":"-3"}})"),
            "spec.hard[pods]: Invalid value: \"-3\": must be greater than or equal to 0");
  EXPECT_EQ(QuotaProblems(R"({"hard":{"pods":"1500m"}})"), "spec.hard[pods]: Invalid value: \"1500m\": must be an integer");
}

TEST(ValidationLimitsTest, ScopesFitWhatIsBounded) {
  EXPECT_EQ(QuotaProblems(R"({"hard":{"pods":"3"},"scopes":["BestEffort","Terminating"]})"), "");
  EXPECT_EQ(QuotaProblems(R"({"hard":{"pods":"3"},"scopes":["Nice"]})"),
            "spec.scopes: Invalid value: [\"Nice\"]: unsupported scope");
  EXPECT_EQ(QuotaProblems(R"({"hard":{"cpu":"3"},"scopes":["BestEffort"]})"),
            "spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource");
  EXPECT_EQ(QuotaProblems(R"({"hard":{"services":"3"},"scopes":["NotTerminating"]})"),
            "spec.scopes: Invalid value: [\"NotTerminating\"]: unsupported scope applied to resource");
  EXPECT_EQ(QuotaProblems(R"({"hard":{"pods":"3"},"scopes":["BestEffort","NotBestEffort"]})"),
            "spec.scopes: Invalid value: [\"BestEffort\",\"NotBestEffort\"]: conflicting scopes");
}

TEST(ValidationLimitsTest, SelectorsOfScopes) {
  const auto problems = [](const std::string& expression) {
    return QuotaProblems(R"({"hard":{"pods":"3"},"scopeSelector":{"matchExpressions":[)" + expression + "]}}");
  };
  EXPECT_EQ(problems(R"({"scopeName":"PriorityClass","operator":"In","values":["high"]})"), "");
  EXPECT_EQ(problems(R"({"scopeName":"PriorityClass","operator":"In"})"),
            "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or "
            "'NotIn' for scope selector");
  EXPECT_EQ(
      problems(R"({"scopeName":"PriorityClass","operator":"Exists","values":["high"]})"),
      "spec.scopeSelector.matchExpressions.values: Invalid value: [\"high\"]: must be no value when `operator` is 'Exist' or "
      "'DoesNotExist' for scope selector");
  EXPECT_TRUE(
      problems(R"({"scopeName":"BestEffort","operator":"DoesNotExist"})")
          .starts_with("spec.scopeSelector.matchExpressions.operator: Invalid value: \"DoesNotExist\": must be 'Exist'"));
}

TEST(ValidationLimitsTest, ScopesStay) {
  const Resource& quotas = *FindBuiltIn("", "v1", "resourcequotas");
  const Json old = Ready(quotas, QuotaText(R"({"hard":{"pods":"3"},"scopes":["BestEffort","Terminating"]})"));
  const Json turned = Ready(quotas, QuotaText(R"({"hard":{"pods":"4"},"scopes":["Terminating","BestEffort"]})"));
  EXPECT_EQ(Told(ValidateUpdate(quotas, turned, old)), "");
  const Json fewer = Ready(quotas, QuotaText(R"({"hard":{"pods":"3"},"scopes":["Terminating"]})"));
  EXPECT_EQ(Told(ValidateUpdate(quotas, fewer, old)), "spec.scopes: Invalid value: [\"Terminating\"]: field is immutable");
}

TEST(ValidationLimitsTest, BoundsThatContradictEachOther) {
  EXPECT_EQ(LimitProblems(R"({"type":"Container","min":{"cpu":"1"},"max":{"cpu":"2"},"maxLimitRequestRatio":{"cpu":"2"}})"),
            "");
  EXPECT_EQ(LimitProblems(R"({"type":"Pod","min":{"cpu":"2"},"max":{"cpu":"1"}})"),
            "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1");
  EXPECT_EQ(LimitProblems(R"({"type":"Container","default":{"cpu":"1"},"defaultRequest":{"cpu":"2"}})"),
            "spec.limits[0].defaultRequest[cpu]: Invalid value: \"2\": default request value 2 is greater than default limit "
            "value 1");
  EXPECT_EQ(LimitProblems(R"({"type":"Container","max":{"cpu":"1"},"default":{"cpu":"2"},"defaultRequest":{"cpu":"1"}})"),
            "spec.limits[0].default[cpu]: Invalid value: \"1\": default value 2 is greater than max value 1");
  EXPECT_EQ(LimitProblems(R"({"type":"Pod","maxLimitRequestRatio":{"cpu":"500m"}})"),
            "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"500m\": ratio 500m is less than 1");
  EXPECT_EQ(LimitProblems(R"({"type":"Pod","min":{"cpu":"1"},"max":{"cpu":"2"},"maxLimitRequestRatio":{"cpu":"3"}})"),
            "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"3\": ratio 3 is greater than max/min = 2.000000");
  EXPECT_EQ(LimitProblems(R"({"type":"Container","default":{"nvidia.com/gpu":"2"},"defaultRequest":{"nvidia.com/gpu":"1"}})"),
            "spec.limits[0].defaultRequest[nvidia.com/gpu]: Invalid value: \"1\": default value 2 must equal to defaultRequest "
            "value 1 "
            "in nvidia.com/gpu");
}

TEST(ValidationLimitsTest, TypesAndNamesOfLimits) {
  EXPECT_EQ(LimitProblems(R"({"type":"Node"})"),
            "spec.limits[0].type: Invalid value: \"Node\": must be a standard limit type or fully qualified");
  EXPECT_EQ(LimitProblems(R"({"type":"Pod"},{"type":"Pod"})"), "spec.limits[1].type: Duplicate value: \"Pod\"");
  EXPECT_EQ(LimitProblems(R"({"type":"Pod","default":{"cpu":"1"}})"),
            "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'");
  EXPECT_EQ(
      LimitProblems(R"({"type":"PersistentVolumeClaim"})"),
      "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided");
  EXPECT_EQ(LimitProblems(R"({"type":"Container","max":{"pods":"1"},"default":{"pods":"1"},"defaultRequest":{"pods":"1"}})"),
            "spec.limits[0].max[pods]: Invalid value: \"pods\": must be a standard resource for containers\n"
            "spec.limits[0].default[pods]: Invalid value: \"pods\": must be a standard resource for containers\n"
            "spec.limits[0].defaultRequest[pods]: Invalid value: \"pods\": must be a standard resource for containers");
}

TEST(ValidationLimitsTest, AmountsOfPods) {
  const auto pod = base::ParseJson(R"({"spec":{"overhead":{"cpu":"100m","memory":"1Mi"},"containers":[
      {"name":"a","resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}},{"name":"b","resources":{"requests":{"cpu":"500m"}}}],
      "initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"250m"}}},
                        {"name":"i","resources":{"requests":{"cpu":"3","memory":"1Gi"}}}]}})",
                                   "test");
  ASSERT_TRUE(pod.has_value());
  const auto text = [](const Amounts& amounts) {
    std::string all;
    for (const auto& [name, amount] : amounts) all += name + "=" + amount.ToString() + " ";
    return all;
  };
  EXPECT_EQ(text(PodRequests(*pod, PodOverhead::kLeftOut)), "cpu=3250m memory=1Gi ");
  EXPECT_EQ(text(PodRequests(*pod, PodOverhead::kCounted)), "cpu=3350m memory=1025Mi ");
  EXPECT_EQ(text(PodLimits(*pod, PodOverhead::kCounted)), "cpu=2100m ");
}

TEST(ValidationLimitsTest, WhatAPodAsksForAsAWholeGoesBefore) {
  const auto pod =
      base::ParseJson(R"({"spec":{"overhead":{"cpu":"100m"},"resources":{"requests":{"cpu":"2"},"limits":{"memory":"1Gi"}},
      "containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"1Mi"},"limits":{"cpu":"2"}}}]}})",
                      "test");
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(PodRequests(*pod, PodOverhead::kLeftOut).at("cpu").ToString(), "2");
  EXPECT_EQ(PodRequests(*pod, PodOverhead::kCounted).at("cpu").ToString(), "2100m");
  EXPECT_EQ(PodRequests(*pod, PodOverhead::kCounted).at("memory").ToString(), "1Mi");
  EXPECT_EQ(PodLimits(*pod, PodOverhead::kLeftOut).at("memory").ToString(), "1Gi");
  EXPECT_EQ(Pod::Decode(*pod).Requests().at("cpu"), 2'100) << "for schedulers, too";
  EXPECT_TRUE(HasPodLevelResources(*pod));
}

std::string PodProblems(const std::string& spec) {
  return Told(ValidateObject(resources::Pods(), Ready(resources::Pods(), R"({"metadata":{"name":"p"},"spec":)" + spec + "}")));
}

TEST(ValidationLimitsTest, APodAsAWholeHasNoLessThanItsContainers) {
  const std::string containers =
      R"("containers":[{"name":"a","image":"x","imagePullPolicy":"Always","terminationMessagePolicy":"File",
      "resources":{"requests":{"cpu":"2"},"limits":{"cpu":"3"}}}],"restartPolicy":"Always","dnsPolicy":"Default")";
  EXPECT_EQ(PodProblems("{" + containers + R"(,"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"3"}}})"), "");
  EXPECT_EQ(
      PodProblems("{" + containers + R"(,"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"},"claims":[{"name":"c"}]}})"),
      "spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level\n"
      "spec.resources.requests[cpu]: Invalid value: \"1\": must be greater than or equal to aggregate container requests "
      "of 2\n"
      "spec.containers[0].resources.limits[cpu]: Invalid value: \"3\": must be less than or equal to pod limits of 2");
  EXPECT_EQ(PodProblems("{" + containers + R"(,"resources":{"requests":{"ephemeral-storage":"1"}}})"),
            "spec.resources.requests[ephemeral-storage]: Unsupported value: \"ephemeral-storage\": supported values: \"cpu\", "
            "\"hugepages-\", \"memory\"");
}

TEST(ValidationLimitsTest, NamesOfResources) {
  EXPECT_TRUE(IsNativeResourceName("cpu"));
  EXPECT_TRUE(IsNativeResourceName("pod.alpha.kubernetes.io/opaque"));
  EXPECT_FALSE(IsExtendedResourceName("cpu"));
  EXPECT_TRUE(IsExtendedResourceName("nvidia.com/gpu"));
  EXPECT_FALSE(IsExtendedResourceName("requests.nvidia.com/gpu"));
}

}  // namespace
}  // namespace evenkeel::kube::validation_limits_test
