// The objects that run a ZooKeeper's servers in one cluster.
//
//   Secret NAME-admin         the password of ZooKeeper's user "super", made once; only changes of the members need it
//   ConfigMap NAME-config     zoo.cfg, the list of servers, and the script that starts and probes a server
//   Service NAME-headless     names of the servers, of those that are not ready, too; called as the servers' names say
//   Service NAME-client       the servers that are ready
//   ServiceAccount NAME-servers   of the pods, without a token: they ask nothing of Kubernetes
//   PodDisruptionBudget NAME  one server at a time
//   StatefulSet NAME          pods made in parallel (a quorum needs several), replaced only when they are deleted
//
// All carry the label evenkeel.dev/zookeeper with the name of their owner, and belong to it. Volumes stay when servers go,
// unless reclaim.h has them deleted.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "controllers/rollout/zookeeper/member/desired_member.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

inline constexpr char kEnsembleLabel[] = "evenkeel.dev/zookeeper";
/// Of a pod: a hash of all that it is started with, but not of the list of servers, which changes without a restart.
inline constexpr char kPodRevision[] = "evenkeel.dev/pod-revision";

/// In the ConfigMap.
inline constexpr char kConfigFile[] = "zoo.cfg", kScriptFile[] = "server.sh";

std::string AdminSecretName(const MemberSpec& spec);
std::string ConfigName(const MemberSpec& spec);
/// Whether servers listen at an address of their own, so that several may share a machine.
bool HasOwnAddress(const MemberSpec& spec);
/// The claim of ordinal o is called VolumeName-o.
std::string VolumeName(const MemberSpec& spec);
base::Json RenderAdminSecret(const MemberSpec& spec, const std::string& password);
/// "super:" and a digest, as ZooKeeper keeps a password: base64 of SHA-1 of "super:PASSWORD".
std::string SuperDigest(const std::string& password);

/// All but the Secret and the StatefulSet, in the order in which they are needed.
/// `formed`: the ensemble has had a quorum. Servers on volumes hear of it, and do not vote with an empty one.
std::vector<base::Json> RenderObjects(const MemberSpec& spec, const std::string& super_digest, bool formed);
base::Json RenderStatefulSet(const MemberSpec& spec, const std::string& super_digest, int64_t replicas);
/// The kPodRevision of pods that are made now.
std::string PodRevision(const MemberSpec& spec, const std::string& super_digest);

}  // namespace evenkeel::controllers::rollout::zookeeper::member
