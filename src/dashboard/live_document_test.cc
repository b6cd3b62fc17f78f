#include "dashboard/live_document.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace evenkeel::dashboard::live_document_test {
namespace {

using base::Json;
using base::JsonObject;

Json Parsed(std::string_view text) { return *base::ParseJson(text, "test"); }

TEST(LiveDocumentTest, APatchIsFromWhatWasSentToWhatIsThere) {
  LiveDocument document;
  document.Set("name", "a");
  document.Set("nodes", "n1", Parsed(R"({"state": "Ready", "pods": 1})"));
  EXPECT_EQ(document.TakePatch(), Parsed(R"({"name": "a", "nodes": {"n1": {"state": "Ready", "pods": 1}}})"));
  EXPECT_EQ(document.TakePatch(), JsonObject());
  document.Set("nodes", "n1", Parsed(R"({"state": "Ready", "pods": 2})"));
  document.Set("nodes", "n1", Parsed(R"({"state": "NotReady", "pods": 1})"));
  EXPECT_EQ(document.TakePatch(), Parsed(R"({"nodes": {"n1": {"state": "NotReady"}}})"));
  document.Set("nodes", "n1", Parsed(R"({"state": "Ready", "pods": 1})"));
  document.Set("nodes", "n1", Parsed(R"({"state": "NotReady", "pods": 1})"));
  EXPECT_EQ(document.TakePatch(), JsonObject()) << "it is again as it was sent";
}

TEST(LiveDocumentTest, WhatGoesAndComesAgainLeavesNothingOfWhatItWas) {
  LiveDocument document;
  document.Set("nodes", "n1", Parsed(R"({"state": "Ready", "group": "general"})"));
  document.TakePatch();
  document.Erase("nodes", "n1");
  document.Set("nodes", "n1", Parsed(R"({"state": "Upcoming"})"));
  EXPECT_EQ(document.TakePatch(), Parsed(R"({"nodes": {"n1": {"state": "Upcoming", "group": null}}})"));
  document.Erase("nodes", "n1");
  EXPECT_EQ(document.TakePatch(), Parsed(R"({"nodes": {"n1": null}})"));
  EXPECT_EQ(document.Find("nodes", "n1"), nullptr);
}

/// Without members that are null, which a merge patch cannot tell from those that are not there.
Json WithoutNulls(const Json& value) {
  Json out = JsonObject{};
  base::ApplyMergePatch(out, value);
  return out;
}

TEST(LiveDocumentTest, WhoeverAppliesThePatchesHasTheDocument) {
  base::Random random(7);
  LiveDocument document;
  Json seen = JsonObject{};
  for (int step = 0; step < 2000; ++step) {
    const std::string field = random.Chance(0.5) ? "nodes" : "pods", key = std::to_string(random.Below(6));
    Json value = JsonObject{{"a", random.Below(3)}};
    if (random.Chance(0.5)) value.get_object()["b"] = JsonObject{{"c", random.Below(2)}};
    if (random.Chance(0.3)) value.get_object()["d"] = nullptr;
    switch (random.Below(4)) {
      case 0:
        document.Erase(field, key);
        break;
      case 1:
        document.Set("whole", random.Chance(0.5) ? value : Json(random.Below(3)));
        break;
      default:
        document.Set(field, key, value);
    }
    if (random.Chance(0.3)) {
      base::ApplyMergePatch(seen, document.TakePatch());
      ASSERT_TRUE(base::Equal(seen, WithoutNulls(document.value()))) << step;
    }
  }
}

}  // namespace
}  // namespace evenkeel::dashboard::live_document_test
