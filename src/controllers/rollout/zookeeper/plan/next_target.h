// What an ensemble's clusters are to be brought to next, given what they have and what the user wants in the end.
#pragma once

#include <string>

#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// Names of revisions in the state; "" is none.
struct Lists {
  std::string base;     ///< what the clusters had before the last record
  std::string current;  ///< what the last record brings
};

/// Those of the last record. One whose revisions are not in the status, because another program wrote it, is made sense of:
/// with the generations as they were it brought what the spec says; otherwise what its clusters' overrides say (`children`).
/// What such a cluster is pinned to stays unknown, unless it has no override: then nobody else has pinned it.
Lists AdoptLastRecord(const EnsembleSpec& spec, const std::map<std::string, int64_t>& generations,
                      const std::vector<const base::Json*>& children, EnsembleState& state);

struct NextRevision {
  Revision revision;
  std::string base;  ///< what clusters that do not have it may have
};

/// The next revision on the way to the spec. As long as a record that changes the servers is under way, there is no third list:
/// it is finished, with a new template if the user wants one, or taken back if the user wants the old list.
NextRevision FindNextRevision(const EnsembleSpec& spec, const EnsembleState& state, const Lists& lists);

}  // namespace evenkeel::controllers::rollout::zookeeper
