#include "controllers/runtime/controller.h"

#include <gtest/gtest.h>

#include "client/fake_client_testing.h"
#include "client/informer.h"

namespace evenkeel::controllers::runtime::controller_test {
namespace {

using namespace std::chrono_literals;
using base::Code;

class ControllerTest : public ::testing::Test {
 protected:
  base::VirtualExecutor executor{base::Time{}};
  std::shared_ptr<base::Strand> strand = executor.NewStrand("controller");
  base::MetricRegistry metrics;
  std::deque<base::Result<ReconcileResult>> answers;
  std::vector<std::pair<std::string, base::Duration>> seen;  ///< key, when
  Controller controller{"test", strand, executor.clock(),
                        [this](const std::string& key) -> base::Result<ReconcileResult> {
                          seen.emplace_back(key, executor.clock().Monotonic().time_since_epoch());
                          if (answers.empty()) return ReconcileResult{};
                          auto answer = answers.front();
                          answers.pop_front();
                          return answer;
                        },
                        ControllerOptions{{}, &metrics}};
};

TEST_F(ControllerTest, DoesNothingUntilItsCachesAreFilled) {
  client::FakeClient api;
  client::Informer<kube::Object> informer(api, kube::resources::ConfigMaps(), {}, strand, executor.clock(), base::Random(1));
  informer.AddHandler([&](const auto& before, const auto& after) { controller.Enqueue((after ? after : before)->meta.Key()); });
  api.api().Put(kube::resources::ConfigMaps(), {{"metadata", {{"name", "a"}, {"namespace", "x"}}}});
  api.CutOff(true);
  controller.WaitFor([&] { return informer.synced(); });
  controller.Enqueue("early");
  controller.Start();
  informer.Start();
  executor.RunFor(1min);
  EXPECT_TRUE(seen.empty());
  EXPECT_FALSE(controller.running());
  api.CutOff(false);
  executor.RunFor(2min);
  EXPECT_TRUE(controller.running());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].first, "early");
  EXPECT_EQ(seen[1].first, "x/a");
}

TEST_F(ControllerTest, LooksAgainWhenAskedTo) {
  answers = {ReconcileResult{30s}};
  controller.Start();
  controller.Enqueue("a");
  executor.RunFor(1h);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].second, 30s);
}

TEST_F(ControllerTest, RetriesFailuresLaterAndLaterUntilTheyAreMended) {
  for (int i = 0; i < 8; ++i) answers.push_back(base::Fail(Code::kUnavailable, "away"));
  controller.Start();
  controller.Enqueue("a");
  executor.RunFor(400ms);
  executor.RunFor(1h);
  ASSERT_EQ(seen.size(), 9u);
  EXPECT_EQ(seen[1].second - seen[0].second, 5ms);
  EXPECT_EQ(seen[8].second - seen[7].second, 640ms);
  EXPECT_EQ(controller.stats().reconciles, 9);
  EXPECT_EQ(controller.stats().errors, 8);
  EXPECT_EQ(controller.stats().last_error, "a: away");
  answers = {base::Fail(Code::kUnavailable, "away")};
  controller.Enqueue("a");
  executor.RunFor(5ms);
  EXPECT_EQ(seen.size(), 11u) << "success has reset the wait";
}

TEST_F(ControllerTest, TriesAConflictAgainAtOnceButNotInATightLoop) {
  for (int i = 0; i < 100; ++i) answers.push_back(base::Fail(Code::kConflict, "modified"));
  controller.Start();
  controller.Enqueue("a");
  executor.RunUntilIdle();
  EXPECT_EQ(seen.size(), 2u);
  executor.RunFor(1s);
  EXPECT_LE(seen.size(), 12u);
  EXPECT_EQ(controller.stats().errors, 0);
  EXPECT_GE(controller.stats().conflicts, 8);
}

TEST_F(ControllerTest, CountsWhatItDoes) {
  answers = {base::Fail(Code::kInternal, "no"), base::Fail(Code::kConflict, "modified")};
  controller.Start();
  controller.Enqueue("a");
  executor.RunFor(1s);
  const std::string text = metrics.Render();
  for (const char* result : {"success", "error", "conflict"}) {
    EXPECT_NE(text.find(std::string("evenkeel_reconcile_total{controller=\"test\",result=\"") + result + "\"} 1\n"),
              std::string::npos)
        << text;
  }
  EXPECT_NE(text.find("evenkeel_reconcile_duration_seconds_count{controller=\"test\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("evenkeel_workqueue_depth{controller=\"test\"} 0\n"), std::string::npos) << text;
}

TEST_F(ControllerTest, StopsForGood) {
  answers = {ReconcileResult{1s}};
  controller.Start();
  controller.Enqueue("a");
  executor.RunUntilIdle();
  controller.Stop();
  controller.Enqueue("b");
  executor.RunFor(1h);
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_FALSE(controller.running());
}

}  // namespace
}  // namespace evenkeel::controllers::runtime::controller_test
