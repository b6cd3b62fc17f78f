// Others that are asked before an object is created or updated, as ValidatingWebhookConfigurations say: who wants to judge
// which write, and how they are asked (admission.k8s.io/v1). Left out of upstream's: selectors, match conditions, services as
// addresses, deletions, and webhooks that change objects; kubectl refuses configurations with fields that are not known.
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

namespace evenkeel::embedded::apiserver {

struct Call;

struct WebhookPost {
  std::string url, ca_pem;
  std::string body;  ///< JSON
  base::Duration timeout{};
};
/// Answers the body of a 200; anything else is an error. Blocks.
using WebhookPoster = std::function<base::Result<std::string>(const WebhookPost& post)>;
/// Over HTTPS, one connection per question.
base::Result<std::string> PostToWebhook(const WebhookPost& post);

/// Thread-safe.
class ValidatingWebhooks {
 public:
  explicit ValidatingWebhooks(WebhookPoster poster) : poster_(std::move(poster)) {}

  /// A configuration as it is now.
  void Set(const base::Json& configuration);
  void Remove(const std::string& name);

  /// Whether somebody wants to judge this write; without configurations one atomic read. `operation`: "CREATE" or "UPDATE".
  bool Concern(const Call& call, std::string_view operation) const;
  /// Asks all that do, by name of their configuration, until one refuses. `old` null: a new object. Answers their warnings;
  /// the error is in upstream's words: `admission webhook "x" denied the request: ...`. One that does not answer is kInternal,
  /// unless its failurePolicy is Ignore. Blocks.
  base::Result<std::vector<std::string>> Ask(const Call& call, std::string_view operation, const std::string& uid,
                                             const base::Json& object, const base::Json& old) const;

 private:
  struct Hook {
    std::string name, url, ca_pem;
    std::vector<base::Json> rules;
    base::Duration timeout{};
    bool ignore_failure = false;
  };
  using Hooks = std::map<std::string, std::vector<Hook>>;  // by configuration
  std::vector<Hook> Find(const Call& call, std::string_view operation) const;
  base::Status AskOne(const Hook& hook, const Call& call, const std::string& uid, const std::string& body,
                      std::vector<std::string>& warnings) const;

  const WebhookPoster poster_;
  std::atomic<bool> any_ = false;
  mutable std::mutex mutex_;
  Hooks hooks_;
};

}  // namespace evenkeel::embedded::apiserver
