// `evenkeel clusters`: which members the hub knows, written down as cluster Secrets of Argo CD.
#pragma once

#include <ostream>
#include <string>

#include "base/json.h"
#include "base/time.h"
#include "cli/clusters/hub.h"
#include "cli/commands/member_account.h"
#include "cli/terminal/get_output.h"

namespace evenkeel::cli {

struct ClustersOptions {
  HubOptions hub;
  std::string member_kubeconfig;  ///< empty: the hub's
  std::string member_context;     ///< of somebody who may change accounts and roles there
  std::string name;               ///< of the member; add: empty is the context's
  std::string server;             ///< add: its URL as replicas reach it; empty: the context's
  MemberParts parts;
  base::Duration token_lifetime = std::chrono::hours(24 * 30);
  std::string output = "table";  ///< list: a form, see GetOutput
};

/// Makes the account in the member, tries its token, and writes the Secret. Done again, it brings all of that up to date, with
/// a new token. kAlreadyExists: the name or the server is another member's.
base::Status AddCluster(const ClustersOptions& options, std::ostream& out);
/// Name, server, how replicas get in, and until when.
base::Status ListClusters(const ClustersOptions& options, std::ostream& out);
/// Deletes the Secret; with a context of the member its account, too. Without one it says how.
base::Status RemoveCluster(const ClustersOptions& options, std::ostream& out);
/// Gives the member's Secret a new token, which its account makes itself. With a context of the member all older ones end.
base::Status RotateCluster(const ClustersOptions& options, std::ostream& out);

/// What is said of a cluster Secret (kClustersJson), and of all of them.
base::Json DescribeCluster(const base::Json& secret);
Shown ShowClusters(base::JsonArray clusters, base::Time now);

}  // namespace evenkeel::cli
