// What becomes of a store of which bits, pages or commits are not as they were written.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include "base/input/file.h"
#include "base/random.h"
#include "embedded/store/sqlite_store.h"
#include "embedded/store/write_ahead_log.h"

namespace evenkeel::embedded::store::sqlite_damage_test {
namespace {

using base::Code;

Value Content(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

class SqliteDamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = (std::filesystem::temp_directory_path() / "evenkeel-damage-XXXXXX").string();
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/store.db";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  base::Result<std::unique_ptr<SqliteStore>> TryOpen() { return OpenSqliteStore(path_, options_); }
  std::unique_ptr<SqliteStore> Open() {
    auto store = TryOpen();
    EXPECT_TRUE(store) << store.error().message();
    return store ? *std::move(store) : nullptr;
  }
  /// Writes with history, removals and a compaction, and notes what must be there.
  void Fill(Store& store, int objects) {
    for (int i = 0; i < objects; ++i) Put(store, i, "first");
    for (int i = 0; i < objects; i += 3) Put(store, i, "second");
    for (int i = 0; i < objects; i += 7) {
      ASSERT_TRUE(store.CommitAndWait({Key(i), nullptr}));
      truth_.erase(Key(i));
    }
  }
  void Put(Store& store, int i, const std::string& text) {
    const std::string value = text + std::to_string(i) + std::string(static_cast<size_t>(600 + 37 * (i % 50)), 'v');
    ASSERT_TRUE(store.CommitAndWait({Key(i), Content(value)}));
    truth_[Key(i)] = value;
  }
  static std::string Key(int i) { return "/registry/things/default/thing-" + std::to_string(1'000 + i); }

  std::string Bytes(const std::string& file) { return base::ReadFile(file).value_or(""); }
  void Put(const std::string& file, std::string_view bytes) { ASSERT_TRUE(base::WriteFile(file, bytes, 0600)); }
  void Execute(const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  /// Opens the store as it lies there. Every answer must be true, or the key be set aside; whatever is missing must have been
  /// noticed. True when the damage was noticed.
  bool OpensTruly(const std::string& where) {
    auto opened = TryOpen();
    if (!opened) {
      EXPECT_EQ(opened.error().code(), Code::kInvalid) << where << opened.error().message();
      EXPECT_NE(opened.error().message().find("evenkeel apiserver verify"), std::string::npos)
          << where << opened.error().message();
      return true;
    }
    SqliteStore& store = **opened;
    const auto health = store.Health();
    const auto listed = store.List({.prefix = "/"});
    for (const KeyValue& item : listed->items) {
      const auto expected = truth_.find(item.key);
      EXPECT_TRUE(expected != truth_.end() && *item.value == expected->second) << where << item.key;
    }
    if (health) {
      EXPECT_EQ(store.List({.prefix = "/"})->items.size(), truth_.size()) << where;
      return false;
    }
    EXPECT_NE(health.error().message().find("evenkeel apiserver verify"), std::string::npos)
        << where << health.error().message();
    EXPECT_EQ(store.CommitAndWait({"/new", Content("v")}).error().code(), Code::kUnavailable) << where;
    return true;
  }

  SqliteOptions options_;
  std::map<std::string, std::string> truth_;
  std::string directory_, path_;
};

TEST_F(SqliteDamageTest, AFlippedBitOfTheDatabaseIsNeverServed) {
  Fill(*Open(), 60);
  const std::string good = Bytes(path_), lock = Bytes(path_ + ".lock");
  base::Random random(1);
  int noticed = 0;
  constexpr int kFlips = 150;
  for (int i = 0; i < kFlips; ++i) {
    std::string bytes = good;
    const auto bit = static_cast<size_t>(random.Below(bytes.size() * 8));
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    Put(path_, bytes);
    Put(path_ + ".lock", lock);
    noticed += OpensTruly("bit " + std::to_string(bit) + ": ");
    for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
  }
  // The others hit what nothing is read from: free room in pages.
  EXPECT_GT(noticed, kFlips / 2);
}

TEST_F(SqliteDamageTest, AFlippedBitOfAnObjectIsNoticedAtTheStartWhereverItIs) {
  Fill(*Open(), 20);
  const std::string good = Bytes(path_);
  const std::string& value = truth_.at(Key(4));
  const size_t at = good.find(value);
  ASSERT_NE(at, std::string::npos);
  for (size_t i = 0; i < value.size(); i += 13) {
    std::string bytes = good;
    bytes[at + i] = static_cast<char>(bytes[at + i] ^ 4);
    Put(path_, bytes);
    const auto store = Open();
    ASSERT_NE(store, nullptr);
    EXPECT_NE(store->Health().error().message().find(Key(4)), std::string::npos);
    EXPECT_EQ(store->Get(Key(4)).error().code(), Code::kInternal);
    EXPECT_EQ(store->List({.prefix = "/"})->items.size(), truth_.size() - 1);
    EXPECT_EQ(*store->Get(Key(5))->value, truth_.at(Key(5)));
  }
}

/// Leaves database and log as a killed process does.
class SqliteLogDamageTest : public SqliteDamageTest {
 protected:
  void SetUp() override {
    SqliteDamageTest::SetUp();
    const auto store = Open();
    Fill(*store, 30);
    database_ = Bytes(path_);
    log_ = Bytes(path_ + "-wal");
    lock_ = Bytes(path_ + ".lock");
    ASSERT_GT(log_.size(), 100'000u);
  }
  void PutBack(std::string_view log) {
    std::filesystem::remove(path_ + "-shm");
    Put(path_, database_);
    Put(path_ + "-wal", log);
    Put(path_ + ".lock", lock_);
  }
  std::string database_, log_, lock_;
};

TEST_F(SqliteLogDamageTest, AFlippedBitIsNoticedWhereverItIs) {
  PutBack(log_);
  EXPECT_FALSE(OpensTruly("untouched: "));
  // SQLite starts a log again without shortening it: what is behind the last frame of this generation is not read.
  constexpr size_t kFrame = 24 + 8192;
  size_t used = 32;
  while (used + kFrame <= log_.size() && log_.substr(used + 8, 8) == log_.substr(16, 8)) used += kFrame;
  base::Random random(2);
  int unnoticed = 0;
  for (int i = 0; i < 60; ++i) {
    std::string log = log_;
    const auto bit = static_cast<size_t>(random.Below(used * 8));
    log[bit / 8] = static_cast<char>(log[bit / 8] ^ (1 << bit % 8));
    PutBack(log);
    auto opened = TryOpen();
    if (opened && (*opened)->Health()) ++unnoticed;
  }
  EXPECT_EQ(unnoticed, 0);
}

TEST_F(SqliteLogDamageTest, AcknowledgedCommitsThatAreGoneAreNoticed) {
  PutBack(std::string_view(log_).substr(0, log_.size() / 2));
  {
    const auto store = Open();
    ASSERT_NE(store, nullptr);
    EXPECT_NE(store->Health().error().message().find("are gone"), std::string::npos) << store->Health().error().message();
  }
  EXPECT_EQ(Bytes(path_ + "-wal").size(), log_.size() / 2) << "nothing of a damaged store is written to";
  Put(path_, "");
  const auto empty = TryOpen();
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message().find("is empty, but had revision"), std::string::npos) << empty.error().message();
}

TEST_F(SqliteLogDamageTest, ATornEndIsNoDamage) {
  // The last transaction as it is when power fails in its middle: some of its frames are there, the others are of before.
  const std::string frames = std::string(3 * 8216, '\0');
  PutBack(log_ + frames);
  EXPECT_FALSE(OpensTruly("zeros: "));
  const LogScan scan = *ScanLogOf(path_);
  EXPECT_FALSE(scan.damaged);
}

TEST_F(SqliteDamageTest, RowsThatAreGoneDoubledOrOfYesterdayAreNoticed) {
  for (const char* sql :
       {"DELETE FROM kv WHERE revision = 5",
        "UPDATE kv SET value = (SELECT value FROM kv WHERE revision = 6) WHERE revision = 5",
        "INSERT INTO kv SELECT 100000, create_revision, key, value, head, checksum, sum FROM kv WHERE revision = 3",
        "UPDATE kv SET (key, value, head, checksum) = (SELECT key, value, head, checksum FROM kv WHERE revision = 6) WHERE "
        "revision = 5",
        "DELETE FROM state", "UPDATE state SET compacted = 3", "UPDATE kv SET sum = sum + 1 WHERE revision = 5"}) {
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) std::filesystem::remove(entry.path());
    truth_.clear();
    Fill(*Open(), 10);
    Execute(sql);
    EXPECT_TRUE(OpensTruly(sql)) << sql;
  }
}

TEST_F(SqliteDamageTest, DamageIsNoticedWhileItRuns) {
  options_.verify_every = std::chrono::milliseconds(20);
  auto store = Open();
  Fill(*store, 40);
  store.reset();
  store = Open();
  const auto passes = [&] {
    const int64_t before = store->stats().verified;
    for (int i = 0; i < 6'000 && store->stats().verified < before + 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_GE(store->stats().verified, before + 2);
  };
  passes();
  EXPECT_TRUE(store->Health());
  const std::string good = Bytes(path_);
  const size_t at = good.find(truth_.at(Key(8)));
  ASSERT_NE(at, std::string::npos);
  const int file = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(pwrite(file, "x", 1, static_cast<off_t>(at + 20)), 1);
  close(file);
  passes();
  ASSERT_FALSE(store->Health());
  EXPECT_NE(store->Health().error().message().find("evenkeel apiserver verify"), std::string::npos);
  EXPECT_EQ(*store->Get(Key(8))->value, truth_.at(Key(8))) << "memory has it as it was written";
  EXPECT_EQ(store->CommitAndWait({"/new", Content("v")}).error().code(), Code::kUnavailable);
}

TEST_F(SqliteDamageTest, OpensTheDataOfEveryLayout) {
  for (const std::string layout : {"1", "2"}) {
    std::filesystem::remove(path_ + ".lock");
    std::filesystem::copy_file("tests/golden/store/layout-" + layout + ".db", path_,
                               std::filesystem::copy_options::overwrite_existing);
    for (int start = 0; start < 2; ++start) {
      const auto store = Open();
      ASSERT_NE(store, nullptr);
      EXPECT_TRUE(store->Health()) << store->Health().error().message();
      EXPECT_EQ(store->current_revision(), 9 + start);
      EXPECT_EQ(store->List({.prefix = "/registry/configmaps/"})->items.size(), 2u);
      const std::string changed = "/registry/configmaps/default/changed";
      EXPECT_NE(store->Get(changed)->value->find("blue"), std::string::npos);
      EXPECT_NE(store->Get(changed, 6)->value->find("red"), std::string::npos);
      EXPECT_EQ(store->Get(changed)->create_revision, 6);
      EXPECT_EQ(store->Get("/registry/configmaps/default/gone").error().code(), Code::kNotFound);
      EXPECT_EQ(*store->CommitAndWait({"/new", Content("v")}), 10 + start);
    }
  }
}

TEST_F(SqliteDamageTest, AnOlderLayoutThatIsDamagedIsLeftAsItIs) {
  std::filesystem::copy_file("tests/golden/store/layout-1.db", path_);
  Execute("INSERT INTO kv(revision, create_revision, key, value) VALUES(50, 0, 'x', 'value without a creation')");
  const std::string before = Bytes(path_);
  const auto store = TryOpen();
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code(), Code::kInvalid);
  EXPECT_NE(store.error().message().find("makes no sense"), std::string::npos) << store.error().message();
  EXPECT_EQ(Bytes(path_), before);
}

}  // namespace
}  // namespace evenkeel::embedded::store::sqlite_damage_test
