#include "kube/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace evenkeel::kube::quantity_test {
namespace {

Quantity Q(std::string_view text) {
  const auto quantity = Quantity::Parse(text);
  EXPECT_TRUE(quantity) << text;
  return quantity.value_or(Quantity());
}

TEST(QuantityTest, CanonicalFormsAreKubernetes) {
  const std::vector<std::pair<std::string, std::string_view>> cases = {
      {"0", "0"},
      {"-0", "0"},
      {"0Ki", "0"},
      {"00100", "100"},
      {"+5", "5"},
      {".5", "500m"},
      {"1.", "1"},
      {"0.5", "500m"},
      {"1.5", "1500m"},
      {"1500m", "1500m"},
      {"1000m", "1"},
      {"1000", "1k"},
      {"1024", "1024"},
      {"1500", "1500"},
      {"100k", "100k"},
      {"1000k", "1M"},
      {"1000000k", "1G"},
      {"0.001k", "1"},
      {"100000000", "100M"},
      {"1Ki", "1Ki"},
      {"1024Ki", "1Mi"},
      {"1.5Gi", "1536Mi"},
      {"0.5Ki", "512"},
      {"62.5Ki", "64000"},
      {"8Ki", "8Ki"},
      {"1023Mi", "1023Mi"},
      {"1048576Ki", "1Gi"},
      {"16Gi", "16Gi"},
      {"0.5Mi", "512Ki"},
      {"0.05Gi", "53687091200m"},
      {"0.000001Ki", "1024u"},
      {"-1.5Gi", "-1536Mi"},
      {"-500m", "-500m"},
      {"1e3", "1e3"},
      {"12e6", "12e6"},
      {"1E+6", "1e6"},
      {"1500e3", "1500e3"},
      {"1e-3", "1e-3"},
      {"1e-2", "10e-3"},
      {"5e1", "50"},
      {"1E", "1E"},
      {"9223372036854775807", "9223372036854775807"},
      {"1n", "1n"},
      {"1000n", "1u"},
      {"100u", "100u"},
      {"3.000000001", "3000000001n"},
      {"100000000000000000000000000e-20", "1e6"},
      {"0.000000000000000000000000001e27", "1"},
      {"0." + std::string(150, '0') + "5e152", "50"},
  };
  for (const auto& [text, canonical] : cases) EXPECT_EQ(Q(text).ToString(), canonical) << text;
}

TEST(QuantityTest, FinerThanNanoRoundsAwayFromZero) {
  EXPECT_EQ(Q("0.0000000001").ToString(), "1n");
  EXPECT_EQ(Q("-0.0000000001").ToString(), "-1n");
  EXPECT_EQ(Q("1.0000000001").ToString(), "1000000001n");
  EXPECT_EQ(Q("1e-9999999").ToString(), "1e-9");
  EXPECT_EQ(Q("0." + std::string(300, '0') + "1").ToString(), "1n");
}

TEST(QuantityTest, TooLargeAmountsAreCut) {
  const Quantity limit = Quantity::FromInt(INT64_MAX);
  for (const std::string_view text :
       {"9223372036854775808", "10E", "8Ei", "9223372036854775807Ki", "1e19", "1e99999", "1e100"}) {
    EXPECT_EQ(Q(text), limit) << text;
    EXPECT_EQ(Q("-" + std::string(text)), -limit) << text;
  }
  EXPECT_EQ(Q(std::string(400, '9')), limit);
  EXPECT_EQ(limit + limit, limit);
  EXPECT_EQ(limit.MilliValue(), INT64_MAX);
  EXPECT_EQ((-limit).Value(), -INT64_MAX);
}

TEST(QuantityTest, RefusesWhatUpstreamRefuses) {
  for (const std::string_view text : {"",        " ",     "1 ",   " 1",   "aoeu",   "1.1.M", "1+1.0M",
                                      "0.1mi",   "0.1am", ".5i",  "1i",   "-3.01i", "1e",    "1e+",
                                      "-3.01e-", "Mi",    ".",    "-",    "--1",    "1K",    "1mm",
                                      "1e5.5",   "1e+-5", "1MiB", "0x10", "1,5",    "1g",    "1e99999999999999999999"}) {
    const auto quantity = Quantity::Parse(text);
    ASSERT_FALSE(quantity) << text;
    EXPECT_EQ(quantity.error().code(), base::Code::kBadRequest);
  }
  EXPECT_EQ(Quantity::Parse("1K").error().message(), "unable to parse quantity's suffix");
  EXPECT_TRUE(Quantity::Parse("abc").error().message().starts_with("quantities must match the regular expression"));
}

TEST(QuantityTest, ValuesRoundUp) {
  EXPECT_EQ(Q("100m").MilliValue(), 100);
  EXPECT_EQ(Q("100m").Value(), 1);
  EXPECT_EQ(Q("1u").MilliValue(), 1);
  EXPECT_EQ(Q("-1.2").Value(), -2);
  EXPECT_EQ(Q("2").MilliValue(), 2000);
  EXPECT_EQ(Q("16Gi").Value(), int64_t{16} << 30);
  EXPECT_EQ(Quantity::FromMilli(2500).ToString(), "2500m");
  EXPECT_EQ(Quantity::FromMilli(3000).ToString(), "3");
  EXPECT_EQ(Quantity::FromInt(2048, Quantity::Format::kBinarySi).ToString(), "2Ki");
  EXPECT_EQ(Quantity::FromInt(1000, Quantity::Format::kBinarySi).ToString(), "1k");
}

TEST(QuantityTest, ArithmeticKeepsTheLeftFormat) {
  EXPECT_EQ((Q("1Gi") + Q("512Mi")).ToString(), "1536Mi");
  EXPECT_EQ((Q("0") + Q("2Ki")).ToString(), "2Ki");
  EXPECT_EQ((Q("1") - Q("250m")).ToString(), "750m");
  EXPECT_EQ((Q("1") - Q("2")).ToString(), "-1");
  Quantity sum;
  sum += Q("100m");
  sum += Q("200m");
  sum -= Q("50m");
  EXPECT_EQ(sum.ToString(), "250m");
}

TEST(QuantityTest, ComparesByAmount) {
  EXPECT_EQ(Q("1000m"), Q("1"));
  EXPECT_EQ(Q("1Ki"), Q("1.024k"));
  EXPECT_LT(Q("999m"), Q("1"));
  EXPECT_GT(Q("1Gi"), Q("1G"));
  EXPECT_LT(Q("-1"), Q("0"));
}

TEST(QuantityTest, JsonNumbersCount) {
  EXPECT_EQ(Quantity::FromJson(base::Json(2))->ToString(), "2");
  EXPECT_EQ(Quantity::FromJson(base::Json(0.5))->ToString(), "500m");
  EXPECT_EQ(Quantity::FromJson(base::Json("1Gi"))->ToString(), "1Gi");
  EXPECT_FALSE(Quantity::FromJson(base::Json(true)));
}

TEST(QuantityTest, EveryWrittenQuantityReadsBack) {
  EXPECT_TRUE(rc::check([](int64_t value, uint8_t which) {
    const auto format = static_cast<Quantity::Format>(which % 3);
    for (const Quantity& quantity : {Quantity::FromInt(value, format), Quantity::FromMilli(value, format)}) {
      const auto read = Quantity::Parse(quantity.ToString());
      RC_ASSERT(read.has_value());
      RC_ASSERT(*read == quantity);
      // A binary one that no power of 1024 divides has no suffix to tell that by, and is a decimal one when it is read.
      if (read->format() == quantity.format()) RC_ASSERT(read->ToString() == quantity.ToString());
    }
  }));
}

TEST(QuantityTest, TheShortAndTheLongWayAgree) {
  EXPECT_TRUE(rc::check([](uint32_t whole, uint16_t fraction, uint8_t which) {
    static constexpr std::array<std::string_view, 8> kSuffixes = {"", "m", "k", "Ki", "Gi", "e2", "M", "u"};
    const std::string suffix(kSuffixes[which % kSuffixes.size()]);
    const std::string text = std::to_string(whole) + "." + std::to_string(fraction);
    // Trailing zeros change nothing but make the text too long for the short way.
    const auto brief = Quantity::Parse(text + suffix);
    const auto padded = Quantity::Parse(text + std::string(20, '0') + suffix);
    RC_ASSERT(brief.has_value() && padded.has_value());
    RC_ASSERT(*brief == *padded);
  }));
}

}  // namespace
}  // namespace evenkeel::kube::quantity_test
