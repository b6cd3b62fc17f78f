#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/hash.h"
#include "controllers/rollout/zookeeper/spec/forms.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

using Outcome = RecoveryNote::Outcome;
constexpr std::pair<Outcome, const char*> kOutcomes[] = {
    {Outcome::kRefused, "Refused"}, {Outcome::kStarted, "Started"}, {Outcome::kCompleted, "Completed"}};

class StateReader {
 public:
  StateReader(const kube::ManifestObject& object, EnsembleState& state) : object_(object), state_(state) {}

  base::Status Read() {
    const Json* status = base::Find(object_.object, {"status"});
    if (status == nullptr || status->is_null()) return {};
    if (!status->is_object()) return Wrong("status", "not an object");
    auto records = ReadRecords(base::Find(*status, {"records"}));
    if (!records) return WrongField(object_, "", records.error().message());
    state_.rollout.records = *std::move(records);
    EVENKEEL_TRY(ReadIndices());
    EVENKEEL_TRY(ReadRevisions());
    EVENKEEL_TRY(ReadClusters());
    EVENKEEL_TRY(CheckBase());
    EVENKEEL_TRY(CheckLastRecord());
    EVENKEEL_TRY(ReadRecoveries());
    ReadScheduling();
    state_.stride = base::FindInt(*status, {"stride"});
    state_.format = std::max<int64_t>(base::FindInt(*status, {kFormatField}), 1);
    if (const std::string_view mode = FindString(*status, {"namingMode"}); !mode.empty()) {
      state_.mode = ParseNamingMode(mode);
      if (!state_.mode) return Wrong("status.namingMode", Quoted(mode) + " is none");
    }
    if (state_.stride < 0 || state_.stride > kIdMax) return Wrong("status.stride", fmt::format("not from 0 to {}", kIdMax));
    return {};
  }

 private:
  std::unexpected<base::Error> Wrong(const std::string& field, const std::string& what) const {
    return WrongField(object_, field, what);
  }

