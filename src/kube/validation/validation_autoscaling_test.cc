#include <gtest/gtest.h>

#include "kube/forms/defaulting.h"
#include "kube/schema/schema_text.h"
#include "kube/validation/validation.h"

namespace evenkeel::kube::validation_autoscaling_test {
namespace {

std::string Problems(std::string_view version, std::string_view spec) {
  const Resource& resource = *FindBuiltIn("autoscaling", version, "horizontalpodautoscalers");
  auto object = base::ParseJson(fmt::format(R"({{"apiVersion":"autoscaling/{}","kind":"HorizontalPodAutoscaler",
      "metadata":{{"name":"n","namespace":"d"}},"spec":{{"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"Deployment","name":"w"}},
      "maxReplicas":5{}{}}}}})",
                                            version, spec.empty() ? "" : ",", spec),
                                "test");
  EXPECT_TRUE(object) << spec;
  ApplyKindDefaults(resource, *object);
  std::string text;
  for (const base::Cause& cause : ValidateObject(resource, *object)) {
    text += (text.empty() ? "" : "\n") + cause.field + ": " + cause.message;
  }
  return text;
}

std::string MetricProblems(std::string_view metric) { return Problems("v2", R"("metrics":[)" + std::string(metric) + "]"); }
std::string CpuProblems(std::string_view target) {
  return MetricProblems(R"({"type":"Resource","resource":{"name":"cpu","target":)" + std::string(target) + "}}");
}
std::string RuleProblems(std::string_view rules) {
  return Problems("v2", R"("behavior":{"scaleDown":)" + std::string(rules) + "}");
}

TEST(AutoscalerValidationTest, UsualOnesAreTaken) {
  EXPECT_EQ(Problems("v1", ""), "");
  EXPECT_EQ(Problems("v1", R"("minReplicas":2,"targetCPUUtilizationPercentage":80)"), "");
  EXPECT_EQ(Problems("v2", ""), "");
  EXPECT_EQ(CpuProblems(R"({"type":"Utilization","averageUtilization":50})"), "");
  EXPECT_EQ(CpuProblems(R"({"type":"AverageValue","averageValue":"500m"})"), "");
  for (const char* metric :
       {R"({"type":"Pods","pods":{"metric":{"name":"x"},"target":{"type":"AverageValue","averageValue":"1k"}}})",
        R"({"type":"Object","object":{"describedObject":{"kind":"Ingress","name":"i"},"metric":{"name":"x"},
            "target":{"type":"Value","value":"10k"}}})",
        R"({"type":"External","external":{"metric":{"name":"queue|length","selector":{"matchLabels":{"a":"b"}}},
            "target":{"type":"AverageValue","averageValue":"30"}}})",
        R"({"type":"ContainerResource","containerResource":{"name":"cpu","container":"web",
            "target":{"type":"Utilization","averageUtilization":60}}})"}) {
    EXPECT_EQ(MetricProblems(metric), "") << metric;
  }
  for (const char* rules : {"{}", R"({"selectPolicy":"Disabled"})", R"({"stabilizationWindowSeconds":3600})",
                            R"({"policies":[{"type":"Percent","value":100,"periodSeconds":1800}]})"}) {
    EXPECT_EQ(RuleProblems(rules), "") << rules;
  }
}

TEST(AutoscalerValidationTest, TheOldVersionHasTheSameRules) {
  EXPECT_EQ(Problems("v1", R"("targetCPUUtilizationPercentage":0)"),
            "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0");
  EXPECT_EQ(Problems("v1", R"("minReplicas":6)"),
            "spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`");
}

TEST(AutoscalerValidationTest, TargetsAreNamed) {
  EXPECT_EQ(Problems("v2", R"("scaleTargetRef":{"kind":"","name":"a/b"})"),
            "spec.scaleTargetRef.kind: Required value\n"
            R"(spec.scaleTargetRef.name: Invalid value: "a/b": may not contain '/')");
  EXPECT_EQ(Problems("v2", R"("scaleTargetRef":{"apiVersion":"a/b/c","kind":"K","name":"n"})"),
            R"(spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c)");
}

