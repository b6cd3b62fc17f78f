#include "dashboard/access/sessions.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/hash.h"
#include "dashboard/access/token.h"

namespace evenkeel::dashboard {
namespace {

std::string KeyOf(std::string_view id) {
  const auto hash = base::Blake2b512(id);
  return {hash.begin(), hash.end()};
}

}  // namespace

std::string Sessions::HandleOf(std::string_view id) {
  // Not the bytes that the table goes by.
  return fmt::format("{:016x}", base::Blake2b64("handle of " + std::string(id)));
}

std::string Sessions::Open(Identity who, std::string remote) {
  std::string id = NewToken();
  const base::Time now = now_();
  const std::lock_guard lock(mutex_);
  Tidy(now);
  if (by_key_.size() >= kSessionsMax) {
    by_key_.erase(std::ranges::min_element(by_key_, {}, [](const auto& entry) { return entry.second.used; }));
  }
  by_key_[KeyOf(id)] = {.handle = HandleOf(id), .who = std::move(who), .opened = now, .used = now, .remote = std::move(remote)};
  return id;
}

std::optional<Identity> Sessions::Find(std::string_view id) {
  if (id.empty()) return std::nullopt;
  const base::Time now = now_();
  const std::lock_guard lock(mutex_);
  Tidy(now);
  const auto found = by_key_.find(KeyOf(id));
  if (found == by_key_.end()) return std::nullopt;
  found->second.used = now;
  return found->second.who;
}

bool Sessions::Close(std::string_view id) {
  const std::lock_guard lock(mutex_);
  return by_key_.erase(KeyOf(id)) > 0;
}

bool Sessions::Revoke(std::string_view handle) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(by_key_, [&](const auto& entry) { return entry.second.handle == handle; }) > 0;
}

std::vector<Sessions::Row> Sessions::List() {
  const base::Time now = now_();
  const std::lock_guard lock(mutex_);
  Tidy(now);
  std::vector<Row> rows;
  for (const auto& [key, row] : by_key_) rows.push_back(row);
  std::ranges::sort(rows, {}, [](const Row& row) { return std::pair(row.opened, row.handle); });
  return rows;
}

void Sessions::Tidy(base::Time now) {
  std::erase_if(by_key_, [&](const auto& entry) {
    return now - entry.second.used > kSessionIdle || now - entry.second.opened > kSessionAge;
  });
}

}  // namespace evenkeel::dashboard
