#include "embedded/apiserver/http/http_server_connection.h"

namespace evenkeel::embedded::apiserver {

bool ServerStream::Write(Chunk chunk) {
  std::unique_lock lock(mutex_);
  if (closing_ || connection_ == nullptr) return false;
  if (chunk == nullptr || chunk->empty()) return true;
  if (queued_ - beginning_ + chunk->size() > bytes_max_) {
    closing_ = true;
    overflow_ = true;
    pending_.clear();
    Schedule(std::move(lock));
    return false;
  }
  return Queue(std::move(lock), std::move(chunk));
}

bool ServerStream::WriteBeginning(Chunk chunk) {
  std::unique_lock lock(mutex_);
  if (closing_ || connection_ == nullptr) return false;
  if (chunk == nullptr || chunk->empty()) return true;
  beginning_ += chunk->size();
  return Queue(std::move(lock), std::move(chunk));
}

bool ServerStream::Queue(std::unique_lock<std::mutex> lock, Chunk chunk) {
  queued_ += chunk->size();
  pending_.push_back(std::move(chunk));
  Schedule(std::move(lock));
  return true;
}

void ServerStream::Close() {
  std::unique_lock lock(mutex_);
  if (closing_ || connection_ == nullptr) return;
  closing_ = true;
  Schedule(std::move(lock));
}

void ServerStream::OnClosed(std::function<void()> callback) {
  {
    std::lock_guard lock(mutex_);
    if (!closing_ && connection_ != nullptr) {
      callback_ = std::move(callback);
      return;
    }
  }
  callback();
}

void ServerStream::Schedule(std::unique_lock<std::mutex> lock) {
  if (scheduled_ || connection_ == nullptr) return;
  scheduled_ = true;
  std::shared_ptr<ServerConnection> connection = connection_;
  lock.unlock();
  ServerWorker& worker = connection->worker();
  worker.Post([connection = std::move(connection)] { connection->PumpStream(); });
}

ServerStream::Batch ServerStream::Take() {
  Batch batch;
  std::function<void()> callback;
  {
    std::lock_guard lock(mutex_);
    scheduled_ = false;
    batch.chunks.swap(pending_);
    batch.last = closing_;
    batch.overflow = overflow_;
    if (closing_) callback = std::exchange(callback_, nullptr);
  }
  if (callback) callback();
  return batch;
}

void ServerStream::Written(size_t bytes) {
  std::lock_guard lock(mutex_);
  queued_ -= std::min(queued_, bytes);
  beginning_ -= std::min(beginning_, bytes);
}

bool ServerStream::overflow() {
  std::lock_guard lock(mutex_);
  return overflow_;
}

void ServerStream::ConnectionGone() {
  std::function<void()> callback;
  std::shared_ptr<ServerConnection> connection;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    pending_.clear();
    connection.swap(connection_);
    callback = std::exchange(callback_, nullptr);
  }
  if (callback) callback();
}

}  // namespace evenkeel::embedded::apiserver
