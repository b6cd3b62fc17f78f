#include "controllers/rollout/zookeeper/spec/ensemble_state.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/hash.h"
#include "controllers/rollout/zookeeper/spec/forms.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

using base::Field;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

using Outcome = RecoveryNote::Outcome;
constexpr std::pair<std::string_view, Outcome> kOutcomes[] = {
    {"Refused", Outcome::kRefused}, {"Started", Outcome::kStarted}, {"Completed", Outcome::kCompleted}};

class StateReader {
 public:
  StateReader(const Field& status, EnsembleState& state) : status_(status), state_(state) {}

  base::Status Read() {
    if (!status_) return {};
    EVENKEEL_TRY(status_.IsObject());
    EVENKEEL_ASSIGN(state_.rollout.records, ReadRecords(status_["records"]));
    EVENKEEL_TRY(ReadIndices());
    EVENKEEL_TRY(status_["revisions"].ForEach([&](const Field& item) { return ReadRevision(item); }));
    EVENKEEL_TRY(status_["clusters"].ForEach([&](const Field& item) { return ReadCluster(item); }));
    EVENKEEL_TRY(CheckBase());
    EVENKEEL_TRY(CheckLastRecord());
    EVENKEEL_TRY(status_["recoveries"].ForEach([&](const Field& item) { return ReadRecovery(item); }));
    ReadScheduling(status_["scheduling"]);
    EVENKEEL_TRY(status_["stride"].Whole(state_.stride, 0, kIdMax));
    EVENKEEL_TRY(status_[kFormatField].Whole(state_.format));
    state_.format = std::max<int64_t>(state_.format, 1);
    std::string mode;
    EVENKEEL_TRY(status_["namingMode"].Text(mode));
    if (!mode.empty()) {
      state_.mode = ParseNamingMode(mode);
      if (!state_.mode) return status_["namingMode"].Wrong(Quoted(mode) + " is none");
    }
    return {};
  }

 private:
  base::Status ReadIndices() {
    std::set<int64_t> used;
    const Field indices = status_["clusterIndices"];
    EVENKEEL_TRY(indices.ForEachMember([&](std::string_view name, const Field&) -> base::Status {
      const Field value = indices.Named(name);
      int64_t index = 0;
      EVENKEEL_TRY(value.Required());
      EVENKEEL_TRY(value.Whole(index, 0, kIdMax - 1));
      if (!used.insert(index).second) return value.Wrong(fmt::format("{} is the index of another cluster, too", index));
      state_.identities.emplace(name, ClusterIdentity{index, std::string(name)});
      return {};
    }));
    return status_["retiredIndices"].ForEach([&](const Field& value) -> base::Status {
      int64_t index = 0;
      EVENKEEL_TRY(value.Required());
      EVENKEEL_TRY(value.Whole(index, 0, kIdMax - 1));
      if (used.contains(index)) return value.Wrong(fmt::format("{} is the index of a cluster", index));
      state_.retired.insert(index);
      return {};
    });
  }

  base::Status ReadShares(const Field& list, Shares& shares) const {
    EVENKEEL_TRY(list.IsObject());
    return list.ForEachMember([&](std::string_view name, const Field&) -> base::Status {
      const Field share = list.Named(name);
      EVENKEEL_TRY(share.Required());
      if (!state_.identities.contains(std::string(name))) return share.Wrong("not a cluster in status.clusterIndices");
      return share.Whole(shares[std::string(name)], 1, kIdMax);
    });
  }

  base::Status ReadRevision(const Field& of) {
    EVENKEEL_TRY(of["template"].IsObject());
    Shares shares;
    EVENKEEL_TRY(ReadShares(of["shares"], shares));
    std::vector<std::string> servers;
    EVENKEEL_TRY(of["servers"].Texts(servers));
    Revision revision = MakeRevision(of["template"].value(), shares, std::move(servers));
    // It says what clusters are pinned to: edited by hand it would change all of them at once.
    if (revision.name != FindString(of.value(), {"name"})) {
      return of.Wrong("its name is not the hash of its content, " + revision.name + ": was it edited?");
    }
    state_.revisions.emplace(revision.name, std::move(revision));
    return {};
  }

  base::Status ReadCluster(const Field& of) {
    EVENKEEL_TRY(of.IsObject());
    const Json& json = of.value();
    const std::string name(FindString(json, {"name"}));
    const auto identity = state_.identities.find(name);
    if (identity == state_.identities.end()) return of["name"].Wrong(Quoted(name) + " has no index in status.clusterIndices");
    identity->second.id = FindString(json, {"clusterID"}, name);
    if (base::FindBool(json, {kCopiedField})) state_.copied.insert(name);
    if (const std::string_view uid = FindString(json, {kBoundField}); !uid.empty()) state_.bound.emplace(name, uid);
    ClusterRevision cluster;
    for (const auto& [field, revision] :
         {std::pair("revision", &cluster.revision), std::pair("previousRevision", &cluster.previous)}) {
      EVENKEEL_TRY(of[field].Text(*revision));
      if (!revision->empty() && state_.Find(*revision) == nullptr) {
        return of[field].Wrong(Quoted(*revision) + " is not in status.revisions");
      }
    }
    if (cluster.revision.empty()) return {};
    // Absent in statuses of programs that do not count turns.
    EVENKEEL_TRY(of["turn"].Whole(cluster.turn, 1, kMaxTurn));
    cluster.confirmed = base::FindBool(json, {"confirmed"}, true);
    cluster.held = base::FindBool(json, {"held"});
    if (!state_.rollout.clusters.emplace(name, std::move(cluster)).second) {
      return of["name"].Wrong(Quoted(name) + " is listed twice");
    }
    return {};
  }

