#include "controllers/distribution/sharding/cluster.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace evenkeel::controllers::distribution::cluster_test {
namespace {

using Data = std::map<std::string, std::string>;

base::Json Secret(const std::string& name, const Data& data, const Data& annotations = {}) {
  base::Json secret = {{"apiVersion", "v1"},
                       {"kind", "Secret"},
                       {"metadata",
                        {{"name", name},
                         {"namespace", "argocd"},
                         {"uid", "uid-" + name},
                         {"labels", {{"argocd.argoproj.io/secret-type", "cluster"}}}}}};
  for (const auto& [key, value] : data) base::Ensure(secret, {"data", key}) = base::Base64Encode(value);
  for (const auto& [key, value] : annotations) base::Ensure(secret, {"metadata", "annotations", key}) = value;
  return secret;
}

Cluster FromSecret(const std::string& name, const Data& data, const Data& annotations = {}) {
  std::vector<Finding> findings;
  return ClusterFromSecret(Secret(name, data, annotations), findings).value();
}

TEST(ClusterSecretTest, IsRecognizedByItsLabel) {
  base::Json secret = Secret("a", {});
  EXPECT_TRUE(IsClusterSecret(secret));
  base::Ensure(secret, {"metadata", "labels", kClusterSecretLabel}) = "repository";
  EXPECT_FALSE(IsClusterSecret(secret));
  EXPECT_FALSE(IsClusterSecret(base::JsonObject{}));
}

TEST(ClusterSecretTest, ItsAutoscalersFlagsArePartOfWhatItIsConnectedToWith) {
  const Data data = {{"name", "a"}, {"server", "https://a"}, {"config", "{}"}};
  const Cluster plain = FromSecret("a", data);
  const Cluster own = FromSecret("a", data, {{std::string(kAutoscalerArgsAnnotation), "--cloud-provider=kwok"}});
  EXPECT_EQ(plain.autoscaler_args, "");
  EXPECT_EQ(own.autoscaler_args, "--cloud-provider=kwok");
  EXPECT_NE(own.connection_hash, plain.connection_hash) << "its owner begins anew";
}

TEST(ClusterSecretTest, IsReadWhole) {
  std::vector<Finding> findings;
  const auto cluster = ClusterFromSecret(
      Secret("a", {{"name", "mycluster"},
                   {"server", "https://mycluster.example.com"},
                   {"shard", "2"},
                   {"config", R"({"bearerToken":"t0ken","tlsClientConfig":{"serverName":"inner","caData":"Q0E="}})"}}),
      findings);
  ASSERT_TRUE(cluster);
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(cluster->id, "uid-a");
  EXPECT_EQ(cluster->name, "mycluster");
  EXPECT_EQ(cluster->server, "https://mycluster.example.com");
  EXPECT_EQ(cluster->shard, 2);
  EXPECT_FALSE(cluster->skip_reconcile);
  EXPECT_EQ(cluster->source, "Secret argocd/a");
  EXPECT_EQ(base::ToText(cluster->reference),
            R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"argocd","uid":"uid-a"}})");
  ASSERT_TRUE(cluster->connection);
  EXPECT_EQ(cluster->connection->token, "t0ken");
  EXPECT_EQ(cluster->connection->ca_pem, "CA");
  EXPECT_EQ(cluster->connection->tls_server_name, "inner");
}

TEST(ClusterSecretTest, LosesAllTrailingSlashesOfItsServer) {
  for (const char* server : {"https://h:6443", "https://h:6443/", "https://h:6443///"}) {
    EXPECT_EQ(FromSecret("a", {{"server", server}}).server, "https://h:6443") << server;
  }
  EXPECT_EQ(FromSecret("a", {{"server", "https://h/prefix/"}}).server, "https://h/prefix");
}

TEST(ClusterSecretTest, IsNamedByItsServerWhenItHasNoName) {
  EXPECT_EQ(FromSecret("a", {{"server", "https://h/"}}).name, "https://h");
  EXPECT_EQ(FromSecret("a", {{"server", "https://h/"}, {"name", ""}}).name, "https://h");
}

