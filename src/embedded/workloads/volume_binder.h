// Marks PersistentVolumeClaims as bound, so that pods with claims can run: the embedded nodes have as much storage as anybody
// asks for.
#pragma once

#include "embedded/workloads/reconciler.h"

namespace evenkeel::embedded::workloads {

class VolumeBinder final : public Reconciler {
 public:
  explicit VolumeBinder(Context& context);

 private:
  base::Result<Again> Reconcile(const std::string& key) override;
};

}  // namespace evenkeel::embedded::workloads
