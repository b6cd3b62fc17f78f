#include "providers/grpc_channel.h"

#include <grpcpp/grpcpp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/input/file.h"

namespace evenkeel::providers {
namespace {

using base::Code;
using base::Fail;
using CertificatePointer = std::unique_ptr<X509, decltype(&X509_free)>;
using KeyPointer = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using BufferPointer = std::unique_ptr<BIO, decltype(&BIO_free)>;

constexpr int kMessageBytesMax = 128 << 20;  // cluster-autoscaler's limit
constexpr size_t kPemBytesMax = 1 << 20;

BufferPointer ReadBuffer(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

int NoPassphrase(char*, int, int, void*) { return 0; }

base::Result<std::string> ReadPem(const std::string& path, std::string_view what) {
  auto text = base::ReadFile(path, kPemBytesMax);
  if (!text) return Fail(Code::kBadRequest, "cannot read the " + std::string(what) + ": " + text.error().message());
  return text;
}

// gRPC itself would say of a broken file only that it could not connect.
base::Result<CertificatePointer> ReadCertificate(const std::string& path, const std::string& text, std::string_view what) {
  CertificatePointer certificate(PEM_read_bio_X509(ReadBuffer(text).get(), nullptr, NoPassphrase, nullptr), &X509_free);
  ERR_clear_error();
  if (certificate == nullptr)
    return Fail(Code::kBadRequest, path + ": is no certificate in PEM form (" + std::string(what) + ")");
  return certificate;
}

base::Status ReadIdentity(const GrpcFiles& files, grpc::SslCredentialsOptions& options) {
  if (files.certificate.empty() && files.key.empty()) return {};
  if (files.certificate.empty() || files.key.empty()) {
    return Fail(Code::kBadRequest, "a certificate and its key belong together: " +
                                       (files.certificate.empty() ? files.key : files.certificate) + " is given alone");
  }
  EVENKEEL_ASSIGN(options.pem_cert_chain, ReadPem(files.certificate, "certificate"));
  EVENKEEL_ASSIGN(options.pem_private_key, ReadPem(files.key, "key"));
  EVENKEEL_ASSIGN(const auto certificate, ReadCertificate(files.certificate, options.pem_cert_chain, "certificate"));
  const KeyPointer key(PEM_read_bio_PrivateKey(ReadBuffer(options.pem_private_key).get(), nullptr, NoPassphrase, nullptr),
                       &EVP_PKEY_free);
  const bool matches = key != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (key == nullptr) return Fail(Code::kBadRequest, files.key + ": is no key in PEM form without a passphrase");
  if (!matches) return Fail(Code::kBadRequest, files.key + ": is not the key of the certificate in " + files.certificate);
  return {};
}

Code CodeOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNIMPLEMENTED:
      return Code::kMethodNotAllowed;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Code::kTimeout;
    case grpc::StatusCode::NOT_FOUND:
      return Code::kNotFound;
    case grpc::StatusCode::ALREADY_EXISTS:
      return Code::kAlreadyExists;
    case grpc::StatusCode::PERMISSION_DENIED:
      return Code::kForbidden;
    case grpc::StatusCode::UNAUTHENTICATED:
      return Code::kUnauthorized;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return Code::kTooManyRequests;
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ABORTED:
      return Code::kConflict;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
      return Code::kBadRequest;
    case grpc::StatusCode::CANCELLED:
      return Code::kCancelled;
    case grpc::StatusCode::UNAVAILABLE:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

}  // namespace

base::Status CheckGrpcAddress(std::string_view address) {
  const size_t colon = address.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? "" : address.substr(colon + 1);
  const std::string_view host = colon == std::string_view::npos ? "" : address.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  const bool number =
      !port.empty() && port.size() <= 5 && std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  const bool plain = std::ranges::all_of(address, [](char c) { return c > ' ' && c < 127 && c != '/'; });
  if (host.empty() || !number || !plain || (!bracketed && host.find_first_of(":[]") != std::string_view::npos)) {
    std::string shown(address.substr(0, 100));
    std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
    return Fail(Code::kBadRequest, "\"" + shown + "\" is not HOST:PORT");
  }
  return {};
}

base::Result<std::shared_ptr<grpc::Channel>> NewGrpcChannel(const std::string& address, const GrpcFiles* files) {
  EVENKEEL_TRY(CheckGrpcAddress(address));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);
  // A service that was restarted must be found again within a loop or two.
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
  // Two providers with other certificates must not share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (files != nullptr) {
    grpc::SslCredentialsOptions options;
    EVENKEEL_ASSIGN(options.pem_root_certs, ReadPem(files->authority, "certificate authority"));
    EVENKEEL_TRY(ReadCertificate(files->authority, options.pem_root_certs, "certificate authority"));
    EVENKEEL_TRY(ReadIdentity(*files, options));
    credentials = grpc::SslCredentials(options);
  }
  return grpc::CreateCustomChannel("dns:///" + address, credentials, arguments);
}

void SetTimeout(grpc::ClientContext& context, base::Duration timeout) {
  context.set_deadline(std::chrono::system_clock::now() + timeout);  // effect: gRPC takes absolute times
}

base::Error ErrorFromGrpc(const grpc::Status& status, const std::string& doing) {
  std::string text = status.error_message().substr(0, 1000);
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && text.empty()) text = "the service does not implement it";
  if (text.empty()) text = "failed without a message (gRPC status " + std::to_string(status.error_code()) + ")";
  return {CodeOf(status.error_code()), doing + ": " + text};
}

}  // namespace evenkeel::providers