TEST(ClusterSecretTest, ReadsItsShardAsGoDoes) {
  for (const auto& [text, shard] : std::map<std::string, std::optional<int64_t>>{{"0", 0},
                                                                                 {"7", 7},
                                                                                 {"+7", 7},
                                                                                 {"-1", -1},
                                                                                 {"007", 7},
                                                                                 {"", std::nullopt},
                                                                                 {" 7", std::nullopt},
                                                                                 {"7 ", std::nullopt},
                                                                                 {"+-7", std::nullopt},
                                                                                 {"++7", std::nullopt},
                                                                                 {"1.0", std::nullopt},
                                                                                 {"0x1", std::nullopt},
                                                                                 {"99999999999999999999", std::nullopt}}) {
    std::vector<Finding> findings;
    const auto cluster = ClusterFromSecret(Secret("a", {{"server", "https://h"}, {"shard", text}}), findings);
    ASSERT_TRUE(cluster);
    EXPECT_EQ(cluster->shard, shard) << '"' << text << '"';
    EXPECT_EQ(findings.size(), shard ? 0u : 1u) << '"' << text << '"';
  }
}

TEST(ClusterSecretTest, IsSkippedForWhatGoTakesForTrue) {
  const std::string key = "argocd.argoproj.io/skip-reconcile";
  for (const char* text : {"1", "t", "T", "TRUE", "true", "True"}) {
    EXPECT_TRUE(FromSecret("a", {{"server", "https://h"}}, {{key, text}}).skip_reconcile) << text;
  }
  for (const char* text : {"0", "f", "false", "yes", "", "tRUE", " true"}) {
    EXPECT_FALSE(FromSecret("a", {{"server", "https://h"}}, {{key, text}}).skip_reconcile) << text;
  }
}

TEST(ClusterSecretTest, WithoutServerItIsNoCluster) {
  for (const char* server : {"", "/", "///"}) {
    std::vector<Finding> findings;
    EXPECT_FALSE(ClusterFromSecret(Secret("a", {{"server", server}}), findings));
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].reason, "InvalidClusterSecret");
    EXPECT_EQ(findings[0].object, "Secret argocd/a");
  }
}

TEST(ClusterSecretTest, AnEmptyConfigIsAllowed) {
  for (const char* config : {"", " ", "null", "{}"}) {
    const Cluster cluster = FromSecret("a", {{"server", "https://h"}, {"config", config}});
    ASSERT_TRUE(cluster.connection) << config;
    EXPECT_EQ(cluster.connection->server, "https://h");
  }
}

TEST(ClusterSecretTest, ABrokenConfigKeepsTheClusterAndTellsNoSecret) {
  for (const char* config :
       {R"({"bearerToken":"hush-hush")", R"({"bearerToken":"hush-hush"}x)", R"({"bearerToken":hush-hush})", "hush-hush",
        R"("hush-hush")", R"(["hush-hush"])", R"({"bearerToken":["hush-hush"]})", R"({"password":{"a":"hush-hush"}})",
        R"({"tlsClientConfig":"hush-hush"})", R"({"tlsClientConfig":{"keyData":"hush-hush"}})",
        R"({"tlsClientConfig":{"keyData":"aHVzaC1odXNo"}})",
        R"({"bearerToken":"hush-hush","execProviderConfig":{"command":"x"}})", R"({"awsAuthConfig":{"roleARN":["hush-hush"]}})",
        R"({"execProviderConfig":{"command":"x","apiVersion":"client.authentication.k8s.io/v1","env":{"A":["hush-hush"]}}})",
        "{\"bearerToken\":\"hush-hush\\u12\"}", "{\"hush-hush\":\"\x01\"}"}) {
    std::vector<Finding> findings;
    const auto cluster = ClusterFromSecret(Secret("a", {{"server", "https://h"}, {"config", config}}), findings);
    ASSERT_TRUE(cluster) << config;
    EXPECT_FALSE(cluster->connection) << config;
    ASSERT_EQ(findings.size(), 1u) << config;
    EXPECT_EQ(findings[0].reason, "InvalidClusterSecret");
    const std::string told =
        findings[0].message + findings[0].object + base::ToText(findings[0].about) + cluster->connection.error().message();
    EXPECT_EQ(told.find("hush"), std::string::npos) << told;
    EXPECT_EQ(told.find("aHVzaC1odXNo"), std::string::npos) << told;
  }
}

