#include "client/http/kubeconfig.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/hash.h"

namespace evenkeel::client::kubeconfig_test {
namespace {

using base::Code;

constexpr std::string_view kConfig = R"(apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c1
  cluster: {server: "https://127.0.0.1:6443/?shard=1", certificate-authority-data: Y2E=, tls-server-name: hub, proxy-url: "http://p:3128"}
- name: c2
  cluster: {server: https://two, insecure-skip-tls-verify: true}
users:
- name: u1
  user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}
- name: u2
  user: {token: t, tokenFile: tokens/two, username: ann, password: pw}
contexts:
- name: one
  context: {cluster: c1, user: u1, namespace: apps}
- name: two
  context: {cluster: c2, user: u2}
- name: nobody
  context: {cluster: c2}
)";

/// Sets an environment variable for the length of a test.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = getenv(name); before != nullptr) before_ = before;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~ScopedVariable() { before_.has_value() ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class KubeconfigTest : public ::testing::Test {
 protected:
  KubeconfigTest() {
    char name[] = "/tmp/evenkeel-kubeconfig-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~KubeconfigTest() override { std::filesystem::remove_all(directory_); }
  std::string Write(const std::string& name, std::string_view content) {
    const std::string path = directory_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << content;
    return path;
  }
  std::string directory_;
};

std::string MessageOf(const base::Result<ConnectionConfig>& config) { return config ? "no error" : config.error().message(); }

TEST_F(KubeconfigTest, ReadsEveryFieldOfAContext) {
  const ConnectionConfig one = ParseKubeconfig(kConfig, "f", "", "/dir").value();
  EXPECT_EQ(one.server, "https://127.0.0.1:6443/?shard=1");
  EXPECT_EQ(one.ca_pem, "ca");
  EXPECT_EQ(one.tls_server_name, "hub");
  EXPECT_EQ(one.proxy_url, "http://p:3128");
  EXPECT_EQ(one.client_certificate_pem, "cert");
  EXPECT_EQ(one.client_key_pem, "key");
  EXPECT_EQ(one.ns, "apps");
  EXPECT_FALSE(one.insecure_skip_tls_verify);
  const ConnectionConfig two = ParseKubeconfig(kConfig, "f", "two", "/dir").value();
  EXPECT_TRUE(two.insecure_skip_tls_verify);
  EXPECT_EQ(two.token, "t");
  EXPECT_EQ(two.token_file, "/dir/tokens/two");
  EXPECT_EQ(two.username, "ann");
  EXPECT_EQ(two.password, "pw");
  EXPECT_EQ(two.ns, "default");
  EXPECT_EQ(ParseKubeconfig(kConfig, "f", "nobody", "/dir")->token, "");
}

TEST_F(KubeconfigTest, ReadsFilesBesideIt) {
  Write("pki/ca.pem", "file-ca");
  const std::string path =
      Write("config", R"({"current-context":"x","clusters":[{"name":"x","cluster":{"server":"https://x",)"
                      R"("certificate-authority":"pki/ca.pem"}}],"contexts":[{"name":"x","context":{"cluster":"x"}}]})");
  EXPECT_EQ(LoadKubeconfig({path, ""})->ca_pem, "file-ca");
  std::filesystem::remove(directory_ + "/pki/ca.pem");
  const auto missing = LoadKubeconfig({path, ""});
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  EXPECT_NE(MessageOf(missing).find(path + ": clusters[x].certificate-authority: "), std::string::npos) << MessageOf(missing);
}

TEST_F(KubeconfigTest, MergesTheFilesOfTheEnvironment) {
  const std::string a = Write("a/config",
                              "current-context: x\ncontexts:\n- {name: x, context: {cluster: c, user: u}}\n"
                              "users:\n- {name: u, user: {tokenFile: t}}\n");
  const std::string b = Write("b/config",
                              "current-context: y\nclusters:\n- {name: c, cluster: {server: https://b}}\n"
                              "users:\n- {name: u, user: {token: other}}\ncontexts:\n- {name: y, context: {cluster: c}}\n");
  const ScopedVariable variable("KUBECONFIG", (a + "::/does/not/exist:" + b).c_str());
  const ConnectionConfig config = LoadKubeconfig({}).value();
  EXPECT_EQ(config.server, "https://b");
  EXPECT_EQ(config.token_file, directory_ + "/a/t");
  EXPECT_EQ(config.token, "");
  EXPECT_EQ(LoadKubeconfig({"", "y"})->server, "https://b");
  EXPECT_EQ(KubeconfigContexts("").value(), (std::vector<std::string>{"x", "y"}));
}

TEST_F(KubeconfigTest, FallsBackToTheHomeDirectoryAndSaysWhereItLooked) {
  const ScopedVariable variable("KUBECONFIG", nullptr);
  const ScopedVariable home("HOME", directory_.c_str());
  const auto missing = LoadKubeconfig({});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  EXPECT_NE(MessageOf(missing).find(directory_ + "/.kube/config"), std::string::npos) << MessageOf(missing);
  Write(".kube/config", kConfig);
  EXPECT_EQ(LoadKubeconfig({})->tls_server_name, "hub");
  EXPECT_FALSE(LoadKubeconfig({"/does/not/exist", ""}));
}

TEST_F(KubeconfigTest, NamesTheFileAndFieldThatAreWrong) {
  auto error = [](std::string_view cluster, std::string_view user) {
    const std::string text = fmt::format(
        "current-context: x\ncontexts:\n- {{name: x, context: {{cluster: c, user: u}}}}\n"
        "clusters:\n- {{name: c, cluster: {}}}\nusers:\n- {{name: u, user: {}}}\n",
        cluster, user);
    return MessageOf(ParseKubeconfig(text, "f", "", ""));
  };
  EXPECT_EQ(error("{}", "{}"), "f: clusters[c].server: missing");
  EXPECT_EQ(error("{server: https://x, certificate-authority-data: '*'}", "{}"),
            "f: clusters[c].certificate-authority-data: not base64");
  EXPECT_EQ(error("{server: https://x}", "{client-key-data: '!'}"), "f: users[u].client-key-data: not base64");
  EXPECT_EQ(error("{server: https://x}", "{client-certificate-data: YQ==}"),
            "f: users[u].client-key: missing, although there is a client-certificate");
  EXPECT_NE(
      error("{server: https://x, insecure-skip-tls-verify: true, certificate-authority-data: Y2E=}", "{}").find("contradicts"),
      std::string::npos);
  EXPECT_EQ(MessageOf(ParseKubeconfig(kConfig, "f", "three", "")), "f: no context \"three\"; there are: one, two, nobody");
  EXPECT_EQ(MessageOf(ParseKubeconfig("clusters: []", "f", "", "")), "f: current-context: not set; name a context");
  EXPECT_EQ(MessageOf(ParseKubeconfig("kind: Pod", "f", "", "")), "f: kind: Pod is not a kubeconfig (kind: Config)");
  EXPECT_EQ(MessageOf(ParseKubeconfig("clusters: 3", "f", "", "")), "f: clusters: not a list");
  EXPECT_EQ(MessageOf(ParseKubeconfig("contexts: [{context: {}}]", "f", "", "")), "f: contexts[0]: an entry without a name");
  EXPECT_EQ(error("{server: https://x}", "{password: 1234}"), "f: users[u].password: not a text");
  EXPECT_EQ(error("{server: https://x, insecure-skip-tls-verify: 'yes'}", "{}"),
            "f: clusters[c].insecure-skip-tls-verify: not true or false");
  EXPECT_EQ(MessageOf(ParseKubeconfig("current-context: x\ncontexts: [{name: x, context: {cluster: q}}]", "f", "", "")),
            "f: contexts[x].cluster: no cluster \"q\"");
  EXPECT_FALSE(ParseKubeconfig("[", "f", "", ""));
  EXPECT_FALSE(ParseKubeconfig("", "f", "", ""));
}

TEST_F(KubeconfigTest, TheLastOfAKeyThatIsWrittenTwiceCounts) {
  const auto config = ParseKubeconfig(
      "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters:\n- name: c\n  cluster:\n    server: "
      "https://a\n"
      "    server: https://b\n",
      "f", "", "");
  ASSERT_TRUE(config) << MessageOf(config);
  EXPECT_EQ(config->server, "https://b");
}

TEST_F(KubeconfigTest, ReadsBackWhatItWrites) {
  ConnectionConfig hub;
  hub.server = "https://127.0.0.1:6443";
  hub.ca_pem = "the\nca";
  hub.client_certificate_pem = "certificate";
  hub.client_key_pem = "key";
  hub.ns = "evenkeel";
  ConnectionConfig member;
  member.server = "https://127.0.0.1:6444";
  member.insecure_skip_tls_verify = true;
  member.token = "yes";
  const std::string text = WriteKubeconfig({{"hub", hub}, {"member-1", member}}, "member-1");
  const ConnectionConfig read_hub = ParseKubeconfig(text, "f", "hub", "").value();
  EXPECT_EQ(read_hub.ca_pem, hub.ca_pem);
  EXPECT_EQ(read_hub.client_certificate_pem, hub.client_certificate_pem);
  EXPECT_EQ(read_hub.client_key_pem, hub.client_key_pem);
  EXPECT_EQ(read_hub.ns, "evenkeel");
  const ConnectionConfig read_member = ParseKubeconfig(text, "f", "", "").value();
  EXPECT_EQ(read_member.server, member.server);
  EXPECT_EQ(read_member.token, "yes");
  EXPECT_TRUE(read_member.insecure_skip_tls_verify);
}

TEST_F(KubeconfigTest, ReadsAServiceAccount) {
  const ScopedVariable host("KUBERNETES_SERVICE_HOST", nullptr);
  EXPECT_EQ(InClusterConfig(directory_).error().code(), Code::kNotFound);
  const ScopedVariable v6("KUBERNETES_SERVICE_HOST", "fd00::1");
  const ScopedVariable port("KUBERNETES_SERVICE_PORT", "6443");
  EXPECT_EQ(InClusterConfig(directory_).error().code(), Code::kNotFound);
  const std::string token = Write("token", "secret");
  Write("ca.crt", "the-ca");
  Write("namespace", "ns1\n");
  const ConnectionConfig config = InClusterConfig(directory_).value();
  EXPECT_EQ(config.server, "https://[fd00::1]:6443");
  EXPECT_EQ(config.token_file, token);
  EXPECT_EQ(config.ca_pem, "the-ca");
  EXPECT_EQ(config.ns, "ns1");
}

TEST_F(KubeconfigTest, NobodyIsShownWhatAUrlHasOfCredentials) {
  for (const auto& [url, shown] :
       std::vector<std::pair<std::string, std::string>>{{"https://h:6443/p", "https://h:6443/p"},
                                                        {"https://user:secret@h:6443/p?x=a@b", "https://h:6443/p?x=a@b"},
                                                        {"https://us@er:se@cret@[::1]:6443", "https://[::1]:6443"},
                                                        {"user:secret@h", "h"},
                                                        {"https://h/a@b", "https://h/a@b"},
                                                        {"", ""}}) {
    EXPECT_EQ(WithoutUserinfo(url), shown);
  }
}

}  // namespace
}  // namespace evenkeel::client::kubeconfig_test
