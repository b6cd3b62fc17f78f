#include "client/http/exec_credential.h"

#include <gtest/gtest.h>

#include "client/http/kubeconfig.h"

namespace evenkeel::client::exec_credential_test {
namespace {

constexpr std::string_view kV1 = "client.authentication.k8s.io/v1", kBeta = "client.authentication.k8s.io/v1beta1";

std::string Kubeconfig(std::string_view cluster, std::string_view user) {
  return fmt::format(
      "current-context: x\ncontexts:\n- {{name: x, context: {{cluster: c, user: u}}}}\n"
      "clusters:\n- {{name: c, cluster: {}}}\nusers:\n- {{name: u, user: {}}}\n",
      cluster, user);
}

base::Result<ConnectionConfig> Parse(std::string_view user, std::string_view cluster = "{server: https://x}") {
  return ParseKubeconfig(Kubeconfig(cluster, user), "f", "", "/dir");
}

std::string Refusal(std::string_view user) {
  const auto config = Parse(user);
  return config ? "no error" : config.error().message();
}

TEST(ExecCredentialTest, ReadsAPluginOfAKubeconfig) {
  const ConnectionConfig config =
      Parse(
          "{exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, args: [eks, get-token], "
          "env: [{name: A, value: b}], interactiveMode: IfAvailable, installHint: get it}}")
          .value();
  ASSERT_NE(config.exec, nullptr);
  EXPECT_EQ(config.exec->command, "aws");
  EXPECT_EQ(config.exec->args, (std::vector<std::string>{"eks", "get-token"}));
  EXPECT_EQ(config.exec->env.at(0), std::pair(std::string("A"), std::string("b")));
  EXPECT_EQ(config.exec->install_hint, "get it");
  EXPECT_FALSE(config.exec->from_secret);
  EXPECT_EQ(
      ExecInfo(*config.exec),
      "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"spec\":{\"interactive\":false}}\n");
  const auto relative = Parse("{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: bin/p}}");
  EXPECT_EQ(relative->exec->command, "/dir/bin/p");
}

TEST(ExecCredentialTest, TellsThePluginOfTheClusterOnlyWhenAsked) {
  const std::string_view cluster =
      "{server: https://x, tls-server-name: n, certificate-authority-data: Y2E=, proxy-url: http://p, disable-compression: "
      "true, "
      "extensions: [{name: other, extension: 1}, {name: client.authentication.k8s.io/exec, extension: {audience: a}}]}";
  const std::string_view user =
      "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: p, provideClusterInfo: true}}";
  EXPECT_EQ(ExecInfo(*Parse(user, cluster)->exec),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{"cluster":)"
            R"({"server":"https://x","tls-server-name":"n","certificate-authority-data":"Y2E=","proxy-url":"http://p",)"
            R"("disable-compression":true,"config":{"audience":"a"}},"interactive":false}})"
            "\n");
  EXPECT_NE(ExecInfo(*Parse(user)->exec).find(R"("cluster":{"server":"https://x","config":null})"), std::string::npos);
  const std::string_view silent = "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: p}}";
  EXPECT_EQ(ExecInfo(*Parse(silent, cluster)->exec).find("cluster"), std::string::npos);
  EXPECT_EQ(Parse(silent, cluster)->exec->Key(), Parse(silent)->exec->Key());
  EXPECT_NE(Parse(user, cluster)->exec->Key(), Parse(user)->exec->Key());
}

TEST(ExecCredentialTest, OtherCredentialsGoBeforeAPlugin) {
  const std::string exec = "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: p}";
  for (const char* other :
       {"token: t", "tokenFile: /t", "username: u", "client-certificate-data: Yw==, client-key-data: aw=="}) {
    const auto config = Parse(fmt::format("{{{}, {}}}", other, exec));
    ASSERT_TRUE(config) << other;
    EXPECT_EQ(config->exec, nullptr) << other;
  }
  EXPECT_NE(Parse("{" + exec + "}")->exec, nullptr);
  for (const char* plain : {"{server: http://x}", "{server: HTTP://x}"})
    EXPECT_EQ(Parse("{" + exec + "}", plain)->exec, nullptr);
}

TEST(ExecCredentialTest, NamesTheFieldOfAPluginThatIsWrong) {
  EXPECT_EQ(Refusal("{exec: 3}"), "f: users[u].exec: not an object");
  EXPECT_EQ(Refusal("{exec: {apiVersion: client.authentication.k8s.io/v1beta1}}"), "f: users[u].exec.command: missing");
  EXPECT_EQ(Refusal("{exec: {command: p, apiVersion: client.authentication.k8s.io/v1alpha1}}"),
            "f: users[u].exec.apiVersion: exec plugin: invalid apiVersion \"client.authentication.k8s.io/v1alpha1\"; there are "
            "client.authentication.k8s.io/v1 and client.authentication.k8s.io/v1beta1");
  EXPECT_EQ(
      Refusal("{exec: {command: p, apiVersion: client.authentication.k8s.io/v1}}").find("f: users[u].exec.interactiveMode: m"),
      0U);
  EXPECT_EQ(Refusal("{exec: {command: p, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always}}")
                .find("f: users[u].exec.interactiveMode: Always needs a person"),
            0U);
  EXPECT_EQ(Refusal("{exec: {command: p, apiVersion: client.authentication.k8s.io/v1, interactiveMode: never}}")
                .find("f: users[u].exec.interactiveMode: \"never\" is not Never, IfAvailable or Always"),
            0U);
  EXPECT_EQ(Refusal("{exec: {command: p, apiVersion: client.authentication.k8s.io/v1beta1, args: [1]}}"),
            "f: users[u].exec.args[0]: not a text");
  EXPECT_EQ(Refusal("{auth-provider: {name: gcp}}").find("f: users[u].auth-provider: is not supported"), 0U);
}

ExecAnswer Answer(std::string_view text, std::string_view version = kV1) {
  auto answer = ParseExecAnswer(text, version);
  EXPECT_TRUE(answer) << answer.error().message();
  return answer.value_or(ExecAnswer());
}

TEST(ExecCredentialTest, ReadsAnswersInJsonAndYaml) {
  const ExecAnswer token = Answer(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{},"x":1,)"
                                  R"("status":{"token":"t","expirationTimestamp":"2026-01-02T03:04:05Z"}})");
  EXPECT_EQ(token.token, "t");
  EXPECT_EQ(base::FormatTime(token.expires.value()), "2026-01-02T03:04:05Z");
  const ExecAnswer certificate = Answer(
      "apiVersion: client.authentication.k8s.io/v1beta1\nkind: ExecCredential\nstatus:\n  clientCertificateData: |\n    c\n"
      "  clientKeyData: k\n  expirationTimestamp: null\n",
      kBeta);
  EXPECT_EQ(certificate.certificate_pem, "c\n");
  EXPECT_EQ(certificate.key_pem, "k");
  EXPECT_FALSE(certificate.expires);
}

TEST(ExecCredentialTest, SaysAsKubectlDoesWhatAnAnswerLacks) {
  const auto refusal = [](std::string_view status, std::string_view version = kV1) {
    const std::string text = fmt::format(R"({{"kind":"ExecCredential","apiVersion":"{}"{}}})", version, status);
    const auto answer = ParseExecAnswer(text, kV1);
    return answer ? "no error" : answer.error().message();
  };
  EXPECT_EQ(refusal(R"(,"status":{"token":"t"})", kBeta),
            "exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin returned version "
            "client.authentication.k8s.io/v1beta1");
  EXPECT_EQ(refusal(""), "exec plugin didn't return a status field");
  EXPECT_EQ(refusal(R"(,"status":null)"), "exec plugin didn't return a status field");
  EXPECT_EQ(refusal(R"(,"status":{})"), "exec plugin didn't return a token or cert/key pair");
  EXPECT_EQ(refusal(R"(,"status":{"Token":"t"})"), "exec plugin didn't return a token or cert/key pair");
  EXPECT_EQ(refusal(R"(,"status":{"token":"t","clientKeyData":"k"})"),
            "exec plugin returned only certificate or key, not both");
  EXPECT_EQ(refusal(R"(,"status":{"token":7})"), "decoding stdout: status.token: not a text");
  EXPECT_EQ(refusal(R"(,"status":{"token":"a\r\nX: b"})"), "decoding stdout: status.token: has blanks or control characters");
  EXPECT_EQ(refusal(R"(,"status":{"token":"t","expirationTimestamp":"soon"})"),
            "decoding stdout: status.expirationTimestamp: not an RFC 3339 time");
  for (const std::string_view text : {"", "hunter2", "[1]", "{\"kind\": hunter2", "a: b: hunter2"}) {
    const auto answer = ParseExecAnswer(text, kV1);
    ASSERT_FALSE(answer) << text;
    EXPECT_EQ(answer.error().message().find("decoding stdout: "), 0U);
    EXPECT_EQ(answer.error().message().find("hunter2"), std::string::npos) << answer.error().message();
  }
}

TEST(ExecCredentialTest, ShowsWhatAPluginComplainsOfWithoutItsSecrets) {
  ExecConfig config;
  config.env = {{"AWS_SECRET_ACCESS_KEY", "open sesame\nplease"}, {"DEBUG", "1"}};
  const auto shown = [&](std::string_view text) { return RedactedErrors(text, config); };
  EXPECT_EQ(shown("Unable to locate credentials. You can configure\n\tcredentials by running \"aws configure\".\n"),
            "Unable to locate credentials. You can configure credentials by running \"aws configure\".");
  EXPECT_EQ(shown("error 1: tried open sesame\nplease in vain"), "error 1: tried <redacted> in vain");
  EXPECT_EQ(shown("got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIzNDU2"), "got <redacted>.<redacted>.<redacted>");
  EXPECT_EQ(shown("password=x9, Token: \"abc\" Authorization: Bearer abc.def end"),
            "password=<redacted>, Token: \"<redacted>\" Authorization: Bearer <redacted> end");
  EXPECT_EQ(shown("a token is missing; the secret expired"), "a token is missing; the secret expired");
  EXPECT_EQ(shown("\x1b[31mred\x1b[0m \xff"), "[31mred [0m ?");
  const std::string end = shown(std::string(5000, 'a') + " because");
  EXPECT_LT(end.size(), 500U);
  EXPECT_TRUE(end.ends_with(" because")) << end;
}

}  // namespace
}  // namespace evenkeel::client::exec_credential_test
