#include "cli/tree/completion.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/clusters/command_flags.h"
#include "cli/tree/command_tree.h"

namespace evenkeel::cli::completion_test {
namespace {

using Words = std::vector<std::string>;

const CommandDescription& Root() {
  static const CommandTree tree("1.2.3");
  static const CommandDescription root = Describe(tree.app());
  return root;
}

Words NoNames(const std::string&, const NamesPlace&) { return {}; }

Words Texts(const Words& words) {
  Words texts;
  for (const Candidate& candidate : Complete(Root(), words).candidates) texts.push_back(candidate.text);
  return texts;
}

TEST(CompletionTest, CommandsAreOfferedWithTheirHelp) {
  EXPECT_EQ(Texts({"get", ""}), (Words{"shards", "rollouts", "nodegroups", "loads"}));
  const Completion completion = Complete(Root(), Words{"explain", "cl"});
  ASSERT_EQ(completion.candidates.size(), 1u);
  EXPECT_EQ(completion.candidates[0], (Candidate{"cluster", "Why this owner, and what would move the cluster"}));
  EXPECT_EQ(completion.rest, Completion::Rest::kNothing);
}

TEST(CompletionTest, FlagsAreThoseOfTheCommandAndOfThoseAbove) {
  EXPECT_EQ(Texts({"get", "shards", "--wat"}), Words{"--watch"});
  EXPECT_EQ(Texts({"get", "shards", "--log"}), Words{"--log-level"});
  EXPECT_EQ(Texts({"get", "shards", "--members"}), Words{});
  EXPECT_EQ(Texts({"plan", "scale", "--scale-down-unneeded"}), Words{"--scale-down-unneeded-time"});
}

TEST(CompletionTest, AFlagIsOfferedAgainOnlyIfItCountsAgain) {
  EXPECT_EQ(Texts({"plan", "shards", "--replicas", "3", "--repl"}), Words{});
  EXPECT_EQ(Texts({"plan", "shards", "-f", "a.yaml", "--filen"}), Words{"--filename"});
}

TEST(CompletionTest, ValuesAreOfferedHoweverTheyAreWritten) {
  EXPECT_EQ(Texts({"get", "shards", "-o", ""}),
            (Words{"table", "wide", "name", "json", "yaml", "jsonpath=", "custom-columns="}));
  EXPECT_EQ(Texts({"plan", "shards", "-o", ""}), (Words{"table", "json", "yaml"}));
  EXPECT_EQ(Texts({"get", "shards", "--output", "y"}), Words{"yaml"});
  EXPECT_EQ(Texts({"get", "shards", "--output=j"}), (Words{"--output=json", "--output=jsonpath="}));
  EXPECT_EQ(Texts({"top", ""}), (Words{"clusters", "nodes", "shards"}));
  EXPECT_EQ(Texts({"completion", "z"}), Words{"zsh"});
  EXPECT_EQ(Texts({"up", "--members", ""}), Words{});
}

TEST(CompletionTest, FilesDirectoriesAndContextsAreAskedFor) {
  EXPECT_EQ(Complete(Root(), Words{"simulate", ""}).rest, Completion::Rest::kFiles);
  EXPECT_EQ(Complete(Root(), Words{"simulate", "a.yaml", ""}).rest, Completion::Rest::kNothing);
  EXPECT_EQ(Complete(Root(), Words{"plan", "shards", "-f", ""}).rest, Completion::Rest::kFiles);
  EXPECT_EQ(Complete(Root(), Words{"apiserver", "--data-dir", ""}).rest, Completion::Rest::kDirectories);
  const Completion completion = Complete(Root(), Words{"get", "shards", "--kubeconfig=k", "--context", ""});
  EXPECT_EQ(completion.rest, Completion::Rest::kContexts);
  EXPECT_EQ(completion.where.kubeconfig, "k");
}

TEST(CompletionTest, WhatIsWrongIsPassedOver) {
  EXPECT_EQ(Texts({"nonsense", "--nothing", "get", "sh"}), Words{"shards"});
  EXPECT_EQ(Texts({"--", "ge"}), Words{"get"});
  EXPECT_EQ(Complete(Root(), Words{}).candidates.size(), Root().commands.size());
}

TEST(CompletionTest, ContextsComeFromTheKubeconfigThatIsNamed) {
  const std::string file = ::testing::TempDir() + "evenkeel-completion-" + std::to_string(getpid()) + ".yaml";
  std::ofstream(file) << "apiVersion: v1\nkind: Config\ncontexts:\n- {name: hub, context: {cluster: c, user: u}}\n"
                         "- {name: member-1, context: {cluster: c, user: u}}\nclusters: []\nusers: []\n";
  std::ostringstream out;
  PrintCompletion(Root(), Words{"get", "shards", "--kubeconfig", file, "--context=m"}, NoNames, out);
  EXPECT_EQ(out.str(), "--context=member-1\n:4\n");
  std::filesystem::remove(file);
  out.str("");
  PrintCompletion(Root(), Words{"get", "shards", "--kubeconfig", file, "--context", ""}, NoNames, out);
  EXPECT_EQ(out.str(), ":4\n") << "who completes is not told of errors";
}

TEST(CompletionTest, NamesAreAskedOfTheFleet) {
  std::string asked;
  const NameSource names = [&asked](const std::string& type, const NamesPlace& place) {
    asked = type + " " + place.kubeconfig + " " + place.context + " " + place.ns + " " + place.cluster;
    return Words{"east", "e\nvil", "west"};
  };
  std::ostringstream out;
  PrintCompletion(Root(), Words{"explain", "cluster", "--kubeconfig", "k", "-nfleet", "--context=c", "e"}, names, out);
  EXPECT_EQ(out.str(), "east\ne vil\n:4\n") << "a name is one line, whatever is in it";
  EXPECT_EQ(asked, "CLUSTER k c fleet ");
  out.str("");
  PrintCompletion(Root(), Words{"top", "nodes", "--cluster=w"}, names, out);
  EXPECT_EQ(out.str(), "--cluster=west\n:4\n");
  for (const auto& [words, type] : std::map<Words, std::string>{{{"explain", "node", ""}, kNodeType},
                                                                {{"explain", "pod", ""}, kPodType},
                                                                {{"get", "shards", ""}, kClusterType},
                                                                {{"get", "shards", "east", ""}, kClusterType},
                                                                {{"get", "rollouts", ""}, kRolloutType},
                                                                {{"get", "nodegroups", ""}, kNodeGroupType}}) {
    asked.clear();
    PrintCompletion(Root(), words, names, out);
    EXPECT_TRUE(asked.starts_with(type)) << words.at(1) << ": " << asked;
  }
}

TEST(CompletionTest, AFleetThatDoesNotAnswerIsNotWaitedFor) {
  // It takes connections and never says anything.
  const int silent = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(silent, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(silent, 5), 0);
  getsockname(silent, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string file = ::testing::TempDir() + "evenkeel-silent-" + std::to_string(getpid()) + ".yaml";
  std::ofstream(file) << "apiVersion: v1\nkind: Config\ncurrent-context: hub\n"
                         "contexts:\n- {name: hub, context: {cluster: c, user: u}}\nusers: [{name: u, user: {token: t}}]\n"
                         "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:"
                      << ntohs(address.sin_port) << "'}}]\n";
  const base::Instant begin = base::SystemClock().Monotonic();
  const base::Duration limit = std::chrono::milliseconds(200);
  EXPECT_EQ(LiveNames(kClusterType, {.kubeconfig = file}, limit), Words{});
  EXPECT_LT(base::SystemClock().Monotonic() - begin, std::chrono::seconds(60));
  close(silent);
  EXPECT_EQ(LiveNames(kClusterType, {.kubeconfig = "/nowhere"}, limit), Words{});
  std::filesystem::remove(file);
}

TEST(CompletionTest, ShellsLearnWhetherFilesMayStandThere) {
  std::ostringstream out;
  PrintCompletion(Root(), Words{"simulate", ""}, NoNames, out);
  PrintCompletion(Root(), Words{"apiserver", "--data-dir", ""}, NoNames, out);
  PrintCompletion(Root(), Words{"top", "n"}, NoNames, out);
  EXPECT_EQ(out.str(), ":0\n:16\nnodes\n:4\n");
}

TEST(CompletionTest, ThereIsAScriptForEachShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) EXPECT_TRUE(CompletionScript(shell)->contains("evenkeel")) << shell;
  EXPECT_EQ(CompletionScript("tcsh").error().code(), base::Code::kBadRequest);
}

}  // namespace
}  // namespace evenkeel::cli::completion_test
