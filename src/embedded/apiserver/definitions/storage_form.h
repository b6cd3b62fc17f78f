// The form that a CRD's objects are to have when they are read: without the fields that its schema does not know any more, with
// the defaults that it has got since. Rows are not rewritten when a schema changes; whoever reads brings them to the form.
#pragma once

#include <atomic>
#include <memory>

#include "base/json.h"
#include "embedded/apiserver/definitions/custom_schema.h"
#include "embedded/store/store.h"

namespace evenkeel::embedded::apiserver {

/// Of the version in which objects are stored; shared by all versions of the CRD that are served. Thread-safe.
class StorageForm {
 public:
  /// `schema`: null where there is none. `rows_until`: rows up to that revision may have another form; later ones are written
  /// in this one.
  StorageForm(std::shared_ptr<const CustomSchema> schema, store::Revision rows_until)
      : schema_(std::move(schema)), rows_until_(rows_until) {}

  const std::shared_ptr<const CustomSchema>& schema() const { return schema_; }
  /// Whether a row of that revision has to be looked at.
  bool MayDiffer(store::Revision revision) const {
    return schema_ != nullptr && revision <= rows_until_.load(std::memory_order_relaxed);
  }
  bool AnyMayDiffer() const { return MayDiffer(1); }
  void Apply(base::Json& object) const;
  /// A row was written by somebody who did not know of this form yet.
  void NoteOlderWrite(store::Revision revision);

  /// Whether nobody has looked yet which rows differ; true once.
  bool TakeSurvey() { return AnyMayDiffer() && !surveyed_.exchange(true); }
  /// What a look at all rows up to `seen` has found: the last one that differs, 0 for none.
  void SetSurvey(store::Revision seen, store::Revision last_that_differs);

 private:
  const std::shared_ptr<const CustomSchema> schema_;
  std::atomic<store::Revision> rows_until_;
  std::atomic<bool> surveyed_ = false;
};

}  // namespace evenkeel::embedded::apiserver
