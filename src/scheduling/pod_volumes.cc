#include "scheduling/pod_volumes.h"

#include <algorithm>

#include "scheduling/volume_decode.h"

namespace evenkeel::scheduling {
namespace {

using base::FindString;
using base::Json;

void DecodeDisk(const Json& volume, std::vector<Disk>& disks) {
  const auto add = [&](Disk::Kind kind, const Json& source, std::string id) {
    disks.push_back({kind, std::move(id), {}, base::FindBool(source, {"readOnly"})});
  };
  if (const Json* gce = base::Find(volume, {"gcePersistentDisk"})) {
    add(Disk::Kind::kGce, *gce, std::string(FindString(*gce, {"pdName"})));
  } else if (const Json* aws = base::Find(volume, {"awsElasticBlockStore"})) {
    add(Disk::Kind::kAws, *aws, std::string(FindString(*aws, {"volumeID"})));
  } else if (const Json* iscsi = base::Find(volume, {"iscsi"})) {
    add(Disk::Kind::kIscsi, *iscsi, std::string(FindString(*iscsi, {"iqn"})));
  } else if (const Json* rbd = base::Find(volume, {"rbd"})) {
    add(Disk::Kind::kRbd, *rbd,
        std::string(FindString(*rbd, {"pool"}, "rbd")) + "/" + std::string(FindString(*rbd, {"image"})));
    for (const Json& monitor : base::FindArray(*rbd, {"monitors"})) {
      if (const auto* text = monitor.if_string()) disks.back().monitors.emplace_back(*text);
    }
  }
}

}  // namespace

bool Disk::Conflicts(const Disk& other) const {
  if (kind != other.kind || id != other.id) return false;
  if (kind == Kind::kAws) return true;
  if (read_only && other.read_only) return false;
  if (kind != Kind::kRbd) return true;
  return std::any_of(monitors.begin(), monitors.end(), [&](const std::string& monitor) {
    return std::find(other.monitors.begin(), other.monitors.end(), monitor) != other.monitors.end();
  });
}

std::string PodVolumes::Key() const {
  TextKey key;
  key.Add(static_cast<int64_t>(claims.size()));
  for (const PodClaim& claim : claims) key.Add(claim.name).Add(claim.ephemeral ? 1 : 0).Add(claim.pod_uid);
  for (const Disk& disk : disks) {
    key.Add(static_cast<int64_t>(disk.kind)).Add(disk.id).Add(disk.read_only ? 1 : 0);
    key.Add(static_cast<int64_t>(disk.monitors.size()));
    for (const std::string& monitor : disk.monitors) key.Add(monitor);
  }
  for (const Attachment& attachment : attachments) key.Add(attachment.driver).Add(attachment.handle);
  return key.Take();
}

PodVolumes DecodePodVolumes(const Json& pod) {
  PodVolumes volumes;
  for (const Json& volume : base::FindArray(pod, {"spec", "volumes"})) {
    const base::JsonObject* object = volume.if_object();
    if (object == nullptr) continue;
    if (object->contains("persistentVolumeClaim")) {
      volumes.claims.push_back({.name = std::string(FindString(volume, {"persistentVolumeClaim", "claimName"}))});
    } else if (object->contains("ephemeral")) {
      const std::string pod_name(FindString(pod, {"metadata", "name"}));
      volumes.claims.push_back({.name = pod_name + "-" + std::string(FindString(volume, {"name"})),
                                .ephemeral = true,
                                .pod_name = pod_name,
                                .pod_uid = std::string(FindString(pod, {"metadata", "uid"}))});
    } else {
      DecodeDisk(volume, volumes.disks);
      if (auto attachment = DecodeMoved(volume)) volumes.attachments.push_back(*std::move(attachment));
    }
  }
  return volumes;
}

}  // namespace evenkeel::scheduling
