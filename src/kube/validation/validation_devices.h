// Pieces of the rules of devices, which stand in several files. `causes` collects what is wrong.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {

inline constexpr size_t kDeviceRequestsMax = 32;

/// False, and told, where the list is too long to be looked at.
bool IsBounded(const base::JsonArray& list, size_t most, const FieldPath& path, Causes& causes);
/// Tells of the second one of the same texts.
void DifferentTexts(const base::JsonArray& list, const FieldPath& path, Causes& causes);
/// The same of objects in a list, by a member of theirs.
void DifferentMembers(const base::JsonArray& list, std::string_view member, const FieldPath& path, Causes& causes);

/// All are required.
void DriverName(std::string_view name, const FieldPath& path, Causes& causes);
void PoolName(std::string_view name, const FieldPath& path, Causes& causes);
void LabelName(std::string_view name, const FieldPath& path, Causes& causes);
/// Of an attribute or a capacity: "model" or "example.com/model".
void QualifiedDeviceName(std::string_view name, const FieldPath& path, Causes& causes);

void DeviceTolerations(const base::Json& parent, const FieldPath& path, Causes& causes);
/// Of a device, or of one that is allocated.
void BindingConditions(const base::Json& parent, const FieldPath& path, Causes& causes);
/// Data that only a driver understands: an object of at most so many bytes.
void DriverData(const base::Json* data, size_t most, const FieldPath& path, Causes& causes);
/// `selectors` of `parent`.
void DeviceSelectors(const base::Json& parent, const FieldPath& path, Causes& causes);

/// A ResourceSlice's spec.
void SliceSpec(const base::Json& spec, const FieldPath& path, Causes& causes);
/// The names of a claim's requests: "req" and "req/sub".
std::set<std::string, std::less<>> RequestNames(const base::Json& claim_spec);
/// A list `requests`, or the one text `request`, that names such.
void RequestReference(std::string_view name, const std::set<std::string, std::less<>>& known, const FieldPath& path,
                      Causes& causes);
/// `requests` and the driver's parameters of a claim, a class (which has no requests) or an allocation.
void DeviceConfiguration(const base::Json& config, const std::set<std::string, std::less<>>& known, const FieldPath& path,
                         Causes& causes);
/// A claim's status that replaces another one.
void ClaimStatusUpdate(const base::Json& object, const base::Json& old, Causes& causes);

}  // namespace evenkeel::kube::validation
