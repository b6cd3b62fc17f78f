#include "embedded/store/sqlite_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

namespace evenkeel::embedded::store::sqlite_store_test {
namespace {

using base::Code;

Value Content(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

class SqliteStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = (std::filesystem::temp_directory_path() / "evenkeel-sqlite-XXXXXX").string();
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/store.db";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<SqliteStore> Open(const SqliteOptions& options = {}) {
    auto store = OpenSqliteStore(path_, options);
    EXPECT_TRUE(store) << store.error().message();
    return store ? *std::move(store) : nullptr;
  }
  /// Until it holds, or a minute has passed: a busy machine may need some of that.
  static void Await(const std::function<bool()>& holds) {
    for (int i = 0; i < 6'000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  void ExpectRefused(Code code, const std::string& text) {
    const auto store = OpenSqliteStore(path_);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code(), code) << store.error().message();
    EXPECT_NE(store.error().message().find(text), std::string::npos) << store.error().message();
    EXPECT_NE(store.error().message().find(path_), std::string::npos) << store.error().message();
    EXPECT_EQ(store.error().message().find('\n'), std::string::npos);
  }
  void Execute(const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  /// So many objects of 4 KB at once; returns when all are durable.
  void WriteMany(Store& store, int count) {
    std::mutex mutex;
    std::condition_variable changed;
    int answered = 0;
    std::unique_lock lock(mutex, std::defer_lock);
    for (int i = 0; i < count; ++i) {
      store.Commit({"/" + std::to_string(next_++), Content(std::string(4'000, 'v'))}, [&](base::Result<Revision> result) {
        std::lock_guard inner(mutex);
        EXPECT_TRUE(result);
        ++answered;
        changed.notify_all();
      });
    }
    lock.lock();
    changed.wait(lock, [&] { return answered == count; });
  }
  int64_t CountRows() {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, "SELECT count(*) FROM kv", -1, &statement, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const int64_t count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return count;
  }

  std::string directory_, path_;
  int next_ = 0;
};

TEST_F(SqliteStoreTest, FindsItsDataRevisionsAndHistoryAgain) {
  Revision created = 0, updated = 0, last = 0;
  {
    const auto store = Open();
    created = *store->CommitAndWait({"/a", Content("1")});
    updated = *store->CommitAndWait({"/a", Content("2")});
    ASSERT_TRUE(store->CommitAndWait({"/b", Content("1")}));
    last = *store->CommitAndWait({"/b", nullptr});
  }
  const auto store = Open();
  EXPECT_EQ(store->current_revision(), last);
  const auto got = store->Get("/a");
  ASSERT_TRUE(got);
  EXPECT_EQ(*got->value, "2");
  EXPECT_EQ(got->create_revision, created);
  EXPECT_EQ(got->mod_revision, updated);
  EXPECT_EQ(*store->Get("/a", created)->value, "1");
  EXPECT_EQ(store->Get("/b").error().code(), Code::kNotFound);
  size_t events = 0;
  const auto watch =
      store->NewWatch("/", created, [&](std::vector<Event> batch, const base::Error*) { events += batch.size(); });
  EXPECT_EQ(events, 3u);
  EXPECT_EQ(*store->CommitAndWait({"/b", Content("2"), 0}), last + 1);
}

TEST_F(SqliteStoreTest, NeverReusesARevisionThatWasCompactedAway) {
  Revision last = 0;
  {
    const auto store = Open();
    ASSERT_TRUE(store->CommitAndWait({"/a", Content("1")}));
    for (int i = 0; i < 400; ++i) ASSERT_TRUE(store->CommitAndWait({"/b", Content(std::to_string(i))}));
    last = *store->CommitAndWait({"/b", nullptr});
    ASSERT_TRUE(store->Compact(last));
    EXPECT_EQ(store->compacted_revision(), last);
    Await([&] { return store->stats().erased >= 401; });
    EXPECT_EQ(store->stats().erased, 401);
  }
  EXPECT_EQ(CountRows(), 1);
  const auto store = Open();
  EXPECT_EQ(store->current_revision(), last);
  EXPECT_EQ(store->compacted_revision(), last);
  EXPECT_EQ(store->Get("/a", last - 1).error().code(), Code::kExpired);
  EXPECT_TRUE(store->Get("/a", last));
  EXPECT_EQ(*store->CommitAndWait({"/b", Content("again"), 0}), last + 1);
}

TEST_F(SqliteStoreTest, BoundsItsHistoryOnDiskAsInMemory) {
  SqliteOptions options;
  options.history.events_max = 500;
  {
    const auto store = Open(options);
    std::atomic<int> answered = 0;
    for (int i = 0; i < 5'000; ++i) {
      store->Commit({"/" + std::to_string(i % 5), Content("v")}, [&](base::Result<Revision> result) {
        EXPECT_TRUE(result);
        ++answered;
      });
    }
    while (answered < 5'000) std::this_thread::yield();
  }
  const int64_t rows = CountRows();
  EXPECT_LT(rows, 2'500);
  const auto store = Open(options);
  EXPECT_EQ(store->current_revision(), 5'000);
  EXPECT_GT(store->compacted_revision(), 4'400);
  EXPECT_EQ(store->Get("/0")->create_revision, 1);
}

/// Runs in a child process that is killed: writes as fast as it can and reports each acknowledged revision.
[[noreturn]] void WriteUntilKilled(const std::string& path, int report) {
  auto opened = OpenSqliteStore(path);
  if (!opened) _exit(3);
  Store& store = **opened;
  std::atomic<int> under_way = 0;
  for (uint64_t i = 0;; ++i) {
    while (under_way > 64) std::this_thread::yield();
    ++under_way;
    store.Commit({"/k/" + std::to_string(i % 997), Content(std::string(500, 'v'))}, [&](base::Result<Revision> result) {
      if (!result) _exit(4);
      const Revision revision = *result;
      if (write(report, &revision, sizeof(revision)) != sizeof(revision)) _exit(5);
      --under_way;
    });
  }
}

TEST_F(SqliteStoreTest, KeepsEveryAcknowledgedWriteWhenItsProcessIsKilled) {
  Revision highest = 0;
  for (int round = 0; round < 5; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      WriteUntilKilled(path_, ends[1]);
    }
    close(ends[1]);
    std::vector<Revision> acknowledged;
    Revision revision = 0;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(150 + 70 * round);
    bool killed = false;
    while (read(ends[0], &revision, sizeof(revision)) == sizeof(revision)) {
      acknowledged.push_back(revision);
      if (!killed && std::chrono::steady_clock::now() > deadline) {
        kill(child, SIGKILL);
        killed = true;
      }
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ASSERT_FALSE(acknowledged.empty());
    const auto store = Open();
    ASSERT_NE(store, nullptr);
    EXPECT_GE(store->current_revision(), acknowledged.back());
    std::vector<bool> present(static_cast<size_t>(store->current_revision() - highest) + 1);
    const auto watch =
        store->NewWatch("/k/", std::max<Revision>(highest, 1), [&](std::vector<Event> batch, const base::Error*) {
          for (const Event& event : batch) present[static_cast<size_t>(event.revision - highest)] = true;
        });
    ASSERT_TRUE(watch) << watch.error().message();
    Revision last = highest;
    for (const Revision each : acknowledged) {
      EXPECT_GT(each, last);
      last = each;
      EXPECT_TRUE(each == 1 || present[static_cast<size_t>(each - highest)]) << each;
    }
    highest = store->current_revision();
  }
}

TEST_F(SqliteStoreTest, WritesManyCommitsInOneTransaction) {
  const auto store = Open();
  // How many writers meet is chance.
  constexpr int kMostRounds = 50;
  int64_t transactions = 1'600;
  for (int round = 0; round < kMostRounds && transactions >= 1'600 / 2; ++round) {
    const SqliteStats before = store->stats();
    std::vector<std::thread> writers;
    for (int w = 0; w < 16; ++w) {
      writers.emplace_back([&, w] {
        for (int i = 0; i < 100; ++i) {
          EXPECT_TRUE(store->CommitAndWait({fmt::format("/{}/{}/{}", round, w, i), Content("v"), 0}));
        }
      });
    }
    for (auto& writer : writers) writer.join();
    const SqliteStats after = store->stats();
    EXPECT_EQ(after.writes - before.writes, 1'600);
    transactions = after.transactions - before.transactions;
  }
  EXPECT_LT(transactions, 1'600 / 2);
}

TEST_F(SqliteStoreTest, ChecksAWriteAgainstEarlierOnesOfItsBatch) {
  const auto store = Open();
  std::mutex mutex;
  std::condition_variable changed;
  int created = 0, refused = 0;
  for (int i = 0; i < 200; ++i) {
    store->Commit({"/same", Content("v"), 0}, [&](base::Result<Revision> result) {
      std::lock_guard lock(mutex);
      ++(result ? created : refused);
      EXPECT_TRUE(result || result.error().code() == Code::kConflict);
      changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return created + refused == 200; });
  EXPECT_EQ(created, 1);
}

TEST_F(SqliteStoreTest, TurnsWritesAwayWhenItsQueueIsFull) {
  SqliteOptions options;
  options.writes_max = 4;
  const auto store = Open(options);
  std::mutex mutex;
  std::condition_variable changed;
  int given = 0, done = 0, refused = 0;
  const auto is_enough = [&] {
    std::lock_guard lock(mutex);
    return given >= 300 && refused > 0;
  };
  // Whether the queue is full when one comes is chance.
  for (; given < 30'000 && !is_enough(); ++given) {
    store->Commit({"/a", Content(std::string(20'000, 'v'))}, [&](base::Result<Revision> result) {
      std::lock_guard lock(mutex);
      ++done;
      if (!result) {
        EXPECT_EQ(result.error().code(), Code::kTooManyRequests);
        ++refused;
      }
      changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done == given; });
  EXPECT_GT(refused, 0);
  EXPECT_GT(done - refused, 3);
}

TEST_F(SqliteStoreTest, GoesOnAfterAFullDiskOnceSomethingIsCompacted) {
  SqliteOptions options;
  options.max_bytes = 2 << 20;
  const auto store = Open(options);
  base::Result<Revision> result = 0;
  Revision last = 0;
  for (int i = 0; i < 10'000 && result; ++i) {
    result = store->CommitAndWait({"/a/" + std::to_string(i % 20), Content(std::string(2'000, 'v'))});
    if (result) last = *result;
  }
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kUnavailable);
  EXPECT_EQ(store->current_revision(), last);
  EXPECT_TRUE(store->Get("/a/1"));
  ASSERT_TRUE(store->Compact(last));
  EXPECT_EQ(*store->CommitAndWait({"/a/1", Content(std::string(2'000, 'w'))}), last + 1);
}

TEST_F(SqliteStoreTest, RefusesWritesAfterADiskErrorUntilItsFileCanBeOpenedAgain) {
  SqliteOptions options;
  options.reopen_after = std::chrono::milliseconds(50);
  const auto store = Open(options);
  const Revision last = *store->CommitAndWait({"/a", Content("v")});
  std::vector<Event> seen;
  std::mutex mutex;
  const auto watch = store->NewWatch("/", 0, [&](std::vector<Event> batch, const base::Error*) {
    std::lock_guard lock(mutex);
    std::ranges::move(batch, std::back_inserter(seen));
  });
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  // So it cannot be opened again either, however late this thread looks.
  const rlimit small{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto failed = store->CommitAndWait({"/b", Content(std::string(1 << 20, 'v'))});
  EXPECT_FALSE(store->Health());
  EXPECT_EQ(store->CommitAndWait({"/c", Content("v")}).error().code(), Code::kUnavailable);
  EXPECT_EQ(store->Compact(last).error().code(), Code::kUnavailable);
  EXPECT_EQ(*store->Get("/a")->value, "v");
  EXPECT_EQ(store->current_revision(), last);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kUnavailable);
  Await([&] { return store->Health().has_value(); });
  ASSERT_TRUE(store->Health()) << store->Health().error().message();
  EXPECT_GE(store->stats().reopened, 1);
  EXPECT_EQ(*store->Get("/a")->value, "v");
  const auto written = store->CommitAndWait({"/c", Content("w")});
  ASSERT_TRUE(written);
  EXPECT_EQ(*store->Get("/c")->value, "w");
  std::lock_guard lock(mutex);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().revision, *written);
  EXPECT_EQ(static_cast<Revision>(seen.size()), *written - last) << "each revision once, and only what is there";
}

TEST_F(SqliteStoreTest, MovesItsLogIntoTheDatabaseBesideTheCommits) {
  const auto store = Open();
  // Less than what a commit would move by itself.
  for (int i = 0; i < 140 && store->stats().checkpoints == 0; ++i) WriteMany(*store, 100);
  Await([&] { return store->stats().checkpoints > 0; });
  ASSERT_GT(store->stats().checkpoints, 0);
  EXPECT_GT(std::filesystem::file_size(path_), 4u << 20);
}

TEST_F(SqliteStoreTest, KeepsItsLogBoundedUnderSteadyWrites) {
  const auto store = Open();
  for (int i = 0; i < 50; ++i) WriteMany(*store, 500);
  EXPECT_GT(store->stats().checkpoints, 1);
  EXPECT_LT(std::filesystem::file_size(path_ + "-wal"), 40u << 20);
  const auto log = [&] { return std::filesystem::file_size(path_ + "-wal"); };
  // When the thread beside the commits gets to it is chance.
  for (int i = 0; i < 120 || (i < 2'000 && log() >= 20u << 20); ++i) WriteMany(*store, 50);
  EXPECT_LT(log(), 20u << 20) << "what a burst made it is given back";
}

TEST_F(SqliteStoreTest, KeepsItsFilesToTheirOwner) {
  const auto store = Open();
  ASSERT_TRUE(store->CommitAndWait({"/secret", Content("v")}));
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
    struct stat info{};
    ASSERT_EQ(stat((path_ + suffix).c_str(), &info), 0) << suffix;
    EXPECT_EQ(info.st_mode & 0777, 0600u) << suffix;
  }
}

TEST_F(SqliteStoreTest, RefusesASecondOwner) {
  auto store = Open();
  ExpectRefused(Code::kUnavailable, "in use by another process");
  store.reset();
  EXPECT_TRUE(OpenSqliteStore(path_));
}

TEST_F(SqliteStoreTest, RefusesANewerLayout) {
  Open().reset();
  Execute("PRAGMA user_version = 3");
  ExpectRefused(Code::kInvalid, "layout 3, this program knows 2: use the newer program");
}

TEST_F(SqliteStoreTest, RefusesTheDatabaseOfAnotherProgram) {
  Execute("CREATE TABLE theirs(a)");
  ExpectRefused(Code::kInvalid, "another program");
}

TEST_F(SqliteStoreTest, RefusesADamagedFile) {
  {
    const auto store = Open();
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(store->CommitAndWait({"/" + std::to_string(i), Content(std::string(3'000, 'v'))}));
  }
  std::filesystem::copy_file(path_, path_ + ".good");
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(8192);
    const std::string noise(200'000, '\x5a');
    file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
  }
  ExpectRefused(Code::kInvalid, "damaged");
  std::ofstream(path_, std::ios::trunc)
      << "this is not a database, whatever its name says, and it is long enough to be read as one";
  ExpectRefused(Code::kInvalid, "damaged");
  std::filesystem::copy_file(path_ + ".good", path_, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(Open()->current_revision(), 50);
}

TEST_F(SqliteStoreTest, SaysWhichDirectoryIsMissing) {
  path_ = directory_ + "/missing/store.db";
  ExpectRefused(Code::kUnavailable, "check the directory");
}

}  // namespace
}  // namespace evenkeel::embedded::store::sqlite_store_test
