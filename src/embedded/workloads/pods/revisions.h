// ControllerRevisions: the templates that a StatefulSet or DaemonSet has had, as `kubectl rollout history` and `undo` read
// them.
#pragma once

#include <string>
#include <vector>

#include "embedded/workloads/pods/reconciler.h"
#include "kube/selector.h"

namespace evenkeel::embedded::workloads {

struct Revision {
  std::string name;  ///< also the value of the pods' label controller-revision-hash, but for the DaemonSet's, see hash
  std::string hash;
  int64_t number = 0;
  base::Json data;  ///< {"spec":{"template":{...,"$patch":"replace"}}}
};

/// All revisions of a set, the current template's last with the highest number (made or raised as needed), oldest first.
/// `collisions` is status.collisionCount. kConflict when the cache is behind.
base::Result<std::vector<Revision>> SyncRevisions(Context& context, const kube::Resource& kind, const kube::Object& owner,
                                                  const kube::LabelSelector& selector);
/// Deletes the oldest revisions beyond spec.revisionHistoryLimit that no pod (by label controller-revision-hash) and no status
/// uses.
base::Status TrimRevisions(Context& context, const kube::Object& owner, const std::vector<Revision>& revisions,
                           const std::vector<std::string>& in_use);
/// The pod template of a revision.
base::Json TemplateOf(const Revision& revision);

}  // namespace evenkeel::embedded::workloads
