#include "embedded/access/user_info.h"

#include <algorithm>

namespace evenkeel::embedded::access {
namespace {

constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";
constexpr std::string_view kServiceAccounts = "system:serviceaccounts";

}  // namespace

bool InGroup(const UserInfo& user, std::string_view group) {
  return std::ranges::find(user.groups, group) != user.groups.end();
}

void Join(UserInfo& user, std::string_view group) {
  if (!InGroup(user, group)) user.groups.emplace_back(group);
}

UserInfo AnonymousUser() { return {.name = kAnonymous, .groups = {kUnauthenticated}}; }

std::string ServiceAccountUser(std::string_view ns, std::string_view name) {
  return std::string(kServiceAccountPrefix).append(ns).append(":").append(name);
}

std::vector<std::string> ServiceAccountGroups(std::string_view ns) {
  return {std::string(kServiceAccounts), std::string(kServiceAccounts).append(":").append(ns)};
}

bool SplitServiceAccountUser(std::string_view user, std::string& ns, std::string& name) {
  if (!user.starts_with(kServiceAccountPrefix)) return false;
  user.remove_prefix(kServiceAccountPrefix.size());
  const size_t colon = user.find(':');
  if (colon == 0 || colon == user.npos || colon + 1 == user.size() || user.find(':', colon + 1) != user.npos) return false;
  ns = user.substr(0, colon);
  name = user.substr(colon + 1);
  return true;
}

}  // namespace evenkeel::embedded::access
