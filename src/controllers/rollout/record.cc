#include "controllers/rollout/record.h"

#include <algorithm>
#include <limits>
#include <set>

namespace evenkeel::controllers::rollout {
namespace {

using base::Field;
using base::JsonArray;
using base::JsonObject;

constexpr std::pair<std::string_view, RecordStatus> kStatusWords[] = {
    {"Ready", RecordStatus::kReady},   {"Deploying", RecordStatus::kDeploying},     {"Paused", RecordStatus::kPaused},
    {"Failed", RecordStatus::kFailed}, {"RollingBack", RecordStatus::kRollingBack}, {"Superseded", RecordStatus::kSuperseded}};
/// What other writers call Deploying.
constexpr char kDeploy[] = "Deploy";
constexpr const char* kObservedGenerations = "observedGenerations";
constexpr const char* kOrder = "order";
constexpr const char* kStatus = "status";
constexpr const char* kCurrentState = "currentState";
constexpr const char* kLastTransitionTime = "lastTransitionTime";
constexpr const char* kStartedAt = "startedAt";
constexpr const char* kProgressedAt = "progressedAt";
constexpr const char* kAdvance = "advance";

struct TextField {
  const char* key;
  std::string Record::* value;
};
constexpr std::array kTextFields = {TextField{"revision", &Record::revision},
                                    TextField{"baseRevision", &Record::base_revision},
                                    TextField{"specHash", &Record::spec_hash},
                                    TextField{"scheduleHash", &Record::schedule_hash},
                                    TextField{"uid", &Record::uid},
                                    TextField{"progress", &Record::progress},
                                    TextField{"reason", &Record::reason},
                                    TextField{"message", &Record::message}};

base::Status ReadClusters(const Field& list, std::vector<std::string>& names) {
  return list.ForEach(
      [&](const Field& item) -> base::Status {
        if (item.IsEmpty() || !item.value().is_string()) return item.Wrong("not the name of a cluster");
        names.emplace_back(item.value().get_string());
        return {};
      },
      "cluster names");
}

base::Status ReadGenerations(const Field& generations, Record& record) {
  EVENKEEL_TRY(generations.IsObject());
  for (const auto& member : generations.value().get_object()) {
    const Field generation = generations.Named(member.key());
    EVENKEEL_TRY(generation.Required());
    EVENKEEL_TRY(generation.Whole(record.observed_generations[std::string(member.key())]));
  }
  return {};
}

base::Status ReadStatus(const Field& status, Record& record) {
  EVENKEEL_TRY(status.Required());
  if (status.value().is_string() && status.value().get_string() == kDeploy) return {};
  if (status.IsEmpty()) return status.Wrong("empty");
  return status.Word<RecordStatus>(record.status, kStatusWords);
}

void AddTheRest(Record& record) {
  for (const std::string& cluster : record.order) {
    const bool known = Contains(record.completed, cluster) || Contains(record.deploying, cluster);
    if (!known) (record.status == RecordStatus::kReady ? record.completed : record.pending).push_back(cluster);
  }
}

base::Status ReadCurrentState(const Field& state, Record& record) {
  bool has_pending = false;
  EVENKEEL_TRY(state.ForEachMember([&](std::string_view key, const Field& list) -> base::Status {
    std::vector<std::string>* set = nullptr;
    if (key == "deploying") set = &record.deploying;
    if (key == "completed") set = &record.completed;
    if (key == "pending") set = &record.pending;
    if (set == nullptr) return state.Wrong(Quoted(key) + " is not deploying, completed or pending");
    has_pending = has_pending || key == "pending";
    return ReadClusters(list, *set);
  }));
  if (!has_pending) AddTheRest(record);
  return {};
}

base::Result<Record> ReadRecord(const Field& of) {
  EVENKEEL_TRY(of.IsObject());
  Record record;
  EVENKEEL_TRY(ReadGenerations(of[kObservedGenerations], record));
  EVENKEEL_TRY(of[kOrder].Required());
  EVENKEEL_TRY(ReadClusters(of[kOrder], record.order));
  EVENKEEL_TRY(ReadStatus(of[kStatus], record));
  EVENKEEL_TRY(ReadCurrentState(of[kCurrentState], record));
  std::optional<base::Time> transition;
  EVENKEEL_TRY(of[kLastTransitionTime].Required());
  EVENKEEL_TRY(of[kLastTransitionTime].Instant(transition));
  record.last_transition = *transition;
  EVENKEEL_TRY(of[kStartedAt].Instant(record.started));
  EVENKEEL_TRY(of[kProgressedAt].Instant(record.progressed));
  EVENKEEL_TRY(of[kAdvance].ForEach([&](const Field& number) -> base::Status {
    EVENKEEL_TRY(number.Required());
    return number.Whole(record.advance.emplace_back(), std::numeric_limits<int64_t>::min());
  }));
  for (const TextField& field : kTextFields) EVENKEEL_TRY(of[field.key].Text(record.*field.value));
  static const std::set<std::string_view> kKnown = {kObservedGenerations, kOrder,     kStatus,       kCurrentState,
                                                    kLastTransitionTime,  kStartedAt, kProgressedAt, kAdvance};
  for (const auto& [key, value] : of.value().get_object()) {
    if (!kKnown.contains(key) && std::ranges::find(kTextFields, key, &TextField::key) == kTextFields.end()) {
      record.others[key] = value;
    }
  }
  if (const std::string wrong = CheckRecord(record); !wrong.empty()) {
    const size_t end = wrong.find(": ");
    return of[wrong.substr(0, end)].Wrong(wrong.substr(end + 2));
  }
  return record;
}

std::string CheckSets(const Record& record) {
  std::map<std::string, std::string, std::less<>> place;
  const std::pair<const char*, const std::vector<std::string>*> sets[] = {
      {"deploying", &record.deploying}, {"completed", &record.completed}, {"pending", &record.pending}};
  for (const auto& [name, set] : sets) {
    for (const std::string& cluster : *set) {
      const std::string field = std::string(kCurrentState) + "." + name + ": " + Quoted(cluster) + " is ";
      if (!Contains(record.order, cluster)) return field + "not in order";
      const auto [other, fresh] = place.emplace(cluster, name);
      if (!fresh) return field + (other->second == name ? "listed twice" : other->second + " as well");
    }
  }
  for (const std::string& cluster : record.order) {
    if (!place.contains(cluster)) {
      return std::string(kCurrentState) + ": " + Quoted(cluster) + " is neither deploying nor completed nor pending";
    }
  }
  return "";
}

}  // namespace

std::string Quoted(std::string_view text) {
  constexpr size_t kShownMax = 80;
  std::string quoted = "\"";
  for (const char c : text.substr(0, kShownMax)) quoted += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
  return quoted + (text.size() > kShownMax ? "..." : "") + "\"";
}

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string_view Name(RecordStatus status) {
  const auto* found = std::ranges::find(kStatusWords, status, &std::pair<std::string_view, RecordStatus>::second);
  EVENKEEL_CHECK(found != std::end(kStatusWords));
  return found->first;
}

bool IsFinal(RecordStatus status) {
  return status == RecordStatus::kReady || status == RecordStatus::kFailed || status == RecordStatus::kSuperseded;
}

std::string CheckRecord(const Record& record) {
  if (record.order.empty()) return "order: empty";
  std::set<std::string_view> seen;
  for (const std::string& cluster : record.order) {
    if (!seen.insert(cluster).second) return "order: " + Quoted(cluster) + " is listed twice";
  }
  if (std::string wrong = CheckSets(record); !wrong.empty()) return wrong;
  if (record.deploying.size() > 1) return "currentState.deploying: more than one cluster";
  const auto place = [&](const std::string& cluster) {
    return std::ranges::find(record.order, cluster) - record.order.begin();
  };
  if (!std::ranges::is_sorted(record.pending, {}, place)) return "currentState.pending: not in the order of the record's order";
  if (record.status == RecordStatus::kReady && record.completed.size() != record.order.size()) {
    return "currentState: the record is Ready, but not every cluster is completed";
  }
  if (record.status == RecordStatus::kRollingBack && record.deploying.empty()) {
    return "currentState.deploying: the record is RollingBack, but no cluster is deploying";
  }
  if (record.status == RecordStatus::kFailed && !record.deploying.empty()) {
    return "currentState.deploying: the record has Failed, but a cluster is deploying";
  }
  return "";
}

base::Result<std::vector<Record>> ReadRecords(const Field& records) {
  std::vector<Record> read;
  EVENKEEL_TRY(records.ForEach([&](const Field& item) -> base::Status {
    EVENKEEL_ASSIGN(Record record, ReadRecord(item));
    if (!IsFinal(record.status) && read.size() + 1 < records.value().get_array().size()) {
      return item[kStatus].Wrong(std::string(Name(record.status)) + ", but only the last record may be under way");
    }
    read.push_back(std::move(record));
    return {};
  }));
  return read;
}

JsonArray WriteRecords(const std::vector<Record>& records) {
  JsonArray array;
  for (const Record& record : records) {
    JsonObject generations;
    for (const auto& [name, generation] : record.observed_generations) generations[name] = generation;
    JsonObject json{{kObservedGenerations, std::move(generations)},
                    {kOrder, base::ToJsonArray(record.order)},
                    {kStatus, Name(record.status)},
                    {kCurrentState, JsonObject{{"deploying", base::ToJsonArray(record.deploying)},
                                               {"completed", base::ToJsonArray(record.completed)},
                                               {"pending", base::ToJsonArray(record.pending)}}},
                    {kLastTransitionTime, base::FormatTime(record.last_transition)}};
    for (const TextField& field : kTextFields) {
      if (const std::string& text = record.*field.value; !text.empty()) json[field.key] = text;
    }
    if (record.started) json[kStartedAt] = base::FormatTime(*record.started);
    if (record.progressed) json[kProgressedAt] = base::FormatTime(*record.progressed);
    if (!record.advance.empty()) json[kAdvance] = JsonArray(record.advance.begin(), record.advance.end());
    for (const auto& [key, value] : record.others) json[key] = value;
    array.push_back(std::move(json));
  }
  return array;
}

}  // namespace evenkeel::controllers::rollout