TEST(AutoscalerValidationTest, MetricsSayWhatTheyMeasure) {
  const std::string at = "spec.metrics[0].";
  EXPECT_EQ(MetricProblems(R"({"type":"Resource"})"),
            at + "resource: Required value: must populate information for the given metric source");
  EXPECT_EQ(
      MetricProblems(R"({"type":"X"})"),
      at + R"(type: Unsupported value: "X": supported values: "ContainerResource", "External", "Object", "Pods", "Resource")");
  EXPECT_EQ(MetricProblems(R"({"type":"Pods","pods":{"metric":{},"target":{"type":"AverageValue","averageValue":"1"}}})"),
            at + "pods.metric.name: Required value: must specify a metric name");
  EXPECT_EQ(MetricProblems(R"({"type":"Pods","pods":{"metric":{"name":"a"},"target":{"type":"Value","value":"1"}}})"),
            at + "pods.target.averageValue: Required value: must specify a positive target averageValue");
  EXPECT_EQ(
      MetricProblems(
          R"({"type":"External","external":{"metric":{"name":"a"},"target":{"type":"Value","value":"1","averageValue":"1"}}})"),
      at + "external.target.value: Forbidden: may not set both a target value for metric and a per-pod target");
  EXPECT_EQ(MetricProblems(R"({"type":"External","external":{"metric":{"name":"a/b"},"target":{"type":"Value"}}})"),
            at + "external.metric.name: Invalid value: \"a/b\": may not contain '/'\n" + at +
                "external.target.averageValue: Required value: must set either a target value for metric or a per-pod target");
  EXPECT_EQ(MetricProblems(R"({"type":"ContainerResource","containerResource":{"name":"cpu","container":"A",
                               "target":{"type":"Utilization","averageUtilization":60}}})")
                .find(at + R"(containerResource.container: Invalid value: "A": a lowercase RFC 1123 label)"),
            0u);
}

TEST(AutoscalerValidationTest, TargetsOfMetricsArePositive) {
  const std::string at = "spec.metrics[0].resource.target.";
  EXPECT_EQ(CpuProblems(R"({"type":"AverageValue","averageValue":"0"})"),
            at + R"(averageValue: Invalid value: "0": must be positive)");
  EXPECT_EQ(CpuProblems(R"({"type":"Utilization"})"),
            at + "averageUtilization: Required value: must set either a target raw value or a target utilization");
  EXPECT_EQ(CpuProblems(R"({"type":"Utilization","averageUtilization":5,"averageValue":"1"})"),
            at + "averageValue: Forbidden: may not set both a target raw value and a target utilization");
  EXPECT_EQ(CpuProblems(R"({"type":"Share","averageUtilization":5})"),
            at + R"(type: Invalid value: "Share": must be either Utilization, Value, or AverageValue)");
}

TEST(AutoscalerValidationTest, BehaviorHasLimits) {
  const std::string at = "spec.behavior.scaleDown.";
  EXPECT_EQ(RuleProblems(R"({"stabilizationWindowSeconds":3601})"),
            at + "stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600");
  EXPECT_EQ(RuleProblems(R"({"selectPolicy":"Mean"})"),
            at + R"(selectPolicy: Unsupported value: "Mean": supported values: "Disabled", "Max", "Min")");
  EXPECT_EQ(RuleProblems(R"({"policies":[]})"), at + "policies: Required value: must specify at least one Policy");
  EXPECT_EQ(RuleProblems(R"({"policies":[{"type":"X","value":0,"periodSeconds":1801}]})"),
            at + R"(policies[0].type: Unsupported value: "X": supported values: "Percent", "Pods")" + "\n" + at +
                "policies[0].value: Invalid value: 0: must be greater than zero\n" + at +
                "policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800");
}

TEST(PriorityClassValidationTest, HighOnesAreTheSystems) {
  const auto problems = [](std::string_view name, int64_t value) {
    const Resource& resource = *FindBuiltIn("scheduling.k8s.io", "v1", "priorityclasses");
    std::string text;
    for (const base::Cause& cause : ValidateObject(
             resource, *base::ParseJson(fmt::format(R"({{"metadata":{{"name":"{}"}},"value":{}}})", name, value), "test"))) {
      text += cause.field + ": " + cause.message;
    }
    return text;
  };
  EXPECT_EQ(problems("high", 1'000'000'000), "");
  EXPECT_EQ(problems("high", 1'000'000'001),
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000");
  EXPECT_EQ(problems("system-node-critical", 2'000'001'000), "");
  EXPECT_NE(problems("system-node-critical", 1), "");
  EXPECT_NE(problems("system-mine", 1), "");
}

}  // namespace
}  // namespace evenkeel::kube::validation_autoscaling_test
