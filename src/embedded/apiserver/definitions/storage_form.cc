#include "embedded/apiserver/definitions/storage_form.h"

namespace evenkeel::embedded::apiserver {

void StorageForm::Apply(base::Json& object) const {
  if (schema_ == nullptr) return;
  const auto schema = schema_->Get();
  kube::Prune(object, *schema, nullptr);
  kube::ApplyDefaults(object, *schema);
  kube::Normalize(object, *schema);
}

void StorageForm::NoteOlderWrite(store::Revision revision) {
  store::Revision present = rows_until_;
  while (present < revision && !rows_until_.compare_exchange_weak(present, revision)) {
  }
}

void StorageForm::SetSurvey(store::Revision seen, store::Revision last_that_differs) {
  store::Revision present = rows_until_;
  // Somebody has written in another form since: what was seen says nothing of that.
  if (present > seen) return;
  rows_until_.compare_exchange_strong(present, last_that_differs);
}

}  // namespace evenkeel::embedded::apiserver
