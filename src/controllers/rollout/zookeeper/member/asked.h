// What the spec of a ZooKeeper asks of its servers, as the user wrote it. The operator compares servers with this, and not with
// the objects that it would write today (member_objects.h): so a new version of the program replaces no server by itself.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/json.h"
#include "controllers/rollout/zookeeper/member/picture.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

/// Of a StatefulSet, of its pods and of the ConfigMap: AskedOf what they were made from.
inline constexpr char kAsked[] = "evenkeel.dev/asked";
/// Of a StatefulSet: the kPodRevisions of pods that are what is asked, with commas in between; kAsked counts only where the
/// template's is among them. There are several where another version has written them down anew since.
inline constexpr char kMadeAs[] = "evenkeel.dev/made-as";
/// Of the ConfigMap: FilesHash of what was written into it, so that what somebody edits there does not stay.
inline constexpr char kFiles[] = "evenkeel.dev/files";

/// The part of a ZooKeeper's spec that servers are started with, without what its kind's defaults say: how many there are, the
/// list of them, and what is only done with them are left out.
base::Json AskedBody(const base::Json& object);
/// A hash of it, and of the superuser's password. A program that computes it otherwise writes it in another form.
std::string AskedOf(const MemberSpec& spec, const std::string& super_digest);
/// Of zoo.cfg and script.
std::string FilesHash(std::string_view config, std::string_view script);
/// Whether this program can tell what the text (of kAsked; may be empty) is about.
bool KnowsAsked(const std::string& text);

/// How pods here are to be written down.
struct Making {
  std::string asked;                ///< for kAsked
  std::string revision;             ///< kPodRevision of pods that are made now
  bool kept = false;                ///< the StatefulSet's template stays as it is
  bool keeps_files = false;         ///< so do zoo.cfg and script
  std::set<std::string> made_as{};  ///< kPodRevisions of pods that are what is asked, `revision` included

  /// Whether the pod is what is asked.
  bool Suits(const ServerPod& pod) const { return made_as.contains(pod.revision) || (!asked.empty() && pod.asked == asked); }
};
/// What is there stays where it is for what is asked; so does what a program left that did not say what for, where the status
/// says that it was all that the spec wants.
Making MakingOf(const Picture& picture);

}  // namespace evenkeel::controllers::rollout::zookeeper::member
