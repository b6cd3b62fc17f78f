#include "scheduling/class_table.h"

#include "base/hash.h"

namespace evenkeel::scheduling {
namespace {

/// Below this number, unused classes are not worth a walk: their pods often come back.
constexpr size_t kUnusedMin = 1024;

template <typename T>
uint32_t TakeSlot(std::vector<std::unique_ptr<T>>& items, std::vector<uint32_t>& free, std::unique_ptr<T> item) {
  if (free.empty()) {
    items.push_back(std::move(item));
    return static_cast<uint32_t>(items.size() - 1);
  }
  const uint32_t id = free.back();
  free.pop_back();
  items[id] = std::move(item);
  return id;
}

template <typename Slots, typename T>
void ReleaseSlot(Slots& slots, std::vector<std::unique_ptr<T>>& items, uint32_t id) {
  if (--items[id]->users > 0) return;
  slots.by_key.erase(items[id]->key);
  items[id].reset();
  slots.free.push_back(id);
}

}  // namespace

ResourceNames::ResourceNames() {
  for (const char* name : {"cpu", "memory", "ephemeral-storage", "pods"}) Intern(name);
}

ResourceId ResourceNames::Intern(std::string_view name) {
  const auto found = ids_.find(name);
  if (found != ids_.end()) return found->second;
  names_.emplace_back(name);
  const auto id = static_cast<ResourceId>(names_.size() - 1);
  ids_.emplace(name, id);
  return id;
}

ResourceId ResourceNames::Find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? kNone : found->second;
}

ClassTable::Found ClassTable::Intern(const base::Json& pod, bool keep_node_name, ResourceNames& resources) {
  const std::string_view pinned = PinnedNode(pod);
  const SpecId spec = InternSpec(pod, !pinned.empty(), resources);
  const uint32_t labels = InternLabels(pod);
  const uint32_t volumes = InternVolumes(pod);
  const uint32_t devices = InternDevices(pod);
  const std::string_view ns = kube::NamespaceOf(pod);
  const std::string_view node_name = keep_node_name ? base::FindString(pod, {"spec", "nodeName"}) : std::string_view();
  const bool terminating = base::Find(pod, {"metadata", "deletionTimestamp"}) != nullptr;
  TextKey text;
  text.Add(spec).Add(labels).Add(volumes).Add(devices).Add(ns).Add(pinned).Add(node_name).Add(terminating ? 1 : 0);
  const auto [found, added] = by_key_.try_emplace(text.text(), kNone);
  if (!added) return {found->second, false};
  auto made = std::make_unique<PodClass>();
  made->spec = specs_[spec].get();
  made->spec_id = spec;
  ++made->spec->users;
  made->labels_id = labels;
  made->labels = &labels_.items[labels]->labels;
  ++labels_.items[labels]->users;
  made->volumes_id = volumes;
  if (volumes != kNone) {
    made->volumes = &volumes_.items[volumes]->volumes;
    ++volumes_.items[volumes]->users;
  }
  made->devices_id = devices;
  if (devices != kNone) {
    made->devices = &devices_.items[devices]->devices;
    ++devices_.items[devices]->users;
  }
  made->ns = ns;
  made->pinned_node = pinned;
  made->node_name = node_name;
  made->terminating = terminating;
  made->key = text.Take();
  TextKey whole;
  whole.Add(made->spec->key).Add(labels_.items[labels]->key).Add(volumes == kNone ? "" : volumes_.items[volumes]->key);
  whole.Add(ns).Add(pinned).Add(node_name).Add(terminating ? 1 : 0);
  made->signature = base::XxHash64(whole.text());
  ++unused_;
  const uint64_t bits = LabelBits(made->ns, *made->labels);
  const ClassId id = TakeSlot(classes_, free_, std::move(made));
  bits_.resize(classes_.size());
  bits_[id] = bits;
  found->second = id;
  return {id, true};
}

