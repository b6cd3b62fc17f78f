#include "cli/commands/balance.h"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <sstream>

#include "base/input/file.h"
#include "base/input/yaml.h"
#include "base/json.h"
#include "base/random.h"

namespace evenkeel::cli::balance_test {
namespace {

constexpr const char* kState = R"(nodes:
- {name: n0, nodeType: A, capacities: {Memory: 100}}
- {name: n1, nodeType: A, capacities: {Memory: 100}}
services:
- {name: web, metrics: [{name: Memory, load: 10}]}
partitions:
- {name: web/0, service: web, replicas: [{node: n0}]}
- {name: web/1, service: web, replicas: [{node: n0}]}
- {name: web/2, service: web, replicas: [{node: n0}]}
- {name: web/3, service: web, replicas: [{node: n0}]}
)";

// One parameter in each of the three syntaxes.
struct Syntax {
  std::string file;
  std::string text;
  std::string where;  // of the value
};
std::vector<Syntax> InEverySyntax(const std::string& section, const std::string& name, const std::string& value) {
  const std::string fragment = "\"fabricSettings\": [\n{\"name\": \"" + section + "\", \"parameters\": [\n{\"name\": \"" +
                               name + "\", \"value\": \"" + value + "\"}]}]";
  return {{"ClusterManifest.xml",
           "<FabricSettings>\n<Section Name=\"" + section + "\">\n<Parameter Name=\"" + name + "\" Value=\"" + value +
               "\"/></Section></FabricSettings>",
           ":3:"},
          {"ClusterConfig.json", "{\"name\": \"c\", \"properties\": {" + fragment + "}}", ":3:"},
          {"Template.json",
           "{\"resources\": [{\"type\": \"Microsoft.ServiceFabric/clusters\", \"properties\": {" + fragment + "}}]}", ":3:"}};
}

class BalanceCommandTest : public ::testing::Test {
 protected:
  BalanceCommandTest() {
    std::filesystem::create_directories(folder_);
    options_.files = {File("state.yaml", kState)};
    options_.output = "json";
    options_.now = 0;
  }
  ~BalanceCommandTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    EXPECT_TRUE(base::WriteFile(path, text));
    return path;
  }
  void State(const std::string& text) { options_.files = {File("state.yaml", text)}; }
  base::Json Plan() {
    std::ostringstream out;
    const base::Status status = PlanBalance(options_, out);
    EXPECT_TRUE(status) << (status ? "" : status.error().message());
    return base::ParseJson(out.str(), "plan").value_or(base::Json(base::JsonObject{}));
  }
  // What is wrong, without the folder.
  std::string Error() {
    std::ostringstream out;
    const base::Status status = PlanBalance(options_, out);
    if (status) return "no error";
    EXPECT_EQ(base::ExitStatus(status.error().code()), 2);
    const std::string& message = status.error().message();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    const std::string prefix = (folder_ / "").string();
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }
  std::string ErrorOfManifest(const std::string& name, const std::string& text) {
    options_.manifest = File(name, text);
    std::string error = Error();
    options_.manifest.clear();
    return error;
  }
  std::string ErrorOfState(const std::string& before, const std::string& after) {
    std::string text = kState;
    const size_t at = text.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    State(text.replace(at, before.size(), after));
    return Error();
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("evenkeel-balance-" + std::to_string(base::EntropySeed()));
  BalanceOptions options_;
};

TEST_F(BalanceCommandTest, PlansFromFiles) {
  const base::Json plan = Plan();
  EXPECT_EQ(base::FindString(plan, {"phase"}), "QuickBalancing");
  EXPECT_EQ(base::FindArray(plan, {"actions"}).size(), 2u);
  EXPECT_EQ(base::FindString(plan.at("actions").at(0), {"action"}), "MoveInstance");
}

TEST_F(BalanceCommandTest, EverySyntaxOfTheManifestCounts) {
  for (const Syntax& syntax : InEverySyntax("MetricActivityThresholds", "Memory", "40")) {
    options_.manifest = File(syntax.file, syntax.text);
    EXPECT_EQ(base::FindString(Plan(), {"phase"}), "NoActionNeeded") << syntax.file;
  }
}

TEST_F(BalanceCommandTest, OverridesOfNodeTypesInJsonCount) {
  options_.manifest = File("ClusterConfig.json", R"({"fabricSettings": [{"name": "PlacementAndLoadBalancing", "parameters": [
    {"name": "SeparateBalancingStrategyPerNodeType", "value": "true"}, {"name": "SubclusteringEnabled", "value": "true"}]}],
  "nodeTypes": [{"name": "A", "placementAndLoadBalancingOverrides": {
    "metricActivityThresholdsPerNodeType": [{"name": "Memory", "value": "40"}]}}]})");
  EXPECT_EQ(base::FindString(Plan(), {"phase"}), "NoActionNeeded");
  State(std::string(kState) + "- {name: web/4, service: web, replicas: [{node: n0}]}\n");
  const base::Json plan = Plan();
  EXPECT_EQ(base::FindString(plan, {"phase"}), "QuickBalancing");
  EXPECT_EQ(base::FindString(plan.at("imbalanced").at(0), {"nodeType"}), "A");
  EXPECT_EQ(base::FindInt(plan.at("imbalanced").at(0), {"activityThreshold"}), 40);
}

