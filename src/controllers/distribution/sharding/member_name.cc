#include "controllers/distribution/sharding/member_name.h"

#include "client/http/kubeconfig.h"

namespace evenkeel::controllers::distribution {

std::string MemberName::Shown(const std::string& own_fleet) const {
  std::string text = name;
  if (!server.empty()) text += (text.empty() ? "" : " at ") + client::WithoutUserinfo(server);
  if (!fleet.empty() && fleet != own_fleet) text += " of fleet " + fleet;
  return text;
}

base::Result<std::string> ApiIdentity(client::Client& api) {
  const auto found = api.Get(kube::resources::Namespaces(), "", "kube-system");
  if (found) return std::string(base::FindString(*found, {"metadata", "uid"}));
  const base::Code code = found.error().code();
  if (code == base::Code::kForbidden || code == base::Code::kUnauthorized || code == base::Code::kNotFound)
    return std::string();
  return base::Fail(found.error());
}

}  // namespace evenkeel::controllers::distribution
