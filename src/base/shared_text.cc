#include "base/shared_text.h"

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_map>

namespace evenkeel::base {
namespace {

constexpr size_t kParts = 16;  // so that threads seldom wait for each other

}  // namespace

struct SharedText::Entry {
  std::string text;
  size_t part = 0;
  std::atomic<uint64_t> users{0};  // becomes 0, and grows from there, only with the part locked
};

struct SharedText::Pool {
  struct Part {
    std::mutex mutex;
    std::unordered_map<std::string_view, Entry*> entries;  // by their own text
  };
  std::array<Part, kParts> parts;

  /// Never destroyed: texts of static objects may end after it.
  static Pool& Instance() {
    static Pool& pool = *new Pool();
    return pool;
  }
};

const std::string& SharedText::text() const {
  static const std::string& empty = *new std::string();
  return entry_ == nullptr ? empty : entry_->text;
}

SharedText::Entry* SharedText::Intern(std::string_view text) {
  if (text.empty()) return nullptr;
  // The map takes the low bits of the same hash.
  const size_t part = (std::hash<std::string_view>()(text) >> 48) % kParts;
  Pool::Part& pool = Pool::Instance().parts[part];
  const std::lock_guard lock(pool.mutex);
  const auto found = pool.entries.find(text);
  if (found != pool.entries.end()) return Keep(found->second);
  auto* entry = new Entry{std::string(text), part};
  entry->users = 1;
  pool.entries.emplace(entry->text, entry);
  return entry;
}

SharedText::Entry* SharedText::Keep(Entry* entry) {
  if (entry != nullptr) entry->users.fetch_add(1, std::memory_order_relaxed);
  return entry;
}

void SharedText::Release(Entry* entry) {
  if (entry == nullptr) return;
  // All but the last user leave without a lock.
  for (uint64_t users = entry->users.load(std::memory_order_relaxed); users > 1;) {
    if (entry->users.compare_exchange_weak(users, users - 1, std::memory_order_acq_rel)) return;
  }
  Pool::Part& pool = Pool::Instance().parts[entry->part];
  const std::lock_guard lock(pool.mutex);
  if (entry->users.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  pool.entries.erase(entry->text);
  delete entry;
}

}  // namespace evenkeel::base
