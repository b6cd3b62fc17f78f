// Requests that wait for a worker, one queue for each user. Whoever sends much, or what is slow, waits behind itself: the users
// take turns, and none of them ever has all workers. After the fair queues of Kubernetes' API priority and fairness
// (kubernetes@1.36:staging/src/k8s.io/apiserver/pkg/util/flowcontrol), with one level and a queue for each user instead of
// shuffle sharding.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/executor.h"

namespace evenkeel::embedded::apiserver {

struct RequestQueueOptions {
  int workers = 4;                ///< at least 2
  size_t waiting_max = 8'000;     ///< of all users together
  size_t waiting_of_one = 4'000;  ///< of one user
};

/// Thread-safe.
class RequestQueue {
 public:
  /// The workers are strands of `executor`, which must outlive the queue.
  RequestQueue(base::Executor& executor, RequestQueueOptions options);
  /// Drops what waits, and waits for what runs.
  ~RequestQueue();
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  /// Runs the task on a worker: at once, or when it is the user's turn. False, and the task is left as it was, where too many
  /// wait already.
  bool Run(std::string_view user, base::Task& task);

 private:
  struct Flow {
    std::string user;
    std::list<base::Task> waiting;
    int running = 0;
    bool in_turn = false;  // whether it stands in turns_
  };
  struct Job {
    Flow* flow = nullptr;
    base::Task task;
  };

  void Begin(size_t worker, Job job);
  void Work(size_t worker, Job job);
  void Stand(Flow& flow);
  bool Next(Job& job);
  void End(Flow& flow);

  const RequestQueueOptions options_;
  std::vector<std::shared_ptr<base::Strand>> workers_;

  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Flow>> flows_;  // those that wait or run
  std::list<Flow*> turns_;    // those that wait and may have one more worker, who is next first
  std::vector<size_t> idle_;  // workers without work
  size_t waiting_ = 0;
};

}  // namespace evenkeel::embedded::apiserver
