// Pieces of the write path that more than one file of Api uses.
#pragma once

#include <string>

#include "embedded/apiserver/api/api.h"

namespace evenkeel::embedded::apiserver {

/// One read-edit-write on its way, kept alive by its callbacks.
struct Api::Modification {
  static constexpr int kAttempts = 6;
  Call call;
  Change change;
  Done done;
  int attempt = 0;
};

/// kConflict unless the object has the uid and the resourceVersion; empty ones do not matter.
Status CheckPreconditions(const Call& call, std::string_view uid, std::string_view resource_version, const Stored& current);
/// kInvalid when the object is nested deeper than what can be read again, as a patch may make it.
Status CheckDepth(const Call& call, const Json& object);
/// Whether an object that was marked for deletion has nothing left to wait for, so that writing it means removing it.
bool DeletionIsComplete(const Served& served, const Json& object, const Json& old);
/// Carries out a JSON, merge or strategic merge patch.
Status PatchObject(const kube::Resource& resource, const std::string& name, const PatchBody& patch, Json& object);
/// An apply that changes nothing but the time in managedFields is no change.
void KeepApplyTime(Json& object, const Json& old);

}  // namespace evenkeel::embedded::apiserver
