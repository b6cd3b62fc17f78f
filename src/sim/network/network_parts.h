// What a Network is made of: a call on its way, a link, and a watch's stream of events.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sim/network/network.h"

namespace evenkeel::sim {

/// Who calls. Requests hold it, since they may outlive their client and its process.
struct Sender {
  std::string api;
  NetworkClientOptions options;
  Link& link;
  uint64_t starts = 0;  ///< of the API server, when `client` was made
  std::unique_ptr<client::Client> client{};
};

/// What is to happen to a call; drawn when it is sent.
struct Fate {
  base::Duration there{}, service{}, back{};
  bool late = false;  ///< carried out at the end of the service time rather than at its beginning
  bool lost_request = false, lost_answer = false;
  bool error_before = false, error_after = false, conflict = false;
  bool delayed = false, stall = false;
  uint64_t which = 0;  ///< of the possible errors
};

/// One call on its way. The caller waits until it is concluded.
class Exchange {
 public:
  Exchange(bool write, bool versioned) : write_(write), versioned_(versioned) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  virtual void CarryOut(client::Client& api) = 0;
  /// The answer, whatever it was before.
  virtual void Fail(base::Error error) = 0;

  bool write() const { return write_; }
  /// Names a version, so that a conflict is possible.
  bool versioned() const { return versioned_; }

  std::optional<Wait> caller;
  bool concluded = false;         ///< the caller has its answer, or has gone
  base::Instant begun{}, left{};  ///< of the API server's work
  base::Timer step, timeout;

  void Conclude() {
    if (std::exchange(concluded, true)) return;
    timeout.Cancel();
    if (caller) caller->Done();
  }
  void ConcludeWith(base::Error error) {
    if (concluded) return;
    Fail(std::move(error));
    Conclude();
  }

 private:
  const bool write_, versioned_;
};

/// Between a host and an API server.
struct Link {
  std::string host, api;
  base::Random random;
  bool requests_cut = false, answers_cut = false;
  base::Duration event_delay{};
  base::Instant disturbed_at{};
  std::map<uint64_t, WatchStream*> streams{};

  bool works() const { return !requests_cut && !answers_cut && event_delay == base::Duration::zero(); }
  /// Something is or was wrong until then: now, or when what is still late arrives.
  void Disturbed(base::Instant until) { disturbed_at = std::max(disturbed_at, until); }
};

/// The events of one watch on their way, in order.
class WatchStream : public std::enable_shared_from_this<WatchStream> {
 public:
  WatchStream(Network& network, Process& process, Link& link, client::WatchHandler handler);
  ~WatchStream();

  /// At the API server.
  void Open(std::unique_ptr<client::Watch> source);
  void Push(base::Result<client::WatchEvent> event);
  /// The connection ends: what is under way is lost, the other side notices after `notice`.
  void Break(base::Error error, base::Duration notice = {});
  /// The receiver wants no more.
  void Close();
  /// What was held back by a cut goes out now.
  void Flush();

 private:
  struct Waiting {
    base::Instant due;
    base::Result<client::WatchEvent> event;
  };
  void Schedule();
  void Deliver();

  Network& network_;
  Process& process_;
  Link& link_;
  const uint64_t id_;
  client::WatchHandler handler_;
  std::unique_ptr<client::Watch> source_;
  std::deque<Waiting> waiting_;
  base::Timer timer_;
  bool broken_ = false;
  bool closed_ = false;
};

}  // namespace evenkeel::sim
