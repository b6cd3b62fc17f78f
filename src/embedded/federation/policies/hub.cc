#include "embedded/federation/policies/hub.h"

#include <spdlog/fmt/fmt.h>

#include "embedded/federation/policies/bindings.h"
#include "embedded/federation/policies/event_kinds.h"
#include "embedded/federation/policies/validation.h"
#include "kube/karmada.h"

namespace evenkeel::embedded::federation {
namespace {

using base::FindString;
using base::Json;
namespace karmada = kube::karmada;

}  // namespace

base::Result<kube::Resource> KindResolver::Find(const std::string& api_version, const std::string& kind) {
  if (const kube::Resource* built_in = kube::FindBuiltInKind(api_version, kind)) return *built_in;
  const std::string key = api_version + " " + kind;
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  EVENKEEL_ASSIGN(const std::string text,
                  client_.GetRaw((api_version.find('/') == std::string::npos ? "/api/" : "/apis/") + api_version));
  EVENKEEL_ASSIGN(const Json list, base::ParseJson(text, "discovery of " + api_version));
  for (const Json& entry : base::FindArray(list, {"resources"})) {
    const std::string plural(FindString(entry, {"name"}));
    if (FindString(entry, {"kind"}) != kind || plural.find('/') != std::string::npos) continue;
    kube::Resource resource = kube::MakeResource(api_version, kind, plural, base::FindBool(entry, {"namespaced"}));
    return known_.emplace(key, std::move(resource)).first->second;
  }
  return base::Fail(base::Code::kNotFound, fmt::format("no kind {} in {} is served", kind, api_version));
}

DynamicInformers::DynamicInformers(client::Client& client, client::InformerOptions options,
                                   std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random)
    : client_(client),
      options_(std::move(options)),
      strand_(std::move(strand)),
      clock_(clock),
      random_(std::move(random)),
      kinds_(client) {}

base::Result<ObjectInformer*> DynamicInformers::Of(const std::string& api_version, const std::string& kind) {
  const std::string key = api_version + " " + kind;
  if (const auto found = informers_.find(key); found != informers_.end()) return found->second.get();
  EVENKEEL_ASSIGN(const kube::Resource resource, kinds_.Find(api_version, kind));
  auto informer = std::make_unique<ObjectInformer>(client_, resource, options_, strand_, clock_, random_.Fork(key));
  informer->AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) {
    for (const Handler& handler : handlers_) handler(before, after);
  });
  informer->Start();
  return informers_.emplace(key, std::move(informer)).first->second.get();
}

base::Status KeepFinalizer(client::Client& client, const kube::Resource& resource, const kube::Object& object,
                           std::string_view finalizer, bool present) {
  Json changed = *object.json;
  if (!kube::SetFinalizer(changed, finalizer, present)) return {};
  const auto updated = client.Update(resource, changed);
  if (!updated && updated.error().code() != base::Code::kNotFound) return base::Fail(updated.error());
  return {};
}

std::string TemplateKeyOf(const Json& object) {
  return fmt::format("{} {} {}", FindString(object, {"apiVersion"}), FindString(object, {"kind"}), kube::KeyOf(object));
}

