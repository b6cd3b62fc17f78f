#include "providers/cluster_api_discovery.h"

#include <algorithm>

namespace evenkeel::providers {

using base::Code;
using base::Fail;
using base::Json;

base::Result<std::vector<std::string>> ApiDiscovery::Versions(const std::string& group) {
  if (!versions_) {
    const std::string path = "/apis";
    const auto text = client_.GetRaw(path);
    if (!text) return Fail(text.error().Wrap("asking " + client_.Describe() + " which API groups it serves"));
    EVENKEEL_ASSIGN(const Json list, base::ParseJson(*text, client_.Describe() + path));
    versions_.emplace();
    for (const Json& entry : base::FindArray(list, {"groups"})) {
      std::vector<std::string> versions;
      const auto add = [&versions](std::string_view version) {
        if (!version.empty() && std::ranges::find(versions, version) == versions.end()) versions.emplace_back(version);
      };
      add(base::FindString(entry, {"preferredVersion", "version"}));
      for (const Json& version : base::FindArray(entry, {"versions"})) add(base::FindString(version, {"version"}));
      if (!versions.empty()) versions_->emplace(base::FindString(entry, {"name"}), std::move(versions));
    }
  }
  const auto found = versions_->find(group);
  if (found != versions_->end()) return found->second;
  return Fail(Code::kNotFound, "API group " + group + " is not served by " + client_.Describe());
}

base::Result<std::string> ApiDiscovery::PreferredVersion(const std::string& group) {
  EVENKEEL_ASSIGN(const std::vector<std::string> versions, Versions(group));
  return versions.front();
}

base::Result<kube::Resource> ApiDiscovery::FindInAnyVersion(const std::string& group, const std::string& kind) {
  EVENKEEL_ASSIGN(const std::vector<std::string> versions, Versions(group));
  for (const std::string& version : versions) {
    auto found = Find(group, version, kind);
    if (found || found.error().code() != Code::kNotFound) return found;
  }
  return Fail(Code::kNotFound, kind + " is not served by " + client_.Describe() + " in any version of " + group);
}

base::Result<kube::Resource> ApiDiscovery::Find(const std::string& group, const std::string& version, const std::string& kind) {
  const std::string group_version = group + "/" + version;
  auto known = kinds_.find(group_version);
  if (known == kinds_.end()) {
    const std::string path = "/apis/" + group_version;
    const auto text = client_.GetRaw(path);
    if (!text) return Fail(text.error().Wrap("asking " + client_.Describe() + " what it serves of " + group_version));
    EVENKEEL_ASSIGN(const Json list, base::ParseJson(*text, client_.Describe() + path));
    known = kinds_.try_emplace(group_version).first;
    for (const Json& entry : base::FindArray(list, {"resources"})) {
      const std::string_view name = base::FindString(entry, {"kind"}), plural = base::FindString(entry, {"name"});
      if (name.empty() || plural.empty() || plural.find('/') != std::string_view::npos) continue;
      known->second.emplace(name, kube::MakeResource(group_version, name, plural, base::FindBool(entry, {"namespaced"}, true)));
    }
  }
  const auto found = known->second.find(kind);
  if (found != known->second.end()) return found->second;
  return Fail(Code::kNotFound, kind + " is not served by " + client_.Describe() + " in " + group_version);
}

}  // namespace evenkeel::providers
