#include "kube/formats.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace evenkeel::kube::formats_test {
namespace {

struct Case {
  std::string format;
  std::vector<std::string> good, bad;
};

class FormatTest : public ::testing::TestWithParam<Case> {};

TEST_P(FormatTest, IsChecked) {
  const FormatCheck check = FindFormat(GetParam().format);
  ASSERT_NE(check, nullptr);
  for (const std::string& text : GetParam().good) EXPECT_TRUE(check(text)) << text;
  for (const std::string& text : GetParam().bad) EXPECT_FALSE(check(text)) << text;
}

INSTANTIATE_TEST_SUITE_P(
    All, FormatTest,
    ::testing::Values(
        Case{"bsonobjectid", {"507f1f77bcf86cd799439011"}, {"", "507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g"}},
        Case{"byte", {"aGk=", "aGkh", "aA=="}, {"", "aGk", "a-_=", "aGk=\n"}},
        Case{"cidr", {"10.0.0.0/8", "::/0", "fd00::/128"}, {"10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "::/129", "10.0.0.0/+8"}},
        Case{"creditcard", {"4111111111111111", "4111-1111-1111-1111"}, {"4111111111111112", "1234", ""}},
        Case{"date", {"2024-02-29", "0001-01-01", "9999-12-31"}, {"2023-02-29", "2024-2-9", "2024-02-29T", ""}},
        Case{"date-time",
             {"2024-02-29T12:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00.5+01:00", "2024-02-29t12:00:00z"},
             {"2024-02-29 12:00:00Z", "2024-02-29T24:00:00Z", "2024-02-29T12:60:00Z", "2024-02-29T12:00:00", "yesterday", ""}},
        Case{"datetime", {"2024-02-29T12:00:00Z"}, {"now"}},
        Case{"duration",
             {"1h15m", "300ms", "-1.5h", "22 ns", "1 day", "2 weeks", "5 Minutes"},
             {"", "one day", "5", "5 parsecs"}},
        Case{"email",
             {"a@b", "a.b+c@d.org", "Bob <bob@x.org>", "\"a b\"@c", "a@[10.0.0.1]"},
             {"", "a", "a@", "@b", "a..b@c", "a@b@c", "a b@c"}},
        Case{"hexcolor", {"#fff", "FFFFFF"}, {"#ff", "#ggg", ""}},
        Case{"hostname",
             {"example.org", "a", "1a.b2", "a-b.example.org", "straße.de"},
             {"", "-a.org", "a_b.org", "a..b", std::string(64, 'a') + ".org", "my-long-host"}},
        Case{"ipv4", {"10.0.0.1", "::ffff:10.0.0.1"}, {"10.0.0", "10.0.0.256", "010.0.0.1", "::1", ""}},
        Case{"ipv6", {"::1", "fd00::1:2", "::ffff:10.0.0.1"}, {"10.0.0.1", "fe80::1%eth0", ":::", "12345::", ""}},
        Case{"isbn", {"0321751043", "978-0321751041"}, {"0321751044", "978-0321751042", ""}},
        Case{"isbn10", {"0-321-75104-3", "155404295X"}, {"9780321751041", ""}},
        Case{"isbn13", {"978 0321751041"}, {"0321751043"}},
        Case{"k8s-long-name", {"a.b-c", "0"}, {"A", "a..b", "", std::string(254, 'a')}},
        Case{"k8s-short-name", {"a-b", "0"}, {"a.b", "A", "-a", "", std::string(64, 'a')}},
        Case{"mac",
             {"01:23:45:67:89:ab", "01-23-45-67-89-AB", "0123.4567.89ab", "01:23:45:67:89:ab:cd:ef"},
             {"01:23:45:67:89", "01:23-45:67:89:ab", "0g:23:45:67:89:ab", ""}},
        Case{"password", {"", "anything"}, {}}, Case{"quantity", {"10Gi", "1e3", "0.5"}, {"", "ten", "1 Gi"}},
        Case{"rgbcolor", {"rgb(0,12, 255)"}, {"rgb(256,0,0)", "rgb(0,0)", ""}},
        Case{"ssn", {"123-45-6789", "123 45 6789"}, {"123456789", "12-345-6789", ""}},
        Case{
            "uri",
            {"http://example.org/a?b=c", "/path", "mailto:a@b", "https://[::1]:8080/", "http://u:p@h", "urn:x", "*", "http://"},
            {"", "a", "a b", "http://a b/", "http://[::1", "://x", "/%zz", "http://h:port/", "a\nb", "http://%41/"}},
        Case{"uuid",
             {"123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"},
             {"123e4567-e89b-12d3-a456-42661417400", ""}},
        Case{"uuid3", {"123e4567-e89b-32d3-a456-426614174000"}, {"123e4567-e89b-42d3-a456-426614174000"}},
        Case{"uuid4", {"123e4567-e89b-42d3-a456-426614174000"}, {"123e4567-e89b-42d3-c456-426614174000"}},
        Case{"uuid5", {"123e4567-e89b-52d3-a456-426614174000"}, {"123e4567-e89b-42d3-a456-426614174000"}}),
    [](const auto& one) {
      std::string name = one.param.format;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(FormatsTest, OthersAreNotKnown) {
  for (const char* name : {"", "int32", "binary", "regex", "time", "uuid6", "Date"})
    EXPECT_EQ(FindFormat(name), nullptr) << name;
}

}  // namespace
}  // namespace evenkeel::kube::formats_test