TemplateKey ParseTemplateKey(const std::string& text) {
  const size_t first = text.find(' '), second = text.find(' ', first + 1);
  return {text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

bool IsReservedNamespace(std::string_view ns) {
  return ns.starts_with("kube-") || ns.starts_with("karmada-") || ns == "evenkeel";
}

Hub::Hub(client::Client& client_in, std::shared_ptr<base::Strand> strand_in, base::Clock& clock_in, base::Random random_in,
         Interpreter& interpreter_in)
    : client(client_in),
      strand(std::move(strand_in)),
      clock(clock_in),
      random(random_in),
      interpreter(interpreter_in),
      events(client, strand, clock, random.Fork("events"), "federation", ""),
      policies(client, karmada::PropagationPolicies(), {}, strand, clock, random.Fork("policies")),
      cluster_policies(client, karmada::ClusterPropagationPolicies(), {}, strand, clock, random.Fork("cluster policies")),
      overrides(client, karmada::OverridePolicies(), {}, strand, clock, random.Fork("overrides")),
      cluster_overrides(client, karmada::ClusterOverridePolicies(), {}, strand, clock, random.Fork("cluster overrides")),
      bindings(client, karmada::ResourceBindings(), {}, strand, clock, random.Fork("bindings")),
      cluster_bindings(client, karmada::ClusterResourceBindings(), {}, strand, clock, random.Fork("cluster bindings")),
      works(client, karmada::Works(), {}, strand, clock, random.Fork("works")),
      clusters(client, karmada::Clusters(), {}, strand, clock, random.Fork("clusters")),
      interpreters(client, karmada::ResourceInterpreterWebhookConfigurations(), {}, strand, clock, random.Fork("interpreters")),
      templates(client, {}, strand, clock, random.Fork("templates")) {
  works.AddHandler([this](const ObjectPointer& before, const ObjectPointer& after) { IndexWork(before, after); });
  interpreters.AddHandler([this](const ObjectPointer&, const ObjectPointer& after) {
    if (after != nullptr) {
      if (const auto valid = ValidateInterpreter(*after->json); !valid)
        events.Warning(*after->json, events::kInvalidInterpreter.reason, valid.error().message());
    }
    std::vector<Json> configurations;
    for (const auto& [key, object] : interpreters.items()) {
      if (ValidateInterpreter(*object->json)) configurations.push_back(*object->json);
    }
    interpreter.SetConfigurations(std::move(configurations));
  });
}

std::vector<ObjectInformer*> Hub::All() {
  return {&policies, &cluster_policies, &overrides,   &cluster_overrides, &bindings, &cluster_bindings,
          &works,    &clusters,         &interpreters};
}

void Hub::Start() {
  for (ObjectInformer* informer : All()) informer->Start();
}

bool Hub::synced() const {
  return std::ranges::all_of(const_cast<Hub*>(this)->All(), [](const ObjectInformer* informer) { return informer->synced(); });
}

ObjectPointer Hub::Binding(const std::string& key) const {
  return key.find('/') == std::string::npos ? cluster_bindings.Get(key) : bindings.Get(key);
}

const kube::Resource& Hub::BindingResource(const std::string& key) {
  return key.find('/') == std::string::npos ? karmada::ClusterResourceBindings() : karmada::ResourceBindings();
}

void Hub::ForEachBinding(const std::function<void(const ObjectPointer&)>& visit) const {
  for (const auto& [key, binding] : bindings.items()) visit(binding);
  for (const auto& [key, binding] : cluster_bindings.items()) visit(binding);
}

void Hub::IndexWork(const ObjectPointer& before, const ObjectPointer& after) {
  if (before != nullptr) {
    const auto found = works_by_binding_.find(BindingIdOf(*before->json));
    if (found != works_by_binding_.end()) {
      found->second.erase(before->meta.Key());
      if (found->second.empty()) works_by_binding_.erase(found);
    }
  }
  if (after == nullptr) return;
  const std::string id = BindingIdOf(*after->json);
  if (!id.empty()) works_by_binding_[id].insert(after->meta.Key());
}

std::vector<ObjectPointer> Hub::WorksOf(const Json& binding) const {
  std::vector<ObjectPointer> found;
  const std::string id = BindingIdOf(binding);
  const auto keys = works_by_binding_.find(id);
  if (id.empty() || keys == works_by_binding_.end()) return found;
  for (const std::string& key : keys->second) found.push_back(works.Get(key));
  return found;
}

base::Result<ObjectPointer> Hub::TemplateOf(const Json& binding) {
  const auto field = [&](const char* name) { return std::string(FindString(binding, {"spec", "resource", name})); };
  auto informer = templates.Of(field("apiVersion"), field("kind"));
  if (!informer) {
    if (informer.error().code() == base::Code::kNotFound) return ObjectPointer();
    return base::Fail(informer.error());
  }
  if (!(*informer)->synced()) return base::Fail(base::Code::kUnavailable, "the templates' kind is being listed");
  const std::string ns = field("namespace");
  return (*informer)->Get(ns.empty() ? field("name") : ns + "/" + field("name"));
}

}  // namespace evenkeel::embedded::federation
