// How objects lie in the store: compact JSON, apiVersion, kind and metadata first, without resourceVersion. The resourceVersion
// is the key's revision and is spliced into the bytes when they are read, so that lists and watches never parse.
#pragma once

#include <string>

#include "base/json.h"
#include "embedded/apiserver/definitions/resource_table.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

/// An object as it was read. Revision 0: not stored (a dry run), so without a resourceVersion.
struct Stored {
  store::Value bytes;
  store::Revision revision = 0;
  bool older = false;     ///< the bytes are what there was before that revision: of a deleted object, for instance
  bool as_asked = false;  ///< the bytes are in the form of the version that is asked for: a webhook has converted them
};

/// The bytes to store for an object of the served version, in the form of the stored one: events are kept as core v1.
std::string EncodeStored(const base::Json& object, const Served& served);
/// Of an object that has the form already: as the served version shows it, and as rows of the storage version are.
std::string EncodeShown(const base::Json& object, const Served& served);
std::string EncodeInStorageVersion(const base::Json& object, const Served& served);
/// Appends the object's JSON in the served version with its resourceVersion. A copy of bytes, except for versions of another
/// form and custom objects that were stored before their schema changed, or are stored in another version with another schema.
void AppendObject(std::string& out, const Served& served, const Stored& stored);
/// Whether the stored bytes may not be what is read.
bool HasOtherForm(const Served& served, const Stored& stored);
std::string ObjectText(const Served& served, const Stored& stored);
/// The same, parsed. kInternal, logged and counted, when the bytes are no object: what lies on disk may be damaged, or be by a
/// program that allowed more.
base::Result<base::Json> DecodeObject(const Served& served, const Stored& stored);
/// How often that has happened in this process.
int64_t UnreadableObjects();
/// One string below metadata of the stored bytes, "" when absent; without parsing the rest.
std::string StoredMetaText(const Stored& stored, std::string_view field);

/// Field names of core/v1 Event <-> events.k8s.io/v1 Event, in place. No-op where it already has them.
void EventToCore(base::Json& event);
void EventFromCore(base::Json& event);

}  // namespace evenkeel::embedded::apiserver
