#include "balancing/input/manifest.h"

#include <gtest/gtest.h>

namespace evenkeel::balancing::manifest_test {
namespace {

Manifest Read(std::string_view text) {
  auto manifest = ReadManifest(text, "m");
  EXPECT_TRUE(manifest.has_value()) << (manifest ? "" : manifest.error().message());
  return manifest ? *std::move(manifest) : Manifest();
}

std::string ErrorOf(std::string_view text) {
  const auto manifest = ReadManifest(text, "m");
  return manifest ? "" : manifest.error().message();
}

using Texts = std::vector<std::string>;

constexpr std::string_view kTimersXml = R"(        <Section Name="PlacementAndLoadBalancing">
            <Parameter Name="PLBRefreshGap" Value="0.1" />
            <Parameter Name="MinPlacementInterval" Value="1.0" />
            <Parameter Name="MinConstraintCheckInterval" Value="1.0" />
            <Parameter Name="MinLoadBalancingInterval" Value="5.0" />
        </Section>
)";

constexpr std::string_view kTimersJson = R"("fabricSettings": [
  {
    "name": "PlacementAndLoadBalancing",
    "parameters": [
      {
          "name": "PLBRefreshGap",
          "value": "0.10"
      },
      {
          "name": "MinPlacementInterval",
          "value": "1.0"
      },
      {
          "name": "MinConstraintCheckInterval",
          "value": "1.0"
      },
      {
          "name": "MinLoadBalancingInterval",
          "value": "5.0"
      }
    ]
  }
]
)";

std::vector<GivenParameter> Given(const Manifest& manifest) {
  std::vector<GivenParameter> all;
  for (const GivenSection& section : manifest.given) std::ranges::copy(section.parameters, std::back_inserter(all));
  return all;
}

std::string Place(const GivenParameter& given) { return std::to_string(given.at.line) + ":" + std::to_string(given.at.column); }

TEST(ManifestTest, TimersOfTheDocumentLoadInBothSyntaxes) {
  for (const std::string_view text : {kTimersXml, kTimersJson}) {
    const Manifest manifest = Read(text);
    EXPECT_EQ(manifest.warnings, Texts());
    EXPECT_EQ(manifest.settings.plb_refresh_gap, 0.1);
    EXPECT_EQ(manifest.settings.min_load_balancing_interval, 5.0);
    EXPECT_EQ(Given(manifest).size(), 4u);
  }
  EXPECT_EQ(Place(Given(Read(kTimersXml))[1]), "3:13");
  EXPECT_EQ(Place(Given(Read(kTimersJson))[1]), "9:7");
}

TEST(ManifestTest, NodesAreReadWhereAManifestListsThem) {
  const std::vector<NodeDescription> expected = {{"n0", "Front", "fd:/dc0/r0", "UD0"}, {"n1", "Data", "", ""}};
  const std::string xml = R"(<ClusterManifest Name="c"><NodeTypes><NodeType Name="Front"/></NodeTypes><Infrastructure>
<WindowsServer IsScaleMin="false"><NodeList>
<Node NodeName="n0" IPAddressOrFQDN="a" IsSeedNode="true" NodeTypeRef="Front" FaultDomain="fd:/dc0/r0" UpgradeDomain="UD0"/>
<Node NodeName="n1" IPAddressOrFQDN="b" NodeTypeRef="Data"/>
</NodeList></WindowsServer></Infrastructure></ClusterManifest>)";
  const std::string json = R"({"name": "c", "nodes": [
{"nodeName": "n0", "iPAddress": "a", "nodeTypeRef": "Front", "faultDomain": "fd:/dc0/r0", "upgradeDomain": "UD0"},
{"nodeName": "n1", "iPAddress": "b", "nodeTypeRef": "Data"}]})";
  for (const std::string& text : {xml, json}) {
    const Manifest manifest = Read(text);
    EXPECT_EQ(manifest.nodes, expected);
    EXPECT_EQ(manifest.warnings, Texts());
  }
  EXPECT_EQ(Read(R"({"nodes": [{"nodeName": "n0"}, {"nodeName": "n0"}, {"other": [{"nodeName": "n1"}]}]})").nodes.size(), 1u);
  EXPECT_EQ(ErrorOf(R"({"nodes": [{"nodeName": "n0"}, {"nodeName": "n0", "nodeTypeRef": "A"}]})"),
            "m:1:32: node n0 is given again, with another type or other domains");
  EXPECT_EQ(ErrorOf("<NodeList><Node NodeName=\"\"/></NodeList>"), "m:1:11: a node has no name");
  EXPECT_EQ(ErrorOf("<NodeList><Node/></NodeList>"), "m:1:11: <Node> has no attribute NodeName");
}

