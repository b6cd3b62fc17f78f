#include "embedded/store/etcd_store.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netdb.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <mutex>

#include "embedded/store/etcd_watch.h"
#include "embedded/store/version_index.h"

namespace evenkeel::embedded::store {
namespace {

using base::Code;
using base::Fail;
using Done = std::function<void(base::Result<Revision>)>;

// Pairs per request of a list without a limit: some megabytes of usual objects.
constexpr int64_t kRangeLimit = 2'000;

base::Error FromGrpc(const grpc::Status& status, std::string_view doing) {
  const std::string text = "etcd: " + std::string(doing) + ": " + status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::OUT_OF_RANGE:
      return {status.error_message().find("compacted") != std::string::npos ? Code::kExpired : Code::kBadRequest, text};
    case grpc::StatusCode::INVALID_ARGUMENT:
      return {status.error_message().find("too large") != std::string::npos ? Code::kTooLarge : Code::kBadRequest, text};
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return {
          status.error_message().find("too many requests") != std::string::npos ? Code::kTooManyRequests : Code::kUnavailable,
          text};
    case grpc::StatusCode::PERMISSION_DENIED:
      return {Code::kForbidden, text};
    case grpc::StatusCode::UNAUTHENTICATED:
      return {Code::kUnauthorized, text};
    default:
      // Also deadlines: whether etcd has carried it out is not known.
      return {Code::kUnavailable, text};
  }
}

KeyValue FromWire(const etcdserverpb::KeyValue& pair, size_t strip) {
  return {pair.key().substr(strip), std::make_shared<const std::string>(pair.value()), pair.create_revision(),
          pair.mod_revision()};
}

void AddCompare(etcdserverpb::TxnRequest& request, const std::string& key, etcdserverpb::Compare::CompareResult result,
                Revision revision) {
  auto* compare = request.add_compare();
  compare->set_target(etcdserverpb::Compare::MOD);
  compare->set_key(key);
  compare->set_result(result);
  compare->set_mod_revision(revision);
}

// Asks for the key's revisions in case the comparisons fail.
void AddHead(etcdserverpb::TxnRequest& request, const std::string& key) {
  auto* range = request.add_failure()->mutable_request_range();
  range->set_key(key);
  range->set_keys_only(true);
}

// The answer to the AddHead of that index; nullopt: the key does not exist.
std::optional<KeyHead> HeadIn(const etcdserverpb::TxnResponse& response, int index) {
  if (response.responses_size() <= index || response.responses(index).response_range().kvs_size() == 0) return std::nullopt;
  const auto& pair = response.responses(index).response_range().kvs(0);
  return KeyHead{pair.create_revision(), pair.mod_revision()};
}

class EtcdWatchHandle : public Watch {
 public:
  explicit EtcdWatchHandle(std::shared_ptr<EtcdWatcher> watcher) : watcher_(std::move(watcher)) {}
  ~EtcdWatchHandle() override { watcher_->Close(); }

 private:
  const std::shared_ptr<EtcdWatcher> watcher_;
};

class EtcdStore : public Store {
 public:
  EtcdStore(const std::shared_ptr<grpc::Channel>& channel, EtcdOptions options)
      : options_(std::move(options)),
        kv_(etcdserverpb::KV::NewStub(channel)),
        watch_(etcdserverpb::Watch::NewStub(channel)),
        maintenance_(etcdserverpb::Maintenance::NewStub(channel)) {}
  ~EtcdStore() override;

  base::Status CheckConnection();

  base::Result<KeyValue> Get(const std::string& key, Revision revision) override;
  base::Result<ListResult> List(const ListOptions& options) override;
  void Commit(Write write, Done done) override;
  base::Result<std::unique_ptr<Watch>> NewWatch(std::string prefix, Revision after, WatchHandler handler) override {
    return StartWatch(std::move(prefix), after, true, std::move(handler));
  }
  base::Result<std::unique_ptr<Watch>> NewUnbrokenWatch(std::string prefix, Revision after, WatchHandler handler) override {
    return StartWatch(std::move(prefix), after, false, std::move(handler));
  }
  Revision current_revision() override {
    (void)AskRevision();
    return seen_.load();
  }
  base::Status Compact(Revision revision) override;
  Revision compacted_revision() override;
  base::Status Health() override {
    EVENKEEL_TRY(AskRevision());
    return {};
  }
  bool reads_block() const override { return true; }

 private:
  base::Result<std::unique_ptr<Watch>> StartWatch(std::string prefix, Revision after, bool reconnects, WatchHandler handler);

