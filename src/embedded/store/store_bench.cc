// What the API server pays for its store. Set EVENKEEL_BENCH_DIR to put the SQLite file on the disk to be measured.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "embedded/store/memory_store.h"
#include "embedded/store/sqlite_store.h"

namespace evenkeel::embedded::store {
namespace {

constexpr size_t kObjectBytes = 2'300;
constexpr size_t kObjects = 100'000;

Value Object(size_t bytes = kObjectBytes) { return std::make_shared<const std::string>(bytes, 'v'); }

std::string PodKey(size_t i) { return "/registry/pods/default/pod-" + std::to_string(1'000'000 + i); }

std::unique_ptr<Store> FilledStore() {
  auto store = NewMemoryStore();
  for (size_t i = 0; i < kObjects; ++i) store->Commit({PodKey(i), Object(), 0}, [](base::Result<Revision>) {});
  return store;
}

/// Durable creates of 2 KB per second with so many writers that each wait for their answer.
void BM_SqliteCommits(benchmark::State& state) {
  const auto writers = static_cast<int>(state.range(0));
  const char* base = std::getenv("EVENKEEL_BENCH_DIR");
  std::string directory = std::string(base ? base : std::filesystem::temp_directory_path().string()) + "/evenkeel-bench-XXXXXX";
  if (!mkdtemp(directory.data())) return state.SkipWithError("no directory to write to");
  {
    auto store = OpenSqliteStore(directory + "/store.db");
    if (!store) return state.SkipWithError(store.error().message().c_str());
    std::atomic<size_t> next = 0;
    constexpr size_t kWritesPerRound = 4'096;
    for (auto _ : state) {
      const size_t end = next + kWritesPerRound;
      std::vector<std::thread> threads;
      for (int w = 0; w < writers; ++w) {
        threads.emplace_back([&] {
          for (size_t i = next++; i < end; i = next++) (void)(*store)->CommitAndWait({PodKey(i), Object(2'048), 0});
        });
      }
      for (auto& thread : threads) thread.join();
      next = end;
    }
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kWritesPerRound));
    const SqliteStats stats = (*store)->stats();
    state.counters["writes_per_fsync"] = static_cast<double>(stats.writes) / static_cast<double>(stats.transactions);
  }
  std::filesystem::remove_all(directory);
}
BENCHMARK(BM_SqliteCommits)->Arg(1)->Arg(16)->Arg(64)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_ListAllInPagesOf500(benchmark::State& state) {
  const auto store = FilledStore();
  for (auto _ : state) {
    ListOptions options{.prefix = "/registry/pods/", .limit = 500};
    size_t seen = 0;
    for (bool more = true; more;) {
      auto page = store->List(options);
      seen += page->items.size();
      more = page->more;
      options.revision = page->revision;
      options.start_after = page->items.back().key;
    }
    if (seen != kObjects) state.SkipWithError("the pages do not add up");
  }
}
BENCHMARK(BM_ListAllInPagesOf500)->Unit(benchmark::kMillisecond);

void BM_WriteSeenBy2000Watchers(benchmark::State& state) {
  const auto store = NewMemoryStore();
  size_t calls = 0;
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 4'000; ++i) {
    const std::string prefix = i % 2 == 0 ? "/registry/pods/" : "/registry/other" + std::to_string(i) + "/";
    watches.push_back(
        *store->NewWatch(prefix, 0, [&](std::vector<Event> batch, const base::Error*) { calls += batch.size(); }));
  }
  const Value value = Object();
  size_t i = 0;
  for (auto _ : state) store->Commit({PodKey(i++ % 100), value}, [](base::Result<Revision>) {});
  state.counters["calls_per_write"] = static_cast<double>(calls) / static_cast<double>(i);
}
BENCHMARK(BM_WriteSeenBy2000Watchers)->Unit(benchmark::kMicrosecond);

/// Heap per key beyond the bytes of the key and the value, with the create of each still in the log.
void BM_MemoryPerKey(benchmark::State& state) {
  for (auto _ : state) {
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    const auto store = FilledStore();
    const size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    const double per_key = static_cast<double>(after - before) / static_cast<double>(kObjects);
    state.counters["overhead_bytes"] = per_key - static_cast<double>(kObjectBytes + PodKey(0).size());
  }
}
BENCHMARK(BM_MemoryPerKey)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::embedded::store
