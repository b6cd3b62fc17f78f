// One contract, three bodies: memory, SQLite and a real etcd (Debian's etcd-server, started here on loopback).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/port_testing.h"
#include "embedded/store/etcd_store.h"
#include "embedded/store/memory_store.h"
#include "embedded/store/sqlite_store.h"

namespace evenkeel::embedded::store::store_contract_test {
namespace {

using base::Code;
using namespace std::chrono_literals;

std::string NewTemporaryDirectory() {
  std::string path = (std::filesystem::temp_directory_path() / "evenkeel-store-XXXXXX").string();
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  return path;
}

/// One etcd for all tests of this process.
class EtcdProcess {
 public:
  static EtcdProcess& Instance() {
    static EtcdProcess process;
    return process;
  }
  /// Why the tests on etcd cannot run here; empty when they can.
  static std::string Missing() {
    return Binary().empty() ? "no etcd binary: install the package etcd-server to run the contract on it" : "";
  }
  static std::string Binary() {
    for (const char* path : {"/usr/bin/etcd", "/usr/local/bin/etcd"}) {
      if (access(path, X_OK) == 0) return path;
    }
    return "";
  }
  const std::string& endpoint() const { return endpoint_; }
  void Stop() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void Start() {
    const std::string client = "http://" + endpoint_, peer = "http://127.0.0.1:" + std::to_string(peer_port_);
    const std::string data = directory_ + "/data", log = directory_ + "/log", binary = Binary();
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!freopen(log.c_str(), "a", stderr) || !freopen("/dev/null", "w", stdout)) _exit(127);
    execl(binary.c_str(), "etcd", "--name", "test", "--data-dir", data.c_str(), "--listen-client-urls", client.c_str(),
          "--advertise-client-urls", client.c_str(), "--listen-peer-urls", peer.c_str(), "--initial-advertise-peer-urls",
          peer.c_str(), "--initial-cluster", ("test=" + peer).c_str(), nullptr);
    _exit(127);
  }

 private:
  EtcdProcess()
      : directory_(NewTemporaryDirectory()),
        endpoint_("127.0.0.1:" + std::to_string(base::testing::ReservedPort())),
        peer_port_(base::testing::ReservedPort()) {
    Start();
  }
  ~EtcdProcess() {
    if (pid_ > 0) Stop();
    std::filesystem::remove_all(directory_);
  }

  const std::string directory_, endpoint_;
  const int peer_port_;
  pid_t pid_ = 0;
};

/// Collects what a watch delivers.
class Recorder {
 public:
  WatchHandler handler() {
    return [this](std::vector<Event> batch, const base::Error* error) {
      std::lock_guard lock(mutex_);
      if (inside_++ != 0) overlapped_ = true;
      for (Event& event : batch) {
        if (event.type == Event::Type::kProgress) continue;
        if (event.revision <= last_) out_of_order_ = true;
        last_ = event.revision;
        events_.push_back(std::move(event));
      }
      if (error) ended_ = error->code();
      --inside_;
      changed_.notify_all();
    };
  }
  std::vector<Event> WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 60s, [&] { return events_.size() >= count || ended_; });
    EXPECT_FALSE(out_of_order_);
    EXPECT_FALSE(overlapped_);
    return events_;
  }
  std::optional<Code> WaitForEnd() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 60s, [&] { return ended_.has_value(); });
    return ended_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Event> events_;
  std::optional<Code> ended_;
  Revision last_ = 0;
  int inside_ = 0;
  bool out_of_order_ = false, overlapped_ = false;
};

