// Watches the objects of a kind that a cluster may not have: once its CustomResourceDefinition is there, and again when it has
// been made anew.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/random.h"
#include "client/informer.h"
#include "kube/object.h"

namespace evenkeel::controllers::runtime {

/// Lives on the strand.
class DefinedKind {
 public:
  /// Told of every change of an object; null: it has gone, also because its kind has.
  using Handler = std::function<void(const std::string& key, const base::Json* after)>;

  DefinedKind(client::Client& client, const kube::Resource& resource, std::shared_ptr<base::Strand> strand, base::Clock& clock,
              base::Random random, Handler handler);

  /// A CustomResourceDefinition as it is now, whichever it is about; null: that of this name has gone.
  void OnDefinition(const std::string& name, const base::Json* after);
  /// Watches without having seen a definition.
  void Begin();
  /// Whether the objects have been listed, or there is no such kind.
  bool synced() const { return objects_ == nullptr || objects_->synced(); }
  /// Null: there is no such kind.
  const client::Informer<kube::Object>* objects() const { return objects_.get(); }

 private:
  client::Client& client_;
  const kube::Resource resource_;
  const std::string definition_;  // its name
  std::shared_ptr<base::Strand> strand_;
  base::Clock& clock_;
  const base::Random random_;
  Handler handler_;
  std::unique_ptr<client::Informer<kube::Object>> objects_;
};

}  // namespace evenkeel::controllers::runtime
