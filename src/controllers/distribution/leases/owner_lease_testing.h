// One member and several replicas that want it, in virtual time: after every task at most one fence may be open. For tests
// only.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/fake_client_testing.h"
#include "client/fenced_client.h"
#include "controllers/distribution/leases/owner_lease.h"
#include "controllers/distribution/leases/owner_lease_record.h"

namespace evenkeel::controllers::distribution {

inline const std::string kOwnerLeaseKey = std::string(client::kOwnerLeaseNamespace) + "/" + client::kOwnerLease;

/// The member's API as one replica sees it: calls take their time, and answers may be lost.
class MemberDouble final : public client::ChangedFakeClient {
 public:
  explicit MemberDouble(std::shared_ptr<client::FakeApi> api) : ChangedFakeClient(std::move(api)) {}

  std::function<void()> on_call{};  ///< e.g. charges the strand
  int lose_answers = 0;             ///< so many writes take effect and end in a time-out

  base::Result<base::Json> Get(const kube::Resource& resource, std::string_view ns, std::string_view name,
                               std::string_view subresource) override {
    Begin();
    return fake.Get(resource, ns, name, subresource);
  }
  base::Result<client::ListPage> List(const kube::Resource& resource, const client::ListOptions& options) override {
    Begin();
    return fake.List(resource, options);
  }
  base::Result<base::Json> Create(const kube::Resource& resource, const base::Json& object,
                                  const client::WriteOptions& options) override {
    Begin();
    return Answer(fake.Create(resource, object, options));
  }
  base::Result<base::Json> Update(const kube::Resource& resource, const base::Json& object,
                                  const client::WriteOptions& options) override {
    Begin();
    return Answer(fake.Update(resource, object, options));
  }
  base::Result<std::unique_ptr<client::Watch>> NewWatch(const kube::Resource& resource, const client::WatchOptions& options,
                                                        client::WatchHandler handler) override {
    Begin();
    return fake.NewWatch(resource, options, std::move(handler));
  }
  std::string Describe() const override { return "member"; }

 private:
  void Begin() {
    if (on_call) on_call();
  }
  base::Result<base::Json> Answer(base::Result<base::Json> answer) {
    if (!answer || lose_answers == 0) return answer;
    --lose_answers;
    return base::Fail(base::Code::kTimeout, "no answer within 2s");
  }
};

/// A wall clock that is wrong, or stands still.
class WrongClock final : public base::Clock {
 public:
  explicit WrongClock(base::Clock& real) : real_(real) {}
  base::Duration skew{};
  std::optional<base::Time> stuck{};
  base::Time Now() const override { return stuck ? *stuck : real_.Now() + skew; }
  base::Instant Monotonic() const override { return real_.Monotonic(); }

 private:
  base::Clock& real_;
};

struct Party {
  Party(const std::string& identity, base::VirtualExecutor& executor, std::shared_ptr<client::FakeApi> api,
        OwnerLeaseOptions options = {})
      : name(identity), clock(executor.clock()), member(std::move(api)), strand(executor.NewStrand(identity)) {
    options.identity = identity;
    lease = std::make_unique<OwnerLease>(
        member, options, strand, clock, base::Random(3).Fork(identity),
        OwnerLease::Callbacks{[this](std::shared_ptr<client::Fence> f) { Won(std::move(f)); },
                              [this](const std::string& why) { Lost(why); }, [this] { ++changes; }});
  }

  void SetDesired(MemberRole role, int64_t epoch = 0, bool wait_for_successor = false) {
    inside = true;
    lease->SetDesired({role, epoch, wait_for_successor});
    inside = false;
  }
  std::string last() const { return log.empty() ? "" : log.back(); }
  bool open() const {
    return std::ranges::any_of(fences, [](const auto& fence) { return fence->open(); });
  }