Value Text(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

class StoreContractTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    directory_ = NewTemporaryDirectory();
    if (GetParam() == "etcd" && !EtcdProcess::Missing().empty()) GTEST_SKIP() << EtcdProcess::Missing();
    Open();
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }
  void Open() {
    if (GetParam() == "memory") {
      store_ = NewMemoryStore();
    } else if (GetParam() == "sqlite") {
      auto opened = OpenSqliteStore(directory_ + "/store.db");
      ASSERT_TRUE(opened) << opened.error().message();
      store_ = *std::move(opened);
    } else {
      EtcdOptions options;
      options.prefix = directory_ + "/";  // of this test alone
      options.open_timeout = 60s;
      auto opened = OpenEtcdStore({EtcdProcess::Instance().endpoint()}, options);
      ASSERT_TRUE(opened) << opened.error().message();
      store_ = *std::move(opened);
    }
  }
  Revision Put(const std::string& key, const std::string& value, Revision expected = Write::kAnyRevision) {
    auto result = store_->CommitAndWait({key, Text(value), expected});
    EXPECT_TRUE(result) << result.error().message();
    return result ? *result : 0;
  }
  Revision Delete(const std::string& key, Revision expected = Write::kAnyRevision) {
    auto result = store_->CommitAndWait({key, nullptr, expected});
    EXPECT_TRUE(result) << result.error().message();
    return result ? *result : 0;
  }
  Code PutError(const std::string& key, Revision expected) {
    auto result = store_->CommitAndWait({key, Text("refused"), expected});
    EXPECT_FALSE(result);
    return result ? Code::kInternal : result.error().code();
  }
  Code DeleteError(const std::string& key, Revision expected) {
    auto result = store_->CommitAndWait({key, nullptr, expected});
    EXPECT_FALSE(result);
    return result ? Code::kInternal : result.error().code();
  }
  std::vector<std::string> Keys(const ListOptions& options) {
    auto result = store_->List(options);
    EXPECT_TRUE(result) << result.error().message();
    std::vector<std::string> keys;
    if (result) {
      for (const KeyValue& item : result->items) keys.push_back(item.key);
    }
    return keys;
  }
  std::unique_ptr<Watch> StartWatch(const std::string& prefix, Revision after, Recorder& recorder) {
    auto watch = store_->NewWatch(prefix, after, recorder.handler());
    EXPECT_TRUE(watch) << watch.error().message();
    return watch ? *std::move(watch) : nullptr;
  }

  std::string directory_;
  std::unique_ptr<Store> store_;
};

using KeyList = std::vector<std::string>;

TEST_P(StoreContractTest, GivesEveryWriteAHigherRevision) {
  Revision last = store_->current_revision();
  for (int i = 0; i < 20; ++i) {
    const Revision revision = i % 4 == 3 ? Delete("/a/" + std::to_string(i - 1)) : Put("/a/" + std::to_string(i), "v");
    EXPECT_GT(revision, last);
    EXPECT_GT(revision, 0);
    last = revision;
  }
  EXPECT_EQ(store_->current_revision(), last);
}

TEST_P(StoreContractTest, ComparesBeforeItWrites) {
  EXPECT_EQ(DeleteError("/k", Write::kAnyRevision), Code::kNotFound);
  EXPECT_EQ(DeleteError("/k", 0), Code::kNotFound);
  EXPECT_EQ(DeleteError("/k", 7), Code::kNotFound);
  EXPECT_EQ(PutError("/k", 7), Code::kConflict);
  const Revision created = Put("/k", "one", 0);
  EXPECT_EQ(PutError("/k", 0), Code::kConflict);
  EXPECT_EQ(PutError("/k", created + 1000), Code::kConflict);
  const Revision updated = Put("/k", "two", created);
  EXPECT_EQ(PutError("/k", created), Code::kConflict);
  EXPECT_EQ(DeleteError("/k", created), Code::kConflict);
  EXPECT_EQ(DeleteError("/k", 0), Code::kConflict);
  auto got = store_->Get("/k");
  ASSERT_TRUE(got);
  EXPECT_EQ(*got->value, "two");
  EXPECT_EQ(got->create_revision, created);
  EXPECT_EQ(got->mod_revision, updated);
  const Revision deleted = Delete("/k", updated);
  EXPECT_EQ(store_->Get("/k").error().code(), Code::kNotFound);
  EXPECT_EQ(PutError("/k", updated), Code::kConflict);
  const Revision again = Put("/k", "three", 0);
  EXPECT_GT(again, deleted);
  EXPECT_EQ(store_->Get("/k")->create_revision, again);
}

