#include "embedded/apiserver/access/account_tokens.h"

#include "base/hash.h"
#include "embedded/apiserver/access/access_control.h"
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::account_tokens_test {
namespace {

using base::FindString;
using base::Json;
using namespace std::chrono_literals;

constexpr char kAccounts[] = "/api/v1/namespaces/default/serviceaccounts";
constexpr char kSecrets[] = "/api/v1/namespaces/default/secrets";
constexpr char kReviews[] = "/apis/authentication.k8s.io/v1/tokenreviews";

class AccountTokensTest : public ::testing::Test {
 protected:
  AccountTokensTest() {
    EXPECT_TRUE(api.Start().has_value());
    api.access().authenticator().AddToken("static", {"ann", {"devs"}});
    MakeAccount("bot");
  }

  TestReply Send(const std::string& method, const std::string& target, const std::string& body = "") {
    HttpRequest request = NewTestRequest(method, target, body);
    request.user = {"admin", {access::kMasters}};
    auto reply = std::make_shared<TestReply>();
    handler.Handle(std::move(request), std::make_unique<TestResponder>(reply));
    executor.RunFor(100ms);
    return *reply;
  }
  void MakeAccount(const std::string& name) {
    EXPECT_EQ(Send("POST", kAccounts, R"({"metadata":{"name":")" + name + "\"}}").status, 201);
  }
  std::string NewToken(const std::string& spec = "{}") {
    const TestReply reply = Send("POST", std::string(kAccounts) + "/bot/token", R"({"spec":)" + spec + "}");
    EXPECT_EQ(reply.status, 201) << reply.body;
    return std::string(FindString(reply.json(), {"status", "token"}));
  }
  /// The user of a request with that token; "" where it is refused.
  std::string UserOf(const std::string& token) {
    HttpRequest request;
    request.headers["authorization"] = "Bearer " + token;
    const auto user = api.access().authenticator().Authenticate(request);
    return user && user->has_value() ? (*user)->name : "";
  }
  std::string MakeSecret(const std::string& account) {
    EXPECT_EQ(Send("POST", kSecrets,
                   R"({"metadata":{"name":"s","annotations":{"kubernetes.io/service-account.name":")" + account +
                       R"("}},"type":"kubernetes.io/service-account-token"})")
                  .status,
              201);
    std::string token;
    const Json secret = Send("GET", std::string(kSecrets) + "/s").json();
    EXPECT_TRUE(base::Base64Decode(FindString(secret, {"data", "token"}), token));
    return token;
  }

  static constexpr const char* kBot = "system:serviceaccount:default:bot";
  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::unique_ptr<store::Store> store = store::NewMemoryStore();
  Api api{{.name = "test",
           .store = store.get(),
           .clock = &executor.clock(),
           .random = base::Random(7),
           .executor = &executor,
           .account_key = access::TokenKey::FromPem(access::TokenKey::NewPem().value()).value(),
           .account_ca_pem = "CA"}};
  ApiHandler handler{api, {.executor = &executor}};
};

TEST_F(AccountTokensTest, ARequestedTokenIsItsAccountsForItsTime) {
  const TestReply reply =
      Send("POST", std::string(kAccounts) + "/bot/token", R"({"spec":{"expirationSeconds":600,"boundObjectRef":null}})");
  EXPECT_EQ(FindString(reply.json(), {"kind"}), "TokenRequest");
  EXPECT_EQ(FindString(reply.json(), {"status", "expirationTimestamp"}), "2023-11-14T22:23:20Z");
  EXPECT_EQ(FindString(reply.json(), {"spec", "audiences"}), "");
  const std::string token(FindString(reply.json(), {"status", "token"}));
  EXPECT_EQ(UserOf(token), kBot);
  executor.RunFor(599s);
  EXPECT_EQ(UserOf(token), kBot);
  executor.RunFor(1s);
  EXPECT_EQ(UserOf(token), "");
}

TEST_F(AccountTokensTest, ATokenEndsWithItsAccount) {
  const std::string token = NewToken();
  EXPECT_EQ(Send("DELETE", std::string(kAccounts) + "/bot").status, 200);
  EXPECT_EQ(UserOf(token), "");
  MakeAccount("bot");
  EXPECT_EQ(UserOf(token), "") << "another account of that name";
  EXPECT_EQ(UserOf(NewToken()), kBot);
}

