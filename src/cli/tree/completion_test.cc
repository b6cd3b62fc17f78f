#include "cli/tree/completion.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/tree/command_tree.h"

namespace evenkeel::cli::completion_test {
namespace {

using Words = std::vector<std::string>;

const CommandDescription& Root() {
  static const CommandTree tree("1.2.3");
  static const CommandDescription root = Describe(tree.app());
  return root;
}

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
  EXPECT_EQ(Texts({"get", "shards", "-o", ""}), (Words{"table", "json", "yaml"}));
  EXPECT_EQ(Texts({"get", "shards", "--output", "y"}), Words{"yaml"});
  EXPECT_EQ(Texts({"get", "shards", "--output=j"}), Words{"--output=json"});
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
  EXPECT_EQ(completion.kubeconfig, "k");
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
  PrintCompletion(Root(), Words{"get", "shards", "--kubeconfig", file, "--context=m"}, out);
  EXPECT_EQ(out.str(), "--context=member-1\n:4\n");
  std::filesystem::remove(file);
  out.str("");
  PrintCompletion(Root(), Words{"get", "shards", "--kubeconfig", file, "--context", ""}, out);
  EXPECT_EQ(out.str(), ":4\n") << "who completes is not told of errors";
}

TEST(CompletionTest, ShellsLearnWhetherFilesMayStandThere) {
  std::ostringstream out;
  PrintCompletion(Root(), Words{"simulate", ""}, out);
  PrintCompletion(Root(), Words{"apiserver", "--data-dir", ""}, out);
  PrintCompletion(Root(), Words{"top", "n"}, out);
  EXPECT_EQ(out.str(), ":0\n:16\nnodes\n:4\n");
}

TEST(CompletionTest, ThereIsAScriptForEachShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) EXPECT_TRUE(CompletionScript(shell)->contains("evenkeel")) << shell;
  EXPECT_EQ(CompletionScript("tcsh").error().code(), base::Code::kBadRequest);
}

}  // namespace
}  // namespace evenkeel::cli::completion_test
