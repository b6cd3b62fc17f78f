#include "embedded/access/account_token.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace evenkeel::embedded::access::account_token_test {
namespace {

using namespace std::chrono_literals;

class AccountTokenTest : public ::testing::Test {
 protected:
  std::string Code(const std::string& token, base::Time at) {
    const auto verified = key.Verify(token, at);
    return verified ? verified->ns + "/" + verified->account + " " + verified->account_uid
                    : std::string(base::Reason(verified.error().code()));
  }
  const base::Time now{std::chrono::seconds(1'700'000'000)};
  const std::string pem = TokenKey::NewPem().value();
  const TokenKey key = TokenKey::FromPem(pem).value();
  const AccountToken issued{.ns = "a",
                            .account = "bot",
                            .account_uid = "u1",
                            .id = "t1",
                            .audiences = {"x", "y"},
                            .issued = now,
                            .expires = now + 1h};
};

TEST_F(AccountTokenTest, SaysWhatWasSigned) {
  const std::string token = key.Sign(issued);
  const auto verified = key.Verify(token, now);
  ASSERT_TRUE(verified);
  EXPECT_EQ(verified->audiences, issued.audiences);
  EXPECT_EQ(verified->id, "t1");
  EXPECT_EQ(verified->expires, issued.expires);
  EXPECT_EQ(Code(token, now), "a/bot u1");
  const auto jwt = ParseJwt(token);
  ASSERT_TRUE(jwt);
  EXPECT_EQ(base::ToText(jwt->header), R"({"alg":"ES256"})");
  EXPECT_EQ(base::FindString(jwt->claims, {"sub"}), "system:serviceaccount:a:bot");
  const std::string kept = key.Sign({.ns = "a", .account = "bot", .account_uid = "u1", .secret = "s", .secret_uid = "u2"});
  const auto legacy = key.Verify(kept, now + 100'000h);
  ASSERT_TRUE(legacy) << "it does not end by itself";
  EXPECT_EQ(legacy->secret + legacy->secret_uid, "su2");
}

TEST_F(AccountTokenTest, HoldsOnlyInItsTimeAndAsItWasSigned) {
  const std::string token = key.Sign(issued);
  EXPECT_EQ(Code(token, now - 1s), "Unauthorized");
  EXPECT_EQ(Code(token, now + 59min), "a/bot u1");
  EXPECT_EQ(Code(token, now + 1h), "Unauthorized");
  const size_t first = token.find('.'), last = token.rfind('.');
  for (const size_t at : {size_t{3}, first + 5, last + 5}) {
    std::string changed = token;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    EXPECT_EQ(Code(changed, now), "Unauthorized") << at;
  }
  EXPECT_EQ(Code(token.substr(0, last + 1), now), "Unauthorized");
  std::string unsigned_header = base::Base64Encode(R"({"alg":"none"})");
  unsigned_header.resize(unsigned_header.find_last_not_of('=') + 1);
  EXPECT_EQ(Code(unsigned_header + token.substr(first), now), "Unauthorized");
  const TokenKey other = TokenKey::FromPem(TokenKey::NewPem().value()).value();
  EXPECT_FALSE(other.Verify(token, now));
  EXPECT_TRUE(TokenKey::FromPem(pem)->Verify(token, now)) << "the same key, read again";
}

TEST_F(AccountTokenTest, OtherTextIsNoToken) {
  for (const char* text : {"", ".", "..", "...", "a.b.c", "e30.e30.", "e30.e30.e30.e30", "W10.W10.AA", "e30=.e30.AA"}) {
    EXPECT_EQ(Code(text, now), "Unauthorized") << text;
  }
  EXPECT_TRUE(ParseJwt("e30.e30."));
  EXPECT_FALSE(ParseJwt(std::string(20'000, 'a') + ".e30.")) << "longer than any";
  EXPECT_FALSE(TokenKey::FromPem("-----BEGIN PRIVATE KEY-----"));
}

}  // namespace
}  // namespace evenkeel::embedded::access::account_token_test
