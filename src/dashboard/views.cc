#include "dashboard/views.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "dashboard/documents.h"

namespace evenkeel::dashboard {
namespace {

/// Not null also where there is no such entry.
const Json& EntryOf(const std::map<std::string, Json>& entries, const std::string& key) {
  static const Json kNull;
  const auto found = entries.find(key);
  return found == entries.end() ? kNull : found->second;
}

/// "hub". `error`: why it cannot be read.
Json HubEntry(const std::string& name, const std::string& error) {
  return JsonObject{{"name", name}, {"reachable", error.empty()}, {"message", error}};
}

class FleetView final : public View {
 public:
  explicit FleetView(std::string hub) : hub_(std::move(hub)) {
    for (const char* field : {"replicas", "clusters", "handovers"}) document_.Set(field, JsonObject{});
    document_.Set("plan", JsonObject{});
    Hub("");
  }

  std::vector<Topic> MemberTopics() const override { return {Topic::kSummary}; }

  void Apply(Topic topic, const std::string& cluster, const Update& update, const Outage& outage) override {
    if (topic == Topic::kFleet) Hub(outage.error);
    if (topic == Topic::kSummary) outages_[cluster] = outage;
    for (const Change& change : update.changes) {
      if (change.field == "rows") {
        rows_.erase(change.key);
        if (change.value) rows_[change.key] = *change.value;
        Show(change.key);
      } else if (change.field == "summary") {
        summaries_[cluster] = *change.value;
      } else {
        Put(change);
      }
    }
    if (topic == Topic::kSummary) Show(cluster);
  }

  void Forget(const std::string& cluster) override {
    summaries_.erase(cluster);
    outages_.erase(cluster);
    rows_.erase(cluster);
    document_.Erase("clusters", cluster);
  }

 private:
  void Hub(const std::string& error) { document_.Set("hub", HubEntry(hub_, error)); }

  void Show(const std::string& cluster) {
    if (!rows_.contains(cluster)) return document_.Erase("clusters", cluster);
    const auto outage = outages_.find(cluster);
    document_.Set("clusters", cluster,
                  ClusterEntry(EntryOf(rows_, cluster), EntryOf(summaries_, cluster),
                               outage == outages_.end() ? Outage() : outage->second));
  }

  const std::string hub_;
  std::map<std::string, Json> rows_, summaries_;  // by member
  std::map<std::string, Outage> outages_;
};

/// Which members there are. What they have is not asked, so that it costs the hub alone.
class NamesView final : public View {
 public:
  explicit NamesView(std::string hub) : hub_(std::move(hub)) {
    document_.Set("clusters", JsonObject{});
    document_.Set("hub", HubEntry(hub_, ""));
  }

  void Apply(Topic topic, const std::string&, const Update& update, const Outage& outage) override {
    if (topic != Topic::kFleet) return;
    document_.Set("hub", HubEntry(hub_, outage.error));
    for (const Change& change : update.changes) {
      if (change.field != "rows") continue;
      if (change.value) {
        document_.Set("clusters", change.key, JsonObject{});
      } else {
        document_.Erase("clusters", change.key);
      }
    }
  }

  void Forget(const std::string& cluster) override { document_.Erase("clusters", cluster); }

 private:
  const std::string hub_;
};

/// What views of one member have in common.
class MemberView : public View {
 public:
  std::string member() const override { return name_; }
  void Forget(const std::string&) override {
    gone_ = true;
    document_.Set("health", "Unreachable");
    for (const char* field : {"message", "unread"}) document_.Set(field, "it is not in the fleet any more");
  }

 protected:
  explicit MemberView(const std::string& name) : name_(name) { document_.Set("name", Json(name)); }

  const std::string name_;
  bool gone_ = false;  ///< until the member itself is heard of again
};

class ClusterView final : public MemberView {
 public:
  explicit ClusterView(const std::string& name) : MemberView(name) {
    for (const char* field : {"nodes", "pending", "groups"}) document_.Set(field, JsonObject{});
    Show();
  }

  std::vector<Topic> MemberTopics() const override { return {Topic::kCluster}; }

  void Apply(Topic topic, const std::string&, const Update& update, const Outage& outage) override {
    if (topic == Topic::kCluster) {
      outage_ = outage;
      gone_ = false;
    }
    for (const Change& change : update.changes) {
      if (change.field == "summary") {
        summary_ = *change.value;
      } else if (topic == Topic::kCluster) {
        Put(change);
      } else if (change.field == "rows" && change.key == name_) {
        row_ = change.value.value_or(Json());
      }
    }
    Show();
  }

 private:
  void Show() {
    // The hub's word comes later than that the member has left it, and does not make it one again.
    if (gone_) return;
    const Json entry = ClusterEntry(row_, summary_, outage_);
    for (const char* field : {"owner", "health", "message", "unknownSince"}) document_.Set(field, entry.at(field));
    document_.Set("unread", OrNull(outage_.error));
    document_.Set("server", OrNull(base::FindString(row_, {"server"})));
  }

  Json row_, summary_;
  Outage outage_;
};

class BalanceView final : public MemberView {
 public:
  explicit BalanceView(const std::string& name) : MemberView(name) {
    for (const char* field : {"policies", "metrics", "nodes", "plans"}) document_.Set(field, JsonObject{});
    document_.Set("plan", Json());
    document_.Set("history", base::JsonArray{});
  }

