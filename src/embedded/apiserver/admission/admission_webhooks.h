// Asks webhooks before the API writes an object (admission.k8s.io/v1). Mutating- and ValidatingWebhookConfigurations say which
// webhook changes or judges which writes. The API refuses connections (exec, attach, port-forward, proxies), so rules for
// CONNECT match nothing.
// Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "embedded/apiserver/admission/write_filter.h"
#include "embedded/apiserver/definitions/resource_table.h"
#include "embedded/apiserver/definitions/webhook_client.h"
#include "kube/object.h"
#include "kube/rules/admission.h"

namespace evenkeel::embedded::apiserver {

struct Call;

/// Thread-safe.
class AdmissionWebhooks {
 public:
  enum class Kind { kMutating, kValidating };

  AdmissionWebhooks(WebhookPoster poster, AdmissionView world) : poster_(std::move(poster)), world_(std::move(world)) {}

  /// A configuration as it is now.
  void Set(Kind kind, const base::Json& configuration);
  void Remove(Kind kind, const std::string& name);

  /// Whether somebody may want to hear of this write; without configurations one atomic read.
  bool Concern(Kind kind, const Call& call, std::string_view operation) const;
  /// Asks all validating webhooks that do, by name of their configuration, until one refuses; `object` null: a deletion.
  /// Appends their warnings. The error is in upstream's words: `admission webhook "x" denied the request: ...`. One that does
  /// not answer is kInternal, unless its failurePolicy is Ignore. Blocks.
  base::Status Judge(const Call& call, const AdmissionQuestion& question, const base::Json& object,
                     std::vector<std::string>& warnings) const;
  /// Asks all mutating ones in that order, each with what those before have made of the object; who asked for it (IfNeeded) is
  /// asked once more when others changed it afterwards. Whether it has changed. `complete` completes it after each change.
  base::Result<bool> Change(const Call& call, const AdmissionQuestion& question, base::Json& object,
                            const std::function<base::Status(base::Json& object)>& complete,
                            std::vector<std::string>& warnings) const;

 private:
  struct Hook {
    std::string name;
    WebhookAddress address;
    WriteFilter writes;
    bool again = false;
    base::Duration timeout{};
    bool ignore_failure = false;
    std::vector<kube::cel::MatchCondition> conditions;
  };
  using Hooks = std::map<std::string, std::vector<std::shared_ptr<const Hook>>>;  // by configuration
  struct Match {
    std::shared_ptr<const Hook> hook;
    ServedPointer as;  ///< the version in which it wants to see the object
  };

  std::vector<Match> Find(Kind kind, const Call& call, std::string_view operation) const;
  /// Whether its conditions hold. One that fails refuses the write (kForbidden), unless failures are ignored.
  base::Result<bool> Wants(const Match& match, const Call& call, const AdmissionQuestion& question,
                           const base::Json& object) const;
  /// The response, where it allows the write; null when it goes on without one.
  base::Result<base::Json> AskOne(const Match& match, const Call& call, const AdmissionQuestion& question,
                                  const base::Json& object, std::vector<std::string>& warnings) const;
  base::Result<bool> ChangeOne(const Match& match, const Call& call, const AdmissionQuestion& question, base::Json& object,
                               std::vector<std::string>& warnings) const;

  const WebhookPoster poster_;
  const AdmissionView world_;
  std::atomic<bool> any_[2] = {false, false};
  mutable std::mutex mutex_;
  Hooks hooks_[2];
};

/// What a new or changed configuration is warned of: webhooks that are not asked, and why.
std::vector<std::string> WarnOfWebhooks(const base::Json& configuration, const AdmissionView& world);

}  // namespace evenkeel::embedded::apiserver
