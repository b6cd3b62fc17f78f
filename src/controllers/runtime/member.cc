#include "controllers/runtime/member.h"

#include "client/fenced_client.h"

namespace evenkeel::controllers::runtime {
namespace {

/// Errors of the list-watch loops have no callback; looking this often is soon enough for an Event.
constexpr base::Duration kPollPeriod = std::chrono::seconds(1);

}  // namespace

Member::Member(std::string name, std::unique_ptr<client::Client> client, std::shared_ptr<client::Fence> fence,
               base::Executor& executor, base::Random random, std::function<void()> on_change,
               const std::vector<MemberControllerFactory>& controllers)
    : name_(std::move(name)),
      fence_(std::move(fence)),
      client_(client::NewFencedClient(std::move(client), fence_)),
      strand_(executor.NewStrand("member/" + name_)),
      nodes_(*client_, kube::resources::Nodes(), {}, strand_, executor.clock(), random.Fork("nodes")),
      pods_(*client_, kube::resources::Pods(), {}, strand_, executor.clock(), random.Fork("pods")),
      on_change_(std::move(on_change)) {
  for (const MemberControllerFactory& make : controllers) {
    if (auto made = make(*this)) controllers_.push_back(std::move(made));
  }
  strand_->Post([this] {
    nodes_.Start();
    pods_.Start();
    Poll();
  });
}

Member::~Member() {
  strand_->Close();
  controllers_.clear();
  poll_.Cancel();
}

std::unique_ptr<client::Client> Member::Guard(std::unique_ptr<client::Client> other) const {
  return client::NewFencedClient(std::move(other), fence_);
}

base::Status Member::Write(std::string_view what, const std::function<base::Status()>& call) const {
  return client::FencedWrite(*fence_, what, call);
}

MemberHealth Member::health() const {
  std::lock_guard lock(mutex_);
  return health_;
}

void Member::Poll() {
  Publish();
  poll_ = strand_->PostAfter(kPollPeriod, [this] { Poll(); });
}

void Member::Publish() {
  MemberHealth now;
  now.synced = nodes_.synced() && pods_.synced();
  now.nodes = static_cast<int64_t>(nodes_.items().size());
  now.pods = static_cast<int64_t>(pods_.items().size());
  auto error = nodes_.last_error();
  if (!error) error = pods_.last_error();
  if (error) now.error = error->message();
  bool changed;
  {
    std::lock_guard lock(mutex_);
    changed = now.synced != health_.synced || now.error != health_.error;
    health_ = std::move(now);
  }
  if (changed && on_change_) on_change_();
}

}  // namespace evenkeel::controllers::runtime