TEST(ClusterSecretTest, TheConnectionHashFollowsWhatConnectingDependsOn) {
  const Data data = {{"server", "https://h"}, {"name", "a"}, {"config", R"({"bearerToken":"one"})"}};
  const uint64_t hash = FromSecret("a", data).connection_hash;
  EXPECT_EQ(FromSecret("a", data).connection_hash, hash);
  for (const auto& [key, value] : Data{{"name", "b"}, {"shard", "1"}, {"server", "https://h/"}}) {
    Data same = data;
    same[key] = value;
    EXPECT_EQ(FromSecret("a", same).connection_hash, hash) << key;
  }
  for (const char* config :
       {R"({"bearerToken":"two"})", R"({"username":"one"})", R"({"password":"one"})", "{}",
        R"({"bearerToken":"one","tlsClientConfig":{"insecure":true}})",
        R"({"bearerToken":"one","tlsClientConfig":{"serverName":"x"}})", R"({"bearerToken":"one","proxyUrl":"http://p"})"}) {
    Data other = data;
    other["config"] = config;
    EXPECT_NE(FromSecret("a", other).connection_hash, hash) << config;
  }
}

TEST(ClusterSecretTest, StringDataOfFilesCounts) {
  base::Json secret = Secret("a", {{"server", "https://old"}});
  secret.as_object()["stringData"] = {{"server", "https://new"}};
  std::vector<Finding> findings;
  EXPECT_EQ(ClusterFromSecret(secret, findings)->server, "https://new");
}

base::Json Karmada(const std::string& name, const base::Json& spec) {
  return {{"apiVersion", "cluster.karmada.io/v1alpha1"},
          {"kind", "Cluster"},
          {"metadata", {{"name", name}, {"uid", "uid-" + name}}},
          {"spec", spec}};
}

TEST(KarmadaClusterTest, TakesItsTokenAndCaFromItsSecret) {
  std::vector<Finding> findings;
  const base::Json secret = Secret("s", {{"token", "t0ken"}, {"caBundle", "CA"}});
  const auto cluster = ClusterFromKarmada(
      Karmada("k", {{"apiEndpoint", "https://k/"}, {"insecureSkipTLSVerification", true}, {"proxyURL", "http://p"}}), &secret,
      findings);
  ASSERT_TRUE(cluster);
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(cluster->id, "uid-k");
  EXPECT_EQ(cluster->name, "k");
  EXPECT_EQ(cluster->server, "https://k");
  EXPECT_EQ(cluster->source, "Cluster k");
  ASSERT_TRUE(cluster->connection);
  EXPECT_EQ(cluster->connection->token, "t0ken");
  EXPECT_EQ(cluster->connection->ca_pem, "CA");
  EXPECT_TRUE(cluster->connection->insecure_skip_tls_verify);
  EXPECT_EQ(cluster->connection->proxy_url, "http://p");
}

TEST(KarmadaClusterTest, WithoutSecretItKeepsItsPlaceAndWithoutEndpointItIsNone) {
  std::vector<Finding> findings;
  const auto cluster = ClusterFromKarmada(Karmada("k", {{"apiEndpoint", "https://k"}}), nullptr, findings);
  ASSERT_TRUE(cluster);
  EXPECT_FALSE(cluster->connection);
  const base::Error forbidden(base::Code::kForbidden, "secrets is forbidden");
  const auto unreadable = ClusterFromKarmada(Karmada("k", {{"apiEndpoint", "https://k"}}), nullptr, findings, &forbidden);
  EXPECT_EQ(unreadable->connection.error().message(),
            "spec.secretRef: secrets is forbidden: the cluster keeps its owner but cannot be reached");
  EXPECT_EQ(findings.back().reason, "SecretUnreadable");
  EXPECT_FALSE(ClusterFromKarmada(Karmada("pull", {{"syncMode", "Pull"}}), nullptr, findings));
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].reason, "SecretNotFound");
  EXPECT_EQ(findings[2].reason, "NoEndpoint");
}

