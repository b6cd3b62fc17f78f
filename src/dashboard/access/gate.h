// Asks the hub who somebody is and what they may do.
#pragma once

#include <memory>
#include <string_view>

#include "client/client.h"
#include "dashboard/access/identity.h"

namespace evenkeel::dashboard {

/// Blocks. Thread-safe.
class Gate {
 public:
  virtual ~Gate() = default;
  /// kForbidden in one sentence; kUnavailable where the hub does not say: whoever asks then may not.
  virtual base::Status Allow(const Identity& who, const Question& what) = 0;
  /// Of a token of the hub's own. kUnauthorized: it is none; kUnavailable: the hub does not say.
  virtual base::Result<Identity> WhoIs(std::string_view token) = 0;
};

/// By a SubjectAccessReview for each question, and a TokenReview for each token. The client outlives it.
std::unique_ptr<Gate> NewHubGate(client::Client& hub);

}  // namespace evenkeel::dashboard
