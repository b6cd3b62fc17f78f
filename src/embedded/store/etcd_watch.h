// One watch on etcd: a stream that reconnects. Used by etcd_store.cc only.
#pragma once

#include <grpcpp/alarm.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "embedded/store/etcd.grpc.pb.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::store {

/// Kept alive by its own stream or pause until it has ended. Any thread.
class EtcdWatcher : public std::enable_shared_from_this<EtcdWatcher> {
 public:
  /// `stub` must live until WaitUntilFinished has returned. `strip` is the length of the store's prefix, which `prefix`
  /// includes and keys are delivered without. `reconnects`: false for a watch that ends with its stream.
  EtcdWatcher(etcdserverpb::Watch::Stub& stub, std::string prefix, size_t strip, Revision after, bool reconnects,
              WatchHandler handler);

  void Start();
  /// Calls the handler with the error, as the last call, once the stream has ended.
  void End(base::Error error);
  /// Waits until nothing of it runs any more; not from within the handler.
  void WaitUntilFinished();
  /// As ~Watch.
  void Close();

 private:
  class Stream;

  void OpenStream();
  bool OnResponse(const etcdserverpb::WatchResponse& response);
  void OnContextEnd();
  void OnStreamEnd();
  void OnPauseEnd();
  void Pause();
  void Call(std::vector<Event> batch, const base::Error* error);
  void Finish();
  void CancelLocked();

  etcdserverpb::Watch::Stub& stub_;
  const std::string prefix_;
  const size_t strip_;
  const bool reconnects_;

  std::mutex mutex_;
  std::condition_variable changed_;
  WatchHandler handler_;
  Revision next_;                           // the first revision not delivered yet
  grpc::ClientContext* context_ = nullptr;  // of the stream; what cancels it holds the lock
  std::unique_ptr<grpc::Alarm> pause_;
  int failures_ = 0;
  std::unique_ptr<base::Error> end_;
  bool closed_ = false;
  bool finished_ = false;
  bool calling_ = false;
  std::thread::id caller_;
};

}  // namespace evenkeel::embedded::store
