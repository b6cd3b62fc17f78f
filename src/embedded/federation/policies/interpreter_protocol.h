// Asking a resource interpreter: what is sent, who is asked, and what an answer must be like. The caller's side of Karmada's
// protocol (ResourceInterpreterContext, config.karmada.io/v1alpha1), in its words. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace evenkeel::embedded::federation {

inline constexpr char kInterpretReplica[] = "InterpretReplica";
inline constexpr char kReviseReplica[] = "ReviseReplica";
inline constexpr char kRetain[] = "Retain";
inline constexpr char kInterpretStatus[] = "InterpretStatus";
inline constexpr char kAggregateStatus[] = "AggregateStatus";
inline constexpr char kInterpretHealth[] = "InterpretHealth";
inline constexpr char kInterpretDependency[] = "InterpretDependency";

struct InterpreterQuestion {
  std::string operation;
  const base::Json* object = nullptr;    ///< the template, or (status, health) the member's copy
  const base::Json* observed = nullptr;  ///< kRetain: the member's copy
  int64_t replicas = 0;                  ///< kReviseReplica
  base::JsonArray aggregated_status{};   ///< kAggregateStatus
};

/// One entry of a ResourceInterpreterWebhookConfiguration.
struct InterpreterHook {
  std::string id;  ///< "CONFIGURATION/HOOK"
  base::Json webhook;
};

/// The hook for that kind and operation: the first by id of those that match.
std::optional<InterpreterHook> FindHook(const std::vector<base::Json>& configurations, std::string_view api_version,
                                        std::string_view kind, std::string_view operation);

/// The version of the context to speak: kInvalid when the hook knows none of ours.
base::Result<std::string> ContextVersion(const base::Json& webhook);

/// The body of the request.
base::Json MakeContext(const InterpreterQuestion& question, std::string_view uid);

/// Takes the response out of an answer and checks all that the operation needs of it. kInvalid in Karmada's words.
base::Result<base::Json> CheckAnswer(const base::Json& context, std::string_view operation, std::string_view uid);

/// The object after the response's patch; the same without one.
base::Result<base::Json> ApplyAnswer(const base::Json& object, const base::Json& response);

}  // namespace evenkeel::embedded::federation
