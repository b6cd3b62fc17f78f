// Pieces that the validation of several kinds shares. `causes` collects what is wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "kube/field_path.h"
#include "kube/quantity.h"
#include "kube/resource.h"

namespace evenkeel::kube::validation {

using Causes = std::vector<base::Cause>;

std::string_view Text(const base::Json& parent, std::string_view key);
/// Empty for what is no text.
std::string_view TextIn(const base::Json& value);
/// Null when absent, null or not an object (array).
const base::Json* Member(const base::Json& parent, std::string_view key);
/// An empty object in place of null.
const base::Json& MemberOrNothing(const base::Json& parent, std::string_view key);
const base::JsonArray& List(const base::Json& parent, std::string_view key);
const base::JsonObject& Fields(const base::Json& parent, std::string_view key);
int64_t Number(const base::Json& parent, std::string_view key, int64_t fallback = 0);
bool Flag(const base::Json& parent, std::string_view key);
bool Has(const base::Json& parent, std::string_view key);
/// Whether both have the same value under the key; absent and null are the same.
bool SameMember(const base::Json& a, const base::Json& b, std::string_view key);

std::string CheckDns1035Label(std::string_view name);
std::string CheckPathSegment(std::string_view name);
std::string CheckPortName(std::string_view name);
std::string CheckConfigKey(std::string_view key);
std::string CheckEnvName(std::string_view name);
bool IsIpAddress(std::string_view text);

/// An address, IPv4 or IPv6.
void Address(std::string_view text, const FieldPath& path, Causes& causes);
/// A range of addresses, "10.0.0.0/8".
void AddressRange(std::string_view text, const FieldPath& path, Causes& causes);
/// None that only makes sense on one machine or one link, which others cannot reach.
void ReachableAddress(std::string_view text, const FieldPath& path, Causes& causes);
void Port(const base::Json& value, const FieldPath& path, Causes& causes);
void PortOrName(const base::Json& value, const FieldPath& path, Causes& causes);
void NonNegativeAmounts(const base::JsonObject& amounts, const FieldPath& path, Causes& causes);
void Labels(const base::JsonObject& labels, const FieldPath& path, Causes& causes);
void Annotations(const base::JsonObject& annotations, const FieldPath& path, Causes& causes);
void LabelSelector(const base::Json& selector, const FieldPath& path, Causes& causes);
/// Whether a LabelSelector matches these labels; an empty one matches all.
bool SelectorMatches(const base::Json& selector, const base::JsonObject& labels);

/// What a ResourceQuota counts, "requests.cpu" for example.
bool IsQuotaResourceName(std::string_view name);
/// A name without a domain is one that Kubernetes knows. False when it is no name at all.
bool ResourceName(std::string_view name, const FieldPath& path, Causes& causes);
/// Likewise what a container may have.
void ContainerResourceName(std::string_view name, const FieldPath& path, Causes& causes);
/// Not negative, and a whole number where the resource has no parts.
void ResourceAmount(std::string_view name, const Quantity& amount, const FieldPath& path, Causes& causes);

/// What a volume or a pod demands of nodes; `path` is the selector's.
void NodeSelector(const base::Json& selector, const FieldPath& path, Causes& causes);
/// A directory of a node that a volume shows.
void HostPath(const base::Json& source, const FieldPath& path, Causes& causes);
/// Whether it is a pod, or what a workload makes pods of: those get some defaults later.
enum class PodForm { kPod, kTemplate };
/// A pod's spec; `path` is where it stands, e.g. spec.template.spec.
void PodSpec(const base::Json& spec, PodForm form, const FieldPath& path, Causes& causes);
/// metadata and spec of a pod template.
void PodTemplate(const base::Json& pod_template, const FieldPath& path, Causes& causes);

/// The rules of one kind; kinds without any do nothing.
void Workload(const Resource& resource, const base::Json& object, Causes& causes);
void CoreKind(const Resource& resource, const base::Json& object, Causes& causes);
/// Services and Endpoints.
void ServiceKind(const Resource& resource, const base::Json& object, Causes& causes);
/// Volumes, claims for them and their classes.
void StorageKind(const Resource& resource, const base::Json& object, Causes& causes);
void OtherKind(const Resource& resource, const base::Json& object, Causes& causes);
void Networking(const Resource& resource, const base::Json& object, Causes& causes);
/// Roles, bindings, and reviews of what somebody may do.
void AccessKind(const Resource& resource, const base::Json& object, Causes& causes);

void Autoscaler(const Resource& resource, const base::Json& object, Causes& causes);
/// What holds of a new object alone.
void NewObject(const Resource& resource, const base::Json& object, Causes& causes);

/// Which writes webhooks and policies are asked about: lists of operations, groups, versions and resources.
void WriteRules(const base::JsonArray& rules, const FieldPath& path, Causes& causes);
/// ValidatingAdmissionPolicies and their bindings.
void AdmissionPolicyKind(const Resource& resource, const base::Json& object, Causes& causes);

/// Quotas and limit ranges: what bounds a namespace.
void BoundsKind(const Resource& resource, const base::Json& object, Causes& causes);
/// ResourceSlices and DeviceClasses.
void DeviceKind(const Resource& resource, const base::Json& object, Causes& causes);
/// What holds of new claims for devices and of their templates, which nobody can change.
void NewDeviceKind(const Resource& resource, const base::Json& object, Causes& causes);

/// Autoscalers, webhooks, API services, runtime classes, classes and levels of priority.
void PlatformKind(const Resource& resource, const base::Json& object, Causes& causes);

}  // namespace evenkeel::kube::validation
