// The hub as the federation's controllers see it: one strand, one informer per kind, the kinds that templates have, and the
// interpreter. Everything in it belongs to the strand.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "client/client.h"
#include "client/event_recorder.h"
#include "client/informer.h"
#include "embedded/federation/policies/interpreter.h"
#include "kube/object.h"

namespace evenkeel::embedded::federation {

using ObjectInformer = client::Informer<kube::Object>;
using ObjectPointer = ObjectInformer::Pointer;

/// Which resource serves a kind: built-in ones are known, others are looked up in an API's discovery and remembered.
class KindResolver {
 public:
  explicit KindResolver(client::Client& client) : client_(client) {}
  /// kNotFound: the API does not serve it (now).
  base::Result<kube::Resource> Find(const std::string& api_version, const std::string& kind);

 private:
  client::Client& client_;
  std::map<std::string, kube::Resource> known_;
};

/// Informers of whatever kinds somebody asks for. Calls back for each change, of each of them.
class DynamicInformers {
 public:
  using Handler = std::function<void(const ObjectPointer& before, const ObjectPointer& after)>;

  DynamicInformers(client::Client& client, client::InformerOptions options, std::shared_ptr<base::Strand> strand,
                   base::Clock& clock, base::Random random);
  void AddHandler(Handler handler) { handlers_.push_back(std::move(handler)); }
  /// Starts one for the kind unless there is one. kNotFound: the API does not serve it.
  base::Result<ObjectInformer*> Of(const std::string& api_version, const std::string& kind);
  KindResolver& kinds() { return kinds_; }
  const std::map<std::string, std::unique_ptr<ObjectInformer>>& all() const { return informers_; }

 private:
  client::Client& client_;
  const client::InformerOptions options_;
  std::shared_ptr<base::Strand> strand_;
  base::Clock& clock_;
  base::Random random_;
  KindResolver kinds_;
  std::vector<Handler> handlers_;
  std::map<std::string, std::unique_ptr<ObjectInformer>> informers_;  // by "apiVersion kind"
};

/// "apiVersion kind namespace/name": how controllers name a template.
std::string TemplateKeyOf(const base::Json& object);
struct TemplateKey {
  std::string api_version, kind, key;
};
TemplateKey ParseTemplateKey(const std::string& text);

/// Writes the object with the finalizer or without it, where that changes it. An object that is gone is as good as written.
base::Status KeepFinalizer(client::Client& client, const kube::Resource& resource, const kube::Object& object,
                           std::string_view finalizer, bool present);

/// Namespaces whose objects are the hub's own: never propagated.
bool IsReservedNamespace(std::string_view ns);

/// What Karmada does, and its stand-in only where it is told to.
struct Habits {
  /// A binding is scheduled again only when its placement or its replicas change, or when somebody asks
  /// (rescheduleTriggeredAt); a cluster that is not ready then is left out for good.
  bool schedules_once = false;
  /// Copies go from clusters with a taint NoExecute that the placement does not tolerate. One that is not ready has such a
  /// taint.
  bool evicts = false;
  /// Namespaces of the hub come to every member (IsPropagated).
  bool syncs_namespaces = false;
  /// A Cluster that is deleted takes along what was brought to its member.
  bool empties_members = false;
};

class Hub {
 public:
  Hub(client::Client& client, std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random,
      Interpreter& interpreter);
  void Start();
  bool synced() const;

  /// The binding of a key: with a namespace a ResourceBinding, without one a ClusterResourceBinding.
  ObjectPointer Binding(const std::string& key) const;
  static const kube::Resource& BindingResource(const std::string& key);
  /// The Works of a binding, by key; those that are being deleted, too.
  std::vector<ObjectPointer> WorksOf(const base::Json& binding) const;
  /// The template of a binding; null when it is gone. kUnavailable: its kind is being listed.
  base::Result<ObjectPointer> TemplateOf(const base::Json& binding);
  /// Calls `visit` with every binding.
  void ForEachBinding(const std::function<void(const ObjectPointer&)>& visit) const;

  client::Client& client;
  const std::shared_ptr<base::Strand> strand;
  base::Clock& clock;
  base::Random random;
  Interpreter& interpreter;
  Habits habits{};
  client::EventRecorder events;
  ObjectInformer policies, cluster_policies, overrides, cluster_overrides, bindings, cluster_bindings, works, clusters,
      interpreters;
  DynamicInformers templates;

 private:
  std::vector<ObjectInformer*> All();
  void IndexWork(const ObjectPointer& before, const ObjectPointer& after);
  std::map<std::string, std::set<std::string>> works_by_binding_;  // keys, by the binding's id
};

}  // namespace evenkeel::embedded::federation
