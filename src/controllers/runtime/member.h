// One member cluster that this replica owns: its client, its strand and its feed. The controllers of the member (autoscaler,
// balancer, scheduler, operator) take turns on that strand. The feed reads once what several of them need (member_feed.h). A
// Member lives from the moment when the replica becomes the owner until it is owner no more.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "client/fence.h"
#include "controllers/runtime/member_feed.h"

namespace evenkeel::controllers::runtime {

/// What others may know about a member, from any thread.
struct MemberHealth {
  bool synced = false;  ///< nodes and pods have been listed
  int64_t nodes = 0;
  int64_t pods = 0;   ///< that have not ended
  std::string error;  ///< the last failure since the last success; empty when all is well
};

class Member;

/// Something that looks after one member while this replica owns it.
class MemberController {
 public:
  virtual ~MemberController() = default;
};
/// Makes one for a member that has just been won; null where the member is to have none. Called before anything runs on the
/// member's strand; the controller does its work there and changes things through Member::client, Member::Guard and
/// Member::Write only. Destroyed after the strand is closed.
using MemberControllerFactory = std::function<std::unique_ptr<MemberController>(Member&)>;

class Member {
 public:
  /// Starts listing and watching nodes and pods. `client` is the bare connection; `fence` says whether this replica may write.
  /// `on_change` is called on the member's strand when `health().synced` or `.error` may have changed.
  Member(std::string name, std::unique_ptr<client::Client> client, std::shared_ptr<client::Fence> fence,
         base::Executor& executor, base::Random random, std::function<void()> on_change,
         const std::vector<MemberControllerFactory>& controllers = {});
  /// Closes the informers; nothing of this member runs afterwards.
  ~Member();

  const std::string& name() const { return name_; }
  MemberHealth health() const;
  /// How long tasks of this member have run so far, its controllers' and its caches'.
  base::Duration busy() const { return strand_->busy(); }

  // On the member's strand only.
  client::Client& client() { return *client_; }
  /// Controllers say what they read when they are made.
  MemberFeed& feed() { return feed_; }
  const std::shared_ptr<base::Strand>& strand() const { return strand_; }
  /// A client of another cluster that holds things of this member, behind the same fence.
  std::unique_ptr<client::Client> Guard(std::unique_ptr<client::Client> other) const;
  /// Makes a call that changes things of this member where no Client reaches, as a cloud's API: refused with kForbidden while
  /// the fence is shut, and told to the fence when it ends without an answer. `what` is for the refusal.
  base::Status Write(std::string_view what, const std::function<base::Status()>& call) const;

 private:
  void Publish();
  void Poll();

  std::string name_;
  std::shared_ptr<client::Fence> fence_;
  std::unique_ptr<client::Client> client_;
  std::shared_ptr<base::Strand> strand_;
  MemberFeed feed_;
  std::function<void()> on_change_;
  base::Timer poll_;
  std::vector<std::unique_ptr<MemberController>> controllers_;
  mutable std::mutex mutex_;
  MemberHealth health_;
};

}  // namespace evenkeel::controllers::runtime
