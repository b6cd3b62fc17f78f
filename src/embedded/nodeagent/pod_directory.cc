#include "embedded/nodeagent/pod_directory.h"

#include <filesystem>
#include <set>

#include "base/input/file.h"

namespace evenkeel::embedded::nodeagent {
namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Fail;

base::Status DirectoryStatus(const std::error_code& error, const fs::path& path) {
  if (!error) return {};
  return Fail(error == std::errc::permission_denied ? Code::kForbidden : Code::kInternal,
              fmt::format("{}: {}", path.string(), error.message()));
}

base::Status MakeDirectory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return DirectoryStatus(error, path);
}

// The path below `root` that a path inside the pod means; ".." cannot lead out of it.
fs::path Inside(const std::string& root, std::string_view path) {
  const fs::path normal = (fs::path("/") / path).lexically_normal();
  std::string relative = normal.relative_path().string();
  while (relative.ends_with('/')) relative.pop_back();
  return relative.empty() ? fs::path(root) : fs::path(root) / relative;
}

base::Status WriteVolume(const fs::path& directory, const Volume& volume) {
  EVENKEEL_TRY(MakeDirectory(directory));
  std::set<std::string> wanted;
  for (const VolumeFile& file : volume.files) {
    const fs::path path = directory / file.path;
    wanted.insert(path.string());
    EVENKEEL_TRY(MakeDirectory(path.parent_path()));
    const auto current = base::ReadFile(path.string());
    if (current && *current == file.content) continue;
    EVENKEEL_TRY(base::WriteFile(path.string(), file.content, file.mode));
  }
  std::error_code error;
  std::vector<fs::path> stale;
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->symlink_status(ignored).type() == fs::file_type::regular && !wanted.contains(entry->path().string())) {
      stale.push_back(entry->path());
    }
  }
  for (const fs::path& path : stale) fs::remove(path, error);
  return {};
}

}  // namespace

std::string PodDirectory::LogPath(std::string_view container, int attempt) const {
  return fmt::format("{}/logs/{}/{}.log", path_, container, attempt);
}

base::Status PodDirectory::SyncVolumes(const std::string& ns, const std::vector<Volume>& volumes) const {
  EVENKEEL_TRY(MakeDirectory(Root()));
  for (const Volume& volume : volumes) {
    const fs::path path = VolumePath(volume.name);
    if (volume.kind == Volume::Kind::kFiles) {
      EVENKEEL_TRY(WriteVolume(path, volume));
    } else if (volume.kind == Volume::Kind::kEmptyDir) {
      EVENKEEL_TRY(MakeDirectory(path));
    } else {
      const fs::path claim = fs::path(state_dir_) / "claims" / ns / volume.claim;
      EVENKEEL_TRY(MakeDirectory(claim));
      EVENKEEL_TRY(MakeDirectory(path.parent_path()));
      std::error_code error;
      if (fs::symlink_status(path, error).type() == fs::file_type::symlink) continue;
      fs::create_directory_symlink(fs::absolute(claim), path, error);
      EVENKEEL_TRY(DirectoryStatus(error, path));
    }
  }
  return {};
}

base::Status PodDirectory::LinkMounts(const std::vector<Mount>& mounts) const {
  for (const Mount& mount : mounts) {
    const fs::path target = Inside(fs::absolute(VolumePath(mount.volume)).string(), mount.sub_path);
    const fs::path link = Inside(Root(), mount.path);
    if (link == fs::path(Root())) return Fail(Code::kInvalid, "a volume cannot be mounted at / of a local process");
    // A sub path of a directory volume that is not there yet is a new directory, as the kubelet makes it.
    std::error_code error;
    if (!mount.sub_path.empty() && !fs::exists(target, error)) EVENKEEL_TRY(MakeDirectory(target));
    EVENKEEL_TRY(MakeDirectory(link.parent_path()));
    if (fs::symlink_status(link, error).type() == fs::file_type::symlink) {
      if (fs::read_symlink(link, error) == target) continue;
      return Fail(
          Code::kConflict,
          fmt::format("two containers of the pod mount different volumes at {}: local processes share one root", mount.path));
    }
    fs::create_symlink(target, link, error);
    EVENKEEL_TRY(DirectoryStatus(error, link));
  }
  return {};
}

base::Result<std::string> PodDirectory::WorkingDirectory(const std::string& asked) const {
  const fs::path path = Inside(Root(), asked);
  std::error_code error;
  if (!fs::is_directory(path, error)) EVENKEEL_TRY(MakeDirectory(path));
  return path.string();
}

base::Status PodDirectory::PrepareLogs(std::string_view container, int attempt) const {
  const fs::path directory = fs::path(path_) / "logs" / container;
  EVENKEEL_TRY(MakeDirectory(directory));
  const std::set<std::string> kept = {LogPath(container, attempt), LogPath(container, attempt - 1)};
  std::error_code error;
  std::vector<fs::path> stale;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    std::string log = entry->path().string();
    if (log.ends_with(".log.1")) log.resize(log.size() - 2);
    if (!kept.contains(log)) stale.push_back(entry->path());
  }
  for (const fs::path& path : stale) fs::remove(path, error);
  return {};
}

void PodDirectory::Remove() const {
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace evenkeel::embedded::nodeagent
