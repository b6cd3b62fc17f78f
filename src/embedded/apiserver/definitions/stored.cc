#include "embedded/apiserver/definitions/stored.h"

#include <atomic>

#include "base/log.h"
#include "embedded/apiserver/requests/raw_json.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr std::string_view kMetadata = "\"metadata\":{";
constexpr size_t kScratchBytesMax = 1 << 20;

// Core name, events.k8s.io name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kEventFields = {{
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
}};

void Rename(base::JsonObject& object, std::string_view from, std::string_view to) {
  auto found = object.find(from);
  if (found == object.end()) return;
  base::Json value = std::move(found->value());
  object.erase(found);
  object[to] = std::move(value);
}

std::atomic<int64_t> unreadable_objects = 0;

// Of bytes that are no object what can be said of any: its kind and its version.
void AppendHead(std::string& out, std::string_view head, const Stored& stored, std::string_view bytes) {
  const size_t metadata = bytes.find(kMetadata);
  if (metadata == bytes.npos) return AppendHead(out, head, stored, "\"metadata\":{}}");
  const size_t after = metadata + kMetadata.size();
  out += head;
  out += kMetadata;
  if (stored.revision > 0) {
    out += "\"resourceVersion\":\"";
    out += std::to_string(stored.revision);
    out += after < bytes.size() && bytes[after] != '}' ? "\"," : "\"";
  }
  out += bytes.substr(after);
}

std::string EncodeWithHead(const base::JsonObject& object, std::string_view head) {
  // Written into a text that has grown before, then copied: what is kept for years has no room to spare.
  thread_local std::string scratch;
  std::string& out = scratch;
  out = head;
  out += kMetadata;
  bool first = true;
  const auto append = [&](std::string_view key, const base::Json& value) {
    if (!first) out += ',';
    first = false;
    base::AppendQuoted(out, key);
    out += ':';
    base::AppendText(out, value);
  };
  if (const base::Json* metadata = base::Find(object, "metadata"); metadata != nullptr && metadata->is_object()) {
    for (const auto& field : metadata->get_object()) {
      if (field.key() == "resourceVersion" || field.value().is_null()) continue;
      append(field.key(), field.value());
    }
  }
  out += '}';
  first = false;
  for (const auto& field : object) {
    if (field.key() == "apiVersion" || field.key() == "kind" || field.key() == "metadata") continue;
    append(field.key(), field.value());
  }
  out += '}';
  std::string text(out);
  if (out.capacity() > kScratchBytesMax) out = {};
  return text;
}

}  // namespace

void EventToCore(base::Json& event) {
  for (const auto& [core, other] : kEventFields) Rename(event.as_object(), other, core);
}

void EventFromCore(base::Json& event) {
  for (const auto& [core, other] : kEventFields) Rename(event.as_object(), core, other);
}

std::string EncodeStored(const base::Json& object, const Served& served) {
  if (served.to_stored == nullptr && served.has_storage_form) return EncodeWithHead(object.get_object(), served.storage_head);
  base::Json copy = object;
  if (served.to_stored != nullptr) served.to_stored(copy);
  if (!served.has_storage_form && served.storage_form != nullptr) served.storage_form->Apply(copy);
  return EncodeWithHead(copy.get_object(), served.storage_head);
}

std::string EncodeShown(const base::Json& object, const Served& served) {
  return EncodeWithHead(object.get_object(), served.head);
}

std::string EncodeInStorageVersion(const base::Json& object, const Served& served) {
  return EncodeWithHead(object.get_object(), served.storage_head);
}

bool HasOtherForm(const Served& served, const Stored& stored) {
  if (served.storage_form == nullptr || stored.as_asked) return false;
  if (!served.has_storage_form) return true;
  return stored.older ? served.storage_form->AnyMayDiffer()
                      : stored.revision > 0 && served.storage_form->MayDiffer(stored.revision);
}

void AppendObject(std::string& out, const Served& served, const Stored& stored) {
  if (served.from_stored != nullptr || HasOtherForm(served, stored)) {
    if (const auto object = DecodeObject(served, stored)) {
      out += base::ToText(*object);
      return;
    }
  }
  AppendHead(out, served.head, stored, *stored.bytes);
}

std::string ObjectText(const Served& served, const Stored& stored) {
  std::string text;
  text.reserve(stored.bytes->size() + 64);
  AppendObject(text, served, stored);
  return text;
}

int64_t UnreadableObjects() { return unreadable_objects; }

base::Result<base::Json> DecodeObject(const Served& served, const Stored& stored) {
  std::string text;
  text.reserve(stored.bytes->size() + 64);
  AppendHead(text, served.head, stored, *stored.bytes);
  auto parsed = base::ParseJson(text, "stored object");
  if (!parsed || !parsed->is_object() || stored.bytes->find(kMetadata) == std::string::npos) {
    ++unreadable_objects;
    base::Error error(base::Code::kInternal, fmt::format("{} \"{}\" in the store cannot be read, and can only be deleted: {}",
                                                         served.resource.QualifiedPlural(), StoredMetaText(stored, "name"),
                                                         parsed ? "it has no metadata" : parsed.error().message()));
    base::log::Error("an object in the store cannot be read", {{"error", error}});
    return base::Fail(std::move(error));
  }
  if (served.from_stored != nullptr) served.from_stored(*parsed);
  if (HasOtherForm(served, stored)) {
    served.storage_form->Apply(*parsed);
    if (!served.has_storage_form && served.custom_schema != nullptr) {
      const auto schema = served.custom_schema->Get();
      kube::Prune(*parsed, *schema, nullptr);
      kube::Normalize(*parsed, *schema);
    }
  }
  return parsed;
}

std::string StoredMetaText(const Stored& stored, std::string_view field) {
  return RawText(RawFind(*stored.bytes, {"metadata", field}));
}

}  // namespace evenkeel::embedded::apiserver
