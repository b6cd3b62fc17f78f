#include "cli/clusters/member_settings.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace evenkeel::cli::member_settings_test {
namespace {

using controllers::distribution::Cluster;

class MemberSettingsTest : public ::testing::Test {
 protected:
  MemberSettingsTest() {
    directory = std::filesystem::temp_directory_path() / ("evenkeel-settings-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory);
  }
  ~MemberSettingsTest() override { std::filesystem::remove_all(directory); }
  std::string File(const std::string& name, const std::string& text) {
    const std::string path = directory / name;
    std::ofstream(path) << text;
    return path;
  }
  static Cluster Member(const std::string& name, const std::string& args) {
    Cluster cluster;
    cluster.name = name;
    cluster.server = "https://" + name;
    cluster.source = "Secret evenkeel/" + name;
    cluster.autoscaler_args = args;
    return cluster;
  }
  static std::string Names(const std::vector<Rival>& rivals) {
    std::string names;
    for (const Rival& rival : rivals) names += (names.empty() ? "" : " ") + rival.member;
    return names;
  }

  std::filesystem::path directory;
};

TEST_F(MemberSettingsTest, FlagsOfAMemberGoBeforeThoseOfTheFleet) {
  MemberSettings settings({{"cloud-provider", "kwok"}, {"scan-interval", "7s"}}, {});
  settings.SetClusters({Member("a", ""), Member("b", "--cloud-provider=embedded"), Member("c", "--nothing")});
  EXPECT_EQ(settings.OptionsOf("a")->cloud_provider, "kwok");
  EXPECT_EQ(settings.OptionsOf("b")->cloud_provider, "embedded");
  EXPECT_EQ(settings.OptionsOf("b")->scan_interval, std::chrono::seconds(7));
  EXPECT_EQ(settings.OptionsOf("c").error().message(),
            "Secret evenkeel/c: annotation evenkeel.dev/autoscaler-args: --nothing: no such flag");
  EXPECT_EQ(settings.OptionsOf("not read yet")->cloud_provider, "kwok");
  settings.SetClusters({Member("a", "--scan-interval=9s"), Member("a", "")});
  EXPECT_FALSE(settings.OptionsOf("a")) << "whose is it?";
}

TEST_F(MemberSettingsTest, WhoAsksTheSameServiceIsARival) {
  const std::string one = File("one", "address: 127.0.0.1:1\n"), two = File("two", "address: 127.0.0.1:2\n");
  MemberSettings settings({{"cloud-provider", "externalgrpc"}, {"cloud-config", one}}, {});
  Cluster idle = Member("idle", "");
  idle.skip_reconcile = true;
  settings.SetClusters({Member("a", ""), Member("b", "--cloud-config=" + two), Member("c", ""),
                        Member("d", "--cloud-provider=kwok"), Member("e", "--cloud-config=/nowhere"), idle});
  EXPECT_EQ(Names(settings.RivalsOf("a")), "c idle") << "one that is not looked after for now has its groups all the same";
  EXPECT_EQ(Names(settings.RivalsOf("c")), "a idle");
  for (const char* alone : {"b", "d", "e", "unknown"}) EXPECT_EQ(Names(settings.RivalsOf(alone)), "") << alone;
  settings.SetClusters({Member("a", ""), Member("c", "--cloud-config=" + two)});
  EXPECT_EQ(Names(settings.RivalsOf("a")), "");
}

TEST_F(MemberSettingsTest, MembersOfOneManagementClusterAreRivalsWithTheirDiscovery) {
  const std::string management = File("management", R"(apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "https://a"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
)");
  MemberSettings settings({{"cloud-provider", "clusterapi"}}, {});
  const std::string elsewhere = "--cloud-config=" + management + " --node-group-auto-discovery=clusterapi:clusterName=";
  settings.SetClusters({Member("a", ""), Member("b", elsewhere + "b"), Member("c", elsewhere + "c"), Member("d", "")});
  EXPECT_EQ(Names(settings.RivalsOf("a")), "b c") << "a is the management cluster";
  EXPECT_EQ(Names(settings.RivalsOf("b")), "a c");
  EXPECT_EQ(settings.RivalsOf("b")[1].discovery.at(0).cluster_name, "c");
  EXPECT_EQ(Names(settings.RivalsOf("d")), "") << "each is its own management cluster";
}

TEST_F(MemberSettingsTest, AMemberThatCannotBeAskedIsNamed) {
  MemberSettings settings({{"cloud-provider", "clusterapi"}}, {});
  settings.SetClusters({Member("a", ""), Member("b", ""), Member("c", "--cloud-provider=kwok")});
  EXPECT_TRUE(settings.NodesElsewhere("c")) << "its nodes are its own";
  EXPECT_EQ(settings.NodesElsewhere("a").error().message(), "member b: no way to connect");
}

}  // namespace
}  // namespace evenkeel::cli::member_settings_test
