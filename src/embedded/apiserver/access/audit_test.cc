// What the API records of writes.
#include <gtest/gtest.h>

#include "client/fenced_client.h"
#include "embedded/apiserver/access/audit_log.h"
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::audit_test {
namespace {

using base::Json;
using client::PatchType;
namespace resources = kube::resources;

class KeptRecords final : public AuditSink {
 public:
  void Record(const AuditRecord& record) override { records.push_back(record); }
  std::vector<AuditRecord> records;
};

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() { EXPECT_TRUE(api.Start()); }

  /// "VERB PLURAL[/SUBRESOURCE] NAMESPACE/NAME CODE [REASON]" of each write since the last call.
  std::vector<std::string> Taken() {
    std::vector<std::string> lines;
    for (const AuditRecord& record : sink.records) {
      lines.push_back(record.verb + " " + record.plural + (record.subresource.empty() ? "" : "/" + record.subresource) + " " +
                      record.ns + "/" + record.name + " " + std::to_string(record.code) +
                      (record.reason.empty() ? "" : " " + record.reason));
    }
    sink.records.clear();
    return lines;
  }
  AuditRecord Last() {
    EXPECT_FALSE(sink.records.empty());
    return sink.records.empty() ? AuditRecord() : sink.records.back();
  }
  TestReply Send(const std::string& method, const std::string& target, const std::string& body,
                 std::map<std::string, std::string> headers = {}) {
    headers.try_emplace("user-agent", "kubectl/v1.32.0");
    headers.try_emplace("authorization", "Bearer verysecret");
    HttpRequest request = NewTestRequest(method, target, body, std::move(headers));
    request.remote = "[::1]:41234";
    request.user = {"alice", {access::kMasters}};
    auto reply = std::make_shared<TestReply>();
    handler.Handle(std::move(request), std::make_unique<TestResponder>(reply));
    return *reply;
  }

  using Lines = std::vector<std::string>;
  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<store::Store> store = store::NewMemoryStore();
  KeptRecords sink;
  Api api{{.name = "test", .store = store.get(), .clock = &executor.clock(), .random = base::Random(7), .audit = &sink}};
  ApiHandler handler{api, {.executor = &executor}};
  std::unique_ptr<client::Client> client = NewInProcessClient(api, {"replica-a", {"owners"}}, 5);
};

TEST_F(AuditTest, RecordsEachWriteOnceAndNoReads) {
  Json map = *client->Create(resources::ConfigMaps(), ParseOrFail(R"({"metadata":{"namespace":"default","name":"m"}})"));
  EXPECT_FALSE(client->Create(resources::ConfigMaps(), ParseOrFail(R"({"metadata":{"namespace":"default","name":"m"}})")));
  base::Ensure(map, {"data", "a"}) = "1";
  ASSERT_TRUE(client->Update(resources::ConfigMaps(), map));
  EXPECT_FALSE(client->Update(resources::ConfigMaps(), map)) << "stale";
  const Json patch = ParseOrFail(R"({"apiVersion":"v1","data":{"a":"2"}})");
  ASSERT_TRUE(client->Patch(resources::ConfigMaps(), "default", "m", PatchType::kMerge, patch));
  ASSERT_TRUE(client->Patch(resources::ConfigMaps(), "default", "m", PatchType::kMerge, patch)) << "changes nothing";
  client::PatchOptions apply;
  apply.field_manager = "me";
  ASSERT_TRUE(client->Patch(resources::ConfigMaps(), "default", "applied", PatchType::kApply, patch, apply));
  EXPECT_FALSE(client->Delete(resources::ConfigMaps(), "default", "nope"));
  ASSERT_TRUE(client->Delete(resources::ConfigMaps(), "default", "m"));
  EXPECT_TRUE(client->Get(resources::ConfigMaps(), "default", "applied"));
  EXPECT_TRUE(client->List(resources::ConfigMaps(), {}));
  EXPECT_EQ(Send("GET", "/api/v1/configmaps", "").status, 200);
  EXPECT_EQ(Send("DELETE", "/api/v1/namespaces/default/configmaps", "").status, 200);
  EXPECT_EQ(Taken(), (Lines{"create configmaps default/m 201", "create configmaps default/m 409 AlreadyExists",
                            "update configmaps default/m 200", "update configmaps default/m 409 Conflict",
                            "patch configmaps default/m 200", "patch configmaps default/m 200",
                            "patch configmaps default/applied 201", "delete configmaps default/nope 404 NotFound",
                            "delete configmaps default/m 200", "deletecollection configmaps default/ 200"}));
}

TEST_F(AuditTest, RecordsSubresourcesAsThemselves) {
  ASSERT_TRUE(client->Create(resources::Pods(), ParseOrFail(R"({"metadata":{"namespace":"default","name":"p"},
      "spec":{"containers":[{"name":"c","image":"i"}]}})")));
  ASSERT_TRUE(client->Create(resources::Deployments(), ParseOrFail(R"({"metadata":{"namespace":"default","name":"d"},
      "spec":{"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")));
  Taken();
  ASSERT_TRUE(client->Post(resources::Pods(), "default", "p", "binding", ParseOrFail(R"({"target":{"name":"node"}})")));
  EXPECT_FALSE(Last().uid.empty());
  ASSERT_TRUE(client->Update(resources::Pods(), *client->Get(resources::Pods(), "default", "p"), {.subresource = "status"}));
  client::PatchOptions scale;
  scale.subresource = "scale";
  ASSERT_TRUE(client->Patch(resources::Deployments(), "default", "d", PatchType::kMerge,
                            ParseOrFail(R"({"spec":{"replicas":2}})"), scale));
  ASSERT_TRUE(client->Post(resources::Pods(), "default", "p", "eviction", ParseOrFail(R"({"metadata":{"name":"p"}})")));
  EXPECT_EQ(Taken(), (Lines{"create pods/binding default/p 201", "update pods/status default/p 200",
                            "patch deployments/scale default/d 200", "create pods/eviction default/p 201"}));
}

TEST_F(AuditTest, SaysWhoDidWhatInWhichEpoch) {
  const Json made =
      *client->Create(resources::Deployments(), ParseOrFail(R"({"metadata":{"namespace":"default","generateName":"d-"},
      "spec":{"selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})"));
  const AuditRecord record = Last();
  EXPECT_EQ(record.user.name, "replica-a");
  EXPECT_EQ(record.user.groups, Lines{"owners"});
  EXPECT_EQ(record.epoch, 5);
  EXPECT_EQ(record.group + "/" + record.version, "apps/v1");
  EXPECT_EQ(record.name, kube::NameOf(made)) << "generated";
  EXPECT_EQ(record.uid, kube::UidOf(made));
  EXPECT_EQ(record.resource_version, kube::ResourceVersionOf(made));
  EXPECT_EQ(record.origin.uri, "/apis/apps/v1/namespaces/default/deployments");
  EXPECT_EQ(record.origin.user_agent + record.origin.address, "");
  EXPECT_EQ(record.origin.received, executor.clock().Now());
  EXPECT_EQ(record.answered, executor.clock().Now());
  EXPECT_EQ(record.id.size(), 36u);
  ASSERT_TRUE(client->Delete(resources::Deployments(), "default", record.name, {.dry_run = true}));
  EXPECT_TRUE(Last().dry_run);
  EXPECT_EQ(Last().origin.uri, "/apis/apps/v1/namespaces/default/deployments/" + record.name + "?dryRun=All");
  EXPECT_NE(Last().id, record.id);
}

TEST_F(AuditTest, RecordsRefusalsOfAnOldEpoch) {
  Json lease = kube::NewObject(resources::Leases(), client::kOwnerLeaseNamespace, client::kOwnerLease);
  base::Ensure(lease, {"metadata", "annotations", client::kEpochAnnotation}) = "6";
  ASSERT_TRUE(NewInProcessClient(api, {"replica-b", {}}, 6)->Create(resources::Leases(), lease));
  EXPECT_EQ(Last().epoch, 6);
  EXPECT_FALSE(client->Create(resources::ConfigMaps(), ParseOrFail(R"({"metadata":{"namespace":"default","name":"m"}})")));
  EXPECT_EQ(Last().epoch, 5);
  EXPECT_EQ(Taken().back(), "create configmaps default/m 403 Forbidden");
}

TEST_F(AuditTest, HasTheRequestAsItCameByHttp) {
  const std::string target = "/api/v1/namespaces/default/secrets?fieldManager=me&dryRun=All";
  ASSERT_EQ(Send("POST", target, R"({"metadata":{"name":"s"},"stringData":{"password":"hunter2"}})", {{"evenkeel-epoch", "9"}})
                .status,
            201);
  const AuditRecord record = Last();
  EXPECT_EQ(record.origin.uri, target);
  EXPECT_EQ(record.origin.user_agent, "kubectl/v1.32.0");
  EXPECT_EQ(record.origin.address, "::1");
  EXPECT_EQ(record.user.name, "alice");
  EXPECT_EQ(record.epoch, 9);
  EXPECT_TRUE(record.dry_run);
  const std::string line = AuditLine(record);
  EXPECT_EQ(line.find("hunter2"), std::string::npos);
  EXPECT_EQ(line.find("verysecret"), std::string::npos);
}

TEST_F(AuditTest, RecordsWritesThatAreRefusedBeforeTheyAreTried) {
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  EXPECT_EQ(Send("POST", maps, "{").status, 400);
  EXPECT_EQ(Send("PUT", maps + "/m", "{}", {{"evenkeel-epoch", "soon"}}).status, 400);
  EXPECT_EQ(Send("PATCH", maps + "/m", "{}", {{"content-type", "text/plain"}}).status, 415);
  EXPECT_EQ(Send("DELETE", maps + "/m?gracePeriodSeconds=soon", "").status, 400);
  EXPECT_EQ(Send("POST", maps + "?dryRun=Some", "{}").status, 422);
  EXPECT_EQ(Send("GET", maps + "?fieldValidation=Maybe", "").status, 200) << "of writes only";
  EXPECT_EQ(Taken(), (Lines{"create configmaps default/ 400 BadRequest", "update configmaps default/m 400 BadRequest",
                            "patch configmaps default/m 415 UnsupportedMediaType", "delete configmaps default/m 400 BadRequest",
                            "create configmaps default/ 422 Invalid"}));
}

TEST_F(AuditTest, ChangesNothingElse) {
  const auto uids = [](AuditSink* audit) {
    const auto fresh = store::NewMemoryStore();
    base::VirtualExecutor clock{base::Time{}};
    Api other({.name = "o", .store = fresh.get(), .clock = &clock.clock(), .random = base::Random(3), .audit = audit});
    EXPECT_TRUE(other.Start());
    const auto writer = NewInProcessClient(other, {"w", {}});
    std::string all;
    for (int i = 0; i < 3; ++i) {
      all += base::ToText(
          *writer->Create(resources::ConfigMaps(), ParseOrFail(R"({"metadata":{"namespace":"default","generateName":"m-"}})")));
    }
    return all;
  };
  EXPECT_EQ(uids(nullptr), uids(&sink));
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::audit_test