  struct Transaction {
    grpc::ClientContext context;
    etcdserverpb::TxnRequest request;
    etcdserverpb::TxnResponse response;
    std::string key;
    bool deletes = false;
    Revision expected = 0;
    std::shared_ptr<const Guard> guard;
    Done done;
  };

  void SetDeadline(grpc::ClientContext& context) const {
    context.set_deadline(std::chrono::system_clock::now() + options_.request_timeout);  // effect: gRPC takes absolute times
  }
  base::Result<etcdserverpb::RangeResponse> Range(const etcdserverpb::RangeRequest& request, const std::string& doing);
  base::Result<Revision> AskRevision(Revision at = 0);
  void Saw(Revision revision);
  base::Result<Revision> Judge(const Transaction& transaction, const grpc::Status& status);

  const EtcdOptions options_;
  const std::unique_ptr<etcdserverpb::KV::Stub> kv_;
  const std::unique_ptr<etcdserverpb::Watch::Stub> watch_;
  const std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance_;
  std::atomic<Revision> seen_ = 0;

  std::mutex mutex_;
  std::condition_variable finished_;
  size_t under_way_ = 0;
  std::vector<std::weak_ptr<EtcdWatcher>> watchers_;
};

EtcdStore::~EtcdStore() {
  std::vector<std::weak_ptr<EtcdWatcher>> watchers;
  {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return under_way_ == 0; });
    watchers.swap(watchers_);
  }
  for (const auto& weak : watchers) {
    if (const auto watcher = weak.lock()) watcher->End({Code::kUnavailable, "the store was closed"});
  }
  for (const auto& weak : watchers) {
    if (const auto watcher = weak.lock()) watcher->WaitUntilFinished();
  }
}

void EtcdStore::Saw(Revision revision) {
  Revision before = seen_.load();
  while (before < revision && !seen_.compare_exchange_weak(before, revision)) {
  }
}

base::Status EtcdStore::CheckConnection() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + options_.open_timeout);  // effect: gRPC takes absolute times
  context.set_wait_for_ready(true);
  etcdserverpb::StatusResponse response;
  const grpc::Status status = maintenance_->Status(&context, {}, &response);
  if (!status.ok()) return Fail(FromGrpc(status, "no endpoint answers: check that etcd runs and its address"));
  Saw(response.header().revision());
  return {};
}

base::Result<etcdserverpb::RangeResponse> EtcdStore::Range(const etcdserverpb::RangeRequest& request,
                                                           const std::string& doing) {
  grpc::ClientContext context;
  SetDeadline(context);
  etcdserverpb::RangeResponse response;
  const grpc::Status status = kv_->Range(&context, request, &response);
  if (!status.ok()) return Fail(FromGrpc(status, doing));
  Saw(response.header().revision());
  return response;
}

base::Result<Revision> EtcdStore::AskRevision(Revision at) {
  etcdserverpb::RangeRequest request;
  request.set_key(options_.prefix.empty() ? "/" : options_.prefix);
  request.set_revision(at);
  request.set_count_only(true);
  EVENKEEL_ASSIGN(const auto response, Range(request, "reading the revision"));
  return response.header().revision();
}

base::Result<KeyValue> EtcdStore::Get(const std::string& key, Revision revision) {
  etcdserverpb::RangeRequest request;
  request.set_key(options_.prefix + key);
  request.set_revision(revision);
  EVENKEEL_ASSIGN(const auto response, Range(request, "reading " + key));
  if (response.kvs().empty()) return Fail(Code::kNotFound, "key " + key + " does not exist");
  return FromWire(response.kvs(0), options_.prefix.size());
}