TEST(ManifestTest, NodesAreMadeOfTheNumbersOfNodeTypesWhereNoneIsListed) {
  const std::vector<NodeDescription> expected = {{"_back_0", "back", "fd:/0", "0"},   {"_front_0", "front", "fd:/0", "0"},
                                                 {"_front_1", "front", "fd:/1", "1"}, {"_front_2", "front", "fd:/2", "2"},
                                                 {"_front_3", "front", "fd:/3", "3"}, {"_front_4", "front", "fd:/4", "4"},
                                                 {"_front_5", "front", "fd:/0", "0"}};
  const std::string xml = R"(<ClusterManifest Name="c"><Infrastructure><PaaS><Roles>
<Role RoleName="front" NodeTypeRef="front" RoleNodeCount="6"/><Role RoleName="back" NodeTypeRef="back" RoleNodeCount="1"/>
<Role RoleName="other" NodeTypeRef="other"/></Roles></PaaS></Infrastructure></ClusterManifest>)";
  const std::string json = R"({"resources": [{"type": "Microsoft.ServiceFabric/clusters", "properties": {"nodeTypes": [
{"name": "front", "vmInstanceCount": 6, "capacities": {"M": "5"}}, {"name": "back", "vmInstanceCount": "1"},
{"name": "none", "vmInstanceCount": 0}, {"name": "unsaid", "vmInstanceCount": null}]}}]})";
  for (const std::string& text : {xml, json}) {
    const Manifest manifest = Read(text);
    EXPECT_EQ(manifest.nodes, expected);
    EXPECT_EQ(manifest.warnings, Texts());
  }
  const Manifest listed = Read(R"({"nodeTypes": [{"name": "A", "vmInstanceCount": 3}], "nodes": [{"nodeName": "n0"}]})");
  EXPECT_EQ(listed.nodes.size(), 1u) << "what is listed wins";
  const auto of = [](const std::string& members) { return "{\"nodeTypes\": [{" + members + "}]}"; };
  const Manifest unknown = Read(of(R"("name": "A", "vmInstanceCount": "[parameters('count')]")"));
  EXPECT_TRUE(unknown.nodes.empty());
  ASSERT_EQ(unknown.warnings.size(), 1u);
  EXPECT_NE(unknown.warnings[0].find("node type A: vmInstanceCount: expressions of a template are not evaluated"),
            std::string::npos);
  EXPECT_EQ(Read(of(R"("name": "[variables('type')]", "vmInstanceCount": 5)")).nodes.size(), 0u);
  EXPECT_EQ(ErrorOf(of(R"("name": "A", "vmInstanceCount": -1)")),
            "m:1:49: node type A: number of nodes: \"-1\": must be at least 0");
  EXPECT_EQ(ErrorOf(of(R"("name": "A", "vmInstanceCount": 10001)")),
            "m:1:49: node type A: number of nodes: \"10001\": must be at most 10000");
  EXPECT_EQ(ErrorOf(of(R"("name": "A", "vmInstanceCount": 1.5)")),
            "m:1:49: node type A: number of nodes: \"1.5\": not a whole number");
  std::string many = "<NodeTypes>";
  for (int i = 0; i < 11; ++i) many += fmt::format("<Role NodeTypeRef=\"t{}\" RoleNodeCount=\"10000\"/>", i);
  EXPECT_NE(ErrorOf(many + "</NodeTypes>").find("node type t10: number of nodes: all types together have more than 100000"),
            std::string::npos);
}