TEST_P(StoreContractTest, WritesOnlyWhileTheGuardHolds) {
  const auto write = [this](const std::string& key, Value value, Revision expected, const std::string& guard, Revision at) {
    const auto result =
        store_->CommitAndWait({key, std::move(value), expected, std::make_shared<const Guard>(Guard{guard, at})});
    return result ? std::string() : std::string(base::Reason(result.error().code()));
  };
  EXPECT_EQ(write("/a", Text("1"), Write::kAnyRevision, "/lease", 0), "") << "a key that does not exist, as expected";
  const Revision first = Put("/lease", "epoch 1");
  EXPECT_EQ(write("/a", Text("2"), Write::kAnyRevision, "/lease", 0), "Cancelled");
  EXPECT_EQ(write("/a", Text("2"), Write::kAnyRevision, "/lease", first), "");
  const Revision second = Put("/lease", "epoch 2");
  EXPECT_EQ(write("/a", Text("3"), Write::kAnyRevision, "/lease", first), "Cancelled");
  EXPECT_EQ(write("/b", Text("new"), 0, "/lease", first), "Cancelled");
  EXPECT_EQ(write("/a", nullptr, Write::kAnyRevision, "/lease", first), "Cancelled");
  EXPECT_EQ(write("/a", Text("3"), 12345, "/lease", first), "Cancelled") << "the guard comes first";
  EXPECT_EQ(write("/a", Text("3"), 12345, "/lease", second), "Conflict");
  EXPECT_EQ(write("/nope", nullptr, Write::kAnyRevision, "/lease", second), "NotFound");
  EXPECT_EQ(*store_->Get("/a")->value, "2");
  EXPECT_EQ(store_->Get("/b").error().code(), Code::kNotFound);
  EXPECT_EQ(write("/lease", Text("renewed"), second, "/lease", second), "") << "the guarded key itself";
  EXPECT_EQ(write("/lease", Text("late"), Write::kAnyRevision, "/lease", second), "Cancelled");
  Delete("/lease");
  EXPECT_EQ(write("/a", Text("4"), Write::kAnyRevision, "/lease", 0), "");
}

