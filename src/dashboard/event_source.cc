#include "dashboard/documents.h"
#include "dashboard/sources.h"

namespace evenkeel::dashboard {
namespace {

class EventSource final : public InformedSource {
 public:
  EventSource(SourceContext context, std::string cluster) : InformedSource(std::move(context)), cluster_(std::move(cluster)) {
    Watch<EventRow>(kube::resources::Events(), {}, [this](const auto& before, const auto& after) {
      if (before && !before->controller.empty()) changes_.Erase("events", EventId(*before, cluster_));
      if (after && !after->controller.empty()) changes_.Set("events", EventId(*after, cluster_), EventEntry(*after, cluster_));
    });
  }

  Update Collect() override { return std::exchange(changes_, {}); }

 private:
  const std::string cluster_;
  Update changes_;
};

class ObjectSource final : public InformedSource {
 public:
  ObjectSource(SourceContext context, const kube::Resource& resource, std::string field) : InformedSource(std::move(context)) {
    Watch<kube::Object>(resource, {}, [this, field = std::move(field)](const auto& before, const auto& after) {
      if (after) {
        changes_.Set(field, after->meta.Key(), *after->json);
      } else {
        changes_.Erase(field, before->meta.Key());
      }
    });
  }

  Update Collect() override { return std::exchange(changes_, {}); }

 private:
  Update changes_;
};

}  // namespace

std::unique_ptr<Source> NewEventSource(SourceContext context, const std::string& cluster) {
  return std::make_unique<EventSource>(std::move(context), cluster);
}

std::unique_ptr<Source> NewObjectSource(SourceContext context, const kube::Resource& resource, const std::string& field) {
  return std::make_unique<ObjectSource>(std::move(context), resource, field);
}

}  // namespace evenkeel::dashboard