TEST(ManifestTest, ThresholdsOfTheDocumentLoadInBothSyntaxes) {
  const Manifest xml = Read(R"(    <Section Name="MetricBalancingThresholds">
      <Parameter Name="MetricName1" Value="2"/>
      <Parameter Name="MetricName2" Value="3.5"/>
    </Section>)");
  const Manifest json = Read(R"("fabricSettings": [
  {
    "name": "MetricBalancingThresholds",
    "parameters": [
      {
          "name": "MetricName1",
          "value": "2"
      },
      {
          "name": "MetricName2",
          "value": "3.5"
      }
    ]
  }
])");
  const Group<double> expected = {{"MetricName1", 2}, {"MetricName2", 3.5}};
  EXPECT_EQ(xml.settings.metric_balancing_thresholds, expected);
  EXPECT_EQ(json.settings.metric_balancing_thresholds, expected);
  EXPECT_EQ(Read(R"(<Section Name="MetricActivityThresholds">
      <Parameter Name="Memory" Value="1536"/>
    </Section>)")
                .settings.metric_activity_thresholds,
            (Group<int64_t>{{"Memory", 1536}}));
  EXPECT_EQ(Read(R"("fabricSettings": [
  {
    "name": "MetricActivityThresholds",
    "parameters": [
      {
          "name": "Memory",
          "value": "1536"
      }
    ]
  }
])")
                .settings.metric_activity_thresholds,
            (Group<int64_t>{{"Memory", 1536}}));
}

TEST(ManifestTest, SwitchesOfTheDocumentLoadWithAWarningOfTheTrailingComma) {
  const Manifest xml = Read(R"(<Section Name="PlacementAndLoadBalancing">
    <Parameter Name="SeparateBalancingStrategyPerNodeType" Value="true" />
    <Parameter Name="SubclusteringEnabled" Value="true" />
    <Parameter Name="SubclusteringReportingPolicy" Value="1" />
</Section>)");
  const Manifest json = Read(R"("fabricSettings": [
  {
    "name": "PlacementAndLoadBalancing",
    "parameters": [
      {
          "name": "SeparateBalancingStrategyPerNodeType",
          "value": "true"
      },
      {
          "name": "SubclusteringEnabled",
          "value": "true"
      },
      {
          "name": "SubclusteringReportingPolicy",
          "value": "1"
      },
    ]
  }
])");
  const std::string no_effect =
      "PlacementAndLoadBalancing/SubclusteringReportingPolicy: has no effect: there are no health reports";
  EXPECT_EQ(xml.warnings, Texts{"m:4:5: " + no_effect});
  EXPECT_EQ(json.warnings, (Texts{"m:13:7: " + no_effect, "m:16:8: a comma before ] is left out"}));
  for (const Manifest* manifest : {&xml, &json}) {
    EXPECT_TRUE(manifest->settings.separate_balancing_strategy_per_node_type);
    EXPECT_TRUE(manifest->settings.subclustering_enabled);
  }
}

