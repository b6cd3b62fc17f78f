// Writes that state the epoch of a tenure, against a Lease that is at another one.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "client/fenced_client.h"
#include "embedded/apiserver/api/api_testing.h"
#include "embedded/apiserver/http/http_testing.h"
#include "embedded/store/sqlite_store.h"

namespace evenkeel::embedded::apiserver::epoch_gate_test {
namespace {

using base::Code;
using base::Json;
using client::PatchType;
namespace resources = kube::resources;

/// A memory store with a hand in between: what it does happens after all work for a write and before its commit.
class HookedStore final : public store::Store {
 public:
  base::Result<store::KeyValue> Get(const std::string& key, store::Revision revision) override {
    if (key.ends_with(client::kOwnerLease)) ++lease_reads;
    return memory_->Get(key, revision);
  }
  base::Result<store::ListResult> List(const store::ListOptions& options) override { return memory_->List(options); }
  void Commit(store::Write write, std::function<void(base::Result<store::Revision>)> done) override {
    if (before_commit && !std::exchange(inside_, true)) {
      before_commit();
      inside_ = false;
    }
    memory_->Commit(std::move(write), std::move(done));
  }
  base::Result<std::unique_ptr<store::Watch>> NewWatch(std::string prefix, store::Revision after,
                                                       store::WatchHandler handler) override {
    return memory_->NewWatch(std::move(prefix), after, std::move(handler));
  }
  store::Revision current_revision() override { return memory_->current_revision(); }
  base::Status Compact(store::Revision revision) override { return memory_->Compact(revision); }
  store::Revision compacted_revision() override { return memory_->compacted_revision(); }
  bool reads_block() const override { return false; }

  std::function<void()> before_commit;
  int lease_reads = 0;

