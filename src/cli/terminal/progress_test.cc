#include "cli/terminal/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace evenkeel::cli::progress_test {
namespace {

using namespace std::chrono_literals;

class HandClock final : public base::Clock {
 public:
  base::Time Now() const override { return {}; }
  base::Instant Monotonic() const override { return now; }
  base::Instant now{};
};

TEST(ProgressTest, ALineSaysHowFarHowFastAndHowLongStill) {
  const ProgressWork seeds{.what = "simulate", .unit = "seeds", .total = 200};
  EXPECT_EQ(ProgressLine(seeds, 50, 10s, "1 failed", 200),
            "simulate [######------------------]  25 %  50 of 200 seeds, 5/s, 30s left, 1 failed");
  EXPECT_EQ(ProgressLine(seeds, 0, 0s, "", 200), "simulate [------------------------]   0 %  0 of 200 seeds, 0/s");
  EXPECT_EQ(ProgressLine(seeds, 300, 10s, "", 200),
            "simulate [########################] 100 %  200 of 200 seeds, 20/s, 0s left");
  const ProgressWork day{.what = "simulate", .amount = ProgressWork::Amount::kSimulated, .total = 3660};
  EXPECT_EQ(ProgressLine(day, 1830, 5s, "", 200),
            "simulate [############------------]  50 %  30m30s of 1h1m0s, 366 times as fast, 5s left");
  const ProgressWork search{.what = "solve", .amount = ProgressWork::Amount::kTime, .total = 30};
  EXPECT_EQ(ProgressLine(search, 12, 12s, "cost 4.5M", 200),
            "solve [#########---------------]  40 %  12s of 30s, 18s left, cost 4.5M");
  const ProgressWork steps{.what = "solve", .unit = "steps", .total = 1e7};
  EXPECT_EQ(ProgressLine(steps, 1'230'000, 2s, "", 200),
            "solve [##----------------------]  12 %  1.2M of 10.0M steps, 615k/s, 15s left");
}

TEST(ProgressTest, WorkThatEndsByTheClockSaysHowFastItGoes) {
  EXPECT_EQ(RateText(3'400'000, 12s, "steps"), "3.4M steps, 283k/s");
  EXPECT_EQ(RateText(0, 0s, "steps"), "0 steps, 0/s");
  const ProgressWork search{.what = "solve", .amount = ProgressWork::Amount::kTime, .total = 30};
  EXPECT_EQ(ProgressLine(search, 12, 12s, "3.4M steps, 283k/s, cost 44306501", 80),
            "solve [###-----]  40 %  12s of 30s, 18s left, 3.4M steps, 283k/s, cost 44306501")
      << "the bar is what can be done without";
}

TEST(ProgressTest, ALineFitsTheTerminal) {
  const ProgressWork seeds{.what = "simulate", .unit = "seeds", .total = 200};
  for (const int columns : {0, 1, 20, 60, 80}) {
    EXPECT_LE(std::ssize(ProgressLine(seeds, 50, 10s, "1 failed", columns)), std::max(0, columns - 1));
  }
}

TEST(ProgressTest, ItIsShownNowAndThenAndTakenBack) {
  HandClock clock;
  std::ostringstream out;
  {
    Progress progress(&out, 80, clock, {.what = "simulate", .unit = "seeds", .total = 10});
    progress.At(1);
    EXPECT_EQ(out.str(), "") << "short work shows nothing";
    clock.now += 1s;
    progress.At(2);
    const std::string shown = out.str();
    EXPECT_TRUE(shown.starts_with("\r\033[Ksimulate [")) << shown;
    EXPECT_NE(shown.find("2 of 10 seeds, 2/s, 4s left"), std::string::npos) << shown;
    clock.now += 1ms;
    progress.At(3);
    EXPECT_EQ(out.str(), shown) << "not more often than people read";
  }
  EXPECT_TRUE(out.str().ends_with("\r\033[K"));
}

TEST(ProgressTest, NothingIsWrittenWhereNobodyLooks) {
  HandClock clock;
  Progress progress(nullptr, 80, clock, {.what = "simulate", .unit = "seeds", .total = 10});
  clock.now += 1s;
  progress.At(5);
  std::ostringstream out;
  {
    const Progress quiet(&out, 80, clock, {.what = "simulate", .unit = "seeds", .total = 10});
  }
  EXPECT_EQ(out.str(), "") << "nothing was shown, so there is nothing to take back";
}

}  // namespace
}  // namespace evenkeel::cli::progress_test
