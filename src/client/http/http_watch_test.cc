#include "client/http/http_watch.h"

#include <gtest/gtest.h>

namespace evenkeel::client::http_watch_test {
namespace {

using base::Code;

TEST(LineSplitterTest, FindsTheSameLinesHoweverTheTextIsCut) {
  const std::string text = "one\ntwo\r\n\nthree\nrest";
  for (size_t cut = 1; cut <= text.size(); ++cut) {
    LineSplitter splitter(100);
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size(); at += cut) {
      EXPECT_TRUE(splitter.Feed(std::string_view(text).substr(at, cut), [&](std::string_view line) {
        lines.emplace_back(line);
        return true;
      }));
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three"})) << cut;
  }
}

TEST(LineSplitterTest, StopsWhenToldTo) {
  LineSplitter splitter(100);
  int lines = 0;
  EXPECT_FALSE(splitter.Feed("a\nb\nc\n", [&](std::string_view) { return ++lines < 2; }));
  EXPECT_EQ(lines, 2);
  EXPECT_FALSE(splitter.too_long());
}

TEST(LineSplitterTest, RefusesALineWithoutAnEnd) {
  auto ignore = [](std::string_view) { return true; };
  LineSplitter pieces(10);
  EXPECT_TRUE(pieces.Feed("0123456789", ignore));
  EXPECT_FALSE(pieces.Feed("0", ignore));
  EXPECT_TRUE(pieces.too_long());
  LineSplitter whole(10);
  EXPECT_FALSE(whole.Feed("0123456789a\n", ignore));
  EXPECT_TRUE(whole.too_long());
}

TEST(DecodeWatchLineTest, ReadsEventsAndErrors) {
  const auto event = DecodeWatchLine(R"({"type":"DELETED","object":{"kind":"Pod"}})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, WatchEvent::Type::kDeleted);
  EXPECT_EQ(base::FindString(event->object, {"kind"}), "Pod");
  const auto expired = DecodeWatchLine(R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"m"}})");
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().code(), Code::kExpired);
  EXPECT_EQ(expired.error().message(), "m");
  for (const char* bad : {R"({"type":"NEW","object":{}})", R"({"type":"ADDED"})", R"({"type":"ADDED","object":1})", R"([])",
                          R"({"type":"ERROR","object":{}})"}) {
    EXPECT_EQ(DecodeWatchLine(bad).error().code(), Code::kInternal) << bad;
  }
  EXPECT_FALSE(DecodeWatchLine("{"));
}

}  // namespace
}  // namespace evenkeel::client::http_watch_test