 private:
  std::unique_ptr<store::Store> memory_ = store::NewMemoryStore();
  bool inside_ = false;
};

/// Creates the Lease or brings it to this epoch; "" takes the annotation away.
void PutLease(client::Client& admin, const std::string& epoch, const std::string& holder = "replica-b") {
  Json lease = kube::NewObject(resources::Leases(), client::kOwnerLeaseNamespace, client::kOwnerLease);
  if (const auto present = admin.Get(resources::Leases(), client::kOwnerLeaseNamespace, client::kOwnerLease)) lease = *present;
  base::Ensure(lease, {"metadata", "annotations", client::kEpochAnnotation}) = epoch;
  if (epoch.empty()) base::Erase(lease, {"metadata", "annotations"});
  base::Ensure(lease, {"spec", "holderIdentity"}) = holder;
  const bool is_new = kube::ResourceVersionOf(lease).empty();
  const auto written = is_new ? admin.Create(resources::Leases(), lease) : admin.Update(resources::Leases(), lease);
  EXPECT_TRUE(written) << (written ? "" : written.error().message());
}

std::string ReasonOf(const base::Result<Json>& answer) {
  return answer ? "" : std::string(base::Reason(answer.error().code()));
}

class EpochGateTest : public ::testing::Test {
 protected:
  EpochGateTest() {
    EXPECT_TRUE(api.Start());
    admin = NewClient(0);
  }
  std::unique_ptr<client::Client> NewClient(int64_t epoch) { return NewInProcessClient(api, {"replica-a", {}}, epoch); }
  /// Renews the Lease as it is.
  void Renew() { PutLease(*admin, "6", "replica-b at " + std::to_string(++renewals)); }
  Json Make(const kube::Resource& resource, std::string_view text) {
    auto made = admin->Create(resource, ParseOrFail(text));
    EXPECT_TRUE(made) << (made ? "" : made.error().message());
    return made ? *made : Json();
  }
  Json MakeMap(const std::string& name) {
    return Make(resources::ConfigMaps(), R"({"metadata":{"namespace":"default","name":")" + name + R"("},"data":{"a":"1"}})");
  }
  Json MakePod(const std::string& name) {
    return Make(resources::Pods(), R"({"metadata":{"namespace":"default","name":")" + name +
                                       R"(","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  }
  Json MakeDeployment() {
    return Make(
        resources::Deployments(),
        R"({"metadata":{"namespace":"default","name":"web"},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"web"}},
                "template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  }

  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  HookedStore store;
  Api api{{.name = "test", .store = &store, .clock = &executor.clock(), .random = base::Random(7)}};
  std::unique_ptr<client::Client> admin;
  int renewals = 0;
};

TEST_F(EpochGateTest, RefusesEveryKindOfWriteOfAnOlderEpoch) {
  const Json map = MakeMap("m"), pod = MakePod("p"), deployment = MakeDeployment();
  PutLease(*admin, "6");
  const auto late = NewClient(5);
  const auto before = store.current_revision();
  Json fresh = kube::NewObject(resources::ConfigMaps(), "default", "fresh");
  Json changed = map;
  base::Ensure(changed, {"data", "a"}) = "2";
  const Json data = ParseOrFail(R"({"apiVersion":"v1","data":{"a":"3"}})");
  for (const bool dry_run : {false, true}) {
    const client::WriteOptions write{.dry_run = dry_run};
    EXPECT_EQ(ReasonOf(late->Create(resources::ConfigMaps(), fresh, write)), "Forbidden");
    EXPECT_EQ(ReasonOf(late->Update(resources::ConfigMaps(), changed, write)), "Forbidden");
    EXPECT_EQ(ReasonOf(late->Update(resources::ConfigMaps(), map, write)), "Forbidden") << "nothing to change";
    client::PatchOptions patch;
    patch.dry_run = dry_run;
    patch.field_manager = "me";
    patch.force = true;
    EXPECT_EQ(ReasonOf(late->Patch(resources::ConfigMaps(), "default", "m", PatchType::kMerge, data, patch)), "Forbidden");
    EXPECT_EQ(ReasonOf(late->Patch(resources::ConfigMaps(), "default", "m", PatchType::kStrategic, data, patch)), "Forbidden");
    EXPECT_EQ(ReasonOf(late->Patch(resources::ConfigMaps(), "default", "m", PatchType::kJson,
                                   ParseOrFail(R"([{"op":"replace","path":"/data/a","value":"3"}])"), patch)),
              "Forbidden");
    EXPECT_EQ(ReasonOf(late->Patch(resources::ConfigMaps(), "default", "m", PatchType::kApply, data, patch)), "Forbidden");
    EXPECT_EQ(ReasonOf(late->Patch(resources::ConfigMaps(), "default", "fresh", PatchType::kApply, data, patch)), "Forbidden");
    EXPECT_EQ(ReasonOf(late->Delete(resources::ConfigMaps(), "default", "m", {.dry_run = dry_run})), "Forbidden");
    client::PatchOptions scale;
    scale.subresource = "scale";
    scale.dry_run = dry_run;
    EXPECT_EQ(ReasonOf(late->Patch(resources::Deployments(), "default", "web", PatchType::kMerge,
                                   ParseOrFail(R"({"spec":{"replicas":3}})"), scale)),
              "Forbidden");
  }
  EXPECT_EQ(ReasonOf(late->Post(resources::Pods(), "default", "p", "binding", ParseOrFail(R"({"target":{"name":"node"}})"))),
            "Forbidden");
  EXPECT_EQ(ReasonOf(late->Post(resources::Pods(), "default", "p", "eviction", ParseOrFail(R"({"metadata":{"name":"p"}})"))),
            "Forbidden");
  EXPECT_EQ(ReasonOf(late->Update(resources::Deployments(), *admin->Get(resources::Deployments(), "default", "web", "scale"),
                                  {.subresource = "scale"})),
            "Forbidden");
  EXPECT_EQ(store.current_revision(), before);
  EXPECT_TRUE(late->Get(resources::ConfigMaps(), "default", "m")) << "reads pass";
}

TEST_F(EpochGateTest, LeavesADisruptionBudgetAloneWhenItRefusesTheEviction) {
  MakePod("p");
  ASSERT_TRUE(admin->Post(resources::Pods(), "default", "p", "binding", ParseOrFail(R"({"target":{"name":"node"}})")));
  Json pod = *admin->Get(resources::Pods(), "default", "p");
  base::Ensure(pod, {"status", "phase"}) = "Running";
  ASSERT_TRUE(admin->Update(resources::Pods(), pod, {.subresource = "status"}));
  Json budget = Make(resources::PodDisruptionBudgets(), R"({"metadata":{"namespace":"default","name":"b"},
      "spec":{"minAvailable":0,"selector":{"matchLabels":{"app":"web"}}}})");
  base::Ensure(budget, {"status"}) =
      ParseOrFail(R"({"disruptionsAllowed":1,"currentHealthy":1,"desiredHealthy":0,"expectedPods":1,"observedGeneration":1})");
  ASSERT_TRUE(admin->Update(resources::PodDisruptionBudgets(), budget, {.subresource = "status"}));
  PutLease(*admin, "6");
  const auto before = store.current_revision();
  const Json eviction = ParseOrFail(R"({"metadata":{"name":"p"}})");
  EXPECT_EQ(ReasonOf(NewClient(5)->Post(resources::Pods(), "default", "p", "eviction", eviction)), "Forbidden");
  EXPECT_EQ(store.current_revision(), before);
  EXPECT_EQ(ReasonOf(NewClient(6)->Post(resources::Pods(), "default", "p", "eviction", eviction)), "");
}

TEST_F(EpochGateTest, SaysWhoseEpochIsOverAndWhoOwnsTheCluster) {
  PutLease(*admin, "6");
  const auto refused = NewClient(5)->Create(resources::ConfigMaps(), kube::NewObject(resources::ConfigMaps(), "default", "m"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message(),
      "configmaps \"m\" is forbidden: replica-a writes with epoch 5, but the Lease kube-system/evenkeel-owner is at epoch 6, "
      "held by replica-b: another replica has taken over this cluster");
}

TEST_F(EpochGateTest, RefusesAWriteOfTheTenureThatHasEndedThoughNobodyHasTakenOver) {
  PutLease(*admin, "6", "replica-a");
  const auto owner = NewClient(6);
  const Json map = MakeMap("m");
  const auto write = [&] { return owner->Delete(resources::ConfigMaps(), "default", "m", {.dry_run = true}); };
  EXPECT_TRUE(write());
  PutLease(*admin, "6", "");
  const auto late = write();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::kForbidden);
  EXPECT_TRUE(late.error().message().ends_with("is at epoch 6 and free: the tenure is over")) << late.error().message();
  PutLease(*admin, "7", "replica-a");
  EXPECT_FALSE(write());
  EXPECT_TRUE(NewClient(7)->Delete(resources::ConfigMaps(), "default", "m", {.dry_run = true}));
}

TEST_F(EpochGateTest, LetsEverybodyElseWrite) {
  const auto write = [this](int64_t epoch) {
    return ReasonOf(NewClient(epoch)->Create(resources::ConfigMaps(),
                                             ParseOrFail(R"({"metadata":{"namespace":"default","generateName":"m-"}})")));
  };
  EXPECT_EQ(write(1), "") << "without a Lease";
  PutLease(*admin, "6");
  EXPECT_EQ(write(5), "Forbidden");
  EXPECT_EQ(write(6), "");
  EXPECT_EQ(write(7), "") << "the one who takes over";
  EXPECT_EQ(write(0), "") << "those who state none";
  PutLease(*admin, "");
  EXPECT_EQ(write(5), "") << "a Lease without an epoch";
  PutLease(*admin, "six");
  EXPECT_EQ(write(5), "") << "a Lease without a number";
  PutLease(*admin, "7");
  EXPECT_EQ(write(6), "Forbidden");
  ASSERT_TRUE(admin->Delete(resources::Leases(), client::kOwnerLeaseNamespace, client::kOwnerLease));
  EXPECT_EQ(write(6), "") << "the Lease is gone";
}

TEST_F(EpochGateTest, KeepsAnOlderEpochFromTheLeaseItself) {
  PutLease(*admin, "5", "replica-a");
  const auto late = NewClient(5), next = NewClient(6);
  const Json lease = *late->Get(resources::Leases(), client::kOwnerLeaseNamespace, client::kOwnerLease);
  ASSERT_TRUE(late->Update(resources::Leases(), lease)) << "a renewal";
  PutLease(*next, "6");
  const Json taken = *late->Get(resources::Leases(), client::kOwnerLeaseNamespace, client::kOwnerLease);
  EXPECT_EQ(ReasonOf(late->Update(resources::Leases(), taken)), "Forbidden");
  EXPECT_EQ(ReasonOf(next->Update(resources::Leases(), taken)), "");
}

TEST_F(EpochGateTest, RefusesAWriteThatCommitsAfterTheLeaseHasChanged) {
  Json map = MakeMap("m");
  const Json pod = MakePod("p");
  const auto late = NewClient(5);
  base::Ensure(map, {"data", "a"}) = "late";
  const std::vector<std::pair<const char*, std::function<base::Result<Json>()>>> writes = {
      {"create",
       [&] { return late->Create(resources::ConfigMaps(), kube::NewObject(resources::ConfigMaps(), "default", "new")); }},
      {"generated name",
       [&] {
         return late->Create(resources::ConfigMaps(),
                             ParseOrFail(R"({"metadata":{"namespace":"default","generateName":"m-"}})"));
       }},
      {"update", [&] { return late->Update(resources::ConfigMaps(), map); }},
      {"patch",
       [&] {
         return late->Patch(resources::ConfigMaps(), "default", "m", PatchType::kMerge,
                            ParseOrFail(R"({"data":{"a":"late"}})"));
       }},
      {"delete", [&] { return late->Delete(resources::ConfigMaps(), "default", "m"); }},
      {"binding",
       [&] { return late->Post(resources::Pods(), "default", "p", "binding", ParseOrFail(R"({"target":{"name":"node"}})")); }},
      {"eviction",
       [&] { return late->Post(resources::Pods(), "default", "p", "eviction", ParseOrFail(R"({"metadata":{"name":"p"}})")); }},
  };
  for (const auto& [what, write] : writes) {
    PutLease(*admin, "5", "replica-a");
    // The gate knows the Lease, and nothing but the commit can notice that it is another one now.
    ASSERT_EQ(ReasonOf(late->Create(resources::ConfigMaps(),
                                    ParseOrFail(R"({"metadata":{"namespace":"default","generateName":"warm-"}})"))),
              "");
    store::Revision taken = 0;
    store.before_commit = [&] {
      PutLease(*admin, "6");
      taken = store.current_revision();
    };
    EXPECT_EQ(ReasonOf(write()), "Forbidden") << what;
    store.before_commit = nullptr;
    EXPECT_GT(taken, 0) << what << " did not get as far as its commit";
    EXPECT_EQ(store.current_revision(), taken) << what;
  }
  EXPECT_EQ(base::FindString(*admin->Get(resources::ConfigMaps(), "default", "m"), {"data", "a"}), "1");
}

TEST_F(EpochGateTest, CarriesAWriteOutThoughTheLeaseIsRenewedMeanwhile) {
  PutLease(*admin, "6");
  const auto owner = NewClient(6);
  MakeMap("m");
  const auto patch = [&](const std::string& text) {
    return ReasonOf(owner->Patch(resources::ConfigMaps(), "default", "m", PatchType::kMerge, ParseOrFail(text)));
  };
  ASSERT_EQ(patch(R"({"data":{"a":"2"}})"), "");
  int times = 3;
  store.before_commit = [&] {
    if (times-- > 0) Renew();
  };
  EXPECT_EQ(patch(R"({"data":{"a":"3"}})"), "");
  EXPECT_LT(times, 0);
  store.before_commit = [&] { Renew(); };
  EXPECT_EQ(patch(R"({"data":{"a":"4"}})"), "TooManyRequests") << "a Lease that never rests";
  store.before_commit = nullptr;
  EXPECT_EQ(base::FindString(*admin->Get(resources::ConfigMaps(), "default", "m"), {"data", "a"}), "3");
}

TEST_F(EpochGateTest, ReadsTheLeaseOnlyWhenItHasChanged) {
  PutLease(*admin, "6");
  const auto owner = NewClient(6);
  const auto write = [](client::Client& client) {
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(
          client.Create(resources::ConfigMaps(), ParseOrFail(R"({"metadata":{"namespace":"default","generateName":"m-"}})")));
    }
  };
  store.lease_reads = 0;
  write(*admin);
  EXPECT_EQ(store.lease_reads, 0);
  write(*owner);
  EXPECT_EQ(store.lease_reads, 1);
  Renew();
  store.lease_reads = 0;
  write(*owner);
  EXPECT_EQ(store.lease_reads, 1);
}

TEST_F(EpochGateTest, HonoursThePreconditionsThatFencedClientsState) {
  const Json pod = MakePod("p"), deployment = MakeDeployment();
  const std::string uid(kube::UidOf(pod));
  EXPECT_EQ(ReasonOf(admin->Post(resources::Pods(), "default", "p", "binding",
                                 ParseOrFail(R"({"metadata":{"uid":"other"},"target":{"name":"node"}})"))),
            "Conflict");
  EXPECT_EQ(ReasonOf(admin->Post(resources::Pods(), "default", "p", "eviction",
                                 ParseOrFail(R"({"deleteOptions":{"preconditions":{"uid":"other"}}})"))),
            "Conflict");
  EXPECT_EQ(ReasonOf(admin->Post(resources::Pods(), "default", "p", "binding",
                                 Json{{"metadata", {{"uid", uid}}}, {"target", {{"name", "node"}}}})),
            "");
  client::PatchOptions scale;
  scale.subresource = "scale";
  const auto scaled = [&](std::string_view given) {
    return ReasonOf(admin->Patch(resources::Deployments(), "default", "web", PatchType::kMerge,
                                 Json{{"metadata", {{"uid", given}}}, {"spec", {{"replicas", 2}}}}, scale));
  };
  EXPECT_EQ(scaled("other"), "Conflict");
  EXPECT_EQ(scaled(kube::UidOf(deployment)), "");
  client::PatchOptions apply;
  apply.field_manager = "me";
  const auto applied =
      admin->Patch(resources::ConfigMaps(), "default", "gone", PatchType::kApply,
                   ParseOrFail(R"({"apiVersion":"v1","metadata":{"uid":"of-before"},"data":{"a":"1"}})"), apply);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code(), Code::kConflict);
  EXPECT_EQ(
      applied.error().message(),
      "Operation cannot be fulfilled on configmaps \"gone\": uid mismatch: the provided object specified uid of-before, and "
      "no existing object was found");
}

/// Many threads write with epoch 5 while epoch 6 takes the Lease.
void TakeOverUnderLoad(store::Store& store) {
  constexpr int kWritesMax = 50'000;  // some would have come through by then
  Api api({.name = "test", .store = &store, .clock = &base::SystemClock(), .random = base::Random(7)});
  ASSERT_TRUE(api.Start());
  const auto admin = NewInProcessClient(api, {"admin", {}});
  PutLease(*admin, "5", "replica-a");
  std::atomic<int> written = 0, refused = 0;
  std::atomic<int64_t> last = 0;
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&] {
      const auto late = NewInProcessClient(api, {"replica-a", {}}, 5);
      while (written < kWritesMax) {
        const auto made =
            late->Create(resources::ConfigMaps(), ParseOrFail(R"({"metadata":{"namespace":"default","generateName":"m-"}})"));
        if (!made) {
          EXPECT_EQ(made.error().code(), Code::kForbidden) << made.error().message();
          ++refused;
          return;
        }
        ++written;
        const int64_t revision = std::stoll(std::string(kube::ResourceVersionOf(*made)));
        int64_t seen = last.load();
        while (seen < revision && !last.compare_exchange_weak(seen, revision)) {
        }
      }
    });
  }
  while (written < 50 && refused == 0) std::this_thread::yield();
  PutLease(*admin, "5", "replica-a again");
  while (written < 100 && refused == 0) std::this_thread::yield();
  PutLease(*admin, "6");
  const Json lease = *admin->Get(resources::Leases(), client::kOwnerLeaseNamespace, client::kOwnerLease);
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(refused, 4);
  EXPECT_LT(last, std::stoll(std::string(kube::ResourceVersionOf(lease))));
}

