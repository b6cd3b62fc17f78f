#include "cli/terminal/printable.h"

#include <gtest/gtest.h>

namespace evenkeel::cli::printable_test {
namespace {

TEST(PrintableTest, WhatCommandsATerminalIsASpace) {
  EXPECT_EQ(Printable("\x1b]0;x\a\n"), " ]0;x  ");
  EXPECT_EQ(Printable("a\tb\rc\x7f"), "a b c ");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "2J"),
            " 2J")
      << "a control sequence in one character";
  EXPECT_EQ(Printable("\x9b"
                      "2J"),
            " 2J")
      << "and in one byte";
  EXPECT_EQ(Printable("a\xe2\x80\xae"
                      "b"),
            "a b")
      << "right to left";
  EXPECT_EQ(Printable("a\xe2\x80\xa8"
                      "b"),
            "a b")
      << "a line break of Unicode's";
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a b");
}

TEST(PrintableTest, TextsOfAnyLanguageStay) {
  for (const char* text : {"", "node-1", "Prüfung für größere Knoten", "節點", "🚢 adrift"}) EXPECT_EQ(Printable(text), text);
}

TEST(PrintableTest, BytesThatAreNoUtf8AreSpaces) {
  EXPECT_EQ(Printable("a\xff"
                      "b"),
            "a b");
  EXPECT_EQ(Printable("\xc3"), " ") << "cut in the middle";
  EXPECT_EQ(Printable("\xe7\xaf"
                      "x"),
            "  x");
  EXPECT_EQ(Printable("\xc0\x8a"), "  ") << "a newline, longer than it has to be";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "   ") << "half of a pair";
}

TEST(PrintableTest, FittedTextIsAsWideAsAsked) {
  EXPECT_EQ(Fitted("abc", 5), "abc  ");
  EXPECT_EQ(Fitted("abcdef", 3), "abc");
  EXPECT_EQ(Fitted("größer", 3), "grö") << "not the half of a letter";
  EXPECT_EQ(Fitted("grö", 4), "grö ");
  EXPECT_EQ(Fitted("a\nb", 2), "a ");
  EXPECT_EQ(Fitted("x", 0), "");
  EXPECT_EQ(Columns("grö🚢"), 4u);
}

}  // namespace
}  // namespace evenkeel::cli::printable_test