TEST(ManifestTest, OverridesOfTheDocumentLoadWithWarningsOfTheUnclosedTags) {
  const Manifest thresholds = Read(R"(<NodeTypes>
    <NodeType Name="NodeType1">
        <PlacementAndLoadBalancingOverrides>
            <MetricBalancingThresholdsPerNodeType>
                <BalancingThreshold Name="Metric1" Value="2.5">
                <BalancingThreshold Name="Metric2" Value="4">
                <BalancingThreshold Name="Metric3" Value="3.25">
            </MetricBalancingThresholdsPerNodeType>
        </PlacementAndLoadBalancingOverrides>
    </NodeType>
</NodeTypes>
)");
  EXPECT_EQ(thresholds.settings.node_types.at("NodeType1").balancing_thresholds,
            (Group<double>{{"Metric1", 2.5}, {"Metric2", 4}, {"Metric3", 3.25}}));
  EXPECT_EQ(thresholds.warnings, (Texts{"m:5:17: <BalancingThreshold> is never closed; read as <BalancingThreshold .../>",
                                        "m:6:17: <BalancingThreshold> is never closed; read as <BalancingThreshold .../>",
                                        "m:7:17: <BalancingThreshold> is never closed; read as <BalancingThreshold .../>"}));
  EXPECT_EQ(Place(Given(thresholds)[2]), "7:17");
  const Manifest activity = Read(R"(<NodeTypes>
    <NodeType Name="NodeType1">
        <PlacementAndLoadBalancingOverrides>
            <MetricActivityThresholdsPerNodeType>
                <ActivityThreshold Name="Metric1" Value="500">
                <ActivityThreshold Name="Metric2" Value="40">
                <ActivityThreshold Name="Metric3" Value="1000">
            </MetricActivityThresholdsPerNodeType>
        </PlacementAndLoadBalancingOverrides>
    </NodeType>
</NodeTypes>
)");
  EXPECT_EQ(activity.settings.node_types.at("NodeType1").activity_thresholds,
            (Group<int64_t>{{"Metric1", 500}, {"Metric2", 40}, {"Metric3", 1000}}));
  EXPECT_EQ(activity.warnings.size(), 3u);
  const Manifest interval = Read(R"(<NodeTypes>
    <NodeType Name="NodeType1">
        <PlacementAndLoadBalancingOverrides>
            <MinLoadBalancingIntervalPerNodeType>100</MinLoadBalancingIntervalPerNodeType>
        </PlacementAndLoadBalancingOverrides>
    </NodeType>
</NodeTypes>)");
  EXPECT_EQ(interval.settings.node_types.at("NodeType1").min_load_balancing_interval, 100);
  EXPECT_EQ(interval.warnings, Texts{});
}

TEST(ManifestTest, WellFormedOverridesLoadWithoutWarnings) {
  const Manifest manifest = Read(R"(<NodeType Name="T"><PlacementAndLoadBalancingOverrides>
<MetricBalancingThresholdsPerNodeType><BalancingThreshold Name="A" Value="2"/>
<BalancingThreshold Name="B" Value="3"> </BalancingThreshold><!-- <BalancingThreshold> --></MetricBalancingThresholdsPerNodeType>
</PlacementAndLoadBalancingOverrides></NodeType>)");
  EXPECT_EQ(manifest.warnings, Texts{});
  EXPECT_EQ(manifest.settings.node_types.at("T").balancing_thresholds, (Group<double>{{"A", 2}, {"B", 3}}));
}

TEST(ManifestTest, WholeClusterManifestLoadsAndTheRestOfItIsPassedOver) {
  const Manifest manifest = Read(R"(<?xml version="1.0" encoding="utf-8"?>
<!-- a cluster -->
<ClusterManifest xmlns="http://schemas.microsoft.com/2011/01/fabric" Name="C" Version="1">
  <NodeTypes>
    <NodeType Name="Web">
      <Endpoints><ClientConnectionEndpoint Port="19000"/></Endpoints>
      <PlacementProperties><Property Name="HasSSD" Value="true"/></PlacementProperties>
      <Capacities><Capacity Name="Memory" Value="1024"/></Capacities>
    </NodeType>
  </NodeTypes>
  <Infrastructure><WindowsServer><NodeList><Node NodeName="n" NodeTypeRef="Web"/></NodeList></WindowsServer></Infrastructure>
  <FabricSettings>
    <Section Name="Security"><Parameter Name="ClusterCredentialType" Value="None &amp; more"/></Section>
    <Section Name="MetricBalancingThresholds"><Parameter Name="A&amp;B" Value="2"/></Section>
  </FabricSettings>
</ClusterManifest>)");
  EXPECT_EQ(manifest.warnings, Texts{});
  ASSERT_EQ(manifest.node_types.size(), 1u);
  EXPECT_EQ(manifest.node_types[0].capacities, (Group<int64_t>{{"Memory", 1024}}));
  EXPECT_EQ(manifest.node_types[0].properties, (Group<std::string>{{"HasSSD", "true"}}));
  EXPECT_EQ(manifest.settings.metric_balancing_thresholds, (Group<double>{{"A&B", 2}}));
  ASSERT_EQ(Given(manifest).size(), 1u);
  EXPECT_EQ(Place(Given(manifest)[0]), "14:47");
}

