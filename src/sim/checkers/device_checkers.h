// What must hold of devices in a simulated fleet, whatever goes wrong: whoever schedules, what was given is given once, to pods
// that run, from devices that are there. Each looks at writes and at what the stores held then (device_book.h, member_book.h).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/checkers/checker.h"
#include "sim/checkers/device_book.h"
#include "sim/checkers/member_book.h"

namespace evenkeel::sim {

/// What the checkers below share.
class DeviceChecker : public Checker {
 public:
  /// How late a replica with which nothing is wrong may be.
  static constexpr base::Duration kFresh = std::chrono::seconds(10);
  /// How old a view may be from which a replica decides, and a write that arrives in the end.
  static constexpr base::Duration kStale = std::chrono::minutes(5);

  /// `held_up`: writes may arrive long after they were sent.
  DeviceChecker(const DeviceBook* devices, const MemberBook* members, bool held_up)
      : devices_(*devices), members_(*members), held_up_(held_up) {}

 protected:
  const DeviceBook& devices_;
  const MemberBook& members_;
  const bool held_up_;
};

/// "devices-once": no device is allocated to two claims, but with admin access or as a share.
class DevicesOnceChecker final : public DeviceChecker {
 public:
  using DeviceChecker::DeviceChecker;
  std::string_view name() const override { return "devices-once"; }
  void OnStored(const std::string& api, const embedded::store::Event& event) override;
};

/// "devices-claimed": a pod is only bound once all of its claims are allocated where its node reaches them, and reserved for
/// it; and they stay so while it lives.
class DevicesClaimedChecker final : public DeviceChecker {
 public:
  using DeviceChecker::DeviceChecker;
  std::string_view name() const override { return "devices-claimed"; }
  void OnStored(const std::string& api, const embedded::store::Event& event) override;
  void OnSecond() override;

 private:
  void Check(const std::string& api, const std::string& key, const DeviceBook::Pod& pod, std::string_view when);
  std::set<std::string> bound_;  ///< uids of pods
  std::set<std::string> told_;
};

/// "devices-published": no replica allocates a device that no slice of its pool's greatest generation has, or that is tainted:
/// now, or when it looked last. A replica with which something is wrong may have looked a while ago.
class DevicesPublishedChecker final : public DeviceChecker {
 public:
  using DeviceChecker::DeviceChecker;
  std::string_view name() const override { return "devices-published"; }
  void OnWrite(const ApiWrite& write, const LeaseChange& change) override;
};

/// "devices-freed": reservations of pods that have ended or gone are taken away soon, while the member's API is up.
class DevicesFreedChecker final : public DeviceChecker {
 public:
  static constexpr base::Duration kFreed = std::chrono::seconds(60);

  using DeviceChecker::DeviceChecker;
  std::string_view name() const override { return "devices-freed"; }
  void OnSecond() override;

 private:
  std::map<std::string, base::Instant> ended_;  ///< since when a reservation is nobody's, by member, claim and pod
};

/// "devices-placed": after the last fault no pod waits for longer than a bound for devices that it could have had all the time,
/// on a node with room for it. Of pods with one claim of one request, as the workload's are.
class DevicesPlacedChecker final : public DeviceChecker {
 public:
  using DeviceChecker::DeviceChecker;
  std::string_view name() const override { return "devices-placed"; }
  void OnHealed() override { healed_ = view().now(); }
  void OnSecond() override;

  /// A member gets its owner, whose scheduler tries again what it has given up.
  base::Duration Bound() const;

 private:
  std::optional<base::Instant> healed_;
  std::map<std::string, base::Instant> could_;  ///< since when a pod could have its devices, by member and uid
  std::set<std::string> told_;
};

/// Names of these, in the order above.
const std::vector<std::string>& DeviceCheckerNames();

}  // namespace evenkeel::sim
