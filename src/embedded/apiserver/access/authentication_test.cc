#include "embedded/apiserver/access/authentication.h"

#include <gtest/gtest.h>

namespace evenkeel::embedded::apiserver::authentication_test {
namespace {

using base::Code;

HttpRequest RequestWith(std::string path, std::string authorization, std::string subject = "") {
  HttpRequest request;
  request.path = std::move(path);
  if (!authorization.empty()) request.headers["authorization"] = std::move(authorization);
  request.client_certificate_subject = std::move(subject);
  return request;
}

std::string Describe(const base::Result<std::optional<UserInfo>>& user) {
  if (!user) return "error: " + user.error().message();
  if (!user->has_value()) return "nobody";
  std::string text = (*user)->name;
  for (const std::string& group : (*user)->groups) text += "|" + group;
  return text;
}

TEST(SubjectTest, ComesBackFromItsText) {
  const std::string subject = FormatSubject("a,b\\c", {"O=x", "system:masters"});
  EXPECT_EQ(subject, "CN=a\\,b\\\\c,O=O=x,O=system:masters");
  const std::optional<UserInfo> user = ParseSubject(subject);
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(user->name, "a,b\\c");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"O=x", "system:masters"}));
  EXPECT_FALSE(ParseSubject("O=x").has_value());
  EXPECT_FALSE(ParseSubject("").has_value());
}

TEST(AuthenticatorTest, KnowsTokensAndCertificates) {
  Authenticator authenticator;
  ASSERT_TRUE(authenticator.AddTokensFromText("t1,ann,1\n\n  t2,bob,2,\"g1,g2\" \r\nt3,\"c,d\",3,g3\n", "tokens.csv"));
  EXPECT_EQ(Describe(authenticator.Authenticate(RequestWith("/", "Bearer t1"))), "ann|system:authenticated");
  EXPECT_EQ(Describe(authenticator.Authenticate(RequestWith("/", "bearer  t2"))), "bob|g1|g2|system:authenticated");
  EXPECT_EQ(Describe(authenticator.Authenticate(RequestWith("/", "Bearer t3"))), "c,d|g3|system:authenticated");
  EXPECT_EQ(Describe(authenticator.Authenticate(RequestWith("/", "", "CN=eve,O=system:masters"))),
            "eve|system:masters|system:authenticated");
  EXPECT_EQ(Describe(authenticator.Authenticate(RequestWith("/", ""))), "nobody");
}

TEST(AuthenticatorTest, RefusesWhatItDoesNotKnow) {
  Authenticator authenticator;
  authenticator.AddToken("t1", {"ann", {}});
  for (const char* header : {"Bearer t", "Bearer t11", "Bearer", "Bearer ", "Basic dDE6dDE=", "t1", "Bearer t1 t1"}) {
    const auto user = authenticator.Authenticate(RequestWith("/", header));
    ASSERT_FALSE(user) << header;
    EXPECT_EQ(user.error().code(), Code::kUnauthorized);
  }
}

TEST(AuthenticatorTest, SaysWhichLineOfATokenFileIsWrong) {
  for (const char* bad : {"t1,ann,1\nt2,bob\n", "t1,ann,1\n,bob,2\n", "t1,ann,1\nt2,bob,2,\"open\n"}) {
    Authenticator authenticator;
    const base::Status status = authenticator.AddTokensFromText(bad, "tokens.csv");
    ASSERT_FALSE(status) << bad;
    EXPECT_EQ(status.error().code(), Code::kBadRequest);
    EXPECT_TRUE(status.error().message().starts_with("tokens.csv:2: ")) << status.error().message();
    EXPECT_EQ(status.error().message().find("t2"), std::string::npos) << "a token must not be in a message";
  }
  EXPECT_EQ(Authenticator().AddTokenFile("/does/not/exist").error().code(), Code::kNotFound);
}

struct Answered final : Responder {
  explicit Answered(int& into) : status(into) {}
  void Send(HttpResponse response) override { status = response.status; }
  std::shared_ptr<ResponseStream> StartStream(int, std::string, HttpHeaders) override { return nullptr; }
  int& status;
};

struct NamingHandler final : HttpHandler {
  void Handle(HttpRequest request, std::unique_ptr<Responder> responder) override {
    user = request.user.name;
    responder->Send({});
  }
  std::string user;
};

TEST(AuthenticatingHandlerTest, NamesWhoAsksAndRefusesWrongCredentials) {
  Authenticator authenticator;
  authenticator.AddToken("t1", {"ann", {}});
  NamingHandler next;
  AuthenticatingHandler handler(authenticator, next);
  auto status_of = [&](std::string path, std::string authorization) {
    int status = 0;
    next.user.clear();
    HttpRequest request = RequestWith(std::move(path), std::move(authorization));
    auto responder = std::make_unique<Answered>(status);
    if (const auto refusal = handler.Admit(request)) {
      responder->Send(*refusal);
    } else {
      handler.Handle(std::move(request), std::move(responder));
    }
    return fmt::format("{} {}", status, next.user);
  };
  for (const char* path : {"/healthz", "/api", "/metrics", "//healthz"}) {
    EXPECT_EQ(status_of(path, ""), "200 system:anonymous") << path;
    EXPECT_EQ(status_of(path, "Bearer wrong"), "401 ") << path;
    EXPECT_EQ(status_of(path, "Bearer t1"), "200 ann") << path;
  }
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::authentication_test
