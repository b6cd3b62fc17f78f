#include "embedded/nodeagent/node_keeper.h"

#include "base/log.h"
#include "embedded/nodeagent/device_driver.h"

namespace evenkeel::embedded::nodeagent {
namespace {

using base::Code;
using base::Json;

constexpr base::Duration kRegisterRetry = std::chrono::seconds(1);
constexpr char kLeaseNamespace[] = "kube-node-lease";

}  // namespace

NodeKeeper::NodeKeeper(NodeKeeperOptions options, NodeConfig config)
    : options_(std::move(options)),
      config_(std::move(config)),
      slices_(config_.slices),
      random_(options_.random.Fork(config_.name)),
      has_devices_(!slices_.empty()) {}

void NodeKeeper::Start() {
  register_timer_ = options_.strand->PostAfter(base::Duration::zero(), [this] { Register(); });
}

void NodeKeeper::SetDevices(std::vector<Json> slices) {
  slices_ = std::move(slices);
  has_devices_ = has_devices_ || !slices_.empty();
  devices_timer_ = options_.strand->PostAfter(base::Duration::zero(), [this] { KeepDevices(); });
}

void NodeKeeper::KeepDevices() {
  if (!has_devices_ || gone_ || uid_.empty()) return;
  const auto published = PublishDevices(*options_.client, config_.name, uid_, slices_);
  if (published) return;
  base::log::Warn("devices not published", {{"node", config_.name}, {"error", published.error()}});
  devices_timer_ = options_.strand->PostAfter(kRegisterRetry + random_.Between(base::Duration::zero(), kRegisterRetry),
                                              [this] { KeepDevices(); });
}

void NodeKeeper::Register() {
  if (auto status = TryRegister(); !status) {
    base::log::Warn("node not registered", {{"node", config_.name}, {"error", status.error()}});
    register_timer_ = options_.strand->PostAfter(kRegisterRetry + random_.Between(base::Duration::zero(), kRegisterRetry),
                                                 [this] { Register(); });
    return;
  }
  gone_ = false;
  RenewLease();
  KeepDevices();
  status_timer_ = options_.strand->PostAfter(options_.status_period, [this] { ReportStatus(); });
}

base::Status NodeKeeper::TryRegister() {
  const Json wanted = NodeObject(config_, options_.clock->Now());
  auto created = options_.client->Create(kube::resources::Nodes(), wanted);
  if (created) {
    uid_ = kube::UidOf(*created);
    if (kube::FindCondition(*created, "Ready") != nullptr) return {};
    return WriteStatus();
  }
  if (created.error().code() != Code::kAlreadyExists) return base::Fail(created.error());
  // It was here before: its labels are brought up to date, what others added stays.
  const Json patch = {{"metadata", {{"labels", base::FindObject(wanted, {"metadata", "labels"})}}}};
  EVENKEEL_ASSIGN(const Json patched,
                  options_.client->Patch(kube::resources::Nodes(), "", config_.name, client::PatchType::kMerge, patch));
  uid_ = kube::UidOf(patched);
  return WriteStatus();
}

base::Status NodeKeeper::WriteStatus() {
  EVENKEEL_ASSIGN(Json node, options_.client->Get(kube::resources::Nodes(), "", config_.name));
  const Json before = node;
  ReportNodeStatus(config_, options_.clock->Now(), node);
  const Json patch = base::DiffMergePatch(before, node);
  EVENKEEL_TRY(options_.client->Patch(kube::resources::Nodes(), "", config_.name, client::PatchType::kStrategic, patch,
                                      {.subresource = "status", .field_manager = "kubelet"}));
  return {};
}

void NodeKeeper::ScheduleLease() {
  const base::Duration jitter = random_.Between(base::Duration::zero(), options_.lease_period / 25);
  lease_timer_ = options_.strand->PostAfter(options_.lease_period + jitter, [this] { RenewLease(); });
}

void NodeKeeper::RenewLease() {
  if (gone_) return;
  const Json patch = {{"spec", {{"renewTime", base::FormatMicroTime(options_.clock->Now())}}}};
  auto renewed =
      options_.client->Patch(kube::resources::Leases(), kLeaseNamespace, config_.name, client::PatchType::kMerge, patch);
  if (!renewed && renewed.error().code() == Code::kNotFound) {
    renewed = options_.client->Create(kube::resources::Leases(),
                                      NodeLease(config_.name, uid_, options_.lease_duration, options_.clock->Now()));
  }
  if (!renewed && !lease_failing_) {
    base::log::Warn("node lease not renewed", {{"node", config_.name}, {"error", renewed.error()}});
  }
  lease_failing_ = !renewed;
  ScheduleLease();
}

void NodeKeeper::ReportStatus() {
  status_timer_ = options_.strand->PostAfter(options_.status_period, [this] { ReportStatus(); });
  auto status = WriteStatus();
  if (status) return KeepDevices();
  if (status.error().code() != Code::kNotFound) {
    base::log::Warn("node status not reported", {{"node", config_.name}, {"error", status.error()}});
  } else if (options_.reregister) {
    Register();
  } else {
    base::log::Warn("node object was deleted: the node stays away", {{"node", config_.name}});
    gone_ = true;
    status_timer_.Cancel();
    lease_timer_.Cancel();
    devices_timer_.Cancel();
  }
}

}  // namespace evenkeel::embedded::nodeagent
