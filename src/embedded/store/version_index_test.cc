#include "embedded/store/version_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "embedded/store/memory_store.h"

namespace evenkeel::embedded::store::version_index_test {
namespace {

using base::Code;

Value Bytes(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

/// The same contract in the most obvious way: a copy of the whole state per revision.
class NaiveStore {
 public:
  struct Item {
    std::string value;
    Revision create_revision, mod_revision;
    bool operator==(const Item&) const = default;
  };
  using State = std::map<std::string, Item>;

  Revision Put(const std::string& key, const std::string& value) {
    State next = states_.back();
    const auto revision = static_cast<Revision>(states_.size());
    const auto found = next.find(key);
    next[key] = {value, found == next.end() ? revision : found->second.create_revision, revision};
    states_.push_back(std::move(next));
    return revision;
  }
  bool Delete(const std::string& key) {
    State next = states_.back();
    if (next.erase(key) == 0) return false;
    states_.push_back(std::move(next));
    return true;
  }
  Revision current() const { return static_cast<Revision>(states_.size()) - 1; }
  const State& At(Revision revision) const { return states_[static_cast<size_t>(revision)]; }

 private:
  std::vector<State> states_ = {{}};
};

void ExpectSameList(Store& store, const NaiveStore& model, const ListOptions& options, Revision compacted) {
  const Revision revision = options.revision == 0 ? model.current() : options.revision;
  const auto result = store.List(options);
  if (revision < compacted) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), Code::kExpired);
    return;
  }
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->revision, revision);
  std::vector<std::pair<std::string, NaiveStore::Item>> expected;
  for (const auto& [key, item] : model.At(revision)) {
    if (key.starts_with(options.prefix) && key > options.start_after) expected.emplace_back(key, item);
  }
  const size_t shown = options.limit == 0 ? expected.size() : std::min(expected.size(), options.limit);
  ASSERT_EQ(result->items.size(), shown);
  EXPECT_EQ(result->more, shown < expected.size());
  EXPECT_EQ(result->remaining, expected.size() - shown);
  for (size_t i = 0; i < shown; ++i) {
    const KeyValue& item = result->items[i];
    EXPECT_EQ(item.key, expected[i].first);
    EXPECT_EQ((NaiveStore::Item{*item.value, item.create_revision, item.mod_revision}), expected[i].second);
  }
}

class VersionIndexModelTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(VersionIndexModelTest, AnswersAsTheObviousModelDoes) {
  std::mt19937 random(GetParam());
  const auto draw = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  const auto key = [&] { return "/" + std::string(1, static_cast<char>('a' + draw(3))) + "/" + std::to_string(draw(12)); };
  const auto store = NewMemoryStore();
  NaiveStore model;
  Revision compacted = 0;
  std::vector<Event> seen;
  const auto watch = store->NewWatch("/b/", 0, [&](std::vector<Event> batch, const base::Error*) {
    for (Event& event : batch) {
      if (event.type != Event::Type::kProgress) seen.push_back(std::move(event));
    }
  });
  for (int step = 0; step < 1'500; ++step) {
    const uint32_t action = draw(100);
    if (action < 45) {
      const std::string name = key(), value = std::to_string(step);
      EXPECT_EQ(*store->CommitAndWait({name, Bytes(value)}), model.Put(name, value));
    } else if (action < 65) {
      const std::string name = key();
      EXPECT_EQ(store->CommitAndWait({name, nullptr}).has_value(), model.Delete(name));
    } else if (action < 67) {
      const Revision to = compacted + static_cast<Revision>(draw(static_cast<uint32_t>(model.current() - compacted + 1)));
      ASSERT_TRUE(store->Compact(to));
      compacted = std::max(compacted, to);
    } else {
      const Revision at = draw(3) == 0 ? 0 : static_cast<Revision>(draw(static_cast<uint32_t>(model.current() + 1)));
      const char* prefixes[] = {"", "/", "/a/", "/b/", "/b/1", "/c"};
      const std::string prefix = prefixes[draw(6)];
      ExpectSameList(*store, model, {prefix, draw(2) ? key() : "", draw(2) ? draw(6) : 0, at}, compacted);
      const std::string name = key();
      const Revision revision = at == 0 ? model.current() : at;
      const auto got = store->Get(name, at);
      if (revision < compacted) {
        EXPECT_EQ(got.error().code(), Code::kExpired);
      } else if (const auto found = model.At(revision).find(name); found == model.At(revision).end()) {
        EXPECT_EQ(got.error().code(), Code::kNotFound);
      } else {
        EXPECT_EQ((NaiveStore::Item{*got->value, got->create_revision, got->mod_revision}), found->second);
      }
    }
    if (HasFatalFailure()) return;
  }
  size_t expected_events = 0;
  for (const Event& event : seen) {
    const auto& before = model.At(event.revision - 1);
    const auto& after = model.At(event.revision);
    const auto was = before.find(event.current.key), is = after.find(event.current.key);
    EXPECT_EQ(event.type == Event::Type::kDelete, is == after.end());
    EXPECT_EQ(event.previous ? *event.previous : "(none)", was == before.end() ? "(none)" : was->second.value);
  }
  for (Revision revision = 1; revision <= model.current(); ++revision) {
    const auto& before = model.At(revision - 1);
    const auto& after = model.At(revision);
    const auto in_b = [](const NaiveStore::State& state) {
      return NaiveStore::State(state.lower_bound("/b/"), state.lower_bound("/b0"));
    };
    if (in_b(before) != in_b(after)) ++expected_events;
  }
  EXPECT_EQ(seen.size(), expected_events);
}

