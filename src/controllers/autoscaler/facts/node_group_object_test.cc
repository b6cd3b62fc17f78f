#include "controllers/autoscaler/facts/node_group_object.h"

#include <gtest/gtest.h>

#include "base/input/yaml.h"

namespace evenkeel::controllers::autoscaler::node_group_object_test {
namespace {

using providers::Instance;
using namespace std::chrono_literals;

kube::ManifestObject Group(std::string_view name, std::string_view spec) {
  const std::string text = "{apiVersion: evenkeel.dev/v1alpha1, kind: NodeGroup, metadata: {name: " + std::string(name) +
                           "}, spec: " + std::string(spec) + "}";
  return {*base::ParseYamlDocument(text, "test"), "groups.yaml:7"};
}

base::Json Node(std::string_view name, std::string_view labels, std::string_view id = "") {
  return *base::ParseYamlDocument("{kind: Node, metadata: {name: " + std::string(name) + ", labels: {" + std::string(labels) +
                                      "}}, spec: {providerID: \"" + std::string(id) + "\"}}",
                                  "test");
}

std::string Error(std::string_view spec) {
  const auto group = DecodeNodeGroup(Group("general", spec));
  return group ? "" : group.error().message();
}

TEST(NodeGroupObjectTest, ReadsEveryField) {
  const auto group = DecodeNodeGroup(Group("general", R"({minSize: 1, maxSize: 10, targetSize: 3, pricePerHour: 0.192,
    template: {metadata: {labels: {pool: general}}, spec: {taints: [{key: a, effect: NoSchedule}]},
               status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}},
    instances: [{id: "embedded://general/n7", state: Creating, errorClass: OutOfResources, errorCode: QUOTA, errorMessage: none}],
    options: {scaleDownUtilizationThreshold: 0.7, scaleDownUnneededTime: 2m, maxNodeProvisionTime: 1h, zeroOrMaxNodeScaling: true,
              ignoreDaemonSetsUtilization: true}})"));
  ASSERT_TRUE(group.has_value()) << group.error().message();
  EXPECT_EQ(group->min_size, 1);
  EXPECT_EQ(group->max_size, 10);
  EXPECT_EQ(group->target_size, 3);
  EXPECT_EQ(group->price_per_hour, 0.192);
  ASSERT_TRUE(group->template_node.has_value());
  EXPECT_EQ(base::FindString(*group->template_node, {"status", "capacity", "memory"}), "16Gi") << "capacity: as allocatable";
  ASSERT_EQ(group->instances.size(), 1u);
  EXPECT_EQ(group->instances[0].state, Instance::State::kCreating);
  EXPECT_EQ(group->instances[0].error->code, "QUOTA");
  EXPECT_EQ(group->instances[0].error->error_class, Instance::ErrorClass::kOutOfResources);
  EXPECT_EQ(group->options.scale_down_utilization_threshold, 0.7);
  EXPECT_EQ(group->options.scale_down_unneeded_time, 2min);
  EXPECT_EQ(group->options.max_node_provision_time, 1h);
  EXPECT_EQ(group->options.zero_or_max_node_scaling, true);
  EXPECT_EQ(group->options.ignore_daemonsets_utilization, true);
  EXPECT_FALSE(group->options.max_node_startup_time.has_value());
}

TEST(NodeGroupObjectTest, InstancesOfALiveCloudAreInTheStatus) {
  kube::ManifestObject object = Group("general", "{maxSize: 1}");
  base::Ensure(object.object, {"status", "instances"}) =
      base::JsonArray{base::JsonObject{{"id", "p://a"}, {"node", "a"}, {"state", "Deleting"}}};
  auto group = DecodeNodeGroup(object);
  ASSERT_TRUE(group.has_value()) << group.error().message();
  ASSERT_EQ(group->instances.size(), 1u);
  EXPECT_EQ(group->instances[0].state, Instance::State::kDeleting);
  base::Ensure(object.object, {"spec", "instances"}) = base::JsonArray{};
  EXPECT_TRUE(DecodeNodeGroup(object)->instances.empty()) << "the spec takes its place";
  base::Erase(object.object, {"spec", "instances"});
  base::Ensure(object.object, {"status", "instances"}) = base::JsonArray{base::JsonObject{}};
  EXPECT_EQ(DecodeNodeGroup(object).error().message(), "groups.yaml:7: NodeGroup general: status.instances[0].id: missing");
}

TEST(NodeGroupObjectTest, ErrorsNameFileObjectAndField) {
  EXPECT_EQ(Error("{minSize: 3, maxSize: 2}"), "groups.yaml:7: NodeGroup general: spec.maxSize: 2 is less than spec.minSize 3");
  EXPECT_EQ(Error("{}"), "groups.yaml:7: NodeGroup general: spec.maxSize: missing");
  EXPECT_EQ(Error("{maxSize: -1}"), "groups.yaml:7: NodeGroup general: spec.maxSize: not a whole number from 0 to 1000000");
  EXPECT_EQ(Error("{maxSize: 1, template: {status: {}}}"),
            "groups.yaml:7: NodeGroup general: spec.template.status.allocatable: missing: it says how much fits on a new node");
  EXPECT_TRUE(Error("{maxSize: 1, template: {status: {allocatable: {cpu: 4x}}}}")
                  .starts_with("groups.yaml:7: NodeGroup general: spec.template.status.allocatable.cpu: "));
  const std::vector<std::pair<const char*, const char*>> fields = {
      {"{maxSize: 1, pricePerHour: cheap}", "spec.pricePerHour"},
      {"{maxSize: 1, targetSize: 1.5}", "spec.targetSize"},
      {"{maxSize: 1, template: 3}", "spec.template"},
      {"{maxSize: 1, template: {spec: {taints: [{key: a}]}, status: {allocatable: {cpu: 1}}}}",
       "spec.template.spec.taints[0].effect"},
      {"{maxSize: 1, template: {metadata: {labels: {a: 1}}, status: {allocatable: {cpu: 1}}}}",
       "spec.template.metadata.labels.a"},
      {"{maxSize: 1, instances: [{state: Running}]}", "spec.instances[0].id"},
      {"{maxSize: 1, instances: [{id: a}, {id: a}]}", "spec.instances[1].id"},
      {"{maxSize: 1, instances: [{id: a, state: Asleep}]}", "spec.instances[0].state"},
      {"{maxSize: 1, instances: [{id: a, errorClass: Bad}]}", "spec.instances[0].errorClass"},
      {"{maxSize: 1, options: {scaleDownUnneededTime: soon}}", "spec.options.scaleDownUnneededTime"},
      {"{maxSize: 1, options: {scaleDownUtilizationThreshold: 2}}", "spec.options.scaleDownUtilizationThreshold"},
      {"{maxSize: 1, options: {zeroOrMaxNodeScaling: maybe}}", "spec.options.zeroOrMaxNodeScaling"},
      {"{maxSize: 1, selector: {matchExpressions: [{key: a, operator: Near}]}}", "spec.selector"},
  };
  for (const auto& [spec, field] : fields) {
    EXPECT_TRUE(Error(spec).starts_with("groups.yaml:7: NodeGroup general: " + std::string(field) + ": ")) << Error(spec);
    EXPECT_EQ(Error(spec).find('\n'), std::string::npos);
  }
}

TEST(NodeGroupObjectTest, NodesBelongToTheGroupThatSelectsThem) {
  const std::vector<kube::ManifestObject> objects = {
      Group("spot", "{maxSize: 5, selector: {matchLabels: {pool: spot}}}"),
      Group("general", R"({maxSize: 9, instances: [{id: "p://b", state: Deleting}]})")};
  const std::vector<base::Json> nodes = {Node("a", "evenkeel.dev/node-group: general", "p://a"),
                                         Node("b", "evenkeel.dev/node-group: general", "p://b"), Node("c", "pool: spot"),
                                         Node("d", "evenkeel.dev/gpu: t4")};
  const auto groups = DecodeNodeGroups(objects, nodes);
  ASSERT_TRUE(groups.has_value()) << groups.error().message();
  ASSERT_EQ(groups->groups.size(), 2u);
  EXPECT_EQ(groups->groups[0].id, "general") << "by id";
  EXPECT_EQ(groups->groups[0].target_size, 2) << "as many as match";
  EXPECT_EQ(groups->Find("spot")->target_size, 1);
  EXPECT_EQ(groups->group_of_node, (decltype(groups->group_of_node){{"a", "general"}, {"b", "general"}, {"c", "spot"}}));
  ASSERT_EQ(groups->groups[0].instances.size(), 2u);
  EXPECT_EQ(groups->groups[0].instances[0].state, Instance::State::kRunning);
  EXPECT_EQ(groups->groups[0].instances[1].state, Instance::State::kDeleting) << "what the object says about b";
  EXPECT_TRUE(groups->Find("spot")->instances.empty()) << "node c has no provider id";
  EXPECT_EQ(groups->gpu_types, std::vector<std::string>{"t4"});
}

TEST(NodeGroupObjectTest, ANodeHasOneGroupAndANameOneObject) {
  const std::vector<base::Json> nodes = {Node("n1", "evenkeel.dev/node-group: a, pool: x")};
  const std::vector<kube::ManifestObject> two = {Group("a", "{maxSize: 5}"),
                                                 Group("b", "{maxSize: 5, selector: {matchLabels: {pool: x}}}")};
  EXPECT_EQ(DecodeNodeGroups(two, nodes).error().message(),
            "groups.yaml:7: NodeGroup b: spec.selector: selects node n1, which is in NodeGroup a already");
  const std::vector<kube::ManifestObject> same = {Group("a", "{maxSize: 5}"), Group("a", "{maxSize: 6}")};
  EXPECT_EQ(DecodeNodeGroups(same, {}).error().message(),
            "groups.yaml:7: NodeGroup a: metadata.name: there is another NodeGroup of that name");
}

}  // namespace
}  // namespace evenkeel::controllers::autoscaler::node_group_object_test
