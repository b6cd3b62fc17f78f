// Objects as protocol buffers, in the form that Kubernetes gives them (application/vnd.kubernetes.protobuf). A schema says it
// all: field numbers, and which fields are written also when they are absent. Sources:
// kubernetes@1.36:staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf, pkg/apis/meta/v1/*_proto.go.
//
// Special forms: quantity {1 text}, time and microTime {1 seconds, 2 nanoseconds}, intOrString {1 kind, 2 number, 3 text}, any
// and raw types {1 JSON text}, a list as a value of a map {1 items}.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "kube/schema/schema.h"

namespace evenkeel::kube {

/// The message that `object` is: fields by number, map entries by key, so that equal objects give equal bytes. Left out are
/// fields that the schema does not know or gives no number (apiVersion and kind of a kind), and values of the wrong type:
/// objects come from an API server, which has checked them. Quantities are written in canonical form, instants of time in whole
/// seconds and of microTime in whole microseconds. Linear in the object.
std::string EncodeProtobuf(const Schema& schema, const base::Json& object);

/// The object that the bytes are. Zeros of fields that are always written are absent, unless the documentation requires the
/// field; a list without items is absent, too. Fields that the schema does not know are passed over. kBadRequest names the
/// field: "metadata.name: is not UTF-8"; also where the object would be nested deeper than base::kJsonDepthMax. Linear in the
/// bytes, which the caller bounds; a byte makes at most one small value. `storage`: as for base::ParseJson.
base::Result<base::Json> DecodeProtobuf(const Schema& schema, std::string_view bytes, boost::json::storage_ptr storage = {});

/// The same with apiVersion and kind as its first fields.
base::Result<base::Json> DecodeProtobufKind(const Schema& schema, std::string_view api_version, std::string_view kind,
                                            std::string_view bytes, boost::json::storage_ptr storage = {});

/// One field of type bytes, text or message at the end of `out`.
void AppendProtobufField(std::string& out, uint32_t number, std::string_view bytes);
/// The tag and the length that stand before `size` bytes of such a field.
void AppendProtobufHead(std::string& out, uint32_t number, size_t size);

/// What stands around an object that travels alone: who it is, since the message does not say.
struct ProtobufEnvelope {
  std::string api_version, kind;
  std::string_view raw;  ///< the message
};
/// The four bytes with which an envelope begins.
inline constexpr std::string_view kProtobufMagic{"k8s\0", 4};
/// Everything up to the message, which has `size` bytes. kProtobufEnvelopeEnd must follow it.
std::string ProtobufEnvelopeBegin(std::string_view api_version, std::string_view kind, size_t size);
extern const std::string_view kProtobufEnvelopeEnd;
/// The object in its envelope, which takes apiVersion and kind from it.
std::string EncodeProtobufEnvelope(const Schema& schema, const base::Json& object);
/// kBadRequest when it does not begin as an envelope does, or is broken. `raw` points into `bytes`.
base::Result<ProtobufEnvelope> ReadProtobufEnvelope(std::string_view bytes);

/// Field numbers of all lists (FooList).
inline constexpr uint32_t kListMetadataNumber = 1, kListItemsNumber = 2;
/// The message of a list, whose items are still messages; they point into it.
struct ProtobufItems {
  base::Json metadata;
  std::vector<std::string_view> items;
};
/// kBadRequest when it is broken.
base::Result<ProtobufItems> ReadProtobufList(std::string_view message);

}  // namespace evenkeel::kube
