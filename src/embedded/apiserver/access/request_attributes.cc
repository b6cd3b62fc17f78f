#include "embedded/apiserver/access/request_attributes.h"

#include "base/text.h"
#include "embedded/apiserver/requests/errors.h"
#include "embedded/apiserver/requests/request_info.h"
#include "kube/selector.h"

namespace evenkeel::embedded::apiserver {
namespace {

using access::Attributes;
using access::UserInfo;

constexpr char kAuthenticationGroup[] = "authentication.k8s.io";
constexpr std::string_view kHeaderPrefix = "impersonate-";
constexpr std::string_view kExtraPrefix = "impersonate-extra-";

std::string VerbOfMethod(const HttpRequest& request, const ResourcePath& path, const base::Result<Query>& query) {
  const std::string& method = request.method;
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return path.name.empty() ? "deletecollection" : "delete";
  if (path.watch || (query && query->Flag("watch"))) return "watch";
  return path.name.empty() ? "list" : "get";
}

std::string RoutedPath(const HttpRequest& request, const std::optional<std::vector<std::string>>& parts) {
  if (!parts) return request.path;
  std::string path;
  for (const std::string& part : *parts) path += "/" + part;
  return path.empty() ? "/" : path;
}

// As upstream, whose texts end up in web pages.
std::string WithoutMarkup(std::string_view text) {
  std::string plain;
  for (const char letter : text) {
    if (letter == '&') {
      plain += "&amp;";
    } else if (letter == '<') {
      plain += "&lt;";
    } else if (letter == '>') {
      plain += "&gt;";
    } else {
      plain += letter;
    }
  }
  return plain;
}

std::vector<std::string> ValuesOf(std::string_view header) {
  std::vector<std::string> values;
  while (true) {
    const size_t end = header.find(", ");
    values.emplace_back(header.substr(0, end));
    if (end == header.npos) return values;
    header.remove_prefix(end + 2);
  }
}

/// What the headers ask for, before it is known whether it may be; nullopt: nothing.
base::Result<std::optional<UserInfo>> ReadImpersonation(const HttpRequest& request) {
  UserInfo user;
  bool any = false;
  for (auto header = request.headers.lower_bound(std::string(kHeaderPrefix)); header != request.headers.end(); ++header) {
    const std::string_view name = header->first;
    if (!name.starts_with(kHeaderPrefix)) break;
    if (name == "impersonate-user") {
      user.name = header->second;
    } else if (name == "impersonate-uid") {
      user.uid = header->second;
    } else if (name == "impersonate-group") {
      user.groups = ValuesOf(header->second);
    } else if (name.starts_with(kExtraPrefix)) {
      const auto key = Unescape(name.substr(kExtraPrefix.size()), false);
      if (!key) return base::Fail(base::Code::kBadRequest, "the header " + header->first + " has a broken escape");
      user.extra[base::Lower(*key)] = ValuesOf(header->second);
    } else {
      continue;
    }
    any = true;
  }
  if (!any) return std::nullopt;
  if (!user.name.empty()) return user;
  return base::Fail(base::Code::kBadRequest,
                    "a uid, groups or extra fields are to be impersonated without a user: "
                    "the header Impersonate-User is missing");
}

/// The rights that it takes, one by one.
std::vector<Attributes> RightsFor(const UserInfo& user) {
  std::vector<Attributes> rights;
  std::string ns, name;
  if (access::SplitServiceAccountUser(user.name, ns, name)) {
    rights.push_back({.verb = "impersonate", .resource = "serviceaccounts", .ns = ns, .name = name});
  } else {
    rights.push_back({.verb = "impersonate", .resource = "users", .name = user.name});
  }
  for (const std::string& group : user.groups) {
    rights.push_back({.verb = "impersonate", .resource = "groups", .name = group});
  }
  for (const auto& [key, values] : user.extra) {
    for (const std::string& value : values) {
      rights.push_back(
          {.verb = "impersonate", .group = kAuthenticationGroup, .resource = "userextras", .subresource = key, .name = value});
    }
  }
  if (!user.uid.empty()) {
    rights.push_back({.verb = "impersonate", .group = kAuthenticationGroup, .resource = "uids", .name = user.uid});
  }
  return rights;
}

void CompleteGroups(UserInfo& user) {
  std::string ns, name;
  if (user.groups.empty() && access::SplitServiceAccountUser(user.name, ns, name))
    user.groups = access::ServiceAccountGroups(ns);
  if (user.name == access::kAnonymous) {
    access::Join(user, access::kUnauthenticated);
  } else if (!access::InGroup(user, access::kUnauthenticated)) {
    access::Join(user, access::kAuthenticated);
  }
}

}  // namespace

Attributes AttributesOf(const HttpRequest& request) {
  const auto parts = PathParts(request.path);
  const auto path = parts ? ParseResourcePath(*parts) : std::nullopt;
  if (!path) return {.verb = base::Lower(request.method), .path = RoutedPath(request, parts)};
  const auto query = Query::Parse(request.query);
  Attributes attributes{.verb = VerbOfMethod(request, *path, query),
                        .group = path->group,
                        .resource = path->plural,
                        .subresource = path->subresource,
                        .ns = path->ns,
                        .name = path->name};
  // A namespace lies in itself, so that who has a role in it may be allowed to see it.
  if (path->group.empty() && path->plural == "namespaces" && path->ns.empty()) attributes.ns = path->name;
  if ((attributes.verb == "list" || attributes.verb == "watch") && attributes.name.empty() && query) {
    const auto selector = kube::FieldSelector::Parse(query->Get("fieldSelector"));
    if (selector) attributes.name = selector->Required("metadata.name").value_or("");
  }
  return attributes;
}

base::Error ForbiddenFor(const UserInfo& user, const Attributes& attributes, const std::string& reason) {
  const std::string who = "User \"" + WithoutMarkup(user.name) + "\" cannot ";
  const std::string more = reason.empty() ? "" : ": " + reason;
  if (!attributes.on_resource()) {
    return {base::Code::kForbidden,
            "forbidden: " + who + attributes.verb + " path \"" + WithoutMarkup(attributes.path) + "\"" + more,
            base::ErrorDetails{}};
  }
  std::string resource = attributes.resource;
  if (!attributes.subresource.empty()) resource += "/" + attributes.subresource;
  const std::string where =
      attributes.ns.empty() ? "at the cluster scope" : "in the namespace \"" + WithoutMarkup(attributes.ns) + "\"";
  return ForbiddenError(NamedKind(attributes.group, "", attributes.resource), attributes.name,
                        who + attributes.verb + " resource \"" + WithoutMarkup(resource) + "\" in API group \"" +
                            WithoutMarkup(attributes.group) + "\" " + where + more);
}

base::Result<std::optional<UserInfo>> ImpersonatedUser(const HttpRequest& request, const access::Authorizer& authorizer) {
  EVENKEEL_ASSIGN(std::optional<UserInfo> wanted, ReadImpersonation(request));
  if (!wanted) return std::nullopt;
  for (const Attributes& right : RightsFor(*wanted)) {
    const access::Decision decision = authorizer.Authorize(request.user, right);
    if (!decision.allowed) return base::Fail(ForbiddenFor(request.user, right, decision.reason));
  }
  CompleteGroups(*wanted);
  return wanted;
}

}  // namespace evenkeel::embedded::apiserver
