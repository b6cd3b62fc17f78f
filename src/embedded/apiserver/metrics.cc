#include "embedded/apiserver/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace evenkeel::embedded::apiserver {

struct Metrics::Impl {
  struct Row {
    prometheus::Counter* requests = nullptr;
    prometheus::Histogram* seconds = nullptr;
  };
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests = prometheus::BuildCounter()
                                                          .Name("apiserver_request_total")
                                                          .Help("Requests by verb, resource and HTTP code.")
                                                          .Register(registry);
  prometheus::Family<prometheus::Histogram>& seconds = prometheus::BuildHistogram()
                                                           .Name("apiserver_request_duration_seconds")
                                                           .Help("Time to answer, by verb and resource; watches are left out.")
                                                           .Register(registry);
  prometheus::Family<prometheus::Gauge>& watches =
      prometheus::BuildGauge().Name("apiserver_registered_watchers").Help("Open watches by resource.").Register(registry);
  prometheus::Gauge& revision = prometheus::BuildGauge()
                                    .Name("evenkeel_store_revision")
                                    .Help("Latest durable revision of the store.")
                                    .Register(registry)
                                    .Add({});
  std::mutex mutex;
  std::map<std::tuple<std::string, std::string, int>, Row, std::less<>> rows;

  Row RowFor(std::string_view verb, std::string_view resource, int status) {
    std::lock_guard lock(mutex);
    const auto found = rows.find(std::tuple(verb, resource, status));
    if (found != rows.end()) return found->second;
    const std::string verb_text(verb), resource_text(resource);
    Row row;
    row.requests = &requests.Add({{"verb", verb_text}, {"resource", resource_text}, {"code", std::to_string(status)}});
    row.seconds =
        &seconds.Add({{"verb", verb_text}, {"resource", resource_text}},
                     prometheus::Histogram::BucketBoundaries{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30});
    rows.emplace(std::tuple(verb_text, resource_text, status), row);
    return row;
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::CountRequest(std::string_view verb, std::string_view resource, int status, base::Duration took) {
  const Impl::Row row = impl_->RowFor(verb, resource, status);
  row.requests->Increment();
  if (verb != "WATCH") row.seconds->Observe(std::chrono::duration<double>(took).count());
}

void Metrics::AddWatches(std::string_view resource, int change) {
  impl_->watches.Add({{"resource", std::string(resource)}}).Increment(change);
}

std::string Metrics::Text(int64_t revision) {
  impl_->revision.Set(static_cast<double>(revision));
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace evenkeel::embedded::apiserver