TEST_P(StoreContractTest, LetsNoGuardedWritePassTheWriteThatEndsItsGuard) {
  const auto guard = std::make_shared<const Guard>(Guard{"/lease", Put("/lease", "epoch 1")});
  std::atomic<bool> stop = false;
  std::atomic<Revision> last_guarded = 0;
  std::atomic<int> written = 0, cancelled = 0;
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&, w] {
      while (!stop) {
        const auto result = store_->CommitAndWait({"/w" + std::to_string(w), Text("x"), Write::kAnyRevision, guard});
        if (!result) {
          EXPECT_EQ(result.error().code(), Code::kCancelled) << result.error().message();
          if (++cancelled > 40) return;
          continue;
        }
        ++written;
        Revision seen = last_guarded.load();
        while (seen < *result && !last_guarded.compare_exchange_weak(seen, *result)) {
        }
      }
    });
  }
  const auto limit = std::chrono::steady_clock::now() + 60s;
  while (written < 40 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  const Revision ended = Put("/lease", "epoch 2");
  while (cancelled < 4 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  stop = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_GE(written, 40);
  EXPECT_GE(cancelled, 4);
  EXPECT_LT(last_guarded, ended);
}

TEST_P(StoreContractTest, KeepsValuesByteForByte) {
  const std::string bytes("\0\xff value \n\0", 11);
  Put(std::string("/k\0\xfe", 4), bytes);
  Put("/empty", "");
  EXPECT_EQ(*store_->Get(std::string("/k\0\xfe", 4))->value, bytes);
  EXPECT_EQ(*store_->Get("/empty")->value, "");
  EXPECT_EQ(store_->Get("/k").error().code(), Code::kNotFound);
}

TEST_P(StoreContractTest, ReadsTheStateOfAnOlderRevision) {
  const Revision first = Put("/a/x", "1");
  const Revision second = Put("/a/x", "2");
  Put("/a/y", "1");
  const Revision deleted = Delete("/a/x");
  EXPECT_EQ(*store_->Get("/a/x", first)->value, "1");
  EXPECT_EQ(*store_->Get("/a/x", second)->value, "2");
  EXPECT_EQ(store_->Get("/a/x", second)->mod_revision, second);
  EXPECT_EQ(store_->Get("/a/x", deleted).error().code(), Code::kNotFound);
  EXPECT_EQ(store_->Get("/a/y", second).error().code(), Code::kNotFound);
  EXPECT_EQ(store_->Get("/a/x", deleted + 1000).error().code(), Code::kBadRequest);
  EXPECT_EQ(store_->List({.prefix = "/a/", .revision = deleted + 1000}).error().code(), Code::kBadRequest);
  EXPECT_EQ(Keys({.prefix = "/a/", .revision = second}), KeyList({"/a/x"}));
  EXPECT_EQ(Keys({.prefix = "/a/"}), KeyList({"/a/y"}));
}

TEST_P(StoreContractTest, ListsPagesOfOneRevisionWhileWritesGoOn) {
  for (const char* key : {"/a/1", "/a/2", "/a/3", "/a/4", "/a/5", "/b/1", "/"}) Put(key, key);
  auto page = store_->List({.prefix = "/a/", .limit = 2});
  ASSERT_TRUE(page);
  ASSERT_EQ(page->items.size(), 2u);
  EXPECT_TRUE(page->more);
  EXPECT_EQ(page->remaining, 3u);
  EXPECT_EQ(page->revision, store_->current_revision());
  Delete("/a/4");
  Put("/a/33", "new");
  Put("/a/0", "new");
  auto next = store_->List({.prefix = "/a/", .start_after = "/a/2", .limit = 2, .revision = page->revision});
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->more);
  EXPECT_EQ(next->remaining, 1u);
  EXPECT_EQ(next->revision, page->revision);
  EXPECT_EQ(next->items[0].key, "/a/3");
  EXPECT_EQ(next->items[1].key, "/a/4");
  EXPECT_EQ(*next->items[1].value, "/a/4");
  auto last = store_->List({.prefix = "/a/", .start_after = "/a/4", .limit = 2, .revision = page->revision});
  ASSERT_TRUE(last);
  EXPECT_FALSE(last->more);
  EXPECT_EQ(last->items.size(), 1u);
  EXPECT_EQ(Keys({.prefix = "/a/"}), KeyList({"/a/0", "/a/1", "/a/2", "/a/3", "/a/33", "/a/5"}));
  EXPECT_EQ(Keys({.prefix = ""}).size(), 8u);
  EXPECT_EQ(Keys({.prefix = "/a/", .start_after = "/b"}).size(), 0u);
  EXPECT_EQ(Keys({.prefix = "/none/"}).size(), 0u);
  EXPECT_EQ(store_->List({.prefix = "/none/"})->revision, store_->current_revision());
}

TEST_P(StoreContractTest, KeepsPrefixesThatShareABeginningApart) {
  Put("/a/x", "1");
  Put("/ab/x", "1");
  Put("/a", "1");
  Recorder recorder;
  const auto watch = StartWatch("/a/", 0, recorder);
  Put("/ab/y", "2");
  Put("/a", "2");
  Put("/a/y", "2");
  EXPECT_EQ(Keys({.prefix = "/a/"}), KeyList({"/a/x", "/a/y"}));
  EXPECT_EQ(Keys({.prefix = "/ab/"}), KeyList({"/ab/x", "/ab/y"}));
  const auto events = recorder.WaitFor(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].current.key, "/a/y");
}

