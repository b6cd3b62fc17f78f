#include "base/hash.h"

#include <gtest/gtest.h>

namespace evenkeel::base::hash_test {
namespace {

std::string Hex(const auto& bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

TEST(HashTest, FnvMatchesItsPublishedVectors) {
  EXPECT_EQ(Fnv1a32(""), 0x811c9dc5u);
  EXPECT_EQ(Fnv1a32("a"), 0xe40c292cu);
  EXPECT_EQ(Fnv1a32("foobar"), 0xbf9cf968u);
  EXPECT_EQ(Fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(Fnv1a64("foobar"), 0x85944171f73967e8u);
}

TEST(HashTest, XxHashMatchesTheReferenceImplementation) {
  std::string rising;
  for (int i = 0; i < 100; ++i) rising += static_cast<char>(i);
  EXPECT_EQ(XxHash64(""), 0xef46db3751d8e999u);
  EXPECT_EQ(XxHash64("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(XxHash64("even keel", 7), 0xff39209f7d1b2929u);
  EXPECT_EQ(XxHash64(std::string_view(rising).substr(0, 32), 1), 0xd74e6766ce9dba94u);
  EXPECT_EQ(XxHash64(rising), 0x6ac1e58032166597u);
  EXPECT_EQ(XxHash64(rising, 0x0123456789abcdef), 0x40e8f4ec2207f62cu);
}

TEST(HashTest, Blake2bMatchesTheVectorOfItsRfc) {
  EXPECT_EQ(Hex(Blake2b512("abc")),
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
            "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
  EXPECT_EQ(Blake2b64("abc"), 0x0d4d1c983fa580bau);
  EXPECT_EQ(Blake2b64("abc"), 0x0d4d1c983fa580bau) << "the context is clean again after each use";
}

TEST(HashTest, Base64MatchesTheVectorsOfItsRfc) {
  const std::vector<std::pair<std::string_view, std::string_view>> vectors = {{"", ""},
                                                                              {"f", "Zg=="},
                                                                              {"fo", "Zm8="},
                                                                              {"foo", "Zm9v"},
                                                                              {"foob", "Zm9vYg=="},
                                                                              {"fooba", "Zm9vYmE="},
                                                                              {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(Base64Encode(bytes), text);
    std::string decoded = "old";
    EXPECT_TRUE(Base64Decode(text, decoded)) << text;
    EXPECT_EQ(decoded, bytes);
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  std::string decoded;
  EXPECT_TRUE(Base64Decode(Base64Encode(all), decoded));
  EXPECT_EQ(decoded, all);
}

TEST(HashTest, Base64SkipsLineBreaksAsGoDoes) {
  std::string decoded;
  for (const std::string_view text : {"Zm9vYg==\n", "Zm9v\r\nYg==\r\n", "Zm\n9vYg=\n=", "\n\nZm9vYg=="}) {
    EXPECT_TRUE(Base64Decode(text, decoded)) << text;
    EXPECT_EQ(decoded, "foob");
  }
}

TEST(HashTest, Base64RefusesWhatIsNotStandard) {
  std::string decoded;
  for (const std::string_view text : {"Z", "Zg", "Zg=", "Zg=a", "Z===", "Zg=\n", "Zm9-", "=Zm9", "Zg==Zg=="}) {
    EXPECT_FALSE(Base64Decode(text, decoded)) << text;
  }
}

}  // namespace
}  // namespace evenkeel::base::hash_test
