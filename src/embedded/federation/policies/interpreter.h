// What the hub wants to know of objects, whoever knows it: a resource interpreter webhook if one is registered for the kind and
// the operation, the built-in rules otherwise.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "embedded/federation/policies/interpreter_protocol.h"
#include "embedded/federation/policies/native_interpreter.h"

namespace evenkeel::embedded::federation {

/// Brings a ResourceInterpreterContext to the hook (an entry of a configuration's `webhooks`) and its answer back. Blocks.
using HookTransport = std::function<base::Result<base::Json>(const base::Json& webhook, const base::Json& context)>;

/// Over HTTPS, as clientConfig says: `url`, or the Service's name in DNS. A connection per question.
HookTransport NewHttpsTransport();

/// Thread-safe. Every question may block as long as its hook's timeoutSeconds.
class Interpreter {
 public:
  explicit Interpreter(HookTransport transport) : transport_(std::move(transport)) {}

  /// The ResourceInterpreterWebhookConfigurations as the hub has them now.
  void SetConfigurations(std::vector<base::Json> configurations);

  /// Nullopt: nothing that could be divided.
  base::Result<std::optional<ReplicaDemand>> Replicas(const base::Json& object);
  /// The object for one cluster; as it is where nobody knows how to set its replicas.
  base::Result<base::Json> Revise(const base::Json& object, int64_t replicas);
  /// `desired` with what belongs to the member.
  base::Result<base::Json> Retain(const base::Json& desired, const base::Json& observed);
  /// What has to be where the object is: {apiVersion, kind, namespace, name | labelSelector} each.
  base::Result<base::JsonArray> Dependencies(const base::Json& object);
  /// What of the member's copy is reported; null: it has no status.
  base::Result<base::Json> Status(const base::Json& observed);
  /// "Healthy", "Unhealthy"; "Unknown" when the hook fails. Kinds that nobody knows are healthy.
  std::string Health(const base::Json& observed);
  /// The template's status from aggregatedStatus; nullopt where nobody knows how.
  base::Result<std::optional<base::Json>> Aggregate(const base::Json& object, const base::JsonArray& items);

 private:
  /// The checked response; nullopt when no hook is registered.
  base::Result<std::optional<base::Json>> Ask(const InterpreterQuestion& question);

  const HookTransport transport_;
  std::mutex mutex_;
  std::vector<base::Json> configurations_;
};

}  // namespace evenkeel::embedded::federation
