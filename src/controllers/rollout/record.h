// The history of a rollout as it stands in an object's status: one record per change, each with the order in which the clusters
// get it and how far it has come. The field names are those of the design that this implements (observedGenerations, order,
// status, currentState, lastTransitionTime); everything else is an addition, so that readers of the original schema go on
// working.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/input/field.h"
#include "base/json.h"
#include "base/time.h"

namespace evenkeel::controllers::rollout {

/// Deploying, Paused and RollingBack are under way; the others are final.
enum class RecordStatus { kDeploying, kReady, kPaused, kFailed, kRollingBack, kSuperseded };

std::string_view Name(RecordStatus status);
bool IsFinal(RecordStatus status);

struct Record {
  std::map<std::string, int64_t> observed_generations;  ///< of the objects that it was made from; for people
  std::vector<std::string> order;                       ///< clusters; each is in exactly one of the next three
  RecordStatus status = RecordStatus::kDeploying;
  std::vector<std::string> pending, deploying, completed;  ///< at most one is deploying
  base::Time last_transition{};

  // Additions.
  std::string revision;       ///< what the clusters get; "": written by a program that does not say
  std::string base_revision;  ///< what they had before; "": nothing, a first deployment
  std::string spec_hash, schedule_hash, uid;
  std::optional<base::Time> started;     ///< when the record was made
  std::optional<base::Time> progressed;  ///< when the cluster in `deploying` was last seen to come forward
  std::string progress;                  ///< how far that was, as the stateful system words it
  std::vector<int64_t> advance;          ///< and counts it (ClusterFacts::advance)
  std::string reason, message;           ///< why it is Paused, RollingBack or Failed
  base::JsonObject others;               ///< what else stood there, kept

  bool operator==(const Record&) const = default;
  /// Whether any cluster has it or is getting it.
  bool Advanced() const { return !deploying.empty() || !completed.empty(); }
};

/// "": sound. Otherwise which field (from the record on) is wrong and how: clusters twice in order, clusters in two of the
/// three sets or in none, more than one deploying, pending not in the order of `order`, sets that do not go with the status.
std::string CheckRecord(const Record& record);

/// The array status.records, the latest last; absent is no records. A field that is missing or ill-formed, a record that
/// CheckRecord refuses, and one under way that is not the last are kBadRequest: "status.records[1].order: ...". Read as their
/// writers meant them: status "Deploy" for Deploying; no currentState at all, or one without "pending", for "the rest of
/// order".
base::Result<std::vector<Record>> ReadRecords(const base::Field& records);
base::JsonArray WriteRecords(const std::vector<Record>& records);

bool Contains(const std::vector<std::string>& names, std::string_view name);
/// A name or text of somebody else's file in quotes, in one line, cut where it is long.
std::string Quoted(std::string_view text);

}  // namespace evenkeel::controllers::rollout
