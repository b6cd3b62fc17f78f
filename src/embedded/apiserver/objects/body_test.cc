// What a body may get wrong, and what must not get lost of it.
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::body_test {
namespace {

using base::FindString;
using base::Json;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kDeployments = "/apis/apps/v1/namespaces/default/deployments";

class BodyTest : public ApiFixture {
 protected:
  static std::vector<std::string> Warnings(const TestReply& reply) {
    std::vector<std::string> found;
    for (const auto& [name, value] : reply.headers) {
      if (name == "Warning") found.push_back(value);
    }
    return found;
  }
  static std::string Deployment(const std::string& spec) {
    return R"({"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},)" + spec +
           R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}})";
  }
};

TEST_F(BodyTest, AKeyThatComesTwiceIsToldOfOrRefused) {
  const std::string body = R"({"metadata":{"name":"m","labels":{"a":"1","a":"2"}},"data":{"k":"old","k":"new"},"z":1,"z":2})";
  const TestReply refused = Send("POST", std::string(kMaps) + "?fieldValidation=Strict", body);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.message(),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: duplicate field "
            "\"metadata.labels.a\", duplicate field \"data.k\", unknown field \"z\"");
  const TestReply warned = Send("POST", std::string(kMaps) + "?fieldValidation=Warn", body);
  EXPECT_EQ(warned.status, 201) << warned.body;
  EXPECT_EQ(FindString(warned.json(), {"data", "k"}), "new");
  EXPECT_EQ(Warnings(warned),
            (std::vector<std::string>{R"(299 - "duplicate field \"metadata.labels.a\"")",
                                      R"(299 - "duplicate field \"data.k\"")", R"(299 - "unknown field \"z\"")"}));
  EXPECT_TRUE(Warnings(Send("PUT", std::string(kMaps) + "/m?fieldValidation=Ignore", body)).empty());
}