TEST(EpochGateThreadsTest, NoWriteOfAnOlderEpochComesAfterTheLeaseInMemory) {
  const auto store = store::NewMemoryStore();
  TakeOverUnderLoad(*store);
}

TEST(EpochGateThreadsTest, NoWriteOfAnOlderEpochComesAfterTheLeaseOnDisk) {
  std::string directory = (std::filesystem::temp_directory_path() / "evenkeel-epoch-XXXXXX").string();
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  {
    const auto store = store::OpenSqliteStore(directory + "/store.db");
    ASSERT_TRUE(store);
    TakeOverUnderLoad(**store);
  }
  std::filesystem::remove_all(directory);
}

class EpochHeaderTest : public ApiFixture {
 protected:
  TestReply SendAt(const std::string& epoch, const std::string& method, const std::string& target,
                   const std::string& body = "") {
    return Send(method, target, body, {{"evenkeel-epoch", epoch}});
  }
};

TEST_F(EpochHeaderTest, StatesTheEpochOfAWrite) {
  PutLease(*client, "6");
  const std::string maps = "/api/v1/namespaces/default/configmaps", body = R"({"metadata":{"name":"m"}})";
  const TestReply refused = SendAt("5", "POST", maps, body);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(base::FindString(refused.json(), {"reason"}), "Forbidden");
  EXPECT_EQ(refused.message().find('\n'), std::string::npos);
  EXPECT_NE(refused.message().find("admin writes with epoch 5"), std::string::npos) << refused.message();
  EXPECT_EQ(SendAt("6", "POST", maps, body).status, 201);
  EXPECT_EQ(SendAt("5", "PUT", maps + "/m", body).status, 403);
  EXPECT_EQ(SendAt("5", "DELETE", maps + "/m?dryRun=All").status, 403);
  EXPECT_EQ(SendAt("5", "DELETE", maps).status, 403);
  EXPECT_EQ(SendAt("5", "DELETE", maps + "?labelSelector=matches%3Dnothing").status, 403);
  EXPECT_EQ(SendAt("5", "GET", maps).status, 200);
  EXPECT_EQ(Send("DELETE", maps).status, 200) << "none stated";
}

