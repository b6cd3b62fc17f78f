// Coordinated replicas on threads and in real time, against embedded APIs: what the simulator cannot show is whether threads
// meet.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "controllers/distribution/distributor/distributor.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/fleet/hub_objects.h"
#include "embedded/store/memory_store.h"

namespace evenkeel::embedded::fleet::coordination_threads_test {
namespace {

using namespace std::chrono_literals;
namespace distribution = controllers::distribution;
namespace runtime = controllers::runtime;
using base::Json;

/// Writes to its member every few milliseconds, and remembers who was allowed to.
class Writer final : public runtime::MemberController {
 public:
  Writer(runtime::Member& member, std::string author) : member_(member), author_(std::move(author)) {
    member_.strand()->Post([this] { Write(); });
  }

 private:
  void Write() {
    const auto& resource = kube::resources::ConfigMaps();
    auto present = member_.client().Get(resource, "default", "log");
    Json object = present ? *present : kube::NewObject(resource, "default", "log");
    base::Ensure(object, {"data", "author"}) = author_;
    (void)(present ? member_.client().Update(resource, object) : member_.client().Create(resource, object));
    timer_ = member_.strand()->PostAfter(5ms, [this] { Write(); });
  }

  runtime::Member& member_;
  const std::string author_;
  base::Timer timer_;
};

struct Cluster {
  explicit Cluster(const std::string& name) : store(store::NewMemoryStore()) {
    apiserver::ApiOptions options;
    options.name = name;
    options.store = store.get();
    options.clock = &base::SystemClock();
    options.random = base::Random(base::EntropySeed());
    api = std::make_unique<apiserver::Api>(options);
    EXPECT_TRUE(api->Start());
  }
  std::unique_ptr<client::Client> Connect(const std::string& user, int64_t epoch = 0) {
    return apiserver::NewInProcessClient(*api, {user, {}}, epoch);
  }
  std::unique_ptr<store::Store> store;
  std::unique_ptr<apiserver::Api> api;
};

class CoordinationThreadsTest : public ::testing::Test {
 protected:
  static constexpr int kMembers = 4;

  CoordinationThreadsTest() : hub_("hub") {
    const auto admin = hub_.Connect("admin");
    EXPECT_TRUE(admin->Create(kube::resources::Namespaces(), kube::NewObject(kube::resources::Namespaces(), "", kNamespace)));
    for (int i = 0; i < kMembers; ++i) {
      const std::string name = "member-" + std::to_string(i);
      members_["https://" + name] = std::make_unique<Cluster>(name);
      EXPECT_TRUE(admin->Create(kube::resources::Secrets(), ClusterSecret(name, "https://" + name, "token", "")));
    }
  }

  struct Replica {
    std::unique_ptr<base::Executor> executor;
    std::unique_ptr<client::Client> hub;
    base::MetricRegistry metrics;
    std::unique_ptr<distribution::Distributor> distributor;
    ~Replica() { distributor.reset(); }
  };

  void Start(const std::string& host) {
    auto replica = std::make_unique<Replica>();
    replica->executor = base::NewThreadPool(8);
    replica->hub = hub_.Connect(host);
    distribution::Options options;
    options.host_name = host;
    // Long enough for a machine under sanitizers that has other things to do.
    options.lease_duration = 6s;
    options.lease_margin = 2s;
    options.replica_lease_duration = 4s;
    options.moves_per_minute = 1000;
    auto connect = [this, host](const client::ConnectionConfig& config,
                                int64_t epoch) -> base::Result<std::unique_ptr<client::Client>> {
      return members_.at(config.server)->Connect(host, epoch);
    };
    runtime::MemberControllerFactory writer = [host](runtime::Member& member) {
      return std::make_unique<Writer>(member, host);
    };
    replica->distributor = distribution::NewDistributor(
        {*replica->hub, *replica->executor, base::Random(base::EntropySeed()), options, connect, replica->metrics, {writer}});
    replica->distributor->Start();
    replicas_[host] = std::move(replica);
  }

  void Stop(const std::string& host) {
    std::promise<void> stopped;
    replicas_.at(host)->distributor->Stop([&] { stopped.set_value(); });
    ASSERT_EQ(stopped.get_future().wait_for(60s), std::future_status::ready);
    EXPECT_TRUE(replicas_.at(host)->distributor->status().owned.empty());
    replicas_.erase(host);
  }

  /// Waits until every member has one owner, and looks all the time that none has two.
  void Settle(size_t replicas) {
    const auto limit = std::chrono::steady_clock::now() + 90s;
    while (std::chrono::steady_clock::now() < limit) {
      std::map<std::string, int> owners;
      size_t healthy = 0;
      for (const auto& [host, replica] : replicas_) {
        healthy += replica->distributor->Health().has_value();
        for (const std::string& cluster : replica->distributor->status().owned) ++owners[cluster];
      }
      if (owners.size() == kMembers && healthy == replicas && replicas_.size() == replicas) return;
      std::this_thread::sleep_for(20ms);
    }
    ADD_FAILURE() << "not every member has an owner";
  }
  std::string AuthorOf(const std::string& server) {
    auto object = members_.at(server)->Connect("admin")->Get(kube::resources::ConfigMaps(), "default", "log");
    return object ? std::string(base::FindString(*object, {"data", "author"})) : "";
  }

  Cluster hub_;
  std::map<std::string, std::unique_ptr<Cluster>> members_;
  std::map<std::string, std::unique_ptr<Replica>> replicas_;
};

TEST_F(CoordinationThreadsTest, ReplicasComeStopAndVanishWhileTheyWrite) {
  for (const char* host : {"a", "b"}) Start(host);
  Settle(2);
  Start("c");
  Settle(3);
  Stop("a");
  Settle(2);
  // Without a word, as a crash: the strands end, the Leases stay.
  replicas_.erase("b");
  Settle(1);
  for (const auto& [server, member] : members_) {
    const auto limit = std::chrono::steady_clock::now() + 60s;
    while (AuthorOf(server) != "c" && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(20ms);
    EXPECT_EQ(AuthorOf(server), "c") << server;
  }
  Stop("c");
}

}  // namespace
}  // namespace evenkeel::embedded::fleet::coordination_threads_test
