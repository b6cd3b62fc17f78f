#include "cli/terminal/report_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/input/file.h"

namespace evenkeel::cli::report_file_test {
namespace {

TEST(ReportFileTest, ACommandIsWrittenAsAShellTakesIt) {
  const char* const argv[] = {"/usr/bin/evenkeel", "simulate", "a b.yaml", "--report", "it's.html", ""};
  EXPECT_EQ(CommandText(6, argv), "evenkeel simulate 'a b.yaml' --report 'it'\\''s.html' ''");
}

TEST(ReportFileTest, ThePageHasItsDataAndIsWrittenAsAWhole) {
  const ReportOptions report{.file = ::testing::TempDir() + "report.html", .command = "evenkeel plan"};
  ASSERT_TRUE(CheckReport(report));
  const auto written = WriteReport(report, {{"title", "</script>"}}, base::Time{});
  ASSERT_TRUE(written) << written.error().message();
  const auto page = base::ReadFile(report.file);
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->starts_with("<!doctype html>"));
  EXPECT_NE(page->find(R"("title":"\u003c/script>")"), std::string::npos);
  EXPECT_NE(page->find(R"("command":"evenkeel plan")"), std::string::npos);
  EXPECT_NE(page->find(R"("generated":"1970-01-01T00:00:00Z")"), std::string::npos);
}

TEST(ReportFileTest, WhatCannotBeWrittenIsSaidInOneLineBeforeTheWork) {
  for (const std::string& file : {std::string("-"), ::testing::TempDir(), ::testing::TempDir() + "nowhere/report.html"}) {
    const auto checked = CheckReport({.file = file});
    ASSERT_FALSE(checked) << file;
    EXPECT_EQ(base::ExitStatus(checked.error().code()), 2);
    EXPECT_TRUE(checked.error().message().starts_with("--report " + file)) << checked.error().message();
    EXPECT_EQ(checked.error().message().find('\n'), std::string::npos);
  }
  EXPECT_TRUE(CheckReport({}));
}

}  // namespace
}  // namespace evenkeel::cli::report_file_test