TEST(ManifestTest, JsonSettingsAreFoundAtAnyDepthAndOverridesHaveAFormOfTheirOwn) {
  const Manifest manifest = Read(R"({"$schema": "x", "resources": [{"type": "Microsoft.ServiceFabric/clusters", "properties": {
  "fabricSettings": [{"name": "PlacementAndLoadBalancing", "parameters": [{"name": "MaxPercentageToMove", "value": 0.5},
    {"name": "SubclusteringEnabled", "value": true}]}],
  "nodeTypes": [{"name": "A", "capacities": {"Memory": "10"}, "placementAndLoadBalancingOverrides": {
    "metricBalancingThresholdsPerNodeType": [{"name": "M", "value": "2.5"}],
    "metricActivityThresholdsPerNodeType": [{"name": "M", "value": 50}],
    "minLoadBalancingIntervalPerNodeType": 100}}]}}]})");
  EXPECT_EQ(manifest.warnings, Texts{});
  EXPECT_EQ(manifest.settings.max_percentage_to_move, 0.5);
  EXPECT_TRUE(manifest.settings.subclustering_enabled);
  EXPECT_EQ(BalancingThreshold(manifest.settings, "M", "A"), 2.5);
  EXPECT_EQ(ActivityThreshold(manifest.settings, "M", "A"), 50);
  EXPECT_EQ(MinLoadBalancingInterval(manifest.settings, "A"), 100);
  EXPECT_EQ(manifest.node_types[0].capacities, (Group<int64_t>{{"Memory", 10}}));
}

TEST(ManifestTest, WrongValuesAreErrorsThatNamePlaceAndParameter) {
  EXPECT_EQ(
      ErrorOf("<Section Name=\"MetricBalancingThresholds\">\n  <Parameter Name=\"M\" Value=\"0.5\"/>\n</Section>"),
      "m:2:3: MetricBalancingThresholds/M: \"0.5\": must be at least 1, as the ratio of the largest to the smallest load is, "
      "or 0: never triggers");
  EXPECT_EQ(
      ErrorOf(R"("fabricSettings": [{"name": "MetricActivityThresholds", "parameters": [{"name": "M", "value": "-1"}]}])"),
      "m:1:72: MetricActivityThresholds/M: \"-1\": must be at least 0");
  EXPECT_EQ(ErrorOf("<NodeType Name=\"A\"><PlacementAndLoadBalancingOverrides>"
                    "<MinLoadBalancingIntervalPerNodeType>soon</MinLoadBalancingIntervalPerNodeType>"
                    "</PlacementAndLoadBalancingOverrides></NodeType>"),
            "m:1:56: node type A: MinLoadBalancingIntervalPerNodeType: \"soon\": not a whole number");
}

TEST(ManifestTest, MalformedXmlIsAnErrorWithItsPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"<Section Name=\"S\">\n<Parameter Name=\"N\" Value=\"1\">\n</Section>", "m:3:"},
      {"<Section Name=\"S\">", "m:1:"},
      {"<Section Name=\"S\"></Sektion>", "m:1:"},
      {"<Section Name=\"S\"/>\nand so on", "m:2:1: invalid XML: text outside of all elements"},
      {"<Section Name=\"a < b\"/>", "m:1:1: invalid XML: <Section> is not closed by > before the next <"},
      {"<Section Name=\"a & b\"/>", "m:1:18: invalid XML: & that begins no reference; write &amp;"},
      {"<Section Name=\"a\" Name=\"b\"/>", "m:1:1: <Section> has the attribute Name twice"},
      {"<Section Name=\"PlacementAndLoadBalancing\">\n<Parameter Name=\"PLBRefreshGap\"/></Section>",
       "m:2:1: <Parameter> has no attribute Value"},
      {"<Something/>", "m:1:1: <Something>: expected <ClusterManifest>"},
      {"<Section Name=\"S\">text</Section>", "m:1:19: unexpected text in <Section>: text"},
  };
  for (const auto& [text, error] : cases) EXPECT_TRUE(ErrorOf(text).starts_with(error)) << text << "\n" << ErrorOf(text);
}

