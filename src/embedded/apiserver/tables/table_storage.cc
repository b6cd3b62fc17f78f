// Columns of the kinds about storage, as kubectl knows them.
#include <array>

#include "embedded/apiserver/tables/table_columns.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::FindArray;
using base::FindBool;
using base::FindString;
using base::Json;
using base::JsonArray;

constexpr std::string_view kUnset = "<unset>";
constexpr const char* kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

std::string AccessModesText(const JsonArray& modes) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kShort = {
      {{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}}};
  std::string text;
  for (const auto& [mode, shown] : kShort) {
    const bool there = std::ranges::any_of(modes, [&](const Json& one) { return one.is_string() && one.get_string() == mode; });
    if (there) AppendPart(text, shown);
  }
  return text;
}

std::string ClassOf(const Json& object) {
  return Or(FindString(object, {"metadata", "annotations", kClassAnnotation}),
            FindString(object, {"spec", "storageClassName"}));
}

Json PhaseCell(const Json& object) {
  if (base::Find(object, {"metadata", "deletionTimestamp"}) != nullptr) return "Terminating";
  return Json(FindString(object, {"status", "phase"}));
}

Json OrUnset(const Json& object, std::initializer_list<std::string_view> path) {
  return Json(Or(FindString(object, path), kUnset));
}

/// Its name, and whether whoever names none gets it.
Json ClassNameCell(const Json& object, std::initializer_list<std::string_view> annotations) {
  std::string name(FindString(object, {"metadata", "name"}));
  for (const std::string_view annotation : annotations) {
    if (FindString(object, {"metadata", "annotations", annotation}) == "true") return Json(name + " (default)");
  }
  return Json(name);
}

JsonArray VolumeCells(const Json& object, base::Time now) {
  std::string claim;
  if (base::Find(object, {"spec", "claimRef"}) != nullptr) {
    claim = std::string(FindString(object, {"spec", "claimRef", "namespace"})) + "/" +
            std::string(FindString(object, {"spec", "claimRef", "name"}));
  }
  return {NameCell(object),
          Json(FindString(object, {"spec", "capacity", "storage"}, "0")),
          Json(AccessModesText(FindArray(object, {"spec", "accessModes"}))),
          Json(FindString(object, {"spec", "persistentVolumeReclaimPolicy"})),
          PhaseCell(object),
          Json(claim),
          Json(ClassOf(object)),
          OrUnset(object, {"spec", "volumeAttributesClassName"}),
          Json(FindString(object, {"status", "reason"})),
          AgeCell(object, now),
          OrUnset(object, {"spec", "volumeMode"})};
}

JsonArray VolumeClaimCells(const Json& object, base::Time now) {
  const std::string_view volume = FindString(object, {"spec", "volumeName"});
  std::string capacity, modes;
  if (!volume.empty()) {
    capacity = FindString(object, {"status", "capacity", "storage"}, "0");
    modes = AccessModesText(FindArray(object, {"status", "accessModes"}));
  }
  return {NameCell(object),
          PhaseCell(object),
          Json(volume),
          Json(capacity),
          Json(modes),
          Json(ClassOf(object)),
          OrUnset(object, {"spec", "volumeAttributesClassName"}),
          AgeCell(object, now),
          OrUnset(object, {"spec", "volumeMode"})};
}

JsonArray StorageClassCells(const Json& object, base::Time now) {
  return {ClassNameCell(object,
                        {"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"}),
          Json(FindString(object, {"provisioner"})),
          Json(FindString(object, {"reclaimPolicy"}, "Delete")),
          Json(FindString(object, {"volumeBindingMode"}, "Immediate")),
          Json(FindBool(object, {"allowVolumeExpansion"})),
          AgeCell(object, now)};
}

JsonArray AttributesClassCells(const Json& object, base::Time now) {
  return {ClassNameCell(object, {"volumeattributesclass.alpha.kubernetes.io/is-default-class"}),
          Json(FindString(object, {"driverName"})), AgeCell(object, now)};
}

JsonArray CsiNodeCells(const Json& object, base::Time now) {
  return {NameCell(object), Json(static_cast<int64_t>(FindArray(object, {"spec", "drivers"}).size())), AgeCell(object, now)};
}

JsonArray CsiDriverCells(const Json& object, base::Time now) {
  std::string audiences, modes;
  for (const Json& request : FindArray(object, {"spec", "tokenRequests"})) {
    AppendPart(audiences, FindString(request, {"audience"}));
  }
  for (const Json& mode : FindArray(object, {"spec", "volumeLifecycleModes"})) {
    if (mode.is_string()) AppendPart(modes, mode.get_string());
  }
  if (base::Find(object, {"spec", "tokenRequests"}) == nullptr) audiences = kUnset;
  return {NameCell(object),
          Json(FindBool(object, {"spec", "attachRequired"}, true)),
          Json(FindBool(object, {"spec", "podInfoOnMount"})),
          Json(FindBool(object, {"spec", "storageCapacity"})),
          Json(audiences),
          Json(FindBool(object, {"spec", "requiresRepublish"})),
          Json(Or(modes, kNone)),
          AgeCell(object, now)};
}

JsonArray CapacityCells(const Json& object, base::Time) {
  return {NameCell(object), Json(FindString(object, {"storageClassName"})), OrUnset(object, {"capacity"})};
}

JsonArray AttachmentCells(const Json& object, base::Time now) {
  return {NameCell(object),
          Json(FindString(object, {"spec", "attacher"})),
          Json(FindString(object, {"spec", "source", "persistentVolumeName"})),
          Json(FindString(object, {"spec", "nodeName"})),
          Json(FindBool(object, {"status", "attached"})),
          AgeCell(object, now)};
}

}  // namespace

void AddStorageTables(TableMap& tables) {
  const TableColumn name = NameColumn(), age = AgeColumn();
  const auto text = [](std::string_view title, int priority = 0) { return TextColumn(title, priority); };
  tables["/persistentvolumes"] = {
      {name, text("Capacity"), text("Access Modes"), text("Reclaim Policy"), text("Status"), text("Claim"),
       text("StorageClass"), text("VolumeAttributesClass"), text("Reason"), age, text("VolumeMode", 1)},
      VolumeCells};
  tables["/persistentvolumeclaims"] = {{name, text("Status"), text("Volume"), text("Capacity"), text("Access Modes"),
                                        text("StorageClass"), text("VolumeAttributesClass"), age, text("VolumeMode", 1)},
                                       VolumeClaimCells};
  tables["storage.k8s.io/storageclasses"] = {
      {name, text("Provisioner"), text("ReclaimPolicy"), text("VolumeBindingMode"), text("AllowVolumeExpansion"), age},
      StorageClassCells};
  tables["storage.k8s.io/volumeattributesclasses"] = {{name, text("DriverName"), age}, AttributesClassCells};
  tables["storage.k8s.io/csinodes"] = {{name, IntegerColumn("Drivers"), age}, CsiNodeCells};
  tables["storage.k8s.io/csidrivers"] = {
      {name, BooleanColumn("AttachRequired"), BooleanColumn("PodInfoOnMount"), BooleanColumn("StorageCapacity"),
       text("TokenRequests"), BooleanColumn("RequiresRepublish"), text("Modes"), age},
      CsiDriverCells};
  tables["storage.k8s.io/csistoragecapacities"] = {{name, text("StorageClassName"), text("Capacity")}, CapacityCells};
  tables["storage.k8s.io/volumeattachments"] = {
      {name, text("Attacher"), text("PV"), text("Node"), BooleanColumn("Attached"), age}, AttachmentCells};
}

}  // namespace evenkeel::embedded::apiserver
