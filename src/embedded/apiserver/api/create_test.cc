// Creates whose outcome comes later than their call returns, as with every store that waits for a disk.
#include "embedded/apiserver/api/api_testing.h"
#include "kube/object.h"

namespace evenkeel::embedded::apiserver::create_test {
namespace {

using base::Json;

/// A memory store that keeps writes back until Release; the first so many are refused as conflicts.
class LateStore : public store::Store {
 public:
  base::Result<store::KeyValue> Get(const std::string& key, store::Revision revision) override {
    return memory_->Get(key, revision);
  }
  base::Result<store::ListResult> List(const store::ListOptions& options) override { return memory_->List(options); }
  void Commit(store::Write write, std::function<void(base::Result<store::Revision>)> done) override {
    if (!late) return memory_->Commit(std::move(write), std::move(done));
    held_.emplace_back(std::move(write), std::move(done));
  }
  base::Result<std::unique_ptr<store::Watch>> NewWatch(std::string prefix, store::Revision after,
                                                       store::WatchHandler handler) override {
    return memory_->NewWatch(std::move(prefix), after, std::move(handler));
  }
  store::Revision current_revision() override { return memory_->current_revision(); }
  base::Status Compact(store::Revision revision) override { return memory_->Compact(revision); }
  store::Revision compacted_revision() override { return memory_->compacted_revision(); }
  bool reads_block() const override { return false; }

  void Release() {
    while (!held_.empty()) {
      for (auto& [write, done] : std::exchange(held_, {})) {
        if (conflicts-- > 0) {
          done(base::Fail(base::Code::kConflict, "taken"));
        } else {
          memory_->Commit(std::move(write), std::move(done));
        }
      }
    }
  }

  bool late = false;
  int conflicts = 0;

 private:
  std::unique_ptr<store::Store> memory_ = store::NewMemoryStore();
  std::vector<std::pair<store::Write, std::function<void(base::Result<store::Revision>)>>> held_;
};

class CreateTest : public ::testing::Test {
 protected:
  CreateTest() { EXPECT_TRUE(api.Start().has_value()); }

  /// Creates from storage that is gone before the store answers.
  Result<Answer> CreateLate(std::string_view text) {
    std::optional<Result<Answer>> outcome;
    store.late = true;
    {
      boost::json::monotonic_resource storage;
      auto object = base::ParseJson(text, "test", &storage);
      EXPECT_TRUE(object.has_value());
      Call call{.served = config_maps, .ns = "default", .name = "", .subresource = "", .user = {}, .field_manager = "test"};
      api.Create(std::move(call), *std::move(object), [&](Result<Answer> answer) { outcome = std::move(answer); });
    }
    store.Release();
    EXPECT_TRUE(outcome.has_value());
    return outcome.has_value() ? *outcome : base::Fail(base::Code::kInternal, "no answer");
  }

  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  LateStore store;
  Api api{{.name = "test", .store = &store, .clock = &executor.clock(), .random = base::Random(7), .logs = nullptr}};
  ServedPointer config_maps = api.resources().Find("", "v1", "configmaps");
};

constexpr std::string_view kGenerated =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"run-with-a-long-name-"},"data":{"a":"a long value of it"}})";

TEST_F(CreateTest, TriesAnotherNameWhereAGeneratedOneIsTaken) {
  store.conflicts = 2;
  const auto made = CreateLate(kGenerated);
  ASSERT_TRUE(made) << made.error().message();
  const Json object = *DecodeObject(*config_maps, made->object);
  EXPECT_TRUE(kube::NameOf(object).starts_with("run-with-a-long-name-"));
  EXPECT_EQ(base::FindString(object, {"data", "a"}), "a long value of it");
  EXPECT_EQ(base::FindString(object, {"metadata", "namespace"}), "default");
}

TEST_F(CreateTest, GivesUpWhereEveryGeneratedNameIsTaken) {
  store.conflicts = 1'000;
  const auto made = CreateLate(kGenerated);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), base::Code::kAlreadyExists);
}

TEST_F(CreateTest, DoesNotTryAgainWhereANameWasGiven) {
  store.conflicts = 1;
  const auto made = CreateLate(R"({"metadata":{"name":"one","generateName":"run-"}})");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message(), "configmaps \"one\" already exists");
}

TEST_F(CreateTest, StoresNumbersAsGoWritesThem) {
  const std::string text =
      EncodeStored(ParseOrFail(R"({"metadata":{"name":"a","resourceVersion":"7"},"x":[1.5,"\u0001"]})"), *config_maps);
  EXPECT_TRUE(text.ends_with(R"("metadata":{"name":"a"},"x":[1.5,"\u0001"]})")) << text;
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::create_test