TEST(ManifestTest, MalformedJsonIsAnErrorWithItsPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\"fabricSettings\": [\n  {\"name\": }]}", "m:2:12: invalid JSON"},
      {"\"fabricSettings\": [,]", "m:1:20: invalid JSON"},
      {"\"fabricSettings\": [1,,]", "m:1:22: invalid JSON"},
      {"\"fabricSettings\": [", "m:1:20: invalid JSON"},
      {"{} {}", "m:1:4: invalid JSON: something follows the value"},
      {"{\"fabricSettings\": {}}", "m:1:20: fabricSettings: expected a list"},
      {"{\"fabricSettings\": [{\"name\": \"S\"}]}", "m:1:21: \"parameters\" is missing"},
      {"", "m:1:1: empty"},
      {"nodes: []", "m:1:1: neither XML"},
  };
  for (const auto& [text, error] : cases) EXPECT_TRUE(ErrorOf(text).starts_with(error)) << text << "\n" << ErrorOf(text);
}

TEST(ManifestTest, WhatIsNotUtf8IsAnErrorWithItsPlace) {
  const auto manifest = ReadManifest("<Section Name=\"S\">\n<Parameter Name=\"a\xff\" Value=\"1\"/></Section>", "m");
  ASSERT_FALSE(manifest.has_value());
  EXPECT_EQ(manifest.error().message(), "m:2:19: not UTF-8");
}

TEST(ManifestTest, AHundredWarningsAreToldAndTheOthersCounted) {
  std::string text = "<Section Name=\"PlacementAndLoadBalancing\">\n";
  for (int i = 0; i < 250; ++i) text += "<Parameter Name=\"Unknown" + std::to_string(i) + "\" Value=\"1\"/>\n";
  const auto manifest = ReadManifest(text + "</Section>", "m");
  ASSERT_TRUE(manifest.has_value());
  ASSERT_EQ(manifest->warnings.size(), 101u);
  EXPECT_TRUE(manifest->warnings[99].starts_with("m:101:1: ")) << manifest->warnings[99];
  EXPECT_EQ(manifest->warnings[100], "m: 150 more warnings");
}

TEST(ManifestTest, ParameterGivenTwiceIsAnErrorOnlyWithAnotherValue) {
  const auto twice = [](const char* second) {
    return std::string("<FabricSettings><Section Name=\"MetricBalancingThresholds\"><Parameter Name=\"M\" Value=\"2\"/>") +
           "</Section>\n<Section Name=\"MetricBalancingThresholds\"><Parameter Name=\"M\" Value=\"" + second +
           "\"/></Section></FabricSettings>";
  };
  EXPECT_EQ(ErrorOf(twice("2")), "");
  EXPECT_EQ(ErrorOf(twice("3")), "m:2:43: MetricBalancingThresholds/M: given again; line 1 has another value");
}

TEST(ManifestTest, UnknownParametersAreWarningsWithTheirPlace) {
  EXPECT_EQ(
      Read("<Section Name=\"PlacementAndLoadBalancing\">\n <Parameter Name=\"SwapCosts\" Value=\"1\"/></Section>").warnings,
      Texts{"m:2:2: PlacementAndLoadBalancing/SwapCosts: there is no such parameter; it is left out; did you mean SwapCost?"});
  EXPECT_EQ(Read("{\"properties\": {}}").warnings,
            Texts{"m:1:1: neither fabricSettings nor nodeTypes: every setting has its default"});
}

Cluster ClusterWith(std::string_view metric, std::string_view node_type) {
  Cluster cluster;
  Metric reported;
  reported.name = metric;
  reported.services = 1;
  cluster.metrics = {reported};
  cluster.node_types.emplace_back(node_type);
  return cluster;
}