  /// Null when absent.
  const Json* At(std::string_view field) const {
    const Json* value = base::Find(object_.object, {"status", field});
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  base::Status ReadIndices() {
    std::set<int64_t> used;
    if (const Json* indices = At("clusterIndices")) {
      if (!indices->is_object()) return Wrong("status.clusterIndices", "not an object of numbers");
      for (const auto& [name, value] : indices->get_object()) {
        const std::string at = "status.clusterIndices[" + Quoted(name) + "]";
        const int64_t index = base::FindInt(*indices, {name}, -1);
        if (index < 0 || index >= kIdMax) return Wrong(at, fmt::format("not a whole number from 0 to {}", kIdMax - 1));
        if (!used.insert(index).second) return Wrong(at, fmt::format("{} is the index of another cluster, too", index));
        state_.identities.emplace(name, ClusterIdentity{index, std::string(name)});
      }
    }
    const Json* retired = At("retiredIndices");
    if (retired == nullptr) return {};
    if (!retired->is_array()) return Wrong("status.retiredIndices", "not a list of numbers");
    for (const Json& value : retired->get_array()) {
      const int64_t index = value.is_int64() ? value.get_int64() : -1;
      const std::string at = fmt::format("status.retiredIndices[{}]", state_.retired.size());
      if (index < 0 || index >= kIdMax) return Wrong(at, fmt::format("not a whole number from 0 to {}", kIdMax - 1));
      if (used.contains(index)) return Wrong(at, fmt::format("{} is the index of a cluster", index));
      state_.retired.insert(index);
    }
    return {};
  }

  base::Result<Shares> ReadShares(const Json& json, const std::string& at) const {
    Shares shares;
    const Json* list = base::Find(json, {"shares"});
    if (list == nullptr || !list->is_object()) return Wrong(at + ".shares", "not an object of numbers");
    for (const auto& [name, value] : list->get_object()) {
      const int64_t share = base::FindInt(*list, {name}, -1);
      if (share < 1 || share > kIdMax || !state_.identities.contains(std::string(name))) {
        return Wrong(at + ".shares[" + Quoted(name) + "]", "not the number of servers of a cluster in status.clusterIndices");
      }
      shares.emplace(name, share);
    }
    return shares;
  }

  base::Status ReadRevisions() {
    const Json* revisions = At("revisions");
    if (revisions == nullptr) return {};
    if (!revisions->is_array()) return Wrong("status.revisions", "not a list");
    size_t index = 0;
    for (const Json& json : revisions->get_array()) {
      const std::string at = fmt::format("status.revisions[{}]", index++);
      const Json* body = base::Find(json, {"template"});
      if (body == nullptr || !body->is_object()) return Wrong(at + ".template", "not an object");
      EVENKEEL_ASSIGN(const Shares shares, ReadShares(json, at));
      std::vector<std::string> servers;
      for (const Json& server : base::FindArray(json, {"servers"})) {
        if (!server.is_string()) return Wrong(at + ".servers", "not a list of texts");
        servers.emplace_back(server.get_string());
      }
      Revision revision = MakeRevision(*body, shares, std::move(servers));
      // It says what clusters are pinned to: edited by hand it would change all of them at once.
      if (revision.name != FindString(json, {"name"})) {
        return Wrong(at, "its name is not the hash of its content, " + revision.name + ": was it edited?");
      }
      state_.revisions.emplace(revision.name, std::move(revision));
    }
    return {};
  }

  /// 1 where it is absent, as in statuses of programs that do not count turns.
  base::Result<int64_t> ReadTurn(const Json& json, const std::string& at) const {
    const Json* value = base::Find(json, {"turn"});
    if (value == nullptr || value->is_null()) return 1;
    const int64_t turn = value->is_int64() ? value->get_int64() : 0;
    if (turn < 1 || turn > kMaxTurn) return Wrong(at + ".turn", fmt::format("not a whole number from 1 to {}", kMaxTurn));
    return turn;
  }

  base::Status ReadClusters() {
    const Json* clusters = At("clusters");
    if (clusters == nullptr) return {};
    if (!clusters->is_array()) return Wrong("status.clusters", "not a list");
    size_t index = 0;
    for (const Json& json : clusters->get_array()) {
      const std::string at = fmt::format("status.clusters[{}]", index++);
      const std::string name(FindString(json, {"name"}));
      const auto identity = state_.identities.find(name);
      if (identity == state_.identities.end())
        return Wrong(at + ".name", Quoted(name) + " has no index in status.clusterIndices");
      identity->second.id = FindString(json, {"clusterID"}, name);
      if (base::FindBool(json, {kCopiedField})) state_.copied.insert(name);
      if (const std::string_view uid = FindString(json, {kBoundField}); !uid.empty()) state_.bound.emplace(name, uid);
      ClusterRevision cluster{std::string(FindString(json, {"revision"})), std::string(FindString(json, {"previousRevision"}))};
      if (cluster.revision.empty()) continue;
      for (const auto& [field, revision] :
           {std::pair("revision", &cluster.revision), std::pair("previousRevision", &cluster.previous)}) {
        if (!revision->empty() && state_.Find(*revision) == nullptr) {
          return Wrong(at + "." + field, Quoted(*revision) + " is not in status.revisions");
        }
      }
      EVENKEEL_ASSIGN(cluster.turn, ReadTurn(json, at));
      cluster.confirmed = base::FindBool(json, {"confirmed"}, true);
      cluster.held = base::FindBool(json, {"held"});
      if (!state_.rollout.clusters.emplace(name, std::move(cluster)).second)
        return Wrong(at + ".name", Quoted(name) + " is listed twice");
    }
    return {};
  }

  /// Without the list that the clusters come from, a change would pass for a first deployment, which needs no majority.
  base::Status CheckBase() const {
    if (state_.rollout.records.empty()) return {};
    const Record& last = state_.rollout.records.back();
    const bool matters = !IsFinal(last.status) || last.status == RecordStatus::kFailed;
    if (!matters || last.base_revision.empty() || state_.Find(last.base_revision) != nullptr) return {};
    return Wrong(fmt::format("status.records[{}].baseRevision", state_.rollout.records.size() - 1),
                 Quoted(last.base_revision) + " is not in status.revisions");
  }

  /// Of a record whose revision is known: what it says of clusters is what they have been given. One that says more would end
  /// too early; one that leaves a cluster out would take servers for gone that run.
  base::Status CheckLastRecord() const {
    if (state_.rollout.records.empty()) return {};
    const Record& last = state_.rollout.records.back();
    const std::string at = fmt::format("status.records[{}].", state_.rollout.records.size() - 1);
    const Revision *current = state_.Find(last.revision), *base = state_.Find(last.base_revision);
    if (current == nullptr) return {};
    for (const Revision* list : {base, current}) {
      if (list == nullptr) continue;
      for (const auto& [cluster, share] : list->shares) {
        if (!Contains(last.order, cluster)) return Wrong(at + "order", Quoted(cluster) + " has servers, but is missing");
      }
    }
    for (const std::string& cluster : last.completed) {
      const auto given = state_.rollout.clusters.find(cluster);
      if (given != state_.rollout.clusters.end() && given->second.revision != last.revision)
        return Wrong(at + "currentState.completed", Quoted(cluster) + " has been given another revision");
    }
    for (const std::string& cluster : last.deploying) {
      const auto given = state_.rollout.clusters.find(cluster);
      const bool goes_back = last.status == RecordStatus::kRollingBack;
      if (given == state_.rollout.clusters.end() || (given->second.revision == last.revision) == goes_back)
        return Wrong(at + "currentState.deploying", Quoted(cluster) + " has been given another revision, or none");
    }
    if (last.status == RecordStatus::kReady) return {};
    for (const std::string& cluster : last.order) {
      if (!state_.identities.contains(cluster))
        return Wrong(at + "order", Quoted(cluster) + " has no index in status.clusterIndices");
    }
    return {};
  }

  /// Whatever it says, it decides only when Karmada is asked again.
  void ReadScheduling() {
    const Json* json = At("scheduling");
    if (json == nullptr) return;
    Scheduling& scheduling = state_.scheduling;
    scheduling.attempt = std::clamp<int64_t>(base::FindInt(*json, {"attempt"}), 0, kMaxTurn);
    scheduling.asked = std::clamp<int64_t>(base::FindInt(*json, {"asked"}), 0, kMaxTurn);
    if (const auto since = base::ParseTime(FindString(*json, {"since"}))) scheduling.since = *since;
    if (const auto asked_at = base::ParseTime(FindString(*json, {"askedAt"}))) scheduling.asked_at = *asked_at;
  }

  base::Status ReadRecoveries() {
    const Json* notes = At("recoveries");
    if (notes == nullptr) return {};
    if (!notes->is_array()) return Wrong("status.recoveries", "not a list");
    for (const Json& json : notes->get_array()) {
      const std::string at = fmt::format("status.recoveries[{}]", state_.recoveries.size());
      RecoveryNote note;
      note.request = FindString(json, {"request"});
      if (const std::string wrong = CheckRecoveryName(note.request); !wrong.empty()) return Wrong(at + ".request", wrong);
      const auto* outcome =
          std::ranges::find(kOutcomes, FindString(json, {"outcome"}), &std::pair<Outcome, const char*>::second);
      if (outcome == std::end(kOutcomes)) return Wrong(at + ".outcome", "not Refused, Started or Completed");
      note.outcome = outcome->first;
      const auto decided = base::ParseTime(FindString(json, {"decidedAt"}));
      if (!decided) return Wrong(at + ".decidedAt", "not an RFC 3339 time");
      note.decided = *decided;
      note.message = FindString(json, {"message"});
      for (const Json& cluster : base::FindArray(json, {"lost"})) {
        if (!cluster.is_string() || !state_.identities.contains(std::string(cluster.get_string()))) {
          return Wrong(at + ".lost", "not clusters in status.clusterIndices");
        }
        note.lost.emplace(cluster.get_string());
      }
      state_.recoveries.push_back(std::move(note));
    }
    return {};
  }

  const kube::ManifestObject& object_;
  EnsembleState& state_;
};

}  // namespace

