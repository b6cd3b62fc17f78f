// Storage objects from JSON, for VolumeCatalog.
#pragma once

#include "scheduling/volume_catalog.h"

namespace evenkeel::scheduling {

PersistentVolume DecodePersistentVolume(const base::Json& json);
PersistentVolumeClaim DecodePersistentVolumeClaim(const base::Json& json);
StorageClass DecodeStorageClass(const base::Json& json);
/// Limits by driver; drivers without one are left out.
std::map<std::string, int64_t> DecodeCsiNode(const base::Json& json);

}  // namespace evenkeel::scheduling
