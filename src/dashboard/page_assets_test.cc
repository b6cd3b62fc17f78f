#include "dashboard/page_assets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

namespace evenkeel::dashboard::page_assets_test {
namespace {

std::string_view Content(std::string_view path) {
  auto assets = PageAssets();
  auto found = std::ranges::find(assets, path, &PageAsset::path);
  return found == assets.end() ? std::string_view() : found->content;
}

std::vector<std::string> Matches(std::string_view text, const char* pattern) {
  std::string copy(text);
  std::regex regex(pattern);
  std::vector<std::string> out;
  for (std::sregex_iterator it(copy.begin(), copy.end(), regex); it != std::sregex_iterator(); ++it) {
    out.push_back((*it)[1]);
  }
  return out;
}

TEST(PageAssets, TheFirstPageNamesOnlyFilesThatAreThere) {
  std::string_view index = Content("/index.html");
  std::vector<std::string> named = Matches(index, R"re((?:src|href)="([^"]*)")re");
  EXPECT_GE(named.size(), 3u) << index;
  for (const std::string& path : named) {
    EXPECT_TRUE(path.starts_with("/assets/")) << path;
    EXPECT_FALSE(Content(path).empty()) << path;
  }
}

TEST(PageAssets, TheFirstPageHasNoInlineScriptOrStyle) {
  std::string_view index = Content("/index.html");
  EXPECT_EQ(Matches(index, R"re(<script([^>]*)>)re").size(),
            Matches(index, R"re(<script[^>]* src="([^"]*)"[^>]*></script>)re").size());
  EXPECT_EQ(index.find("<style"), index.npos);
  EXPECT_EQ(index.find(" style="), index.npos);
}

TEST(PageAssets, AreInTheOrderOfTheirPathsAndKnowTheirTypes) {
  EXPECT_TRUE(std::ranges::is_sorted(PageAssets(), {}, &PageAsset::path));
  for (const PageAsset& asset : PageAssets()) {
    EXPECT_FALSE(asset.content.empty()) << asset.path;
    EXPECT_FALSE(asset.content_type.empty()) << asset.path;
  }
}

TEST(ReportPage, AsksForNothingFromAnywhere) {
  EXPECT_TRUE(Matches(ReportTemplate(), R"re(<(?:script|link|img)[^>]* (?:src|href)="([^"]*)")re").empty());
}

TEST(ReportPage, KeepsDataData) {
  base::Json data = {{"title", "</script><script>alert(1)</script><!-- \xe2\x82\xac"}};
  std::string page = ReportPage(data);
  std::string begin = R"(<script type="application/json" id="report-data">)";
  size_t at = page.find(begin);
  ASSERT_NE(at, page.npos);
  at += begin.size();
  std::string text = page.substr(at, page.find('<', at) - at);
  EXPECT_TRUE(page.substr(at + text.size()).starts_with("</script>"));
  auto parsed = base::ParseJson(text, "report-data");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(base::Equal(*parsed, data));
  EXPECT_EQ(page.size(), ReportTemplate().size() + begin.size() + text.size() + 9 - 27);
}

}  // namespace
}  // namespace evenkeel::dashboard::page_assets_test
