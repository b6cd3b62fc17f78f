// Server-side printing: meta.k8s.io Tables with upstream's columns, and metadata-only forms.
// Follows: kubernetes@1.36 pkg/printers/internalversion/printers.go
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "embedded/apiserver/definitions/resource_table.h"
#include "embedded/apiserver/definitions/stored.h"

namespace evenkeel::embedded::apiserver {

struct TableColumn {
  std::string name, type, format, description;
  int priority = 0;  ///< 1: only with -o wide
};

enum class IncludeObject { kMetadata, kNone, kObject };

/// Prints one kind. Immutable, thread-safe.
class TablePrinter {
 public:
  virtual ~TablePrinter() = default;
  virtual const std::vector<TableColumn>& columns() const = 0;
  /// One cell per column.
  virtual base::JsonArray Cells(const base::Json& object, base::Time now) const = 0;
};

/// The printer of a kind: upstream's columns, a CRD's, or its name and when it was made.
std::shared_ptr<const TablePrinter> PrinterFor(const Served& served);

struct TableRequest {
  std::string version = "v1";
  IncludeObject include = IncludeObject::kMetadata;
};

/// A Table of these objects. `list_metadata`: resourceVersion, continue, remainingItemCount.
std::string TableText(const Served& served, const std::vector<Stored>& items, base::JsonObject list_metadata,
                      const TableRequest& request, base::Time now);
/// The same of a Scale, which no kind stores.
std::string ScaleTableText(const base::Json& scale, const TableRequest& request, base::Time now);
/// {"kind":"PartialObjectMetadata",...}: the object's metadata and nothing else.
std::string PartialText(const Served& served, const Stored& stored, std::string_view version);

/// "3h12m", or "<unknown>" when there is no such time.
std::string AgeText(const base::Json& object, std::initializer_list<std::string_view> path, base::Time now);

/// What a pod's containers are up to.
struct PodSummary {
  std::string status;  ///< the STATUS column: its phase, or what is wrong with its containers
  int64_t ready = 0, total = 0, restarts = 0;
  std::optional<base::Time> last_restart;
};
PodSummary SummaryOf(const base::Json& pod);

}  // namespace evenkeel::embedded::apiserver