  std::vector<Topic> MemberTopics() const override { return {Topic::kBalance}; }

  void Apply(Topic topic, const std::string&, const Update& update, const Outage& outage) override {
    if (topic != Topic::kBalance) return;
    for (const Change& change : update.changes) Put(change);
    if (std::exchange(gone_, false)) document_.Set("health", Json());
    document_.Set("message", Json(outage.error));
    document_.Set("unread", OrNull(outage.error));
    document_.Set("unknownSince", TimeOrNull(outage.since));
  }
};

class RolloutsView final : public View {
 public:
  RolloutsView() { document_.Set("ensembles", JsonObject{}); }

  std::vector<Topic> HubTopics() const override { return {Topic::kEnsembles}; }
  std::vector<Topic> MemberTopics() const override { return {Topic::kServers}; }

  void Apply(Topic topic, const std::string& cluster, const Update& update, const Outage& outage) override {
    if (topic == Topic::kEnsembles) document_.Set("unread", OrNull(outage.error));
    if (topic == Topic::kServers && Read(cluster, outage)) {
      for (const auto& [key, ensemble] : ensembles_) Show(key);
    }
    for (const Change& change : update.changes) {
      if (change.field == "ensemble") {
        ensembles_.erase(change.key);
        if (change.value) ensembles_[change.key] = *change.value;
      } else if (change.field == "servers") {
        servers_[change.key].erase(cluster);
        if (change.value) servers_[change.key][cluster] = *change.value;
      } else {
        continue;
      }
      Show(change.key);
    }
  }

  void Forget(const std::string& cluster) override {
    read_.erase(cluster);
    for (auto& [key, members] : servers_) members.erase(cluster);
    for (const auto& [key, ensemble] : ensembles_) Show(key);
  }

 private:
  void Show(const std::string& key) {
    const auto ensemble = ensembles_.find(key);
    if (ensemble == ensembles_.end()) return document_.Erase("ensembles", key);
    document_.Set("ensembles", key, EnsembleEntry(ensemble->second, servers_[key], read_));
  }

  /// Notes whether the member can be read; true when that is new.
  bool Read(const std::string& cluster, const Outage& outage) {
    const auto [at, fresh] = read_.try_emplace(cluster, outage);
    return fresh || std::exchange(at->second, outage) != outage;
  }

  std::map<std::string, Outage> read_;                          // by member that was asked
  std::map<std::string, Json> ensembles_;                       // by namespace/name
  std::map<std::string, std::map<std::string, Json>> servers_;  // by the same, then by member
};

class EventsView final : public View {
 public:
  EventsView() {
    for (const char* field : {"events", "silent"}) document_.Set(field, JsonObject{});
  }

  std::vector<Topic> HubTopics() const override { return {Topic::kEvents}; }
  std::vector<Topic> MemberTopics() const override { return {Topic::kEvents}; }

  void Apply(Topic topic, const std::string& cluster, const Update& update, const Outage& outage) override {
    if (topic != Topic::kEvents) return;
    const std::string name = cluster.empty() ? "hub" : cluster;
    if (!outage) {
      document_.Erase("silent", name);
    } else {
      document_.Set("silent", name, Json(outage.error));
    }
    for (const Change& change : update.changes) {
      if (!change.value) {
        ids_.erase(change.key);
      } else if (ids_.size() < kEventsShown || change.key > *ids_.begin()) {
        ids_.insert(change.key);
      } else {
        continue;
      }
      Put(change);
    }
    while (ids_.size() > kEventsShown) {
      document_.Erase("events", *ids_.begin());
      ids_.erase(ids_.begin());
    }
  }

  /// What it decided stays.
  void Forget(const std::string& cluster) override { document_.Erase("silent", cluster); }

 private:
  std::set<std::string> ids_;
};

}  // namespace

bool View::Wants(Topic topic, const std::string& cluster) const {
  const auto has = [topic](const std::vector<Topic>& topics) { return std::ranges::find(topics, topic) != topics.end(); };
  if (cluster.empty()) return topic == Topic::kFleet || has(HubTopics());
  return (member().empty() || member() == cluster) && has(MemberTopics());
}

void View::Put(const Change& change) {
  if (change.key.empty()) {
    document_.Set(change.field, change.value.value_or(Json()));
  } else if (change.value) {
    document_.Set(change.field, change.key, *change.value);
  } else {
    document_.Erase(change.field, change.key);
  }
}

base::Result<std::unique_ptr<View>> NewView(const std::string& name, const std::string& hub) {
  if (name == "fleet") return std::make_unique<FleetView>(hub);
  if (name == "names") return std::make_unique<NamesView>(hub);
  if (name == "rollouts") return std::make_unique<RolloutsView>();
  if (name == "events") return std::make_unique<EventsView>();
  const size_t slash = name.find('/');
  const std::string kind = name.substr(0, slash), member = slash == std::string::npos ? "" : name.substr(slash + 1);
  if (!member.empty() && kind == "cluster") return std::make_unique<ClusterView>(member);
  if (!member.empty() && kind == "balance") return std::make_unique<BalanceView>(member);
  return base::Fail(base::Code::kNotFound, "there is no view \"" + name.substr(0, 100) +
                                               "\": there are fleet, names, cluster/NAME, balance/NAME, rollouts and events");
}

}  // namespace evenkeel::dashboard
