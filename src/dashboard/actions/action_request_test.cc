#include "dashboard/actions/action_request.h"

#include <gtest/gtest.h>

namespace evenkeel::dashboard::action_request_test {
namespace {

std::string Refusal(std::string_view body) {
  const auto request = ActionRequest::Parse(body);
  return request ? "no error" : request.error().message();
}

TEST(ActionRequestTest, ReadsWhatItsActionNeeds) {
  const auto scale = ActionRequest::Parse(R"({"action":"scale","cluster":"m","name":"g","size":3,"dryRun":true,"seen":null})");
  ASSERT_TRUE(scale);
  EXPECT_EQ(scale->kind, ActionKind::kScale);
  EXPECT_EQ(scale->cluster + "/" + scale->name, "m/g");
  EXPECT_EQ(scale->size, 3);
  EXPECT_TRUE(scale->dry_run);
  const auto pause = ActionRequest::Parse(R"({"action":"pause","namespace":"ns","name":"zk","seen":"1"})");
  ASSERT_TRUE(pause);
  EXPECT_TRUE(pause->on_hub());
  EXPECT_EQ(pause->ns + "/" + pause->name, "ns/zk");
  EXPECT_EQ(pause->seen, "1");
}

TEST(ActionRequestTest, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(Refusal("{}"), "request body: action: missing");
  EXPECT_EQ(Refusal(R"({"action":"erase"})"),
            "request body: action: \"erase\" is not cordon, uncordon, drain, scale, pause, resume, approve or reject");
  EXPECT_EQ(Refusal(R"({"action":"drain","name":"n","dryRun":true})"), "request body: cluster: not the name of an object");
  EXPECT_EQ(Refusal(R"({"action":"drain","cluster":"..","name":"n","dryRun":true})"),
            "request body: cluster: not the name of an object");
  EXPECT_EQ(Refusal(R"({"action":"resume","name":"n","dryRun":true})"), "request body: namespace: not the name of an object");
  EXPECT_EQ(Refusal(R"({"action":"drain","cluster":"m","name":7,"dryRun":true})"), "request body: name: not a text");
  EXPECT_EQ(Refusal(R"({"action":"scale","cluster":"m","name":"g","dryRun":true})"), "request body: size: missing");
  EXPECT_EQ(Refusal(R"({"action":"scale","cluster":"m","name":"g","size":-1,"dryRun":true})"),
            "request body: size: not a whole number from 0 to 100000");
  EXPECT_EQ(Refusal(R"({"action":"drain","cluster":"m","name":"n"})"), "request body: seen: missing: ask with dryRun first");
  EXPECT_EQ(Refusal(R"({"action":"drain","cluster":"m","name":"n","dryRun":"yes"})"),
            "request body: dryRun: not true or false");
}

}  // namespace
}  // namespace evenkeel::dashboard::action_request_test
