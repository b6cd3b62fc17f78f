// A stand-in for the part of Karmada that ordered rollouts need, on a hub of the embedded fleet: policies make bindings,
// bindings are scheduled and become Works, Works become objects in members, and what those report comes back. Object shapes,
// names and rules are Karmada's, so that what runs here runs on Karmada (docs/FEDERATION.md says what is not here). Without
// policies it does nothing but look every ten seconds whether the members are there.
#pragma once

#include <memory>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"
#include "embedded/federation/hub/cluster_registry.h"
#include "embedded/federation/policies/hub.h"
#include "embedded/federation/policies/interpreter.h"

namespace evenkeel::embedded::federation {

struct FederationOptions {
  MemberConnector connect = NewHttpConnector();
  Habits habits{};
  HookTransport ask = NewHttpsTransport();  ///< how interpreter webhooks are reached; in virtual time: a function
};

class Federation {
 public:
  /// The hub's API must know the kinds (InstallDefinitions).
  Federation(client::Client& hub, base::Executor& executor, base::Random random, FederationOptions options = {});
  /// Stops; not from a strand of its own. Nobody may ask IsTemplate any more.
  ~Federation();
  Federation(const Federation&) = delete;
  Federation& operator=(const Federation&) = delete;

  /// Once.
  void Start();
  /// Whether the object is a template for members, which the hub's own controllers leave alone. Thread-safe.
  bool IsTemplate(const base::Json& object) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evenkeel::embedded::federation