std::string HashOf(const Json& value) { return fmt::format("{:016x}", base::Blake2b64(base::CanonicalText(value))); }

Json ToJson(const Shares& shares) {
  JsonObject json;
  for (const auto& [cluster, share] : shares) json[cluster] = share;
  return json;
}

Revision MakeRevision(const Json& body, const Shares& shares, std::vector<std::string> servers) {
  JsonArray list;
  for (const std::string& server : servers) list.push_back(Json(server));
  std::string name = HashOf(JsonObject{{"template", body}, {"shares", ToJson(shares)}, {"servers", std::move(list)}});
  return {std::move(name), Json(body, {}), shares, std::move(servers)};
}

bool IsRecovery(const Revision& revision) { return base::Find(revision.body, {kRecoveryField}) != nullptr; }

const Revision* EnsembleState::Find(const std::string& revision) const {
  const auto found = revisions.find(revision);
  return found == revisions.end() ? nullptr : &found->second;
}

int64_t EnsembleState::Started(const Shares& list) const {
  int64_t started = 0;
  for (const auto& [cluster, share] : list) started += rollout.clusters.contains(cluster) ? share : 0;
  return started;
}

std::set<int64_t> EnsembleState::LeavingElsewhere(const std::string& cluster) const {
  std::set<int64_t> leaving;
  const auto given = rollout.clusters.find(cluster);
  if (rollout.records.empty() || given == rollout.clusters.end()) return leaving;
  const Record& record = rollout.records.back();
  const Revision *base = Find(record.base_revision), *current = Find(record.revision);
  if (record.status == RecordStatus::kReady || base == nullptr || current == nullptr) return leaving;
  const Revision* has = Find(given->second.revision);
  if (has == nullptr || has->shares != current->shares) return leaving;
  for (const auto& [other, share] : base->shares) {
    const int64_t offset = identities.at(other).index * stride;
    for (int64_t ordinal = ShareOf(current->shares, other); ordinal < share; ++ordinal) {
      if (other != cluster) leaving.insert(offset + ordinal + 1);
    }
  }
  return leaving;
}

