#include "embedded/store/sqlite_store.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>
#include <unordered_set>

#include "base/log.h"
#include "embedded/store/fair_shared_mutex.h"
#include "embedded/store/sqlite_file.h"
#include "embedded/store/watch_hub.h"

namespace evenkeel::embedded::store {
namespace {

using base::Code;
using base::Fail;
using Done = std::function<void(base::Result<Revision>)>;

// What one transaction may hold: more would only make the first of them wait longer.
constexpr size_t kBatchWritesMax = 2'000;
constexpr size_t kBatchBytesMax = 8 << 20;
// Rows removed per transaction besides two for each one written (so that removal keeps up with any load), and how many must
// wait before any is removed: few enough not to be felt by the writes of the same transaction.
constexpr size_t kEraseMax = 512;
constexpr size_t kEraseMin = 256;
// Pages of the log at which the checkpoint thread starts, and at which the commit thread does the rest itself.
constexpr int kCheckpointPages = SqliteFile::kLogPages;
constexpr int kFinishPages = 2 * kCheckpointPages;
/// With so many the commits wait for the other thread: a log that grows while that one is held up would never be given back.
constexpr int kLogPagesMax = 4 * kCheckpointPages;

/// How long one waits between tries to open the file again, at most.
constexpr std::chrono::milliseconds kReopenMax{30'000};
// The check in passing reads so much at once and then rests, which is some 50 MB a second and one per cent of a core.
constexpr size_t kVerifyBytes = 1 << 20;
constexpr std::chrono::milliseconds kVerifyRest{20};

class SqliteStoreBody : public SqliteStore {
 public:
  SqliteStoreBody(std::unique_ptr<SqliteFile> file, const SqliteOptions& options)
      : options_(options), file_(std::move(file)), index_(options.history), reopen_after_(options.reopen_after) {}
  ~SqliteStoreBody() override;

  base::Status Load();
  void Start();

  base::Result<KeyValue> Get(const std::string& key, Revision revision) override;
  base::Result<ListResult> List(const ListOptions& options) override;
  void Commit(Write write, Done done) override;
  base::Result<std::unique_ptr<Watch>> NewWatch(std::string prefix, Revision after, WatchHandler handler) override;
  void TellProgress() override { hub_.TellProgress(); }
  Revision current_revision() override {
    std::shared_lock lock(index_mutex_);
    return index_.current_revision();
  }
  base::Status Compact(Revision revision) override;
  Revision compacted_revision() override {
    std::shared_lock lock(index_mutex_);
    return index_.compacted_revision();
  }
  base::Status Health() override {
    std::lock_guard lock(queue_mutex_);
    if (!broken_.empty()) return Fail(Code::kUnavailable, broken_);
    return {};
  }
  bool reads_block() const override { return false; }
  SqliteStats stats() const override {
    std::lock_guard lock(queue_mutex_);
    return stats_;
  }

 private:
  struct Pending {
    Write write;
    Done done;
    size_t bytes = 0;
  };
  struct Compaction {
    Revision revision;
    std::promise<base::Status> answer;
  };
  struct Finished {
    Done done;
    base::Result<Revision> result;
    size_t bytes = 0;
  };
  enum class CheckpointState { kIdle, kRequested, kFinished };

  void CommitLoop();
  void CommitBatch(std::vector<Pending> batch);
  base::Status WriteToFile(const std::vector<SqliteRow>& rows);
  base::Status WriteOnce(const std::vector<SqliteRow>& rows, size_t erase_max);
  void Publish(std::vector<SqliteRow> rows);
  base::Status RunCompaction(Revision revision);
  void KeepLogShort();
  void DeliveryLoop();
  void CheckpointLoop();
  void VerifyLoop();
  base::Status VerifyOnce();
  void Break(const base::Error& error);
  void TryToReopen();
  base::Status Reopen();

  const SqliteOptions options_;
  const std::unique_ptr<SqliteFile> file_;

  FairSharedMutex index_mutex_;
  VersionIndex index_;  // changed by the commit thread only, which therefore reads it without the lock
  WatchHub hub_;
  std::set<std::string, std::less<>> hidden_;  // keys with a damaged value; not changed after Load

  mutable std::mutex queue_mutex_;
  std::condition_variable queued_;
  std::vector<Pending> queue_;
  std::vector<Compaction> compactions_;
  size_t under_way_ = 0;  // writes queued, being written or being delivered
  size_t under_way_bytes_ = 0;
  bool stopping_ = false;
  std::string broken_;   // why no writes are accepted
  bool reopen_ = false;  // broken by an error that may be over when the file is opened again
  SqliteStats stats_;

  std::deque<Revision> garbage_;  // commit thread only: rows to remove, in this order
  bool full_ = false;             // commit thread only: the latest transaction found the disk full

  std::mutex delivery_mutex_;
  std::condition_variable delivery_;
  std::vector<Finished> finished_;
  bool delivery_stopping_ = false;

  std::mutex checkpoint_mutex_;
  std::condition_variable checkpoint_;
  CheckpointState checkpoint_state_ = CheckpointState::kIdle;
  bool checkpoint_stopping_ = false;

  std::chrono::milliseconds reopen_after_;  // commit thread only

  std::mutex verify_mutex_;
  std::condition_variable verify_;
  bool verify_stopping_ = false;

  std::thread commit_thread_, delivery_thread_, checkpoint_thread_, verify_thread_;
};

base::Result<KeyValue> SqliteStoreBody::Get(const std::string& key, Revision revision) {
  if (!hidden_.empty() && hidden_.contains(key)) {
    return Fail(Code::kInternal,
                "store " + file_->path() + ": the value of " + key + " is damaged: " + DamageAdvice(file_->path()));
  }
  std::shared_lock lock(index_mutex_);
  return index_.Get(key, revision);
}

base::Result<ListResult> SqliteStoreBody::List(const ListOptions& options) {
  std::shared_lock lock(index_mutex_);
  auto result = index_.List(options);
  if (result && !hidden_.empty())
    std::erase_if(result->items, [this](const KeyValue& item) { return hidden_.contains(item.key); });
  return result;
}

base::Status SqliteStoreBody::Load() {
  Revision hidden = 0;
  EVENKEEL_ASSIGN(const SqliteSurvey survey, file_->Load([&](SqliteRow row, bool damaged) -> base::Status {
    if (damaged) {
      hidden = row.revision;
      hidden_.insert(row.key);
    } else {
      hidden_.erase(row.key);
    }
    index_.Restore(row.revision, row.create_revision, std::move(row.key), std::move(row.value));
    return {};
  }));
  if (!survey.showable()) return Fail(Code::kInvalid, survey.Summary(file_->path()));
  index_.RaiseRevision(survey.state.revision);
  // History begins behind what is damaged.
  VersionIndex::Forgotten forgotten;
  EVENKEEL_TRY(index_.Compact(std::max(survey.state.compacted, hidden), forgotten));
  index_.Trim(forgotten);
  garbage_.assign(forgotten.revisions.begin(), forgotten.revisions.end());
  if (survey.whole()) return file_->StartWriting(survey.state);
  Break(base::Error(Code::kInvalid, survey.Summary(file_->path())));
  return {};
}

void SqliteStoreBody::Start() {
  commit_thread_ = std::thread([this] { CommitLoop(); });
  delivery_thread_ = std::thread([this] { DeliveryLoop(); });
  checkpoint_thread_ = std::thread([this] { CheckpointLoop(); });
  if (options_.verify_every.count() > 0 && broken_.empty()) verify_thread_ = std::thread([this] { VerifyLoop(); });
}

SqliteStoreBody::~SqliteStoreBody() {
  // What has been accepted is carried out and answered first.
  if (!commit_thread_.joinable()) return;
  {
    std::lock_guard lock(queue_mutex_);
    stopping_ = true;
  }
  queued_.notify_one();
  commit_thread_.join();
  {
    std::lock_guard lock(delivery_mutex_);
    delivery_stopping_ = true;
  }
  delivery_.notify_one();
  delivery_thread_.join();
  {
    std::lock_guard lock(checkpoint_mutex_);
    checkpoint_stopping_ = true;
  }
  checkpoint_.notify_all();
  checkpoint_thread_.join();
  {
    std::lock_guard lock(verify_mutex_);
    verify_stopping_ = true;
  }
  verify_.notify_all();
  if (verify_thread_.joinable()) verify_thread_.join();
}

void SqliteStoreBody::Commit(Write write, Done done) {
  const size_t bytes = write.key.size() + (write.value ? write.value->size() : 0);
  std::unique_lock lock(queue_mutex_);
  if (stopping_ || !broken_.empty()) {
    const std::string why = stopping_ ? "the store is closing" : broken_;
    lock.unlock();
    return done(Fail(Code::kUnavailable, why));
  }
  if (under_way_ >= options_.writes_max || (under_way_ > 0 && under_way_bytes_ + bytes > options_.write_bytes_max)) {
    const size_t waiting = under_way_;
    lock.unlock();
    return done(Fail(Code::kTooManyRequests, std::to_string(waiting) + " writes are waiting for the disk: try again later"));
  }
  ++under_way_;
  under_way_bytes_ += bytes;
  queue_.push_back({std::move(write), std::move(done), bytes});
  if (queue_.size() == 1) queued_.notify_one();
}

base::Result<std::unique_ptr<Watch>> SqliteStoreBody::NewWatch(std::string prefix, Revision after, WatchHandler handler) {
  std::shared_ptr<Watcher> watcher;
  {
    // Alone, like a write: no event may be put in line between the replay and the registration.
    std::unique_lock lock(index_mutex_);
    const Revision now = index_.current_revision();
    EVENKEEL_ASSIGN(std::vector<Event> replay, index_.EventsAfter(prefix, after == 0 ? now : after, kEventsMax));
    watcher = hub_.Register(prefix, std::max(after, now), std::move(replay), std::move(handler));
  }
  return hub_.Start(prefix, std::move(watcher));
}

base::Status SqliteStoreBody::Compact(Revision revision) {
  std::future<base::Status> answer;
  {
    std::lock_guard lock(queue_mutex_);
    if (stopping_) return Fail(Code::kUnavailable, "the store is closing");
    if (!broken_.empty()) return Fail(Code::kUnavailable, broken_);
    answer = compactions_.emplace_back(Compaction{revision, {}}).answer.get_future();
  }
  queued_.notify_one();
  return answer.get();
}

void SqliteStoreBody::CommitLoop() {
  std::unique_lock lock(queue_mutex_);
  for (;;) {
    const auto ready = [this] {
      return stopping_ || !queue_.empty() || !compactions_.empty() ||
             (garbage_.size() >= kEraseMin && !full_ && broken_.empty());
    };
    if (!reopen_) {
      queued_.wait(lock, ready);
    } else if (!queued_.wait_for(lock, reopen_after_, ready)) {
      lock.unlock();
      TryToReopen();
      lock.lock();
      continue;
    }
    if (queue_.empty() && compactions_.empty() && stopping_) return;
    std::vector<Compaction> compactions = std::exchange(compactions_, {});
    std::vector<Pending> batch;
    size_t bytes = 0;
    while (batch.size() < queue_.size() && batch.size() < kBatchWritesMax && bytes < kBatchBytesMax) {
      bytes += queue_[batch.size()].bytes;
      batch.push_back(std::move(queue_[batch.size()]));
    }
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<ptrdiff_t>(batch.size()));
    lock.unlock();
    CommitBatch(std::move(batch));
    for (Compaction& compaction : compactions) compaction.answer.set_value(RunCompaction(compaction.revision));
    KeepLogShort();
    lock.lock();
  }
}

void SqliteStoreBody::CommitBatch(std::vector<Pending> batch) {
  std::vector<SqliteRow> rows;
  std::vector<Finished> finished;
  std::map<std::string, std::optional<KeyHead>, std::less<>> written;  // by this batch so far
  rows.reserve(batch.size());
  finished.reserve(batch.size());
  const auto head_of = [&](const std::string& key) {
    const auto earlier = written.find(key);
    return earlier != written.end() ? earlier->second : index_.Head(key);
  };
  Revision revision = index_.current_revision();
  for (Pending& pending : batch) {
    Write& write = pending.write;
    const std::optional<KeyHead> head = head_of(write.key);
    auto allowed = write.guard ? CheckGuard(*write.guard, head_of(write.guard->key)) : base::Status();
    if (allowed) allowed = CheckWrite(write, head);
    if (!allowed) {
      finished.push_back({std::move(pending.done), Fail(std::move(allowed).error()), pending.bytes});
      continue;
    }
    ++revision;
    const Revision create_revision = !write.value ? 0 : head ? head->create_revision : revision;
    written[write.key] = write.value ? std::optional(KeyHead{create_revision, revision}) : std::nullopt;
    rows.push_back({revision, create_revision, std::move(write.key), std::move(write.value)});
    finished.push_back({std::move(pending.done), revision, pending.bytes});
  }
  if (auto status = WriteToFile(rows); !status) {
    // Also those that were refused: what they were refused for may have been an earlier write of this batch.
    for (Finished& each : finished) each.result = Fail(Code::kUnavailable, status.error().message());
  } else {
    Publish(std::move(rows));
  }
  {
    std::lock_guard lock(delivery_mutex_);
    std::ranges::move(finished, std::back_inserter(finished_));
  }
  delivery_.notify_one();
}

base::Status SqliteStoreBody::WriteToFile(const std::vector<SqliteRow>& rows) {
  {
    std::lock_guard lock(queue_mutex_);
    if (!broken_.empty()) return Fail(Code::kUnavailable, broken_);
  }
  const auto is_full = [](const base::Status& status) { return !status && status.error().code() == Code::kUnavailable; };
  auto status = WriteOnce(rows, garbage_.size() >= kEraseMin ? kEraseMax + 2 * rows.size() : 0);
  // Removing what is compacted makes room in the file, but not in the transaction that does it.
  if (is_full(status) && !garbage_.empty() && WriteOnce({}, kEraseMax)) status = WriteOnce(rows, 0);
  full_ = is_full(status);
  if (full_) base::log::Warn("the store's disk is full", {{"error", status.error()}});
  if (!status && !full_) Break(status.error());
  return status;
}

base::Status SqliteStoreBody::WriteOnce(const std::vector<SqliteRow>& rows, size_t erase_max) {
  const auto erase_end = garbage_.begin() + static_cast<ptrdiff_t>(std::min(garbage_.size(), erase_max));
  const std::vector<Revision> erase(garbage_.begin(), erase_end);
  if (rows.empty() && erase.empty()) return {};
  const SqliteBatch batch{rows, erase, erase.empty() ? 0 : index_.compacted_revision(), 0};
  EVENKEEL_TRY(file_->Write(batch));
  garbage_.erase(garbage_.begin(), erase_end);
  std::lock_guard lock(queue_mutex_);
  ++stats_.transactions;
  stats_.writes += static_cast<int64_t>(rows.size());
  stats_.erased += static_cast<int64_t>(erase.size());
  return {};
}

void SqliteStoreBody::Publish(std::vector<SqliteRow> rows) {
  VersionIndex::Forgotten forgotten;
  {
    std::unique_lock lock(index_mutex_);
    for (SqliteRow& row : rows) {
      hub_.Enqueue(index_.Restore(row.revision, row.create_revision, std::move(row.key), std::move(row.value)));
    }
    index_.Trim(forgotten);
  }
  garbage_.insert(garbage_.end(), forgotten.revisions.begin(), forgotten.revisions.end());
}

base::Status SqliteStoreBody::RunCompaction(Revision revision) {
  if (revision > index_.current_revision() || revision <= index_.compacted_revision()) {
    VersionIndex::Forgotten nothing;
    return index_.Compact(revision, nothing);
  }
  {
    std::lock_guard lock(queue_mutex_);
    if (!broken_.empty()) return Fail(Code::kUnavailable, broken_);
  }
  // On the disk first: from then on the rows may go.
  if (auto status = file_->Write({{}, {}, revision, 0}); !status) {
    if (status.error().code() != Code::kUnavailable) Break(status.error());
    return Fail(Code::kUnavailable, status.error().message());
  }
  VersionIndex::Forgotten forgotten;
  {
    std::unique_lock lock(index_mutex_);
    EVENKEEL_TRY(index_.Compact(revision, forgotten));
  }
  garbage_.insert(garbage_.end(), forgotten.revisions.begin(), forgotten.revisions.end());
  full_ = false;
  return {};
}

void SqliteStoreBody::Break(const base::Error& error) {
  const bool damaged = error.code() == Code::kInvalid;
  std::lock_guard lock(queue_mutex_);
  // Damage is not over because a disk answers again.
  if (!broken_.empty() && !reopen_) return;
  base::log::Error("the store accepts no more writes", {{"error", error}});
  broken_ =
      error.message() + (damaged ? ": until then the store is read-only"
                                 : ": the store is read-only until its file can be opened again, which is tried by itself");
  reopen_ = !damaged;
  queued_.notify_one();
}

void SqliteStoreBody::TryToReopen() {
  auto status = Reopen();
  if (status) {
    base::log::Info("the store accepts writes again", {{"revision", index_.current_revision()}});
    reopen_after_ = options_.reopen_after;
    std::lock_guard lock(queue_mutex_);
    if (!reopen_) return;  // damage has been noticed meanwhile
    broken_.clear();
    reopen_ = false;
    ++stats_.reopened;
  } else if (status.error().code() == Code::kInvalid) {
    Break(status.error());
  } else {
    reopen_after_ = std::min(2 * reopen_after_, kReopenMax);
    base::log::Warn("the store cannot be opened again yet", {{"error", status.error()}});
  }
}

base::Status SqliteStoreBody::Reopen() {
  {
    std::unique_lock lock(checkpoint_mutex_);
    checkpoint_.wait(lock, [this] { return checkpoint_stopping_ || checkpoint_state_ != CheckpointState::kRequested; });
    checkpoint_state_ = CheckpointState::kIdle;
  }
  EVENKEEL_TRY(file_->Reopen());
  // The writes that were under way, and removals, are there or not.
  const Revision known = index_.current_revision();
  std::vector<SqliteRow> in_doubt;
  std::unordered_set<Revision> removed(garbage_.begin(), garbage_.end());
  EVENKEEL_ASSIGN(const SqliteSurvey survey, file_->Load([&](SqliteRow row, bool) -> base::Status {
    removed.erase(row.revision);
    if (row.revision > known) in_doubt.push_back(std::move(row));
    return {};
  }));
  if (!survey.whole()) return Fail(Code::kInvalid, survey.Summary(file_->path()));
  EVENKEEL_TRY(file_->StartWriting(survey.state));
  std::erase_if(garbage_, [&](Revision revision) { return removed.contains(revision); });
  Publish(std::move(in_doubt));
  hub_.Drain();
  return {};
}

void SqliteStoreBody::VerifyLoop() {
  std::unique_lock lock(verify_mutex_);
  while (!verify_.wait_for(lock, options_.verify_every, [this] { return verify_stopping_; })) {
    lock.unlock();
    const auto status = VerifyOnce();
    // Errors of the disk are noticed where they matter.
    if (!status && status.error().code() == Code::kInvalid) Break(status.error());
    {
      std::lock_guard stats_lock(queue_mutex_);
      ++stats_.verified;
    }
    lock.lock();
  }
}

base::Status SqliteStoreBody::VerifyOnce() {
  EVENKEEL_ASSIGN(const SqliteHandle database, SqliteHandle::Open(file_->path()));
  Revision after = 0;
  do {
    EVENKEEL_ASSIGN(after, CheckRowsAfter(database, after, kVerifyBytes));
    std::unique_lock lock(verify_mutex_);
    if (verify_.wait_for(lock, kVerifyRest, [this] { return verify_stopping_; })) return {};
  } while (after != 0);
  return database.CheckPages();
}

void SqliteStoreBody::KeepLogShort() {
  const int pages = file_->log_pages();
  if (pages < kCheckpointPages) return;
  std::unique_lock lock(checkpoint_mutex_);
  if (pages >= kLogPagesMax) {
    checkpoint_.wait(lock, [this] { return checkpoint_stopping_ || checkpoint_state_ != CheckpointState::kRequested; });
  }
  if (checkpoint_state_ == CheckpointState::kIdle) {
    checkpoint_state_ = CheckpointState::kRequested;
    checkpoint_.notify_all();
  } else if (checkpoint_state_ == CheckpointState::kFinished) {
    checkpoint_state_ = CheckpointState::kIdle;
    lock.unlock();
    // The log starts again only when all of it has been copied. What came during the other thread's pass is little, but
    // under steady load it never ends unless nothing is appended meanwhile.
    if (pages < kFinishPages) return;
    if (auto status = file_->FinishCheckpoint(); !status) {
      base::log::Warn("the store's log could not be shortened", {{"error", status.error()}});
    }
  }
}

void SqliteStoreBody::CheckpointLoop() {
  std::unique_lock lock(checkpoint_mutex_);
  for (;;) {
    checkpoint_.wait(lock, [this] { return checkpoint_stopping_ || checkpoint_state_ == CheckpointState::kRequested; });
    if (checkpoint_stopping_) return;
    lock.unlock();
    if (auto status = file_->Checkpoint(); !status) {
      base::log::Warn("the store's log could not be shortened", {{"error", status.error()}});
    }
    {
      std::lock_guard stats_lock(queue_mutex_);
      ++stats_.checkpoints;
    }
    lock.lock();
    checkpoint_state_ = CheckpointState::kFinished;
    checkpoint_.notify_all();
  }
}

void SqliteStoreBody::DeliveryLoop() {
  std::unique_lock lock(delivery_mutex_);
  for (;;) {
    delivery_.wait(lock, [this] { return delivery_stopping_ || !finished_.empty(); });
    std::vector<Finished> finished = std::exchange(finished_, {});
    if (finished.empty()) return;
    lock.unlock();
    // The events of these writes are in line since before they came here.
    hub_.Drain();
    {
      std::lock_guard queue_lock(queue_mutex_);
      under_way_ -= finished.size();
      for (const Finished& each : finished) under_way_bytes_ -= each.bytes;
    }
    for (Finished& each : finished) {
      each.done(std::move(each.result));
      each.done = nullptr;
    }
    lock.lock();
  }
}

}  // namespace

base::Result<std::unique_ptr<SqliteStore>> OpenSqliteStore(const std::string& path, const SqliteOptions& options) {
  EVENKEEL_ASSIGN(std::unique_ptr<SqliteFile> file, SqliteFile::Open(path, options.max_bytes));
  auto store = std::make_unique<SqliteStoreBody>(std::move(file), options);
  EVENKEEL_TRY(store->Load());
  store->Start();
  return store;
}

}  // namespace evenkeel::embedded::store
