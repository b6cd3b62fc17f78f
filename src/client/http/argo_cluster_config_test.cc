#include "client/http/argo_cluster_config.h"

#include <gtest/gtest.h>

namespace evenkeel::client::argo_cluster_config_test {
namespace {

std::string MessageOf(const base::Result<ConnectionConfig>& config) { return config ? "no error" : config.error().message(); }

TEST(ArgoClusterConfigTest, ReadsEveryField) {
  const ConnectionConfig config =
      ParseArgoClusterConfig(
          "https://x",
          R"({"bearerToken":"t","proxyUrl":"http://p",)"
          R"("tlsClientConfig":{"insecure":false,"serverName":"s","caData":"Y2E=","certData":"Yw==","keyData":"aw=="}})")
          .value();
  EXPECT_EQ(config.server, "https://x");
  EXPECT_EQ(config.token, "t");
  EXPECT_EQ(config.proxy_url, "http://p");
  EXPECT_EQ(config.tls_server_name, "s");
  EXPECT_EQ(config.ca_pem, "ca");
  EXPECT_EQ(config.client_certificate_pem, "c");
  EXPECT_EQ(config.client_key_pem, "k");
}

TEST(ArgoClusterConfigTest, TakesAnEmptyConfigAsNoCredentials) {
  for (const char* empty :
       {"", " \n", "{}", "null", R"({"tlsClientConfig":{"insecure":false}})", R"({"execProviderConfig":null})"}) {
    const auto config = ParseArgoClusterConfig("https://x", empty);
    ASSERT_TRUE(config) << empty;
    EXPECT_EQ(config->token, "");
    EXPECT_FALSE(config->insecure_skip_tls_verify);
  }
}

TEST(ArgoClusterConfigTest, ReadsNamesInAnyCaseAndWrappedBytesAsGoDoes) {
  const auto read = [](std::string_view text) { return ParseArgoClusterConfig("https://x", text).value(); };
  const ConnectionConfig spelled =
      read(R"({"BearerToken":"abc","TLSClientConfig":{"Insecure":true,"SERVERNAME":"s"},"other":[1]})");
  EXPECT_EQ(spelled.token, "abc");
  EXPECT_TRUE(spelled.insecure_skip_tls_verify);
  EXPECT_EQ(spelled.tls_server_name, "s");
  EXPECT_EQ(read("{\"bearerTo\u212aen\":\"k\"}").token, "k");
  EXPECT_EQ(read(R"({"bearerToken":"a","BEARERTOKEN":"b"})").token, "b");
  EXPECT_EQ(read(R"({"tlsClientConfig":{"insecure":false},"TLSCLIENTCONFIG":{"caData":"Y2\r\nE=\n"}})").ca_pem, "ca");
  EXPECT_EQ(read(R"({"bearerToken":null,"tlsClientConfig":{"insecure":null,"caData":null}})").token, "");
}

TEST(ArgoClusterConfigTest, ReadsAPlugin) {
  const ConnectionConfig config =
      ParseArgoClusterConfig(
          "https://x", R"({"bearerToken":"ignored","username":"too","tlsClientConfig":{"caData":"Y2E="},"execProviderConfig":{)"
                       R"("command":"argocd-k8s-auth","args":["gcp",null],"env":{"B":"2","A":null},"installHint":"get it",)"
                       R"("apiVersion":"client.authentication.k8s.io/v1beta1","provideClusterInfo":true,"config":{"a":1}}})")
          .value();
  EXPECT_EQ(config.token, "");
  EXPECT_EQ(config.username, "");
  ASSERT_NE(config.exec, nullptr);
  EXPECT_TRUE(config.exec->from_secret);
  EXPECT_EQ(config.exec->command, "argocd-k8s-auth");
  EXPECT_EQ(config.exec->args, (std::vector<std::string>{"gcp", ""}));
  EXPECT_EQ(config.exec->env, (std::vector<std::pair<std::string, std::string>>{{"A", ""}, {"B", "2"}}));
  EXPECT_EQ(config.exec->install_hint, "get it");
  EXPECT_EQ(config.exec->cluster_info, R"({"server":"https://x","certificate-authority-data":"Y2E=","config":{"a":1}})");
}

TEST(ArgoClusterConfigTest, AwsIsThePluginThatArgoCdRuns) {
  const auto exec = [](std::string_view text) { return ParseArgoClusterConfig("https://x", text).value().exec; };
  const auto eks =
      exec(R"({"awsAuthConfig":{"clusterName":"c","roleARN":"arn:x","profile":"p"},"execProviderConfig":{"command":"other"}})");
  ASSERT_NE(eks, nullptr);
  EXPECT_EQ(eks->command, "argocd-k8s-auth");
  EXPECT_EQ(eks->args, (std::vector<std::string>{"aws", "--cluster-name", "c", "--role-arn", "arn:x", "--profile", "p"}));
  EXPECT_EQ(eks->api_version, "client.authentication.k8s.io/v1beta1");
  EXPECT_EQ(exec(R"({"awsAuthConfig":{"clusterName":"c"}})")->args, (std::vector<std::string>{"aws", "--cluster-name", "c"}));
  EXPECT_EQ(exec(R"({"awsAuthConfig":{"clusterName":"c"},"tlsClientConfig":{"certData":"Yw==","keyData":"aw=="}})"), nullptr);
}

TEST(ArgoClusterConfigTest, NamesTheFieldThatIsWrong) {
  auto error = [](std::string_view text) { return MessageOf(ParseArgoClusterConfig("https://x", text)); };
  EXPECT_EQ(error(R"({"tlsClientConfig":{"caData":"***"}})"), "config: tlsClientConfig.caData: not base64");
  EXPECT_EQ(error(R"({"tlsClientConfig":{"certData":"Yw=="}})"),
            "config: tlsClientConfig.keyData: missing, although there is certData");
  EXPECT_EQ(error(R"({"tlsClientConfig":{"keyData":"Yw=="}})"),
            "config: tlsClientConfig.certData: missing, although there is keyData");
  EXPECT_EQ(error(R"({"tlsClientConfig":{"insecure":true,"caData":"Yw=="}})"),
            "config: tlsClientConfig.insecure: contradicts caData; remove one of them");
  EXPECT_EQ(error(R"({"bearerToken":7})"), "config: bearerToken: not a text");
  EXPECT_EQ(error("[]"), "config: not an object");
  EXPECT_EQ(error(R"({"tlsClientConfig":{"insecure":"true"}})"), "config: tlsClientConfig.insecure: not true or false");
  EXPECT_EQ(error(R"({"tlsClientConfig":7})"), "config: tlsClientConfig: not an object");
  EXPECT_EQ(error(R"({"username":"u","bearerToken":"t"})"), "config: username: contradicts bearerToken; remove one of them");
  EXPECT_EQ(error(R"({"execProviderConfig":{"args":[]}})"), "config: execProviderConfig.command: missing");
  EXPECT_EQ(error(R"({"execProviderConfig":{"command":"x"}})").find("config: execProviderConfig.apiVersion: "), 0U);
  EXPECT_EQ(error(R"({"execProviderConfig":{"command":"x","env":{"A":1}}})"), "config: execProviderConfig.env.A: not a text");
  EXPECT_NE(error("{broken"), "no error");
  EXPECT_EQ(MessageOf(ParseArgoClusterConfig("", "{}")), "server: missing");
}

}  // namespace
}  // namespace evenkeel::client::argo_cluster_config_test
