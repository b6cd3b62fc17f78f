// The validating admission webhook for MultiClusterZooKeeper (admission.k8s.io/v1): what the controller would refuse with a
// condition is refused when it is written, and what it would warn of is a warning at once. Pure.
//
// A spec is judged when it is new or changed, so that an object from before can still be labelled, finalized and deleted. A
// status is judged by what a rollout goes on from: records, indices, revisions; whoever edits them into something that
// contradicts itself is refused.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace evenkeel::controllers::rollout::zookeeper {

struct AdmissionAnswer {
  int http_status = 200;
  std::string body;  ///< an AdmissionReview; with another HTTP status, a line of text
};

/// Anything but an AdmissionReview with a request is HTTP 400.
AdmissionAnswer AnswerAdmission(std::string_view content_type, std::string_view body);

/// The `response` for a `request`.
base::Json Review(const base::Json& request);

}  // namespace evenkeel::controllers::rollout::zookeeper
