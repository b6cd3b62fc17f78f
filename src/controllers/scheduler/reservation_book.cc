#include "controllers/scheduler/reservation_book.h"

#include <algorithm>

namespace evenkeel::controllers::scheduler {

using scheduling::kNone;
using scheduling::NodeId;
using scheduling::PodId;
using scheduling::Reservation;

/// The same promise: what else may differ (until when, whose turn it is) changes nothing about the room that is held.
bool ReservationBook::Same(const Reservation& a, const Reservation& b) {
  return a.to == b.to && a.from == b.from && a.pod == b.pod && a.pod_uid == b.pod_uid && a.owner_uid == b.owner_uid;
}

ReservationBook::Nodes ReservationBook::Update(const std::string& plan, const std::vector<Reservation>& reservations,
                                               base::Time now) {
  Nodes freed;
  std::map<size_t, const Reservation*> wanted;
  for (const Reservation& reservation : reservations) {
    if (reservation.until > now) wanted[reservation.action] = &reservation;
  }
  for (auto at = entries_.lower_bound({plan, 0}); at != entries_.end() && at->first.first == plan;) {
    const auto current = at++;
    const auto kept = wanted.find(current->first.second);
    if (kept != wanted.end() && Same(*kept->second, current->second.reservation)) continue;
    if (current->second.pod_class != kNone) freed.push_back(current->second.node);
    Erase(current);
  }
  for (const auto& [action, reservation] : wanted) {
    const Key key{plan, action};
    Entry& entry = entries_[key];
    entry.reservation = *reservation;
    by_owner_[reservation->owner_uid].insert(key);
    const bool held = entry.pod_class != kNone;
    Settle(entry);
    if (held && entry.pod_class == kNone) freed.push_back(entry.node);
  }
  return freed;
}

ReservationBook::Nodes ReservationBook::Expire(base::Time now) {
  Nodes freed;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto current = at++;
    if (current->second.reservation.until > now) continue;
    if (current->second.pod_class != kNone) freed.push_back(current->second.node);
    Erase(current);
  }
  return freed;
}

std::optional<base::Time> ReservationBook::NextEnd() const {
  std::optional<base::Time> end;
  for (const auto& [key, entry] : entries_) {
    if (!end || entry.reservation.until < *end) end = entry.reservation.until;
  }
  return end;
}

void ReservationBook::Settle() {
  for (auto& [key, entry] : entries_) Settle(entry);
}

void ReservationBook::Settle(Entry& entry) {
  const Reservation& reservation = entry.reservation;
  if (!entry.taken_by.empty()) return;
  // A plan can be behind: its successor has a node already.
  for (const std::string& name : {reservation.successor, reservation.pod}) {
    const PodId pod = snapshot_.FindPod(name);
    if (pod == kNone || snapshot_.NodeOf(pod) == kNone) continue;
    if (name == reservation.pod && snapshot_.NodeName(snapshot_.NodeOf(pod)) == reservation.from) continue;
    entry.taken_by = name;
    return Release(entry);
  }
  if (entry.pod_class != kNone) return;
  if (const PodId evicted = snapshot_.FindPod(reservation.pod); evicted != kNone) Hold(entry, evicted);
}

bool ReservationBook::Matches(const Entry& entry, const kube::Pod& pod) const {
  const Reservation& reservation = entry.reservation;
  const kube::OwnerReference* owner = pod.meta.Controller();
  if (owner == nullptr || owner->uid != reservation.owner_uid || !entry.taken_by.empty()) return false;
  if (!reservation.pod_uid.empty() && pod.meta.uid == reservation.pod_uid) return false;
  const std::string key = pod.meta.Key();
  // As long as that one is there.
  if (snapshot_.FindPod(reservation.successor) != kNone) return key == reservation.successor;
  if (owner->kind == "StatefulSet") return key == reservation.pod;
  return reservation.pod.starts_with(pod.meta.ns + "/");
}

std::vector<ReservationBook::Key> ReservationBook::For(const kube::Pod& pod) const {
  std::vector<Key> found;
  const kube::OwnerReference* owner = entries_.empty() ? nullptr : pod.meta.Controller();
  const auto keys = owner == nullptr ? by_owner_.end() : by_owner_.find(owner->uid);
  if (keys == by_owner_.end()) return found;
  for (const Key& key : keys->second) {
    if (Matches(entries_.at(key), pod)) found.push_back(key);
  }
  return found;
}

bool ReservationBook::Opens(const std::string& node, const kube::Pod& pod) const {
  return std::ranges::any_of(entries_, [&](const auto& at) {
    const Entry& entry = at.second;
    return entry.reservation.to == node && (Matches(entry, pod) || (entry.pod_class != kNone && entry.priority < pod.priority));
  });
}

bool ReservationBook::AnyOn(const std::string& node) const {
  return std::ranges::any_of(entries_,
                             [&](const auto& at) { return at.second.taken_by.empty() && at.second.reservation.to == node; });
}

void ReservationBook::Adopt(const kube::Pod& pod, PodId id) {
  for (const Key& key : For(pod)) {
    Entry& entry = entries_.at(key);
    if (entry.pod_class == kNone) return Hold(entry, id);
  }
}

void ReservationBook::Lift(const std::vector<Key>& own, int32_t priority) {
  for (const auto& [key, entry] : entries_) {
    if (entry.pod_class == kNone) continue;
    if (entry.priority < priority || std::ranges::find(own, key) != own.end()) {
      snapshot_.PlaceCopies(entry.pod_class, entry.node, -1);
    }
  }
}

bool ReservationBook::AnyBelow(int32_t priority) const {
  return std::ranges::any_of(entries_,
                             [&](const auto& at) { return at.second.pod_class != kNone && at.second.priority < priority; });
}

std::optional<NodeId> ReservationBook::Take(const kube::Pod& pod, NodeId node) {
  const std::vector<Key> own = For(pod);
  if (own.empty()) return std::nullopt;
  const auto here = std::ranges::find(own, snapshot_.NodeName(node), [&](const Key& key) { return TargetOf(key); });
  Entry& entry = entries_.at(here != own.end() ? *here : own.front());
  const bool gives_up = entry.pod_class != kNone && entry.node != node;
  Release(entry);
  entry.taken_by = pod.meta.Key();
  return gives_up ? std::optional(entry.node) : std::nullopt;
}

void ReservationBook::GiveBack(const std::string& pod) {
  for (auto& [key, entry] : entries_) {
    if (entry.taken_by != pod) continue;
    entry.taken_by.clear();
    if (const PodId id = snapshot_.FindPod(pod); id != kNone) Hold(entry, id);
  }
}

void ReservationBook::Hold(Entry& entry, PodId size_of) {
  const NodeId node = snapshot_.FindNodeByName(entry.reservation.to);
  if (node == kNone) return;
  entry.node = node;
  entry.pod_class = snapshot_.ClassOf(size_of);
  entry.priority = snapshot_.PriorityOf(size_of);
  snapshot_.PlaceCopies(entry.pod_class, entry.node, 1);
}

void ReservationBook::Release(Entry& entry) {
  if (entry.pod_class == kNone) return;
  snapshot_.PlaceCopies(entry.pod_class, entry.node, -1);
  entry.pod_class = kNone;
}

void ReservationBook::Erase(std::map<Key, Entry>::iterator at) {
  Release(at->second);
  std::set<Key>& keys = by_owner_.at(at->second.reservation.owner_uid);
  keys.erase(at->first);
  if (keys.empty()) by_owner_.erase(at->second.reservation.owner_uid);
  entries_.erase(at);
}

}  // namespace evenkeel::controllers::scheduler
