// Where the autoscaler's memory survives it: ConfigMap `evenkeel-autoscaler-state` in the member, next to the status ConfigMap,
// so that whichever replica owns the member next goes on from there.
#pragma once

#include <string>

#include "client/client.h"
#include "controllers/autoscaler/loop/autoscaler_memory.h"

namespace evenkeel::controllers::autoscaler {

inline constexpr const char* kStateConfigMap = "evenkeel-autoscaler-state";

/// Creates or changes a ConfigMap: `edit` gets the object and says whether it is to be written.
base::Status EditConfigMap(client::Client& client, const std::string& ns, const std::string& name,
                           const std::function<bool(base::Json&)>& edit);

struct StoredState {
  base::Json state;        ///< null: none
  std::string unreadable;  ///< why what is there cannot be used; "" otherwise
};
/// An error only when the API does not answer.
base::Result<StoredState> ReadStoredState(client::Client& client, const std::string& ns);

class StateStore {
 public:
  StateStore(client::Client& client, const Options& options) : client_(client), options_(options) {}

  /// What the predecessor knew; a new state when there is none or it cannot be read, and then `unreadable` says why and the
  /// next Save keeps it under the key "unreadable". `objects`, which have been told of all nodes and pods, hear their part.
  base::Result<AutoscalerState> Load(ClusterObjects& objects, std::string& unreadable);
  /// Writes it if it has changed since the last time; what is as large as the cluster (autoscaler_memory.h) once a minute if it
  /// is large, and no more of it than a ConfigMap holds.
  base::Status Save(const AutoscalerState& state, const ClusterObjects& objects, base::Time now);

 private:
  client::Client& client_;
  const Options& options_;
  base::Result<AutoscalerState> Decode(const base::Json& json, ClusterObjects& objects) const;

  std::string saved_;           // the text of its timers
  uint64_t saved_changes_ = 0;  // as of the memory that was written
  bool large_ = false;          // it was
  base::Time saved_at_{};
  bool keep_unreadable_ = false;
};

}  // namespace evenkeel::controllers::autoscaler