INSTANTIATE_TEST_SUITE_P(Seeds, VersionIndexModelTest, ::testing::Range(1u, 21u));

TEST(VersionIndexTest, ForgetsTheOldestHistoryBeyondItsLimitOfEvents) {
  VersionIndex index({.events_max = 100, .superseded_bytes_max = 1 << 20});
  VersionIndex::Forgotten forgotten;
  for (Revision revision = 1; revision <= 1'000; ++revision) {
    index.Apply(revision, "/k" + std::to_string(revision % 10), Bytes("v"));
    index.Trim(forgotten);
    EXPECT_LE(index.event_count(), 100u);
  }
  EXPECT_GE(index.event_count(), 90u);
  EXPECT_GE(index.compacted_revision(), 900);
  EXPECT_EQ(index.key_count(), 10u);
  EXPECT_EQ(index.Get("/k1", 1).error().code(), Code::kExpired);
  EXPECT_TRUE(index.Get("/k1", 995));
  EXPECT_TRUE(std::ranges::is_sorted(forgotten.revisions));
  EXPECT_EQ(forgotten.revisions.size(), forgotten.values.size());
}

TEST(VersionIndexTest, ForgetsTheOldestHistoryBeyondItsLimitOfBytes) {
  VersionIndex index({.events_max = 1'000'000, .superseded_bytes_max = 10'000});
  VersionIndex::Forgotten forgotten;
  for (Revision revision = 1; revision <= 500; ++revision) {
    index.Apply(revision, "/hot", Bytes(std::string(1'000, 'x')));
    index.Trim(forgotten);
    EXPECT_LE(index.superseded_bytes(), 10'000u);
  }
  EXPECT_EQ(index.Head("/hot")->create_revision, 1);
  EXPECT_EQ(index.Head("/hot")->mod_revision, 500);
}

TEST(VersionIndexTest, ReleasesDeletedKeysOnceTheyAreCompacted) {
  VersionIndex index;
  VersionIndex::Forgotten forgotten;
  index.Apply(1, "/a", Bytes("v"));
  index.Apply(2, "/a", nullptr);
  index.Apply(3, "/b", Bytes("v"));
  ASSERT_TRUE(index.Compact(3, forgotten));
  EXPECT_EQ(forgotten.revisions, (std::vector<Revision>{1, 2}));
  EXPECT_EQ(index.key_count(), 1u);
  EXPECT_EQ(index.superseded_bytes(), 0u);
  EXPECT_EQ(index.event_count(), 0u);
}

TEST(MemoryStoreTest, DeliversTheWritesOfAHandlerAfterTheOneBeingDelivered) {
  const auto store = NewMemoryStore();
  std::vector<std::string> order;
  const auto first = store->NewWatch("/", 0, [&](std::vector<Event> batch, const base::Error*) {
    for (const Event& event : batch) {
      order.push_back("first " + event.current.key);
      if (event.current.key == "/1") {
        store->Commit({"/2", Bytes("v")}, [&](base::Result<Revision>) { order.push_back("done /2"); });
        EXPECT_TRUE(store->Get("/2"));
      }
    }
  });
  const auto second = store->NewWatch("/", 0, [&](std::vector<Event> batch, const base::Error*) {
    for (const Event& event : batch) order.push_back("second " + event.current.key);
  });
  store->Commit({"/1", Bytes("v")}, [&](base::Result<Revision>) { order.push_back("done /1"); });
  EXPECT_EQ(order, (std::vector<std::string>{"first /1", "done /2", "second /1", "first /2", "second /2", "done /1"}));
}

TEST(MemoryStoreTest, TellsAQuietWatcherHowFarItIs) {
  const auto store = NewMemoryStore();
  std::vector<Revision> progress;
  const auto watch = store->NewWatch("/quiet/", 0, [&](std::vector<Event> batch, const base::Error*) {
    for (const Event& event : batch) {
      EXPECT_EQ(event.type, Event::Type::kProgress);
      progress.push_back(event.revision);
    }
  });
  for (int i = 0; i < 2'500; ++i) ASSERT_TRUE(store->CommitAndWait({"/busy/x", Bytes("v")}));
  EXPECT_EQ(progress, (std::vector<Revision>{1'000, 2'000}));
  store->TellProgress();
  EXPECT_EQ(progress.back(), 2'500);
  // One that resumes from long ago, and under whose prefix nothing has happened since.
  Revision told = 0;
  const auto resumed =
      store->NewWatch("/silent/", 1, [&](std::vector<Event> batch, const base::Error*) { told = batch.back().revision; });
  store->TellProgress();
  EXPECT_EQ(told, 2'500);
}

TEST(MemoryStoreTest, EndsAWatchThatAsksForMoreThanItsBuffer) {
  const auto store = NewMemoryStore();
  ASSERT_TRUE(store->CommitAndWait({"/a", Bytes("v")}));
  for (size_t i = 0; i <= Store::kEventsMax; ++i) ASSERT_TRUE(store->CommitAndWait({"/a", Bytes("v")}));
  const auto watch = store->NewWatch("/a", 1, [](std::vector<Event>, const base::Error*) { FAIL(); });
  ASSERT_FALSE(watch);
  EXPECT_EQ(watch.error().code(), Code::kExpired);
  EXPECT_TRUE(store->NewWatch("/a", 3, [](std::vector<Event>, const base::Error*) {}));
}

}  // namespace
}  // namespace evenkeel::embedded::store::version_index_test