TEST_F(AccountTokensTest, RefusesRequestsThatAreWrong) {
  const std::string path = std::string(kAccounts) + "/bot/token";
  EXPECT_EQ(Send("POST", std::string(kAccounts) + "/nobody/token", "{}").status, 404);
  EXPECT_EQ(Send("POST", path, R"({"spec":{"expirationSeconds":599}})").message(),
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a "
            "duration "
            "less than 10 minutes");
  EXPECT_EQ(Send("POST", path, R"({"spec":{"expirationSeconds":4294967297}})").status, 422);
  EXPECT_EQ(Send("POST", path, R"({"spec":{"audiences":"x"}})").status, 422);
  EXPECT_EQ(Send("POST", path, R"({"spec":[]})").status, 422);
  EXPECT_EQ(Send("POST", path, R"({"spec":{"boundObjectRef":{"kind":"Pod","name":"x"}}})").status, 422);
  EXPECT_EQ(Send("POST", path, R"({"kind":"Pod","apiVersion":"v1"})").status, 400);
  EXPECT_EQ(Send("GET", path).status, 405);
}

TEST_F(AccountTokensTest, ATokenForOthersIsNotTakenHere) {
  const std::string token = NewToken(R"({"audiences":["vault"]})");
  EXPECT_EQ(UserOf(token), "");
  const auto review = [&](const std::string& spec) { return Send("POST", kReviews, R"({"spec":)" + spec + "}").json(); };
  EXPECT_FALSE(base::FindBool(review(R"({"token":")" + token + "\"}"), {"status", "authenticated"}));
  const Json asked = review(R"({"audiences":["vault","other"],"token":")" + token + "\"}");
  EXPECT_TRUE(base::FindBool(asked, {"status", "authenticated"}));
  EXPECT_EQ(base::ToText(*base::Find(asked, {"status", "audiences"})), R"(["vault"])");
  EXPECT_EQ(FindString(asked, {"status", "user", "username"}), kBot);
}

TEST_F(AccountTokensTest, ReviewsKnowStaticTokensToo) {
  const Json known = Send("POST", kReviews, R"({"spec":{"token":"static"}})").json();
  EXPECT_EQ(base::ToText(*base::Find(known, {"status"})),
            R"({"authenticated":true,"user":{"username":"ann","groups":["devs","system:authenticated"]}})");
  const Json unknown = Send("POST", kReviews, R"({"spec":{"token":"guess"}})").json();
  EXPECT_FALSE(base::FindBool(unknown, {"status", "authenticated"}));
  EXPECT_NE(FindString(unknown, {"status", "error"}), "");
  EXPECT_EQ(Send("POST", kReviews, R"({"spec":{}})").status, 400);
}

TEST_F(AccountTokensTest, ASecretIsFilledInAndItsTokenEndsWithIt) {
  const std::string token = MakeSecret("bot");
  const Json secret = Send("GET", std::string(kSecrets) + "/s").json();
  EXPECT_EQ(FindString(secret, {"data", "ca.crt"}), base::Base64Encode("CA"));
  EXPECT_EQ(FindString(secret, {"data", "namespace"}), base::Base64Encode("default"));
  EXPECT_NE(FindString(secret, {"metadata", "annotations", "kubernetes.io/service-account.uid"}), "");
  EXPECT_EQ(UserOf(token), kBot);
  executor.RunFor(24h);
  EXPECT_EQ(UserOf(token), kBot);
  EXPECT_EQ(Send("DELETE", std::string(kSecrets) + "/s").status, 200);
  EXPECT_EQ(UserOf(token), "");
}

TEST_F(AccountTokensTest, ASecretGoesWithItsAccount) {
  const std::string token = MakeSecret("bot");
  EXPECT_EQ(Send("DELETE", std::string(kAccounts) + "/bot").status, 200);
  EXPECT_EQ(UserOf(token), "");
  EXPECT_EQ(Send("GET", std::string(kSecrets) + "/s").status, 404);
  EXPECT_EQ(Send("POST", kSecrets,
                 R"({"metadata":{"name":"t","annotations":{"kubernetes.io/service-account.name":"nobody"}},
                     "type":"kubernetes.io/service-account-token"})")
                .status,
            201);
  EXPECT_EQ(Send("GET", std::string(kSecrets) + "/t").status, 404);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::account_tokens_test
