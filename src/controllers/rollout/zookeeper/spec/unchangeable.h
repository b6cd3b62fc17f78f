// Which fields of a spec cannot change while servers run with it. A server looks up the address of an id only when it starts.
// If some servers had another address for an id, the ensemble would fall apart, and `reconfig` counts ids. Volumes come from
// the claim templates of a StatefulSet, which cannot change either.
#pragma once

#include "base/result.h"
#include "controllers/rollout/zookeeper/spec/desired_ensemble.h"
#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

namespace evenkeel::controllers::rollout::zookeeper {

/// Before the spec's stride and mode become the state's. kBadRequest (WrongField) names the field that has to be put back, and
/// the other way to what is wanted, where there is one.
base::Status CheckUnchangeable(const kube::ManifestObject& object, const EnsembleSpec& spec, const EnsembleState& state);

}  // namespace evenkeel::controllers::rollout::zookeeper
