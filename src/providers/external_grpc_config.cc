#include "base/yaml.h"
#include "providers/complaints.h"
#include "providers/external_grpc.h"

namespace evenkeel::providers {
namespace {

using base::Code;
using base::Fail;
using base::Json;

class ConfigReader {
 public:
  ConfigReader(const Json& config, std::string_view source) : config_(config), source_(source) {}

  std::unexpected<base::Error> Wrong(std::string_view field, std::string_view what) const {
    return Fail(Code::kBadRequest, source_ + ": " + std::string(field) + ": " + std::string(what));
  }

  /// "" where it is absent.
  base::Result<std::string> Text(std::string_view field) const {
    const Json* value = base::Find(config_, {field});
    if (value == nullptr || value->is_null()) return std::string();
    if (!value->is_string()) return Wrong(field, "not a text");
    std::string text(value->get_string());
    if (text.find_first_of(std::string_view("\0\n\r", 3)) != std::string::npos) return Wrong(field, "has more than one line");
    return text;
  }

 private:
  const Json& config_;
  const std::string source_;
};

}  // namespace

base::Result<ExternalGrpcConfig> ParseExternalGrpcConfig(std::string_view text, std::string_view source) {
  const auto parsed_document = base::ParseYamlDocument(text, source);
  if (!parsed_document) return Fail(OnOneLine(parsed_document.error()));
  const Json& document = *parsed_document;
  if (!document.is_object()) {
    return Fail(Code::kBadRequest, std::string(source) + ": keys address, key, cert, cacert and grpc_timeout are expected");
  }
  const ConfigReader reader(document, source);
  ExternalGrpcConfig config;
  EVENKEEL_ASSIGN(config.address, reader.Text("address"));
  EVENKEEL_ASSIGN(config.files.key, reader.Text("key"));
  EVENKEEL_ASSIGN(config.files.certificate, reader.Text("cert"));
  EVENKEEL_ASSIGN(config.files.authority, reader.Text("cacert"));
  EVENKEEL_ASSIGN(const std::string timeout, reader.Text("grpc_timeout"));
  if (config.address.empty()) return reader.Wrong("address", "missing: HOST:PORT of the service is expected");
  if (const auto sound = CheckGrpcAddress(config.address); !sound) return reader.Wrong("address", sound.error().message());
  config.tls = !config.files.certificate.empty() || !config.files.authority.empty();
  if (!config.files.certificate.empty() && config.files.key.empty()) return reader.Wrong("key", "missing: cert needs its key");
  if (config.tls && config.files.authority.empty()) {
    return reader.Wrong("cacert", "missing: with cert, the service's certificate is checked");
  }
  if (config.files.certificate.empty()) config.files.key.clear();
  if (!timeout.empty()) {
    const auto parsed = base::ParseDuration(timeout);
    if (!parsed || *parsed <= base::Duration{}) return reader.Wrong("grpc_timeout", "not a duration such as 5s");
    config.timeout = *parsed;
  }
  return config;
}

base::Result<ExternalGrpcConfig> ReadExternalGrpcConfig(const std::string& path) {
  if (path.empty()) {
    return Fail(Code::kBadRequest, "--cloud-provider=externalgrpc needs --cloud-config=FILE with the address of the service");
  }
  constexpr size_t kBytesMax = 1 << 20;
  const auto text = base::ReadFile(path, kBytesMax);
  if (!text) return Fail(Code::kBadRequest, "--cloud-config: " + text.error().message());
  return ParseExternalGrpcConfig(*text, path);
}

}  // namespace evenkeel::providers
