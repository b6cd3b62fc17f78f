// The record of every write.
#include "embedded/apiserver/api/api.h"

namespace evenkeel::embedded::apiserver {
namespace {

// The URI that the call would have by HTTP.
std::string UriOf(const Call& call, bool names_object) {
  const std::string_view name = names_object ? std::string_view(call.name) : "";
  return call.served->resource.Path(call.ns, name, call.subresource) + (call.dry_run ? "?dryRun=All" : "");
}

}  // namespace

AuditRecord Api::NewRecord(const Call& call, std::string_view verb) {
  const kube::Resource& resource = call.served->resource;
  AuditRecord record;
  {
    std::lock_guard lock(audit_mutex_);
    record.id = audit_random_.Uuid();
  }
  record.verb = verb;
  record.user = call.user;
  if (call.origin != nullptr) {
    record.origin = *call.origin;
  } else {
    record.origin.uri = UriOf(call, verb != "create" || !call.subresource.empty());
    record.origin.received = Now();
  }
  record.group = resource.group;
  record.version = resource.version;
  record.plural = resource.plural;
  record.ns = call.ns;
  record.name = call.name;
  record.subresource = call.subresource;
  record.epoch = call.epoch;
  record.dry_run = call.dry_run;
  return record;
}

Done Api::Audited(const Call& call, std::string_view verb, Done done) {
  if (options_.audit == nullptr) return done;
  return [this, record = NewRecord(call, verb), done = std::move(done)](Result<Answer> answer) mutable {
    if (answer) {
      record.code = answer->http_status;
      const Stored& object = answer->object;
      if (object.bytes != nullptr) {
        if (record.name.empty()) record.name = StoredMetaText(object, "name");
        record.uid = StoredMetaText(object, "uid");
      }
      if (object.revision > 0) record.resource_version = std::to_string(object.revision);
    } else {
      record.code = base::HttpStatus(answer.error().code());
      record.reason = base::Reason(answer.error().code());
    }
    record.answered = Now();
    options_.audit->Record(record);
    done(std::move(answer));
  };
}

void Api::RecordRefused(const Call& call, std::string_view verb, const base::Error& error) {
  Audited(call, verb, [](const Result<Answer>&) {})(base::Fail(error));
}

}  // namespace evenkeel::embedded::apiserver