void EnsembleState::AssignIndices(const EnsembleSpec& spec) {
  int64_t next = retired.empty() ? 0 : *retired.rbegin() + 1;
  for (const auto& [name, identity] : identities) next = std::max(next, identity.index + 1);
  std::map<std::string, std::string> clusters = spec.cluster_ids;
  // Records by a program that knows no indices.
  if (!rollout.records.empty() && identities.empty() && retired.empty()) {
    for (const std::string& name : rollout.records.back().order) clusters.emplace(name, name);
  }
  for (const auto& [name, id] : clusters) {
    const auto [found, fresh] = identities.emplace(name, ClusterIdentity{next, id});
    if (fresh) ++next;
    if (spec.cluster_ids.contains(name)) found->second.id = id;
  }
  stride = spec.naming.stride;
  mode = spec.naming.mode;
}

std::string_view Name(RecoveryNote::Outcome outcome) {
  const auto* found = std::ranges::find(kOutcomes, outcome, &std::pair<Outcome, const char*>::first);
  EVENKEEL_CHECK(found != std::end(kOutcomes));
  return found->second;
}

bool EnsembleState::Knows(const std::string& request) const {
  return std::ranges::find(recoveries, request, &RecoveryNote::request) != recoveries.end() ||
         std::ranges::any_of(
             revisions, [&](const auto& item) { return FindString(item.second.body, {kRecoveryField, "request"}) == request; });
}

bool EnsembleState::IsLost(const std::string& cluster) const {
  return std::ranges::any_of(recoveries, [&](const RecoveryNote& note) { return note.lost.contains(cluster); });
}

bool EnsembleState::IsCountedOn(const std::string& cluster) const {
  return std::ranges::any_of(rollout.clusters, [&](const auto& item) {
    const Revision* list = Find(item.second.revision);
    return list != nullptr && list->shares.contains(cluster) && list->shares.contains(item.first);
  });
}

void EnsembleState::Retire(const std::string& cluster, const std::string& current) {
  for (RecoveryNote& note : recoveries) note.lost.erase(cluster);
  if (const auto found = identities.find(cluster); found != identities.end()) {
    retired.insert(found->second.index);
    identities.erase(found);
  }
  rollout.clusters.erase(cluster);
  copied.erase(cluster);
  bound.erase(cluster);
  // Nobody goes back to a list with servers in it that are gone.
  std::erase_if(revisions, [&](const auto& item) { return item.second.shares.contains(cluster); });
  for (auto& [name, given] : rollout.clusters) {
    if (Find(given.previous) == nullptr) given.previous.clear();
    if (Find(given.revision) != nullptr) continue;
    // It was emptied before and has not been released yet, so there is nothing that it would have to confirm.
    given.Give(current);
    given.previous.clear();
    given.confirmed = true;
  }
}

