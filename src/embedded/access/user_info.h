// Who asks, and the names that Kubernetes gives to some.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::embedded::access {

inline constexpr char kMasters[] = "system:masters";  ///< may do everything, whatever roles say
inline constexpr char kAuthenticated[] = "system:authenticated";
inline constexpr char kUnauthenticated[] = "system:unauthenticated";
inline constexpr char kAnonymous[] = "system:anonymous";

/// Who asks, as authentication (or impersonation) established it.
struct UserInfo {
  std::string name;
  std::vector<std::string> groups;
  std::string uid{};
  std::map<std::string, std::vector<std::string>> extra{};
};

bool InGroup(const UserInfo& user, std::string_view group);
/// Adds the group unless the user is in it.
void Join(UserInfo& user, std::string_view group);
UserInfo AnonymousUser();

/// "system:serviceaccount:NS:NAME", and the groups that every service account of a namespace is in.
std::string ServiceAccountUser(std::string_view ns, std::string_view name);
std::vector<std::string> ServiceAccountGroups(std::string_view ns);
/// The inverse of ServiceAccountUser; false for any other name.
bool SplitServiceAccountUser(std::string_view user, std::string& ns, std::string& name);

}  // namespace evenkeel::embedded::access
