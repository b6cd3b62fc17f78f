#include "embedded/store/sqlite_tools.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/input/file.h"
#include "embedded/store/sqlite_store.h"

namespace evenkeel::embedded::store::sqlite_tools_test {
namespace {

using base::Code;

class SqliteToolsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = (std::filesystem::temp_directory_path() / "evenkeel-tools-XXXXXX").string();
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/store.db";
    backup_ = directory_ + "/backup";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static std::unique_ptr<SqliteStore> Open(const std::string& path) {
    auto store = OpenSqliteStore(path);
    EXPECT_TRUE(store) << store.error().message();
    return store ? *std::move(store) : nullptr;
  }
  static Revision Put(Store& store, const std::string& key, const std::string& text) {
    const auto written = store.CommitAndWait({key, std::make_shared<const std::string>(text)});
    EXPECT_TRUE(written);
    return written.value_or(0);
  }
  static std::string At(Store& store, const std::string& key, Revision revision = 0) {
    const auto got = store.Get(key, revision);
    return got ? *got->value : std::string(base::Reason(got.error().code()));
  }
  static std::string Bytes(const std::string& path) { return base::ReadFile(path).value_or(""); }
  /// Changes one byte of this text in the database or, where it is not there, in its log.
  void Damage(const std::string& text) {
    for (const std::string& file : {path_, path_ + "-wal"}) {
      std::string bytes = Bytes(file);
      const size_t at = bytes.find(text);
      if (at == std::string::npos) continue;
      bytes[at + text.size() / 2] = '#';
      ASSERT_TRUE(base::WriteFile(file, bytes, 0600));
      return;
    }
    FAIL() << text << " is not there";
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  std::string directory_, path_, backup_;
};

TEST_F(SqliteToolsTest, ABackupOfARunningStoreIsOneInstantOfIt) {
  const auto store = Open(path_);
  Put(*store, "/first", "1");
  std::atomic<bool> stopping = false;
  std::atomic<int> written = 0;
  std::thread writer([&] {
    // Both halves of a pair are the same at any instant, or differ by the write between them.
    for (int i = 0; !stopping; ++i, ++written) {
      Put(*store, "/a", std::to_string(i));
      Put(*store, "/b", std::to_string(i));
    }
  });
  while (written < 20) std::this_thread::yield();
  const auto copy = BackUpStore(path_, backup_);
  stopping = true;
  writer.join();
  ASSERT_TRUE(copy) << copy.error().message();
  struct stat info{};
  ASSERT_EQ(stat(backup_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(Files(), (std::vector<std::string>{"backup", "store.db", "store.db-shm", "store.db-wal", "store.db.lock"}));
  const auto survey = VerifyStore(backup_);
  ASSERT_TRUE(survey);
  EXPECT_TRUE(survey->whole()) << survey->Summary(backup_);
  EXPECT_EQ(survey->state.revision, copy->revision);
  const auto copied = Open(backup_);
  EXPECT_EQ(At(*copied, "/first"), "1");
  EXPECT_EQ(copied->current_revision(), copy->revision);
  for (Revision revision = 2; revision <= copy->revision; revision += 7) {
    EXPECT_EQ(At(*copied, "/a", revision), At(*store, "/a", revision)) << "history is in it";
  }
  const int a = std::stoi(At(*copied, "/a")), b = std::stoi(At(*copied, "/b"));
  EXPECT_TRUE(a == b || a == b + 1) << a << " " << b;
  EXPECT_EQ(BackUpStore(path_, backup_).error().code(), Code::kAlreadyExists);
}

TEST_F(SqliteToolsTest, ARestoredStoreGoesOnAboveEveryRevisionTold) {
  Revision last = 0;
  {
    const auto store = Open(path_);
    Put(*store, "/kept", "1");
    ASSERT_TRUE(BackUpStore(path_, backup_));
    for (int i = 0; i < 10; ++i) last = Put(*store, "/later", std::to_string(i));
    EXPECT_EQ(RestoreStore(backup_, path_, true).error().code(), Code::kUnavailable) << "a server has it";
  }
  const auto refused = RestoreStore(backup_, path_, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kAlreadyExists);
  EXPECT_NE(refused.error().message().find("--overwrite"), std::string::npos);
  const auto copy = RestoreStore(backup_, path_, true);
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_GT(copy->revision, last);
  EXPECT_EQ(Files(), (std::vector<std::string>{"backup", "store.db", "store.db.lock"}));
  const auto store = Open(path_);
  EXPECT_TRUE(store->Health());
  EXPECT_EQ(store->current_revision(), copy->revision);
  EXPECT_EQ(At(*store, "/kept"), "1");
  EXPECT_EQ(At(*store, "/later"), "NotFound");
  const auto watch = store->NewWatch("/", last, [](std::vector<Event>, const base::Error*) {});
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().code(), Code::kExpired) << "who watched the old one lists again";
  EXPECT_GT(Put(*store, "/kept", "2"), copy->revision);
}

TEST_F(SqliteToolsTest, AStoreRestoredWithoutATraceOfTheOldOneGoesOnFarAboveIt) {
  {
    const auto store = Open(path_);
    Put(*store, "/kept", "1");
    ASSERT_TRUE(BackUpStore(path_, backup_));
    for (int i = 0; i < 10; ++i) Put(*store, "/later", std::to_string(i));
  }
  std::filesystem::create_directory(directory_ + "/new");
  const std::string there = directory_ + "/new/store.db";
  const auto copy = RestoreStore(backup_, there, false);
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_GT(copy->revision, kRestoreGap);
  const auto store = Open(there);
  EXPECT_TRUE(store->Health());
  EXPECT_EQ(At(*store, "/kept"), "1");
}

TEST_F(SqliteToolsTest, RestoresABackupOfAnOlderLayout) {
  std::filesystem::copy_file("tests/golden/store/layout-1.db", backup_);
  const std::string before = Bytes(backup_);
  EXPECT_EQ(VerifyStore(backup_).error().code(), Code::kInvalid);
  const auto copy = RestoreStore(backup_, path_, false);
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_EQ(Bytes(backup_), before);
  EXPECT_NE(At(*Open(path_), "/registry/configmaps/default/changed").find("blue"), std::string::npos);
}

TEST_F(SqliteToolsTest, ADamagedStoreIsNotBackedUp) {
  Put(*Open(path_), "/a", std::string(500, 'x') + "middle" + std::string(500, 'y'));
  Damage("middle");
  const auto copy = BackUpStore(path_, backup_);
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code(), Code::kInvalid);
  EXPECT_NE(copy.error().message().find("/a"), std::string::npos) << copy.error().message();
  EXPECT_EQ(Files(), (std::vector<std::string>{"store.db", "store.db.lock"}));
}

TEST_F(SqliteToolsTest, RepairKeepsWhatIsWholeAndSaysWhatIsNot) {
  Revision last = 0, older = 0;
  {
    const auto store = Open(path_);
    Put(*store, "/whole", "1");
    Put(*store, "/only", std::string(500, 'x') + "first version" + std::string(500, 'y'));
    older = Put(*store, "/twice", "as it was");
    last = Put(*store, "/twice", std::string(500, 'x') + "newer version" + std::string(500, 'y'));
  }
  EXPECT_EQ(RepairStore(path_)->kept_as, "") << "there is nothing to do";
  Damage("first version");
  Damage("newer version");
  const std::string damaged = Bytes(path_);
  const auto survey = VerifyStore(path_);
  ASSERT_TRUE(survey);
  EXPECT_EQ(survey->damaged, 2);
  EXPECT_EQ(survey->damage[0].key, "/only");
  const auto copy = RepairStore(path_);
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_EQ(copy->kept_as, path_ + ".damaged");
  EXPECT_EQ(Bytes(copy->kept_as), damaged);
  EXPECT_EQ(copy->found.damaged, 2);
  EXPECT_EQ(copy->set_back, (std::vector<std::pair<std::string, Revision>>{{"/only", 0}, {"/twice", older}}));
  EXPECT_TRUE(VerifyStore(path_)->whole()) << VerifyStore(path_)->Summary(path_);
  const auto store = Open(path_);
  EXPECT_TRUE(store->Health());
  EXPECT_GT(store->current_revision(), last);
  EXPECT_EQ(At(*store, "/whole"), "1");
  EXPECT_EQ(At(*store, "/twice"), "as it was");
  EXPECT_EQ(At(*store, "/only"), "NotFound");
  EXPECT_GT(Put(*store, "/only", "2"), copy->revision);
}

TEST_F(SqliteToolsTest, RepairReadsOnBehindADamagedPlaceOfTheLog) {
  std::string database, log, lock;
  Revision last = 0;
  {
    const auto store = Open(path_);
    for (int i = 0; i < 40; ++i)
      last = Put(*store, "/" + std::to_string(i), "value " + std::to_string(i) + std::string(900, 'v'));
    database = Bytes(path_), log = Bytes(path_ + "-wal"), lock = Bytes(path_ + ".lock");
  }
  // As a killed process leaves it; the damaged frame's page comes again in later ones.
  ASSERT_TRUE(base::WriteFile(path_, database, 0600));
  ASSERT_TRUE(base::WriteFile(path_ + ".lock", lock, 0600));
  const size_t at = log.find("value 11v");
  ASSERT_NE(at, std::string::npos);
  log[at + 400] = '#';
  ASSERT_TRUE(base::WriteFile(path_ + "-wal", log, 0600));
  EXPECT_FALSE(Open(path_)->Health());
  const auto copy = RepairStore(path_);
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_EQ(Bytes(copy->kept_as + "-wal"), log);
  EXPECT_TRUE(copy->set_back.empty());
  const auto store = Open(path_);
  EXPECT_TRUE(store->Health()) << store->Health().error().message();
  EXPECT_EQ(store->List({.prefix = "/"})->items.size(), 40u);
  EXPECT_GT(store->current_revision(), last);
}

TEST_F(SqliteToolsTest, SaysWhatIsNotThere) {
  EXPECT_EQ(VerifyStore(path_).error().code(), Code::kNotFound);
  EXPECT_EQ(RepairStore(path_).error().code(), Code::kNotFound);
  EXPECT_EQ(BackUpStore(path_, backup_).error().code(), Code::kNotFound);
  EXPECT_EQ(RestoreStore(backup_, path_, false).error().code(), Code::kNotFound);
  std::filesystem::remove(path_ + ".lock");
  EXPECT_EQ(Files(), std::vector<std::string>{});
}

}  // namespace
}  // namespace evenkeel::embedded::store::sqlite_tools_test