TEST(MergeClustersTest, OrdersByIdAndKeepsOnePerServer) {
  std::vector<Finding> findings;
  const Data one = {{"server", "https://one"}, {"name", "one"}};
  const auto merged = MergeClusters(
      {FromSecret("z", {{"server", "https://two"}}), FromSecret("b", one), FromSecret("a", {{"server", "https://three"}})}, {},
      findings);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].id, "uid-a");
  EXPECT_EQ(merged[1].id, "uid-b");
  EXPECT_EQ(merged[2].id, "uid-z");
  EXPECT_TRUE(findings.empty());
}

TEST(MergeClustersTest, KarmadaMayReachAClusterWithCredentialsOfItsOwn) {
  std::vector<Finding> findings;
  const base::Json karmada{{"apiVersion", "cluster.karmada.io/v1alpha1"},
                           {"kind", "Cluster"},
                           {"metadata", {{"name", "first"}}},
                           {"spec", {{"apiEndpoint", "https://one/"}}}};
  const base::Json secret{{"data", {{"token", "YW5vdGhlcg=="}}}};
  std::vector<Cluster> clusters = {*ClusterFromKarmada(karmada, &secret, findings),
                                   FromSecret("a", {{"server", "https://one"}, {"name", "first"}})};
  const auto merged = MergeClusters(clusters, {}, findings);
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].source, "Secret argocd/a");
  EXPECT_TRUE(findings.empty());
}

TEST(MergeClustersTest, TheFirstSecretByNameWinsAndTheOtherIsReported) {
  for (bool reversed : {false, true}) {
    std::vector<Finding> findings;
    std::vector<Cluster> clusters = {FromSecret("a", {{"server", "https://one/"}, {"name", "first"}}),
                                     FromSecret("b", {{"server", "https://one"}, {"name", "second"}})};
    if (reversed) std::swap(clusters[0], clusters[1]);
    const auto merged = MergeClusters(clusters, {}, findings);
    ASSERT_EQ(merged.size(), 1u);
    EXPECT_EQ(merged[0].name, "first");
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].object, "Secret argocd/b");
    EXPECT_EQ(findings[0].reason, "DuplicateServer");
    EXPECT_NE(findings[0].message.find("https://one is already named by Secret argocd/a"), std::string::npos);
  }
}

TEST(MergeClustersTest, TwoThatAgreeAreNoFinding) {
  std::vector<Finding> findings;
  const Data data = {{"server", "https://one"}, {"name", "one"}, {"config", R"({"bearerToken":"t"})"}};
  EXPECT_EQ(MergeClusters({FromSecret("a", data), FromSecret("b", data)}, {}, findings).size(), 1u);
  EXPECT_TRUE(findings.empty());
}

TEST(MergeClustersTest, ASecretGoesBeforeAKarmadaCluster) {
  std::vector<Finding> findings;
  const base::Json secret = Secret("s", {{"token", "t0ken"}});
  const auto karmada = ClusterFromKarmada(Karmada("a", {{"apiEndpoint", "https://one"}}), &secret, findings);
  const auto merged = MergeClusters({*karmada, FromSecret("z", {{"server", "https://one"}})}, {}, findings);
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].source, "Secret argocd/z");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].object, "Cluster a");
}

