// Keeps one Node's registration, status and Lease in the API.
#pragma once

#include <memory>
#include <string>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"
#include "embedded/nodeagent/node_objects.h"

namespace evenkeel::embedded::nodeagent {

struct NodeKeeperOptions {
  client::Client* client = nullptr;
  std::shared_ptr<base::Strand> strand;
  base::Clock* clock = nullptr;
  base::Random random{0};
  bool reregister = false;
  base::Duration lease_period{}, lease_duration{}, status_period{};
};

/// Lives on its strand. Destroying it stops all writes.
class NodeKeeper {
 public:
  NodeKeeper(NodeKeeperOptions options, NodeConfig config);

  /// Registers now, again every second or so until it has worked, then keeps lease and status.
  void Start();
  /// It has these devices now: published at once, or when the node is registered.
  void SetDevices(std::vector<base::Json> slices);

 private:
  void Register();
  base::Status TryRegister();
  base::Status WriteStatus();
  void RenewLease();
  void ReportStatus();
  void KeepDevices();
  void ScheduleLease();

  NodeKeeperOptions options_;
  const NodeConfig config_;
  std::vector<base::Json> slices_;
  base::Random random_;
  std::string uid_;
  bool gone_ = false;           ///< somebody deleted the Node and nobody asked for a new one
  bool lease_failing_ = false;  ///< logged once per outage
  bool has_devices_ = false;    ///< or had some: then what is published is looked after
  base::Timer register_timer_, lease_timer_, status_timer_, devices_timer_;
};

}  // namespace evenkeel::embedded::nodeagent
