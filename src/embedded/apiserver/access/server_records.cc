#include "embedded/apiserver/access/server_records.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/json.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::embedded::apiserver {
namespace {

// A server that ends does not wait for a store that is away.
constexpr auto kLeaveWait = std::chrono::seconds(2);

std::string RecordKey(const ServerAddress& server) {
  return ServerRecords::kPrefix + server.ip + ":" + std::to_string(server.port);
}

std::optional<ServerAddress> ReadRecord(const std::string& text) {
  const auto json = base::ParseJson(text, "the record of a server");
  if (!json) return std::nullopt;
  const std::string_view ip = base::FindString(*json, {"address"});
  const int64_t port = base::FindInt(*json, {"port"});
  if (!kube::validation::IsIpAddress(ip) || port < 1 || port > 65535) return std::nullopt;
  return ServerAddress{std::string(ip), static_cast<int>(port)};
}

}  // namespace

ServerRecords::ServerRecords(store::Store& store, base::Clock& clock, ServerAddress self)
    : store_(store), clock_(clock), self_(std::move(self)), key_(RecordKey(self_)) {}

base::Result<std::vector<ServerAddress>> ServerRecords::Renew() {
  const base::Json record = base::JsonObject{{"address", self_.ip}, {"port", self_.port}};
  EVENKEEL_TRY(store_.CommitAndWait({.key = key_, .value = std::make_shared<const std::string>(base::ToText(record))}));
  return Look();
}

base::Result<std::vector<ServerAddress>> ServerRecords::Leave() {
  struct Removal {
    std::mutex mutex;
    std::condition_variable arrived;
    bool there = false;
    base::Status status;
  };
  const auto answer = std::make_shared<Removal>();
  store_.Commit({.key = key_, .value = nullptr}, [answer](const base::Result<store::Revision>& removed) {
    std::lock_guard lock(answer->mutex);
    if (!removed && removed.error().code() != base::Code::kNotFound) answer->status = base::Fail(removed.error());
    answer->there = true;
    answer->arrived.notify_all();
  });
  {
    std::unique_lock lock(answer->mutex);
    if (!answer->arrived.wait_for(lock, kLeaveWait, [&] { return answer->there; })) {
      return base::Fail(base::Code::kUnavailable, "the store does not answer");
    }
    EVENKEEL_TRY(answer->status);
  }
  return Look();
}

base::Result<std::vector<ServerAddress>> ServerRecords::Look() {
  EVENKEEL_ASSIGN(const store::ListResult list, store_.List({.prefix = kPrefix}));
  const base::Instant now = clock_.Monotonic();
  std::map<std::string, Seen> seen;
  std::vector<ServerAddress> servers;
  for (const store::KeyValue& item : list.items) {
    const auto before = seen_.find(item.key);
    const bool renewed = before == seen_.end() || before->second.renewed != item.mod_revision;
    const Seen last = renewed ? Seen{item.mod_revision, now} : before->second;
    if (now - last.at > kLife) {
      // Unless it has just come back.
      store_.Commit({.key = item.key, .value = nullptr, .expected = item.mod_revision}, [](const auto&) {});
      continue;
    }
    seen.emplace(item.key, last);
    if (auto server = ReadRecord(*item.value)) servers.push_back(*std::move(server));
  }
  seen_ = std::move(seen);
  std::ranges::sort(servers);
  return servers;
}

}  // namespace evenkeel::embedded::apiserver
