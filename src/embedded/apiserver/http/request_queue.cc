#include "embedded/apiserver/http/request_queue.h"

#include "base/result.h"

namespace evenkeel::embedded::apiserver {

RequestQueue::RequestQueue(base::Executor& executor, RequestQueueOptions options) : options_(options) {
  EVENKEEL_CHECK(options.workers > 1);
  for (int i = 0; i < options.workers; ++i) workers_.push_back(executor.NewStrand("apiserver-request"));
  for (size_t i = workers_.size(); i > 0; --i) idle_.push_back(i - 1);
}

RequestQueue::~RequestQueue() {
  for (const auto& worker : workers_) worker->Close();
}

bool RequestQueue::Run(std::string_view user, base::Task& task) {
  std::unique_lock lock(mutex_);
  auto& flow = flows_[std::string(user)];
  if (flow == nullptr) {
    flow = std::make_unique<Flow>();
    flow->user = user;
  }
  if (waiting_ >= options_.waiting_max || flow->waiting.size() >= options_.waiting_of_one) {
    if (flow->running == 0 && flow->waiting.empty()) flows_.erase(std::string(user));
    return false;
  }
  flow->waiting.push_back(std::move(task));
  ++waiting_;
  Stand(*flow);
  Job job;
  if (idle_.empty() || !Next(job)) return true;
  const size_t worker = idle_.back();
  idle_.pop_back();
  lock.unlock();
  Begin(worker, std::move(job));
  return true;
}

void RequestQueue::Begin(size_t worker, Job job) {
  workers_[worker]->Post([this, worker, job = std::move(job)]() mutable { Work(worker, std::move(job)); });
}

void RequestQueue::Work(size_t worker, Job job) {
  // The executor's other strands get their turn between two requests where this one has many.
  constexpr int kRequestsPerTurn = 16;
  for (int done = 1;; ++done) {
    job.task();
    job.task = nullptr;
    std::lock_guard lock(mutex_);
    End(*job.flow);
    if (!Next(job)) {
      idle_.push_back(worker);
      return;
    }
    if (done == kRequestsPerTurn) return Begin(worker, std::move(job));
  }
}

/// Has the flow stand in line if there is something of it that could run.
void RequestQueue::Stand(Flow& flow) {
  if (flow.in_turn || flow.waiting.empty() || flow.running >= options_.workers - 1) return;
  flow.in_turn = true;
  turns_.push_back(&flow);
}

bool RequestQueue::Next(Job& job) {
  if (turns_.empty()) return false;
  Flow& flow = *turns_.front();
  turns_.pop_front();
  flow.in_turn = false;
  job.flow = &flow;
  job.task = std::move(flow.waiting.front());
  flow.waiting.pop_front();
  --waiting_;
  ++flow.running;
  Stand(flow);
  return true;
}

void RequestQueue::End(Flow& flow) {
  --flow.running;
  Stand(flow);
  if (flow.running == 0 && flow.waiting.empty()) flows_.erase(flow.user);
}

}  // namespace evenkeel::embedded::apiserver