std::vector<const Revision*> EnsembleState::InForce() const {
  std::set<std::string> names;
  for (const auto& [cluster, given] : rollout.clusters) {
    names.insert(given.revision);
    if (!given.confirmed) names.insert(given.previous);
  }
  if (!rollout.records.empty() && rollout.records.back().status != RecordStatus::kReady) {
    names.insert({rollout.records.back().revision, rollout.records.back().base_revision});
  }
  std::vector<const Revision*> found;
  for (const std::string& name : names) {
    if (const Revision* revision = Find(name)) found.push_back(revision);
  }
  return found;
}

void EnsembleState::DropRevisions() {
  std::set<std::string> needed;
  for (const auto& [name, cluster] : rollout.clusters) needed.insert({cluster.revision, cluster.previous});
  if (!rollout.records.empty()) needed.insert({rollout.records.back().revision, rollout.records.back().base_revision});
  std::erase_if(revisions, [&](const auto& item) { return !needed.contains(item.first); });
}

std::string MarkOf(const ClusterRevision& given) {
  return given.turn == 1 ? given.revision : fmt::format("{}.{}", given.revision, given.turn);
}

base::Result<EnsembleState> ReadState(const kube::ManifestObject& object) {
  EnsembleState state;
  EVENKEEL_TRY(StateReader(object, state).Read());
  return state;
}

void WriteState(const EnsembleState& state, JsonObject& status) {
  status["records"] = WriteRecords(state.rollout.records);
  JsonObject indices;
  JsonArray clusters;
  for (const auto& [name, identity] : state.identities) {
    indices[name] = identity.index;
    JsonObject cluster{{"name", name}, {"clusterID", identity.id}, {"replicas", 0}};
    if (state.copied.contains(name)) cluster[kCopiedField] = true;
    if (const auto bound = state.bound.find(name); bound != state.bound.end()) cluster[kBoundField] = bound->second;
    if (const auto given = state.rollout.clusters.find(name); given != state.rollout.clusters.end()) {
      cluster["revision"] = given->second.revision;
      if (!given->second.previous.empty()) cluster["previousRevision"] = given->second.previous;
      cluster["turn"] = given->second.turn;
      cluster["confirmed"] = given->second.confirmed;
      if (given->second.held) cluster["held"] = true;
      const Revision* revision = state.Find(given->second.revision);
      if (revision != nullptr) cluster["replicas"] = ShareOf(revision->shares, name);
    }
    clusters.push_back(std::move(cluster));
  }
  status["clusterIndices"] = std::move(indices);
  JsonArray retired;
  for (const int64_t index : state.retired) retired.push_back(index);
  status["retiredIndices"] = std::move(retired);
  status["stride"] = state.stride;
  status.erase(kFormatField);
  if (state.format > 1) status[kFormatField] = state.format;
  if (state.mode) status["namingMode"] = Name(*state.mode);
  status["clusters"] = std::move(clusters);
  JsonArray revisions;
  for (const auto& [name, revision] : state.revisions) {
    JsonArray servers;
    for (const std::string& server : revision.servers) servers.push_back(Json(server));
    revisions.push_back(JsonObject{
        {"name", name}, {"template", revision.body}, {"shares", ToJson(revision.shares)}, {"servers", std::move(servers)}});
  }
  status["revisions"] = std::move(revisions);
  JsonArray notes;
  for (const RecoveryNote& note : state.recoveries) {
    JsonArray lost;
    for (const std::string& cluster : note.lost) lost.push_back(Json(cluster));
    notes.push_back(JsonObject{{"request", note.request},
                               {"outcome", Name(note.outcome)},
                               {"decidedAt", base::FormatTime(note.decided)},
                               {"message", note.message},
                               {"lost", std::move(lost)}});
  }
  if (!notes.empty()) status["recoveries"] = std::move(notes);
  status.erase("scheduling");
  if (state.scheduling.attempt == 0 && !state.scheduling.since) return;
  JsonObject scheduling{{"attempt", state.scheduling.attempt}, {"asked", state.scheduling.asked}};
  if (state.scheduling.since) scheduling["since"] = base::FormatTime(*state.scheduling.since);
  if (state.scheduling.asked_at) scheduling["askedAt"] = base::FormatTime(*state.scheduling.asked_at);
  status["scheduling"] = std::move(scheduling);
}

}  // namespace evenkeel::controllers::rollout::zookeeper