  /// Without the list that the clusters come from, a change would pass for a first deployment, which needs no majority.
  base::Status CheckBase() const {
    if (state_.rollout.records.empty()) return {};
    const Record& last = state_.rollout.records.back();
    const bool matters = !IsFinal(last.status) || last.status == RecordStatus::kFailed;
    if (!matters || last.base_revision.empty() || state_.Find(last.base_revision) != nullptr) return {};
    return LastRecord()["baseRevision"].Wrong(Quoted(last.base_revision) + " is not in status.revisions");
  }

  /// Of a record whose revision is known: what it says of clusters is what they have been given. One that says more would end
  /// too early; one that leaves a cluster out would take servers for gone that run.
  base::Status CheckLastRecord() const {
    if (state_.rollout.records.empty()) return {};
    const Record& last = state_.rollout.records.back();
    const Field at = LastRecord();
    const Revision *current = state_.Find(last.revision), *base = state_.Find(last.base_revision);
    if (current == nullptr) return {};
    for (const Revision* list : {base, current}) {
      if (list == nullptr) continue;
      for (const auto& [cluster, share] : list->shares) {
        if (!Contains(last.order, cluster)) return at["order"].Wrong(Quoted(cluster) + " has servers, but is missing");
      }
    }
    for (const std::string& cluster : last.completed) {
      const auto given = state_.rollout.clusters.find(cluster);
      if (given != state_.rollout.clusters.end() && given->second.revision != last.revision)
        return at["currentState"]["completed"].Wrong(Quoted(cluster) + " has been given another revision");
    }
    for (const std::string& cluster : last.deploying) {
      const auto given = state_.rollout.clusters.find(cluster);
      const bool goes_back = last.status == RecordStatus::kRollingBack;
      if (given == state_.rollout.clusters.end() || (given->second.revision == last.revision) == goes_back)
        return at["currentState"]["deploying"].Wrong(Quoted(cluster) + " has been given another revision, or none");
    }
    if (last.status == RecordStatus::kReady) return {};
    for (const std::string& cluster : last.order) {
      if (!state_.identities.contains(cluster))
        return at["order"].Wrong(Quoted(cluster) + " has no index in status.clusterIndices");
    }
    return {};
  }

  Field LastRecord() const { return status_["records"].Item(state_.rollout.records.size() - 1); }

  /// Whatever it says, it decides only when Karmada is asked again.
  void ReadScheduling(const Field& of) {
    if (!of) return;
    Scheduling& scheduling = state_.scheduling;
    scheduling.attempt = std::clamp<int64_t>(base::FindInt(of.value(), {"attempt"}), 0, kMaxTurn);
    scheduling.asked = std::clamp<int64_t>(base::FindInt(of.value(), {"asked"}), 0, kMaxTurn);
    if (const auto since = base::ParseTime(FindString(of.value(), {"since"}))) scheduling.since = *since;
    if (const auto asked_at = base::ParseTime(FindString(of.value(), {"askedAt"}))) scheduling.asked_at = *asked_at;
  }

  base::Status ReadRecovery(const Field& of) {
    EVENKEEL_TRY(of.IsObject());
    RecoveryNote note;
    EVENKEEL_TRY(of["request"].Text(note.request));
    if (const std::string wrong = CheckRecoveryName(note.request); !wrong.empty()) return of["request"].Wrong(wrong);
    if (of["outcome"].IsEmpty()) return of["outcome"].Wrong("missing");
    EVENKEEL_TRY(of["outcome"].Word<Outcome>(note.outcome, kOutcomes));
    std::optional<base::Time> decided;
    EVENKEEL_TRY(of["decidedAt"].Required());
    EVENKEEL_TRY(of["decidedAt"].Instant(decided));
    note.decided = *decided;
    EVENKEEL_TRY(of["message"].Text(note.message));
    std::vector<std::string> lost;
    EVENKEEL_TRY(of["lost"].Texts(lost));
    for (std::string& cluster : lost) {
      if (!state_.identities.contains(cluster)) return of["lost"].Wrong(Quoted(cluster) + " is not in status.clusterIndices");
      note.lost.insert(std::move(cluster));
    }
    state_.recoveries.push_back(std::move(note));
    return {};
  }

  const Field status_;
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
  std::string name =
      HashOf(JsonObject{{"template", body}, {"shares", ToJson(shares)}, {"servers", base::ToJsonArray(servers)}});
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
  const auto* found = std::ranges::find(kOutcomes, outcome, &std::pair<std::string_view, Outcome>::second);
  EVENKEEL_CHECK(found != std::end(kOutcomes));
  return found->first;
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
  EVENKEEL_TRY(StateReader(kube::FieldsOf(object)["status"], state).Read());
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
    revisions.push_back(JsonObject{{"name", name},
                                   {"template", revision.body},
                                   {"shares", ToJson(revision.shares)},
                                   {"servers", base::ToJsonArray(revision.servers)}});
  }
  status["revisions"] = std::move(revisions);
  JsonArray notes;
  for (const RecoveryNote& note : state.recoveries) {
    notes.push_back(JsonObject{{"request", note.request},
                               {"outcome", Name(note.outcome)},
                               {"decidedAt", base::FormatTime(note.decided)},
                               {"message", note.message},
                               {"lost", base::ToJsonArray(note.lost)}});
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