TEST_F(BodyTest, AKeyThatComesTwiceInYamlIsToldOfByItsLine) {
  const std::string yaml = "metadata:\n  name: y\ndata:\n  k: old\n  k: new\n";
  const std::map<std::string, std::string> headers{{"content-type", "application/yaml"}};
  const TestReply refused = Send("POST", std::string(kMaps) + "?fieldValidation=Strict", yaml, headers);
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.message().find("strict decoding error: "), std::string::npos) << refused.message();
  EXPECT_NE(refused.message().find("line 5: key \"k\" already set in map"), std::string::npos) << refused.message();
  const TestReply made = Send("POST", kMaps, yaml, headers);
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(FindString(made.json(), {"data", "k"}), "new");
  EXPECT_EQ(Warnings(made), (std::vector<std::string>{R"(299 - "line 5: key \"k\" already set in map")"}));
  const TestReply silent = Send("POST", std::string(kMaps) + "?fieldValidation=Ignore&dryRun=All",
                                "metadata: {name: z}\ndata: {k: old, k: new}\n", headers);
  EXPECT_EQ(silent.status, 201) << silent.body;
  EXPECT_TRUE(Warnings(silent).empty());
}

TEST_F(BodyTest, ValuesOfAnotherTypeCannotBeRead) {
  const auto refusal = [&](const std::string& spec) {
    const TestReply reply = Send("POST", kDeployments, Deployment(spec));
    EXPECT_EQ(reply.status, 400) << reply.body;
    const std::string prefix = "Deployment in version \"v1\" cannot be handled as a Deployment: ";
    EXPECT_TRUE(reply.message().starts_with(prefix)) << reply.message();
    return reply.message().substr(std::min(prefix.size(), reply.message().size()));
  };
  EXPECT_EQ(refusal(R"("replicas":"three",)"),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32");
  EXPECT_EQ(refusal(R"("replicas":1.5,)"),
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32");
  EXPECT_EQ(refusal(R"("paused":"yes",)"),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.paused of type bool");
  EXPECT_EQ(refusal(R"("strategy":[],)"),
            "json: cannot unmarshal array into Go struct field DeploymentSpec.spec.strategy of type v1.DeploymentStrategy");
  EXPECT_EQ(refusal(R"("strategy":{"rollingUpdate":{"maxSurge":true}},)"),
            "json: cannot unmarshal bool into Go value of type int32");
  // Nothing of the request stays behind, not even where the server writes the field itself.
  EXPECT_EQ(Send("POST", kMaps, R"({"metadata":{"name":"n","labels":{"a":1}}})").status, 400);
  EXPECT_EQ(Send("GET", std::string(kMaps) + "/n").status, 404);
  EXPECT_EQ(Send("POST", kDeployments, Deployment(R"("replicas":null,"paused":false,)")).status, 201);
}

TEST_F(BodyTest, DeletingACollectionStopsAtItsLimit) {
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    Create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"default","labels":{"of":"us"},"name":")" +
           std::string(name) + "\"}}");
  }
  const auto names = [&] {
    std::string found;
    const Json list = Send("GET", std::string(kMaps) + "?labelSelector=of%3Dus").json();
    for (const Json& item : base::FindArray(list, {"items"})) {
      found += FindString(item, {"metadata", "name"});
    }
    return found;
  };
  const TestReply first = Send("DELETE", std::string(kMaps) + "?limit=2&labelSelector=of%3Dus");
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(names(), "cde");
  const std::string token(FindString(first.json(), {"metadata", "continue"}));
  EXPECT_FALSE(token.empty()) << first.body;
  ASSERT_EQ(Send("DELETE", std::string(kMaps) + "?limit=2&labelSelector=of%3Dus&continue=" + token).status, 200);
  EXPECT_EQ(names(), "e");
  EXPECT_EQ(Send("DELETE", std::string(kMaps) + "?limit=x").status, 400);
  EXPECT_EQ(Send("DELETE", std::string(kMaps) + "?continue=x").status, 400);
  EXPECT_EQ(names(), "e");
}

TEST_F(BodyTest, AWriteOfStatusKeepsTheMetadataThatItBrings) {
  ASSERT_EQ(Send("POST", kDeployments, Deployment("")).status, 201);
  ASSERT_EQ(
      Send("POST", "/api/v1/namespaces/default/services", R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":1}]}})").status,
      201);
  const std::string patch = R"({"metadata":{"annotations":{"n":"1"},"labels":{"l":"1"}},"spec":{"paused":true}})";
  const TestReply deployment = Patch(std::string(kDeployments) + "/web/status", "application/merge-patch+json", patch);
  ASSERT_EQ(deployment.status, 200) << deployment.body;
  EXPECT_EQ(FindString(deployment.json(), {"metadata", "annotations", "n"}), "1");
  EXPECT_EQ(base::Find(deployment.json(), {"metadata", "labels"}), nullptr) << "a Deployment's labels are its own";
  EXPECT_EQ(base::Find(deployment.json(), {"spec", "paused"}), nullptr);
  const TestReply service = Patch("/api/v1/namespaces/default/services/s/status", "application/merge-patch+json",
                                  R"({"metadata":{"labels":{"l":"1"}}})");
  ASSERT_EQ(service.status, 200) << service.body;
  EXPECT_EQ(FindString(service.json(), {"metadata", "labels", "l"}), "1");
  CreatePod("p");
  const TestReply pod =
      Patch("/api/v1/namespaces/default/pods/p/status", "application/merge-patch+json",
            R"({"metadata":{"labels":{"l":"1"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"y"}]}})");
  ASSERT_EQ(pod.status, 200) << pod.body;
  EXPECT_EQ(FindString(pod.json(), {"metadata", "labels", "l"}), "1");
  EXPECT_EQ(base::Find(pod.json(), {"metadata", "ownerReferences"}), nullptr);
}

TEST_F(BodyTest, WhatGoCannotReadIsABadRequest) {
  const auto refusal = [&](const std::string& plural, const std::string& body) {
    const TestReply reply = Send("POST", "/api/v1/namespaces/default/" + plural, body);
    EXPECT_EQ(reply.status, 400) << reply.body;
    return reply.message();
  };
  EXPECT_EQ(refusal("secrets", R"({"metadata":{"name":"s"},"data":{"a":"plain text"}})"),
            "Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data at input byte 5");
  EXPECT_EQ(refusal("configmaps", R"({"metadata":{"name":"m"},"binaryData":{"a":"YWJ"}})"),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: illegal base64 data at input byte 3");
  // Also in what the server sets itself.
  EXPECT_EQ(refusal("configmaps", R"({"metadata":{"name":"m","creationTimestamp":"yesterday"}})"),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: parsing time \"yesterday\" as "
            "\"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" as \"2006\"");
  EXPECT_NE(refusal("configmaps", R"({"metadata":{"name":"m","deletionGracePeriodSeconds":"1"}})").find("of type int64"),
            std::string::npos);
  EXPECT_EQ(Send("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"m","resourceVersion":"5"}})").status,
            500);
}

TEST_F(BodyTest, OptionsOfTheQueryAreObjectsOfTheirOwn) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  const auto refusal = [&](const std::string& method, const std::string& path) {
    const TestReply reply = Send(method, path, R"({"metadata":{"name":"m"}})");
    EXPECT_EQ(reply.status, 422) << reply.body;
    return reply.message();
  };
  EXPECT_EQ(refusal("POST", maps + "?dryRun=Some"),
            R"(CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All")");
  EXPECT_EQ(
      refusal("PUT", maps + "/m?fieldValidation=Maybe"),
      R"(UpdateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Maybe": supported values: "Ignore", "Strict", "Warn")");
  EXPECT_EQ(refusal("POST", maps + "?fieldManager=" + std::string(129, 'x')),
            R"(CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: must have at most 128 bytes)");
}

TEST_F(BodyTest, AnObjectKeepsItsName) {
  const std::string map = "/api/v1/namespaces/default/configmaps/m";
  Create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"default"}})");
  const std::string refusal = "the name of the object (m based on URL) was undeterminable: name must be provided";
  EXPECT_EQ(Patch(map, "application/json-patch+json", R"([{"op":"remove","path":"/metadata"}])").message(), refusal);
  EXPECT_EQ(Patch(map, "application/merge-patch+json", R"({"metadata":null})").message(), refusal);
  EXPECT_EQ(Send("PUT", map, R"({"data":{"a":"1"}})").message(), refusal);
  EXPECT_EQ(Patch(map, "application/json-patch+json", "{}").status, 400);
  EXPECT_EQ(Patch(map + "?fieldManager=a", "application/apply-patch+yaml", R"({"kind":"ConfigMap"})").message(),
            "Incorrect version specified in apply patch. Specified patch version: , expected: v1");
}

TEST_F(BodyTest, NobodyDeletesAllNamespaces) {
  EXPECT_EQ(Send("DELETE", "/api/v1/namespaces").status, 405);
  EXPECT_EQ(Send("DELETE", "/api/v1/configmaps").status, 405) << "in one namespace only";
  EXPECT_EQ(Send("DELETE", "/api/v1/namespaces/default/configmaps").status, 200);
  EXPECT_EQ(Send("GET", "/api/v1/namespaces/default").status, 200);
}

TEST_F(BodyTest, FinalizersOfBuiltInKindsHaveADomain) {
  const TestReply refused =
      Send("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"m","finalizers":["a.b/c","bare"]}})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(refused.message().find(R"(metadata.finalizers[1]: Invalid value: "bare": name is neither a standard)"),
            std::string::npos)
      << refused.message();
  EXPECT_EQ(Send("POST", "/api/v1/namespaces/default/configmaps",
                 R"({"metadata":{"name":"m","finalizers":["orphan","foregroundDeletion"]}})")
                .status,
            201);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::body_test
