#include "controllers/rollout/zookeeper/spec/unchangeable.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "controllers/rollout/zookeeper/spec/desired_servers.h"
#include "kube/quantity.h"

namespace evenkeel::controllers::rollout::zookeeper {
namespace {

/// What ServerList made a line of.
struct Line {
  std::string id, host, quorum, election, client_address, client;
};

std::string Take(std::string_view& text, std::string_view delimiters) {
  const size_t end = std::min(text.find_first_of(delimiters), text.size());
  std::string part(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

Line Split(std::string_view text) {
  Line line;
  line.id = Take(text, "=");
  line.host = Take(text, ":");
  line.quorum = Take(text, ":");
  line.election = Take(text, ":;");
  if (text.starts_with("participant")) Take(text, ";");
  if (text.contains(':')) line.client_address = Take(text, ":");
  line.client = text;
  return line;
}

class Checker {
 public:
  Checker(const kube::ManifestObject& object, const EnsembleSpec& spec, const EnsembleState& state)
      : object_(object), spec_(spec), state_(state), identities_(state.identities) {
    for (const auto& [cluster, id] : spec.cluster_ids) {
      if (const auto found = identities_.find(cluster); found != identities_.end()) found->second.id = id;
    }
  }

  base::Status Run() const {
    EVENKEEL_TRY(CheckNaming());
    for (const Revision* revision : Running()) {
      EVENKEEL_TRY(CheckServers(*revision));
      EVENKEEL_TRY(CheckStorage(*revision));
    }
    return {};
  }

 private:
  std::unexpected<base::Error> Wrong(const std::string& field, const std::string& what) const {
    return WrongField(object_, field, what);
  }

  /// Revisions by which servers have been started.
  std::vector<const Revision*> Running() const {
    std::vector<const Revision*> running;
    for (const auto& [cluster, given] : state_.rollout.clusters) {
      const Revision* revision = state_.Find(given.revision);
      if (revision == nullptr || !revision->shares.contains(cluster)) continue;
      if (std::ranges::find(running, revision) == running.end()) running.push_back(revision);
    }
    return running;
  }

  base::Status CheckNaming() const {
    if (state_.rollout.clusters.empty()) return {};
    if (state_.stride != 0 && state_.stride != spec_.naming.stride) {
      return Wrong("spec.naming.stride", fmt::format("cannot change from {} to {} while servers run: their ids would change",
                                                     state_.stride, spec_.naming.stride));
    }
    // Where pods have ordinals of their own, a StatefulSet made for the other kind would lose sight of its servers.
    const auto has_ordinals = [](NamingMode mode) { return mode == NamingMode::kNative; };
    if (state_.mode && has_ordinals(*state_.mode) != has_ordinals(spec_.naming.mode)) {
      return Wrong("spec.naming.mode",
                   fmt::format("cannot change from {} to {} while servers run: their pods would have other names",
                               Name(*state_.mode), Name(spec_.naming.mode)));
    }
    return {};
  }

  base::Status CheckServers(const Revision& revision) const {
    for (const std::string& wanted : ServerList(spec_, identities_, revision.shares)) {
      const Line line = Split(wanted);
      const auto has =
          std::ranges::find_if(revision.servers, [&](const std::string& server) { return server.starts_with(line.id + "="); });
      if (has == revision.servers.end() || *has == wanted) continue;
      const auto [field, remedy] = FieldOf(Split(*has), line);
      return Wrong(field, fmt::format("cannot change while servers run: {} would be {}; {}", *has, wanted, remedy));
    }
    return {};
  }

  /// What makes the difference, and what to do about it.
  std::pair<std::string, std::string> FieldOf(const Line& has, const Line& wanted) const {
    const std::string another = "put it back, or deploy another ensemble and move the data";
    if (has.host != wanted.host) {
      if (state_.mode && *state_.mode != spec_.naming.mode) return {"spec.naming.mode", another};
      switch (spec_.naming.mode) {
        case NamingMode::kExternal:
          return {"spec.naming.template", another};
        case NamingMode::kNative:
        case NamingMode::kPerClusterService:
          return {"spec.naming.clusterDomain", another};
        case NamingMode::kClusterset:
          return {"spec.placement.clusters", "put its clusterID back, or take the cluster out first and place it again"};
      }
    }
    const std::string ports = "spec.template.ports.";
    if (has.quorum != wanted.quorum) return {ports + "quorum", another};
    if (has.election != wanted.election) return {ports + "election", another};
    if (has.client != wanted.client) return {ports + "client", another};
    return {has.client_address != wanted.client_address ? ports + "clientAddress" : "spec.naming", another};
  }

  base::Status CheckStorage(const Revision& revision) const {
    ServersSpec has, wanted;
    // A template that is not understood any more says nothing to compare with; the spec's own has been read before.
    if (!ReadServersSpec(revision.body, "", has) || !ReadServersSpec(spec_.body, "", wanted)) return {};
    const auto type = [](const ServersSpec& servers) { return servers.ephemeral ? "ephemeral" : "persistent"; };
    const auto wrong = [&](const char* field, std::string_view from, std::string_view to, const char* more) {
      return Wrong(std::string("spec.template.storage.") + field,
                   fmt::format("cannot change from {} to {} while servers run, whose volumes stay as they were made; {}",
                               from.empty() ? "the default" : from, to.empty() ? "the default" : to, more));
    };
    constexpr const char* kPutBack = "put it back";
    if (has.ephemeral != wanted.ephemeral) return wrong("type", type(has), type(wanted), kPutBack);
    if (has.ephemeral) return {};
    if (has.storage_class != wanted.storage_class)
      return wrong("storageClass", has.storage_class, wanted.storage_class, kPutBack);
    const auto size = kube::Quantity::Parse(has.storage_size), wanted_size = kube::Quantity::Parse(wanted.storage_size);
    if (size && wanted_size && *size != *wanted_size) {
      return wrong("size", has.storage_size, wanted.storage_size,
                   "put it back, and grow the members' PersistentVolumeClaims by hand");
    }
    return {};
  }

  const kube::ManifestObject& object_;
  const EnsembleSpec& spec_;
  const EnsembleState& state_;
  Identities identities_;
};

}  // namespace

base::Status CheckUnchangeable(const kube::ManifestObject& object, const EnsembleSpec& spec, const EnsembleState& state) {
  return Checker(object, spec, state).Run();
}

}  // namespace evenkeel::controllers::rollout::zookeeper
