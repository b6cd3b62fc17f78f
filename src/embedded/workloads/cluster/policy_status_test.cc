// Warnings in the status of ValidatingAdmissionPolicies.
#include "embedded/workloads/cluster/policy_status.h"

#include "embedded/workloads/cluster/cluster_testing.h"

namespace evenkeel::embedded::workloads::policy_status_test {
namespace {

class PolicyStatusTest : public ClusterTest {
 protected:
  /// The policy's status after a while.
  Json StatusOf(const std::string& rules, const std::string& validations, const std::string& more = "") {
    Create(R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"p"},
               "spec":{"matchConstraints":{"resourceRules":[)" +
           rules + R"(]},"validations":[)" + validations + "]" + more + "}}");
    RunFor(1s);
    return Status();
  }
  Json Status() { return Get("validatingadmissionpolicies", "p").at("status"); }
  /// fieldRef and warning of each.
  static std::string Warnings(const Json& status) {
    std::string text;
    for (const Json& warning : FindArray(status, {"typeChecking", "expressionWarnings"})) {
      text += std::string(FindString(warning, {"fieldRef"})) + "\n" + std::string(FindString(warning, {"warning"}));
    }
    return text;
  }
  static constexpr const char* kApps =
      R"({"apiGroups":["apps"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["replicasets","deployments"]})";
};

TEST_F(PolicyStatusTest, WhatFitsTheKindsHasNoWarning) {
  const Json status = StatusOf(kApps, R"({"expression":"object.spec.replicas > 1 && variables.name != ''"})",
                               R"(,"variables":[{"name":"name","expression":"object.metadata.labels['app']"}])");
  EXPECT_EQ(base::ToText(status), R"({"observedGeneration":1,"typeChecking":{}})");
}

TEST_F(PolicyStatusTest, EachKindHasItsWordOnEachExpression) {
  const Json status = StatusOf(
      kApps, R"({"expression":"object.replicas > 1","messageExpression":"'x' + object.spec.replicas"},{"expression":"true"})");
  EXPECT_EQ(Warnings(status),
            "spec.validations[0].expression\n"
            "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n"
            " | object.replicas > 1\n"
            " | ......^\n"
            "\n"
            "apps/v1, Kind=ReplicaSet: ERROR: <input>:1:7: undefined field 'replicas'\n"
            " | object.replicas > 1\n"
            " | ......^\n"
            "spec.validations[0].messageExpression\n"
            "apps/v1, Kind=Deployment: ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(string, int)'\n"
            " | 'x' + object.spec.replicas\n"
            " | ....^\n"
            "\n"
            "apps/v1, Kind=ReplicaSet: ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(string, int)'\n"
            " | 'x' + object.spec.replicas\n"
            " | ....^\n");
}

TEST_F(PolicyStatusTest, AnotherGenerationIsCheckedAnew) {
  StatusOf(kApps, R"({"expression":"object.replicas > 1"})");
  const auto writes = counting->writes.size();
  Merge("validatingadmissionpolicies", "p", R"({"metadata":{"labels":{"a":"b"}}})");
  RunFor(1s);
  EXPECT_EQ(counting->writes.size(), writes) << "its generation is the same";
  Merge("validatingadmissionpolicies", "p", R"({"spec":{"validations":[{"expression":"object.spec.replicas > 1"}]}})");
  RunFor(1s);
  EXPECT_EQ(base::ToText(Status()), R"({"observedGeneration":2,"typeChecking":{}})");
}

TEST_F(PolicyStatusTest, WildcardsAndSubresourcesAreNotChecked) {
  const Json status = StatusOf(
      R"({"apiGroups":["*"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]},
         {"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods/status","*"]},
         {"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["things"]})",
      R"({"expression":"object.nothing == 1"})");
  EXPECT_EQ(base::ToText(status), R"({"observedGeneration":1,"typeChecking":{}})");
}

TEST_F(PolicyStatusTest, TenKindsAtMostAreChecked) {
  const Json status = StatusOf(
      R"({"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps","endpoints","limitranges",
          "namespaces","nodes","persistentvolumeclaims","persistentvolumes","pods","resourcequotas","secrets","services"]})",
      R"({"expression":"object.nothing == 1"})");
  const std::string warnings = Warnings(status);
  EXPECT_NE(warnings.find("\n/v1, Kind=Secret: ERROR"), std::string::npos);
  EXPECT_EQ(warnings.find("Kind=Service:"), std::string::npos) << "the eleventh";
}

TEST_F(PolicyStatusTest, KindsOfDefinitionsAndParametersHaveTypesToo) {
  Create(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gates.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gates","kind":"Gate"},"versions":[{"name":"v1",
    "served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
    "properties":{"width":{"type":"integer"}}}}}}}]}})");
  RunFor(1s);
  const Json status =
      StatusOf(R"({"apiGroups":["example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["gates"]})",
               R"({"expression":"object.spec.width < int(params.data['most']) && object.metadata.namespace != ''"},
                  {"expression":"object.spec.height < 1 && params.date == null"})",
               R"(,"paramKind":{"apiVersion":"v1","kind":"ConfigMap"})");
  EXPECT_EQ(Warnings(status),
            "spec.validations[1].expression\n"
            "example.com/v1, Kind=Gate: ERROR: <input>:1:12: undefined field 'height'\n"
            " | object.spec.height < 1 && params.date == null\n"
            " | ...........^\n"
            "ERROR: <input>:1:33: undefined field 'date'\n"
            " | object.spec.height < 1 && params.date == null\n"
            " | ................................^\n");
}

}  // namespace
}  // namespace evenkeel::embedded::workloads::policy_status_test
