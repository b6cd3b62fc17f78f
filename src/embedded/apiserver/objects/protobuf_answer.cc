#include "embedded/apiserver/objects/protobuf_answer.h"

#include "embedded/apiserver/tables/table.h"
#include "kube/forms/protobuf.h"
#include "kube/schema/schema_text.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;
using base::Json;

// Most objects are parsed without asking for memory.
constexpr size_t kUsualObjectBytes = 32 << 10;

const kube::Schema& MetaSchema(const char* name) {
  return *kube::FindBuiltInSchema(std::string("io.k8s.apimachinery.pkg.apis.meta.v1.") + name);
}

/// An object as an item of a list: its message, with the head of the field that it is.
base::Result<std::string> ItemOf(const Served& served, const kube::Schema& schema, const Stored& stored,
                                 std::string_view partial) {
  unsigned char usual[kUsualObjectBytes];
  boost::json::monotonic_resource memory(usual, kUsualObjectBytes);
  const std::string text = partial.empty() ? ObjectText(served, stored) : PartialText(served, stored, partial);
  const auto object = base::ParseJson(text, "stored object", &memory);
  if (!object) {
    // Names the object, and is counted.
    const auto decoded = DecodeObject(served, stored);
    return Fail(decoded ? base::Error(Code::kInternal, object.error().message()) : decoded.error());
  }
  const std::string message = kube::EncodeProtobuf(schema, *object);
  std::string item;
  item.reserve(message.size() + 8);
  kube::AppendProtobufField(item, kube::kListItemsNumber, message);
  return item;
}

}  // namespace

base::Result<std::string> ProtobufEnvelopeOf(std::string_view json_text) {
  const auto object = base::ParseJson(json_text, "stored object");
  if (!object) return Fail(Code::kInternal, object.error().message());
  const std::string_view version = base::FindString(*object, {"apiVersion"}), kind = base::FindString(*object, {"kind"});
  const kube::Schema* schema = kube::FindKindSchema(version, kind);
  if (schema == nullptr) {
    return Fail(Code::kInternal, fmt::format("{} of {} has no form in protocol buffers: ask for JSON", kind, version));
  }
  return kube::EncodeProtobufEnvelope(*schema, *object);
}

base::Result<std::vector<Chunk>> ProtobufList(const Served& served, const std::vector<Stored>& items, const Json& metadata,
                                              std::string_view partial, ProtobufCache* cache) {
  const kube::Schema& schema = partial.empty() ? *served.resource.schema : MetaSchema("PartialObjectMetadata");
  std::string head;
  kube::AppendProtobufField(head, kube::kListMetadataNumber, kube::EncodeProtobuf(MetaSchema("ListMeta"), metadata));
  const auto make = [&](const Stored& stored) { return ItemOf(served, schema, stored, partial); };
  std::vector<Chunk> messages;
  if (cache != nullptr && partial.empty()) {
    EVENKEEL_ASSIGN(messages, cache->Find(schema, items, make));
  } else {
    messages.reserve(items.size());
    for (const Stored& stored : items) {
      EVENKEEL_ASSIGN(std::string message, make(stored));
      messages.push_back(std::make_shared<const std::string>(std::move(message)));
    }
  }
  size_t size = head.size();
  for (const Chunk& message : messages) size += message->size();
  const std::string kind = partial.empty() ? served.resource.kind + "List" : "PartialObjectMetadataList";
  const std::string version = partial.empty() ? served.resource.ApiVersion() : "meta.k8s.io/" + std::string(partial);
  std::vector<Chunk> chunks;
  std::string out = kube::ProtobufEnvelopeBegin(version, kind, size) + head;
  out.reserve(std::min(out.size() + size, kAnswerChunkBytes));
  for (Chunk& message : messages) {
    if (out.size() + message->size() > kAnswerChunkBytes) {
      chunks.push_back(std::make_shared<const std::string>(std::move(out)));
      out = {};
      out.reserve(kAnswerChunkBytes);
    }
    out += *message;
    message = nullptr;
  }
  out += kube::kProtobufEnvelopeEnd;
  chunks.push_back(std::make_shared<const std::string>(std::move(out)));
  return chunks;
}

std::string ProtobufEventFrame(std::string_view type, std::string_view object) {
  std::string raw;
  kube::AppendProtobufField(raw, 1, object);
  std::string event;
  kube::AppendProtobufField(event, 1, type);
  kube::AppendProtobufField(event, 2, raw);
  std::string frame;
  frame.reserve(event.size() + 4);
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(event.size() >> shift);
  return frame + event;
}

base::Result<Json> ParseProtobufBody(std::string_view body, std::string_view api_version, std::string_view kind,
                                     boost::json::storage_ptr storage) {
  EVENKEEL_ASSIGN(kube::ProtobufEnvelope envelope, kube::ReadProtobufEnvelope(body));
  if (envelope.api_version.empty()) envelope.api_version = api_version;
  if (envelope.kind.empty()) envelope.kind = kind;
  // Every group has DeleteOptions of its own, which are those of meta.k8s.io/v1.
  const kube::Schema* schema = envelope.kind == "DeleteOptions" ? &MetaSchema("DeleteOptions")
                                                                : kube::FindKindSchema(envelope.api_version, envelope.kind);
  if (schema == nullptr) {
    return Fail(Code::kBadRequest,
                fmt::format("no kind \"{}\" is registered for version \"{}\"", envelope.kind, envelope.api_version));
  }
  auto object = kube::DecodeProtobufKind(*schema, envelope.api_version, envelope.kind, envelope.raw, std::move(storage));
  if (object) return object;
  return Fail(Code::kBadRequest, fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: {2}", envelope.kind,
                                             envelope.api_version, object.error().message()));
}

}  // namespace evenkeel::embedded::apiserver
