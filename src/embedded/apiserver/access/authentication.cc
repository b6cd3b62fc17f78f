// Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/authentication/request/union/union.go
#include "embedded/apiserver/access/authentication.h"

#include <openssl/sha.h>

#include <algorithm>

#include "base/input/file.h"
#include "base/text.h"
#include "embedded/access/account_token.h"
#include "embedded/apiserver/requests/http_error.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::Code;
using base::Fail;

void AppendAttribute(std::string& subject, std::string_view name, std::string_view value) {
  if (!subject.empty()) subject += ',';
  subject.append(name).append("=");
  for (char c : value) {
    if (c == ',' || c == '\\') subject += '\\';
    subject += c;
  }
}

/// The columns of one line of CSV; nullopt when a quote is not closed.
std::optional<std::vector<std::string>> SplitCsvLine(std::string_view line) {
  std::vector<std::string> columns(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      columns.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      columns.emplace_back();
    } else {
      columns.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  return columns;
}

std::vector<std::string> SplitGroups(std::string_view text) {
  std::vector<std::string> groups;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view group = base::Trimmed(text.substr(0, comma));
    if (!group.empty()) groups.emplace_back(group);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return groups;
}

}  // namespace

TokenHash HashToken(std::string_view token) {
  TokenHash hash;
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return hash;
}

std::string FormatSubject(std::string_view common_name, const std::vector<std::string>& organizations) {
  std::string subject;
  AppendAttribute(subject, "CN", common_name);
  for (const std::string& organization : organizations) AppendAttribute(subject, "O", organization);
  return subject;
}

std::optional<UserInfo> ParseSubject(std::string_view subject) {
  UserInfo user;
  std::string attribute;
  auto finish = [&] {
    if (attribute.starts_with("CN=")) user.name = attribute.substr(3);
    if (attribute.starts_with("O=")) user.groups.push_back(attribute.substr(2));
    attribute.clear();
  };
  for (size_t i = 0; i < subject.size(); ++i) {
    if (subject[i] == '\\' && i + 1 < subject.size()) {
      attribute += subject[++i];
    } else if (subject[i] == ',') {
      finish();
    } else {
      attribute += subject[i];
    }
  }
  finish();
  if (user.name.empty()) return std::nullopt;
  return user;
}

void Authenticator::AddToken(std::string_view token, UserInfo user) {
  access::Join(user, access::kAuthenticated);
  tokens_[HashToken(token)] = std::move(user);
}

base::Status Authenticator::AddTokensFromText(std::string_view csv, std::string_view source) {
  int number = 0;
  while (!csv.empty()) {
    const size_t end = csv.find('\n');
    const std::string_view line = base::Trimmed(csv.substr(0, end));
    csv.remove_prefix(end == std::string_view::npos ? csv.size() : end + 1);
    ++number;
    if (line.empty()) continue;
    std::optional<std::vector<std::string>> columns = SplitCsvLine(line);
    if (!columns.has_value() || columns->size() < 3 || (*columns)[0].empty() || (*columns)[1].empty()) {
      return Fail(Code::kBadRequest,
                  fmt::format("{}:{}: a token line needs token,user,uid and optionally \"group1,group2\"", source, number));
    }
    AddToken((*columns)[0], {(*columns)[1], columns->size() > 3 ? SplitGroups((*columns)[3]) : std::vector<std::string>{}});
  }
  return {};
}

base::Status Authenticator::AddTokenFile(const std::string& path) {
  EVENKEEL_ASSIGN(const std::string text, base::ReadFile(path, 16 << 20));
  return AddTokensFromText(text, path);
}

base::Result<UserInfo> Authenticator::AuthenticateToken(std::string_view token, std::vector<std::string>& audiences) const {
  Owner owner;
  if (const auto found = tokens_.find(HashToken(token)); found != tokens_.end()) {
    owner = {.user = found->second, .audiences = {access::kTokenIssuer}};
  } else if (source_) {
    EVENKEEL_ASSIGN(owner, source_(token));
  } else {
    return Fail(Code::kUnauthorized, "the token is not valid");
  }
  if (audiences.empty()) audiences = {access::kTokenIssuer};
  std::erase_if(audiences,
                [&](const std::string& wanted) { return std::ranges::find(owner.audiences, wanted) == owner.audiences.end(); });
  if (audiences.empty()) return Fail(Code::kUnauthorized, "the token is for another audience");
  access::Join(owner.user, access::kAuthenticated);
  return std::move(owner.user);
}

base::Result<std::optional<UserInfo>> Authenticator::Authenticate(const HttpRequest& request) const {
  // A verified certificate comes first; its holder has proved more than somebody who knows a token.
  if (!request.client_certificate_subject.empty()) {
    if (std::optional<UserInfo> user = ParseSubject(request.client_certificate_subject)) {
      access::Join(*user, access::kAuthenticated);
      return user;
    }
  }
  auto header = request.headers.find("authorization");
  if (header == request.headers.end()) return std::nullopt;
  std::string_view value = base::Trimmed(header->second);
  const size_t blank = value.find(' ');
  if (base::Lower(value.substr(0, blank)) == "bearer" && blank != std::string_view::npos) {
    std::vector<std::string> audiences;
    if (auto user = AuthenticateToken(base::Trimmed(value.substr(blank)), audiences)) return *std::move(user);
  }
  return Fail(Code::kUnauthorized, "Unauthorized");
}

std::optional<HttpResponse> AuthenticatingHandler::Admit(HttpRequest& head) {
  base::Result<std::optional<UserInfo>> user = authenticator_.Authenticate(head);
  if (user && user->has_value()) {
    head.user = **std::move(user);
    head.authenticated = true;
  } else if (user) {
    head.user = access::AnonymousUser();
  } else {
    return StatusResponse(401, "Unauthorized", "Unauthorized");
  }
  return next_.Admit(head);
}

void AuthenticatingHandler::Handle(HttpRequest request, std::unique_ptr<Responder> responder) {
  EVENKEEL_CHECK(!request.user.name.empty());
  next_.Handle(std::move(request), std::move(responder));
}

}  // namespace evenkeel::embedded::apiserver
