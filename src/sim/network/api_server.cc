#include "sim/network/api_server.h"

#include "embedded/store/memory_store.h"

namespace evenkeel::sim {
namespace {

namespace apiserver = embedded::apiserver;
namespace store = embedded::store;

/// What the API server opens when it starts, as it would a database file: it goes, the content stays.
class OpenedStore final : public store::Store {
 public:
  explicit OpenedStore(store::Store& content) : content_(content) {}
  base::Result<store::KeyValue> Get(const std::string& key, store::Revision revision) override {
    return content_.Get(key, revision);
  }
  base::Result<store::ListResult> List(const store::ListOptions& options) override { return content_.List(options); }
  void Commit(store::Write write, std::function<void(base::Result<store::Revision>)> done) override {
    content_.Commit(std::move(write), std::move(done));
  }
  base::Result<std::unique_ptr<store::Watch>> NewWatch(std::string prefix, store::Revision after,
                                                       store::WatchHandler handler) override {
    return content_.NewWatch(std::move(prefix), after, std::move(handler));
  }
  store::Revision current_revision() override { return content_.current_revision(); }
  base::Status Compact(store::Revision revision) override { return content_.Compact(revision); }
  store::Revision compacted_revision() override { return content_.compacted_revision(); }
  bool reads_block() const override { return content_.reads_block(); }

 private:
  store::Store& content_;
};

/// Whether the key is that of the object: ".../PLURAL/NAMESPACE/NAME", or without namespace.
bool IsOf(const std::string& key, const apiserver::AuditRecord& record) {
  const std::string end = "/" + record.plural + "/" + (record.ns.empty() ? "" : record.ns + "/") + record.name;
  return key.ends_with(end);
}

}  // namespace

ApiServer::ApiServer(ApiServerOptions options, base::VirtualExecutor& executor, Fibers& fibers, const base::Random& random,
                     Network& network, ApiObserver& observer)
    : options_(std::move(options)),
      executor_(executor),
      fibers_(fibers),
      random_(random.Fork(options_.name)),
      network_(network),
      observer_(observer),
      store_(store::NewMemoryStore()) {
  for (const auto& [key, value] : options_.stored) {
    store_->Commit({.key = key, .value = std::make_shared<const std::string>(value)}, [](const auto&) {});
  }
}

ApiServer::~ApiServer() {
  if (up()) Crash();
}

base::Status ApiServer::Start() {
  if (!trace_) {
    EVENKEEL_ASSIGN(trace_, store_->NewWatch("", 0, [this](std::vector<store::Event> batch, const base::Error*) {
      for (store::Event& event : batch) {
        if (event.type == store::Event::Type::kProgress) continue;
        observer_.OnStored(options_.name, event);
        unclaimed_.push_back(std::move(event));
      }
    }));
  }
  embedded::fleet::ClusterOptions cluster;
  cluster.name = options_.name;
  cluster.index = options_.index;
  cluster.nodes = options_.nodes;
  cluster.cloud = options_.cloud;
  cluster.runtime = options_.runtime;
  cluster.audit = this;
  if (options_.cloud && options_.runtime == nullptr) {
    cluster.workloads.disabled = {"daemonset", "endpoints", "namespace", "serviceaccount", "statefulset", "volumebinder"};
  } else if (!options_.cloud && options_.nodes == 0) {
    // Nothing can run there, so whoever looks after workloads would only cost time.
    const auto& names = embedded::workloads::Workloads::ControllerNames();
    cluster.workloads.disabled = {names.begin(), names.end()};
  }
  // Nobody writes policies there, and watching for them would only cost time.
  cluster.workloads.disabled.emplace("validatingadmissionpolicystatus");
  if (!options_.scheduler) cluster.workloads.disabled.emplace("scheduler");
  base::Executor* executor = &executor_;
  if (options_.federation) {
    process_ = std::make_unique<Process>(executor_, fibers_, options_.name);
    cluster.federation = options_.federation(*process_);
    executor = process_.get();
  }
  // Another start must not make the same uids again.
  const base::Random random = random_.Fork("start " + std::to_string(++starts_));
  cluster_ = std::make_unique<embedded::fleet::Cluster>(cluster, std::make_unique<OpenedStore>(*store_), *executor, random);
  EVENKEEL_TRY(cluster_->Start());
  EVENKEEL_TRY(cluster_->StartNodes());
  network_.Attach(options_.name, [this](const std::string& user, int64_t epoch) { return cluster_->NewClient(user, epoch); });
  return {};
}

void ApiServer::Crash(bool silent) {
  network_.Detach(options_.name, silent);
  if (process_) process_->Kill();
  cluster_.reset();
  process_.reset();
  unclaimed_.clear();
}

void ApiServer::StopNode(const std::string& node) {
  cluster_->node_strand()->Post([&agent = cluster_->nodes(), node] { agent.StopNode(node); });
}

void ApiServer::StartNode(const std::string& node) {
  cluster_->node_strand()->Post([&agent = cluster_->nodes(), node] { agent.StartNode(node); });
}

void ApiServer::Record(const apiserver::AuditRecord& record) {
  // In virtual time a write is carried out as a whole before anything else happens, so what it changed is at hand.
  const std::vector<store::Event> changes = std::exchange(unclaimed_, {});
  const store::Event* change = nullptr;
  for (const store::Event& event : changes) {
    if (record.reason.empty() && !record.dry_run && IsOf(event.current.key, record)) change = &event;
  }
  static const std::string kNoKey;
  observer_.OnWrite({.api = options_.name,
                     .record = record,
                     .key = change != nullptr ? change->current.key : kNoKey,
                     .value = change != nullptr ? change->current.value : nullptr,
                     .previous = change != nullptr ? change->previous : nullptr,
                     .took_effect = change != nullptr});
}

}  // namespace evenkeel::sim
