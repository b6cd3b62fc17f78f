// Schemas of custom kinds, read when somebody needs them. Most kinds of a cluster with many definitions are served and never
// written: of those there is only the text of the definition, which is the store's. In memory a schema is several times as
// large.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "base/json.h"
#include "embedded/store/store.h"
#include "kube/schema/schema.h"

namespace evenkeel::embedded::apiserver {

class CustomSchema;

/// The schemas that were read last stay for a while, as many as have definitions of so many bytes together, and no longer than
/// somebody may ask for them. Thread-safe.
class RecentSchemas {
 public:
  static constexpr size_t kDefinitionBytesMax = 8u << 20;

  /// `of`: who may be asked for it.
  void Add(const CustomSchema& of, std::shared_ptr<const kube::Schema> schema, size_t definition_bytes);
  void Forget(const CustomSchema& of);

 private:
  struct Recent {
    const CustomSchema* of = nullptr;
    std::shared_ptr<const kube::Schema> schema;
    size_t definition_bytes = 0;
  };
  std::mutex mutex_;
  std::deque<Recent> recent_;  // the last one at the end
  size_t bytes_ = 0;
};

/// A definition as it is stored now. Thread-safe.
class DefinitionText {
 public:
  explicit DefinitionText(store::Value text) : text_(std::move(text)) {}

  store::Value Get() const;
  /// One that says the same of all schemas.
  void Replace(store::Value text);

 private:
  mutable std::mutex mutex_;
  store::Value text_;
};

/// The schema of one version of a definition that has one. Thread-safe.
class CustomSchema {
 public:
  CustomSchema(std::shared_ptr<DefinitionText> definition, std::string version, std::shared_ptr<RecentSchemas> recent)
      : definition_(std::move(definition)), version_(std::move(version)), recent_(std::move(recent)) {}
  ~CustomSchema() { recent_->Forget(*this); }
  CustomSchema(const CustomSchema&) = delete;
  CustomSchema& operator=(const CustomSchema&) = delete;

  const std::shared_ptr<DefinitionText>& definition() const { return definition_; }
  /// About 2 ms for a definition of 60 kB that was not used lately.
  std::shared_ptr<const kube::Schema> Get() const;

 private:
  const std::shared_ptr<DefinitionText> definition_;
  const std::string version_;
  const std::shared_ptr<RecentSchemas> recent_;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const kube::Schema> read_;  // guarded by mutex_
};

/// openAPIV3Schema of an entry of spec.versions; null where there is none.
const base::Json* SchemaIn(const base::Json& version);

}  // namespace evenkeel::embedded::apiserver
