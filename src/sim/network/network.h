// The network between processes and API servers in virtual time, and all that goes wrong in it. A call is a request that takes
// its time, is carried out by the API server, and an answer that takes its time; meanwhile the caller's task waits. Requests
// and answers are lost, late (also long after the caller has given up, or is dead), refused or answered with an error; API
// servers are down or slow; watches break, fall behind and expire.
//
// One network per simulation, in virtual time, with random numbers per link: more traffic on one link changes no other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/random.h"
#include "client/client.h"
#include "sim/network/process.h"

namespace evenkeel::sim {

/// The name of the hub's API server; the others are the members'.
inline constexpr char kHub[] = "hub";

/// How calls fare. Probabilities are per call.
struct NetworkConditions {
  base::Duration latency_min{}, latency_max{};  ///< of a request or an answer
  base::Duration service_min{}, service_max{};  ///< how long an API server takes
  double lost_request = 0;
  double lost_answer = 0;
  double error_before = 0;  ///< 429, 500 or 503, not carried out
  double error_after = 0;   ///< 500 or 503, although carried out
  // Of writes only:
  double conflict = 0;  ///< 409 of a write with a resourceVersion, although nothing has changed; not carried out
  double delayed = 0;   ///< the caller gets a time-out, the API server gets the request up to a minute later
  double stall = 0;     ///< the process is paused after all its own checks, before the request goes out (Network::on_stall)

  // Of questions to a ZooKeeper server only (zookeeper_probe.h); no other call is hit.
  double silent_server = 0;  ///< it stands still for a moment, and does not answer, but serves

  bool perfect() const {
    return latency_max == base::Duration::zero() && service_max == base::Duration::zero() && lost_request == 0 &&
           lost_answer == 0 && error_before == 0 && error_after == 0 && conflict == 0 && delayed == 0 && stall == 0;
  }
};

/// Which direction of a link is cut.
enum class Cut { kBoth, kRequests, kAnswers };

struct NetworkClientOptions {
  std::string host;  ///< where the process runs: partitions are between hosts and API servers
  std::string user;  ///< whom the API server sees
  int64_t epoch = 0;
  base::Duration timeout = std::chrono::seconds(5);
};

class WatchStream;
class Exchange;
struct Sender;
struct Link;
struct Fate;

class Network {
 public:
  /// Makes a client of an API server for a user that states an epoch.
  using ClientMaker = std::function<std::unique_ptr<client::Client>(const std::string& user, int64_t epoch)>;

  Network(base::VirtualExecutor& executor, base::Random random);
  ~Network();

  /// The API server has come up. What the maker makes is used until Detach.
  void Attach(const std::string& api, ClientMaker maker);
  /// It went down: answers under way from it are lost, watches break, and connections are refused (`silent`: time out).
  void Detach(const std::string& api, bool silent = false);

  /// A client that calls `api` from a process. The process must outlive it, not what it has sent.
  std::unique_ptr<client::Client> NewClient(Process& process, const std::string& api, NetworkClientOptions options);

  NetworkConditions& conditions() { return conditions_; }
  void Partition(const std::string& host, const std::string& api, Cut cut);
  /// Watches that were silent meanwhile catch up or break.
  void Heal(const std::string& host, const std::string& api);
  /// All answers of the API server take this much longer from now on; zero ends it.
  void SlowDown(const std::string& api, base::Duration by);
  /// Events of the link's watches come late by this from now on; zero ends it. The order stays.
  void DelayEvents(const std::string& host, const std::string& api, base::Duration by);
  /// Ends the link's watches, with kExpired or kUnavailable.
  void BreakWatches(const std::string& host, const std::string& api, base::Code code);
  /// The hub's API does not serve this kind (by its plural) to replicas for now.
  void TakeAway(const std::string& plural, bool away);
  bool IsAway(const std::string& api, const std::string& host, const std::string& plural) const;
  /// Ends partitions, delays and slowness; what was taken away is there.
  void HealAll();

  /// Nothing comes through the link in one direction, or in both.
  bool IsCut(const std::string& host, const std::string& api) const;
  /// The link has worked since then: no cut, and no fault hit a call or a watch. Now, if it does not work now;
  /// later, if an event is still late.
  base::Instant UndisturbedSince(const std::string& host, const std::string& api) const;
  /// The API server has been up, and not slow, since then.
  base::Instant HealthySince(const std::string& api) const;

  /// Hears of each fault as it strikes; may be empty.
  std::function<void(const std::string& kind, const std::string& party, const std::string& detail)> on_fault;
  /// Pauses the process (and arranges for its Resume); empty: stalls do nothing.
  std::function<void(Process& process)> on_stall;

 private:
  friend class NetworkClient;
  friend class WatchStream;
  /// An API server's end.
  struct Port {
    ClientMaker maker;  ///< empty while down
    bool silent = false;
    uint64_t starts = 0;  ///< clients made by an earlier start are of no use
    base::Instant up_since{}, down_at{};
    base::Duration slow{};
    base::Instant slow_until{};
  };

  Link& LinkOf(const std::string& host, const std::string& api);
  bool IsDirect(const Link& link, const Port& port) const;
  base::Status Carry(Process& process, const std::shared_ptr<Sender>& sender, const std::shared_ptr<Exchange>& exchange);
  Fate DrawFate(Link& link, const Exchange& exchange, base::Duration timeout);
  void Arrive(const std::shared_ptr<Sender>& sender, const std::shared_ptr<Exchange>& exchange, const Fate& fate);
  void CarryOut(Sender& sender, Exchange& exchange, const Fate& fate);
  void Answer(const Sender& sender, Exchange& exchange, const Fate& fate);
  client::Client& ClientFor(Sender& sender);
  base::Duration DrawLatency(Link& link) const;
  /// Answers come through again: watches catch up or turn out to be broken.
  void BringWhatWaits(Link& link);
  void Disturb(Link& link, const std::string& kind, const std::string& detail = "");
  base::Instant Now() const { return executor_.clock().Monotonic(); }

  base::VirtualExecutor& executor_;
  const base::Random random_;
  NetworkConditions conditions_;
  const std::shared_ptr<base::Strand> strand_;
  std::map<std::string, Port> ports_;
  std::set<std::string> away_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Link>> links_;
  uint64_t next_stream_ = 0;
};

}  // namespace evenkeel::sim
