// The Service default/kubernetes, by which whoever is in a cluster finds its API: kept as Kubernetes' API server keeps it, with
// the first address of the services' range, Endpoints and an EndpointSlice that name where this server listens.
// Follows: kubernetes@1.36 pkg/controlplane/controller/kubernetesservice/controller.go
#pragma once

#include <memory>
#include <string>

#include "base/executor.h"
#include "base/json.h"
#include "client/client.h"
#include "embedded/apiserver/access/server_records.h"

namespace evenkeel::embedded::apiserver {

class Api;

/// Makes the three objects, and again what somebody deletes or changes, for as long as it lives. Where several servers may
/// share the store all that are there are named, in a slice for each port and family of addresses; one that ends is named no
/// longer.
class KubernetesService {
 public:
  static constexpr base::Duration kInterval = std::chrono::seconds(10);

  enum class Store { kOwn, kShared };

  /// `address`: where the server listens; one that stands for all of the machine's is told as 127.0.0.1. The api must outlive
  /// it.
  KubernetesService(Api& api, base::Executor& executor, const std::string& address, int port, Store store = Store::kOwn);
  ~KubernetesService();
  KubernetesService(const KubernetesService&) = delete;
  KubernetesService& operator=(const KubernetesService&) = delete;

 private:
  void Keep();
  base::Status Reconcile(const std::vector<ServerAddress>& servers);
  base::Status KeepSlices(const std::vector<ServerAddress>& servers);
  // Creates what is wanted, or brings those fields of what is there to what they should be. `fixed`: a field that cannot be
  // changed, only made anew.
  base::Status KeepOne(const kube::Resource& kind, const base::Json& wanted, std::initializer_list<std::string_view> fields,
                       std::string_view fixed = "");

  const std::unique_ptr<client::Client> client_;
  const ServerAddress self_;
  const std::unique_ptr<ServerRecords> records_;  // null: nobody else has the store
  const std::shared_ptr<base::Strand> strand_;
  base::Timer timer_;
};

}  // namespace evenkeel::embedded::apiserver
