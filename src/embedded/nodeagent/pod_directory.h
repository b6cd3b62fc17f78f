// The files of one process pod below the runtime's state directory.
#pragma once

#include <string>
#include <vector>

#include "embedded/nodeagent/container_runtime.h"

namespace evenkeel::embedded::nodeagent {

class PodDirectory {
 public:
  PodDirectory(const std::string& state_dir, const std::string& uid)
      : state_dir_(state_dir), path_(state_dir + "/pods/" + uid) {}

  std::string Root() const { return path_ + "/root"; }
  std::string LogPath(std::string_view container, int attempt) const;

  /// Makes the volumes' files what is given: each is replaced atomically, those no longer named are removed.
  base::Status SyncVolumes(const std::string& ns, const std::vector<Volume>& volumes) const;
  /// Links the container's mounts into root/. kConflict when another container of the pod has another volume at the same path.
  base::Status LinkMounts(const std::vector<Mount>& mounts) const;
  /// Makes and returns the directory that a container starts in.
  base::Result<std::string> WorkingDirectory(const std::string& asked) const;
  /// Makes the directory of a container's logs and drops those older than the previous attempt.
  base::Status PrepareLogs(std::string_view container, int attempt) const;
  void Remove() const;

 private:
  std::string VolumePath(const std::string& name) const { return path_ + "/volumes/" + name; }
  const std::string state_dir_, path_;
};

}  // namespace evenkeel::embedded::nodeagent
