// What ResourceSlices, DeviceClasses, ResourceClaims and their templates say, decoded once and only read. Decoders never fail
// (the API has validated what it stores): what has the wrong type counts as absent, and lists are cut at the API's limits.
// Follows: kubernetes@1.36 staging/src/k8s.io/api/resource/v1/types.go
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "kube/quantity.h"
#include "kube/types.h"

namespace evenkeel::scheduling {

/// A pool is named by both: two drivers may use one name.
struct PoolName {
  std::string driver, pool;
  auto operator<=>(const PoolName&) const = default;
  std::string ToString() const { return driver + "/" + pool; }
};

struct DeviceName {
  std::string driver, pool, device;
  auto operator<=>(const DeviceName&) const = default;
  std::string ToString() const { return driver + "/" + pool + "/" + device; }
};

/// Which nodes reach something: exactly one of these.
struct NodeChoice {
  enum class Kind : uint8_t { kUnknown, kName, kSelector, kAll, kPerDevice };
  Kind kind = Kind::kUnknown;
  std::string name;
  std::vector<kube::NodeSelectorTerm> terms;
};

struct DeviceAttribute {
  enum class Type : uint8_t { kUnknown, kString, kInt, kBool, kVersion };
  Type type = Type::kUnknown;
  std::string text;
  /// As constraints compare; what is unknown equals nothing.
  bool Equals(const DeviceAttribute& other) const { return type != Type::kUnknown && type == other.type && text == other.text; }
};

/// How a request for a part of a shared device's capacity is rounded.
struct CapacityPolicy {
  std::optional<kube::Quantity> otherwise;  ///< what a request that names no amount takes
  std::vector<kube::Quantity> values;       ///< rising; empty: any, or by the range
  std::optional<kube::Quantity> min, max, step;
};

struct DeviceCapacity {
  kube::Quantity value;
  std::optional<CapacityPolicy> policy;
};

using DeviceAmounts = std::map<std::string, kube::Quantity, std::less<>>;

/// Counters of one set: those that there are, or those that a device takes.
struct CounterSet {
  std::string name;
  DeviceAmounts counters;
};

/// What selectors see of a device. Equal ones are one object (device_selectors.h), so that an answer is worked out once.
struct DeviceFacts;

struct Device {
  std::string name;
  std::shared_ptr<const DeviceFacts> facts;
  std::map<std::string, DeviceAttribute, std::less<>> attributes;  ///< by name as it is written
  std::map<std::string, DeviceCapacity, std::less<>> capacity;
  std::vector<CounterSet> consumes;
  std::vector<kube::Taint> taints;
  std::vector<std::string> binding_conditions, binding_failure_conditions;
  bool binds_to_node = false, shared = false;  ///< shared: allowMultipleAllocations
  NodeChoice nodes;                            ///< when the slice says kPerDevice
};

struct ResourceSlice {
  std::string name;
  PoolName pool;
  int64_t generation = 0, slice_count = 0;
  NodeChoice nodes;
  std::vector<Device> devices;
  std::vector<CounterSet> counters;  ///< not empty: it has no devices
};

struct DeviceClass {
  std::string name;
  std::vector<std::string> selectors;  ///< "": of a kind that is not known
  base::JsonArray config;              ///< {"opaque": ...}
  std::string extended_resource;       ///< "": none but the implicit one
  std::string created;                 ///< metadata.creationTimestamp
};

/// `exactly`, or one of `firstAvailable`.
struct DeviceRequest {
  std::string name;
  std::string class_name;
  std::vector<std::string> selectors;
  enum class Mode : uint8_t { kCount, kAll, kUnknown } mode = Mode::kCount;
  int64_t count = 1;
  bool admin = false;
  std::vector<kube::Toleration> tolerations;
  base::JsonArray tolerations_json;
  DeviceAmounts capacity;
  bool asks_capacity = false;
};

struct ClaimRequest {
  std::string name;
  std::optional<DeviceRequest> exactly;  ///< has the request's name
  std::vector<DeviceRequest> first_available;
};

struct DeviceConstraint {
  enum class Kind : uint8_t { kUnknown, kMatch, kDistinct };
  Kind kind = Kind::kUnknown;
  std::vector<std::string> requests;  ///< empty: all
  std::string attribute;              ///< with its domain
};

struct ClaimConfig {
  std::vector<std::string> requests;  ///< empty: all
  base::Json opaque;
};

struct ClaimSpec {
  std::vector<ClaimRequest> requests;
  std::vector<DeviceConstraint> constraints;
  std::vector<ClaimConfig> config;
  std::string text;  ///< equal for specs that are equal
};

/// One device of an allocation.
struct DeviceResult {
  std::string request;  ///< "req" or "req/sub"
  DeviceName device;
  bool admin = false;
  bool shared = false;  ///< a part of it; who writes the result adds a shareID (a random UUID) where `share_id` is empty
  std::string share_id;
  DeviceAmounts consumed;  ///< of a shared one
  base::JsonArray tolerations;
  std::vector<std::string> binding_conditions, binding_failure_conditions;
};

/// status.allocation of a claim.
struct ClaimAllocation {
  std::vector<DeviceResult> results;
  base::JsonArray config;
  std::optional<std::vector<kube::NodeSelectorTerm>> nodes;  ///< nullopt: any

  /// As status.allocation; `share_id` makes the ids of shared devices that have none (called once for each, in order).
  template <typename MakeId>
  base::Json ToJson(const MakeId& make_id) const {
    std::vector<std::string> ids;
    for (const DeviceResult& result : results)
      ids.push_back(result.shared && result.share_id.empty() ? make_id() : result.share_id);
    return Write(ids);
  }

 private:
  base::Json Write(const std::vector<std::string>& share_ids) const;
};

struct ResourceClaim {
  std::string ns, name, uid;
  bool deleting = false;
  std::string owner_uid;           ///< of the controlling owner, a pod; "": none
  bool extended_resource = false;  ///< made by a scheduler for a pod's extended resources
  std::shared_ptr<const ClaimSpec> spec;
  std::shared_ptr<const ClaimAllocation> allocation;  ///< null: not allocated
  std::vector<std::string> reserved_for;              ///< uids
  bool binding_failed = false;                        ///< a condition says that a device will not come

  std::string Key() const { return ns + "/" + name; }
};

struct ResourceClaimTemplate {
  std::string ns, name;
  std::shared_ptr<const ClaimSpec> spec;
};

class DeviceSelectors;

/// `selectors` keeps the facts of devices that are equal.
ResourceSlice DecodeResourceSlice(const base::Json& json, DeviceSelectors& selectors);
/// What DecodeResourceSlice reads the same slice from.
base::Json WriteResourceSlice(const ResourceSlice& slice);
DeviceClass DecodeDeviceClass(const base::Json& json);
ClaimSpec DecodeClaimSpec(const base::Json& spec);
ResourceClaim DecodeResourceClaim(const base::Json& json);
ResourceClaimTemplate DecodeResourceClaimTemplate(const base::Json& json);

}  // namespace evenkeel::scheduling
