// Which version of Cluster API a management cluster serves, and under which names. Asked once; again after Forget.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/client.h"

namespace evenkeel::providers {

/// Not thread-safe.
class ApiDiscovery {
 public:
  explicit ApiDiscovery(client::Client& client) : client_(client) {}

  /// The version that the server prefers. kNotFound: the group is not served.
  base::Result<std::string> PreferredVersion(const std::string& group);
  /// kNotFound: no such kind in that version.
  base::Result<kube::Resource> Find(const std::string& group, const std::string& version, const std::string& kind);
  /// In the version that the server prefers of those that have the kind. kNotFound: none has.
  base::Result<kube::Resource> FindInAnyVersion(const std::string& group, const std::string& kind);
  void Forget() {
    versions_.reset();
    kinds_.clear();
  }

 private:
  base::Result<std::vector<std::string>> Versions(const std::string& group);

  client::Client& client_;
  std::optional<std::map<std::string, std::vector<std::string>>> versions_;          // by group, the preferred one first
  std::map<std::string, std::map<std::string, kube::Resource, std::less<>>> kinds_;  // by kind, by GROUP/VERSION
};

}  // namespace evenkeel::providers
