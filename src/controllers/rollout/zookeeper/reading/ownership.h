// Tells which objects on the hub belong to an ensemble. They carry a label with its name (kOwnerLabel), and their names begin
// with its name. The controller neither writes nor deletes an object that has such a name and belongs to another owner.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "controllers/rollout/zookeeper/reading/fleet_reading.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/server_names.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// The name of the MultiClusterZooKeeper; "": none.
std::string_view OwnerOf(const base::Json& object);

/// Whether the object is of the ensemble with this name. `begun`: it has records. Nothing begins as long as a name is taken, so
/// what has lost its label since then is its own all the same.
bool Belongs(const base::Json& object, std::string_view ensemble, bool begun);

/// An object that the ensemble would write and that is somebody else's, for people, and what to do; "": there is none.
std::string FindTaken(const EnsembleSpec& spec, const Identities& identities, const FleetObjects& objects, bool begun);

}  // namespace evenkeel::controllers::rollout::zookeeper
