// Any text as the file of --cloud-config, and any bytes as a node of the service.
#include <cstddef>
#include <cstdint>

#include "providers/external_grpc.h"
#include "providers/object_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenkeel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = providers::ParseExternalGrpcConfig(text, "fuzz");
  if (config) {
    EVENKEEL_CHECK(providers::CheckGrpcAddress(config->address));
    EVENKEEL_CHECK(config->timeout > base::Duration{});
    EVENKEEL_CHECK(config->tls || config->files.key.empty());
  } else {
    EVENKEEL_CHECK(config.error().message().find('\n') == std::string::npos);
  }
  // What has been read is written, and read again as the same.
  const auto node = providers::DecodeNode(text);
  if (node) {
    const std::string bytes = providers::EncodeNode(*node);
    const auto again = providers::DecodeNode(bytes);
    EVENKEEL_CHECK(again.has_value());
    EVENKEEL_CHECK(providers::EncodeNode(*again) == bytes);
  } else {
    EVENKEEL_CHECK(node.error().message().starts_with("v1.Node: "));
    EVENKEEL_CHECK(node.error().message().find('\n') == std::string::npos);
  }
  return 0;
}
