#include <set>

#include "client/forwarding_client.h"
#include "dashboard/access/gate.h"
#include "dashboard/access/sessions.h"
#include "dashboard/access/token.h"
#include "dashboard/dashboard_testing.h"

namespace evenkeel::dashboard::access_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

class ReviewingClient final : public client::ForwardingClient {
 public:
  using ForwardingClient::ForwardingClient;
  base::Result<Json> Create(const kube::Resource&, const Json& object, const client::WriteOptions&) override {
    asked = object;
    return answer;
  }
  Json asked;
  base::Result<Json> answer = Json();
};

TEST(GateTest, TheHubIsAskedAndWhatItDoesNotSayIsRefused) {
  client::FakeClient fake;
  ReviewingClient hub(fake);
  const auto gate = NewHubGate(hub);
  const Identity ann{.user = "ann", .groups = {"people"}, .uid = "7"};
  hub.answer = Parsed(R"({"status": {"allowed": true}})");
  EXPECT_TRUE(gate->Allow(ann, MayOnMember("drain", "member-1")));
  EXPECT_EQ(base::ToText(hub.asked.at("spec")),
            R"({"user":"ann","resourceAttributes":{"group":"dashboard.evenkeel.dev","verb":"drain","resource":"members",)"
            R"("name":"member-1"},"groups":["people"],"uid":"7"})");
  for (const char* no : {R"({"status": {"allowed": false}})", R"({"status": {"allowed": true, "denied": true}})", "{}"}) {
    hub.answer = Parsed(no);
    EXPECT_EQ(gate->Allow(ann, MayLook()).error().code(), base::Code::kForbidden) << no;
  }
  hub.answer = base::Fail(base::Code::kForbidden, "not for you");
  EXPECT_EQ(gate->Allow(ann, MayLook()).error().code(), base::Code::kUnavailable);
  EXPECT_EQ(gate->WhoIs("t").error().code(), base::Code::kUnavailable);
  hub.answer = Parsed(R"({"status": {"authenticated": true, "user": {"username": "ann", "uid": "7", "groups": ["people"]}}})");
  EXPECT_EQ(gate->WhoIs("t").value(), ann);
  hub.answer = Parsed(R"({"status": {"user": {"username": "ann"}}})");
  EXPECT_EQ(gate->WhoIs("t").error().code(), base::Code::kUnauthorized);
}

TEST(SessionsTest, ThereIsAMost) {
  base::Time now = kStart;
  Sessions sessions([&now] { return now; });
  const std::string first = sessions.Open(TokenHolder(), "a");
  for (size_t i = 0; i < kSessionsMax; ++i) {
    now += 1s;
    sessions.Open(ReadTokenHolder(), "b");
  }
  EXPECT_EQ(sessions.List().size(), kSessionsMax);
  EXPECT_FALSE(sessions.Find(first)) << "idle for longest";
}

TEST(TokenTest, ATokenIsMadeOnceAndIsHardToGuess) {
  std::set<std::string> tokens;
  for (int i = 0; i < 10; ++i) tokens.insert(NewToken());
  EXPECT_EQ(tokens.size(), 10U);
  EXPECT_EQ(tokens.begin()->size(), 64U);
  EXPECT_TRUE(SameToken("abc", "abc"));
  EXPECT_FALSE(SameToken("abc", "abd"));
  EXPECT_FALSE(SameToken("", ""));
}

}  // namespace
}  // namespace evenkeel::dashboard::access_test
