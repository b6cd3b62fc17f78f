// Storage objects from JSON, for VolumeCatalog.
#pragma once

#include "scheduling/volume_catalog.h"

namespace evenkeel::scheduling {

PersistentVolume DecodePersistentVolume(const base::Json& json);
PersistentVolumeClaim DecodePersistentVolumeClaim(const base::Json& json);
StorageClass DecodeStorageClass(const base::Json& json);
/// Limits by driver; drivers without one are left out.
std::map<std::string, int64_t> DecodeCsiNode(const base::Json& json);
/// What a volume of a pod counts as that names a disk of a kind that was moved to CSI; nothing for other volumes.
std::optional<Attachment> DecodeMoved(const base::Json& volume);
/// The zones in the value of a volume's label, "a__b".
std::vector<std::string> SplitZones(std::string_view text);

}  // namespace evenkeel::scheduling
