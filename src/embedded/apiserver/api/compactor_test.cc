#include "embedded/apiserver/api/compactor.h"

#include <gtest/gtest.h>

#include "embedded/store/memory_store.h"

namespace evenkeel::embedded::apiserver::compactor_test {
namespace {

TEST(CompactorTest, KeepsLittleMoreThanFiveMinutesOfHistory) {
  base::VirtualExecutor executor(base::Time{});
  auto store = store::NewMemoryStore();
  auto write = [&](const char* value) {
    return *store->CommitAndWait({.key = "/a", .value = std::make_shared<const std::string>(value)});
  };
  const store::Revision first = write("1");
  const store::Revision second = write("2");
  Compactor compactor(*store, executor);
  executor.RunFor(Compactor::kInterval);
  write("3");
  executor.RunFor(Compactor::kKept - std::chrono::seconds(1));
  EXPECT_TRUE(store->Get("/a", first)) << "not five minutes since it was looked at";
  executor.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(store->Get("/a", first).error().code(), base::Code::kExpired);
  EXPECT_TRUE(store->Get("/a", second));
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::compactor_test