SpecId ClassTable::InternSpec(const base::Json& pod, bool pinned, ResourceNames& resources) {
  scratch_.clear();
  AppendSpecText(pod, pinned, scratch_);
  if (const auto found = spec_by_text_.find(scratch_); found != spec_by_text_.end()) return found->second;
  auto entry = std::make_unique<SpecEntry>();
  entry->spec = DecodePodSpec(pod, pinned);
  entry->key = entry->spec.Key();
  const auto known = spec_by_key_.find(entry->key);
  SpecId id = known == spec_by_key_.end() ? kNone : known->second;
  if (id == kNone) {
    entry->uses_identity = entry->spec.nodes.UsesIdentity();
    entry->requests.push_back({kPods, 1});
    for (const auto& [name, amount] : entry->spec.requests) {
      if (amount > 0 && name != "pods") entry->requests.push_back({resources.Intern(name), Bounded(amount)});
    }
    std::sort(entry->requests.begin(), entry->requests.end(),
              [](const Amount& a, const Amount& b) { return a.resource < b.resource; });
    std::string key = entry->key;
    id = TakeSlot(specs_, free_specs_, std::move(entry));
    spec_by_key_.emplace(std::move(key), id);
  }
  specs_[id]->texts.push_back(scratch_);
  spec_by_text_.emplace(scratch_, id);
  return id;
}

uint32_t ClassTable::InternLabels(const base::Json& pod) {
  kube::Labels labels = base::FindTextMap(pod, {"metadata", "labels"});
  TextKey key;
  for (const auto& [name, value] : labels) key.Add(name).Add(value);
  const auto [found, added] = labels_.by_key.try_emplace(key.text(), kNone);
  if (added) {
    auto set = std::make_unique<LabelSet>(LabelSet{std::move(labels), key.Take(), 0});
    found->second = TakeSlot(labels_.items, labels_.free, std::move(set));
  }
  return found->second;
}

uint32_t ClassTable::InternVolumes(const base::Json& pod) {
  PodVolumes volumes = DecodePodVolumes(pod);
  if (volumes.empty()) return kNone;
  std::string key = volumes.Key();
  const auto [found, added] = volumes_.by_key.try_emplace(key, kNone);
  if (added) {
    auto set = std::make_unique<VolumeSet>(VolumeSet{std::move(volumes), std::move(key), 0});
    found->second = TakeSlot(volumes_.items, volumes_.free, std::move(set));
  }
  return found->second;
}

uint32_t ClassTable::InternDevices(const base::Json& pod) {
  PodDevices devices = DecodePodDevices(pod);
  if (devices.empty()) return kNone;
  std::string key = devices.Key();
  const auto [found, added] = devices_.by_key.try_emplace(key, kNone);
  if (added) {
    auto set = std::make_unique<DeviceSet>(DeviceSet{std::move(devices), std::move(key), 0});
    found->second = TakeSlot(devices_.items, devices_.free, std::move(set));
  }
  return found->second;
}

void ClassTable::AddUser(ClassId id) {
  if (classes_[id]->users++ == 0) --unused_;
}

void ClassTable::RemoveUser(ClassId id) {
  if (--classes_[id]->users == 0) ++unused_;
}

void ClassTable::Collect(const std::function<void(ClassId, PodClass&)>& forget) {
  if (unused_ < kUnusedMin || unused_ * 4 < by_key_.size()) return;
  for (ClassId id = 0; id < classes_.size(); ++id) {
    if (classes_[id] == nullptr || classes_[id]->users > 0) continue;
    forget(id, *classes_[id]);
    Free(id);
  }
}

void ClassTable::Free(ClassId id) {
  PodClass& gone = *classes_[id];
  by_key_.erase(gone.key);
  ReleaseSlot(labels_, labels_.items, gone.labels_id);
  if (gone.volumes_id != kNone) ReleaseSlot(volumes_, volumes_.items, gone.volumes_id);
  if (gone.devices_id != kNone) ReleaseSlot(devices_, devices_.items, gone.devices_id);
  if (SpecEntry& spec = *gone.spec; --spec.users == 0) {
    for (const std::string& text : spec.texts) spec_by_text_.erase(text);
    spec_by_key_.erase(spec.key);
    specs_[gone.spec_id].reset();
    free_specs_.push_back(gone.spec_id);
  }
  classes_[id].reset();
  bits_[id] = 0;
  free_.push_back(id);
  --unused_;
}

void ClassTable::ForEachSpec(const std::function<void(SpecEntry&)>& visit) {
  for (const auto& spec : specs_) {
    if (spec != nullptr) visit(*spec);
  }
}

}  // namespace evenkeel::scheduling