base::Result<ListResult> EtcdStore::List(const ListOptions& options) {
  ListResult result;
  result.revision = options.revision;
  const std::string prefix = options_.prefix + options.prefix;
  const std::string end = PrefixEnd(prefix);
  std::string begin = options.start_after < options.prefix ? prefix : options_.prefix + options.start_after + '\0';
  if (options.start_after.empty()) begin = prefix.empty() ? std::string(1, '\0') : prefix;
  for (;;) {
    if (!end.empty() && begin >= end) {  // etcd takes such a range for a mistake
      if (result.revision != 0) EVENKEEL_TRY(AskRevision(result.revision));
      break;
    }
    etcdserverpb::RangeRequest request;
    request.set_key(begin);
    request.set_range_end(end.empty() ? std::string(1, '\0') : end);
    const auto wanted = options.limit == 0 ? kRangeLimit : static_cast<int64_t>(options.limit - result.items.size());
    request.set_limit(std::min(wanted, kRangeLimit));
    request.set_revision(result.revision);
    EVENKEEL_ASSIGN(auto response, Range(request, "listing " + options.prefix));
    if (result.revision == 0) result.revision = response.header().revision();
    for (const auto& pair : response.kvs()) result.items.push_back(FromWire(pair, options_.prefix.size()));
    if (!response.more() || response.kvs().empty()) break;
    if (options.limit != 0 && result.items.size() >= options.limit) {
      result.more = true;
      result.remaining = static_cast<size_t>(response.count() - response.kvs_size());
      break;
    }
    begin = response.kvs(response.kvs_size() - 1).key() + '\0';
  }
  if (result.revision == 0) {
    EVENKEEL_ASSIGN(result.revision, AskRevision());
  }
  return result;
}

void EtcdStore::Commit(Write write, Done done) {
  if (write.key.empty()) return done(Fail(Code::kBadRequest, "a write needs a key"));
  {
    std::unique_lock lock(mutex_);
    if (under_way_ >= options_.writes_max) {
      lock.unlock();
      return done(Fail(Code::kTooManyRequests, "too many writes are waiting for etcd: try again later"));
    }
    ++under_way_;
  }
  auto transaction = std::make_unique<Transaction>();
  transaction->deletes = write.value == nullptr;
  transaction->expected = write.expected;
  transaction->done = std::move(done);
  const std::string key = options_.prefix + write.key;
  auto& request = transaction->request;
  if (write.expected != Write::kAnyRevision || transaction->deletes) {
    const bool any = write.expected == Write::kAnyRevision;
    AddCompare(request, key, any ? etcdserverpb::Compare::NOT_EQUAL : etcdserverpb::Compare::EQUAL, any ? 0 : write.expected);
  }
  if (!transaction->deletes) {
    auto* put = request.add_success()->mutable_request_put();
    put->set_key(key);
    put->set_value(*write.value);
  } else if (write.expected != 0) {
    request.add_success()->mutable_request_delete_range()->set_key(key);
  }
  AddHead(request, key);
  if (write.guard) {
    const std::string guarded = options_.prefix + write.guard->key;
    AddCompare(request, guarded, etcdserverpb::Compare::EQUAL, write.guard->expected);
    AddHead(request, guarded);
    transaction->guard = std::move(write.guard);
  }
  transaction->key = std::move(write.key);
  SetDeadline(transaction->context);
  Transaction* const call = transaction.release();
  kv_->async()->Txn(&call->context, &call->request, &call->response, [this, call](const grpc::Status& status) {
    std::unique_ptr<Transaction> finished(call);
    auto result = Judge(*finished, status);
    const Done answer = std::move(finished->done);
    // Before the destructor may go on: the context holds the channel, which must not be destroyed last here, on a thread of
    // gRPC that its destructor would join.
    finished.reset();
    answer(std::move(result));
    std::lock_guard lock(mutex_);
    if (--under_way_ == 0) finished_.notify_all();
  });
}

base::Result<Revision> EtcdStore::Judge(const Transaction& transaction, const grpc::Status& status) {
  if (!status.ok()) return Fail(FromGrpc(status, "writing " + transaction.key));
  const auto& response = transaction.response;
  Saw(response.header().revision());
  if (response.succeeded() && !(transaction.deletes && transaction.expected == 0)) return response.header().revision();
  if (!response.succeeded() && transaction.guard) EVENKEEL_TRY(CheckGuard(*transaction.guard, HeadIn(response, 1)));
  const std::optional<KeyHead> now = response.succeeded() ? std::nullopt : HeadIn(response, 0);
  const Write write{transaction.key, transaction.deletes ? nullptr : std::make_shared<const std::string>(),
                    transaction.expected};
  if (auto allowed = CheckWrite(write, now); !allowed) return Fail(std::move(allowed).error());
  return Fail(Code::kInternal, "etcd: refused the write of " + transaction.key + " without a reason");
}

