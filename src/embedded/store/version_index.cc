#include "embedded/store/version_index.h"

#include <algorithm>

namespace evenkeel::embedded::store {

using base::Code;
using base::Fail;

base::Status CheckGuard(const Guard& guard, const std::optional<KeyHead>& now) {
  const Revision actual = now ? now->mod_revision : 0;
  if (actual == guard.expected) return {};
  return Fail(Code::kCancelled, "the write was for key " + guard.key + " at revision " + std::to_string(guard.expected) +
                                    ", which is now at " + std::to_string(actual));
}

base::Status CheckWrite(const Write& write, const std::optional<KeyHead>& now) {
  if (write.key.empty()) return Fail(Code::kBadRequest, "a write needs a key");
  const bool deletes = write.value == nullptr;
  if (deletes && !now) return Fail(Code::kNotFound, "key " + write.key + " does not exist");
  if (write.expected == Write::kAnyRevision) return {};
  const Revision actual = now ? now->mod_revision : 0;
  if (actual == write.expected) return {};
  if (write.expected == 0)
    return Fail(Code::kConflict, "key " + write.key + " exists already, at revision " + std::to_string(actual));
  return Fail(Code::kConflict, "key " + write.key + " was expected at revision " + std::to_string(write.expected) +
                                   (now ? " but is at " + std::to_string(actual) : " but does not exist"));
}

std::string PrefixEnd(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::optional<KeyHead> VersionIndex::Head(const std::string& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.current.value) return std::nullopt;
  return KeyHead{found->second.current.create_revision, found->second.current.mod_revision};
}

Event VersionIndex::Apply(Revision revision, std::string key, Value value) {
  const std::optional<KeyHead> head = Head(key);
  const Revision create_revision = !value ? 0 : head ? head->create_revision : revision;
  return Restore(revision, create_revision, std::move(key), std::move(value));
}

Event VersionIndex::Restore(Revision revision, Revision create_revision, std::string key, Value value) {
  EVENKEEL_CHECK(revision > current_revision_);
  auto [position, inserted] = entries_.insert({std::move(key), Entry{}});
  Node& node = *position;
  Entry& entry = node.second;
  if (!inserted) {
    if (entry.current.value) {
      superseded_bytes_ += entry.current.value->size();
    } else {
      deleted_.erase(&node.first);
    }
    entry.older.push_back(std::move(entry.current));
  }
  entry.current = Version{std::move(value), create_revision, revision};
  if (!entry.current.value) deleted_.insert(&node.first);
  current_revision_ = revision;
  log_.push_back({revision, &node});
  return MakeEvent(node, revision);
}

const VersionIndex::Version* VersionIndex::VersionAt(const Entry& entry, Revision revision) {
  if (entry.current.mod_revision <= revision) return &entry.current;
  const auto after = std::ranges::upper_bound(entry.older, revision, {}, &Version::mod_revision);
  return after == entry.older.begin() ? nullptr : &*std::prev(after);
}

Event VersionIndex::MakeEvent(const Node& node, Revision revision) {
  const Version* version = VersionAt(node.second, revision);
  const Version* previous = VersionAt(node.second, revision - 1);
  EVENKEEL_CHECK(version != nullptr && version->mod_revision == revision);
  Event event;
  event.type = version->value ? Event::Type::kPut : Event::Type::kDelete;
  event.current = KeyValue{node.first, version->value, version->create_revision, revision};
  if (previous) event.previous = previous->value;
  event.revision = revision;
  return event;
}

base::Status VersionIndex::CheckReadable(Revision revision) const {
  if (revision > current_revision_) {
    return Fail(Code::kBadRequest, "revision " + std::to_string(revision) + " is in the future: the latest is " +
                                       std::to_string(current_revision_));
  }
  if (revision < compacted_revision_) {
    return Fail(Code::kExpired, "revision " + std::to_string(revision) + " has been compacted: the oldest is " +
                                    std::to_string(compacted_revision_));
  }
  return {};
}

base::Result<KeyValue> VersionIndex::Get(const std::string& key, Revision revision) const {
  if (revision == 0) revision = current_revision_;
  EVENKEEL_TRY(CheckReadable(revision));
  const auto found = entries_.find(key);
  const Version* version = found == entries_.end() ? nullptr : VersionAt(found->second, revision);
  if (!version || !version->value) return Fail(Code::kNotFound, "key " + key + " does not exist");
  return KeyValue{key, version->value, version->create_revision, version->mod_revision};
}

base::Result<ListResult> VersionIndex::List(const ListOptions& options) const {
  ListResult result;
  result.revision = options.revision == 0 ? current_revision_ : options.revision;
  EVENKEEL_TRY(CheckReadable(result.revision));
  const bool from_start = options.start_after < options.prefix;
  // An empty start_after is also the smallest key, which no write can have: the lower bound is right for both.
  auto position = from_start ? entries_.lower_bound(options.prefix) : entries_.upper_bound(options.start_after);
  if (options.limit != 0) result.items.reserve(std::min(options.limit, entries_.size()));
  for (; position != entries_.end() && position->first.starts_with(options.prefix); ++position) {
    const Version* version = VersionAt(position->second, result.revision);
    if (!version || !version->value) continue;
    if (options.limit != 0 && result.items.size() == options.limit) {
      result.more = true;
      result.remaining = CountAfter(result.items.back().key, options.prefix, result.revision);
      break;
    }
    result.items.push_back({position->first, version->value, version->create_revision, version->mod_revision});
  }
  return result;
}

size_t VersionIndex::CountAfter(const std::string& last_key, const std::string& prefix, Revision revision) const {
  const std::string begin = last_key + '\0';
  const std::string end = PrefixEnd(prefix);
  const size_t entries_end = end.empty() ? entries_.size() : entries_.order_of_key(end);
  const size_t deleted_end = end.empty() ? deleted_.size() : deleted_.order_of_key(&end);
  const size_t live_now = (entries_end - entries_.order_of_key(begin)) - (deleted_end - deleted_.order_of_key(&begin));
  // From now back to the revision: what was created since then was not there, what was deleted was.
  int64_t count = static_cast<int64_t>(live_now);
  for (auto event = LogAfter(revision); event != log_.end(); ++event) {
    const auto& [key, entry] = *event->node;
    if (key <= last_key || !key.starts_with(prefix)) continue;
    const Version* version = VersionAt(entry, event->revision);
    const Version* previous = VersionAt(entry, event->revision - 1);
    const bool existed = previous && previous->value;
    if (version->value && !existed) --count;
    if (!version->value && existed) ++count;
  }
  return static_cast<size_t>(std::max<int64_t>(count, 0));
}

std::deque<VersionIndex::LoggedEvent>::const_iterator VersionIndex::LogAfter(Revision revision) const {
  return std::ranges::upper_bound(log_, revision, {}, &LoggedEvent::revision);
}

base::Result<std::vector<Event>> VersionIndex::EventsAfter(std::string_view prefix, Revision after, size_t max) const {
  if (after < compacted_revision_) EVENKEEL_TRY(CheckReadable(after));
  std::vector<Event> events;
  for (auto event = LogAfter(after); event != log_.end(); ++event) {
    if (!event->node->first.starts_with(prefix)) continue;
    if (events.size() == max) {
      return Fail(Code::kExpired,
                  "revision " + std::to_string(after) + " is more than " + std::to_string(max) + " events back");
    }
    events.push_back(MakeEvent(*event->node, event->revision));
  }
  return events;
}

void VersionIndex::Forget(Version& version, Forgotten& forgotten) {
  forgotten.revisions.push_back(version.mod_revision);
  if (!version.value) return;
  superseded_bytes_ -= version.value->size();
  forgotten.values.push_back(std::move(version.value));
}

void VersionIndex::Prune(Node& node, Revision revision, Forgotten& forgotten) {
  Entry& entry = node.second;
  const bool current_is_old = entry.current.mod_revision <= revision;
  // The newest version up to the revision stays: it is the state at that revision. A deletion needs no version to say so.
  auto keep = std::ranges::upper_bound(entry.older, revision, {}, &Version::mod_revision);
  if (!current_is_old && keep != entry.older.begin() && std::prev(keep)->value) --keep;
  for (auto version = entry.older.begin(); version != keep; ++version) Forget(*version, forgotten);
  entry.older.erase(entry.older.begin(), keep);
  if (entry.older.empty()) entry.older.shrink_to_fit();
  if (current_is_old && !entry.current.value) {
    forgotten.revisions.push_back(entry.current.mod_revision);
    deleted_.erase(&node.first);
    entries_.erase(entries_.find(node.first));
  }
}

base::Status VersionIndex::Compact(Revision revision, Forgotten& forgotten) {
  if (revision > current_revision_) EVENKEEL_TRY(CheckReadable(revision));
  if (revision <= compacted_revision_) return {};
  compacted_revision_ = revision;
  while (!log_.empty() && log_.front().revision <= revision) {
    const LoggedEvent event = log_.front();
    log_.pop_front();
    // Only at a key's last event up to the revision: its node may be gone afterwards, and each is pruned once.
    if (VersionAt(event.node->second, revision)->mod_revision == event.revision) Prune(*event.node, revision, forgotten);
  }
  return {};
}

void VersionIndex::Trim(Forgotten& forgotten) {
  while (!log_.empty() && (log_.size() > limits_.events_max || superseded_bytes_ > limits_.superseded_bytes_max)) {
    const size_t excess = log_.size() > limits_.events_max ? log_.size() - limits_.events_max : 0;
    const size_t drop = std::min(log_.size(), std::max(excess, log_.size() / 64) + 1);
    EVENKEEL_CHECK(Compact(log_[drop - 1].revision, forgotten).has_value());
  }
}

}  // namespace evenkeel::embedded::store
