#include "embedded/apiserver/table.h"

#include "embedded/apiserver/api_test_support.h"

namespace evenkeel::embedded::apiserver::table_test {
namespace {

using base::Json;

class TableTest : public ApiFixture {
 protected:
  Json Table(const std::string& path) {
    return Send("GET", path, "", {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}}).json();
  }
  static std::string Columns(const Json& table) {
    std::string text;
    for (const Json& column : base::FindArray(table, {"columnDefinitions"})) {
      text += std::string(base::FindString(column, {"name"})) + (base::FindInt(column, {"priority"}) > 0 ? "*" : "") + "|";
    }
    return text;
  }
  static std::string Cells(const Json& table, size_t row = 0) {
    return base::ToText(*base::Find(base::FindArray(table, {"rows"}).at(row), {"cells"}));
  }
};

TEST_F(TableTest, PrintsPodsAsUpstream) {
  CreatePod("web");
  executor.RunFor(std::chrono::minutes(5));
  const Json table = Table("/api/v1/namespaces/default/pods");
  EXPECT_EQ(Columns(table), "Name|Ready|Status|Restarts|Age|IP*|Node*|Nominated Node*|Readiness Gates*|");
  EXPECT_EQ(Cells(table), R"(["web","0/1","Pending","0","5m","<none>","<none>","<none>","<none>"])");
  EXPECT_EQ(base::FindString(base::FindArray(table, {"rows"})[0], {"object", "kind"}), "PartialObjectMetadata");
  const Json none = Table("/api/v1/namespaces/default/pods?includeObject=None");
  EXPECT_EQ(base::Find(base::FindArray(none, {"rows"})[0], {"object"}), nullptr);
  const Json object = Table("/api/v1/namespaces/default/pods?includeObject=Object");
  EXPECT_EQ(base::FindString(base::FindArray(object, {"rows"})[0], {"object", "kind"}), "Pod");
}

TEST_F(TableTest, PrintsDeploymentsServicesAndConfiguration) {
  Create(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},
    "spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}})");
  EXPECT_EQ(Cells(Table("/apis/apps/v1/deployments")), R"(["web","0/2",0,0,"0s","c","x","a=b"])");
  Create(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"default"},"spec":{"clusterIP":"None","selector":{"a":"b"},"ports":[{"port":80}]}})");
  EXPECT_EQ(Cells(Table("/api/v1/services")), R"(["s","ClusterIP","None","<none>","80/TCP","0s","a=b"])");
  Create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"default"},"data":{"a":"1","b":"2"}})");
  EXPECT_EQ(Cells(Table("/api/v1/configmaps")), R"(["m",2,"0s"])");
  EXPECT_EQ(Cells(Table("/api/v1/namespaces")), R"(["default","Active","0s"])");
}

TEST_F(TableTest, PrintsEventsWithTheirObject) {
  Create(
      R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"default"},"involvedObject":{"kind":"Pod","name":"web","namespace":"default"},
             "reason":"Started","message":"hello","type":"Normal","count":3,"lastTimestamp":"2023-11-14T22:13:10Z","firstTimestamp":"2023-11-14T22:12:20Z"})");
  const std::string expected = R"(["10s","Normal","Started","pod/web","","","hello","60s",3,"e"])";
  EXPECT_EQ(Cells(Table("/api/v1/events")), expected);
  EXPECT_EQ(Cells(Table("/apis/events.k8s.io/v1/events")), expected);
}

TEST_F(TableTest, KindsWithoutColumnsHaveNameAndAge) {
  Create(R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q","namespace":"default"}})");
  EXPECT_EQ(Columns(Table("/api/v1/resourcequotas")), "Name|Age|");
}

struct PodCase {
  const char* name;
  const char* pod;
  const char* expected;
};

class PodStatusTest : public ::testing::TestWithParam<PodCase> {};

TEST_P(PodStatusTest, SaysWhatItsContainersAreUpTo) {
  EXPECT_EQ(PodStatusText(ParseOrFail(GetParam().pod)), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Pods, PodStatusTest,
    ::testing::Values(
        PodCase{"Running", R"({"status":{"phase":"Running","containerStatuses":[{"ready":true,"state":{"running":{}}}]}})",
                "Running"},
        PodCase{"Creating",
                R"({"status":{"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ContainerCreating"}}}]}})",
                "ContainerCreating"},
        PodCase{"Crash",
                R"({"status":{"phase":"Running","containerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}})",
                "CrashLoopBackOff"},
        PodCase{
            "Completed",
            R"({"status":{"phase":"Succeeded","containerStatuses":[{"state":{"terminated":{"reason":"Completed","exitCode":0}}}]}})",
            "Completed"},
        PodCase{
            "Error",
            R"({"status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"reason":"Error","exitCode":1}}}]}})",
            "Error"},
        PodCase{"ExitCode", R"({"status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":3}}}]}})",
                "ExitCode:3"},
        PodCase{"Signal", R"({"status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"signal":9}}}]}})",
                "Signal:9"},
        PodCase{"Init",
                R"({"spec":{"initContainers":[{"name":"i"},{"name":"j"}]},"status":{"phase":"Pending","initContainerStatuses":[
            {"name":"i","state":{"terminated":{"exitCode":0}}},{"name":"j","state":{"running":{}}}]}})",
                "Init:1/2"},
        PodCase{"InitError", R"({"spec":{"initContainers":[{"name":"i"}]},"status":{"phase":"Pending","initContainerStatuses":[
            {"name":"i","state":{"terminated":{"reason":"Error","exitCode":1}}}]}})",
                "Init:Error"},
        PodCase{"Terminating", R"({"metadata":{"deletionTimestamp":"2024-01-01T00:00:00Z"},"status":{"phase":"Running"}})",
                "Terminating"},
        PodCase{"Evicted", R"({"status":{"phase":"Failed","reason":"Evicted"}})", "Evicted"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace evenkeel::embedded::apiserver::table_test
