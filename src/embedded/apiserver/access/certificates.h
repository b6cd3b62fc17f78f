// The embedded fleet's certificates: one CA, made on first start, and what it signs. Key files are 0600.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace evenkeel::embedded::apiserver {

struct KeyPair {
  std::string certificate_pem;
  std::string private_key_pem;
};

/// ECDSA P-256. Valid from an hour ago for ten years.
base::Result<KeyPair> NewAuthority(const std::string& common_name, base::Time now);
/// A server certificate for these DNS names and IP addresses; valid for a year.
base::Result<KeyPair> NewServerCertificate(const KeyPair& authority, const std::string& common_name,
                                           const std::vector<std::string>& names, base::Time now);
/// A client certificate: user name is the common name, groups are the organizations.
base::Result<KeyPair> NewClientCertificate(const KeyPair& authority, const std::string& user,
                                           const std::vector<std::string>& groups, base::Time now);
/// Reads `directory`/NAME.crt and .key, or makes them with `make` and writes them (key 0600, directory 0700). A pair that
/// expires within 30 days, or that `authority` (if given) has not signed, is made anew. kBadRequest names a file that holds
/// something else.
base::Result<KeyPair> LoadOrMake(const std::string& directory, const std::string& name, base::Time now,
                                 const std::function<base::Result<KeyPair>()>& make, const KeyPair* authority = nullptr);

}  // namespace evenkeel::embedded::apiserver
