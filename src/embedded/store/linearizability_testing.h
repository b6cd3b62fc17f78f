// For tests: whether what clients saw of a register can have happened one operation after the other, each between its call and
// its answer. The search is Wing and Gong's (Journal of Parallel and Distributed Computing 17, 1993), with the states that led
// nowhere kept.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::store {

/// On a register of numbers that begins with 0. Numbers that are written are written once in a history.
struct RegisterOperation {
  enum class Kind { kRead, kCompareAndSet };
  enum class Outcome { kDone, kRefused, kUnknown };
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  Kind kind = Kind::kRead;
  Outcome outcome = Outcome::kDone;
  int64_t expected = 0;  ///< of kCompareAndSet
  int64_t value = 0;     ///< read or to be set
  int64_t called = 0;
  int64_t answered =
      kNever;  ///< kNever where the outcome is unknown: it may take effect at any time after the call, or not at all
};

class RegisterHistory {
 public:
  void Add(RegisterOperation operation) {
    // A read that failed says nothing.
    if (operation.kind == RegisterOperation::Kind::kRead && operation.outcome != RegisterOperation::Outcome::kDone) return;
    if (operation.outcome == RegisterOperation::Outcome::kUnknown) operation.answered = RegisterOperation::kNever;
    std::lock_guard lock(mutex_);
    operations_.push_back(operation);
  }
  size_t size() const { return operations_.size(); }
  const std::vector<RegisterOperation>& operations() const { return operations_; }

  /// Exponential at worst in how many operations are under way at once; memory: the states visited. The history has to end with
  /// a read: what nobody saw then is taken for something that did not happen.
  bool IsLinearizable() {
    DropUnseen();
    std::ranges::sort(operations_, {}, &RegisterOperation::called);
    done_.assign(operations_.size(), false);
    visited_.clear();
    return Search(0, 0);
  }

 private:
  /// Operations of unknown outcome whose value no other operation met: any of them could come at any time, in any order, and
  /// the search would try them all.
  void DropUnseen() {
    std::set<int64_t> seen;
    const auto is_unknown = [](const RegisterOperation& each) { return each.outcome == RegisterOperation::Outcome::kUnknown; };
    for (size_t before = 1; before != seen.size();) {
      before = seen.size();
      for (const RegisterOperation& each : operations_) {
        if (each.kind == RegisterOperation::Kind::kRead) seen.insert(each.value);
        const bool may_be = !is_unknown(each) || seen.contains(each.value);
        if (each.kind == RegisterOperation::Kind::kCompareAndSet && may_be) seen.insert(each.expected);
      }
    }
    std::erase_if(operations_, [&](const RegisterOperation& each) { return is_unknown(each) && !seen.contains(each.value); });
  }
  /// `first`: all before it are done.
  bool Search(size_t first, int64_t value) {
    while (first < operations_.size() && done_[first]) ++first;
    // Those that are not done must all have an unknown outcome.
    int64_t earliest_answer = RegisterOperation::kNever;
    for (size_t i = first; i < operations_.size() && operations_[i].called < earliest_answer; ++i) {
      if (!done_[i]) earliest_answer = std::min(earliest_answer, operations_[i].answered);
    }
    if (earliest_answer == RegisterOperation::kNever) return true;
    if (!visited_.insert(StateOf(first, value)).second) return false;
    for (size_t i = first; i < operations_.size() && operations_[i].called < earliest_answer; ++i) {
      if (done_[i]) continue;
      const RegisterOperation& operation = operations_[i];
      const bool sets = operation.kind == RegisterOperation::Kind::kCompareAndSet;
      const bool refused = operation.outcome == RegisterOperation::Outcome::kRefused;
      const bool possible = !sets     ? operation.value == value
                            : refused ? operation.expected != value
                                      : operation.expected == value;
      if (!possible) continue;
      done_[i] = true;
      if (Search(first, sets && !refused ? operation.value : value)) return true;
      done_[i] = false;
    }
    return false;
  }
  std::string StateOf(size_t first, int64_t value) const {
    std::string state = std::to_string(first) + ":" + std::to_string(value) + ":";
    size_t last = operations_.size();
    while (last > first && !done_[last - 1]) --last;
    for (size_t i = first; i < last; ++i) state += done_[i] ? '1' : '0';
    return state;
  }

  std::mutex mutex_;
  std::vector<RegisterOperation> operations_;
  std::vector<bool> done_;
  std::set<std::string> visited_;
};

/// Four clients that read a register and set it to something else, each register a key of a store.
class RegisterClients {
 public:
  explicit RegisterClients(std::vector<RegisterHistory>& histories) : histories_(histories) {}

  /// Until `over` says so. May be called again, after the store has been opened anew.
  void Run(Store& store, uint64_t seed, const std::function<bool()>& over) {
    std::vector<std::thread> threads;
    for (uint64_t client = 0; client < 4; ++client) {
      threads.emplace_back([this, &store, &over, seed, client] {
        base::Random random(seed * 100 + client);
        while (!over()) {
          ReadAndSet(store, random);
          std::this_thread::sleep_for(std::chrono::milliseconds(1 + random.Below(3)));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  /// Writes so far that were neither done nor refused. Safe to ask while they run.
  size_t unknown_writes() const { return unknown_writes_; }
  /// Reads and writes so far that were answered. Safe to ask while they run.
  size_t operations() const { return operations_; }
  /// Reads all registers: the end of their histories.
  void ReadAll(Store& store) {
    for (size_t i = 0; i < histories_.size(); ++i) (void)Read(store, i);
  }

 private:
  static std::string KeyOf(size_t which) { return "/register/" + std::to_string(which); }
  std::pair<base::Result<KeyValue>, RegisterOperation> Read(Store& store, size_t which) {
    RegisterOperation read{.kind = RegisterOperation::Kind::kRead, .called = ++clock_};
    const auto got = store.Get(KeyOf(which));
    read.answered = ++clock_;
    if (!got && got.error().code() != base::Code::kNotFound) read.outcome = RegisterOperation::Outcome::kUnknown;
    read.value = got ? std::stoll(*got->value) : 0;
    histories_[which].Add(read);
    ++operations_;
    return {got, read};
  }
  void ReadAndSet(Store& store, base::Random& random) {
    const size_t which = random.Below(histories_.size());
    const auto [got, read] = Read(store, which);
    if (read.outcome == RegisterOperation::Outcome::kUnknown || random.Below(3) == 0) return;
    RegisterOperation write{
        .kind = RegisterOperation::Kind::kCompareAndSet, .expected = read.value, .value = ++values_, .called = ++clock_};
    const auto written = store.CommitAndWait({KeyOf(which), std::make_shared<const std::string>(std::to_string(write.value)),
                                              got ? got->mod_revision : Revision{0}});
    write.answered = ++clock_;
    if (!written)
      write.outcome = written.error().code() == base::Code::kConflict ? RegisterOperation::Outcome::kRefused
                                                                      : RegisterOperation::Outcome::kUnknown;
    if (write.outcome == RegisterOperation::Outcome::kUnknown) ++unknown_writes_;
    histories_[which].Add(write);
    ++operations_;
  }
  std::vector<RegisterHistory>& histories_;
  std::atomic<int64_t> clock_ = 0, values_ = 0;
  std::atomic<size_t> unknown_writes_ = 0, operations_ = 0;
};

}  // namespace evenkeel::embedded::store