ClusterSetOptions Local(LocalCluster local) {
  return {.local = local, .local_account = [] {
            client::ConnectionConfig account;
            account.server = "https://10.96.0.1:443";
            account.token_file = "/pod/token";
            account.ca_pem = "pod-ca";
            return base::Result<client::ConnectionConfig>(account);
          }};
}

TEST(MergeClustersTest, AddsTheLocalClusterUnlessASecretNamesIt) {
  std::vector<Finding> findings;
  auto merged = MergeClusters({FromSecret("a", {{"server", "https://one"}})}, Local(LocalCluster::kLookedAfter), findings);
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].name, "in-cluster");
  EXPECT_EQ(merged[0].server, "https://kubernetes.default.svc");
  EXPECT_EQ(merged[0].id, "") << "and so the first rank";
  EXPECT_FALSE(merged[0].skip_reconcile);
  EXPECT_EQ(merged[0].connection->server, "https://10.96.0.1:443");
  merged = MergeClusters({FromSecret("a", {{"server", "https://kubernetes.default.svc/"}})}, Local(LocalCluster::kLookedAfter),
                         findings);
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].id, "uid-a");
  EXPECT_TRUE(MergeClusters({}, {}, findings).empty());
  EXPECT_TRUE(findings.empty());
}

TEST(MergeClustersTest, TheLocalClusterTakesARankWithoutBeingLookedAfter) {
  std::vector<Finding> findings;
  auto merged = MergeClusters({FromSecret("a", {{"server", "https://one"}})}, Local(LocalCluster::kRanked), findings);
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].name, "in-cluster");
  EXPECT_TRUE(merged[0].skip_reconcile);
  EXPECT_FALSE(merged[0].connection);
  EXPECT_TRUE(findings.empty()) << "nobody has asked for it";
  for (const LocalCluster local : {LocalCluster::kRanked, LocalCluster::kIfNamed}) {
    findings.clear();
    merged = MergeClusters({FromSecret("a", {{"server", "https://kubernetes.default.svc"}})}, Local(local), findings);
    ASSERT_EQ(merged.size(), 1u);
    EXPECT_TRUE(merged[0].skip_reconcile);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].reason, "LocalClusterLeftAlone");
  }
  EXPECT_TRUE(
      MergeClusters({FromSecret("a", {{"server", "https://kubernetes.default.svc"}})}, Local(LocalCluster::kDisabled), findings)
          .empty());
}

TEST(MergeClustersTest, TheLocalClustersSecretUsesThePodsAccount) {
  std::vector<Finding> findings;
  const auto local = [&](const std::string& config) {
    return MergeClusters({FromSecret("a", {{"server", "https://kubernetes.default.svc"}, {"config", config}})},
                         Local(LocalCluster::kLookedAfter), findings)
        .at(0);
  };
  const Cluster plain = local(R"({"tlsClientConfig":{"insecure":true},"awsAuthConfig":{"clusterName":"c"}})");
  EXPECT_EQ(plain.connection->server, "https://10.96.0.1:443");
  EXPECT_EQ(plain.connection->token_file, "/pod/token");
  EXPECT_EQ(plain.connection->ca_pem, "pod-ca");
  EXPECT_FALSE(plain.connection->insecure_skip_tls_verify);
  EXPECT_EQ(plain.connection->exec, nullptr);
  EXPECT_FALSE(plain.skip_reconcile);
  const Cluster own = local(R"({"bearerToken":"own"})");
  EXPECT_EQ(own.connection->token, "own");
  EXPECT_EQ(own.connection->token_file, "");
  EXPECT_EQ(own.connection->ca_pem, "pod-ca");
  EXPECT_NE(own.connection_hash, plain.connection_hash);
  EXPECT_FALSE(local("{broken").connection) << "it may have meant fewer rights";
}