TEST_P(StoreContractTest, ReplaysFromARevisionAndGoesOnLive) {
  const Revision before = Put("/a/x", "1");
  const Revision created = Put("/a/y", "1");
  const Revision updated = Put("/a/x", "2");
  Recorder recorder;
  const auto watch = StartWatch("/a/", before, recorder);
  const Revision live = Put("/a/z", "1");
  const Revision deleted = Delete("/a/x");
  const Revision again = Put("/a/x", "3");
  const auto events = recorder.WaitFor(5);
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].revision, created);
  EXPECT_EQ(events[0].previous, nullptr);
  EXPECT_EQ(events[0].current.create_revision, created);
  EXPECT_EQ(events[1].revision, updated);
  EXPECT_EQ(events[1].type, Event::Type::kPut);
  EXPECT_EQ(*events[1].current.value, "2");
  EXPECT_EQ(*events[1].previous, "1");
  EXPECT_EQ(events[1].current.create_revision, before);
  EXPECT_EQ(events[2].revision, live);
  EXPECT_EQ(events[3].type, Event::Type::kDelete);
  EXPECT_EQ(events[3].current.key, "/a/x");
  EXPECT_EQ(events[3].current.mod_revision, deleted);
  EXPECT_EQ(events[3].current.value, nullptr);
  EXPECT_EQ(*events[3].previous, "2");
  EXPECT_EQ(events[4].revision, again);
  EXPECT_EQ(events[4].previous, nullptr);
}

TEST_P(StoreContractTest, ExpiresWhatIsOlderThanTheCompaction) {
  const Revision first = Put("/a/x", "1");
  Put("/a/gone", "1");
  Put("/a/x", "2");
  Delete("/a/gone");
  const Revision kept = Put("/a/y", "1");
  const Revision last = Put("/a/x", "3");
  Recorder live;
  const auto live_watch = StartWatch("/a/", 0, live);
  ASSERT_TRUE(store_->Compact(kept));
  EXPECT_TRUE(store_->Compact(kept));
  EXPECT_EQ(store_->Compact(last + 1000).error().code(), Code::kBadRequest);
  EXPECT_EQ(store_->compacted_revision(), kept);
  EXPECT_EQ(store_->current_revision(), last);
  EXPECT_EQ(store_->Get("/a/x", first).error().code(), Code::kExpired);
  EXPECT_EQ(store_->List({.prefix = "/a/", .revision = first}).error().code(), Code::kExpired);
  EXPECT_EQ(*store_->Get("/a/x", kept)->value, "2");
  EXPECT_EQ(*store_->Get("/a/x")->value, "3");
  EXPECT_EQ(Keys({.prefix = "/a/", .revision = kept}), KeyList({"/a/x", "/a/y"}));
  Recorder expired;
  auto old = store_->NewWatch("/a/", first, expired.handler());
  EXPECT_EQ(old ? expired.WaitForEnd().value_or(Code::kInternal) : old.error().code(), Code::kExpired);
  Recorder recorder;
  const auto watch = StartWatch("/a/", kept, recorder);
  Put("/a/z", "1");
  EXPECT_EQ(recorder.WaitFor(2).size(), 2u);
  EXPECT_EQ(live.WaitFor(1).size(), 1u);
}

TEST_P(StoreContractTest, LetsExactlyOneOfConcurrentWritersWinEachRevision) {
  constexpr int kThreads = 4, kWins = 25;
  Put("/counter", "0");
  Recorder recorder;
  const auto watch = StartWatch("/counter", 0, recorder);
  std::vector<std::thread> threads;
  std::atomic<int> unexpected = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int wins = 0; wins < kWins;) {
        const auto now = store_->Get("/counter");
        if (!now) return void(++unexpected);
        const auto next = std::to_string(std::stoi(*now->value) + 1);
        const auto result = store_->CommitAndWait({"/counter", Text(next), now->mod_revision});
        if (result) ++wins;
        if (!result && result.error().code() != Code::kConflict) return void(++unexpected);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(unexpected, 0);
  EXPECT_EQ(*store_->Get("/counter")->value, std::to_string(kThreads * kWins));
  const auto events = recorder.WaitFor(kThreads * kWins);
  ASSERT_EQ(events.size(), static_cast<size_t>(kThreads * kWins));
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(*events[i].current.value, std::to_string(i + 1));
}

