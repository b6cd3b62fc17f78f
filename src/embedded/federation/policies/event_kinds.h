// What the federation writes Events of.
#pragma once

#include "client/event_kind.h"

namespace evenkeel::embedded::federation::events {

using client::EventKind;

inline constexpr EventKind kInvalidPolicy{"InvalidPolicy", true, "PropagationPolicy, ClusterPropagationPolicy",
                                          "the policy cannot be used"};
inline constexpr EventKind kInvalidInterpreter{"InvalidInterpreter", true, "ResourceInterpreterWebhookConfiguration",
                                               "the webhooks cannot be asked: none of the object's is"};
inline constexpr EventKind kSyncWorkFailed{"SyncWorkFailed", true, "ResourceBinding",
                                           "what a cluster is to get cannot be made"};
inline constexpr EventKind kApplyOverridePolicyFailed{"ApplyOverridePolicyFailed", true, "the object that is propagated",
                                                      "an override for a cluster cannot be applied to it"};
inline constexpr EventKind kInvalidEndpointSlice{"InvalidEndpointSlice", true, "Work",
                                                 "the EndpointSlice that a member has reported cannot be read"};
inline constexpr EventKind kServiceNameTaken{"ServiceNameTaken", true, "ServiceImport",
                                             "there is a Service of the name that would be derived"};

inline constexpr EventKind kAll[] = {kInvalidPolicy,        kInvalidInterpreter, kSyncWorkFailed, kApplyOverridePolicyFailed,
                                     kInvalidEndpointSlice, kServiceNameTaken};

}  // namespace evenkeel::embedded::federation::events
