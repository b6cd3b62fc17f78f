#include "embedded/apiserver/api/event_expiry.h"

#include <gtest/gtest.h>

#include "embedded/store/memory_store.h"

namespace evenkeel::embedded::apiserver::event_expiry_test {
namespace {

constexpr char kPrefix[] = "/registry/core/events/";

class EventExpiryTest : public ::testing::Test {
 protected:
  void Write(const std::string& key) {
    ASSERT_TRUE(store_->CommitAndWait({.key = key, .value = std::make_shared<const std::string>("{}")}));
  }
  void WriteEvent(const std::string& name) { Write(kPrefix + name); }
  bool IsThere(const std::string& name) { return store_->Get(kPrefix + name).has_value(); }

  base::VirtualExecutor executor_{base::Time{}};
  std::unique_ptr<store::Store> store_ = store::NewMemoryStore();
};

TEST_F(EventExpiryTest, RemovesWhatWasNotWrittenForAnHour) {
  WriteEvent("default/old");
  WriteEvent("default/again");
  Write("/registry/core/pods/default/old");
  EventExpiry expiry(*store_, kPrefix, executor_);
  executor_.RunFor(std::chrono::minutes(30));
  WriteEvent("default/again");
  executor_.RunFor(std::chrono::minutes(29));
  EXPECT_TRUE(IsThere("default/old"));
  executor_.RunFor(std::chrono::minutes(2));
  EXPECT_FALSE(IsThere("default/old"));
  EXPECT_TRUE(IsThere("default/again"));
  EXPECT_TRUE(store_->Get("/registry/core/pods/default/old")) << "only events";
  executor_.RunFor(std::chrono::minutes(30));
  EXPECT_FALSE(IsThere("default/again"));
}

TEST_F(EventExpiryTest, KeepsTheNewestWhereThereAreMany) {
  EventExpiry expiry(*store_, kPrefix, executor_);
  executor_.RunFor(std::chrono::seconds(1));
  for (size_t i = 0; i < EventExpiry::kEventsMax + 120; ++i) WriteEvent("default/" + std::to_string(i));
  WriteEvent("default/0");
  executor_.RunFor(EventExpiry::kInterval);
  EXPECT_EQ(store_->List({.prefix = kPrefix})->items.size(), EventExpiry::kEventsMax);
  EXPECT_TRUE(IsThere("default/0")) << "written again";
  EXPECT_FALSE(IsThere("default/120"));
  EXPECT_TRUE(IsThere("default/121"));
}

TEST_F(EventExpiryTest, KeepsOnlyTheYoungOfMoreThanSome) {
  EventExpiry expiry(*store_, kPrefix, executor_);
  executor_.RunFor(std::chrono::seconds(1));
  for (size_t i = 0; i < 2 * EventExpiry::kOldEventsMax; ++i) WriteEvent("default/" + std::to_string(i));
  executor_.RunFor(EventExpiry::kYouth - EventExpiry::kInterval);
  EXPECT_EQ(store_->List({.prefix = kPrefix})->items.size(), 2 * EventExpiry::kOldEventsMax) << "all are young";
  WriteEvent("default/new");
  executor_.RunFor(2 * EventExpiry::kInterval);
  EXPECT_EQ(store_->List({.prefix = kPrefix})->items.size(), EventExpiry::kOldEventsMax);
  EXPECT_TRUE(IsThere("default/new"));
  EXPECT_FALSE(IsThere("default/0"));
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::event_expiry_test
