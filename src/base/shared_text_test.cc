#include "base/shared_text.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace evenkeel::base::shared_text_test {
namespace {

TEST(SharedTextTest, EqualTextsShareTheirBytes) {
  const SharedText a("ReplicaSet"), b(std::string("ReplicaSet")), c("StatefulSet");
  EXPECT_EQ(&a.text(), &b.text());
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == c);
  EXPECT_EQ(a, "ReplicaSet");
  EXPECT_EQ(a + "/" + b, "ReplicaSet/ReplicaSet");
  EXPECT_EQ(sizeof(SharedText), sizeof(void*));
}

TEST(SharedTextTest, AnEmptyOneIsTheSameAsNone) {
  EXPECT_TRUE(SharedText("").empty());
  EXPECT_EQ(SharedText(""), SharedText());
  EXPECT_EQ(SharedText().text(), "");
}

TEST(SharedTextTest, CopiesAndAssignmentsKeepTheText) {
  SharedText a("one");
  const SharedText copy = a;
  a = "two";
  EXPECT_EQ(copy, "one");
  EXPECT_EQ(a, "two");
  a = a.text();
  EXPECT_EQ(a, "two");
  const SharedText moved = std::move(a);
  EXPECT_EQ(moved, "two");
}

TEST(SharedTextTest, ManyThreadsMakeAndDropTheSame) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 5000; ++round) {
        const SharedText text("text-" + std::to_string(round % 7));
        const SharedText copy = text;
        EXPECT_EQ(copy, "text-" + std::to_string(round % 7));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace evenkeel::base::shared_text_test
