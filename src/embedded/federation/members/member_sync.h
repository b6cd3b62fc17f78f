// One member: carries out the Works that are for it, reports what became of them, and says whether the member can be reached.
// On a strand of its own, so that a member that hangs holds up nobody else.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "controllers/runtime/controller.h"
#include "embedded/federation/members/endpoint_collector.h"
#include "embedded/federation/policies/hub.h"

namespace evenkeel::embedded::federation {

/// How often a member is asked whether it is there, and how long it may be silent before it counts as unreachable.
inline constexpr base::Duration kHealthPeriod = std::chrono::seconds(10);
inline constexpr base::Duration kHealthGrace = std::chrono::seconds(40);

class MemberSync {
 public:
  /// `hub` and the interpreter must outlive it; both are used from the strand.
  MemberSync(std::string cluster, client::Client& hub, std::unique_ptr<client::Client> member, Interpreter& interpreter,
             std::shared_ptr<base::Strand> strand, base::Clock& clock, const base::Random& random);
  /// Closes the strand.
  ~MemberSync();
  /// From anywhere, once.
  void Start();

 private:
  using Done = base::Result<controllers::runtime::ReconcileResult>;

  Done Reconcile(const std::string& key);
  Done Remove(const kube::Object& work);
  base::Result<bool> RemoveCopy(const kube::Object& work, const base::Json& manifest);
  base::Status Apply(const kube::Object& work, const base::Json& manifest);
  base::Status CreateCopy(const kube::Resource& resource, const base::Json& manifest);
  base::Status UpdateCopy(const kube::Object& work, const kube::Resource& resource, const base::Json& manifest,
                          const base::Json& observed);
  /// The member's object, from the cache once that is filled; nullopt: there is none.
  base::Result<std::optional<base::Json>> Observe(const kube::Resource& resource, const base::Json& manifest);
  base::Status WriteStatus(const kube::Object& work, const std::optional<base::Error>& failure);
  base::Json ManifestStatus(const base::Json& manifest, int64_t ordinal);
  void CheckHealth();
  base::Status WriteHealth(bool reachable, const std::string& why);

  const std::string cluster_;
  client::Client& hub_;
  const std::unique_ptr<client::Client> member_;
  Interpreter& interpreter_;
  const std::shared_ptr<base::Strand> strand_;
  base::Clock& clock_;
  ObjectInformer works_;
  DynamicInformers copies_;
  std::map<std::string, uint64_t> applied_;  // hash of the manifest that was last written, by template key
  controllers::runtime::Controller controller_;
  EndpointCollector endpoints_;
  base::Timer health_timer_;
  std::string version_;  // the member's, once it has said it
  base::Instant last_contact_;
  bool silent_ = false;  // the last question has not been answered
};

}  // namespace evenkeel::embedded::federation
