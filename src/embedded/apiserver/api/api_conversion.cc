// Objects of a kind whose versions a webhook converts between (conversion.h), on their way out of the store and into it. A
// question is asked on a strand of its own, so that a webhook that hangs holds up its kind and few others.
#include "base/hash.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/api/modification.h"
#include "embedded/apiserver/requests/raw_json.h"

namespace evenkeel::embedded::apiserver {
namespace {

constexpr int kConversionStrands = 4;
// Of one question; what comes back may be larger, but is bounded.
constexpr size_t kQuestionObjects = 500;
constexpr size_t kQuestionBytes = 1u << 20;

std::string VersionOf(const Stored& row) { return RawText(RawFind(*row.bytes, {"apiVersion"})); }

// A row as it is, in the version in which it was written; null when it cannot be read.
Json Parsed(const Served& served, const Stored& row) {
  auto object = base::ParseJson(*row.bytes, "stored object");
  if (!object || !object->is_object() || base::Find(*object, {"metadata"}) == nullptr) return {};
  const bool older = row.older ? served.storage_form->AnyMayDiffer() : served.storage_form->MayDiffer(row.revision);
  if (base::FindString(*object, {"apiVersion"}) == served.storage_api_version && older) served.storage_form->Apply(*object);
  return *std::move(object);
}

}  // namespace

// What watches of such a kind tell comes from a strand: nothing of it after the watch is gone.
struct Api::WatchGate {
  std::recursive_mutex mutex;  // a handler may end its own watch
  bool open = true;
};

class Api::GatedWatch : public store::Watch {
 public:
  GatedWatch(std::unique_ptr<store::Watch> watch, std::shared_ptr<WatchGate> gate)
      : watch_(std::move(watch)), gate_(std::move(gate)) {}
  ~GatedWatch() override {
    watch_.reset();
    std::lock_guard lock(gate_->mutex);
    gate_->open = false;
  }

 private:
  std::unique_ptr<store::Watch> watch_;
  std::shared_ptr<WatchGate> gate_;
};

void Api::StartConversion() {
  for (int i = 0; options_.executor != nullptr && i < kConversionStrands; ++i) {
    conversion_strands_.push_back(options_.executor->NewStrand("conversion-" + options_.name));
  }
}

void Api::RunFor(const Served& served, base::Task task) {
  if (served.conversion == nullptr || conversion_strands_.empty()) return task();
  conversion_strands_[base::Fnv1a32(served.prefix) % conversion_strands_.size()]->Post(std::move(task));
}

Result<std::vector<Json>> Api::Convert(const Served& served, const std::vector<Json>& objects, const std::string& api_version,
                                       bool list) {
  return AskToConvert(*served.conversion, webhook_poster_, service_address_, NewUid(), objects, api_version, list);
}

Status Api::ConvertSome(const Served& served, std::span<Stored* const> rows, std::vector<Json> objects, bool list) {
  EVENKEEL_ASSIGN(std::vector<Json> converted, Convert(served, objects, served.resource.ApiVersion(), list));
  for (size_t i = 0; i < rows.size(); ++i) *rows[i] = AsAsked(served, std::move(converted[i]), *rows[i]);
  return {};
}

Stored Api::AsAsked(const Served& served, Json object, const Stored& row) {
  if (served.custom_schema != nullptr) {
    const auto schema = served.custom_schema->Get();
    kube::Prune(object, *schema, nullptr);
    kube::ApplyDefaults(object, *schema);
    kube::Normalize(object, *schema);
  }
  Stored asked = row;
  asked.bytes = std::make_shared<const std::string>(EncodeShown(object, served));
  asked.as_asked = true;
  return asked;
}

Status Api::ConvertRows(const Served& served, std::span<Stored> rows, bool list) {
  if (served.conversion == nullptr) return {};
  const std::string wanted = served.resource.ApiVersion();
  std::vector<Stored*> waiting;
  std::vector<Json> objects;
  size_t bytes = 0;
  for (Stored& row : rows) {
    if (row.bytes == nullptr || row.as_asked) continue;
    const bool converts = VersionOf(row) != wanted;
    if (!converts && wanted == served.storage_api_version) continue;
    Json object = Parsed(served, row);
    if (object.is_null()) continue;  // whoever shows it says so
    if (!converts) {
      row = AsAsked(served, std::move(object), row);
      continue;
    }
    waiting.push_back(&row);
    objects.push_back(std::move(object));
    bytes += row.bytes->size();
    if (waiting.size() < kQuestionObjects && bytes < kQuestionBytes) continue;
    EVENKEEL_TRY(ConvertSome(served, waiting, std::exchange(objects, {}), list));
    waiting.clear();
    bytes = 0;
  }
  return waiting.empty() ? Status() : ConvertSome(served, waiting, std::move(objects), list);
}

Result<store::Value> Api::EncodeRow(const Call& call, const Json& object, Stored& shown) {
  const Served& served = *call.served;
  if (served.conversion == nullptr || served.resource.ApiVersion() == served.storage_api_version) {
    shown.bytes = std::make_shared<const std::string>(EncodeStored(object, served));
    shown.as_asked = false;
    return shown.bytes;
  }
  shown.bytes = std::make_shared<const std::string>(EncodeShown(object, served));
  shown.as_asked = true;
  EVENKEEL_ASSIGN(std::vector<Json> converted, Convert(served, {object}, served.storage_api_version, false));
  EVENKEEL_TRY(CheckDepth(call, converted[0]));
  served.storage_form->Apply(converted[0]);
  return std::make_shared<const std::string>(EncodeInStorageVersion(converted[0], served));
}

Result<std::vector<std::shared_ptr<SharedEvent>>> Api::ConvertEvents(const Served& served,
                                                                     const std::vector<store::Event>& batch) {
  std::vector<Stored> rows;
  for (const store::Event& event : batch) {
    rows.push_back({.bytes = event.current.value, .revision = event.revision});
    rows.push_back({.bytes = event.previous, .revision = event.revision, .older = true});
  }
  EVENKEEL_TRY(ConvertRows(served, rows, false));
  std::vector<std::shared_ptr<SharedEvent>> events;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].type == store::Event::Type::kProgress) {
      events.push_back(nullptr);
    } else {
      events.push_back(std::make_shared<SharedEvent>(batch[i], rows[2 * i], rows[2 * i + 1]));
    }
  }
  return events;
}

Result<std::unique_ptr<store::Watch>> Api::WatchConverted(const ServedPointer& served, std::string prefix,
                                                          store::Revision after, EventTeller tell, EventHandler handler) {
  const auto gate = std::make_shared<WatchGate>();
  auto watch = options_.store->NewWatch(std::move(prefix), after,
                                        [this, served, gate, tell = std::move(tell), handler = std::move(handler)](
                                            std::vector<store::Event> batch, const base::Error* error) {
                                          RunFor(*served, [this, served, gate, tell, handler, batch = std::move(batch),
                                                           ended = error == nullptr ? std::optional<base::Error>() : *error] {
                                            const auto events = ConvertEvents(*served, batch);
                                            std::lock_guard lock(gate->mutex);
                                            for (size_t i = 0; events && i < batch.size() && gate->open; ++i)
                                              tell(batch[i], (*events)[i]);
                                            if (!gate->open || (events && !ended)) return;
                                            gate->open = false;
                                            handler(EventType::kProgress, nullptr, 0, events ? &*ended : &events.error());
                                          });
                                        });
  if (!watch) return watch;
  return std::make_unique<GatedWatch>(*std::move(watch), gate);
}

}  // namespace evenkeel::embedded::apiserver
