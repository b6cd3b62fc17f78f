#include "embedded/store/store.h"

#include <condition_variable>
#include <mutex>
#include <optional>

namespace evenkeel::embedded::store {

base::Result<Revision> Store::CommitAndWait(Write write) {
  struct Answer {
    std::mutex mutex;
    std::condition_variable arrived;
    std::optional<base::Result<Revision>> result;
  };
  auto answer = std::make_shared<Answer>();
  Commit(std::move(write), [answer](base::Result<Revision> result) {
    std::lock_guard lock(answer->mutex);
    answer->result = std::move(result);
    answer->arrived.notify_one();
  });
  std::unique_lock lock(answer->mutex);
  answer->arrived.wait(lock, [&] { return answer->result.has_value(); });
  return *std::move(answer->result);
}

}  // namespace evenkeel::embedded::store
