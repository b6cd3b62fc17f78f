#include "embedded/apiserver/access/audit_log.h"

#include <algorithm>

#include "base/json.h"
#include "base/log.h"
#include "client/fenced_client.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::JsonArray;
using base::JsonObject;

JsonObject ReferenceOf(const AuditRecord& record) {
  JsonObject reference{{"resource", record.plural}};
  const auto set = [&](std::string_view field, const std::string& value) {
    if (!value.empty()) reference[field] = value;
  };
  set("namespace", record.ns);
  set("name", record.name);
  set("uid", record.uid);
  set("apiGroup", record.group);
  set("apiVersion", record.version);
  set("resourceVersion", record.resource_version);
  set("subresource", record.subresource);
  return reference;
}

JsonObject UserOf(const UserInfo& info) {
  JsonObject user{{"username", info.name}};
  if (!info.uid.empty()) user["uid"] = info.uid;
  if (!info.groups.empty()) user["groups"] = base::ToJsonArray(info.groups);
  return user;
}

bool IsAscii(char letter) { return static_cast<unsigned char>(letter) < 0x80; }

// What clients send need not be UTF-8, but a log must be.
std::string WithEscapedBytes(const std::string& text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (IsAscii(letter)) {
      escaped += letter;
    } else {
      escaped += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return escaped;
}

}  // namespace

std::string AuditLine(const AuditRecord& record) {
  const std::optional<UserInfo>& impersonator = record.origin.impersonator;
  JsonObject status{{"metadata", JsonObject()}};
  if (!record.reason.empty()) {
    status["status"] = "Failure";
    status["reason"] = record.reason;
  }
  status["code"] = record.code;
  JsonObject event{{"kind", "Event"},
                   {"apiVersion", "audit.k8s.io/v1"},
                   {"level", "Metadata"},
                   {"auditID", record.id},
                   {"stage", "ResponseComplete"},
                   {"requestURI", record.origin.uri},
                   {"verb", record.verb},
                   {"user", UserOf(impersonator ? *impersonator : record.user)}};
  if (impersonator) event["impersonatedUser"] = UserOf(record.user);
  if (!record.origin.address.empty()) event["sourceIPs"] = JsonArray{record.origin.address};
  if (!record.origin.user_agent.empty()) event["userAgent"] = record.origin.user_agent;
  event["objectRef"] = ReferenceOf(record);
  event["responseStatus"] = std::move(status);
  event["requestReceivedTimestamp"] = base::FormatMicroTime(record.origin.received);
  event["stageTimestamp"] = base::FormatMicroTime(record.answered);
  if (record.epoch != 0) event["annotations"] = JsonObject{{client::kEpochAnnotation, std::to_string(record.epoch)}};
  std::string line = base::ToText(event);
  if (!std::ranges::all_of(line, IsAscii) && !base::ParseJson(line, "audit line")) line = WithEscapedBytes(line);
  line += '\n';
  return line;
}

AuditLog::AuditLog(AuditLogOptions options, base::Executor& executor)
    : options_(std::move(options)),
      clock_(executor.clock()),
      strand_(executor.NewStrand("audit-log")),
      file_(options_.path, options_.bytes_max, options_.backups_max) {}

base::Result<std::unique_ptr<AuditLog>> AuditLog::Open(AuditLogOptions options, base::Executor& executor) {
  std::unique_ptr<AuditLog> log(new AuditLog(std::move(options), executor));
  if (auto opened = log->file_.Open(); !opened) return base::Fail(opened.error().Wrap("the audit log"));
  return log;
}

AuditLog::~AuditLog() {
  strand_->Close();
  WriteWaiting();
}

void AuditLog::Record(const AuditRecord& record) {
  {
    std::lock_guard lock(mutex_);
    if (waiting_.size() >= options_.waiting_max) {
      ++lost_;
      return;
    }
    waiting_.push_back(record);
    if (std::exchange(scheduled_, true)) return;
  }
  strand_->Post([this] { WriteWaiting(); });
}

uint64_t AuditLog::lost() const {
  std::lock_guard lock(mutex_);
  return lost_;
}

void AuditLog::WriteWaiting() {
  std::vector<AuditRecord> records;
  uint64_t lost_waiting = 0;
  {
    std::lock_guard lock(mutex_);
    records.swap(waiting_);
    scheduled_ = false;
    lost_waiting = lost_;
  }
  if (records.empty()) return;
  std::vector<std::string> lines;
  lines.reserve(records.size());
  for (const AuditRecord& record : records) lines.push_back(AuditLine(record));
  const auto failed = file_.Append(lines, clock_.Now());
  uint64_t lost_now = lost_waiting;
  if (failed) {
    std::lock_guard lock(mutex_);
    lost_ += failed->lines;
    lost_now = lost_;
  }
  if (!losing_ && (failed || lost_waiting > lost_before_)) {
    losing_ = true;
    const std::string why = failed ? failed->why.message() : "more writes come than its disk takes";
    base::log::Warn("the audit log loses lines: requests go on", {{"file", options_.path}, {"why", why}});
  } else if (losing_ && !failed && lost_waiting == lost_before_) {
    losing_ = false;
    base::log::Info("the audit log loses no more lines", {{"file", options_.path}, {"lost", lost_now}});
  }
  lost_before_ = lost_now;
}

}  // namespace evenkeel::embedded::apiserver
