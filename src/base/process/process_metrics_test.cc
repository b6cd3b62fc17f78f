#include "base/process/process_metrics.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <vector>

namespace evenkeel::base::process_metrics_test {
namespace {

constexpr std::string_view kStat =
    "4242 (a) b (c) S 1 4242 4242 0 -1 4194304 900 0 12 0 250 150 7 8 20 0 9 0 123456 1048576000 2000 18446744073709551615 1 1 "
    "0";

TEST(ProcessMetricsTest, TheStatOfAProcessIsRead) {
  const auto stat = ParseProcessStat(kStat, 100, 4096);
  ASSERT_TRUE(stat.has_value());
  EXPECT_DOUBLE_EQ(stat->cpu_seconds, 4);
  EXPECT_DOUBLE_EQ(stat->after_boot_seconds, 1234.56);
  EXPECT_EQ(stat->virtual_bytes, 1048576000);
  EXPECT_EQ(stat->resident_bytes, 2000 * 4096);
}

TEST(ProcessMetricsTest, AnotherTextIsNone) {
  for (size_t length = 0; length < kStat.find(" 2000 "); ++length) {
    EXPECT_FALSE(ParseProcessStat(kStat.substr(0, length), 100, 4096).has_value()) << length;
  }
  EXPECT_FALSE(ParseProcessStat(kStat, 0, 4096).has_value());
  EXPECT_FALSE(ParseBootTime("cpu 1 2 3\nbtime").has_value());
  EXPECT_FALSE(ParseBootTime("").has_value());
  EXPECT_EQ(ParseBootTime("cpu 1 2 3\nbtime 1700000000\nprocesses 5\n"), 1700000000);
}

double ValueOf(const MetricRegistry& registry, const std::string& name) {
  const std::string text = "\n" + registry.Render();
  const size_t found = text.find("\n" + name + " ");
  return found == std::string::npos ? -1 : std::stod(text.substr(found + name.size() + 2));
}

TEST(ProcessMetricsTest, AProcessKnowsWhatItTakes) {
  MetricRegistry registry;
  ProcessMetrics metrics(registry, "1.2.3");
  EXPECT_TRUE(registry.Render().contains("version=\"1.2.3\"} 1\n"));
  const double open = ValueOf(registry, "process_open_fds");
  EXPECT_GE(open, 3);
  EXPECT_GE(ValueOf(registry, "process_max_fds"), open);
  EXPECT_GT(ValueOf(registry, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GE(ValueOf(registry, "process_virtual_memory_bytes"), ValueOf(registry, "process_resident_memory_bytes"));
  EXPECT_NEAR(ValueOf(registry, "process_start_time_seconds"), static_cast<double>(time(nullptr)), 3600);
  std::vector<int> more;
  for (int i = 0; i < 7; ++i) more.push_back(::open("/dev/null", O_RDONLY));
  const double before = ValueOf(registry, "process_cpu_seconds_total");
  while (clock() < static_cast<clock_t>((before + 0.1) * CLOCKS_PER_SEC)) {
  }
  metrics.Publish();
  EXPECT_EQ(ValueOf(registry, "process_open_fds"), open + 7);
  EXPECT_GT(ValueOf(registry, "process_cpu_seconds_total"), before);
  for (const int file : more) close(file);
}

}  // namespace
}  // namespace evenkeel::base::process_metrics_test