TEST_P(StoreContractTest, CallsNoHandlerAfterItsWatchIsDestroyed) {
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) Put("/a/" + std::to_string(i % 10), "v");
  });
  for (int i = 0; i < 50; ++i) {
    auto alive = std::make_unique<std::atomic<bool>>(true);
    std::atomic<int> late = 0;
    auto watch = store_->NewWatch("/a/", 0, [&, flag = alive.get()](std::vector<Event>, const base::Error*) {
      if (!flag->load()) ++late;
      std::this_thread::yield();
      if (!flag->load()) ++late;
    });
    ASSERT_TRUE(watch);
    if (i % 5 == 0) std::this_thread::sleep_for(2ms);
    watch->reset();
    alive->store(false);
    EXPECT_EQ(late, 0);
    alive.reset();
  }
  stop = true;
  writer.join();
}

TEST_P(StoreContractTest, LetsAHandlerEndItsOwnWatch) {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_ptr<Watch> watch;
  int calls = 0;
  std::unique_lock lock(mutex);
  auto started = store_->NewWatch("/a/", 0, [&](std::vector<Event>, const base::Error*) {
    std::unique_ptr<Watch> mine;
    std::lock_guard inner(mutex);
    ++calls;
    mine = std::move(watch);
    changed.notify_all();
  });
  ASSERT_TRUE(started);
  watch = *std::move(started);
  lock.unlock();
  Put("/a/1", "v");
  lock.lock();
  ASSERT_TRUE(changed.wait_for(lock, 60s, [&] { return calls == 1; }));
  lock.unlock();
  Put("/a/2", "v");
  Put("/a/3", "v");
  std::this_thread::sleep_for(20ms);
  lock.lock();
  EXPECT_EQ(calls, 1);
}

TEST_P(StoreContractTest, ReachesManyWatchers) {
  const size_t count = GetParam() == "etcd" ? 50 : 2'000;
  std::vector<Recorder> recorders(count);
  std::vector<std::unique_ptr<Watch>> watches;
  for (Recorder& recorder : recorders) watches.push_back(StartWatch("/pods/", 0, recorder));
  Recorder elsewhere;
  const auto other = StartWatch("/nodes/", 0, elsewhere);
  for (int i = 0; i < 3; ++i) Put("/pods/" + std::to_string(i), "v");
  for (Recorder& recorder : recorders) ASSERT_EQ(recorder.WaitFor(3).size(), 3u);
  EXPECT_EQ(elsewhere.WaitFor(0).size(), 0u);
}

TEST_P(StoreContractTest, TellsWatchersThatTheStoreIsGone) {
  Recorder recorder;
  const auto watch = StartWatch("/a/", 0, recorder);
  Put("/a/1", "v");
  store_.reset();
  EXPECT_EQ(recorder.WaitForEnd(), Code::kUnavailable);
}

