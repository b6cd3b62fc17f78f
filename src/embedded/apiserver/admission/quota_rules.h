// What ResourceQuotas count, as Kubernetes' evaluators do. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "kube/amounts.h"
#include "kube/resource.h"

namespace evenkeel::embedded::apiserver {

/// What scopes ask of an object.
struct QuotaTraits {
  bool pod = false, claim = false;
  bool terminating = false;        ///< it has a deadline
  bool best_effort = false;        ///< it asks for nothing
  bool across_namespaces = false;  ///< its affinity looks into other namespaces
  std::string priority_class;
  std::vector<std::string> volume_classes;  ///< VolumeAttributesClasses
};

/// What one object takes.
struct QuotaCharge {
  /// By the names that quotas have for it: "requests.cpu", "pods", "count/pods".
  kube::Amounts usage;
  QuotaTraits traits;
  /// From then on a pod that should have ended takes nothing but its place.
  std::optional<base::Time> until;
};

/// One ResourceQuota.
struct QuotaBounds {
  struct Scope {
    std::string name, op;
    std::vector<std::string> values;
  };
  kube::Amounts hard;
  std::vector<Scope> scopes;  ///< all hold of what it counts

  static QuotaBounds Decode(const base::Json& quota);
  bool Covers(const QuotaTraits& traits) const;
};

/// "count/deployments.apps".
std::string QuotaCountName(const kube::Resource& resource);
/// Whether ChargeOf looks at the object itself. Kinds that are only counted need not be read.
bool IsMeasured(const kube::Resource& resource);
/// What the object takes at that time, but for its count. Kinds that are only counted have nothing else.
QuotaCharge ChargeOf(const kube::Resource& resource, const base::Json& object, base::Time now);
/// The GROUP/PLURAL whose objects a quota's name counts; nullopt for a name that nobody counts.
std::optional<std::pair<std::string, std::string>> KindOfQuotaName(std::string_view name);
/// What containers of the pod must say because the quota bounds it: "must specify cpu for: a,b; memory for: a"; "" when they
/// do.
std::string UnspecifiedAmounts(const QuotaBounds& quota, const base::Json& pod);
/// "cpu=1,memory=1Gi".
std::string AmountsText(const kube::Amounts& amounts);

}  // namespace evenkeel::embedded::apiserver
