#include "controllers/runtime/defined_kind.h"

namespace evenkeel::controllers::runtime {

DefinedKind::DefinedKind(client::Client& client, const kube::Resource& resource, std::shared_ptr<base::Strand> strand,
                         base::Clock& clock, base::Random random, Handler handler)
    : client_(client),
      resource_(resource),
      definition_(resource.QualifiedPlural()),
      strand_(std::move(strand)),
      clock_(clock),
      random_(std::move(random)),
      handler_(std::move(handler)) {}

void DefinedKind::OnDefinition(const std::string& name, const base::Json* after) {
  if (name != definition_) return;
  if (after != nullptr && kube::ConditionStatus(*after, "Established") == "True") return Begin();
  const auto gone = std::move(objects_);
  if (gone == nullptr) return;
  for (const auto& [key, object] : gone->items()) handler_(key, nullptr);
}

void DefinedKind::Begin() {
  if (objects_ != nullptr) return;
  objects_ = std::make_unique<client::Informer<kube::Object>>(client_, resource_, client::InformerOptions{.name_kind = true},
                                                              strand_, clock_, random_.Fork("objects"));
  objects_->AddRawHandler(handler_);
  objects_->Start();
}

}  // namespace evenkeel::controllers::runtime
