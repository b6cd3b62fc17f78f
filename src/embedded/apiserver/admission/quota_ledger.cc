#include "embedded/apiserver/admission/quota_ledger.h"

#include <spdlog/fmt/fmt.h>

#include <limits>

namespace evenkeel::embedded::apiserver {
namespace {

using kube::Amounts;
using kube::Quantity;

/// What of the charge the quota bounds.
Amounts BoundPart(const QuotaBounds& quota, const QuotaCharge& charge) {
  Amounts part;
  if (!quota.Covers(charge.traits)) return part;
  for (const auto& [name, amount] : charge.usage) {
    if (quota.hard.contains(name)) part.emplace(name, amount);
  }
  return part;
}

/// How much more `next` is than `before`: only what grows.
Amounts Growth(const QuotaBounds& quota, const QuotaCharge& next, const QuotaCharge& before) {
  Amounts growth = BoundPart(quota, next);
  const Amounts was = BoundPart(quota, before);
  for (auto at = growth.begin(); at != growth.end();) {
    if (const Quantity* amount = kube::FindAmount(was, at->first)) at->second -= *amount;
    at = at->second > Quantity() ? std::next(at) : growth.erase(at);
  }
  return growth;
}

Quantity AmountOr0(const Amounts& amounts, std::string_view name) {
  const Quantity* amount = kube::FindAmount(amounts, name);
  return amount == nullptr ? Quantity() : *amount;
}

bool IsCut(const Quantity& amount) { return amount.Value() == std::numeric_limits<int64_t>::max(); }

}  // namespace

void QuotaLedger::SetQuota(const std::string& name, QuotaBounds quota) {
  quotas_[name].bounds = std::move(quota);
  Recount();
}

void QuotaLedger::RemoveQuota(const std::string& name) { quotas_.erase(name); }

std::set<std::string> QuotaLedger::BoundNames() const {
  std::set<std::string> names;
  for (const auto& [quota_name, quota] : quotas_) {
    for (const auto& [name, amount] : quota.bounds.hard) names.insert(name);
  }
  return names;
}

void QuotaLedger::Count(const QuotaCharge& charge, bool more) {
  for (auto& [quota_name, quota] : quotas_) {
    for (const auto& [name, amount] : BoundPart(quota.bounds, charge)) {
      Quantity& used = quota.used[name];
      // A sum that was cut has forgotten what it is made of.
      if (!more && IsCut(used)) return Recount();
      used = more ? used + amount : used - amount;
    }
  }
}

void QuotaLedger::CountPromise(const Promise& promise, bool more) {
  for (auto& [quota_name, quota] : quotas_) {
    for (const auto& [name, amount] : Growth(quota.bounds, promise.next, promise.before)) {
      Quantity& promised = quota.promised[name];
      if (!more && IsCut(promised)) return Recount();
      promised = more ? promised + amount : promised - amount;
    }
  }
}

void QuotaLedger::Recount() {
  for (auto& [name, quota] : quotas_) {
    quota.used.clear();
    quota.promised.clear();
  }
  for (const auto& [prefix, book] : books_) {
    for (const auto& [key, charge] : book.charges) Count(charge, true);
  }
  for (const Promise& promise : promises_) CountPromise(promise, true);
}

void QuotaLedger::Put(const std::string& book, const std::string& key, QuotaCharge charge) {
  Remove(book, key);
  if (charge.until) expiries_.emplace(*charge.until, book, key);
  Count(charge, true);
  books_[book].charges.emplace(key, std::move(charge));
}

void QuotaLedger::Remove(const std::string& book, const std::string& key) {
  auto& charges = books_[book].charges;
  const auto found = charges.find(key);
  if (found == charges.end()) return;
  const QuotaCharge charge = std::move(found->second);
  charges.erase(found);
  if (charge.until) expiries_.erase({*charge.until, book, key});
  Count(charge, false);
}

void QuotaLedger::SetSeen(const std::string& book, store::Revision revision) {
  store::Revision& seen = books_[book].seen;
  seen = std::max(seen, revision);
  for (auto at = promises_.begin(); at != promises_.end();) {
    const auto promise = at++;
    if (promise->book == book && promise->written != 0 && promise->written <= seen) Cancel(promise);
  }
}

void QuotaLedger::Expire(base::Time now) {
  while (!expiries_.empty() && std::get<0>(*expiries_.begin()) < now) {
    const auto [until, book, key] = *expiries_.begin();
    QuotaCharge charge = books_[book].charges[key];
    std::erase_if(charge.usage, [](const auto& entry) { return !entry.first.starts_with("count/"); });
    charge.until.reset();
    Put(book, key, std::move(charge));
  }
}

std::optional<base::Time> QuotaLedger::NextExpiry() const {
  return expiries_.empty() ? std::nullopt : std::optional(std::get<0>(*expiries_.begin()));
}

std::string QuotaLedger::Refusal(const QuotaCharge& next, const QuotaCharge& before, const base::Json* pod) const {
  for (const auto& [name, quota] : quotas_) {
    if (pod == nullptr || !quota.bounds.Covers(next.traits)) continue;
    const std::string missing = UnspecifiedAmounts(quota.bounds, *pod);
    if (!missing.empty()) return fmt::format("failed quota: {}: {}", name, missing);
  }
  for (const auto& [name, quota] : quotas_) {
    Amounts requested, used, limited;
    for (const auto& [resource, amount] : Growth(quota.bounds, next, before)) {
      const Quantity taken = AmountOr0(quota.used, resource) + AmountOr0(quota.promised, resource);
      const Quantity& hard = quota.bounds.hard.find(resource)->second;
      if (taken + amount <= hard) continue;
      requested.emplace(resource, amount);
      used.emplace(resource, taken);
      limited.emplace(resource, hard);
    }
    if (requested.empty()) continue;
    return fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}", name, AmountsText(requested),
                       AmountsText(used), AmountsText(limited));
  }
  return "";
}

QuotaLedger::PromisePointer QuotaLedger::Add(std::string book, QuotaCharge next, QuotaCharge before) {
  promises_.push_back({.book = std::move(book), .next = std::move(next), .before = std::move(before)});
  CountPromise(promises_.back(), true);
  return std::prev(promises_.end());
}

void QuotaLedger::Cancel(PromisePointer promise) {
  const Promise gone = std::move(*promise);
  promises_.erase(promise);
  CountPromise(gone, false);
}

void QuotaLedger::Keep(PromisePointer promise, store::Revision written) {
  promise->written = written;
  if (books_[promise->book].seen >= written) Cancel(promise);
}

kube::Amounts QuotaLedger::Used(const std::string& quota) const {
  Amounts used;
  const auto found = quotas_.find(quota);
  if (found == quotas_.end()) return used;
  for (const auto& [name, hard] : found->second.bounds.hard) {
    if (KindOfQuotaName(name)) used.emplace(name, AmountOr0(found->second.used, name));
  }
  return used;
}

const QuotaBounds* QuotaLedger::Find(const std::string& quota) const {
  const auto found = quotas_.find(quota);
  return found == quotas_.end() ? nullptr : &found->second.bounds;
}

}  // namespace evenkeel::embedded::apiserver
