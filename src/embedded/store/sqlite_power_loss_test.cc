// Disks that fail below a SQLite store, and what its clients see of that.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <thread>

#include "embedded/store/linearizability_testing.h"
#include "embedded/store/sqlite_faults_testing.h"
#include "embedded/store/sqlite_store.h"

namespace evenkeel::embedded::store::sqlite_power_loss_test {
namespace {

using std::chrono::milliseconds;

class SqlitePowerLossTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = (std::filesystem::temp_directory_path() / "evenkeel-power-XXXXXX").string();
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/store.db";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string directory_, path_;
};

TEST_F(SqlitePowerLossTest, LosesNoAcknowledgedWriteAndSeesNoDamage) {
  int rounds = 0;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    FaultyDisk disk;
    base::Random random(seed);
    // Of each key: all values in the order in which they were given, and how many of these have been acknowledged.
    std::map<std::string, std::vector<std::string>> given;
    std::map<std::string, size_t> acknowledged;
    for (int round = 0; round < 4; ++round, ++rounds) {
      disk.CutAfter(static_cast<int>(random.Below(60)) + (round == 0 ? 40 : 1));
      // Power may fail while it opens.
      if (auto opened = OpenSqliteStore(path_, {.reopen_after = milliseconds(5)})) {
        Store& store = **opened;
        std::mutex mutex;
        for (int i = 0; i < 400 && !disk.is_dead(); ++i) {
          const std::string key = "/" + std::to_string(random.Below(40));
          std::vector<std::string>& values = given[key];
          values.push_back(std::to_string(i) + std::string(random.Below(5'000), 'v'));
          // Some at once, so that transactions have several rows.
          store.Commit({key, std::make_shared<const std::string>(values.back())},
                       [&, key, count = values.size()](base::Result<Revision> result) {
                         std::lock_guard lock(mutex);
                         if (result) acknowledged[key] = count;
                       });
          if (i % 5 == 4) (void)store.CommitAndWait({"/pace", std::make_shared<const std::string>("x")});
          if (i == 150) (void)store.Compact(store.current_revision());
        }
        opened->reset();
      }
      disk.PowerOn(random);
      const auto store = OpenSqliteStore(path_);
      ASSERT_TRUE(store) << "seed " << seed << ": " << store.error().message();
      ASSERT_TRUE((*store)->Health()) << "seed " << seed << ": " << (*store)->Health().error().message();
      for (const auto& [key, count] : acknowledged) {
        const auto got = (*store)->Get(key);
        ASSERT_TRUE(got) << "seed " << seed << ", round " << round << ": " << key;
        std::vector<std::string>& values = given[key];
        EXPECT_TRUE(std::find(values.begin() + static_cast<ptrdiff_t>(count) - 1, values.end(), *got->value) != values.end())
            << "seed " << seed << ", round " << round << ": " << key;
        // From now on what is there is the last one that counts.
        values.push_back(*got->value);
        acknowledged[key] = values.size();
      }
    }
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) std::filesystem::remove(entry.path());
  }
  EXPECT_EQ(rounds, 100);
}

TEST_F(SqlitePowerLossTest, IsLinearizableThroughErrorsAndLossesOfPower) {
  int64_t reopened = 0;
  // Whether a write comes while the disk refuses it is chance.
  for (uint64_t seed = 1; seed <= 8 || (reopened == 0 && seed <= 100); ++seed) {
    FaultyDisk disk;
    base::Random random(seed);
    std::vector<RegisterHistory> histories(3);
    RegisterClients clients(histories);
    for (int round = 0; round < 4; ++round) {
      auto store = OpenSqliteStore(path_, {.reopen_after = milliseconds(2)});
      ASSERT_TRUE(store) << store.error().message();
      std::atomic<bool> over = false;
      std::thread faults([&] {
        for (int i = 0; i < 4; ++i) {
          // Also on a busy machine the clients do something before each fault.
          const size_t before = clients.operations();
          std::this_thread::sleep_for(milliseconds(20));
          for (int wait = 0; wait < 12'000 && clients.operations() < before + 10; ++wait) {
            std::this_thread::sleep_for(milliseconds(5));
          }
          disk.FailWrites(true);
          std::this_thread::sleep_for(milliseconds(random.Below(4)));
          disk.FailWrites(false);
        }
        disk.CutAfter(1 + static_cast<int>(random.Below(20)));
        for (int i = 0; i < 12'000 && !disk.is_dead(); ++i) std::this_thread::sleep_for(milliseconds(5));
        over = true;
      });
      clients.Run(**store, seed * 10 + static_cast<uint64_t>(round), [&] { return over.load(); });
      faults.join();
      reopened += (*store)->stats().reopened;
      store->reset();
      disk.PowerOn(random);
    }
    clients.ReadAll(**OpenSqliteStore(path_));
    for (RegisterHistory& history : histories) {
      EXPECT_GT(history.size(), 20u);
      EXPECT_TRUE(history.IsLinearizable()) << "seed " << seed;
    }
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) std::filesystem::remove(entry.path());
  }
  EXPECT_GT(reopened, 0);
}

}  // namespace
}  // namespace evenkeel::embedded::store::sqlite_power_loss_test
