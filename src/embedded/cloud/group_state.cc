#include "embedded/cloud/group_state.h"

#include <algorithm>

#include "embedded/cloud/event_kinds.h"
#include "kube/object.h"

namespace evenkeel::embedded::cloud {
namespace {

using base::Find;
using base::FindString;
using base::Json;
using base::JsonArray;
using base::JsonObject;
using providers::Instance;
using State = Instance::State;

constexpr std::string_view kScheme = "embedded://";
constexpr base::Duration kDelayMax = std::chrono::hours(24);
constexpr int64_t kNumberMax = int64_t{1} << 50;

base::Status ReadShare(const base::Field& field, double& share) {
  if (!field) return {};
  if (field.value().is_bool()) {
    share = field.value().get_bool() ? 1 : 0;
    return {};
  }
  return field.Number(share, 0, 1);
}

std::string_view NameOf(State state) {
  return state == State::kCreating ? "Creating" : state == State::kDeleting ? "Deleting" : "Running";
}

std::optional<InstanceRecord> DecodeRecord(const Json& json) {
  InstanceRecord record;
  record.id = FindString(json, {"id"});
  record.node = FindString(json, {"node"});
  record.number = std::clamp<int64_t>(base::FindInt(json, {"number"}), 0, kNumberMax);
  const std::string_view state = FindString(json, {"state"});
  if (record.id.empty() || record.node.empty()) return std::nullopt;
  record.state = state == "Creating" ? State::kCreating : state == "Deleting" ? State::kDeleting : State::kRunning;
  record.due = base::ParseTime(FindString(json, {"dueTime"})).value_or(base::Time{});
  record.doomed = base::FindBool(json, {"doomed"});
  record.failed = base::FindBool(json, {"failed"});
  record.never_registers = base::FindBool(json, {"neverRegisters"});
  const std::string_view error_class = FindString(json, {"errorClass"});
  if (!error_class.empty()) {
    record.error =
        Instance::Error{error_class == "OutOfResources" ? Instance::ErrorClass::kOutOfResources : Instance::ErrorClass::kOther,
                        std::string(FindString(json, {"errorCode"})), std::string(FindString(json, {"errorMessage"}))};
  }
  return record;
}

JsonObject EncodeRecord(const InstanceRecord& record) {
  JsonObject json{{"id", record.id}, {"node", record.node}, {"number", record.number}, {"state", NameOf(record.state)}};
  if (record.state != State::kRunning) json["dueTime"] = base::FormatMicroTime(record.due);
  if (record.doomed) json["doomed"] = true;
  if (record.failed) json["failed"] = true;
  if (record.never_registers) json["neverRegisters"] = true;
  if (record.error) {
    json["errorClass"] = record.error->error_class == Instance::ErrorClass::kOutOfResources ? "OutOfResources" : "Other";
    json["errorCode"] = record.error->code;
    json["errorMessage"] = record.error->message;
  }
  return json;
}

base::Duration Drawn(base::Duration delay, base::Random& random) {
  return delay == base::Duration{} ? delay : random.Between(delay - delay / 5, delay + delay / 5);
}

/// Begins to remove an instance; one that does not exist yet is gone at once.
void Remove(InstanceRecord& record, const GroupSpec& spec, base::Time now, base::Random& random) {
  record.due = record.state == State::kCreating ? now : now + Drawn(spec.settings.delete_delay, random);
  record.state = State::kDeleting;
  record.error.reset();
}

/// Those to go first come first.
void RemoveSurplus(const GroupSpec& spec, GroupState& state, base::Time now, base::Random& random) {
  std::vector<InstanceRecord*> live;
  for (InstanceRecord& record : state.instances) {
    if (record.state != State::kDeleting) live.push_back(&record);
  }
  const int64_t surplus = static_cast<int64_t>(live.size()) - (spec.removed ? 0 : spec.target);
  if (surplus <= 0) return;
  const auto rank = [](const InstanceRecord* record) {
    return std::tuple(record->error ? 0 : record->state == State::kCreating ? 1 : 2, -record->number);
  };
  std::ranges::sort(live, {}, rank);
  for (int64_t i = 0; i < surplus; ++i) Remove(*live[static_cast<size_t>(i)], spec, now, random);
}

void AddMissing(const GroupSpec& spec, GroupState& state, base::Time now, base::Random& random) {
  if (spec.removed) return;
  int64_t live = std::ranges::count_if(state.instances, [](const auto& record) { return record.state != State::kDeleting; });
  const int64_t wanted = std::min({spec.target, spec.max, kInstancesMax});
  for (; live < wanted; ++live) {
    InstanceRecord record;
    record.number = ++state.created;
    record.node = spec.group + "-" + std::to_string(record.number);
    record.id = InstanceId(spec.group, record.node);
    record.due = now + Drawn(spec.settings.provision_delay, random);
    record.doomed = random.Chance(spec.settings.fail_creations);
    record.never_registers = random.Chance(spec.settings.never_register);
    // Nothing is drawn where it is not asked for, so that a seed of before gives what it gave.
    record.failed = spec.settings.fail_for_good > 0 && random.Chance(spec.settings.fail_for_good);
    state.instances.push_back(std::move(record));
  }
}

/// Creations that fail, go on or are done.
void Provision(const GroupSpec& spec, GroupState& state, base::Time now, base::Random& random, Progress& progress) {
  const CloudSettings& settings = spec.settings;
  int64_t present = std::ranges::count_if(state.instances, [](const auto& record) { return record.state != State::kCreating; });
  for (InstanceRecord& record : state.instances) {
    if (record.state != State::kCreating) continue;
    if (settings.fail_creations == 0) record.doomed = false;
    std::optional<Instance::Error> error;
    if (record.failed) {
      error = {Instance::ErrorClass::kOther, events::kCreationFailed.reason, "the instance has failed for good"};
    } else if (settings.quota && present >= *settings.quota) {
      error = {Instance::ErrorClass::kOutOfResources,
               *settings.quota == 0 ? events::kOutOfStock.reason : events::kQuotaExceeded.reason,
               *settings.quota == 0 ? "the cloud is out of instances of this kind"
                                    : "the quota of " + std::to_string(*settings.quota) + " instances is used up"};
    } else if (record.doomed) {
      error = {Instance::ErrorClass::kOther, events::kCreationFailed.reason, "the cloud failed to create the instance"};
    }
    if (error && (!record.error || record.error->code != error->code)) {
      progress.failures.push_back(error->code + ": " + record.node + ": " + error->message);
    }
    // What has failed is tried again from the start once the reason is gone.
    if (!error && record.error) record.due = now + Drawn(settings.provision_delay, random);
    record.error = std::move(error);
    if (record.error) continue;
    ++present;
    if (record.due <= now) {
      record.state = State::kRunning;
    } else {
      progress.due = std::min(progress.due.value_or(record.due), record.due);
    }
  }
}

}  // namespace

base::Result<CloudSettings> DecodeCloudSettings(const Json& group) {
  CloudSettings settings;
  const base::Field cloud = base::Field(&group, "NodeGroup " + std::string(kube::NameOf(group)))["spec"]["cloud"];
  if (!cloud) return settings;
  EVENKEEL_TRY(cloud.IsObject());
  EVENKEEL_TRY(cloud["provisionDelay"].Wait(settings.provision_delay, {}, kDelayMax));
  EVENKEEL_TRY(cloud["deleteDelay"].Wait(settings.delete_delay, {}, kDelayMax));
  EVENKEEL_TRY(ReadShare(cloud["failCreations"], settings.fail_creations));
  EVENKEEL_TRY(ReadShare(cloud["neverRegister"], settings.never_register));
  EVENKEEL_TRY(ReadShare(cloud["failForGood"], settings.fail_for_good));
  settings.show_failures = base::FindBool(cloud.value(), {"showFailures"});
  settings.silent = base::FindBool(cloud.value(), {"silent"});
  settings.unreadable = base::FindBool(cloud.value(), {"unreadable"});
  EVENKEEL_TRY(cloud["quota"].Whole(settings.quota));
  return settings;
}

GroupState DecodeState(const Json& group) {
  GroupState state;
  std::set<std::string> seen;
  for (const Json& json : base::FindArray(group, {"status", "instances"})) {
    if (auto record = DecodeRecord(json); record && seen.insert(record->id).second)
      state.instances.push_back(*std::move(record));
  }
  std::ranges::sort(state.instances, {}, [](const auto& record) { return std::tie(record.number, record.id); });
  state.created = std::clamp<int64_t>(base::FindInt(group, {"status", "created"}), 0, kNumberMax);
  if (!state.instances.empty()) state.created = std::max(state.created, state.instances.back().number);
  return state;
}

void EncodeState(const GroupState& state, Json& group) {
  JsonArray instances;
  for (const InstanceRecord& record : state.instances) instances.push_back(EncodeRecord(record));
  base::Ensure(group, {"status", "created"}) = state.created;
  base::Ensure(group, {"status", "instances"}) = std::move(instances);
}

int64_t TargetOf(const Json& group) {
  return std::max<int64_t>(0, base::FindInt(group, {"spec", "targetSize"}, base::FindInt(group, {"spec", "minSize"})));
}

base::Result<GroupSpec> DecodeSpec(const Json& group) {
  GroupSpec spec;
  spec.group = kube::NameOf(group);
  spec.target = TargetOf(group);
  spec.max = base::FindInt(group, {"spec", "maxSize"});
  for (std::string& id : base::FindTexts(group, {"spec", "deleting"})) spec.deleting.insert(std::move(id));
  spec.removed = Find(group, {"metadata", "deletionTimestamp"}) != nullptr;
  EVENKEEL_ASSIGN(spec.settings, DecodeCloudSettings(group));
  return spec;
}

Progress Advance(const GroupSpec& spec, GroupState& state, base::Time now, base::Random& random) {
  Progress progress;
  for (InstanceRecord& record : state.instances) {
    if (record.state != State::kDeleting && spec.deleting.contains(record.id)) Remove(record, spec, now, random);
  }
  RemoveSurplus(spec, state, now, random);
  std::vector<InstanceRecord> staying;
  for (InstanceRecord& record : state.instances) {
    const bool gone = record.state == State::kDeleting && record.due <= now;
    (gone ? progress.gone : staying).push_back(std::move(record));
  }
  state.instances = std::move(staying);
  AddMissing(spec, state, now, random);
  Provision(spec, state, now, random, progress);
  for (const InstanceRecord& record : state.instances) {
    if (record.state == State::kDeleting) progress.due = std::min(progress.due.value_or(record.due), record.due);
  }
  return progress;
}

std::string InstanceId(const std::string& group, const std::string& node) { return std::string(kScheme) + group + "/" + node; }

std::string GroupOfId(std::string_view id) {
  if (!id.starts_with(kScheme)) return "";
  const std::string_view rest = id.substr(kScheme.size());
  const size_t slash = rest.find('/');
  return slash == rest.npos ? "" : std::string(rest.substr(0, slash));
}

}  // namespace evenkeel::embedded::cloud
