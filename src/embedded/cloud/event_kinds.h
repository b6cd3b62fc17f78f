// What the embedded cloud writes Events of.
#pragma once

#include "client/event_kind.h"

namespace evenkeel::embedded::cloud::events {

using client::EventKind;

inline constexpr EventKind kInvalidNodeGroup{"InvalidNodeGroup", true, "NodeGroup", "the NodeGroup cannot be used"};
inline constexpr EventKind kNodeRefused{"NodeRefused", true, "NodeGroup", "the API refuses a node of the group"};
inline constexpr EventKind kOutOfStock{"OutOfStock", true, "NodeGroup", "the cloud has none of these instances"};
inline constexpr EventKind kQuotaExceeded{"QuotaExceeded", true, "NodeGroup", "the quota of instances is used up"};
inline constexpr EventKind kCreationFailed{"CreationFailed", true, "NodeGroup", "an instance could not be created"};

inline constexpr EventKind kAll[] = {kInvalidNodeGroup, kNodeRefused, kOutOfStock, kQuotaExceeded, kCreationFailed};

}  // namespace evenkeel::embedded::cloud::events
