#include "kube/schema/strategic_merge.h"

#include <gtest/gtest.h>

#include <map>

#include "base/input/yaml.h"

namespace evenkeel::kube::strategic_merge_test {
namespace {

using base::Json;

// Put together by hand, so that these tests do not depend on the built-in kinds.
struct FakeMergeSchema final : MergeSchema {
  const MergeSchema* Field(std::string_view name) const override {
    const auto found = fields.find(name);
    return found == fields.end() ? nullptr : found->second;
  }
  const MergeSchema* Item() const override { return item; }
  bool merges() const override { return merged; }
  std::string_view merge_key() const override { return key; }

  std::map<std::string_view, const MergeSchema*> fields;
  const MergeSchema* item = nullptr;
  bool merged = false;
  std::string_view key;
};

FakeMergeSchema MergedBy(std::string_view key, const MergeSchema* item = nullptr) {
  FakeMergeSchema schema;
  schema.merged = true;
  schema.key = key;
  schema.item = item;
  return schema;
}

FakeMergeSchema ObjectOf(std::map<std::string_view, const MergeSchema*> fields) {
  FakeMergeSchema schema;
  schema.fields = std::move(fields);
  return schema;
}

const MergeSchema& PodSchema() {
  static const FakeMergeSchema by_name = MergedBy("name");
  static const FakeMergeSchema by_port = MergedBy("containerPort");
  static const FakeMergeSchema by_type = MergedBy("type");
  static const FakeMergeSchema by_key = MergedBy("key");
  static const FakeMergeSchema primitives = MergedBy("");
  static const FakeMergeSchema atomic;
  static const FakeMergeSchema container = ObjectOf({{"env", &by_name}, {"ports", &by_port}, {"args", &atomic}});
  static const FakeMergeSchema containers = MergedBy("name", &container);
  static const FakeMergeSchema spec = ObjectOf({{"containers", &containers}, {"volumes", &by_name}, {"taints", &by_key}});
  static const FakeMergeSchema metadata = ObjectOf({{"finalizers", &primitives}});
  static const FakeMergeSchema status = ObjectOf({{"conditions", &by_type}});
  static const FakeMergeSchema pod = ObjectOf({{"spec", &spec}, {"metadata", &metadata}, {"status", &status}});
  return pod;
}

Json Read(std::string_view yaml) {
  auto value = base::ParseYamlDocument(yaml, "test");
  EXPECT_TRUE(value) << yaml << (value ? "" : value.error().message());
  return value ? *std::move(value) : Json();
}

void ExpectPatched(std::string_view target, std::string_view patch, std::string_view result) {
  Json value = Read(target);
  const base::Status applied = ApplyStrategicMergePatch(value, Read(patch), &PodSchema());
  ASSERT_TRUE(applied) << patch << ": " << applied.error().message();
  EXPECT_EQ(base::CanonicalText(value), base::CanonicalText(Read(result))) << patch;
}

TEST(StrategicMergeTest, LabelsAndAnnotationsMergeAndNullRemoves) {
  ExpectPatched("{metadata: {labels: {a: x, b: y}, name: p}}", "{metadata: {labels: {a: null, c: z, absent: null}}}",
                "{metadata: {labels: {b: y, c: z}, name: p}}");
  ExpectPatched("{metadata: {name: p}}", "{metadata: {annotations: {k: v, gone: null}}}",
                "{metadata: {name: p, annotations: {k: v}}}");
}

TEST(StrategicMergeTest, SetImageChangesOneContainer) {
  ExpectPatched("{spec: {containers: [{name: web, image: nginx:1, args: [a]}, {name: log, image: l:1}]}}",
                "{spec: {$setElementOrder/containers: [{name: web}, {name: log}], containers: [{name: web, image: nginx:2}]}}",
                "{spec: {containers: [{name: web, image: nginx:2, args: [a]}, {name: log, image: l:1}]}}");
  ExpectPatched("{spec: {containers: [{name: web, image: nginx:1}, {name: log, image: l:1}]}}",
                "{spec: {containers: [{name: log, image: l:2}]}}",
                "{spec: {containers: [{name: web, image: nginx:1}, {name: log, image: l:2}]}}");
}

TEST(StrategicMergeTest, NestedListsMergeByTheirOwnKeys) {
  ExpectPatched(
      "{spec: {containers: [{name: web, ports: [{containerPort: 80, name: http}], env: [{name: A, value: '1'}, {name: B, "
      "value: '2'}]}]}}",
      "{spec: {containers: [{name: web, ports: [{containerPort: 80, protocol: TCP}], env: [{name: B, value: '3'}]}]}}",
      "{spec: {containers: [{name: web, ports: [{containerPort: 80, name: http, protocol: TCP}], "
      "env: [{name: A, value: '1'}, {name: B, value: '3'}]}]}}");
}

TEST(StrategicMergeTest, AtomicAndUnknownListsAreReplaced) {
  ExpectPatched("{spec: {containers: [{name: web, args: [a, b]}]}}", "{spec: {containers: [{name: web, args: [c]}]}}",
                "{spec: {containers: [{name: web, args: [c]}]}}");
  ExpectPatched("{custom: {list: [{name: a}], map: {x: 1}}}", "{custom: {list: [{name: b}], map: {y: 2}}}",
                "{custom: {list: [{name: b}], map: {x: 1, y: 2}}}");
}

TEST(StrategicMergeTest, DeleteDirectiveRemovesItems) {
  ExpectPatched("{spec: {containers: [{name: web}, {name: log}]}}", "{spec: {containers: [{name: log, $patch: delete}]}}",
                "{spec: {containers: [{name: web}]}}");
  ExpectPatched("{spec: {containers: [{name: web}]}}", "{spec: {containers: [{name: absent, $patch: delete}]}}",
                "{spec: {containers: [{name: web}]}}");
  ExpectPatched("{spec: {}}", "{spec: {containers: [{name: absent, $patch: delete}, {name: new, image: i, x: null}]}}",
                "{spec: {containers: [{name: new, image: i}]}}");
  ExpectPatched("{spec: {containers: [{name: web}], taints: [{key: a}]}}", "{spec: {$patch: delete}}", "{spec: {}}");
}

TEST(StrategicMergeTest, ReplaceDirectiveReplacesObjectsAndLists) {
  ExpectPatched("{spec: {containers: [{name: web}], x: 1}}", "{spec: {$patch: replace, y: 2}}", "{spec: {y: 2}}");
  ExpectPatched("{spec: {containers: [{name: web, image: i}]}}",
                "{spec: {containers: [{$patch: replace}, {name: db}, {name: web}]}}",
                "{spec: {containers: [{name: db}, {name: web}]}}");
  ExpectPatched("{spec: {containers: [{name: web}]}}", "{spec: {containers: [{$patch: replace}]}}", "{spec: {containers: []}}");
  ExpectPatched("{metadata: {labels: {a: x}}}", "{metadata: {labels: {$patch: merge, b: y}}}",
                "{metadata: {labels: {a: x, b: y}}}");
}

TEST(StrategicMergeTest, PrimitiveListsMergeAsSets) {
  ExpectPatched("{metadata: {finalizers: [a, b]}}", "{metadata: {finalizers: [b, c]}}", "{metadata: {finalizers: [a, b, c]}}");
  ExpectPatched("{metadata: {finalizers: [a, b, c]}}", "{metadata: {$deleteFromPrimitiveList/finalizers: [b, x]}}",
                "{metadata: {finalizers: [a, c]}}");
  ExpectPatched("{metadata: {finalizers: [a, b]}}",
                "{metadata: {$deleteFromPrimitiveList/finalizers: [a], $setElementOrder/finalizers: [c, b], finalizers: [c]}}",
                "{metadata: {finalizers: [c, b]}}");
  ExpectPatched("{metadata: {}}", "{metadata: {$deleteFromPrimitiveList/finalizers: [a]}}", "{metadata: {}}");
}

TEST(StrategicMergeTest, ElementOrderIsObeyedAndServerItemsKeepTheirPlace) {
  ExpectPatched("{spec: {containers: [{name: a}, {name: b}, {name: c}]}}",
                "{spec: {$setElementOrder/containers: [{name: c}, {name: a}, {name: b}]}}",
                "{spec: {containers: [{name: c}, {name: a}, {name: b}]}}");
  // A sidecar that only the server knows stays between the two that it stood between.
  ExpectPatched("{spec: {containers: [{name: a}, {name: side}, {name: b}]}}",
                "{spec: {$setElementOrder/containers: [{name: a}, {name: b}, {name: n}], containers: [{name: n, image: i}]}}",
                "{spec: {containers: [{name: a}, {name: side}, {name: b}, {name: n, image: i}]}}");
  ExpectPatched("{spec: {}}",
                "{spec: {$setElementOrder/containers: [{name: b}, {name: a}], containers: [{name: b}, {name: a, x: null}]}}",
                "{spec: {containers: [{name: b}, {name: a}]}}");
}

TEST(StrategicMergeTest, NewItemsComeBeforeThoseOnlyTheServerKnows) {
  ExpectPatched("{spec: {volumes: [{name: token}]}}", "{spec: {volumes: [{name: data, emptyDir: {}}]}}",
                "{spec: {volumes: [{name: data, emptyDir: {}}, {name: token}]}}");
}

TEST(StrategicMergeTest, RetainKeysDropsTheOtherMembers) {
  ExpectPatched("{spec: {volumes: [{name: v, emptyDir: {}}]}}",
                "{spec: {volumes: [{name: v, $retainKeys: [name, configMap], configMap: {name: c}}]}}",
                "{spec: {volumes: [{name: v, configMap: {name: c}}]}}");
  ExpectPatched("{strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}",
                "{strategy: {$retainKeys: [type], type: Recreate}}", "{strategy: {type: Recreate}}");
}

TEST(StrategicMergeTest, ConditionsMergeByTypeAndTaintsByKey) {
  ExpectPatched("{status: {conditions: [{type: Ready, status: 'False'}, {type: Disk, status: 'False'}]}}",
                "{status: {conditions: [{type: Ready, status: 'True'}]}}",
                "{status: {conditions: [{type: Ready, status: 'True'}, {type: Disk, status: 'False'}]}}");
  ExpectPatched("{spec: {taints: [{key: a, effect: NoSchedule}]}}", "{spec: {taints: null, unschedulable: true}}",
                "{spec: {unschedulable: true}}");
}

TEST(StrategicMergeTest, TypesThatDifferAreReplaced) {
  ExpectPatched("{spec: {containers: text, x: {y: 1}}}", "{spec: {containers: [{name: a, $patch: merge}], x: 5}}",
                "{spec: {containers: [{name: a}], x: 5}}");
}

TEST(StrategicMergeTest, LongListsAndObjectsMergeInOrder) {
  constexpr int kItems = 5'000;
  const auto container = [](int i, const char* image) {
    return Json(base::JsonObject{{"name", "c" + std::to_string(i)}, {"image", image}});
  };
  base::JsonArray present, changes;
  base::JsonObject labels, removals;
  // Every other one changes, every fourth goes, and as many are new.
  for (int i = 0; i < kItems; ++i) {
    present.push_back(container(i, "old"));
    labels["l" + std::to_string(i)] = "x";
    if (i % 2 == 0) changes.push_back(container(i, "new"));
    if (i % 2 == 0) removals["l" + std::to_string(i)] = nullptr;
    if (i % 4 == 1) changes.push_back(Json(base::JsonObject{{"name", "c" + std::to_string(i)}, {"$patch", "delete"}}));
    if (i % 4 == 3) changes.push_back(container(kItems + i, "added"));
  }
  const auto pod = [](base::JsonArray containers, base::JsonObject marks) {
    return Json(base::JsonObject{{"metadata", base::JsonObject{{"labels", std::move(marks)}}},
                                 {"spec", base::JsonObject{{"containers", std::move(containers)}}}});
  };
  Json target = pod(std::move(present), std::move(labels));
  const base::Status applied = ApplyStrategicMergePatch(target, pod(std::move(changes), std::move(removals)), &PodSchema());
  ASSERT_TRUE(applied) << applied.error().message();
  std::map<std::string, int> images;
  for (const Json& item : base::FindArray(target, {"spec", "containers"}))
    ++images[std::string(base::FindString(item, {"image"}))];
  EXPECT_EQ(images, (std::map<std::string, int>{{"added", kItems / 4}, {"new", kItems / 2}, {"old", kItems / 4}}));
  EXPECT_EQ(base::FindString(base::FindArray(target, {"spec", "containers"})[0], {"name"}), "c0");
  const base::JsonObject& left = base::FindObject(target, {"metadata", "labels"});
  ASSERT_EQ(left.size(), static_cast<size_t>(kItems / 2));
  int next = 1;
  for (const auto& label : left) {
    EXPECT_EQ(std::string_view(label.key()), "l" + std::to_string(next));
    next += 2;
  }
}

TEST(StrategicMergeTest, SenselessPatchesAreRefusedAndChangeNothing) {
  const Json original = Read("{spec: {containers: [{name: web}]}, metadata: {labels: {a: x}}}");
  for (const std::string_view patch :
       {"[1]", "{metadata: {labels: {a: y}}, spec: {containers: [{image: i}]}}", "{spec: {containers: [text]}}",
        "{spec: {containers: [{name: web, $patch: explode}]}}", "{spec: {$patch: explode}}", "{spec: {$patch: 5}}",
        "{spec: {$retainKeys: containers}}", "{spec: {$retainKeys: [volumes], containers: []}}",
        "{metadata: {$deleteFromPrimitiveList/finalizers: a}}", "{spec: {$setElementOrder/containers: web}}",
        "{spec: {$setElementOrder/containers: [{name: a}, {name: b}], containers: [{name: b}, {name: a}]}}",
        "{spec: {containers: [{$patch: delete}]}}"}) {
    Json value = original;
    const base::Status applied = ApplyStrategicMergePatch(value, Read(patch), &PodSchema());
    ASSERT_FALSE(applied) << patch << " gives " << base::ToText(value);
    EXPECT_EQ(applied.error().code(), base::Code::kBadRequest);
    EXPECT_TRUE(base::Equal(value, original)) << patch;
  }
  Json value = original;
  const base::Status applied = ApplyStrategicMergePatch(value, Read("{spec: {containers: [{image: i}]}}"), &PodSchema());
  EXPECT_EQ(applied.error().message(), "map: {\"image\":\"i\"} does not contain declared merge key: name");
}

TEST(StrategicMergeTest, WithoutASchemaItIsAMergePatchWithDirectives) {
  Json value = Read("{a: {b: 1}, list: [1, 2]}");
  ASSERT_TRUE(ApplyStrategicMergePatch(value, Read("{a: {b: null, c: 2}, list: [3]}"), nullptr));
  EXPECT_EQ(base::CanonicalText(value), R"({"a":{"c":2},"list":[3]})");
}

}  // namespace
}  // namespace evenkeel::kube::strategic_merge_test