base::Result<std::unique_ptr<Watch>> EtcdStore::StartWatch(std::string prefix, Revision after, bool reconnects,
                                                           WatchHandler handler) {
  if (after == 0) {
    EVENKEEL_ASSIGN(after, AskRevision());
  }
  auto watcher = std::make_shared<EtcdWatcher>(*watch_, options_.prefix + prefix, options_.prefix.size(), after, reconnects,
                                               std::move(handler));
  {
    std::lock_guard lock(mutex_);
    std::erase_if(watchers_, [](const auto& weak) { return weak.expired(); });
    watchers_.push_back(watcher);
  }
  watcher->Start();
  return std::make_unique<EtcdWatchHandle>(std::move(watcher));
}

base::Status EtcdStore::Compact(Revision revision) {
  grpc::ClientContext context;
  SetDeadline(context);
  etcdserverpb::CompactionRequest request;
  request.set_revision(revision);
  etcdserverpb::CompactionResponse response;
  const grpc::Status status = kv_->Compact(&context, request, &response);
  if (status.ok()) return {};
  base::Error error = FromGrpc(status, "compacting to revision " + std::to_string(revision));
  if (error.code() == Code::kExpired) return {};
  return Fail(std::move(error));
}

// etcd does not tell it, but refuses to read at a revision before it.
Revision EtcdStore::compacted_revision() {
  Revision compacted = 0;
  Revision readable = current_revision();
  while (readable - compacted > 1) {
    const Revision middle = compacted + (readable - compacted) / 2;
    const auto answer = AskRevision(middle);
    if (!answer && answer.error().code() != Code::kExpired) return compacted;
    (answer ? readable : compacted) = middle;
  }
  return readable > 1 ? readable : 0;
}

base::Result<std::string> ReadPemFile(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || text.empty()) return Fail(Code::kBadRequest, "cannot read " + path + ": a PEM file for etcd is expected there");
  return text;
}

// gRPC takes one name or a list of addresses: names in a list are looked up here.
base::Result<std::string> NumericAddress(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return Fail(Code::kUnavailable, "etcd endpoint " + host + ":" + port + ": " + gai_strerror(error));
  }
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr, text, sizeof(text));
  freeaddrinfo(found);
  return std::string(text) + ":" + port;
}

struct EtcdTarget {
  std::string target;
  std::string host;  // of the first endpoint
  bool tls = false;
};

base::Result<EtcdTarget> MakeTarget(const std::vector<std::string>& endpoints) {
  EtcdTarget result;
  if (endpoints.empty()) return Fail(Code::kBadRequest, "no etcd endpoint given: HOST:PORT is expected");
  for (const std::string& endpoint : endpoints) {
    std::string_view rest = endpoint;
    if (rest.starts_with("https://")) result.tls = true;
    if (const size_t scheme = rest.find("://"); scheme != std::string_view::npos) rest.remove_prefix(scheme + 3);
    const size_t colon = rest.rfind(':');
    const std::string port(colon == std::string_view::npos ? "" : rest.substr(colon + 1));
    if (colon == 0 || port.empty() || !std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; })) {
      return Fail(Code::kBadRequest, "etcd endpoint \"" + endpoint + "\": HOST:PORT is expected");
    }
    const std::string host(rest.substr(0, colon));
    if (result.host.empty()) result.host = host;
    if (endpoints.size() == 1) {
      result.target = "dns:///" + std::string(rest);
      return result;
    }
    EVENKEEL_ASSIGN(const std::string address, NumericAddress(host, port));
    result.target += (result.target.empty() ? "ipv4:" : ",") + address;
  }
  return result;
}

}  // namespace

base::Result<std::unique_ptr<Store>> OpenEtcdStore(const std::vector<std::string>& endpoints, const EtcdOptions& options) {
  EVENKEEL_ASSIGN(const EtcdTarget target, MakeTarget(endpoints));
  grpc::SslCredentialsOptions pem;
  EVENKEEL_ASSIGN(pem.pem_root_certs, ReadPemFile(options.ca_file));
  EVENKEEL_ASSIGN(pem.pem_cert_chain, ReadPemFile(options.certificate_file));
  EVENKEEL_ASSIGN(pem.pem_private_key, ReadPemFile(options.key_file));
  const bool tls = target.tls || !options.ca_file.empty();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // a page of large objects is beyond gRPC's 4 MiB
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  // A peer that is gone without a word would leave a watch waiting for ever.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  if (tls) arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, target.host);
  auto channel =
      grpc::CreateCustomChannel(target.target, tls ? grpc::SslCredentials(pem) : grpc::InsecureChannelCredentials(), arguments);
  auto store = std::make_unique<EtcdStore>(channel, options);
  EVENKEEL_TRY(store->CheckConnection());
  return store;
}

}  // namespace evenkeel::embedded::store
