#include "controllers/rollout/record.h"

#include <algorithm>
#include <array>
#include <set>

namespace evenkeel::controllers::rollout {
namespace {

using base::Find;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;

constexpr std::array<std::string_view, 6> kStatusNames = {"Ready",  "Deploying",   "Paused",
                                                          "Failed", "RollingBack", "Superseded"};
constexpr std::array kStatuses = {RecordStatus::kReady,  RecordStatus::kDeploying,   RecordStatus::kPaused,
                                  RecordStatus::kFailed, RecordStatus::kRollingBack, RecordStatus::kSuperseded};
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

/// The field of the array that the error is about goes before it.
std::unexpected<base::Error> Wrong(const std::string& at, const std::string& field, const std::string& what) {
  return base::Fail(base::Code::kBadRequest, at + (field.empty() ? "" : "." + field) + ": " + what);
}

base::Result<std::vector<std::string>> ReadClusters(const Json& list, const std::string& at, const std::string& field) {
  if (!list.is_array()) return Wrong(at, field, "not a list of cluster names");
  std::vector<std::string> names;
  for (const Json& name : list.get_array()) {
    const std::string item = field + "[" + std::to_string(names.size()) + "]";
    if (!name.is_string() || name.get_string().empty()) return Wrong(at, item, "not the name of a cluster");
    names.emplace_back(name.get_string());
  }
  return names;
}

base::Status ReadGenerations(const Json& json, const std::string& at, Record& record) {
  const Json* generations = Find(json, {kObservedGenerations});
  if (generations == nullptr || !generations->is_object()) return Wrong(at, kObservedGenerations, "not an object of numbers");
  for (const auto& [name, value] : generations->get_object()) {
    const int64_t generation = base::FindInt(*generations, {name}, -1);
    if (generation < 0) {
      return Wrong(at, std::string(kObservedGenerations) + "[" + Quoted(name) + "]", "not a whole number of at least 0");
    }
    record.observed_generations.emplace(name, generation);
  }
  return {};
}

base::Status ReadStatus(const Json& json, const std::string& at, Record& record) {
  const std::string_view name = FindString(json, {kStatus});
  if (name == "Deploy") {
    record.status = RecordStatus::kDeploying;
    return {};
  }
  const auto* found = std::ranges::find(kStatusNames, name);
  if (found == kStatusNames.end()) {
    return Wrong(at, kStatus, Quoted(name) + " is not Deploying, Ready, Paused, Failed, RollingBack or Superseded");
  }
  record.status = kStatuses.at(static_cast<size_t>(found - kStatusNames.begin()));
  return {};
}

void AddTheRest(Record& record) {
  for (const std::string& cluster : record.order) {
    const bool known = Contains(record.completed, cluster) || Contains(record.deploying, cluster);
    if (!known) (record.status == RecordStatus::kReady ? record.completed : record.pending).push_back(cluster);
  }
}

base::Status ReadCurrentState(const Json& json, const std::string& at, Record& record) {
  const Json* state = Find(json, {kCurrentState});
  if (state == nullptr || state->is_null()) {
    AddTheRest(record);
    return {};
  }
  if (!state->is_object()) return Wrong(at, kCurrentState, "not an object of lists of cluster names");
  bool has_pending = false;
  for (const auto& [key, list] : state->get_object()) {
    const std::string field = std::string(kCurrentState) + "." + Quoted(key);
    std::vector<std::string>* set = nullptr;
    if (key == "deploying") set = &record.deploying;
    if (key == "completed") set = &record.completed;
    if (key == "pending") set = &record.pending;
    if (set == nullptr) return Wrong(at, field, "is not deploying, completed or pending");
    has_pending = has_pending || key == "pending";
    if (list.is_null()) continue;
    EVENKEEL_ASSIGN(*set, ReadClusters(list, at, std::string(kCurrentState) + "." + std::string(key)));
  }
  if (!has_pending) AddTheRest(record);
  return {};
}

base::Result<std::optional<base::Time>> ReadTime(const Json& json, const std::string& at, const char* field) {
  const Json* value = Find(json, {field});
  if (value == nullptr || value->is_null()) return std::nullopt;
  const auto time = base::ParseTime(FindString(json, {field}));
  if (!time) return Wrong(at, field, "not an RFC 3339 time");
  return *time;
}

base::Status ReadAdvance(const Json& json, const std::string& at, Record& record) {
  const Json* list = Find(json, {kAdvance});
  if (list == nullptr || list->is_null()) return {};
  if (!list->is_array()) return Wrong(at, kAdvance, "not a list of numbers");
  for (const Json& number : list->get_array()) {
    if (!number.is_int64()) return Wrong(at, kAdvance, "not a list of whole numbers");
    record.advance.push_back(number.get_int64());
  }
  return {};
}

base::Result<Record> ReadRecord(const Json& json, const std::string& at) {
  if (!json.is_object()) return Wrong(at, "", "not an object");
  Record record;
  EVENKEEL_TRY(ReadGenerations(json, at, record));
  const Json* order = Find(json, {kOrder});
  if (order == nullptr) return Wrong(at, kOrder, "missing");
  EVENKEEL_ASSIGN(record.order, ReadClusters(*order, at, kOrder));
  EVENKEEL_TRY(ReadStatus(json, at, record));
  EVENKEEL_TRY(ReadCurrentState(json, at, record));
  EVENKEEL_ASSIGN(const auto transition, ReadTime(json, at, kLastTransitionTime));
  if (!transition) return Wrong(at, kLastTransitionTime, "missing");
  record.last_transition = *transition;
  EVENKEEL_ASSIGN(record.started, ReadTime(json, at, kStartedAt));
  EVENKEEL_ASSIGN(record.progressed, ReadTime(json, at, kProgressedAt));
  EVENKEEL_TRY(ReadAdvance(json, at, record));
  for (const TextField& field : kTextFields) {
    const Json* value = Find(json, {field.key});
    if (value == nullptr || value->is_null()) continue;
    if (!value->is_string()) return Wrong(at, field.key, "not a text");
    record.*field.value = value->get_string();
  }
  static const std::set<std::string_view> kKnown = {kObservedGenerations, kOrder,     kStatus,       kCurrentState,
                                                    kLastTransitionTime,  kStartedAt, kProgressedAt, kAdvance};
  for (const auto& [key, value] : json.get_object()) {
    if (!kKnown.contains(key) && std::ranges::find(kTextFields, key, &TextField::key) == kTextFields.end()) {
      record.others[key] = value;
    }
  }
  if (const std::string wrong = CheckRecord(record); !wrong.empty()) {
    return base::Fail(base::Code::kBadRequest, at + "." + wrong);
  }
  return record;
}

JsonArray ToArray(const std::vector<std::string>& names) {
  JsonArray array;
  for (const std::string& name : names) array.push_back(Json(name));
  return array;
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
  const auto* found = std::ranges::find(kStatuses, status);
  EVENKEEL_CHECK(found != kStatuses.end());
  return kStatusNames.at(static_cast<size_t>(found - kStatuses.begin()));
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

base::Result<std::vector<Record>> ReadRecords(const Json* records) {
  std::vector<Record> read;
  if (records == nullptr || records->is_null()) return read;
  if (!records->is_array()) return base::Fail(base::Code::kBadRequest, "status.records: not a list");
  const JsonArray& array = records->get_array();
  for (const Json& json : array) {
    const std::string at = "status.records[" + std::to_string(read.size()) + "]";
    EVENKEEL_ASSIGN(Record record, ReadRecord(json, at));
    if (!IsFinal(record.status) && read.size() + 1 < array.size()) {
      return Wrong(at, kStatus, std::string(Name(record.status)) + ", but only the last record may be under way");
    }
    read.push_back(std::move(record));
  }
  return read;
}

JsonArray WriteRecords(const std::vector<Record>& records) {
  JsonArray array;
  for (const Record& record : records) {
    JsonObject generations;
    for (const auto& [name, generation] : record.observed_generations) generations[name] = generation;
    JsonObject json{{kObservedGenerations, std::move(generations)},
                    {kOrder, ToArray(record.order)},
                    {kStatus, Name(record.status)},
                    {kCurrentState, JsonObject{{"deploying", ToArray(record.deploying)},
                                               {"completed", ToArray(record.completed)},
                                               {"pending", ToArray(record.pending)}}},
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
