#include "embedded/apiserver/api/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "embedded/apiserver/api/metric_families.h"
#include "embedded/apiserver/definitions/stored.h"

namespace evenkeel::embedded::apiserver {
namespace {

using base::MetricFamily;
using base::MetricType;

constexpr MetricFamily kRequests{"apiserver_request_total", MetricType::kCounter, "Requests by verb, resource and HTTP code.",
                                 "code resource verb"};
constexpr MetricFamily kRequestSeconds{"apiserver_request_duration_seconds", MetricType::kHistogram,
                                       "Time to answer, by verb and resource; watches are left out.", "resource verb"};
constexpr MetricFamily kWatchers{"apiserver_registered_watchers", MetricType::kGauge, "Open watches by resource.", "resource"};
constexpr MetricFamily kRevision{"evenkeel_store_revision", MetricType::kGauge, "Latest durable revision of the store."};
constexpr MetricFamily kUnreadable{"evenkeel_store_unreadable_reads", MetricType::kGauge,
                                   "How often this process has met an object in a store that cannot be read."};

}  // namespace

struct Metrics::Impl {
  struct Row {
    prometheus::Counter* requests = nullptr;
    prometheus::Histogram* seconds = nullptr;
  };
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests =
      prometheus::BuildCounter().Name(kRequests.name).Help(kRequests.help).Register(registry);
  prometheus::Family<prometheus::Histogram>& seconds =
      prometheus::BuildHistogram().Name(kRequestSeconds.name).Help(kRequestSeconds.help).Register(registry);
  prometheus::Family<prometheus::Gauge>& watches =
      prometheus::BuildGauge().Name(kWatchers.name).Help(kWatchers.help).Register(registry);
  prometheus::Gauge& revision = prometheus::BuildGauge().Name(kRevision.name).Help(kRevision.help).Register(registry).Add({});
  prometheus::Gauge& unreadable =
      prometheus::BuildGauge().Name(kUnreadable.name).Help(kUnreadable.help).Register(registry).Add({});
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

std::vector<MetricFamily> MetricFamilies() { return {kRequests, kRequestSeconds, kWatchers, kRevision, kUnreadable}; }

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
  impl_->unreadable.Set(static_cast<double>(UnreadableObjects()));
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace evenkeel::embedded::apiserver
