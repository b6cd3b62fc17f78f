#include "embedded/apiserver/access/store_follower.h"

#include <gtest/gtest.h>

#include <map>

#include "embedded/store/memory_store.h"

namespace evenkeel::embedded::apiserver::store_follower_test {
namespace {

using base::Code;
using namespace std::chrono_literals;

/// Can be cut off, as an etcd behind a network.
class CutStore final : public store::Store {
 public:
  base::Result<store::KeyValue> Get(const std::string& key, store::Revision revision) override {
    return next_->Get(key, revision);
  }
  base::Result<store::ListResult> List(const store::ListOptions& options) override {
    if (cut) return base::Fail(Code::kUnavailable, "etcd does not answer");
    return next_->List(options);
  }
  void Commit(store::Write write, std::function<void(base::Result<store::Revision>)> done) override {
    next_->Commit(std::move(write), std::move(done));
  }
  base::Result<std::unique_ptr<store::Watch>> NewWatch(std::string prefix, store::Revision after,
                                                       store::WatchHandler handler) override {
    if (cut) return base::Fail(Code::kUnavailable, "etcd does not answer");
    ++watches;
    handler_ = handler;
    return next_->NewWatch(std::move(prefix), after,
                           [this, handler](std::vector<store::Event> batch, const base::Error* error) {
                             if (!cut) handler(std::move(batch), error);
                           });
  }
  store::Revision current_revision() override { return next_->current_revision(); }
  base::Status Compact(store::Revision revision) override { return next_->Compact(revision); }
  store::Revision compacted_revision() override { return next_->compacted_revision(); }
  bool reads_block() const override { return false; }

  void EndWatch() {
    const base::Error expired(Code::kExpired, "compacted");
    handler_({}, &expired);
  }

  bool cut = false;
  int watches = 0;

 private:
  std::unique_ptr<store::Store> next_ = store::NewMemoryStore();
  store::WatchHandler handler_;
};

class StoreFollowerTest : public ::testing::Test {
 protected:
  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(store.CommitAndWait({.key = key, .value = std::make_shared<const std::string>(value)}));
  }
  void Remove(const std::string& key) { ASSERT_TRUE(store.CommitAndWait({.key = key, .value = nullptr})); }
  using Known = std::map<std::string, std::string>;

  base::VirtualExecutor executor{base::Time{}};
  CutStore store;
  Known known;
  StoreFollower follower{store,
                         "/x/",
                         "things",
                         {.put = [this](const store::KeyValue& item) { known[item.key.substr(3)] = *item.value; },
                          .remove = [this](const std::string& key, store::Revision) { known.erase(key); }},
                         &executor};
};

TEST_F(StoreFollowerTest, TellsOfWhatIsThereAndOfWhatHappens) {
  Put("/x/a", "1");
  Put("/y/a", "1");
  EXPECT_FALSE(follower.current());
  ASSERT_TRUE(follower.Start());
  EXPECT_TRUE(follower.current());
  EXPECT_EQ(known, (Known{{"a", "1"}}));
  Put("/x/b", "1");
  Put("/x/a", "2");
  EXPECT_EQ(known, (Known{{"a", "2"}, {"b", "1"}}));
  Remove("/x/a");
  EXPECT_EQ(known, (Known{{"b", "1"}}));
}

TEST_F(StoreFollowerTest, AfterAPartitionItKnowsWhatItHasMissed) {
  for (const char* key : {"/x/kept", "/x/changed", "/x/gone"}) Put(key, "1");
  ASSERT_TRUE(follower.Start());
  store.cut = true;
  Put("/x/changed", "2");
  Put("/x/new", "1");
  Remove("/x/gone");
  store.EndWatch();
  executor.RunFor(10s);
  EXPECT_FALSE(follower.current());
  EXPECT_EQ(known, (Known{{"kept", "1"}, {"changed", "1"}, {"gone", "1"}}));
  store.cut = false;
  executor.RunFor(2s);
  EXPECT_TRUE(follower.current());
  EXPECT_EQ(known, (Known{{"kept", "1"}, {"changed", "2"}, {"new", "1"}}));
  Put("/x/later", "1");
  EXPECT_EQ(known.count("later"), 1U);
  EXPECT_EQ(store.watches, 2);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::store_follower_test