TEST_F(EpochHeaderTest, RefusesWhatIsNoEpoch) {
  const std::string maps = "/api/v1/namespaces/default/configmaps", body = R"({"metadata":{"name":"m"}})";
  for (const char* text : {"", "x", "5x", " 5", "-1", "0", "5, 6", "99999999999999999999", "0x5"}) {
    const TestReply refused = SendAt(text, "POST", maps, body);
    EXPECT_EQ(refused.status, 400) << text;
    EXPECT_EQ(refused.message(), std::string("Evenkeel-Epoch: \"") + text + "\" is not a whole number above 0");
    EXPECT_EQ(SendAt(text, "GET", maps).status, 200) << "reads do not care";
  }
}

TEST_F(EpochHeaderTest, ComesOverTheWireFromAClientWithThatHeader) {
  PutLease(*client, "6");
  testing::LambdaHandler as_admin([this](HttpRequest request, std::unique_ptr<Responder> responder) {
    request.user = user;
    handler.Handle(std::move(request), std::move(responder));
  });
  const auto server = HttpServer::Start({}, as_admin);
  ASSERT_TRUE(server) << server.error().message();
  const auto connect = [&](const std::string& epoch) {
    client::HttpClientOptions options;
    options.headers = {{client::kEpochHeader, epoch}, {"X-Other", "value"}};
    return client::NewHttpClient(testing::PlainClientConfig((*server)->port()), options);
  };
  const Json map = kube::NewObject(resources::ConfigMaps(), "default", "m");
  EXPECT_EQ(ReasonOf((*connect("5"))->Create(resources::ConfigMaps(), map)), "Forbidden");
  EXPECT_EQ(ReasonOf((*connect("6"))->Create(resources::ConfigMaps(), map)), "");
  EXPECT_EQ(connect("5\r\nX-Forged: yes").error().code(), Code::kBadRequest);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::epoch_gate_test
