// Follows: kubernetes@1.36 pkg/quota/v1/evaluator/core
#include "embedded/apiserver/admission/quotas.h"

#include "base/log.h"
#include "embedded/apiserver/api/api.h"
#include "embedded/apiserver/requests/errors.h"

namespace evenkeel::embedded::apiserver {
namespace {

// Changes that come together are written together.
constexpr base::Duration kStatusDelay = std::chrono::milliseconds(20);
constexpr base::Duration kStatusRetry = std::chrono::seconds(1);
constexpr char kQuotaController[] = "resourcequota-controller";

Json AmountsJson(const kube::Amounts& amounts) {
  base::JsonObject json;
  for (const auto& [name, amount] : amounts) json[name] = amount.ToString();
  return json;
}

/// What upstream's evaluators look at again when an object changes.
bool ChangesCount(const kube::Resource& resource) {
  return resource.group.empty() && (resource.plural == "services" || resource.plural == "persistentvolumeclaims");
}

}  // namespace

struct Quotas::Namespace {
  explicit Namespace(std::string its_name) : name(std::move(its_name)) {}

  const std::string name;
  std::mutex open_mutex;  // one Open at a time
  std::atomic<uint64_t> opened_version = 0, opened_generation = 0;
  std::atomic<uint64_t> version = 1;  // of what its quotas bound
  std::mutex mutex;
  QuotaLedger ledger;                                         // guarded by mutex, like what follows
  std::map<std::string, std::shared_ptr<const Json>> quotas;  // as stored, by name
  std::map<std::string, kube::Amounts> kinds;                 // by prefix: what one object counts as
  // By prefix; guarded by open_mutex. The last member: its handlers use the others.
  std::map<std::string, std::unique_ptr<StoreFollower>> followers;
};

Quotas::Ticket::~Ticket() {
  if (written_) return;
  std::lock_guard lock(ns_->mutex);
  ns_->ledger.Cancel(promise_);
}

void Quotas::Ticket::Written(store::Revision revision) {
  std::lock_guard lock(ns_->mutex);
  ns_->ledger.Keep(promise_, revision);
  written_ = true;
}

Quotas::Quotas(Api& api)
    : api_(api),
      served_(api.resources().Find("", "v1", "resourcequotas")),
      strand_(api.options().executor == nullptr ? nullptr : api.options().executor->NewStrand("quotas-" + api.options().name)) {
}

Quotas::~Quotas() {
  follower_.reset();
  if (strand_ != nullptr) strand_->Close();
  // Handlers of the books use what is below them here.
  retired_.clear();
  namespaces_.clear();
}

Status Quotas::Start() {
  follower_ = std::make_unique<StoreFollower>(
      api_.store(), served_->prefix, "ResourceQuotas",
      StoreFollower::Sink{.put = [this](const store::KeyValue& item) { Put(item); },
                          .remove = [this](const std::string& key, store::Revision) { Remove(key); }},
      api_.options().executor);
  return follower_->Start();
}

void Quotas::Put(const store::KeyValue& item) {
  const std::string key = item.key.substr(served_->prefix.size());
  auto quota = DecodeObject(*served_, {item.value, item.mod_revision});
  if (!quota) return Remove(key);
  std::string ns, name;
  kube::SplitKey(key, ns, name);
  std::lock_guard lock(mutex_);
  std::shared_ptr<Namespace>& books = namespaces_[ns];
  if (books == nullptr) books = std::make_shared<Namespace>(ns);
  {
    std::lock_guard books_lock(books->mutex);
    std::shared_ptr<const Json>& known = books->quotas[name];
    const bool same = known != nullptr && base::Equal(base::FindObject(*known, {"spec"}), base::FindObject(*quota, {"spec"}));
    if (!same) {
      books->ledger.SetQuota(name, QuotaBounds::Decode(*quota));
      ++books->version;
    }
    known = std::make_shared<const Json>(*std::move(quota));
  }
  any_ = true;
  WriteSoon(ns);
}

void Quotas::Remove(const std::string& key) {
  std::string ns, name;
  kube::SplitKey(key, ns, name);
  std::lock_guard lock(mutex_);
  const auto found = namespaces_.find(ns);
  if (found == namespaces_.end()) return;
  std::unique_lock books_lock(found->second->mutex);
  found->second->quotas.erase(name);
  found->second->ledger.RemoveQuota(name);
  const bool last = found->second->quotas.empty();
  books_lock.unlock();
  if (!last) return;
  retired_.push_back(std::move(found->second));
  namespaces_.erase(found);
  any_ = !namespaces_.empty();
  WriteSoon(ns);
}

std::shared_ptr<Quotas::Namespace> Quotas::Find(const std::string& ns) {
  std::shared_lock lock(mutex_);
  const auto found = namespaces_.find(ns);
  return found == namespaces_.end() ? nullptr : found->second;
}

void Quotas::Follow(const std::shared_ptr<Namespace>& books, const ServedPointer& served) {
  const std::string& prefix = served->prefix;
  kube::Amounts counts;
  for (const ServedPointer& other : api_.resources().All()) {
    if (other->prefix == prefix) counts.emplace(QuotaCountName(other->resource), kube::Quantity::FromInt(1));
  }
  // The books outlive their followers.
  StoreFollower::Sink sink;
  sink.put = [this, books = books.get(), served, prefix, counts](const store::KeyValue& item) {
    QuotaCharge charge;
    if (IsMeasured(served->resource)) {
      const auto object = DecodeObject(*served, {item.value, item.mod_revision});
      if (object) charge = ChargeOf(served->resource, *object, api_.Now());
    } else {
      charge = ChargeOf(served->resource, Json(), api_.Now());
    }
    kube::AddAmounts(charge.usage, counts);
    {
      std::lock_guard lock(books->mutex);
      books->ledger.Put(prefix, item.key, std::move(charge));
    }
    WriteSoon(books->name);
  };
  sink.remove = [this, books = books.get(), prefix](const std::string& key, store::Revision) {
    {
      std::lock_guard lock(books->mutex);
      books->ledger.Remove(prefix, prefix + books->name + "/" + key);
    }
    WriteSoon(books->name);
  };
  sink.progress = [books = books.get(), prefix](store::Revision revision) {
    std::lock_guard lock(books->mutex);
    books->ledger.SetSeen(prefix, revision);
  };
  {
    std::lock_guard lock(books->mutex);
    books->kinds[prefix] = counts;
  }
  books->followers[prefix] =
      std::make_unique<StoreFollower>(api_.store(), served->Prefix(books->name), "what quotas bound in " + books->name,
                                      std::move(sink), api_.options().executor);
}

Status Quotas::Open(const std::shared_ptr<Namespace>& books) {
  const uint64_t version = books->version, generation = api_.resources().generation();
  if (books->opened_version == version && books->opened_generation == generation) return {};
  std::lock_guard opening(books->open_mutex);
  std::set<std::string> names;
  {
    std::lock_guard lock(books->mutex);
    names = books->ledger.BoundNames();
  }
  std::set<std::pair<std::string, std::string>> kinds;
  for (const std::string& name : names) {
    if (auto kind = KindOfQuotaName(name)) kinds.insert(*std::move(kind));
  }
  if (!kinds.empty()) {
    for (const ServedPointer& served : api_.resources().All()) {
      if (!kinds.contains({served->resource.group, served->resource.plural}) || !served->resource.namespaced) continue;
      if (books->followers.contains(served->prefix)) continue;
      Follow(books, served);
      if (auto started = books->followers[served->prefix]->Start(); !started) {
        books->followers.erase(served->prefix);
        return started;
      }
    }
  }
  books->opened_version = version;
  books->opened_generation = generation;
  return {};
}

base::Result<Quotas::TicketPointer> Quotas::Admit(const Call& call, const Json& object, const Json* old) {
  if (!any_.load(std::memory_order_relaxed) || !call.subresource.empty()) return TicketPointer();
  const Served& served = *call.served;
  if (!served.resource.namespaced || (old != nullptr && !ChangesCount(served.resource))) return TicketPointer();
  const std::shared_ptr<Namespace> books = Find(call.ns);
  if (books == nullptr) return TicketPointer();
  EVENKEEL_TRY(Open(books));
  const base::Time now = api_.Now();
  QuotaCharge next = ChargeOf(served.resource, object, now), before;
  if (old != nullptr) before = ChargeOf(served.resource, *old, now);
  std::lock_guard lock(books->mutex);
  const auto kind = books->kinds.find(served.prefix);
  if (kind == books->kinds.end()) return TicketPointer();
  kube::AddAmounts(next.usage, kind->second);
  if (old != nullptr) kube::AddAmounts(before.usage, kind->second);
  books->ledger.Expire(now);
  const std::string refusal = books->ledger.Refusal(next, before, next.traits.pod ? &object : nullptr);
  if (!refusal.empty()) return base::Fail(ForbiddenError(served.resource, call.name, refusal));
  if (call.dry_run) return TicketPointer();
  TicketPointer ticket(new Ticket());
  ticket->promise_ = books->ledger.Add(served.prefix, std::move(next), std::move(before));
  ticket->ns_ = books;
  return ticket;
}

void Quotas::WriteSoon(const std::string& ns) {
  if (strand_ == nullptr) return;
  {
    std::lock_guard lock(dirty_mutex_);
    dirty_.insert(ns);
  }
  if (waiting_.exchange(true)) return;
  strand_->Post([this] { timer_ = strand_->PostAfter(kStatusDelay, [this] { WriteStatuses(); }); });
}

void Quotas::WriteStatuses() {
  waiting_ = false;
  std::set<std::string> dirty;
  {
    std::lock_guard lock(dirty_mutex_);
    dirty.swap(dirty_);
  }
  std::vector<std::shared_ptr<Namespace>> retired;
  {
    std::lock_guard lock(mutex_);
    retired.swap(retired_);
  }
  retired.clear();  // without the lock, which handlers that are waited for take
  for (const std::string& ns : dirty) {
    const auto written = WriteStatusesOf(ns);
    if (written) continue;
    base::log::Warn("what a quota bounds cannot be read, and is tried again", {{"namespace", ns}, {"error", written.error()}});
    expiries_[ns] = strand_->PostAfter(kStatusRetry, [this, ns] { WriteSoon(ns); });
  }
}

Status Quotas::WriteStatusesOf(const std::string& ns) {
  const std::shared_ptr<Namespace> books = Find(ns);
  if (books == nullptr) {
    expiries_.erase(ns);
    return {};
  }
  EVENKEEL_TRY(Open(books));
  struct DueStatus {
    std::shared_ptr<const Json> quota;
    kube::Amounts used, hard;
  };
  std::vector<DueStatus> all;
  std::optional<base::Time> next;
  {
    std::lock_guard lock(books->mutex);
    books->ledger.Expire(api_.Now());
    for (const auto& [name, quota] : books->quotas) {
      all.push_back({quota, books->ledger.Used(name), books->ledger.Find(name)->hard});
    }
    next = books->ledger.NextExpiry();
  }
  if (next) {
    const base::Duration wait = *next - api_.Now() + std::chrono::seconds(1);
    expiries_[ns] = strand_->PostAfter(wait, [this, ns] { WriteSoon(ns); });
  } else {
    expiries_.erase(ns);
  }
  for (const DueStatus& due : all) WriteStatus(ns, *due.quota, due.used, due.hard);
  return {};
}

void Quotas::WriteStatus(const std::string& ns, const Json& quota, const kube::Amounts& used, const kube::Amounts& hard) {
  Json status = base::JsonObject{{"hard", AmountsJson(hard)}, {"used", AmountsJson(used)}};
  const Json* before = base::Find(quota, {"status"});
  if (before != nullptr && base::Equal(*before, status)) return;
  if (base::Find(quota, {"metadata", "deletionTimestamp"}) != nullptr) return;
  Json changed = quota;
  changed.get_object()["status"] = std::move(status);
  Call call;
  call.served = served_;
  call.ns = ns;
  call.name = kube::NameOf(quota);
  call.subresource = "status";
  call.user = {.name = access::ServiceAccountUser("kube-system", kQuotaController), .groups = {access::kMasters}};
  call.field_manager = kQuotaController;
  call.unasked = true;
  const std::string name = call.name;
  api_.Update(std::move(call), std::move(changed), [this, ns, name, strand = strand_](const Result<Answer>& answer) {
    // Whoever was faster is heard of, and the status compared again.
    if (answer || answer.error().code() == base::Code::kNotFound || answer.error().code() == base::Code::kConflict) return;
    base::log::Warn("the status of a ResourceQuota could not be written, and is tried again",
                    {{"namespace", ns}, {"name", name}, {"error", answer.error()}});
    strand->Post([this, ns] { expiries_[ns] = strand_->PostAfter(kStatusRetry, [this, ns] { WriteSoon(ns); }); });
  });
}

}  // namespace evenkeel::embedded::apiserver