TEST(LocalClusterTest, IsDisabledByTheExactTextOnly) {
  const auto of = [](bool looked_after, const char* enabled) {
    const base::Json argocd_cm = {{"data", {{"cluster.inClusterEnabled", enabled}}}};
    return LocalClusterOf(looked_after, &argocd_cm);
  };
  EXPECT_EQ(of(true, "false"), LocalCluster::kDisabled);
  EXPECT_EQ(of(false, "false"), LocalCluster::kDisabled);
  for (const char* enabled : {"true", "", "False", "no"}) {
    EXPECT_EQ(of(false, enabled), LocalCluster::kRanked);
    EXPECT_EQ(of(true, enabled), LocalCluster::kLookedAfter);
  }
  const base::Json stock = {{"data", {{"url", "https://argocd.example"}}}};
  EXPECT_EQ(LocalClusterOf(false, &stock), LocalCluster::kRanked);
  EXPECT_EQ(LocalClusterOf(false, nullptr), LocalCluster::kIfNamed);
  EXPECT_EQ(LocalClusterOf(true, nullptr), LocalCluster::kLookedAfter);
}

TEST(MergeClustersTest, ClustersOfOneNameAreTwo) {
  std::vector<Finding> findings;
  const auto merged = MergeClusters({FromSecret("a", {{"name", "twin"}, {"server", "https://one"}}),
                                     FromSecret("b", {{"name", "twin"}, {"server", "https://u:p@two"}}),
                                     FromSecret("c", {{"name", "other"}, {"server", "https://three"}})},
                                    {}, findings);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].name, "twin");
  EXPECT_EQ(merged[1].name, "twin");
  EXPECT_EQ(merged[0].label(), "twin at https://one");
  EXPECT_EQ(merged[1].label(), "twin at https://two");
  EXPECT_EQ(merged[2].label(), "other");
  EXPECT_TRUE(findings.empty());
}

TEST(ClusterSecretTest, TakesWhatPeopleWriteWithoutQuotes) {
  base::Json secret = Secret("a", {});
  secret.as_object()["stringData"] =
      base::JsonObject{{"name", 12}, {"server", "https://h"}, {"shard", 1}, {"clusterResources", false}};
  std::vector<Finding> findings;
  const auto cluster = ClusterFromSecret(secret, findings);
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->name, "12");
  EXPECT_EQ(cluster->shard, 1);
  EXPECT_TRUE(findings.empty());
}

TEST(ClusterSecretTest, ReadsWrappedBase64AndNamesWhatIsNone) {
  base::Json secret = Secret("a", {{"server", "https://h"}});
  std::string wrapped = base::Base64Encode(R"({"bearerToken":"abc"})");
  wrapped.insert(8, "\n");
  base::Ensure(secret, {"data", "config"}) = wrapped + "\n";
  base::Ensure(secret, {"data", "shard"}) = "not-base64";
  std::vector<Finding> findings;
  const auto cluster = ClusterFromSecret(secret, findings);
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->connection->token, "abc");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "data.shard is not base64: the field is ignored");
}

TEST(ClusterSecretTest, NamesTheFieldOfAConnectionThatCannotWork) {
  for (const auto& [data, field] : std::vector<std::pair<Data, std::string>>{
           {{{"server", "https//kubernetes.default.svc"}}, "data.server: server is not a URL like https://HOST:PORT"},
           {{{"server", "https://h:6443\n"}}, "data.server: server is not a URL like https://HOST:PORT"},
           {{{"server", "https://h"}, {"config", R"({"proxyUrl":"socks4://p"})"}}, "data.config: proxy-url: "},
           {{{"server", "https://h"}, {"config", R"({"tlsClientConfig":{"insecure":"true"}})"}},
            "data.config: config: tlsClientConfig.insecure: "}}) {
    std::vector<Finding> findings;
    const auto cluster = ClusterFromSecret(Secret("a", data), findings);
    ASSERT_TRUE(cluster) << "it keeps its place";
    EXPECT_FALSE(cluster->connection);
    ASSERT_EQ(findings.size(), 1u) << field;
    EXPECT_TRUE(findings[0].message.starts_with(field)) << findings[0].message;
  }
}

}  // namespace
}  // namespace evenkeel::controllers::distribution::cluster_test
