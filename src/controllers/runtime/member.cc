#include "controllers/runtime/member.h"

#include "client/fenced_client.h"

namespace evenkeel::controllers::runtime {
namespace {

/// Errors of the list-watch loops have no callback; looking this often is soon enough for an Event.
constexpr base::Duration kPollPeriod = std::chrono::seconds(1);

/// What the member is like at all: how large, and whether it can be read.
struct OwnKinds {
  ReadKind nodes, pods;
  std::vector<ReadKind> both;
};
const OwnKinds& Kinds() {
  static const OwnKinds kinds = [] {
    OwnKinds made;
    for (ReadKind& kind : SnapshotReadKinds()) {
      if (kind.resource.kind == kube::resources::Nodes().kind) made.nodes = kind;
      if (kind.resource.kind == kube::resources::Pods().kind) made.pods = kind;
    }
    made.both = {made.nodes, made.pods};
    return made;
  }();
  return kinds;
}

}  // namespace

Member::Member(std::string name, std::unique_ptr<client::Client> client, std::shared_ptr<client::Fence> fence,
               base::Executor& executor, base::Random random, std::function<void()> on_change,
               const std::vector<MemberControllerFactory>& controllers)
    : name_(std::move(name)),
      fence_(std::move(fence)),
      client_(client::NewFencedClient(std::move(client), fence_)),
      strand_(executor.NewStrand("member/" + name_)),
      feed_(*client_, strand_, executor.clock(), random.Fork("feed")),
      on_change_(std::move(on_change)) {
  feed_.Read(Kinds().both);
  for (const MemberControllerFactory& make : controllers) {
    if (auto made = make(*this)) controllers_.push_back(std::move(made));
  }
  strand_->Post([this] {
    feed_.Start();
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
  const OwnKinds& kinds = Kinds();
  now.synced = feed_.Synced(kinds.both);
  now.nodes = static_cast<int64_t>(feed_.Count(kinds.nodes));
  now.pods = static_cast<int64_t>(feed_.Count(kinds.pods));
  if (const auto error = feed_.LastError(kinds.both)) now.error = error->message();
  bool changed;
  {
    std::lock_guard lock(mutex_);
    changed = now.synced != health_.synced || now.error != health_.error;
    health_ = std::move(now);
  }
  if (changed && on_change_) on_change_();
}

}  // namespace evenkeel::controllers::runtime
