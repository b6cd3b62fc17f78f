#include "kube/forms/protobuf.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ranges>
#include <set>

#include "base/input/file.h"
#include "base/input/yaml.h"
#include "kube/resource.h"
#include "kube/schema/protobuf_wire.h"
#include "kube/schema/schema_text.h"

namespace evenkeel::kube::protobuf_test {
namespace {

using base::Json;
using namespace std::string_literals;
using Type = Schema::Type;

Json Yaml(std::string_view text) { return *base::ParseYamlDocument(text, "test"); }

const Schema& Core(const std::string& name) { return *FindBuiltInSchema("io.k8s.api.core.v1." + name); }

const Schema& CustomSchema() {
  return *FindBuiltInSchema("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
}

std::string Problem(const Schema& schema, std::string_view bytes) {
  const auto object = DecodeProtobuf(schema, bytes);
  return object ? "" : object.error().message();
}

/// The same message with its last field first. Fields of one number stay together, in their order.
std::string Backwards(std::string_view message) {
  std::vector<std::string> fields;
  uint32_t last = 0;
  WireReader reader(message);
  WireField field;
  while (!reader.done() && reader.Next(field)) {
    if (field.number != last) fields.emplace_back();
    last = field.number;
    if (field.type == WireType::kBytes) {
      AppendProtobufField(fields.back(), field.number, field.bytes);
      continue;
    }
    AppendTag(fields.back(), field.number, field.type);
    if (field.type == WireType::kVarint) {
      AppendVarint(fields.back(), field.integer);
    } else {
      for (int shift = 0; shift < 64; shift += 8) fields.back() += static_cast<char>(field.integer >> shift);
    }
  }
  std::string backwards;
  for (const std::string& one : std::views::reverse(fields)) backwards += one;
  return backwards;
}

/// Empty where the object comes back as it was, whatever the order of its fields; else what came back.
std::string Changed(const Schema& schema, const Json& object) {
  const std::string bytes = EncodeProtobuf(schema, object);
  const auto read = DecodeProtobuf(schema, bytes);
  if (!read) return read.error().message();
  if (!base::Equal(*read, object)) return base::ToText(*read);
  const auto again = DecodeProtobuf(schema, Backwards(bytes));
  if (!again || base::ToText(*again) != base::ToText(*read)) return "backwards: " + base::ToText(again.value_or(Json()));
  return EncodeProtobuf(schema, *read) == bytes ? "" : "other bytes";
}

TEST(ProtobufTest, AnObjectIsWrittenAsGoWritesIt) {
  const Json config = Yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: n, labels: {b: y, a: x}}, data: {k: v}}");
  const std::string metadata =
      "\x0a\x01n\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00"s
      "\x5a\x06\x0a\x01"s
      "a\x12\x01x\x5a\x06\x0a\x01"s
      "b\x12\x01y"s;
  EXPECT_EQ(EncodeProtobuf(Core("ConfigMap"), config), "\x0a\x21"s + metadata + "\x12\x06\x0a\x01k\x12\x01v"s);
}

TEST(ProtobufTest, SpecialFormsAreWrittenAsGoWritesThem) {
  EXPECT_EQ(EncodeProtobuf(Core("HTTPGetAction"), Yaml("{path: /, port: http}")),
            "\x0a\x01/\x12\x0a\x08\x01\x10\x00\x1a\x04http\x1a\x00\x22\x00"s);
  EXPECT_EQ(EncodeProtobuf(Core("TCPSocketAction"), Yaml("{port: -1}")),
            "\x0a\x0f\x08\x00\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x1a\x00\x12\x00"s);
  EXPECT_EQ(EncodeProtobuf(Core("Taint"), Yaml("{key: k, effect: e, timeAdded: '1970-01-01T00:00:01.5Z'}")),
            "\x0a\x01k\x12\x00\x1a\x01"s
            "e\x22\x04\x08\x01\x10\x00"s)
      << "whole seconds";
  const Schema& lease = *FindBuiltInSchema("io.k8s.api.coordination.v1.LeaseSpec");
  EXPECT_EQ(EncodeProtobuf(lease, Yaml("{renewTime: '1970-01-01T00:00:01.000002Z'}")), "\x22\x05\x08\x01\x10\xd0\x0f"s);
  EXPECT_EQ(EncodeProtobuf(Core("ResourceFieldSelector"), Yaml("{resource: r}")),
            "\x0a\x00\x12\x01r\x1a\x03\x0a\x01"s
            "0"s);
  EXPECT_EQ(EncodeProtobuf(Core("Volume"), Yaml("{name: v, emptyDir: {}}")), "\x0a\x01v\x12\x04\x12\x02\x0a\x00"s);
}

TEST(ProtobufTest, ObjectsComeBackAsTheyWere) {
  EXPECT_EQ(Changed(Core("PodSpec"), Yaml(R"(
priority: -5
terminationGracePeriodSeconds: 0
automountServiceAccountToken: false
nodeSelector: {a: b, empty: ""}
securityContext: {supplementalGroups: [1, 2]}
containers:
- name: c
  image: i
  resources: {requests: {cpu: 100m, memory: 1Gi}}
  ports: [{containerPort: 80, hostPort: 8080, protocol: TCP}]
  env: [{name: E, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}, {name: F}]
  readinessProbe: {httpGet: {path: /, port: http}, periodSeconds: 5}
  livenessProbe: {tcpSocket: {port: 80}}
volumes:
- {name: v, persistentVolumeClaim: {claimName: x}}
- {name: w, configMap: {name: cm, items: [{key: a, path: b}]}}
- {name: x, iscsi: {targetPortal: t, iqn: i, lun: 0, portals: [a, b]}}
overhead: {cpu: 10m}
)")),
            "");
  EXPECT_EQ(Changed(CustomSchema(), Yaml(R"(
type: object
x-kubernetes-preserve-unknown-fields: true
default: {a: [1, null, {}]}
enum: [1, null, x]
items: [{type: string}, {type: integer, minimum: 1.5}]
additionalItems: false
additionalProperties: {type: string}
dependencies: {a: [b, c], d: {type: string}}
properties: {a: {items: {type: string}, additionalProperties: true, maxLength: 0}}
not: {not: {not: {}}}
)")),
            "");
  EXPECT_EQ(Changed(Core("Secret"), Yaml("{metadata: {}, data: {a: YWI=, b: ''}}")), "");
}

TEST(ProtobufTest, WhatIsWrittenForAbsentValuesIsAbsent) {
  const auto node = DecodeProtobuf(Core("Node"), "\x0a\x04\x0a\x00\x42\x00\x12\x02\x0a\x00"s);
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_EQ(base::ToText(*node), R"({"metadata":{},"spec":{}})");
  EXPECT_EQ(base::ToText(*DecodeProtobuf(Core("DaemonEndpoint"), "\x08\x00"s)), R"({"Port":0})") << "required: 0 is a value";
  EXPECT_EQ(base::ToText(*DecodeProtobuf(Core("NodeSystemInfo"), "\x0a\x00"s)), R"({"machineID":""})");
}

TEST(ProtobufTest, FieldsInAnyOrderAndMessagesInPiecesAreRead) {
  const std::string name = "\x0a\x03\x0a\x01n"s, space = "\x0a\x03\x1a\x01s"s,
                    unknown = "\xfa\x01\x03xyz\xf9\x01"s + "12345678"s;
  const auto node = DecodeProtobuf(Core("Node"), "\x12\x02\x20\x01"s + unknown + name + "\x12\x03\x1a\x01p"s + space);
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_EQ(base::ToText(*node), R"({"metadata":{"name":"n","namespace":"s"},"spec":{"providerID":"p","unschedulable":true}})");
  const auto groups = DecodeProtobuf(Core("PodSecurityContext"), "\x20\x01\x22\x02\x02\x03\x20\x04"s);
  ASSERT_TRUE(groups) << groups.error().message();
  EXPECT_EQ(base::ToText(*groups), R"({"supplementalGroups":[1,2,3,4]})") << "packed, too";
}

TEST(ProtobufTest, BrokenBytesAreNamedByField) {
  const Schema& node = Core("Node");
  EXPECT_EQ(Problem(node, "\x0a\x05n"s), "ends in the middle of a value");
  EXPECT_EQ(Problem(node, "\x0a\x02\x0a\x05"s), "metadata: ends in the middle of a value");
  EXPECT_EQ(Problem(node, "\x0a\x02\x08\x01"s), "metadata.name: has a value of another type");
  EXPECT_EQ(Problem(node, "\x0a\x04\x0a\x02\xff\xfe"s), "metadata.name: is not UTF-8");
  EXPECT_EQ(Problem(node, "\x0b"s), "has a value of a kind that protocol buffers do not know");
  EXPECT_EQ(Problem(node, "\x00\x00"s), "has a field without a number");
  EXPECT_EQ(Problem(node,
                    "\x1a\x0a\x0a\x08\x0a\x01"s
                    "c\x12\x03\x0a\x01x"s),
            "status.capacity.c: is no amount");
  EXPECT_EQ(Problem(node, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s), "has a number of more than 64 bits");
  EXPECT_EQ(Problem(node, "\x0a\x09\x42\x07\x08\xff\xff\xff\xff\xff\x7f"s),
            "metadata.creationTimestamp: is no time of the years 0 to 9999");
}

TEST(ProtobufTest, NestingIsBounded) {
  const auto nested = [](size_t depth) {
    std::string message;
    for (size_t i = 1; i < depth; ++i) {
      std::string outer;
      AppendProtobufField(outer, 28, message);
      message = std::move(outer);
    }
    return message;
  };
  ASSERT_EQ(CustomSchema().FindField("not")->number, 28u);
  const auto deep = DecodeProtobuf(CustomSchema(), nested(base::kJsonDepthMax));
  ASSERT_TRUE(deep) << deep.error().message();
  EXPECT_EQ(base::DepthOf(*deep), base::kJsonDepthMax);
  EXPECT_TRUE(base::ParseJson(base::ToText(*deep), "text"));
  EXPECT_TRUE(Problem(CustomSchema(), nested(base::kJsonDepthMax + 1)).ends_with("is nested too deep"));
}

TEST(ProtobufTest, AnEnvelopeSaysWhatIsInIt) {
  const Json object = Yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: n}}");
  const std::string bytes = EncodeProtobufEnvelope(Core("ConfigMap"), object);
  EXPECT_EQ(bytes.substr(0, 21), "k8s\0\x0a\x0f\x0a\x02v1\x12\x09"s + "ConfigMap");
  EXPECT_TRUE(bytes.ends_with("\x1a\x00\x22\x00"s));
  const auto envelope = ReadProtobufEnvelope(bytes);
  ASSERT_TRUE(envelope) << envelope.error().message();
  EXPECT_EQ(envelope->api_version, "v1");
  EXPECT_EQ(envelope->kind, "ConfigMap");
  EXPECT_EQ(envelope->raw, EncodeProtobuf(Core("ConfigMap"), object));
  EXPECT_FALSE(ReadProtobufEnvelope("k8s"));
  EXPECT_FALSE(ReadProtobufEnvelope("k8s\0\x0a\x05"s));
  EXPECT_TRUE(ReadProtobufEnvelope("k8s\0"s)) << "all of it may be absent";
}

TEST(ProtobufTest, KindsAreFoundByWhatObjectsSayOfThemselves) {
  for (const Resource& resource : BuiltInResources()) {
    EXPECT_EQ(FindKindSchema(resource.ApiVersion(), resource.kind), resource.schema) << resource.kind;
  }
  EXPECT_NE(FindKindSchema("v1", "Status"), nullptr);
  EXPECT_NE(FindKindSchema("autoscaling/v1", "Scale"), nullptr);
  EXPECT_NE(FindKindSchema("policy/v1", "Eviction"), nullptr);
  EXPECT_NE(FindKindSchema("meta.k8s.io/v1", "PartialObjectMetadata"), nullptr);
  EXPECT_EQ(FindKindSchema("v1", "PodSpec"), nullptr) << "no kind";
  EXPECT_EQ(FindKindSchema("example.com/v1", "Pod"), nullptr);
}

TEST(ProtobufTest, EveryFieldHasANumberButThoseThatTravelOtherwise) {
  std::set<std::string> missing;
  for (const auto& [name, schema] : BuiltInSchemas().definitions) {
    for (const Schema::FieldSchema& field : schema->fields) {
      const bool envelope = field.name == "apiVersion" || field.name == "kind";
      if (field.number == 0 && !envelope) missing.insert(schema->name + "." + field.name);
    }
  }
  // Gone from upstream.
  EXPECT_EQ(missing, (std::set<std::string>{"ClaimSource.resourceClaimName", "ClaimSource.resourceClaimTemplateName",
                                            "PodResourceClaim.source"}));
}

/// A value in which all that a schema describes is there, `levels` deep.
Json Filled(const Schema& schema, int levels) {
  switch (schema.type) {
    case Type::kObject: {
      base::JsonObject object;
      if (schema.raw) return base::JsonObject{{"f:a", base::JsonObject()}};
      for (const auto& field : schema.fields) {
        if (field.number > 0 && levels > 0) object[field.name] = Filled(*field.schema, levels - 1);
      }
      return object;
    }
    case Type::kMap:
      return base::JsonObject{{"a", Filled(*schema.item, levels)}, {"b", Filled(*schema.item, levels)}};
    case Type::kArray:
      return base::JsonArray{Filled(*schema.item, levels)};
    case Type::kString:
      return "text";
    case Type::kInteger:
      return -7;
    case Type::kNumber:
      return 1.5;
    case Type::kBoolean:
      return true;
    case Type::kIntOrString:
      return "5%";
    case Type::kQuantity:
      return "1500m";
    case Type::kTime:
      return "2024-01-02T03:04:05Z";
    case Type::kMicroTime:
      return "2024-01-02T03:04:05.000006Z";
    case Type::kBytes:
      return "AAE=";
    case Type::kAny:
      if (schema.alternative_to != nullptr) return Filled(*schema.alternative_to, std::min(levels, 1));
      return base::JsonObject{{"any", base::JsonArray{1, "x"}}};
  }
  return nullptr;
}

TEST(ProtobufTest, EveryTypeComesBackWithAllOfItsFields) {
  for (const auto& [name, schema] : BuiltInSchemas().definitions) {
    const Json filled = Filled(*schema, 2);
    const std::string bytes = EncodeProtobuf(*schema, filled);
    const auto read = DecodeProtobuf(*schema, bytes);
    ASSERT_TRUE(read) << name << ": " << read.error().message();
    // What is below the deepest level is only what is always written.
    EXPECT_EQ(EncodeProtobuf(*schema, *read), bytes) << name;
  }
}

TEST(Protobuf, FieldsMayBeInMessagesWithinMessagesThatJsonDoesNotShow) {
  const Schema& rule = *FindBuiltInSchema("io.k8s.api.admissionregistration.v1.NamedRuleWithOperations");
  const Json object = Yaml(
      "{resourceNames: [n], operations: [CREATE, UPDATE], apiGroups: [apps], apiVersions: [v1], resources: [deployments], "
      "scope: Namespaced}");
  EXPECT_EQ(EncodeProtobuf(rule, object),
            "\x0a\x01n"
            "\x12\x35\x0a\x06"
            "CREATE\x0a\x06"
            "UPDATE"
            "\x12\x23\x0a\x04"
            "apps\x12\x02v1\x1a\x0b"
            "deployments\x22\x0a"
            "Namespaced"s);
  EXPECT_EQ(Changed(rule, object), "");
  EXPECT_EQ(EncodeProtobuf(rule, Json(base::JsonObject())), "\x12\x02\x12\x00"s)
      << "as Go writes messages that are no pointers";
  EXPECT_EQ(Problem(rule, "\x12\x02\x10\x01"s), "has a value of another type");
}

// The numbers themselves, against a list of upstream's messages where the machine has one: `messages` {message: {field:
// [number, type]}}, `jsonNames` {message: {field: key}} where the two differ ("": the JSON object is inlined), `wireAlways`
// {message: [field]} for those that are written also when they are zero.
class UpstreamNumbers : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* file = std::getenv("EVENKEEL_PROTOBUF_NUMBERS");
    if (file == nullptr) GTEST_SKIP() << "EVENKEEL_PROTOBUF_NUMBERS names no list of Kubernetes' field numbers";
    auto text = base::ReadFile(file, 8 << 20);
    ASSERT_TRUE(text) << text.error().message();
    auto parsed = base::ParseJson(*text, file);
    ASSERT_TRUE(parsed) << parsed.error().message();
    list = *std::move(parsed);
  }

  struct Number {
    uint32_t number = 0, inner = 0, innermost = 0;
    std::string type;
    bool always = false;
  };
  std::map<std::string, Number> FieldsOf(const std::string& message) const {
    std::map<std::string, Number> fields;
    for (const auto& [proto_name, numbered] : base::FindObject(list, {"messages", message})) {
      const auto number = static_cast<uint32_t>(numbered.at(0).as_int64());
      const std::string type(numbered.at(1).as_string());
      const Json* name = base::Find(list, {"jsonNames", message, proto_name});
      bool always = false;
      for (const Json& one : base::FindArray(list, {"wireAlways", message})) always = always || one.as_string() == proto_name;
      if (name == nullptr || !name->as_string().empty()) {
        fields[name == nullptr ? std::string(proto_name) : std::string(name->as_string())] = {number, 0, 0, type, always};
        continue;
      }
      for (const auto& [inner_name, inner] : FieldsOf(type))
        fields[inner_name] = {number, inner.number, inner.inner, inner.type, inner.always};
    }
    return fields;
  }

  Json list;
};

TEST_F(UpstreamNumbers, AreOurs) {
  int compared = 0;
  for (const auto& [name, schema] : BuiltInSchemas().definitions) {
    std::string message = "k8s.io." + name.substr(std::string_view("io.k8s.").size());
    std::ranges::replace(message, '-', '_');
    if (const size_t at = message.find("v1beta1"); at != message.npos) message.replace(at, 7, "v1");
    if (schema->name == "FieldSelectorRequirement") message = "k8s.io.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement";
    const auto theirs = FieldsOf(message);
    for (const Schema::FieldSchema& field : schema->fields) {
      if (field.number == 0) continue;
      const auto found = theirs.find(field.name);
      ASSERT_NE(found, theirs.end()) << message << "." << field.name;
      EXPECT_EQ(field.number, found->second.number) << message << "." << field.name;
      EXPECT_EQ(field.inner, found->second.inner) << message << "." << field.name;
      EXPECT_EQ(field.innermost, found->second.innermost) << message << "." << field.name;
      EXPECT_EQ(field.written_when_absent, found->second.always) << message << "." << field.name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace evenkeel::kube::protobuf_test
