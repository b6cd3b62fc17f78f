// What stands around messages: the envelope of an object, and lists.
#include "kube/forms/protobuf.h"
#include "kube/schema/protobuf_wire.h"

namespace evenkeel::kube {

// contentEncoding and contentType, both empty.
const std::string_view kProtobufEnvelopeEnd{"\x1a\x00\x22\x00", 4};

std::string ProtobufEnvelopeBegin(std::string_view api_version, std::string_view kind, size_t size) {
  std::string type;
  AppendProtobufField(type, 1, api_version);
  AppendProtobufField(type, 2, kind);
  std::string out(kProtobufMagic);
  AppendProtobufField(out, 1, type);
  AppendProtobufHead(out, 2, size);
  return out;
}

std::string EncodeProtobufEnvelope(const Schema& schema, const base::Json& object) {
  const std::string message = EncodeProtobuf(schema, object);
  std::string out =
      ProtobufEnvelopeBegin(base::FindString(object, {"apiVersion"}), base::FindString(object, {"kind"}), message.size());
  out += message;
  out += kProtobufEnvelopeEnd;
  return out;
}

base::Result<ProtobufItems> ReadProtobufList(std::string_view message) {
  static const Schema& metadata_schema = *FindBuiltInSchema("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta");
  ProtobufItems list;
  WireReader reader(message);
  while (!reader.done()) {
    WireField field;
    if (!reader.Next(field)) return base::Fail(base::Code::kBadRequest, "the list " + std::string(reader.problem()));
    if (field.type != WireType::kBytes) continue;
    if (field.number == kListItemsNumber) list.items.push_back(field.bytes);
    if (field.number == kListMetadataNumber) {
      EVENKEEL_ASSIGN(list.metadata, DecodeProtobuf(metadata_schema, field.bytes));
    }
  }
  return list;
}

base::Result<ProtobufEnvelope> ReadProtobufEnvelope(std::string_view bytes) {
  if (!bytes.starts_with(kProtobufMagic)) {
    return base::Fail(base::Code::kBadRequest,
                      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  ProtobufEnvelope envelope;
  const auto read = [](std::string_view message, const auto& take) -> base::Status {
    WireReader reader(message);
    while (!reader.done()) {
      WireField field;
      if (!reader.Next(field))
        return base::Fail(base::Code::kBadRequest, "the protobuf envelope " + std::string(reader.problem()));
      if (field.type != WireType::kBytes) continue;
      EVENKEEL_TRY(take(field));
    }
    return {};
  };
  const auto take_type = [&](const WireField& field) -> base::Status {
    if (!base::IsUtf8(field.bytes)) return base::Fail(base::Code::kBadRequest, "the protobuf envelope is not UTF-8");
    if (field.number == 1) envelope.api_version = field.bytes;
    if (field.number == 2) envelope.kind = field.bytes;
    return {};
  };
  EVENKEEL_TRY(read(bytes.substr(kProtobufMagic.size()), [&](const WireField& field) -> base::Status {
    if (field.number == 2) envelope.raw = field.bytes;
    return field.number == 1 ? read(field.bytes, take_type) : base::Status();
  }));
  return envelope;
}

}  // namespace evenkeel::kube