TEST_P(StoreContractTest, AnswersEveryWriteOnceWhenManyAreUnderWay) {
  constexpr int kWrites = 500;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Revision, int> answers;
  int count = 0;
  for (int i = 0; i < kWrites; ++i) {
    store_->Commit({"/a/" + std::to_string(i), Text("v"), 0}, [&](base::Result<Revision> result) {
      std::lock_guard lock(mutex);
      EXPECT_TRUE(result);
      if (result) ++answers[*result];
      ++count;
      changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, 60s, [&] { return count == kWrites; }));
  EXPECT_EQ(answers.size(), static_cast<size_t>(kWrites));
  lock.unlock();
  EXPECT_EQ(Keys({.prefix = "/a/"}).size(), static_cast<size_t>(kWrites));
}

INSTANTIATE_TEST_SUITE_P(Bodies, StoreContractTest, ::testing::Values("memory", "sqlite", "etcd"),
                         [](const auto& body) { return body.param; });

TEST(EtcdStoreTest, SaysWhatIsWrongWithAnEndpoint) {
  EtcdOptions options;
  options.open_timeout = 300ms;
  EXPECT_EQ(OpenEtcdStore({}, options).error().code(), Code::kBadRequest);
  EXPECT_EQ(OpenEtcdStore({"localhost"}, options).error().code(), Code::kBadRequest);
  EXPECT_EQ(OpenEtcdStore({"localhost:http"}, options).error().code(), Code::kBadRequest);
  EXPECT_EQ(OpenEtcdStore({"127.0.0.1:" + std::to_string(base::testing::ReservedPort())}, options).error().code(),
            Code::kUnavailable);
  options.ca_file = "/does/not/exist.pem";
  EXPECT_EQ(OpenEtcdStore({"localhost:2379"}, options).error().code(), Code::kBadRequest);
}

TEST(EtcdStoreTest, ClosesWhileItsWatchesAreEnding) {
  if (!EtcdProcess::Missing().empty()) GTEST_SKIP() << EtcdProcess::Missing();
  EtcdOptions options;
  options.prefix = "/ending/";
  options.open_timeout = 60s;
  for (int round = 0; round < 20; ++round) {
    auto store = OpenEtcdStore({EtcdProcess::Instance().endpoint()}, options);
    ASSERT_TRUE(store) << store.error().message();
    std::vector<Recorder> recorders(100);
    std::vector<std::unique_ptr<Watch>> watches;
    for (Recorder& recorder : recorders) watches.push_back(*(*store)->NewWatch("/a/", 0, recorder.handler()));
    ASSERT_TRUE((*store)->CommitAndWait({"/a/1", Text("v")}));
    for (Recorder& recorder : recorders) ASSERT_EQ(recorder.WaitFor(1).size(), 1u);
    watches.clear();
  }
}

TEST(EtcdStoreTest, ResumesItsWatchesAfterEtcdWasAway) {
  if (!EtcdProcess::Missing().empty()) GTEST_SKIP() << EtcdProcess::Missing();
  EtcdOptions options;
  options.prefix = "/resume/";
  options.open_timeout = 60s;
  options.request_timeout = 500ms;
  auto store = OpenEtcdStore({EtcdProcess::Instance().endpoint(), "127.0.0.1:1"}, options);
  ASSERT_TRUE(store) << store.error().message();
  Recorder recorder;
  auto watch = (*store)->NewWatch("/a/", 0, recorder.handler());
  ASSERT_TRUE(watch);
  ASSERT_TRUE((*store)->CommitAndWait({"/a/1", Text("v")}));
  ASSERT_EQ(recorder.WaitFor(1).size(), 1u);
  EtcdProcess::Instance().Stop();
  EXPECT_EQ((*store)->CommitAndWait({"/a/2", Text("v")}).error().code(), Code::kUnavailable);
  EXPECT_EQ((*store)->Get("/a/1").error().code(), Code::kUnavailable);
  EtcdProcess::Instance().Start();
  bool written = false;
  for (int i = 0; i < 600 && !written; ++i) {
    written = (*store)->CommitAndWait({"/a/3", Text("v")}).has_value();
    if (!written) std::this_thread::sleep_for(100ms);
  }
  ASSERT_TRUE(written);
  const auto events = recorder.WaitFor(2);
  ASSERT_GE(events.size(), 2u);
  EXPECT_EQ(events[1].current.key, "/a/3");
}

}  // namespace
}  // namespace evenkeel::embedded::store::store_contract_test
