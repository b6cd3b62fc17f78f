#include "embedded/apiserver/admission/priority_classes.h"

#include <mutex>

#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/requests/errors.h"

namespace evenkeel::embedded::apiserver {

PriorityClasses::PriorityClasses(store::Store& store, ServedPointer served, base::Executor* executor)
    : store_(store),
      served_(std::move(served)),
      follower_(store, served_->prefix, "PriorityClasses",
                {.put =
                     [this](const store::KeyValue& item) {
                       const auto object = DecodeObject(*served_, {item.value, item.mod_revision});
                       const Class one = object ? ReadClass(*object) : Class();
                       const std::string key = item.key.substr(served_->prefix.size());
                       std::lock_guard lock(mutex_);
                       if (one.is_default) {
                         defaults_[key] = one;
                       } else {
                         defaults_.erase(key);
                       }
                     },
                 .remove =
                     [this](const std::string& key, store::Revision) {
                       std::lock_guard lock(mutex_);
                       defaults_.erase(key);
                     }},
                executor) {}

Status PriorityClasses::Start() { return follower_.Start(); }

PriorityClasses::Class PriorityClasses::ReadClass(const Json& object) {
  return {.name = std::string(kube::NameOf(object)),
          .priority = base::FindInt(object, {"value"}),
          .policy = std::string(base::FindString(object, {"preemptionPolicy"}, "PreemptLowerPriority")),
          .is_default = base::FindBool(object, {"globalDefault"})};
}

PriorityClasses::Class PriorityClasses::Default() const {
  std::shared_lock lock(mutex_);
  const Class* lowest = nullptr;
  for (const auto& [name, one] : defaults_) {
    if (lowest == nullptr || one.priority < lowest->priority) lowest = &one;
  }
  return lowest == nullptr ? Class() : *lowest;
}

Status PriorityClasses::Assign(const Call& call, Json& pod) const {
  Json* spec = base::Find(pod, {"spec"});
  if (spec == nullptr || !spec->is_object()) return {};
  const auto refuse = [&](const std::string& why) { return base::Fail(ForbiddenError(call.served->resource, call.name, why)); };
  const std::string name(base::FindString(*spec, {"priorityClassName"}));
  Class its = name.empty() ? Default() : Class();
  if (!name.empty()) {
    // From the store: who made a class a moment ago may use it.
    const auto found = store_.Get(served_->Key("", name));
    if (!found && found.error().code() != base::Code::kNotFound) return base::Fail(found.error());
    if (!found) return refuse("no PriorityClass with name " + name + " was found");
    EVENKEEL_ASSIGN(const Json object, DecodeObject(*served_, {found->value, found->mod_revision}));
    its = ReadClass(object);
  }
  base::JsonObject& fields = spec->get_object();
  if (const Json* given = fields.if_contains("priority");
      given != nullptr && !given->is_null() && base::FindInt(*spec, {"priority"}) != its.priority) {
    return refuse("the integer value of priority (" + base::ToText(*given) +
                  ") must not be provided in pod spec; priority admission controller computed " + std::to_string(its.priority) +
                  " from the given PriorityClass name");
  }
  if (const std::string_view given = base::FindString(*spec, {"preemptionPolicy"}); !given.empty() && given != its.policy) {
    return refuse("the string value of PreemptionPolicy (" + std::string(given) +
                  ") must not be provided in pod spec; priority admission controller computed " + its.policy +
                  " from the given PriorityClass name");
  }
  if (!its.name.empty()) fields["priorityClassName"] = its.name;
  fields["priority"] = its.priority;
  fields["preemptionPolicy"] = its.policy;
  return {};
}

Status PriorityClasses::Check(const Call& call, const Json& object) const {
  const kube::Resource& resource = call.served->resource;
  if (resource.kind != "PriorityClass" || resource.group != "scheduling.k8s.io" || !call.subresource.empty()) return {};
  if (!base::FindBool(object, {"globalDefault"})) return {};
  const Class present = Default();
  if (present.name.empty() || present.name == call.name) return {};
  return base::Fail(ForbiddenError(
      resource, call.name, "PriorityClass " + present.name + " is already marked as default. Only one default can exist"));
}

}  // namespace evenkeel::embedded::apiserver