TEST(ManifestTest, ThresholdOfAMetricThatNobodyReportsIsAWarning) {
  const Manifest manifest =
      Read("<Section Name=\"MetricBalancingThresholds\">\n<Parameter Name=\"Memroy\" Value=\"2\"/></Section>");
  const auto warnings = CheckNames(manifest, ClusterWith("Memory", "A"));
  ASSERT_TRUE(warnings.has_value());
  EXPECT_EQ(*warnings, std::vector<std::string>{
                           "m:2:1: MetricBalancingThresholds/Memroy: no service reports this metric; did you mean Memory?"});
  EXPECT_TRUE(CheckNames(manifest, ClusterWith("Memroy", "A")).value().empty());
}

TEST(ManifestTest, ExpressionsOfTemplatesAndRepeatedKeysAreWarnings) {
  const Manifest manifest = Read(R"({"resources": [{"properties": {"fabricSettings": [
    {"name": "PlacementAndLoadBalancing", "parameters": "[parameters('settings')]"},
    {"name": "MetricActivityThresholds", "parameters": [{"name": "M", "value": "[parameters('m')]"}, {"name": "N", "value": "1", "value": "7"}]}
  ]}}]})");
  ASSERT_EQ(manifest.warnings.size(), 3u);
  EXPECT_TRUE(manifest.warnings[0].starts_with("m:2:")) << manifest.warnings[0];
  EXPECT_TRUE(manifest.warnings[0].contains("not evaluated")) << manifest.warnings[0];
  EXPECT_TRUE(manifest.warnings[1].contains("MetricActivityThresholds/M")) << manifest.warnings[1];
  EXPECT_TRUE(manifest.warnings[2].contains("the last one counts")) << manifest.warnings[2];
  EXPECT_EQ(manifest.settings.metric_activity_thresholds.find("N")->second, 7);
}

TEST(ManifestTest, FilesInUtf16AreRead) {
  const std::string_view text = "<Section Name=\"MetricActivityThresholds\"><Parameter Name=\"M\" Value=\"7\"/></Section>";
  for (const bool little : {true, false}) {
    std::string bytes = little ? "\xFF\xFE" : "\xFE\xFF";
    for (const char c : text) bytes += little ? std::string{c, '\0'} : std::string{'\0', c};
    EXPECT_EQ(Read(bytes).settings.metric_activity_thresholds.find("M")->second, 7);
    EXPECT_FALSE(ReadManifest(bytes + "x", "m").has_value()) << "half a unit";
  }
}

TEST(ManifestTest, RulesOfNodeTypesThatNothingSwitchesOnAreAWarning) {
  constexpr std::string_view kRule = R"("nodeTypes": [{"name": "A", "placementAndLoadBalancingOverrides": {
    "minLoadBalancingIntervalPerNodeType": 1}}])";
  const auto warnings = CheckNames(Read("{" + std::string(kRule) + "}"), ClusterWith("Memory", "A")).value();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].contains("SubclusteringEnabled")) << warnings[0];
  const std::string switched = R"({"fabricSettings": [{"name": "PlacementAndLoadBalancing", "parameters": [
    {"name": "SeparateBalancingStrategyPerNodeType", "value": true}, {"name": "SubclusteringEnabled", "value": true}]}], )";
  EXPECT_TRUE(CheckNames(Read(switched + std::string(kRule) + "}"), ClusterWith("Memory", "A")).value().empty());
}

TEST(ManifestTest, OtherNamesThatNobodyHasAreWarnings) {
  const Manifest manifest =
      Read(R"({"fabricSettings": [{"name": "GlobalMetricWeights", "parameters": [{"name": "X", "value": 1}]},
    {"name": "MetricActivityThresholds", "parameters": [{"name": "Count", "value": 1}]}],
    "nodeTypes": [{"name": "B", "placementAndLoadBalancingOverrides": {"minLoadBalancingIntervalPerNodeType": 1}}]})");
  const auto warnings = CheckNames(manifest, ClusterWith("Memory", "A"));
  ASSERT_TRUE(warnings.has_value());
  ASSERT_EQ(warnings->size(), 4u);
  EXPECT_EQ((*warnings)[0], "m:1:68: GlobalMetricWeights/X: no service reports this metric");
  EXPECT_TRUE((*warnings)[2].ends_with("no node has this type")) << (*warnings)[2];
}

}  // namespace
}  // namespace evenkeel::balancing::manifest_test
