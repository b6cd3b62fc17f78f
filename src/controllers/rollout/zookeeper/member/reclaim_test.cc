#include "controllers/rollout/zookeeper/member/reclaim.h"

#include "controllers/rollout/zookeeper/member/picture_testing.h"

namespace evenkeel::controllers::rollout::zookeeper::member::reclaim_test {
namespace {

constexpr const char* kDelete = R"({"spec": {"storage": {"reclaimPolicy": "Delete"}}})";

/// Servers 1 and 2 here, of 1 to 4, after 3 has been let go; volumes of the ordinals 0 to 2.
Picture LetGo(const std::string& more = kDelete) {
  Picture picture = testing::PictureOf(testing::SpecOf(2, {1, 2, 4}, 0, more), {{'L'}, {'F'}}, {{4, 'F'}}, {1, 2, 4}, 2);
  for (int64_t ordinal = 0; ordinal < 3; ++ordinal) {
    picture.claims.push_back({fmt::format("data-zk-{}", ordinal), fmt::format("uid-{}", ordinal), "1", ordinal});
  }
  return picture;
}
std::string Next(const Picture& picture) {
  const auto claim = NextReclaim(picture, Ensemble(picture));
  return claim ? claim->name : "";
}

TEST(Reclaim, TheVolumeOfAServerThatWasLetGoIsDeletedWhereThatIsWished) {
  EXPECT_EQ(Next(LetGo()), "data-zk-2");
  EXPECT_EQ(Next(LetGo("{}")), "");
  EXPECT_EQ(Next(LetGo(R"({"spec": {"storage": {"reclaimPolicy": "Retain"}}})")), "");
}

TEST(Reclaim, NotWhileAnythingCouldNeedIt) {
  Picture picture = LetGo();
  picture.set_replicas = 3;
  EXPECT_EQ(Next(picture), "") << "its pod may come back";
  picture.set_replicas.reset();
  EXPECT_EQ(Next(picture), "") << "the StatefulSet is not seen";
  picture = LetGo();
  picture.pods.push_back(picture.pods.back());
  picture.pods.back().ordinal = 2;
  EXPECT_EQ(Next(picture), "") << "its pod is still there";
  picture = testing::PictureOf(picture.spec, {{'L'}, {'F'}}, {{4, 'F'}}, {1, 2, 3, 4}, 2);
  picture.claims = LetGo().claims;
  EXPECT_EQ(Next(picture), "") << "it is a member";
  picture = testing::PictureOf(picture.spec, {{'F'}, {'F'}}, {{4, '-'}}, {1, 2, 4}, 2);
  picture.claims = LetGo().claims;
  EXPECT_EQ(Next(picture), "") << "nobody says who is a member";
}

TEST(Reclaim, WhatWasNotLetGoStays) {
  Picture picture = LetGo(R"({"spec": {"replicas": 0, "abandoned": true, "storage": {"reclaimPolicy": "Delete"}}})");
  picture.pods.clear();
  picture.set_replicas = 0;
  EXPECT_EQ(Next(picture), "");
}

TEST(Reclaim, NoServerComesToAVolumeThatMayStillBeDeleted) {
  Picture picture = LetGo();
  EXPECT_EQ(WithoutDoubted(picture, 3), 3);
  picture.claims[2].doubted = true;
  EXPECT_EQ(WithoutDoubted(picture, 4), 2);
  EXPECT_EQ(WithoutDoubted(picture, 1), 1);
  picture.set_replicas = 3;
  EXPECT_EQ(WithoutDoubted(picture, 4), 4) << "it runs already";
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::member::reclaim_test