// The two pieces of the documentation that are not well-formed.
TEST_F(BalanceCommandTest, SamplesThatAreNotWellFormedLoadWithAWarning) {
  options_.manifest = File("ClusterManifest.xml", R"(<NodeTypes>
    <NodeType Name="A">
        <PlacementAndLoadBalancingOverrides>
            <MetricBalancingThresholdsPerNodeType>
                <BalancingThreshold Name="Memory" Value="2.5">
            </MetricBalancingThresholdsPerNodeType>
        </PlacementAndLoadBalancingOverrides>
    </NodeType>
</NodeTypes>)");
  ::testing::internal::CaptureStderr();
  Plan();
  const std::string xml = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(xml.starts_with("evenkeel: warning: " + options_.manifest + ":5:17: ")) << xml;
  options_.manifest = File("ClusterConfig.json", R"("fabricSettings": [
  {
    "name": "PlacementAndLoadBalancing",
    "parameters": [
      {
          "name": "SubclusteringReportingPolicy",
          "value": "1"
      },
    ]
  }
])");
  ::testing::internal::CaptureStderr();
  Plan();
  const std::string json = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(json.find("evenkeel: warning: " + options_.manifest + ":8:8: "), std::string::npos) << json;
}

TEST_F(BalanceCommandTest, AManifestThatIsMalformedIsRefused) {
  const std::string xml = ErrorOfManifest("ClusterManifest.xml", "<FabricSettings>\n<Section Name=\"S\">\n</FabricSettings>");
  EXPECT_TRUE(xml.starts_with("ClusterManifest.xml:3:")) << xml;
  for (const std::string name : {"ClusterConfig.json", "Template.json"}) {
    const std::string json = ErrorOfManifest(name, "{\"fabricSettings\": [\n{\"name\": \"S\" \"parameters\": []}]}");
    EXPECT_TRUE(json.starts_with(name + ":2:")) << json;
  }
}

TEST_F(BalanceCommandTest, AThresholdBelow1IsRefusedInEverySyntax) {
  for (const Syntax& syntax : InEverySyntax("MetricBalancingThresholds", "Memory", "0.5")) {
    const std::string error = ErrorOfManifest(syntax.file, syntax.text);
    EXPECT_TRUE(error.starts_with(syntax.file + syntax.where)) << error;
    EXPECT_TRUE(error.contains("MetricBalancingThresholds/Memory")) << error;
  }
  const std::string xml =
      ErrorOfManifest("ClusterManifest.xml", R"(<NodeTypes><NodeType Name="A"><PlacementAndLoadBalancingOverrides>
<MetricBalancingThresholdsPerNodeType><BalancingThreshold Name="Memory" Value="0.9"/></MetricBalancingThresholdsPerNodeType>
</PlacementAndLoadBalancingOverrides></NodeType></NodeTypes>)");
  EXPECT_TRUE(xml.starts_with("ClusterManifest.xml:2:")) << xml;
  const std::string json =
      ErrorOfManifest("ClusterConfig.json", R"({"nodeTypes": [{"name": "A", "placementAndLoadBalancingOverrides": {
"metricBalancingThresholdsPerNodeType": [{"name": "Memory", "value": "0.9"}]}}]})");
  EXPECT_TRUE(json.starts_with("ClusterConfig.json:2:")) << json;
}

TEST_F(BalanceCommandTest, AMetricThatNobodyReportsIsNotRefusedInAnySyntax) {
  for (const Syntax& syntax : InEverySyntax("MetricBalancingThresholds", "Memroy", "2")) {
    EXPECT_EQ(ErrorOfManifest(syntax.file, syntax.text), "no error") << syntax.file;
  }
}

TEST_F(BalanceCommandTest, ANegativeLoadIsRefused) {
  const std::string error = ErrorOfState("{node: n0}", "{node: n0, loads: {Memory: -1}}");
  EXPECT_TRUE(error.starts_with("state.yaml:7: partition \"web/0\": replicas[0].loads.Memory: ")) << error;
  EXPECT_TRUE(error.contains("-1")) << error;
}

TEST_F(BalanceCommandTest, APartitionWithTwoPrimariesIsRefused) {
  const std::string state = R"(nodes: [{name: n0}, {name: n1}]
services: [{name: db, kind: stateful}]
partitions:
- name: db/0
  service: db
  replicas:
  - {node: n0, role: primary}
  - {node: n1, role: primary}
)";
  State(state);
  const std::string error = Error();
  EXPECT_TRUE(error.starts_with("state.yaml:8: partition \"db/0\": replicas[1].role: ")) << error;
}

TEST_F(BalanceCommandTest, AReplicaOnAnUnknownNodeIsRefused) {
  const std::string error = ErrorOfState("replicas: [{node: n0}]", "replicas: [{node: n7}]");
  EXPECT_TRUE(error.starts_with("state.yaml:7: partition \"web/0\": replicas[0].node: ")) << error;
  EXPECT_TRUE(error.contains("n7")) << error;
}

