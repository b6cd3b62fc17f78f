#include "base/input/file.h"
#include "base/input/yaml.h"
#include "providers/external_grpc.h"
#include "providers/warnings.h"

namespace evenkeel::providers {
namespace {

using base::Code;
using base::Fail;
using base::Json;

/// "" where it is absent.
base::Result<std::string> OneLineText(const base::Field& field) {
  std::string text;
  EVENKEEL_TRY(field.Text(text));
  if (text.find_first_of(std::string_view("\0\n\r", 3)) != std::string::npos) return field.Wrong("has more than one line");
  return text;
}

}  // namespace

base::Result<ExternalGrpcConfig> ParseExternalGrpcConfig(std::string_view text, std::string_view source) {
  const auto parsed_document = base::ParseYamlDocument(text, source);
  if (!parsed_document) return Fail(OnOneLine(parsed_document.error()));
  const Json& document = *parsed_document;
  if (!document.is_object()) {
    return Fail(Code::kBadRequest, std::string(source) + ": keys address, key, cert, cacert and grpc_timeout are expected");
  }
  const base::Field fields(&document, std::string(source));
  ExternalGrpcConfig config;
  EVENKEEL_ASSIGN(config.address, OneLineText(fields["address"]));
  EVENKEEL_ASSIGN(config.files.key, OneLineText(fields["key"]));
  EVENKEEL_ASSIGN(config.files.certificate, OneLineText(fields["cert"]));
  EVENKEEL_ASSIGN(config.files.authority, OneLineText(fields["cacert"]));
  EVENKEEL_ASSIGN(const std::string timeout, OneLineText(fields["grpc_timeout"]));
  if (config.address.empty()) return fields["address"].Wrong("missing: HOST:PORT of the service is expected");
  if (const auto sound = CheckGrpcAddress(config.address); !sound) return fields["address"].Wrong(sound.error().message());
  config.tls = !config.files.certificate.empty() || !config.files.authority.empty();
  if (!config.files.certificate.empty() && config.files.key.empty()) return fields["key"].Wrong("missing: cert needs its key");
  if (config.tls && config.files.authority.empty()) {
    return fields["cacert"].Wrong("missing: with cert, the service's certificate is checked");
  }
  if (config.files.certificate.empty()) config.files.key.clear();
  if (!timeout.empty()) {
    const auto parsed = base::ParseDuration(timeout);
    if (!parsed || *parsed <= base::Duration{}) return fields["grpc_timeout"].Wrong("not a duration such as 5s");
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
