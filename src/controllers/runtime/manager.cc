#include "controllers/runtime/manager.h"

#include <algorithm>

#include "base/log.h"

namespace evenkeel::controllers::runtime {

Manager::Manager(std::shared_ptr<base::Strand> strand) : strand_(std::move(strand)) {}

Manager::~Manager() {
  elector_.reset();
  Stop();
}

void Manager::Add(std::string name, Part part, PartScope scope) {
  const bool unused = std::ranges::none_of(entries_, [&](const Entry& entry) { return entry.name == name; });
  EVENKEEL_CHECK(unused);
  EVENKEEL_CHECK(!active_);
  entries_.push_back({std::move(name), std::move(part), scope});
}

void Manager::Add(Controller& controller) {
  Controller* const it = &controller;
  if (controller.strand() == strand_) {
    return Add(controller.name(), {[it] { it->Start(); }, [it] { it->Stop(); }, {}});
  }
  Add(controller.name(),
      {[it] { it->strand()->Post([it] { it->Start(); }); }, [it] { it->strand()->Post([it] { it->Stop(); }); }, {}});
}

void Manager::ElectLeader(client::Client& client, client::LeaderElectionOptions options, base::Clock& clock,
                          base::Random random) {
  EVENKEEL_CHECK(!active_ && elector_ == nullptr);
  elector_ = std::make_unique<client::LeaderElector>(
      client, std::move(options), strand_, clock, std::move(random),
      client::LeaderElector::Callbacks{
          [this] { StartParts(PartScope::kLeaderOnly); }, [this] { StopParts(PartScope::kLeaderOnly); }, {}});
}

void Manager::Start() {
  if (std::exchange(active_, true)) return;
  StartParts(PartScope::kEveryReplica);
  if (elector_ != nullptr) {
    elector_->Start();
  } else {
    StartParts(PartScope::kLeaderOnly);
  }
}

void Manager::Stop() {
  if (!std::exchange(active_, false)) return;
  if (elector_ != nullptr) elector_->Stop();
  StopParts(PartScope::kLeaderOnly);
  StopParts(PartScope::kEveryReplica);
}

void Manager::StartParts(PartScope scope) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (entry.scope != scope || std::exchange(entry.running, true)) continue;
    base::log::Debug("starting", {{"part", entry.name}});
    started_.push_back(i);
    if (entry.part.start) entry.part.start();
  }
}

void Manager::StopParts(PartScope scope) {
  const std::vector<size_t> order(started_.rbegin(), started_.rend());
  for (const size_t i : order) {
    Entry& entry = entries_[i];
    if (entry.scope != scope) continue;
    base::log::Debug("stopping", {{"part", entry.name}});
    entry.running = false;
    std::erase(started_, i);
    if (entry.part.stop) entry.part.stop();
  }
}

bool Manager::leading() const { return active_ && (elector_ == nullptr || elector_->is_leader()); }

base::Status Manager::healthy() const {
  std::string problems;
  for (const size_t i : started_) {
    const Entry& entry = entries_[i];
    if (!entry.part.health) continue;
    if (const auto status = entry.part.health(); !status) {
      problems += (problems.empty() ? "" : "; ") + entry.name + ": " + status.error().message();
    }
  }
  if (!problems.empty()) return base::Fail(base::Code::kUnavailable, problems);
  return {};
}

std::vector<std::string> Manager::running() const {
  std::vector<std::string> names;
  for (const size_t i : started_) names.push_back(entries_[i].name);
  return names;
}

}  // namespace evenkeel::controllers::runtime