TEST_F(BalanceCommandTest, AConstraintThatDoesNotParseIsRefused) {
  const std::string error = ErrorOfState("load: 10}]", "load: 10}], placementConstraints: \"(ssd == 1\"");
  EXPECT_TRUE(error.starts_with("state.yaml:5: service \"web\": placementConstraints: ")) << error;
}

TEST_F(BalanceCommandTest, FilesThatAreMissingAreNamed) {
  options_.manifest = (folder_ / "absent.xml").string();
  EXPECT_TRUE(Error().contains("absent.xml")) << Error();
  options_.manifest.clear();
  options_.files = {(folder_ / "absent.yaml").string()};
  EXPECT_TRUE(Error().contains("absent.yaml")) << Error();
  options_.files.clear();
  options_.manifest = File("m.json", R"({"name": "c", "properties": {"fabricSettings": []}})");
  EXPECT_TRUE(Error().contains("-f FILE is required")) << Error();
}

TEST_F(BalanceCommandTest, OfALiveMemberNeitherMemoryNorSearchAreGiven) {
  options_.files.clear();
  options_.seed = 2;
  EXPECT_TRUE(Error().contains("--memory, --seed and --evaluations go with -f")) << Error();
  options_.seed.reset();
  options_.memory = "memory.json";
  EXPECT_TRUE(Error().contains("--memory, --seed and --evaluations go with -f")) << Error();
}

TEST_F(BalanceCommandTest, TheMemoryIsWrittenAndReadByTheNextCall) {
  options_.memory = (folder_ / "memory.json").string();
  EXPECT_EQ(base::FindArray(Plan(), {"actions"}).size(), 2u);
  options_.now = 10;
  const base::Json next = Plan();
  EXPECT_EQ(base::FindString(next, {"phase"}), "NoActionNeeded") << "nothing is said to have changed";
  State(std::string(kState) + "history: {lastLoadChange: 11}\n");
  options_.now = 20;
  EXPECT_EQ(base::FindString(Plan(), {"phase"}), "QuickBalancing");
  File("memory.json", "{\"groups\": 1}");
  EXPECT_TRUE(Error().starts_with("memory.json: planner memory: ")) << Error();
}

TEST_F(BalanceCommandTest, TheSeedIsThatOfTheSettingsUnlessGiven) {
  options_.manifest =
      File("m.xml", R"(<Section Name="PlacementAndLoadBalancing"><Parameter Name="InitialRandomSeed" Value="7"/></Section>)");
  EXPECT_EQ(ReadBalanceInput(options_)->options.seed, 7u);
  options_.seed = 9;
  EXPECT_EQ(ReadBalanceInput(options_)->options.seed, 9u);
}

TEST_F(BalanceCommandTest, TablesSayTheSame) {
  options_.output = "table";
  std::ostringstream out;
  ASSERT_TRUE(PlanBalance(options_, out));
  EXPECT_TRUE(out.str().starts_with("QuickBalancing: 2 actions, deviation 1 -> 0\n")) << out.str();
  EXPECT_TRUE(out.str().contains("MoveInstance")) << out.str();
  EXPECT_TRUE(out.str().contains("40 on n0")) << out.str();
  std::ostringstream loads;
  ASSERT_TRUE(GetLoads(options_, loads));
  EXPECT_TRUE(loads.str().contains("METRIC")) << loads.str();
  EXPECT_TRUE(loads.str().contains("no -> yes")) << loads.str();
  std::ostringstream service;
  ASSERT_TRUE(ExplainService(options_, "web", service));
  EXPECT_TRUE(service.str().starts_with("service web (stateless), balanced together with no other\n")) << service.str();
}

TEST_F(BalanceCommandTest, LoadsAndExplanationsAreValuesForPrograms) {
  std::ostringstream loads;
  options_.get.output = "json";
  ASSERT_TRUE(GetLoads(options_, loads));
  const auto read = base::ParseJson(loads.str(), "loads");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(base::FindString(read->at("LoadMetricInformation").at(0), {"LoadMetricName"}), "Memory");
  options_.output = "yaml";
  std::ostringstream service;
  ASSERT_TRUE(ExplainService(options_, "web", service));
  EXPECT_TRUE(base::ParseYamlDocument(service.str(), "service").has_value());
  EXPECT_FALSE(ExplainService(options_, "wen", service));
}

TEST_F(BalanceCommandTest, FlagsAreRead) {
  CLI::App app;
  BalanceOptions parsed;
  AddBalanceFlags(app, parsed);
  app.parse("--manifest m.xml -f a.yaml -f b.yaml --now 12.5 --seed 3 --evaluations 1000");
  EXPECT_EQ(parsed.manifest, "m.xml");
  EXPECT_EQ(parsed.files, (std::vector<std::string>{"a.yaml", "b.yaml"}));
  EXPECT_EQ(parsed.now, 12.5);
  EXPECT_EQ(parsed.seed, 3u);
  EXPECT_EQ(parsed.evaluations, 1000);
}

}  // namespace
}  // namespace evenkeel::cli::balance_test