  const std::string name;
  WrongClock clock;
  MemberDouble member;
  std::shared_ptr<base::Strand> strand;
  std::vector<std::string> log;                          ///< "won 7", "lost: WHY"
  std::vector<std::shared_ptr<client::Fence>> fences{};  ///< of all tenures
  base::Duration work{};                                 ///< how long it takes to end after `lost`
  bool releases = true;
  bool inside = false;
  int changes = 0;
  base::Timer ending{};
  std::unique_ptr<OwnerLease> lease;

 private:
  void Won(std::shared_ptr<client::Fence> fence) {
    EXPECT_FALSE(inside) << "called back from within a call";
    EXPECT_TRUE(fences.empty() || fences.back()->epoch() < fence->epoch());
    log.push_back("won " + std::to_string(fence->epoch()));
    fences.push_back(std::move(fence));
  }
  void Lost(const std::string& why) {
    EXPECT_FALSE(inside) << "called back from within a call";
    ASSERT_FALSE(fences.empty());
    EXPECT_FALSE(fences.back()->open()) << name << " lost it with the fence open";
    log.push_back("lost: " + why);
    if (!releases) return;
    if (work == base::Duration::zero()) return Release();
    ending = strand->PostAfter(work, [this] { Release(); });
  }
  void Release() {
    inside = true;
    lease->Released();
    inside = false;
  }
};

class OwnerLeaseTest : public ::testing::Test {
 protected:
  using Lines = std::vector<std::string>;

  static constexpr base::Time kStart{std::chrono::seconds(1'734'225'184)};
  base::VirtualExecutor executor{kStart};
  std::shared_ptr<client::FakeApi> api = std::make_shared<client::FakeApi>();
  std::map<std::string, std::unique_ptr<Party>> parties;
  int64_t last_epoch = 0;  ///< of the fence that was open last
  std::optional<base::Instant> shut_since;
  base::Duration longest_gap{};  ///< without an open fence, since the first one was

  Party& Join(const std::string& name, OwnerLeaseOptions options = {}) {
    return *(parties[name] = std::make_unique<Party>(name, executor, api, options));
  }
  /// Every call takes so long.
  static void Slow(Party& party, base::Duration cost) {
    party.member.on_call = [&party, cost] { party.strand->Charge(cost); };
  }

  base::Instant Now() { return executor.clock().Monotonic(); }
  bool Exists() { return api->objects["leases"].contains(kOwnerLeaseKey); }
  /// All zero when there is none.
  OwnerRecord Present() {
    const auto& leases = api->objects["leases"];
    const auto found = leases.find(kOwnerLeaseKey);
    return found == leases.end() ? OwnerRecord{} : OwnerRecord::Decode(found->second);
  }
  /// As kubectl would write it.
  void Put(const base::Json& object) { api->Put(kube::resources::Leases(), object); }
  void PutLease(const std::string& holder, int64_t epoch, base::Duration duration = std::chrono::seconds(15)) {
    Put(Acquired(nullptr, holder, duration, epoch, kStart));
  }

  /// Who may write, by the clock. At most one may, ever.
  std::string Owner() {
    std::string owner;
    for (const auto& [name, party] : parties) {
      for (const auto& fence : party->fences) {
        if (!fence->open()) continue;
        EXPECT_EQ(owner, "") << name << " may write as well";
        EXPECT_GE(fence->epoch(), last_epoch) << "an epoch went back";
        last_epoch = std::max(last_epoch, fence->epoch());
        owner = name;
      }
    }
    if (!owner.empty()) {
      shut_since.reset();
    } else if (last_epoch > 0) {
      if (!shut_since) shut_since = Now();
      longest_gap = std::max(longest_gap, Now() - *shut_since);
    }
    return owner;
  }
  void Run(base::Duration duration) {
    executor.RunUntil(
        [&] {
          Owner();
          return HasFailure();
        },
        duration);
    Owner();
  }
  /// Until `owner` may write; how long that took.
  base::Duration RunUntilOwner(const std::string& owner, base::Duration limit) {
    const base::Instant begin = Now();
    EXPECT_TRUE(executor.RunUntil([&] { return Owner() == owner || HasFailure(); }, limit)) << owner << " did not get it";
    return Now() - begin;
  }
};

}  // namespace evenkeel::controllers::distribution
